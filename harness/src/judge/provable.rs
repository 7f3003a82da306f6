//! What a meter of this spread can prove at all: the smallest gain that each look of the rule would call real.

use serde::{Deserialize, Serialize};

use super::decide::Rule;
use super::statistics::{Noise, floor, half_width};

/// What one look can prove.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provable {
    /// Pairs, each on a seed of its own.
    pub seeds: usize,
    /// One-sided error of the look.
    pub alpha: f64,
    /// Smallest mean `d` that is called real (banked, at least): `floor(n) + half_width(n, sigma_aa, alpha)`.
    pub real: f64,
    /// Smallest mean `d` that is promoted: `tau + half_width(n, sigma_aa, alpha)`.
    pub promoted: f64,
}

/// The looks of this rule, in order. Pairs that spread as inert rebuilds do are assumed; pairs that spread wider need more.
///
/// A gain is real when its lower bound lies above the floor, `mean - half > floor`, and promoted when that bound reaches
/// the threshold, `mean - half >= tau`; with `half = t(1 - alpha, n - 1) * sigma_aa / sqrt(n)` these are the two figures.
pub fn looks(rule: &Rule, noise: &Noise) -> Vec<Provable> {
    let provable = |(look, seeds): (usize, &usize)| {
        let alpha = rule.alpha(look);
        let half = half_width(*seeds, noise.sigma_aa, alpha);
        Provable { seeds: *seeds, alpha, real: floor(*seeds, noise) + half, promoted: rule.tau() + half }
    };
    rule.looks.iter().enumerate().map(provable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::decide::tests::pair;
    use crate::judge::decide::{Confirming, confirm};
    use crate::judge::outcome::Verdict;

    /// Pairs around `d` that spread by a little less than the meter does, so that its spread makes the interval.
    fn verdict(rule: &Rule, noise: &Noise, look: usize, d: f64) -> Option<Verdict> {
        let spread = [0.5, -0.5].map(|half| d + half * noise.sigma_aa);
        let pairs: Vec<_> = (0..rule.looks[look] / 2 * 2).map(|i| pair(spread[i % 2])).collect();
        match confirm(rule, &pairs, look, noise) {
            Confirming::Done(decision) => Some(decision.verdict),
            Confirming::More(_) => None,
        }
    }

    #[test]
    fn a_gain_just_above_the_figure_is_proven_and_one_just_below_is_not() {
        let noise = Noise::new(0.0005, 0.0006);
        // Looks of even numbers, so that the mean of the pairs is the gain.
        let rule = Rule { looks: vec![4, 6, 12], ..Rule::default() };
        for (look, provable) in looks(&rule, &noise).iter().enumerate() {
            let little = 1e-6;
            assert_eq!(verdict(&rule, &noise, look, provable.promoted + little), Some(Verdict::Promote));
            assert_ne!(verdict(&rule, &noise, look, provable.promoted - little), Some(Verdict::Promote));
            if provable.real + 0.001 < rule.tau() - (provable.promoted - rule.tau()) {
                assert_eq!(verdict(&rule, &noise, look, provable.real + little), Some(Verdict::Bank), "look {look}");
                assert_ne!(verdict(&rule, &noise, look, provable.real - little), Some(Verdict::Bank), "look {look}");
            }
        }
    }

    #[test]
    fn more_seeds_prove_smaller_gains_and_none_below_the_floor() {
        let noise = Noise::new(0.0005, 0.0005);
        let all = looks(&Rule::default(), &noise);
        assert_eq!(all.iter().map(|look| look.seeds).collect::<Vec<_>>(), [3, 6, 12]);
        assert!(all.windows(2).all(|two| two[1].real < two[0].real && two[1].promoted < two[0].promoted));
        // By hand: t(0.9995, 11) = 4.437, so 0.1% + 4.437 * 0.05% / sqrt(12).
        assert!((all[2].real - (0.001 + 4.437 * 0.0005 / 12f64.sqrt())).abs() < 1e-7, "{all:?}");
        assert!(looks(&Rule::default(), &Noise::new(0.0, 0.0)).iter().all(|look| look.real >= 0.001));
    }
}
