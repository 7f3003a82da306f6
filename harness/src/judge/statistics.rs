//! From pairs to an interval. statrs supplies the t distribution and is named nowhere else. What the interval means is
//! in `decide.rs`.
//!
//! Everything is on `d = ln(I_champion / I_challenger)`, so that gains add: `d = 0.0296` is a score gain of 3%, or 2.91%
//! fewer instructions.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::sample::Pair;

/// No gain below this is ever called real, however exact the meter: a layout can be lucky by as much.
pub const LEAST_EFFECT: f64 = 0.001;

/// The quantile of Student's t at probability `p` with `df` degrees of freedom.
///
/// Total, where statrs panics: no degree of freedom, a probability outside `(0, 1)` or NaN gives the quantile that
/// proves nothing, which is infinite (with the sign of the tail).
pub fn t_quantile(p: f64, df: usize) -> f64 {
    if p.is_nan() || p >= 1.0 || df == 0 {
        return if p < 0.5 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    // The lower tail by symmetry, so that both are equally exact.
    if p < 0.5 {
        return -t_quantile(1.0 - p, df);
    }
    match StudentsT::new(0.0, 1.0, df as f64) {
        Ok(t) => t.inverse_cdf(p),
        Err(_) => f64::INFINITY,
    }
}

/// What a calibration says about the meter: how much two counts differ when nothing was improved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Standard deviation of `d` between a binary and inert rebuilds of itself, on one seed.
    pub sigma_aa: f64,
    /// The largest `|mean d|` among those rebuilds: a real count of a lucky layout is not a gain.
    pub relink: f64,
    /// Spread of rounding a window's count to a whole number, on the scale of `d`.
    pub quantum: f64,
}

impl Noise {
    /// What a meter is taken to have until it is calibrated: 0.05%, the spread that inert rebuilds of small servers showed
    /// on an emulated machine under a plain closed loop.
    pub const UNCALIBRATED: Noise = Noise { sigma_aa: 0.000_5, relink: 0.000_5, quantum: 0.0 };

    /// From a calibration.
    pub fn new(sigma_aa: f64, relink: f64) -> Self {
        Noise { sigma_aa, relink, quantum: 0.0 }
    }

    /// In words for people.
    pub fn words(&self) -> String {
        let Noise { sigma_aa, relink, .. } = self;
        let spread =
            format!("inert rebuilds spread by {:.3}% (1 sd), largest mean {:.3}%", sigma_aa * 100.0, relink * 100.0);
        if *self == Noise::UNCALIBRATED { format!("NOT CALIBRATED, assumed: {spread}") } else { spread }
    }

    /// From the `d` of a binary against inert rebuilds of itself, a list of pairs for each rebuild. Nothing was improved,
    /// so the spread is taken around zero. `None` with fewer than two rebuilds, or one without pairs or a finite `d`:
    /// an unknown spread is never a small one.
    pub fn from_rebuilds(rebuilds: &[Vec<f64>]) -> Option<Self> {
        if rebuilds.len() < 2 || rebuilds.iter().any(|ds| ds.is_empty() || ds.iter().any(|d| !d.is_finite())) {
            return None;
        }
        let all = || rebuilds.iter().flatten();
        let sigma_aa = (all().map(|d| d * d).sum::<f64>() / all().count() as f64).sqrt();
        let mean = |ds: &Vec<f64>| ds.iter().sum::<f64>() / ds.len() as f64;
        let relink = rebuilds.iter().map(|ds| mean(ds).abs()).fold(0.0, f64::max);
        Some(Noise::new(sigma_aa, relink))
    }

    /// With the rounding of a window of `requests` that cost `per_request` instructions each: a whole number has a
    /// spread of `1 / sqrt(12)`.
    #[must_use]
    pub fn with_window(self, requests: u64, per_request: f64) -> Self {
        let quantum = 1.0 / (requests as f64 * per_request * 12f64.sqrt());
        Noise { quantum: if quantum.is_finite() { quantum } else { 0.0 }, ..self }
    }

