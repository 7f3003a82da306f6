//! What the rule does over thousands of simulated searches: promotes no luck, finds what is there.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use super::tests::pair;
use super::*;

/// One simulated meter and candidate.
struct World {
    rng: SmallRng,
    gain: f64,
    spread: f64,
}

impl World {
    fn pairs(&mut self, n: usize) -> Vec<Pair> {
        (0..n)
            .map(|_| {
                // Box-Muller.
                let (u, v): (f64, f64) = (1.0 - self.rng.random::<f64>(), self.rng.random());
                pair(self.gain + self.spread * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos())
            })
            .collect()
    }

    /// One attempt from screen to verdict, as the page `attempt.rs` takes it.
    fn attempt(&mut self, rule: &Rule, noise: &Noise) -> Verdict {
        let screened = self.pairs(rule.screen_pairs);
        if let Screening::Stop(decision) = screen(rule, &screened, noise) {
            return decision.verdict;
        }
        let (mut fresh, mut look) = (self.pairs(rule.looks[0]), 0);
        loop {
            match confirm(rule, &fresh, look, noise) {
                Confirming::Done(decision) => return decision.verdict,
                Confirming::More(n) => fresh.extend(self.pairs(n)),
            }
            look += 1;
        }
    }
}

fn count(rule: &Rule, noise: &Noise, spread: f64, gain: f64, attempts: usize, wanted: Verdict) -> usize {
    let mut world = World { rng: SmallRng::seed_from_u64(0xA11CE), gain: gain.ln_1p(), spread };
    (0..attempts).filter(|_| world.attempt(rule, noise) == wanted).count()
}

#[test]
fn two_hundred_searches_of_three_hundred_null_changes_promote_none_at_any_noise() {
    for spread in [0.0, 0.0005, 0.002, 0.01, 0.02] {
        let noise = Noise::new(spread, 0.0);
        assert_eq!(count(&Rule::default(), &noise, spread, 0.0, 200 * 300, Verdict::Promote), 0, "noise {spread}");
    }
    // The same with a calibration that claims to be exact and is not: the pairs' own spread still protects.
    assert_eq!(count(&Rule::default(), &Noise::new(0.0, 0.0), 0.02, 0.0, 200 * 300, Verdict::Promote), 0);
}

#[test]
fn the_plain_rule_promotes_luck_where_the_interval_does_not() {
    let (noise, plain) = (Noise::new(0.02, 0.0), Rule { by: By::Point, ..Rule::default() });
    let lucky = count(&plain, &noise, 0.02, 0.0, 3_000, Verdict::Promote);
    assert!(lucky > 3, "{lucky} of 3000: this test must see what it guards against");
    assert_eq!(count(&Rule::default(), &noise, 0.02, 0.0, 3_000, Verdict::Promote), 0);
}

#[test]
fn a_true_gain_of_five_percent_is_found() {
    for (rule, spread, at_least) in [
        (Rule::default(), 0.0, 500),
        (Rule::default(), 0.0005, 500),
        (Rule::default(), 0.002, 500),
        (Rule::default().for_noisy_meter(), 0.01, 495),
        (Rule::default().for_noisy_meter(), 0.02, 350),
    ] {
        let found = count(&rule, &Noise::new(spread, 0.0), spread, 0.05, 500, Verdict::Promote);
        assert!(found >= at_least, "noise {spread}: found {found} of 500");
    }
}

#[test]
fn a_true_gain_of_half_a_percent_is_banked_and_never_promoted() {
    let noise = Noise::new(0.0005, 0.0);
    let banked = count(&Rule::default(), &noise, 0.0005, 0.005, 500, Verdict::Bank);
    assert!(banked >= 490, "{banked} of 500");
    assert_eq!(count(&Rule::default(), &noise, 0.0005, 0.005, 500, Verdict::Promote), 0);
}
