//! `harness profile`: where the instructions of a request go.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use inferno::flamegraph;
use serde::Serialize;

use super::format::{clip, count, short};
use crate::judge::profile::Stack;
use crate::judge::sample::{Mode, Sample};

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What was asked for.
    pub name: String,
    /// Its commit.
    pub commit: String,
    /// What counted.
    pub meter: String,
    /// All that the count depends on beside server and load.
    pub fingerprint: String,
    /// The sample, of the program with line tables.
    pub sample: Sample,
    /// Every instruction of the window, by the function that it lies in and those inlined there.
    pub stacks: Vec<Stack>,
}

/// What an innermost function cost.
#[derive(Default)]
struct Inner<'a> {
    instructions: u64,
    /// The part of it in each function that it was inlined into.
    within: BTreeMap<&'a str, u64>,
}

/// The `most` dearest functions for people; an instruction belongs to the innermost function it was written in.
pub fn text(report: &Report, most: usize) -> String {
    let mut own: BTreeMap<(Mode, &str), Inner> = BTreeMap::new();
    for Stack { mode, frames, instructions } in &report.stacks {
        let Some((inner, outer)) = frames.split_last() else { continue };
        let entry = own.entry((*mode, inner)).or_default();
        entry.instructions += instructions;
        if let Some(outer) = outer.first() {
            *entry.within.entry(outer).or_default() += instructions;
        }
    }
    let mut rows: Vec<_> = own.into_iter().collect();
    rows.sort_by_key(|(_, inner)| std::cmp::Reverse(inner.instructions));
    let sample = &report.sample;
    let (requests, total) = (sample.load.verified as f64, (sample.user + sample.kernel) as f64);
    let mut out = String::new();
    let commit = short(&report.commit);
    let name = if report.name.starts_with(commit) { commit.to_owned() } else { format!("{} ({commit})", report.name) };
    let _ = writeln!(
        out,
        "{name}, relinked with line tables: {} instructions per request ({} user + {} kernel), seed {}, meter {} ({})\n\n  instr/req  share   sum  function",
        count(sample.per_request()),
        count(sample.user_per_request()),
        count(sample.kernel_per_request()),
        sample.seed,
        report.meter,
        report.fingerprint
    );
    let mut sum = 0.0;
    for ((mode, name), Inner { instructions, within: outer }) in rows.iter().take(most) {
        let instructions = *instructions as f64;
        sum += instructions;
        let kernel = if *mode == Mode::Kernel { " [kernel]" } else { "" };
        let inlined = match outer.iter().max_by_key(|(_, n)| **n) {
            Some((most, _)) if outer.len() == 1 => format!("  in {}", clip(most, 60)),
            Some((most, _)) => format!("  in {} and {} more", clip(most, 60), outer.len() - 1),
            None => String::new(),
        };
        let _ = writeln!(
            out,
            "  {:>9.1}  {:>4.1}%  {:>3.0}%  {}{kernel}{inlined}",
            instructions / requests,
            100.0 * instructions / total,
            100.0 * sum / total,
            clip(name, 80)
        );
    }
    if rows.len() > most {
        let rest = total - sum;
        let _ = writeln!(
            out,
            "  {:>9.1}  {:>4.1}%  100%  {} other functions",
            rest / requests,
            100.0 * rest / total,
            rows.len() - most
        );
    }
    out
}

/// The flame graph, an SVG of its own.
///
/// # Errors
/// When there is nothing to draw.
pub fn flame_graph(report: &Report) -> Result<Vec<u8>> {
    let lines: Vec<String> = report
        .stacks
        .iter()
        .map(|Stack { mode, frames, instructions }| {
            let side = if *mode == Mode::Kernel { "kernel" } else { "user" };
            let frames: Vec<String> = frames.iter().map(|frame| frame.replace(';', ":")).collect();
            format!("{side};{} {instructions}", frames.join(";"))
        })
        .collect();
    let mut options = flamegraph::Options::default();
    options.title = format!("{}: instructions by function", short(&report.commit));
    options.subtitle = Some("functions with what was inlined into them; who calls whom is not known".to_owned());
    options.count_name = "instructions".to_owned();
    options.deterministic = true;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
        .context("drawing the flame graph")?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::sample::{Load, Side};

    fn report() -> Report {
        let stack = |mode, frames: &[&str], instructions| Stack {
            mode,
            frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
            instructions,
        };
        let load = Load { sent: 10, verified: 10, wrong: 0, lost: 0 };
        Report {
            name: "HEAD".to_owned(),
            commit: "0123456789abcdef".to_owned(),
            meter: "vm".to_owned(),
            fingerprint: "f".to_owned(),
            sample: Sample { seed: 1, user: 700, kernel: 300, load, side: Side::default() },
            stacks: vec![
                stack(Mode::User, &["serve", "parse", "find<[u8; 3]>"], 400),
                stack(Mode::User, &["serve"], 200),
                stack(Mode::User, &["answer", "find<[u8; 3]>"], 100),
                stack(Mode::Kernel, &["tcp_ack"], 300),
            ],
        }
    }

    #[test]
    fn an_instruction_belongs_to_the_innermost_function_and_the_shares_add_up() {
        let shown = text(&report(), 2);
        let lines: Vec<String> =
            shown.lines().skip(3).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "50.0 50.0% 50% find<[u8; 3]> in serve and 1 more",
                "30.0 30.0% 80% tcp_ack [kernel]",
                "20.0 20.0% 100% 1 other functions"
            ]
        );
    }

    #[test]
    fn the_flame_graph_is_one_well_formed_drawing_with_every_function() {
        let svg = String::from_utf8(flame_graph(&report()).unwrap()).unwrap();
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"));
        for name in ["serve", "parse", "find&lt;[u8: 3]&gt;", "tcp_ack", "kernel"] {
            assert!(svg.contains(name), "{name}");
        }
        assert_eq!(svg.matches("<g>").count() + svg.matches("<g ").count(), svg.matches("</g>").count());
    }
}
