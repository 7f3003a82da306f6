//! The loop on the simulated lab: what it finds, what it survives, what it never promotes.
#![cfg(test)]

use super::{Nature, SimLab, World, set_of};
use crate::judge::budget::{Budget, Progress};
use crate::judge::outcome::{Outcome, Phase};
use crate::judge::record::{EndReason, Record};
use crate::out::Watch;
use crate::propose::knobs::Assignment;
use crate::propose::tunables::Tunables;
use crate::search::{Ended, search};

const KNOBS: &str = "
/// A large gain.
/// choices: 0 | 1
pub const LARGE: u8 = 0;
/// Two small gains that only together pass the threshold.
/// choices: 0 | 1 | 2
pub const SMALL: u8 = 0;
/// The other one.
/// choices: 0 | 1
pub const OTHER: u8 = 0;
/// Nothing.
/// choices: 0 | 1 | 2 | 3
pub const NOTHING: u8 = 0;
/// Pays only once LARGE is set.
/// choices: 0 | 1
pub const LATER: u8 = 0;
";

#[derive(Default)]
struct Quiet;

impl Watch for Quiet {
    fn note(&mut self, _: &str) {}
    fn opened(&mut self, _: u32, _: &str, _: &Progress) {}
    fn phase(&mut self, _: u32, _: Phase) {}
    fn ended(&mut self, _: &Record, _: &Progress) {}
}

fn cost(knobs: &Assignment) -> f64 {
    let is = |knob: &str, value: &str| knobs[knob] == value;
    let mut cost = 10_000.0;
    if is("LARGE", "1") {
        cost *= 0.8;
    }
    if is("SMALL", "1") {
        cost *= 0.98;
    }
    if is("SMALL", "2") {
        cost *= 1.05;
    }
    if is("OTHER", "1") {
        cost *= 0.982;
    }
    if is("LATER", "1") {
        cost *= if is("LARGE", "1") { 0.9 } else { 1.001 };
    }
    cost
}

fn sound() -> Nature {
    Nature { cost, fault: |_| None, noise: 0.0005, crash_after: None, interrupt_at: None }
}

fn run(world: &mut World, nature: Nature, seed: u64, budget: Budget) -> anyhow::Result<Ended> {
    search(&mut SimLab::new(world, nature, seed), &mut Tunables, &budget, &mut Quiet)
}

fn champion(world: &World) -> Assignment {
    SimLab::assignment(&world.champion)
}

#[test]
fn the_search_finds_large_gains_alone_small_ones_together_and_dependent_ones_later() {
    let mut world = World::new(KNOBS);
    let ended = run(&mut world, sound(), 1, Budget::default()).unwrap();
    assert_eq!(ended.reason, EndReason::Exhausted);
    let best = champion(&world);
    for (knob, value) in [("LARGE", "1"), ("SMALL", "1"), ("OTHER", "1"), ("LATER", "1"), ("NOTHING", "0")] {
        assert_eq!(best[knob], value, "{knob} in {best:?}");
    }
    let whole = world.records.iter().find(|record| !record.stack.is_empty()).expect("a stack was measured");
    assert_eq!(whole.outcome.word(), "promoted", "the two small gains, each banked alone, passed together");
    let beneath = world.records.iter().find(|record| whole.bank == [record.attempt]).expect("what it stands on");
    assert_eq!(beneath.outcome.word(), "banked");
    let own = whole.own_decision().unwrap().estimate.mean;
    let (claimed, bank) =
        (whole.outcome.decision().unwrap().estimate.mean, beneath.own_decision().unwrap().estimate.mean);
    assert!(own < 0.0296 && bank < 0.0296 && claimed > 0.0296, "{own} on {bank} is {claimed}");
    assert!(world.bank.is_empty(), "nothing is left in the bank");
    assert_eq!(world.closed, [EndReason::Exhausted]);
    assert!(ended.held.unwrap().agrees);
}

#[test]
fn what_stays_below_the_threshold_stays_in_the_bank_with_what_it_gains_together() {
    fn cost(knobs: &Assignment) -> f64 {
        ["SMALL", "OTHER"].iter().filter(|knob| knobs[**knob] == "1").fold(10_000.0, |cost, _| cost * 0.99)
    }
    let mut world = World::new(KNOBS);
    run(&mut world, Nature { cost, ..sound() }, 11, Budget::default()).unwrap();
    assert_eq!(world.champion, world.baseline, "2% together are not 3%");
    let banked: Vec<&Record> = world.records.iter().filter(|record| record.outcome.word() == "banked").collect();
    assert_eq!(world.bank, banked.iter().map(|record| record.attempt).collect::<Vec<_>>());
    let [first, second] = banked[..] else { panic!("{} banked", banked.len()) };
    assert!(first.bank.is_empty() && first.whole.is_none(), "a stack of one is the attempt itself");
    assert_eq!(second.bank, [first.attempt]);
    let whole = second.whole.unwrap();
    assert!((0.015..0.025).contains(&whole.mean), "measured, not added up: {whole:?}");
    assert!(
        (second.outcome.decision().unwrap().estimate.mean - 0.01).abs() < 0.002,
        "its row says what it gains itself"
    );
}

