//! Who bounded a run: the server or the load generator. A figure of a server says little where the load generator
//! could not keep it busy, so every run carries this with its evidence.

use crate::facts::{self, Busy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// A thread that slept less than this share of the window was busy all the time.
const SLEPT_AT_MOST: f64 = 0.1;
/// Above this share of waiting, other programs took part in the result.
const DISTURBED: f64 = 0.1;

/// Whose work set the pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The server's: it was always busy, and needed more CPU time than the load generator.
    ServerBound,
    /// The load generator's: a faster server would not have been seen.
    GeneratorBound,
    /// Nobody's: both slept, or neither needed more than the other.
    Neither,
}

/// How a thread spent a window, as shares of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// It ran.
    pub ran: f64,
    /// It could have run, but another program had the core.
    pub waited: f64,
    /// It had nothing to do.
    pub idle: f64,
}

/// The verdict and its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Saturation {
    /// The verdict.
    pub bound: Bound,
    /// CPU time of all the server's threads in the window, in seconds.
    pub server_cpu_seconds: f64,
    /// The server's busiest thread.
    pub server: Shares,
    /// The load generator's one thread.
    pub generator: Shares,
}

/// All threads' times at one moment.
#[derive(Debug)]
pub struct Moment {
    at: Instant,
    own: Busy,
    server: BTreeMap<u32, Busy>,
}

impl Moment {
    /// Now, called on the load generator's thread.
    pub fn now(server: u32) -> anyhow::Result<Moment> {
        Ok(Moment { own: facts::this_thread()?, server: facts::threads(server)?, at: Instant::now() })
    }

    /// The verdict on the time from this moment to `end`.
    pub fn until(&self, end: &Moment) -> Saturation {
        let wall = end.at.duration_since(self.at);
        let spent: Vec<Busy> =
            end.server.iter().map(|(id, busy)| busy.since(self.server.get(id).copied().unwrap_or_default())).collect();
        let busiest = spent.iter().copied().max_by_key(|busy| busy.ran + busy.waited).unwrap_or_default();
        let (server, generator) = (shares(busiest, wall), shares(end.own.since(self.own), wall));
        Saturation {
            bound: judge(server, generator),
            server_cpu_seconds: spent.iter().map(|busy| busy.ran).sum::<Duration>().as_secs_f64(),
            server,
            generator,
        }
    }
}

fn shares(busy: Busy, wall: Duration) -> Shares {
    let of = |part: Duration| if wall.is_zero() { 0.0 } else { (part.as_secs_f64() / wall.as_secs_f64()).min(1.0) };
    let (ran, waited) = (of(busy.ran), of(busy.waited));
    Shares { ran, waited, idle: (1.0 - ran - waited).max(0.0) }
}

/// Somebody must never have slept; of two of whom that is true, or where others held one up, it is the one that
/// needed the more CPU time: on a quiet machine the other would have waited for it.
fn judge(server: Shares, generator: Shares) -> Bound {
    let saturated = server.idle.min(generator.idle) <= SLEPT_AT_MOST;
    match saturated {
        true if server.ran > generator.ran => Bound::ServerBound,
        true if generator.ran > server.ran => Bound::GeneratorBound,
        _ => Bound::Neither,
    }
}

impl fmt::Display for Saturation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = match self.bound {
            Bound::ServerBound => "server-bound",
            Bound::GeneratorBound => "generator-bound",
            Bound::Neither => "neither bound",
        };
        let percent = |share: f64| share * 100.0;
        let (server, own) = (self.server, self.generator);
        write!(
            f,
            "{bound}: server's busiest thread ran {:.0}%, waited for a core {:.0}%, idle {:.0}%; load generator ran {:.0}%, \
             waited {:.0}%, idle {:.0}%",
            percent(server.ran),
            percent(server.waited),
            percent(server.idle),
            percent(own.ran),
            percent(own.waited),
            percent(own.idle)
        )?;
        if server.waited.max(own.waited) > DISTURBED {
            write!(f, "; other programs had the cores at times: trust ratios within one run only")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(ran: f64, waited: f64) -> Shares {
        Shares { ran, waited, idle: 1.0 - ran - waited }
    }

    #[test]
    fn the_one_that_never_sleeps_and_needs_more_is_the_bound() {
        for (server, generator, bound) in [
            (spent(0.98, 0.0), spent(0.6, 0.0), Bound::ServerBound),
            (spent(0.6, 0.0), spent(0.98, 0.0), Bound::GeneratorBound),
            (spent(0.5, 0.0), spent(0.5, 0.0), Bound::Neither),
            // Both always busy: the one that needed more CPU time.
            (spent(0.7, 0.3), spent(0.6, 0.4), Bound::ServerBound),
            // Others had the generator's core: that is not the generator's own cost.
            (spent(0.6, 0.0), spent(0.3, 0.7), Bound::ServerBound),
        ] {
            assert_eq!(judge(server, generator), bound, "{server:?} {generator:?}");
        }
    }

    #[test]
    fn a_run_disturbed_by_other_programs_says_so() {
        let verdict = |waited| Saturation {
            bound: Bound::ServerBound,
            server_cpu_seconds: 1.0,
            server: spent(0.6, waited),
            generator: spent(0.4, 0.0),
        };
        assert!(!verdict(0.05).to_string().contains("other programs"));
        assert!(verdict(0.3).to_string().contains("other programs"));
    }

    #[test]
    fn a_thread_that_began_within_the_window_counts_from_its_beginning() {
        let at = Instant::now();
        let busy = |ran| Busy { ran: Duration::from_millis(ran), waited: Duration::ZERO };
        let start = Moment { at, own: busy(100), server: BTreeMap::from([(1, busy(500))]) };
        let later = at + Duration::from_secs(1);
        let end = Moment { at: later, own: busy(400), server: BTreeMap::from([(1, busy(600)), (2, busy(950))]) };
        let saturation = start.until(&end);
        assert_eq!(saturation.bound, Bound::ServerBound);
        assert!((saturation.server_cpu_seconds - 1.05).abs() < 1e-9);
        assert!((saturation.server.ran - 0.95).abs() < 1e-9);
        assert!((saturation.generator.idle - 0.7).abs() < 1e-9);
    }
}
