//! The flags that decide data and plan.

use anyhow::Context;
use clap::{Args, ValueEnum};
use loadgen::dataset::DataSet;
use loadgen::plan::Plan;
use loadgen::preset::Preset;
use loadgen::workload::{Schedule, Workload};
use std::path::PathBuf;

/// What decides data and plan.
#[derive(Debug, Args)]
pub struct Made {
    /// Decides all data, requests and answers
    #[arg(long)]
    seed: u64,
    /// A workload with a name; flags below override it
    #[arg(long, conflicts_with = "workload")]
    preset: Option<Preset>,
    /// A workload as JSON; flags below override it
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// Connections, all open at once [default: 64]
    #[arg(long)]
    connections: Option<u32>,
    /// Requests in flight on a connection [default: 8]
    #[arg(long, visible_alias = "depth")]
    pipelining: Option<u32>,
    /// Requests in the window [default: 5120]
    #[arg(long)]
    requests: Option<u32>,
    /// Requests before it, checked as well [default: 1024, or fewer where that makes no whole waves]
    #[arg(long)]
    warmup: Option<u32>,
    /// How requests are let go [default: waves]
    #[arg(long)]
    schedule: Option<Pace>,
    /// Users in the data set [default: 2000, or as many as the requests need]
    #[arg(long)]
    users: Option<u32>,
    /// Network rows in the data set [default: 4000]
    #[arg(long)]
    networks: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Pace {
    /// All connections at once, then wait for all
    Waves,
    /// Each connection goes on as its answers come
    ClosedLoop,
    /// A connection for each request, as many at a time as there are connections
    Churn,
}

impl Made {
    /// The workload, valid.
    pub fn workload(&self) -> anyhow::Result<Workload> {
        let mut workload = match (&self.workload, self.preset) {
            (None, None) => Workload::default(),
            (None, Some(preset)) => preset.workload(),
            (Some(path), _) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the workload {}", path.display()))?;
                serde_json::from_str(&text).with_context(|| format!("{} is no workload", path.display()))?
            }
        };
        let fields = [
            (self.connections, &mut workload.connections),
            (self.pipelining, &mut workload.pipelining),
            (self.requests, &mut workload.requests),
            (self.warmup, &mut workload.warmup),
            (self.users, &mut workload.users),
            (self.networks, &mut workload.networks),
        ];
        for (given, field) in fields {
            *field = given.unwrap_or(*field);
        }
        if let Some(pace) = self.schedule {
            workload.schedule = match pace {
                Pace::Waves => Schedule::Waves,
                Pace::ClosedLoop => Schedule::ClosedLoop,
                Pace::Churn => Schedule::Churn,
            };
        }
        // What nobody asked for follows what was asked for.
        if self.workload.is_none() {
            workload.fit(self.warmup.is_none(), self.users.is_none());
        }
        workload.validate().map_err(|why| anyhow::anyhow!("the workload cannot be: {why}"))?;
        Ok(workload)
    }

    /// Data set and plan.
    pub fn load(&self) -> anyhow::Result<(DataSet, Plan)> {
        let workload = self.workload()?;
        let set = DataSet::generate(self.seed, &workload);
        let plan = match self.attack() {
            true => Plan::attack(self.seed, &workload, &set)
                .map_err(|why| anyhow::anyhow!("the attack cannot be: {why}"))?,
            false => Plan::make(self.seed, &workload, &set),
        };
        Ok((set, plan))
    }

    /// The data set alone.
    pub fn data(&self) -> anyhow::Result<DataSet> {
        Ok(DataSet::generate(self.seed, &self.workload()?))
    }

    /// Whether quiet rounds and rounds under attack are to be compared.
    pub fn attack(&self) -> bool {
        self.preset == Some(Preset::Attack)
    }
}
