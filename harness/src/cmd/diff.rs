//! `harness diff A B`: two commits on the same seeds, and where the difference went.

use anyhow::{Result, anyhow, bail};

use super::replay::recorded::{self, Recorded};
use super::{Workshop, pick, print_json, runs};
use crate::cli;
use crate::data::ledger;
use crate::exit::Exit;
use crate::judge::profile::Difference;
use crate::judge::sample::Counted;
use crate::os::git::Repo;
use crate::out::difference::{self, Report, Side};
use crate::real::Interrupted;
use crate::real::build::Binary;
use crate::real::measure::Fault;
use crate::real::measure::pairs::Server;

pub fn run(repo: &Repo, args: &cli::Diff, json: bool) -> Result<Exit> {
    let runs = runs(repo)?;
    let (_, run) = pick(&runs, args.run.as_deref())?;
    let contents = ledger::read(&repo.root().join("history"))?;
    let sides = [
        (&args.before, recorded::find(repo, &contents, &args.before)?),
        (&args.after, recorded::find(repo, &contents, &args.after)?),
    ];
    let shop = Workshop::open(repo, run, &sides[0].1.commit)?;
    let mut built = Vec::new();
    for (name, side) in &sides {
        built.push(build(&shop, name, side)?);
    }
    let seeds: Vec<u64> = (1..=args.seeds).collect();
    let mut counted = Vec::new();
    for ((name, _), binary) in sides.iter().zip(&built) {
        eprintln!("counting {name} on {} seeds", seeds.len());
        counted.push(count(&shop, binary, &seeds)?);
    }
    let side = |at: usize| Side {
        name: sides[at].0.clone(),
        commit: sides[at].1.commit.as_str().to_owned(),
        binary: built[at].sha256.clone(),
    };
    let report = Report {
        meter: shop.meter.name().to_owned(),
        fingerprint: shop.fingerprint.clone(),
        seeds,
        before: side(0),
        after: side(1),
        difference: Difference::of(&counted[0], &counted[1]),
    };
    if json {
        print_json(&report)?;
    } else {
        print!("{}", difference::text(&report, args.functions));
    }
    Ok(Exit::Done)
}

fn build(shop: &Workshop, name: &str, side: &Recorded) -> Result<Binary> {
    match &side.patch {
        Some(diff) => shop.worktree.apply(&side.commit, diff)?,
        None => shop.worktree.restore(&side.commit)?,
    }
    shop.build_here(name)?.map_err(|reason| anyhow!(reason))
}

fn count(shop: &Workshop, built: &Binary, seeds: &[u64]) -> Result<Vec<Counted>> {
    match shop.bench().samples(Server { path: &built.path, sha256: &built.sha256 }, seeds) {
        Ok(counted) => Ok(counted),
        Err(Fault::Own(error)) => Err(error),
        Err(Fault::Interrupted) => Err(Interrupted.into()),
        Err(Fault::Invalid(reason) | Fault::Unsound(reason)) => bail!(reason),
    }
}
