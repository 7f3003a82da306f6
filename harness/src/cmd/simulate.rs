//! `harness simulate`: whole searches whose truth is known, judged by the rule that judges real ones. What is simulated is
//! in `judge/simulate.rs`; here it is run over many seeds, on two CPUs at most.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result};

use super::{Interrupted, print_json};
use crate::cli;
use crate::exit::Exit;
use crate::judge::decide::Rule;
use crate::judge::simulate::{Meter, Naive, Small, Tally, climb, night, run_of};
use crate::judge::statistics::from_score_gain;
use crate::os::signals;
use crate::out::format::duration;
use crate::out::simulated::{Climbed, Mixed, Report, Row, Terms, text};

/// The gain that must be found, as a fraction of score.
const GAIN: f64 = 0.05;

/// What the design of the rule claims; `attempts` and noise are those the claim was made for.
const NONE_PROMOTED: &str = "none promoted";
const FOUND: &str = "found";
const DROPPED_AND_STACKED: &str = "+32% dropped, +90% stacked";
const NAIVE: [(f64, &str); 2] = [(0.01, "5 to 6 promoted"), (0.02, "44 promoted, +197%")];
const NAIVE_ATTEMPTS: usize = 300;

pub fn run(args: &cli::Simulate, json: bool) -> Result<Exit> {
    let stop = signals::install().context("watching for Ctrl-C")?;
    let report = simulate(args, &stop, &mut |line| eprintln!("{line}"))?;
    if json {
        print_json(&report)?;
    } else {
        print!("{}", text(&report));
    }
    Ok(if report.promoted_luck() { Exit::NotReproduced } else { Exit::Done })
}

fn simulate(args: &cli::Simulate, stop: &AtomicBool, say: &mut dyn FnMut(&str)) -> Result<Report> {
    let cli::Simulate { runs, attempts, seed, .. } = *args;
    let (began, mut done) = (Instant::now(), 0);
    let rules = [Rule::default(), Rule::default().for_noisy_meter()];
    let levels: Vec<f64> = args.noise.iter().map(|percent| percent / 100.0).collect();
    let noisy = levels.iter().filter(|noise| **noise > 0.0).count();
    let all = 3 * levels.len() * rules.len() + 2 * noisy;
    let mut announce = |what: &str, noise: f64, rule: Option<&Rule>| {
        done += 1;
        let looks = rule.map_or(String::new(), |rule| format!(", looks {:?}", rule.looks));
        let spent = duration(began.elapsed().as_secs_f64());
        say(&format!("{done} of {all} ({spent}): {what}, noise {:.2}%{looks}", 100.0 * noise));
    };
    let mut report = Report::new(runs, attempts, seed, rules[0].gain, GAIN);
    for &noise in &levels {
        for (index, rule) in rules.iter().enumerate() {
            let terms = Terms { noise, looks: rule.looks.clone() };
            let meter =
                |what: u64, run: u64| Meter::new(noise, stream(seed, &[what, index as u64, noise.to_bits()], run));
            let sum = |tallies: Vec<Tally>| tallies.into_iter().fold(Tally::default(), Tally::plus);
            announce("changes that do nothing", noise, Some(rule));
            let found = sum(each(runs, stop, |run| run_of(rule, &mut meter(0, run), 0.0, attempts))?);
            report.null.push(Row { terms: terms.clone(), claim: Some(NONE_PROMOTED), found });
            announce("a true gain", noise, Some(rule));
            let found = sum(each(runs, stop, |run| run_of(rule, &mut meter(1, run), from_score_gain(GAIN), 1))?);
            report.real.push(Row { terms: terms.clone(), claim: Some(FOUND), found });
            announce("a mix of changes", noise, Some(rule));
            let nights = each(runs, stop, |run| {
                let mix = stream(seed, &[2], run);
                let one = |small| night(rule, &mut meter(3, run), small, mix, attempts);
                (one(Small::Dropped), one(Small::Stacked))
            })?;
            report.mix.push(Row { terms, claim: Some(DROPPED_AND_STACKED), found: Mixed::of(&nights) });
        }
        for naive in [Naive::Stored, Naive::OnePair].into_iter().filter(|_| noise > 0.0) {
            announce("the same without an interval", noise, None);
            let tau = rules[0].tau();
            let climbs = each(runs, stop, |run| {
                climb(
                    naive,
                    &mut Meter::new(noise, stream(seed, &[4, naive as u64, noise.to_bits()], run)),
                    tau,
                    attempts,
                )
            })?;
            let known = NAIVE.into_iter().find(|(level, _)| attempts == NAIVE_ATTEMPTS && (noise - level).abs() < 1e-9);
            let terms = Terms { noise, looks: Vec::new() };
            report.naive.push(Row { terms, claim: known.map(|(_, claim)| claim), found: Climbed::of(naive, &climbs) });
        }
    }
    Ok(report)
}

/// A seed of its own for each run of each row, from the one seed: rounds of a well-mixed multiplication.
fn stream(seed: u64, row: &[u64], run: u64) -> u64 {
    row.iter().chain([&run]).fold(seed, |mixed, part| {
        let mixed = (mixed ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ (mixed >> 31)
    })
}

/// All runs in their order, on two CPUs at most.
fn each<T: Send>(runs: usize, stop: &AtomicBool, one: impl Fn(u64) -> T + Sync) -> Result<Vec<T>> {
    let lanes = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let (next, results) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= runs as u64 || signals::stopped(stop) {
                        return;
                    }
                    let result = one(run);
                    results.lock().expect("no lane panics").push((run, result));
                }
            });
        }
    });
    if signals::stopped(stop) {
        return Err(Interrupted.into());
    }
    let mut results = results.into_inner().expect("no lane panics");
    results.sort_by_key(|(run, _)| *run);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(seed: u64) -> cli::Simulate {
        cli::Simulate { runs: 4, attempts: 50, noise: vec![0.1, 1.0], seed }
    }

    #[test]
    fn a_reduced_simulation_promotes_no_luck_finds_what_is_there_and_can_be_repeated() {
        let go = AtomicBool::new(false);
        let mut said = Vec::new();
        let report = simulate(&args(1), &go, &mut |line| said.push(line.to_owned())).unwrap();
        assert_eq!((report.null.len(), report.real.len(), report.naive.len(), report.mix.len()), (4, 4, 4, 4));
        assert!(!report.promoted_luck());
        assert!(report.null.iter().all(|row| row.found.attempts == 200));
        assert_eq!(report.real[0].found.promoted, 4, "a gain of 5% at 0.1% noise");
        assert!(report.mix[0].found.stacked > report.mix[0].found.dropped, "{:?}", report.mix[0]);
        assert_eq!(said.len(), 16, "{said:?}");
        assert!(said[15].starts_with("16 of 16 "), "{said:?}");
        let json = |report: &Report| serde_json::to_string(report).unwrap();
        assert_eq!(json(&simulate(&args(1), &go, &mut |_| {}).unwrap()), json(&report));
        assert_ne!(json(&simulate(&args(2), &go, &mut |_| {}).unwrap()), json(&report));
    }

    #[test]
    fn a_stop_ends_it_as_interrupted() {
        let error = simulate(&args(1), &AtomicBool::new(true), &mut |_| {}).unwrap_err();
        assert!(error.is::<Interrupted>(), "{error:#}");
    }
}
