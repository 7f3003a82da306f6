//! Storms: what a server meets on a bad day, and what must be left of it afterwards. Resets in the middle of answers,
//! no descriptors left, thousands of heads that never end; beside all of them a client that behaves and must be
//! served. Each storm comes more than once: what grows from the first to the last is a leak.

mod volleys;
mod witness;

use crate::dataset::DataSet;
use crate::dial::pile;
use crate::facts;
use crate::place::raise_descriptors;
use crate::plan::Plan;
use crate::server::StartServer;
use crate::workload::{Mix, Workload};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use witness::Witness;

/// Memory may grow by this many KiB from the first storm of a kind to the last, or by this share of what there was,
/// whichever is more.
const GROWTH_KIB: u64 = 4096;
const GROWTH_SHARE: f64 = 0.1;

/// How much of everything.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Storms of resets.
    pub storms: usize,
    /// Connections reset in each.
    pub connections: usize,
    /// Descriptors left to the server when they are to run out.
    pub spare: usize,
    /// Slow heads at once.
    pub slow: usize,
    /// How many bytes each of them sends, one a second.
    pub seconds: u64,
    /// Time for a server to notice that connections are gone.
    pub settle: Duration,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { storms: 10, connections: 1000, spare: 64, slow: 10_000, seconds: 14, settle: Duration::from_secs(20) }
    }
}

/// One thing that must hold, and what was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What must hold.
    pub name: String,
    /// Whether it did.
    pub holds: bool,
    /// What was seen.
    pub saw: String,
}

/// What the storms left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StormReport {
    /// All checks, in the order they were made.
    pub checks: Vec<Check>,
    /// How long all took.
    pub seconds: f64,
}

impl StormReport {
    /// Whether everything holds.
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
    }
}

/// A server under storm, and what is sent to it.
struct Scene<'a> {
    addr: SocketAddr,
    pid: u32,
    plan: Arc<Plan>,
    shape: Shape,
    stop: &'a AtomicBool,
}

impl Scene<'_> {
    fn go_on(&self) -> anyhow::Result<()> {
        anyhow::ensure!(!self.stop.load(Ordering::Relaxed), "the storms were stopped before their end");
        Ok(())
    }
}

/// One blow of a storm: what was seen, or what was not as it must be.
type Volley = fn(&Scene) -> anyhow::Result<String>;

/// The data set of a seed, and requests that change nothing, so that they can be sent again and again in any order.
pub fn load(seed: u64) -> (DataSet, Plan) {
    let workload = workload();
    let set = DataSet::generate(seed, &workload);
    let plan = Plan::make(seed, &workload, &set);
    (set, plan)
}

/// Starts a server on [`load`] and lets all storms loose on it; `say` hears of each check as it is made. An error is
/// the load generator's own failure, or that `stop` was set.
pub fn storm(
    seed: u64,
    server: &dyn StartServer,
    shape: Shape,
    stop: &AtomicBool,
    say: &mut dyn FnMut(&Check),
) -> anyhow::Result<StormReport> {
    let start = Instant::now();
    raise_descriptors(shape.slow.max(shape.connections).max(4 * shape.spare).max(pile()))?;
    let (set, plan) = load(seed);
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    set.write(folder.path())?;
    let mut running = server.start(folder.path())?;
    let scene = Scene { addr: running.addr(), pid: running.pid(), plan: Arc::new(plan), shape, stop };
    let mut checks = Vec::new();
    let storms: [(&str, usize, Volley); 3] = [
        ("resets in mid-answer", shape.storms, volleys::reset),
        ("no descriptors", 2, volleys::exhaust),
        ("slow heads", 2, volleys::crawl),
    ];
    for (name, times, volley) in storms {
        let found = one_kind(&scene, times, volley);
        scene.go_on()?;
        for (what, result) in found {
            let holds = result.is_ok();
            let saw = result.unwrap_or_else(|error| format!("{error:#}"));
            checks.push(Check { name: format!("{name}: {what}"), holds, saw });
            say(&checks[checks.len() - 1]);
        }
        let ended = running.ended();
        let alive = ended.is_none();
        let saw = ended.map_or_else(|| "yes".into(), |how| format!("it ended with {how}"));
        checks.push(Check { name: format!("{name}: the server runs on"), holds: alive, saw });
        say(&checks[checks.len() - 1]);
        if !alive {
            break;
        }
    }
    Ok(StormReport { checks, seconds: start.elapsed().as_secs_f64() })
}