    /// With the rounding of the smallest window among these pairs.
    #[must_use]
    pub fn with_windows_of(self, pairs: &[Pair]) -> Self {
        let counts =
            pairs.iter().flat_map(|pair| [&pair.champion, &pair.challenger]).map(|sample| sample.user + sample.kernel);
        counts.min().map_or(self, |least| self.with_window(1, least as f64))
    }
}

/// What some pairs say about the gain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// How many pairs.
    pub pairs: usize,
    /// Mean of `d`; NaN (JSON null) when a pair had no finite ratio.
    #[serde(with = "undefined")]
    pub mean: f64,
    /// Standard deviation of `d` over the pairs; 0 with fewer than two.
    #[serde(with = "undefined")]
    pub sd: f64,
    /// The spread the interval is made of: `sd`, but never below the meter's own.
    #[serde(with = "undefined")]
    pub s_eff: f64,
    /// One-sided lower bound at `alpha`; minus infinity (JSON null) with fewer than two pairs.
    #[serde(with = "unbounded_below")]
    pub lcb: f64,
    /// One-sided upper bound at `alpha`; infinity (JSON null) with fewer than two pairs.
    #[serde(with = "unbounded_above")]
    pub ucb: f64,
    /// A gain must be above this to be called real.
    pub floor: f64,
    /// Probability that the true gain is below `lcb` (and as much for above `ucb`).
    pub alpha: f64,
}

/// Estimate the gain. `alpha` is one-sided.
///
/// A zero spread is no certainty: the meter's own spread (`sigma_aa`) and the rounding of the count are the least that
/// an interval is made of.
pub fn estimate(ds: &[f64], noise: &Noise, alpha: f64) -> Estimate {
    let n = ds.len();
    let floor = floor(n, noise);
    let bound = |mean, sd, s_eff, lcb, ucb| Estimate { pairs: n, mean, sd, s_eff, lcb, ucb, floor, alpha };
    if n == 0 || ds.iter().any(|d| !d.is_finite()) {
        return bound(f64::NAN, f64::NAN, f64::NAN, f64::NEG_INFINITY, f64::INFINITY);
    }
    let mean = ds.iter().sum::<f64>() / n as f64;
    let sd = if n < 2 { 0.0 } else { (ds.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1) as f64).sqrt() };
    let s_eff = sd.max(noise.sigma_aa).max(noise.quantum);
    let half = half_width(n, s_eff, alpha);
    bound(mean, sd, s_eff, mean - half, mean + half)
}

/// What a gain of `n` pairs must exceed to be called real, on the scale of `d`: the least effect, three standard errors of
/// inert rebuilds, the luckiest of those rebuilds.
pub fn floor(n: usize, noise: &Noise) -> f64 {
    LEAST_EFFECT.max(3.0 * noise.sigma_aa / (n.max(1) as f64).sqrt()).max(noise.relink)
}

/// Half the width of the interval of `n` pairs with spread `s_eff`; infinite below two pairs.
pub fn half_width(n: usize, s_eff: f64, alpha: f64) -> f64 {
    if n < 2 {
        return f64::INFINITY;
    }
    let half = t_quantile(1.0 - alpha, n - 1) * s_eff / (n as f64).sqrt();
    // 0 * inf: a spread of exactly nothing with a quantile that proves nothing.
    if half.is_nan() { f64::INFINITY } else { half }
}

/// Does a held-out comparison bear out the gains that were claimed one by one? The claims add up on the scale of `d`;
/// half widths, all taken at the held-out comparison's `alpha` and of independent pairs, add up as squares. An unbounded
/// or unknown estimate bears out nothing.
pub fn bears_out(held: &Estimate, claims: &[Estimate]) -> bool {
    let half = |estimate: &Estimate| half_width(estimate.pairs, estimate.s_eff, held.alpha);
    let claimed: f64 = claims.iter().map(|claim| claim.mean).sum();
    let width = claims.iter().chain([held]).map(|estimate| half(estimate).powi(2)).sum::<f64>().sqrt();
    width.is_finite() && (held.mean - claimed).abs() <= width
}

/// Score gain of a `d`, as a fraction: `0.02956` is `0.03`.
pub fn score_gain(d: f64) -> f64 {
    d.exp_m1()
}

