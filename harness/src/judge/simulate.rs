//! Whole searches, simulated: changes whose true effect is known, counted by a meter of known noise, judged by `decide.rs`
//! itself. Everything follows from a seed. Who runs how many of them, and what was claimed, is elsewhere.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde::Serialize;

use super::decide::{Confirming, Rule, Screening, confirm, screen};
use super::outcome::Verdict;
use super::sample::{Load, Pair, Sample, Side};
use super::statistics::{Noise, from_score_gain};

/// Instructions of a simulated window, requests of it: the order of the default workload's.
const WINDOW: (f64, u64) = (5e7, 5_120);

/// A meter whose counts vary by `noise` (standard deviation of `ln` of one count), and which is calibrated as such.
pub struct Meter {
    rng: SmallRng,
    noise: f64,
    known: Noise,
}

/// How one simulated attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// The rule's word.
    pub verdict: Verdict,
    /// Pairs that it took, those of the screen included.
    pub pairs: usize,
}

impl Meter {
    /// A meter that draws from `seed`. A pair holds two counts, so its `d` varies by `sqrt(2)` of a count's noise.
    pub fn new(noise: f64, seed: u64) -> Self {
        let known = Noise::new(noise * std::f64::consts::SQRT_2, 0.0);
        Meter { rng: SmallRng::seed_from_u64(seed), noise, known }
    }

    /// The same, calibrated as if it were of this noise.
    #[cfg(test)]
    pub fn taken_for(self, known: Noise) -> Self {
        Meter { known, ..self }
    }

    /// One draw of the noise: Box and Muller's transform of two uniform numbers.
    fn draw(&mut self) -> f64 {
        let (u, v): (f64, f64) = (1.0 - self.rng.random::<f64>(), self.rng.random());
        self.noise * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A count of a server that is `gain` (on the scale of `d`) cheaper than the champion.
    fn sample(&mut self, gain: f64) -> Sample {
        let total = (WINDOW.0 * (self.draw() - gain).exp()).round() as u64;
        let load = Load { sent: WINDOW.1, verified: WINDOW.1, wrong: 0, lost: 0 };
        Sample { seed: 0, user: total / 2, kernel: total - total / 2, load, side: Side::default() }
    }

    fn pairs(&mut self, gain: f64, n: usize) -> Vec<Pair> {
        (0..n).map(|_| Pair { champion: self.sample(0.0), challenger: self.sample(gain) }).collect()
    }

    /// A change of this true gain from screen to verdict, as the page `attempt.rs` takes it.
    pub fn attempt(&mut self, rule: &Rule, gain: f64) -> Attempted {
        let screened = self.pairs(gain, rule.screen_pairs);
        match screen(rule, &screened, &self.known) {
            Screening::Stop(decision) => Attempted { verdict: decision.verdict, pairs: screened.len() },
            Screening::Confirm(_) => {
                let confirmed = self.confirmed(rule, gain);
                Attempted { pairs: screened.len() + confirmed.pairs, ..confirmed }
            }
        }
    }

    /// The confirm stage alone: fresh pairs, look by look.
    fn confirmed(&mut self, rule: &Rule, gain: f64) -> Attempted {
        let (mut fresh, mut look) = (self.pairs(gain, rule.looks[0]), 0);
        loop {
            match confirm(rule, &fresh, look, &self.known) {
                Confirming::Done(decision) => return Attempted { verdict: decision.verdict, pairs: fresh.len() },
                Confirming::More(n) => fresh.extend(self.pairs(gain, n)),
            }
            look += 1;
        }
    }
}

/// Attempts by what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How many.
    pub attempts: usize,
    /// Of these, promoted.
    pub promoted: usize,
    /// Of these, banked.
    pub banked: usize,
    /// Pairs they took.
    pub pairs: usize,
}

impl Tally {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            attempts: self.attempts + other.attempts,
            promoted: self.promoted + other.promoted,
            banked: self.banked + other.banked,
            pairs: self.pairs + other.pairs,
        }
    }
}

