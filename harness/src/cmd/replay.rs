//! `harness replay COMMIT|N`: build it again, count it again on the recorded seeds, and say whether the numbers come out.
//! What the ledger holds of it is looked up in `recorded.rs`.

use anyhow::Result;

use super::recorded::{self, Recorded};
use super::{Workshop, print_json};
use crate::cli;
use crate::data::definition::{Run, Runs};
use crate::data::ledger;
use crate::exit::Exit;
use crate::judge::sample::Sample;
use crate::judge::statistics::Noise;
use crate::os::git::Repo;
use crate::out::replayed::{Answer, Replayed, Report, text};
use crate::real::measure::Fault;
use crate::real::measure::pairs::Server;

pub fn run(repo: &Repo, args: &cli::Replay, json: bool) -> Result<Exit> {
    let contents = ledger::read(&repo.root().join("history"))?;
    let recorded = recorded::find(repo, &contents, &args.target)?;
    let report = replay(repo, &recorded, args.seeds)?;
    if json {
        print_json(&report)?;
    } else {
        print!("{}", text(&report));
    }
    Ok(match report.answer {
        Answer::Reproduced(_) => Exit::Done,
        Answer::NotReproduced(_) => Exit::NotReproduced,
        Answer::NotComparable(_) => Exit::NotComparable,
    })
}

fn replay(repo: &Repo, recorded: &Recorded, seeds: usize) -> Result<Report> {
    let taken: Vec<&Sample> = recorded.samples.iter().take(seeds.max(1)).collect();
    let report = |built: Option<String>, measured: Vec<Option<Sample>>, answer| Report {
        commit: recorded.commit.as_str().to_owned(),
        attempt: recorded.attempt,
        binaries: (recorded.binary.clone(), built),
        seeds: taken
            .iter()
            .zip(measured)
            .map(|(sample, measured)| Replayed { recorded: (*sample).clone(), measured })
            .collect(),
        answer,
    };
    let nothing = || taken.iter().map(|_| None).collect::<Vec<_>>();
    let Some((start, fingerprint)) = &recorded.terms else {
        let why = &recorded.why_none;
        let answer = Answer::NotComparable(format!("the ledger has no sample of this commit: {why}"));
        return Ok(report(None, Vec::new(), answer));
    };
    let definition = Runs::parse("runs.toml as recorded in the ledger", &start.definition_text)?;
    let run: &Run = definition.pick(Some(&start.run))?.1;
    let shop = Workshop::open(repo, run, &recorded.commit)?;
    let other = (shop.fingerprint != *fingerprint).then(|| {
        format!(
            "recorded by {} {fingerprint}, here it is {} {}: another meter, load generator, machine or compiler gives other numbers",
            start.meter,
            shop.meter.name(),
            shop.fingerprint
        )
    });
    // An exact meter is asked all the same: the same count to the instruction needs no other proof.
    if let Some(reason) = other.clone().filter(|_| !shop.meter.is_exact() || shop.meter.name() != start.meter) {
        return Ok(report(None, nothing(), Answer::NotComparable(reason)));
    }
    if let Some(diff) = &recorded.patch {
        shop.worktree.apply(&recorded.commit, diff)?;
    }
    let built = match shop.build_here(&format!("commit {}", recorded.commit.short()))? {
        Ok(built) => built,
        Err(reason) => return Ok(report(None, nothing(), Answer::NotReproduced(reason))),
    };
    eprintln!("counting {} seeds", taken.len());
    let numbers: Vec<u64> = taken.iter().map(|sample| sample.seed).collect();
    let counted = match shop.bench().samples(Server { path: &built.path, sha256: &built.sha256 }, &numbers) {
        Ok(counted) => counted,
        Err(Fault::Own(error)) => return Err(error),
        Err(Fault::Interrupted) => return Err(super::Interrupted.into()),
        Err(Fault::Invalid(reason) | Fault::Unsound(reason)) => {
            return Ok(report(Some(built.sha256), nothing(), Answer::NotReproduced(reason)));
        }
    };
    let measured: Vec<Sample> = counted.into_iter().map(|counted| counted.sample).collect();
    let answer = answer(recorded, &built.sha256, &taken, &measured, (!shop.meter.is_exact()).then_some(start.noise));
    let answer = match (answer, other) {
        (Answer::NotReproduced(_), Some(other)) => Answer::NotComparable(other),
        (Answer::Reproduced(reason), Some(_)) => {
            Answer::Reproduced(format!("{reason}, though the fingerprint is another"))
        }
        (answer, _) => answer,
    };
    Ok(report(Some(built.sha256), measured.into_iter().map(Some).collect(), answer))
}

/// `noise` is none for an exact meter.
fn answer(recorded: &Recorded, built: &str, taken: &[&Sample], measured: &[Sample], noise: Option<Noise>) -> Answer {
    if let Some(known) = recorded.binary.as_deref().filter(|known| *known != built) {
        return Answer::NotReproduced(format!("the build gives another program (sha256 {built}, recorded {known})"));
    }
    let close = |old: &Sample, new: &Sample| match noise {
        None => (old.user, old.kernel, old.load) == (new.user, new.kernel, new.load),
        // Five deviations: a hardware counter's sample is never the same number twice.
        Some(noise) => (old.per_request() / new.per_request()).ln().abs() <= 5.0 * noise.sigma_aa,
    };
    let differing = taken.iter().zip(measured).filter(|(old, new)| !close(old, new)).count();
    let n = taken.len();
    match (differing, noise) {
        (0, None) => Answer::Reproduced(format!("the same count to the instruction on {n} of {n} seeds")),
        (0, Some(_)) => Answer::Reproduced(format!("within the meter's spread on {n} of {n} seeds")),
        (differing, _) => Answer::NotReproduced(format!("the count differs on {differing} of {n} seeds")),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use crate::judge::sample::{Load, Side};

    fn sample(user: u64) -> Sample {
        Sample {
            seed: 1,
            user,
            kernel: 5_000,
            load: Load { sent: 10, verified: 10, wrong: 0, lost: 0 },
            side: Side::default(),
        }
    }

    fn recorded(repo: &Repo, binary: &str) -> Recorded {
        Recorded {
            commit: repo.head().unwrap(),
            patch: None,
            attempt: Some(1),
            binary: Some(binary.into()),
            samples: vec![],
            terms: None,
            why_none: String::new(),
        }
    }

    #[test]
    fn an_exact_meter_reproduces_to_the_instruction_and_a_noisy_one_within_its_spread() {
        let repo = Repo::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR")))
            .context("the tests run in a checkout")
            .unwrap();
        let known = recorded(&repo, "a");
        let old = sample(1_000_000);
        let say = |new: u64, noise| answer(&known, "a", &[&old], &[sample(new)], noise);
        assert!(matches!(say(1_000_000, None), Answer::Reproduced(_)));
        assert!(matches!(say(1_000_001, None), Answer::NotReproduced(_)));
        assert!(matches!(say(1_000_001, Some(Noise::new(0.001, 0.0))), Answer::Reproduced(_)));
        assert!(matches!(say(1_100_000, Some(Noise::new(0.001, 0.0))), Answer::NotReproduced(_)));
        let other = answer(&known, "b", &[&old], &[sample(1_000_000)], None);
        assert!(matches!(other, Answer::NotReproduced(reason) if reason.contains("another program")));
    }
}
