//! Two profiles compared: which functions' cost per request changed most. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sample::{FunctionCost, Mode};

/// Changes below this many instructions per request are not worth a line.
const WORTH_A_LINE: f64 = 0.05;

/// Instructions per request of one function, before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionShift {
    /// Its name.
    pub name: String,
    /// User or kernel.
    pub mode: Mode,
    /// In the champion.
    pub before: f64,
    /// In the challenger.
    pub after: f64,
}

/// The functions whose cost per request changed, largest change first. Each side is its profile and the requests that
/// its window verified.
pub fn shifts(champion: (&[FunctionCost], u64), challenger: (&[FunctionCost], u64)) -> Vec<FunctionShift> {
    let mut costs = BTreeMap::<(Mode, &str), (f64, f64)>::new();
    for cost in champion.0 {
        costs.entry((cost.mode, &cost.name)).or_default().0 += cost.instructions as f64 / champion.1 as f64;
    }
    for cost in challenger.0 {
        costs.entry((cost.mode, &cost.name)).or_default().1 += cost.instructions as f64 / challenger.1 as f64;
    }
    let mut shifts: Vec<FunctionShift> = costs
        .into_iter()
        .map(|((mode, name), (before, after))| FunctionShift { name: name.to_owned(), mode, before, after })
        .filter(|shift| (shift.after - shift.before).abs() >= WORTH_A_LINE)
        .collect();
    shifts.sort_by(|a, b| (b.after - b.before).abs().total_cmp(&(a.after - a.before).abs()));
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(costs: &[(&str, Mode, u64)]) -> Vec<FunctionCost> {
        costs
            .iter()
            .map(|(name, mode, instructions)| FunctionCost {
                name: (*name).to_owned(),
                mode: *mode,
                instructions: *instructions,
            })
            .collect()
    }

    #[test]
    fn functions_are_compared_per_request_and_the_largest_change_comes_first() {
        let champion =
            profile(&[("parse", Mode::User, 1_000), ("send", Mode::Kernel, 5_000), ("same", Mode::User, 70)]);
        let challenger = profile(&[
            ("parse", Mode::User, 1_000),
            ("send", Mode::Kernel, 2_000),
            ("same", Mode::User, 140),
            ("new", Mode::User, 40),
        ]);
        let found = shifts((&champion, 10), (&challenger, 20));
        let rows: Vec<(&str, f64, f64)> =
            found.iter().map(|shift| (shift.name.as_str(), shift.before, shift.after)).collect();
        assert_eq!(rows, [("send", 500.0, 100.0), ("parse", 100.0, 50.0), ("new", 0.0, 2.0)]);
    }
}