/// One run of changes that all have this true gain (0: the null run).
pub fn run_of(rule: &Rule, meter: &mut Meter, gain: f64, attempts: usize) -> Tally {
    let mut tally = Tally { attempts, ..Tally::default() };
    for _ in 0..attempts {
        let attempted = meter.attempt(rule, gain);
        tally.pairs += attempted.pairs;
        tally.promoted += usize::from(attempted.verdict == Verdict::Promote);
        tally.banked += usize::from(attempted.verdict == Verdict::Bank);
    }
    tally
}

/// Rules that hold one draw against a fixed threshold: what a search does without intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Naive {
    /// The challenger's one draw against the one that its champion was promoted with, which is never taken again.
    Stored,
    /// The challenger's one draw against one of the champion's, taken anew in each attempt.
    OnePair,
}

/// What a naive rule makes of changes that do nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Climb {
    /// Promotions, all of them luck.
    pub promoted: usize,
    /// Sum of the gains that they claimed, on the scale of `d`; the true one is 0.
    pub claimed: f64,
}

/// One run of changes that do nothing under a naive rule with the threshold `tau`.
pub fn climb(naive: Naive, meter: &mut Meter, tau: f64, attempts: usize) -> Climb {
    let mut climb = Climb::default();
    let mut stored = -meter.draw();
    for _ in 0..attempts {
        let champion = if naive == Naive::Stored { stored } else { -meter.draw() };
        let challenger = -meter.draw();
        if challenger - champion > tau {
            climb.promoted += 1;
            climb.claimed += challenger - champion;
            stored = challenger;
        }
    }
    climb
}

/// What the synthetic changes of [`night`] are, for people.
pub const MIX: &str =
    "of 60 changes 40 do nothing, 11 cost 0.1 to 3% of score, 8 gain 0.2 to 2%, 1 gains 3 to 8% (each evenly spread)";

/// The true gain of one synthetic change, as [`MIX`] says.
fn synthetic(rng: &mut SmallRng) -> f64 {
    let (kind, part): (u32, f64) = (rng.random_range(0..60), rng.random());
    from_score_gain(match kind {
        0..40 => 0.0,
        40..51 => -(0.001 + 0.029 * part),
        51..59 => 0.002 + 0.018 * part,
        _ => 0.03 + 0.05 * part,
    })
}

/// What becomes of a gain below the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Small {
    /// It is dropped.
    Dropped,
    /// It is stacked on those banked before; the stack is measured against the champion after each, and promoted whole
    /// when it clears the threshold by itself.
    Stacked,
}

/// What a run of synthetic changes came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Night {
    /// True gain of the last champion over the baseline, on the scale of `d`.
    pub champion: f64,
    /// True gain of what is left in the stack.
    pub left: f64,
    /// Sum of the gains of all changes that gain anything: what a judge who knows them would reach.
    pub there: f64,
}

/// One run of synthetic changes. Those of `seed` are the same whatever the meter and whatever becomes of small gains.
pub fn night(rule: &Rule, meter: &mut Meter, small: Small, seed: u64, attempts: usize) -> Night {
    let mut changes = SmallRng::seed_from_u64(seed);
    let mut night = Night::default();
    for _ in 0..attempts {
        let gain = synthetic(&mut changes);
        night.there += gain.max(0.0);
        // A challenger is proposed against the stack's head, and measured against it.
        match (meter.attempt(rule, gain).verdict, small) {
            (Verdict::Promote, Small::Dropped) => night.champion += gain,
            (Verdict::Promote | Verdict::Bank, Small::Stacked) => {
                night.left += gain;
                if meter.confirmed(rule, night.left).verdict == Verdict::Promote {
                    night.champion += std::mem::take(&mut night.left);
                }
            }
            _ => {}
        }
    }
    night
}

#[cfg(test)]
mod tests;