/// The part of the instructions that is saved at a `d`: `0.02956` is `0.0291`.
pub fn fewer_instructions(d: f64) -> f64 {
    -(-d).exp_m1()
}

/// The `d` of a score gain given as a fraction: `tau` of a threshold.
pub fn from_score_gain(gain: f64) -> f64 {
    gain.ln_1p()
}

/// JSON has no infinities: an absent bound is null, and null comes back as the bound it stood for.
macro_rules! null_for {
    ($name:ident, $value:expr) => {
        mod $name {
            use serde::{Deserialize, Deserializer, Serializer};

            pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
                if value.is_finite() { to.serialize_f64(*value) } else { to.serialize_none() }
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
                Ok(Option::<f64>::deserialize(from)?.unwrap_or($value))
            }
        }
    };
}
null_for!(undefined, f64::NAN);
null_for!(unbounded_below, f64::NEG_INFINITY);
null_for!(unbounded_above, f64::INFINITY);

#[cfg(test)]
mod tests {
    use super::*;

    /// P(T <= t) by Simpson's rule on the density, written from its definition: shares nothing with statrs but the math.
    fn cdf(t: f64, df: usize) -> f64 {
        let nu = df as f64;
        // The normalizing constant from the integral itself over the substitution x = sqrt(nu) tan(u):
        // density dx becomes cos(u)^(nu-1) du, a smooth function on a finite interval.
        let simpson = |to: f64| {
            let steps = 20_000;
            let h = to / steps as f64;
            let f = |i: usize| (i as f64 * h).cos().powf(nu - 1.0);
            (0..steps / 2).map(|i| f(2 * i) + 4.0 * f(2 * i + 1) + f(2 * i + 2)).sum::<f64>() * h / 3.0
        };
        0.5 + 0.5 * simpson((t / nu.sqrt()).atan()) / simpson(std::f64::consts::FRAC_PI_2)
    }

    #[test]
    fn quantiles_are_those_of_the_published_table() {
        for (p, df, expected) in [
            (0.99, 5, 3.365),
            (0.999, 5, 5.893),
            (0.9998, 5, 8.363),
            (0.9997, 11, 4.750),
            (0.9995, 23, 3.768),
            (0.95, 2, 2.920),
            (0.975, 1, 12.706),
        ] {
            let got = t_quantile(p, df);
            assert!((got - expected).abs() < 0.0006, "t({p}, {df}) = {got}, table {expected}");
        }
    }

    #[test]
    fn quantiles_agree_with_numeric_integration_of_the_density() {
        for df in [1, 2, 3, 5, 11, 23, 60] {
            for p in [0.5001, 0.6, 0.9, 0.95, 0.99, 0.999, 0.9997, 0.9998, 0.99999] {
                let back = cdf(t_quantile(p, df), df);
                assert!((back - p).abs() < 1e-9, "cdf(t({p}, {df})) = {back}");
                assert!(
                    (t_quantile(1.0 - p, df) + t_quantile(p, df)).abs() < 1e-6 * t_quantile(p, df),
                    "symmetry at {p}, {df}"
                );
            }
        }
    }

    #[test]
    fn a_quantile_that_does_not_exist_proves_nothing_instead_of_panicking() {
        for p in [f64::NAN, 1.0, 1.5, f64::INFINITY] {
            assert_eq!(t_quantile(p, 5), f64::INFINITY, "{p}");
        }
        for p in [0.0, -0.5, f64::NEG_INFINITY] {
            assert_eq!(t_quantile(p, 5), f64::NEG_INFINITY, "{p}");
        }
        assert_eq!(t_quantile(0.95, 0), f64::INFINITY);
        assert_eq!(t_quantile(0.05, 0), f64::NEG_INFINITY);
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // d = 1, 2, 3, 4, 5 (percent): mean 3, sd sqrt(2.5), t(.95, 4) = 2.13185 by table.
        let ds = [0.01, 0.02, 0.03, 0.04, 0.05];
        let got = estimate(&ds, &Noise::new(0.0, 0.0), 0.05);
        let half = 2.13185 * 2.5f64.sqrt() / 5f64.sqrt() / 100.0;
        assert!((got.mean - 0.03).abs() < 1e-15 && (got.sd - 2.5f64.sqrt() / 100.0).abs() < 1e-15);
        assert!((got.lcb - (0.03 - half)).abs() < 1e-7 && (got.ucb - (0.03 + half)).abs() < 1e-7);
    }

