//! `harness profile [COMMIT|N]`: where the instructions go, function by function, and a flame graph.

use anyhow::{Context as _, Result, anyhow, bail};

use super::replay::recorded;
use super::{Workshop, pick, print_json, runs};
use crate::cli;
use crate::data::durable;
use crate::data::ledger;
use crate::exit::{Exit, UsageError};
use crate::os::git::Repo;
use crate::out::profiled::{self, Report};
use crate::real::Interrupted;
use crate::real::measure::{Fault, Load};

pub fn run(repo: &Repo, args: &cli::Profile, json: bool) -> Result<Exit> {
    let runs = runs(repo)?;
    let (_, run) = pick(&runs, args.run.as_deref())?;
    let contents = ledger::read(&repo.root().join("history"))?;
    let found = recorded::find(repo, &contents, &args.target)?;
    let shop = Workshop::open(repo, run, &found.commit)?;
    match &found.patch {
        Some(diff) => shop.worktree.apply(&found.commit, diff)?,
        None => shop.worktree.restore(&found.commit)?,
    }
    let built = shop
        .build_by(&shop.builder.with_line_tables(), &format!("{} with line tables", args.target))?
        .map_err(|reason| anyhow!(reason))?;
    eprintln!("counting");
    let load = Load::make(&shop.workload, args.seed);
    let (counted, stacks) = match shop.meter.stacks(&built.path, &load, &shop.stop) {
        Ok(Some(found)) => found,
        Ok(None) => bail!(UsageError(format!(
            "the meter {} cannot tell where instructions lie: set meter = \"vm\" in runs.toml",
            shop.meter.name()
        ))),
        Err(Fault::Own(error)) => return Err(error),
        Err(Fault::Interrupted) => return Err(Interrupted.into()),
        Err(Fault::Invalid(reason) | Fault::Unsound(reason)) => bail!(reason),
    };
    let report = Report {
        name: args.target.clone(),
        commit: found.commit.as_str().to_owned(),
        meter: shop.meter.name().to_owned(),
        fingerprint: shop.fingerprint.clone(),
        sample: counted.sample,
        stacks,
    };
    if let Some(path) = &args.flame {
        durable::write(path, &profiled::flame_graph(&report)?).context("writing the flame graph")?;
        eprintln!("flame graph: {}", path.display());
    }
    if json {
        print_json(&report)?;
    } else {
        print!("{}", profiled::text(&report, args.functions));
    }
    Ok(Exit::Done)
}