fn workload() -> Workload {
    let mix = Mix { get: 6, get_no_record: 1, get_forged: 1, auth: 2, ..Mix::NONE };
    Workload {
        connections: 1,
        pipelining: 1,
        requests: 512,
        warmup: 0,
        users: 200,
        networks: 400,
        mix,
        ..Workload::default()
    }
}

/// What was found, under the name of what must hold.
type Found = Vec<(&'static str, anyhow::Result<String>)>;

/// All blows of one kind, and what must hold after them. The first fault ends it.
fn one_kind(scene: &Scene, times: usize, volley: Volley) -> Found {
    let witness = match Witness::start(scene) {
        Ok(witness) => witness,
        Err(error) => return vec![("others are served", Err(error))],
    };
    let mut found = strike(scene, times, volley).unwrap_or_else(|(name, error)| vec![(name, Err(error))]);
    found.push(("others are served", witness.finish()));
    found
}

fn strike(scene: &Scene, times: usize, volley: Volley) -> Result<Found, (&'static str, anyhow::Error)> {
    let [right, left, flat] = ["each client gets what it must", "no descriptor is left open", "memory is flat"];
    let before = facts::descriptors(scene.pid).map_err(|error| (left, error))?;
    let mut seen = String::new();
    let mut memory = Vec::new();
    for time in 1..=times {
        let number = || format!("number {time} of {times}");
        seen = volley(scene).with_context(number).map_err(|error| (right, error))?;
        settled(scene, before).with_context(number).map_err(|error| (left, error))?;
        memory.push(facts::rss_kib(scene.pid).map_err(|error| (flat, error))?);
    }
    Ok(vec![
        (right, Ok(format!("{times} times {seen}"))),
        (left, Ok(format!("{before} before and after"))),
        (flat, growth(&memory)),
    ])
}

/// Waits until the server has no more descriptors than before.
fn settled(scene: &Scene, before: usize) -> anyhow::Result<()> {
    let (start, patience) = (Instant::now(), scene.shape.settle);
    loop {
        scene.go_on()?;
        let now = facts::descriptors(scene.pid)?;
        if now <= before {
            return Ok(());
        }
        anyhow::ensure!(
            start.elapsed() < patience,
            "the server has {now} descriptors {patience:?} after all connections were closed, and had {before}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Judges the memory after each blow, in KiB: the first fills pools and buffers, the others must not add to that.
fn growth(memory: &[u64]) -> anyhow::Result<String> {
    let [first, .., last] = *memory else { anyhow::bail!("one blow shows no growth: ask for two") };
    let allowed = GROWTH_KIB.max((first as f64 * GROWTH_SHARE) as u64);
    let text = format!("{first} KiB after the first, {last} KiB after the last, growth of {allowed} KiB allowed");
    anyhow::ensure!(last <= first + allowed, text);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_may_grow_by_the_bound_and_no_more() {
        assert!(growth(&[1000, 9000, 1000 + GROWTH_KIB]).is_ok());
        assert!(growth(&[1000, 1000, 1001 + GROWTH_KIB]).is_err());
        assert!(growth(&[100_000, 110_000]).is_ok());
        assert!(growth(&[100_000, 110_001]).unwrap_err().to_string().contains("110001 KiB"));
        assert!(growth(&[1000]).is_err());
    }

    #[test]
    fn the_requests_of_a_storm_have_the_same_answers_in_any_order() {
        let workload = workload();
        workload.validate().unwrap();
        assert!(crate::workload::Kind::ALL.iter().all(|&kind| kind.steps() == 1 || workload.mix.weight(kind) == 0));
    }
}
