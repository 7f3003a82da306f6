//! Two profiles compared: which functions' cost per request changed most. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sample::{Counted, FunctionCost, Mode, Sample};

/// Changes below this many instructions per request are not worth a line.
const WORTH_A_LINE: f64 = 0.05;

/// What one stack of functions cost in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stack {
    /// User or kernel.
    pub mode: Mode,
    /// The function, and below it those that were inlined where the instructions lie, the innermost last.
    pub frames: Vec<String>,
    /// Instructions in the whole window.
    pub instructions: u64,
}

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

impl FunctionShift {
    /// Instructions per request: after less before.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }
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

/// Two servers counted on the same seeds: where the difference of their cost per request lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Mean instructions per request, user and kernel, before.
    pub before: (f64, f64),
    /// The same after.
    pub after: (f64, f64),
    /// Every function whose cost changed, largest change first. Their changes add up to the difference: every instruction of
    /// the server's CPU lies in one function. Empty where the meter has no profile.
    pub functions: Vec<FunctionShift>,
    /// System calls per request, by name, before and after; only those that either makes.
    pub system_calls: BTreeMap<String, (f64, f64)>,
}

impl Difference {
    /// Of some samples of one server and as many of another.
    pub fn of(before: &[Counted], after: &[Counted]) -> Difference {
        let (mut functions, mut system_calls) = (BTreeMap::new(), BTreeMap::new());
        for (side, samples) in [before, after].into_iter().enumerate() {
            for counted in samples {
                let requests = counted.sample.load.verified as f64 * samples.len() as f64;
                for cost in &counted.profile {
                    let entry = functions.entry((cost.mode, cost.name.as_str())).or_insert([0.0; 2]);
                    entry[side] += cost.instructions as f64 / requests;
                }
                for (name, calls) in counted.sample.side.system_calls.iter().flatten() {
                    system_calls.entry(name.clone()).or_insert([0.0; 2])[side] += *calls as f64 / requests;
                }
            }
        }
        let mean = |samples: &[Counted], of: fn(&Sample) -> f64| {
            samples.iter().map(|counted| of(&counted.sample)).sum::<f64>() / samples.len() as f64
        };
        let sides = |samples| (mean(samples, Sample::user_per_request), mean(samples, Sample::kernel_per_request));
        let mut functions: Vec<FunctionShift> = functions
            .into_iter()
            .map(|((mode, name), [before, after])| FunctionShift { name: name.to_owned(), mode, before, after })
            .filter(|shift| shift.before != shift.after)
            .collect();
        functions.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
        let system_calls = system_calls.into_iter().map(|(name, [before, after])| (name, (before, after))).collect();
        Difference { before: sides(before), after: sides(after), functions, system_calls }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::sample::{Load, Side};

    #[test]
    fn the_changes_of_all_functions_add_up_to_the_difference() {
        let counted = |seed: u64, costs: &[(&str, Mode, u64)], writes: u64| {
            let sum = |wanted: Mode| costs.iter().filter(|(_, mode, _)| *mode == wanted).map(|(.., n)| n).sum::<u64>();
            let side = Side { system_calls: Some(BTreeMap::from([("write".to_owned(), writes)])), ..Side::default() };
            let load = Load { sent: 10, verified: 10, wrong: 0, lost: 0 };
            let sample = Sample { seed, user: sum(Mode::User), kernel: sum(Mode::Kernel), load, side };
            Counted { sample, profile: profile(costs) }
        };
        let before = [
            counted(1, &[("parse", Mode::User, 1_000), ("send", Mode::Kernel, 5_000), ("same", Mode::User, 70)], 20),
            counted(2, &[("parse", Mode::User, 1_100), ("send", Mode::Kernel, 5_300), ("same", Mode::User, 70)], 20),
        ];
        let after = [
            counted(1, &[("parse", Mode::User, 700), ("send", Mode::Kernel, 5_010), ("same", Mode::User, 70)], 5),
            counted(2, &[("scan", Mode::User, 650), ("send", Mode::Kernel, 5_290), ("same", Mode::User, 70)], 5),
        ];
        let difference = Difference::of(&before, &after);
        let rows: Vec<(&str, f64, f64)> =
            difference.functions.iter().map(|shift| (shift.name.as_str(), shift.before, shift.after)).collect();
        assert_eq!(rows, [("parse", 105.0, 35.0), ("scan", 0.0, 32.5)], "send's mean and same's are the same");
        let sum: f64 = difference.functions.iter().map(FunctionShift::change).sum();
        let total = |(user, kernel): (f64, f64)| user + kernel;
        let whole = total(difference.after) - total(difference.before);
        assert!((sum - whole).abs() < 1e-9 && (sum + 37.5).abs() < 1e-9, "{sum}, {whole}");
        assert_eq!(difference.system_calls, BTreeMap::from([("write".to_owned(), (2.0, 0.5))]));
    }

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
