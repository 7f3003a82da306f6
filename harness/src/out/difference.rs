//! `harness diff`: where the difference of two servers went.

use std::fmt::Write as _;

use serde::Serialize;

use super::format::{clip, gain, short};
use crate::judge::profile::{Difference, FunctionShift};
use crate::judge::sample::Mode;

/// One of the two.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// What it is called on the command line.
    pub name: String,
    /// The commit it was built from.
    pub commit: String,
    /// SHA-256 of the program, hex.
    pub binary: String,
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What counted.
    pub meter: String,
    /// All that the counts depend on beside servers and loads.
    pub fingerprint: String,
    /// Seeds that both were counted on.
    pub seeds: Vec<u64>,
    /// The one before.
    pub before: Side,
    /// The one after.
    pub after: Side,
    /// What differs, in means over the seeds.
    pub difference: Difference,
}

/// The report for people; `most` functions, and what the others change together.
pub fn text(report: &Report, most: usize) -> String {
    let mut out = String::new();
    let Difference { before, after, functions, system_calls } = &report.difference;
    let side = |side: &Side| {
        let commit = short(&side.commit);
        if side.name.starts_with(commit) { commit.to_owned() } else { format!("{} ({commit})", side.name) }
    };
    let _ = writeln!(out, "{} -> {}", side(&report.before), side(&report.after));
    let (seeds, plural) = (report.seeds.len(), if report.seeds.len() == 1 { "" } else { "s" });
    let _ = writeln!(
        out,
        "Instructions per request, meter {} ({}), {seeds} seed{plural}",
        report.meter, report.fingerprint
    );
    if report.before.binary == report.after.binary {
        let _ = writeln!(out, "Both build the same program, bit for bit.");
    }
    let (total, now) = (before.0 + before.1, after.0 + after.1);
    let _ = writeln!(out, "\n     before      after     change");
    out.push_str(&row(before.0, after.0, "user"));
    out.push_str(&row(before.1, after.1, "kernel"));
    out.push_str(&row(total, now, &format!("in all: {} score", gain((total / now).ln()))));
    if !functions.is_empty() {
        let _ = writeln!(out, "\n     before      after     change  function");
        let (named, others) = functions.split_at(most.min(functions.len()));
        for shift in named {
            let kernel = if shift.mode == Mode::Kernel { " [kernel]" } else { "" };
            out.push_str(&row(shift.before, shift.after, &format!("{}{kernel}", clip(&shift.name, 80))));
        }
        if !others.is_empty() {
            let sum = |of: fn(&FunctionShift) -> f64| others.iter().map(of).sum::<f64>();
            let name = format!("{} other functions", others.len());
            out.push_str(&row(sum(|shift| shift.before), sum(|shift| shift.after), &name));
        }
        let all: f64 = functions.iter().map(FunctionShift::change).sum();
        let _ = writeln!(out, "  {:>20}  {all:>+9.1}  together", "");
    }
    if !system_calls.is_empty() {
        let _ = writeln!(out, "\n     before      after     change  system calls per request");
        for (name, (before, after)) in system_calls {
            let _ = writeln!(out, "  {before:>9.4}  {after:>9.4}  {:>+9.4}  {name}", after - before);
        }
    }
    out
}

fn row(before: f64, after: f64, name: &str) -> String {
    format!("  {before:>9.1}  {after:>9.1}  {:>+9.1}  {name}\n", after - before)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn functions_that_are_not_named_are_in_one_line_and_all_add_up() {
        let shift = |name: &str, mode, before, after| FunctionShift { name: name.to_owned(), mode, before, after };
        let side = |name: &str, binary: &str| Side {
            name: name.to_owned(),
            commit: "0123456789abcdef".to_owned(),
            binary: binary.to_owned(),
        };
        let difference = Difference {
            before: (900.0, 100.0),
            after: (700.0, 90.0),
            functions: vec![
                shift("parse", Mode::User, 400.0, 230.0),
                shift("answer", Mode::User, 60.0, 30.0),
                shift("tcp_ack", Mode::Kernel, 30.0, 20.0),
            ],
            system_calls: BTreeMap::from([("write".to_owned(), (1.0, 0.125))]),
        };
        let (meter, fingerprint) = ("vm".to_owned(), "f".to_owned());
        let (before, after) = (side("12", "a"), side("01234567", "b"));
        let report = Report { meter, fingerprint, seeds: vec![1], before, after, difference };
        let shown = text(&report, 1);
        let lines: Vec<String> =
            shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in [
            "12 (01234567) -> 01234567",
            "1000.0 790.0 -210.0 in all: +26.58% score",
            "400.0 230.0 -170.0 parse",
            "90.0 50.0 -40.0 2 other functions",
            "-210.0 together",
            "1.0000 0.1250 -0.8750 write",
        ] {
            assert!(lines.iter().any(|shown| shown == line), "{line}\n{shown}");
        }
        assert!(text(&report, 9).contains("tcp_ack [kernel]") && !text(&report, 9).contains("other functions"));
    }
}
