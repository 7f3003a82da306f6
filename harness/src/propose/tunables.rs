//! Explores the declared knobs: every choice alone first, each on top of what was promoted and banked before it, then what
//! failed before once more. Never the same tree twice.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};

use super::knobs::{self, Assignment, Knob};
use super::{Context, Edit, Proposal, Proposer};
use crate::judge::outcome::Outcome;
use crate::judge::record::{Changed, Past};

/// The proposer `tunables`. It has no state of its own: the run's past is all it goes by, so it goes on after a
/// restart where it stopped.
#[derive(Debug, Default)]
pub struct Tunables;

impl Proposer for Tunables {
    fn propose(&mut self, context: &Context) -> Result<Option<Proposal>> {
        let place = context.tunables_path.display();
        let knobs = knobs::parse(&context.tunables)
            .with_context(|| format!("reading the tunables of {place} in the champion"))?;
        if knobs.is_empty() {
            bail!(
                "{place} declares no tunables: the proposer `tunables` needs at least one constant under a `/// choices: A | B` line"
            );
        }
        let now = knobs::assignment(&knobs);
        let baseline = knobs::parse(&context.baseline_tunables)
            .with_context(|| format!("reading the tunables of {place} in the baseline"))?;
        let tried = Tried::of(knobs::assignment(&baseline), &context.past);

        let next = untried_alone(&knobs, &now, &tried).or_else(|| once_more(&knobs, &now, &tried));
        Ok(next.map(|(set, why)| proposal(context, &now, set, &why)))
    }
}

/// A setting that cost more than 1% on top of some settings is not tried again on top of others.
const HOPELESS: f64 = -0.01;

type Step = (Assignment, String);

/// What the run has tried so far.
struct Tried {
    /// Whole assignments: the trees.
    trees: BTreeSet<Assignment>,
    /// For each single (knob, value): its last effect, `None` if it failed before it was measured.
    alone: BTreeMap<(String, String), Option<f64>>,
}

impl Tried {
    fn of(baseline: Assignment, past: &[Past]) -> Self {
        let mut tried = Tried { trees: BTreeSet::new(), alone: BTreeMap::new() };
        let mut head = baseline;
        let mut once = BTreeSet::new();
        for past in past {
            let Changed::Tunables { set, assignment } = &past.changed else { continue };
            // It was never judged: try it again. An unsound count says nothing of the change, but may be unsound each time.
            let unsound = matches!(past.outcome, Outcome::Unsound { .. });
            if matches!(past.outcome, Outcome::Interrupted { .. }) || unsound && once.insert(assignment) {
                continue;
            }
            tried.trees.insert(assignment.clone());
            if matches!(past.outcome, Outcome::Promoted { .. } | Outcome::Banked { .. }) {
                // What it beat was measured as well: going back is not a new idea.
                for knob in set.keys() {
                    if let Some(old) = head.get(knob) {
                        tried.alone.insert((knob.clone(), old.clone()), past.effect.map(|effect| -effect));
                    }
                }
                tried.trees.insert(std::mem::replace(&mut head, assignment.clone()));
            }
            let mut settings = set.iter();
            let (Some((knob, value)), None) = (settings.next(), settings.next()) else { continue };
            tried.alone.insert((knob.clone(), value.clone()), past.effect);
        }
        tried
    }

    fn is_new(&self, now: &Assignment, set: &Assignment) -> bool {
        let mut tree = now.clone();
        tree.extend(set.clone());
        tree != *now && !self.trees.contains(&tree)
    }
}

fn singles(knobs: &[Knob]) -> impl Iterator<Item = (&Knob, &String)> {
    // The next choices of all knobs before those after them: breadth finds the large gains early. Choices are declared from
    // the plain one on, so the one behind the champion's is likelier to be new than those before it, which come last.
    let most = knobs.iter().map(|knob| knob.choices.len()).max().unwrap_or(0);
    (1..most).flat_map(move |step| {
        knobs.iter().filter(move |knob| step < knob.choices.len()).filter_map(move |knob| {
            let now = knob.choices.iter().position(|choice| *choice == knob.value)?;
            Some((knob, &knob.choices[(now + step) % knob.choices.len()]))
        })
    })
}

fn one(knob: &Knob, value: &str) -> Assignment {
    Assignment::from([(knob.name.clone(), value.to_owned())])
}

fn untried_alone(knobs: &[Knob], now: &Assignment, tried: &Tried) -> Option<Step> {
    singles(knobs)
        .filter(|(knob, value)| !tried.alone.contains_key(&(knob.name.clone(), (*value).clone())))
        .find(|(knob, value)| tried.is_new(now, &one(knob, value)))
        .map(|(knob, value)| {
            (one(knob, value), format!("{} Setting {} from {} to {value} alone.", knob.meaning, knob.name, knob.value))
        })
}

fn once_more(knobs: &[Knob], now: &Assignment, tried: &Tried) -> Option<Step> {
    let mut again: Vec<(&Knob, &String, f64)> = singles(knobs)
        .filter_map(|(knob, value)| {
            let effect = (*tried.alone.get(&(knob.name.clone(), value.clone()))?)?;
            (effect > HOPELESS && tried.is_new(now, &one(knob, value))).then_some((knob, value, effect))
        })
        .collect();
    again.sort_by(|a, b| b.2.total_cmp(&a.2));
    again.first().map(|(knob, value, effect)| {
        let why = format!(
            "{} was {:+.2}% on top of other settings; these have changed since, so {value} may pay now.",
            knob.name,
            effect.exp_m1() * 100.0
        );
        (one(knob, value), why)
    })
}

fn proposal(context: &Context, now: &Assignment, set: Assignment, why: &str) -> Proposal {
    let contents = knobs::set(&context.tunables, &set);
    let mut assignment = now.clone();
    assignment.extend(set.clone());
    Proposal {
        hypothesis: why.to_owned(),
        changed: Changed::Tunables { set, assignment },
        edit: Edit::Write { path: context.tunables_path.clone(), contents },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_the_champion_s_choice_comes_before_what_it_has_left_behind() {
        let text = "/// Size.\n/// choices: 1 | 2 | 3 | 4\npub const SIZE: u32 = 3;\n\n\
                    /// Way.\n/// choices: Way::Plain | Way::Quick\npub const WAY: Way = Way::Quick;\n";
        let knobs = knobs::parse(text).unwrap();
        let order: Vec<_> = singles(&knobs).map(|(knob, value)| format!("{} {value}", knob.name)).collect();
        assert_eq!(order, ["SIZE 4", "WAY Way::Plain", "SIZE 1", "SIZE 2"]);
    }
}
