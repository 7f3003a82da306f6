//! Champion and challenger on the same seeds: who is counted when, side by side where the meter allows it, retried
//! where the count was unsound.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use loadgen::workload::Workload;

use super::samples::Samples;
use super::{Fault, Load, Meter};
use crate::judge::doubts;
use crate::judge::sample::{Counted, Pair};
use crate::judge::schedule::{Order, Turn};

/// An unsound sample is taken again so many times before the attempt ends.
const RETRIES: usize = 2;

/// A built server and its name.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// Its file.
    pub path: &'a Path,
    /// SHA-256 of the file, hex.
    pub sha256: &'a str,
}

/// What counts, with what, from what store.
pub struct Bench<'a> {
    /// The meter.
    pub meter: &'a dyn Meter,
    /// The workload.
    pub workload: &'a Workload,
    /// Samples kept from earlier; `None` counts everything anew.
    pub samples: Option<&'a Samples>,
    /// Set when the person wants to stop.
    pub stop: &'a Arc<AtomicBool>,
}

impl Bench<'_> {
    /// One pair a turn, with both profiles. Who goes first matters on a meter that drifts.
    ///
    /// # Errors
    /// The first fault, the challenger's before the champion's. A fault of the champion is the harness's own: it was
    /// sound when it was promoted.
    pub fn pairs(
        &self,
        champion: Server,
        challenger: Server,
        turns: &[Turn],
    ) -> Result<Vec<(Counted, Counted)>, Fault> {
        let mut jobs = Vec::new();
        for turn in turns {
            let (first, second) = match turn.order {
                Order::ChampionFirst => (champion, challenger),
                Order::ChallengerFirst => (challenger, champion),
            };
            jobs.extend([(first, turn.seed), (second, turn.seed)]);
        }
        let mut done = self.count(&jobs);
        let mut take = |server: Server, seed: u64| done.remove(&(server.sha256.to_owned(), seed));
        let mut pairs = Vec::new();
        for turn in turns {
            let challenger = take(challenger, turn.seed).unwrap_or(Err(Fault::Interrupted))?;
            let champion = match take(champion, turn.seed).unwrap_or(Err(Fault::Interrupted)) {
                Ok(counted) => counted,
                Err(Fault::Invalid(reason)) => {
                    return Err(Fault::Own(anyhow::anyhow!(
                        "the champion, sound when it was promoted, is now invalid: {reason}"
                    )));
                }
                Err(fault) => return Err(fault),
            };
            if let Some(why) = doubts::invalid(&challenger.sample) {
                return Err(Fault::Invalid(why));
            }
            let pair = Pair { champion: champion.sample.clone(), challenger: challenger.sample.clone() };
            let doubts = doubts::check_pair(&pair);
            if !doubts.is_empty() {
                return Err(Fault::Unsound(doubts::sentence(&doubts)));
            }
            pairs.push((champion, challenger));
        }
        Ok(pairs)
    }

    /// One server on some seeds.
    ///
    /// # Errors
    /// The first fault.
    pub fn samples(&self, server: Server, seeds: &[u64]) -> Result<Vec<Counted>, Fault> {
        let jobs: Vec<(Server, u64)> = seeds.iter().map(|seed| (server, *seed)).collect();
        let mut done = self.count(&jobs);
        seeds
            .iter()
            .map(|seed| done.remove(&(server.sha256.to_owned(), *seed)).unwrap_or(Err(Fault::Interrupted)))
            .collect()
    }

    /// All jobs, in order, over as many lanes as the meter has. After the first fault no new one is begun.
    fn count(&self, jobs: &[(Server, u64)]) -> BTreeMap<(String, u64), Result<Counted, Fault>> {
        let waiting = Mutex::new(jobs.iter().rev().collect::<Vec<_>>());
        let done = Mutex::new(BTreeMap::new());
        let next = || waiting.lock().expect("no lane panics").pop();
        std::thread::scope(|scope| {
            for _ in 0..self.meter.lanes().clamp(1, jobs.len().max(1)) {
                scope.spawn(|| {
                    while let Some((server, seed)) = next() {
                        let result = self.one(*server, *seed);
                        if result.is_err() {
                            waiting.lock().expect("no lane panics").clear();
                        }
                        done.lock().expect("no lane panics").insert((server.sha256.to_owned(), *seed), result);
                    }
                });
            }
        });
        done.into_inner().expect("no lane panics")
    }

    fn one(&self, server: Server, seed: u64) -> Result<Counted, Fault> {
        let store = self.samples.filter(|_| self.meter.is_exact());
        if let Some(counted) = store.and_then(|store| store.get(server.sha256, seed)) {
            return Ok(counted);
        }
        let counted = sample(self.meter, server.path, &Load::make(self.workload, seed), self.stop)?;
        if let Some(store) = store {
            store.put(server.sha256, seed, &counted);
        }
        Ok(counted)
    }
}

/// One server under one load, taken again while it is unsound.
///
/// # Errors
/// The last fault.
pub fn sample(meter: &dyn Meter, server: &Path, load: &Load, stop: &Arc<AtomicBool>) -> Result<Counted, Fault> {
    let mut result = meter.measure(server, load, stop);
    for _ in 0..RETRIES {
        if !matches!(result, Err(Fault::Unsound(_))) {
            break;
        }
        result = meter.measure(server, load, stop);
    }
    result
}

/// The pairs without their profiles.
pub fn without_profiles(counted: &[(Counted, Counted)]) -> Vec<Pair> {
    counted
        .iter()
        .map(|(champion, challenger)| Pair { champion: champion.sample.clone(), challenger: challenger.sample.clone() })
        .collect()
}