    #[test]
    fn a_zero_spread_still_has_the_meters_spread_and_the_rounding_of_the_count() {
        let same = [0.04; 6];
        assert_eq!(estimate(&same, &Noise::new(0.0005, 0.0), 0.05).s_eff, 0.0005);
        let rounded = estimate(&same, &Noise::new(0.0, 0.0).with_window(5_000, 10_000.0), 0.05);
        assert!((rounded.s_eff - 1.0 / (5e7 * 12f64.sqrt())).abs() < 1e-18);
        assert!(rounded.lcb < rounded.mean && rounded.mean < rounded.ucb);
    }

    #[test]
    fn the_floor_is_the_largest_of_its_three_parts() {
        assert_eq!(estimate(&[0.0; 9], &Noise::new(0.0, 0.0), 0.05).floor, 0.001);
        assert_eq!(estimate(&[0.0; 9], &Noise::new(0.002, 0.0), 0.05).floor, 0.002);
        assert_eq!(estimate(&[0.0; 9], &Noise::new(0.002, 0.007), 0.05).floor, 0.007);
    }

    #[test]
    fn too_few_pairs_or_a_ratio_that_is_no_number_bound_nothing() {
        for ds in [&[][..], &[0.5][..], &[0.1, f64::NAN, 0.1][..], &[0.1, f64::INFINITY][..]] {
            let got = estimate(ds, &Noise::new(0.0, 0.0), 0.05);
            assert_eq!((got.lcb, got.ucb), (f64::NEG_INFINITY, f64::INFINITY), "{ds:?}");
            let text = serde_json::to_string(&got).unwrap();
            let back: Estimate = serde_json::from_str(&text).unwrap();
            assert_eq!((back.lcb, back.ucb, back.mean.is_nan()), (got.lcb, got.ucb, got.mean.is_nan()), "{text}");
        }
    }

    #[test]
    fn a_calibration_takes_its_spread_around_zero_and_its_luckiest_layout() {
        let noise = Noise::from_rebuilds(&[vec![0.001, 0.003], vec![-0.001, -0.001]]).unwrap();
        assert!((noise.sigma_aa - (12e-6f64 / 4.0).sqrt()).abs() < 1e-15);
        assert!((noise.relink - 0.002).abs() < 1e-15);
        for unknown in [&[][..], &[vec![0.1]][..], &[vec![0.1], vec![]][..], &[vec![0.1], vec![f64::NAN]][..]] {
            assert_eq!(Noise::from_rebuilds(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn claims_are_borne_out_within_the_intervals_of_all_and_not_beyond() {
        let of = |mean: f64| estimate(&[mean - 0.001, mean, mean + 0.001], &Noise::new(0.0, 0.0), 0.05);
        let half = of(0.0).ucb;
        let claims = [of(0.05), of(0.07), of(0.04)];
        assert!(bears_out(&of(0.16), &claims));
        assert!(bears_out(&of(0.16 + 1.9 * half), &claims) && bears_out(&of(0.16 - 1.9 * half), &claims));
        assert!(!bears_out(&of(0.16 + 2.1 * half), &claims) && !bears_out(&of(0.0), &claims));
        assert!(!bears_out(&estimate(&[0.16], &Noise::new(0.0, 0.0), 0.05), &claims), "one pair bounds nothing");
    }

    #[test]
    fn three_percent_more_score_is_two_point_nine_percent_fewer_instructions() {
        let tau = from_score_gain(0.03);
        assert!((tau - 0.029559).abs() < 1e-6);
        assert!((score_gain(tau) - 0.03).abs() < 1e-15);
        assert!((fewer_instructions(tau) - 0.02913).abs() < 1e-5);
    }
}