#[test]
fn a_promoted_setting_is_not_taken_back_by_the_next_attempts() {
    let mut world = World::new(KNOBS);
    run(&mut world, sound(), 10, Budget::default()).unwrap();
    let back = world.records.iter().filter(|record| set_of(&record.changed) == [("LARGE", "0")]).count();
    assert_eq!(back, 0, "LARGE was promoted, and going back is known to cost");
}

#[test]
fn no_tree_is_attempted_twice() {
    let mut world = World::new(KNOBS);
    run(&mut world, sound(), 2, Budget::default()).unwrap();
    let mut trees: Vec<&String> = world.trees.values().collect();
    let all = trees.len();
    trees.sort();
    trees.dedup();
    assert_eq!(trees.len(), all);
}

#[test]
fn a_search_with_nothing_to_find_promotes_nothing_at_any_noise() {
    for (seed, noise) in [(1, 0.0), (2, 0.0005), (3, 0.002), (4, 0.01), (5, 0.02)] {
        let mut world = World::new(KNOBS);
        let nature = Nature { cost: |_| 10_000.0, noise, ..sound() };
        run(&mut world, nature, seed, Budget::default()).unwrap();
        assert_eq!(world.champion, world.baseline, "noise {noise}");
    }
}

#[test]
fn every_way_a_candidate_can_fail_ends_its_attempt_and_not_the_search() {
    fn fault(knobs: &Assignment) -> Option<Outcome> {
        match (knobs["NOTHING"].as_str(), knobs["OTHER"].as_str()) {
            ("1", _) => Some(Outcome::BuildFailed { reason: "error[E0308]".into() }),
            ("2", _) => Some(Outcome::Invalid { reason: "wrong byte".into() }),
            ("3", _) => Some(Outcome::Unsound { reason: "off-core work".into() }),
            (_, "1") => Some(Outcome::NoOp { reason: "same binary".into() }),
            _ => None,
        }
    }
    let mut world = World::new(KNOBS);
    let ended = run(&mut world, Nature { fault, ..sound() }, 3, Budget::default()).unwrap();
    assert_eq!(ended.reason, EndReason::Exhausted);
    let words: Vec<&str> = world.records.iter().map(|record| record.outcome.word()).collect();
    for word in ["build failed", "invalid", "unsound", "no-op", "promoted", "rejected"] {
        assert!(words.contains(&word), "{word} in {words:?}");
    }
    assert_eq!(world.lessons.len(), world.records.len(), "each failure left its lesson");
    assert_eq!(champion(&world)["LARGE"], "1");
}

#[test]
fn killed_at_any_call_the_next_start_goes_on_and_loses_nothing() {
    let mut whole = World::new(KNOBS);
    run(&mut whole, sound(), 4, Budget::default()).unwrap();
    for calls in 0..400 {
        let mut world = World::new(KNOBS);
        let killed = run(&mut world, Nature { crash_after: Some(calls), ..sound() }, 4, Budget::default());
        let before = world.records.clone();
        if killed.is_ok() {
            assert!(calls > 60, "the crash came while the search ran");
            return;
        }
        run(&mut world, sound(), 5, Budget::default()).unwrap();
        assert_eq!(world.records[..before.len()], before, "records stay as they were (killed after {calls} calls)");
        assert_eq!(
            world.lessons,
            world.records.iter().map(|record| record.attempt).collect::<Vec<_>>(),
            "killed after {calls} calls"
        );
        assert_eq!(champion(&world), champion(&whole), "killed after {calls} calls");
        assert_eq!(world.bank, whole.bank, "killed after {calls} calls");
        let mut numbers: Vec<u32> = world.records.iter().map(|record| record.attempt).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), world.records.len(), "no number twice");
    }
    panic!("the search never outlived its crashes");
}

#[test]
fn an_interrupted_attempt_is_recorded_and_tried_again_by_the_next_start() {
    let mut world = World::new(KNOBS);
    let ended = run(&mut world, Nature { interrupt_at: Some(2), ..sound() }, 6, Budget::default()).unwrap();
    assert_eq!(ended.reason, EndReason::Interrupted);
    assert_eq!(world.records.len(), 2);
    assert_eq!(world.records[1].outcome.word(), "interrupted");
    run(&mut world, sound(), 7, Budget::default()).unwrap();
    assert_eq!(world.records[2].changed, world.records[1].changed);
    assert_eq!(world.records[2].attempt, 3);
}

#[test]
fn budgets_end_a_run_and_a_restart_counts_the_attempts_before_it() {
    let mut world = World::new(KNOBS);
    let budget = Budget { attempts: Some(3), ..Budget::default() };
    assert_eq!(run(&mut world, sound(), 8, budget).unwrap().reason, EndReason::Attempts);
    assert_eq!(run(&mut world, sound(), 8, budget).unwrap().reason, EndReason::Attempts);
    assert_eq!(world.records.len(), 3);
    let plateau = Budget { plateau: Some(2), ..Budget::default() };
    let mut flat = World::new(KNOBS);
    let nothing = Nature { cost: |_| 1.0, ..sound() };
    assert_eq!(run(&mut flat, nothing, 9, plateau).unwrap().reason, EndReason::Plateau);
    assert_eq!(flat.records.len(), 2);
}
