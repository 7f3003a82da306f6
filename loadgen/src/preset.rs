//! Workloads with a name.

use crate::workload::{Mix, Schedule, Workload};
use clap::ValueEnum;

/// A workload that needs no further flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// 500,000 requests of all kinds over 10,000 connections, 10 in flight on each; seconds + 1 per error is the score
    Contest,
    /// Only requests that are answered, over 512 connections: what the others are compared with
    Quiet,
    /// 102,400 connections of one request each, 256 at a time; half are closed by the server, half by the client
    Churn,
    /// Quiet rounds and rounds with 90% refused by turns: compares CPU time a request, p99 and memory
    Attack,
}

impl Preset {
    /// Its workload.
    pub fn workload(self) -> Workload {
        let big = Workload { warmup: 0, schedule: Schedule::ClosedLoop, users: 20_000, ..Workload::default() };
        match self {
            Preset::Contest => {
                Workload { connections: 10_000, pipelining: 10, requests: 500_000, networks: 50_000, ..big }
            }
            Preset::Quiet => Workload {
                connections: 512,
                requests: 491_520,
                warmup: 40_960,
                mix: Mix { get: 350, get_no_record: 40, auth: 110, ..Mix::NONE },
                ..big
            },
            Preset::Churn => {
                Workload { connections: 256, pipelining: 1, requests: 102_400, schedule: Schedule::Churn, ..big }
            }
            Preset::Attack => Workload { connections: 512, requests: 491_520, ..big },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_valid_workload() {
        for preset in Preset::value_variants() {
            preset.workload().validate().unwrap();
        }
    }
}
