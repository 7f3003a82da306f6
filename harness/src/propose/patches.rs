//! A queue of `.patch` files, in the order of their names, one attempt each.

use anyhow::{Result, bail};

use super::{Context, Edit, Proposal, Proposer};
use crate::judge::outcome::Outcome;
use crate::judge::record::Changed;

/// One file of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// File name: what a later start recognises it by.
    pub name: String,
    /// Its text: free words, then a unified diff (what `git format-patch` and `git diff` write).
    pub text: String,
}

/// The proposer `patches`.
#[derive(Debug)]
pub struct Patches {
    queue: Vec<Patch>,
}

impl Patches {
    /// A queue in this order.
    ///
    /// # Errors
    /// When it is empty, or a file holds no diff.
    pub fn new(mut queue: Vec<Patch>) -> Result<Self> {
        if queue.is_empty() {
            bail!(
                "the patch folder has no .patch file; put one unified diff a file there (git format-patch writes them)"
            );
        }
        queue.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(patch) = queue.iter().find(|patch| diff_starts(&patch.text).is_none()) {
            bail!("{} holds no unified diff (no line begins with `diff --git ` or `--- `)", patch.name);
        }
        Ok(Patches { queue })
    }
}

impl Proposer for Patches {
    fn propose(&mut self, context: &Context) -> Result<Option<Proposal>> {
        let done = |name: &str| {
            context.past.iter().any(|past| {
                matches!(&past.changed, Changed::Patch { name: tried } if tried == name)
                    && !matches!(past.outcome, Outcome::Interrupted { .. })
            })
        };
        Ok(self.queue.iter().find(|patch| !done(&patch.name)).map(|patch| Proposal {
            hypothesis: words_before_diff(patch),
            changed: Changed::Patch { name: patch.name.clone() },
            edit: Edit::Diff(patch.text[diff_starts(&patch.text).unwrap_or(0)..].to_owned()),
        }))
    }
}

fn diff_starts(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // The `---` that git format-patch puts above the file list has nothing behind it.
        if line.starts_with("diff --git ") || line.strip_prefix("--- ").is_some_and(|rest| !rest.trim().is_empty()) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// The subject of a mailed patch, else its first words, else its name.
fn words_before_diff(patch: &Patch) -> String {
    let head = &patch.text[..diff_starts(&patch.text).unwrap_or(0)];
    let subject = head.lines().find_map(|line| line.strip_prefix("Subject:"));
    let first =
        || head.lines().find(|line| !line.trim().is_empty() && !line.starts_with("From ") && line.trim() != "---");
    let words = subject.or_else(first).unwrap_or(&patch.name).trim();
    let words =
        words.strip_prefix("[PATCH").and_then(|rest| rest.split_once(']')).map_or(words, |(_, rest)| rest.trim());
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::outcome::Phase;
    use crate::judge::record::Past;

    fn patch(name: &str, head: &str) -> Patch {
        Patch { name: name.into(), text: format!("{head}diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n") }
    }

    fn past(name: &str, outcome: Outcome) -> Past {
        Past { attempt: 1, parent: "p".into(), changed: Changed::Patch { name: name.into() }, outcome, effect: None }
    }

    #[test]
    fn patches_come_in_the_order_of_their_names_and_once() {
        let mut queue = Patches::new(vec![patch("b.patch", ""), patch("a.patch", "")]).unwrap();
        let mut context = Context::default();
        let name = |proposal: Option<Proposal>| proposal.map(|proposal| proposal.changed.to_string());
        assert_eq!(name(queue.propose(&context).unwrap()).as_deref(), Some("a.patch"));
        context.past.push(past("a.patch", Outcome::Invalid { reason: "wrong byte".into() }));
        assert_eq!(name(queue.propose(&context).unwrap()).as_deref(), Some("b.patch"));
        context.past.push(past("b.patch", Outcome::Interrupted { phase: Phase::Build }));
        assert_eq!(
            name(queue.propose(&context).unwrap()).as_deref(),
            Some("b.patch"),
            "an interrupted patch is tried again"
        );
        context.past.push(past("b.patch", Outcome::NoOp { reason: "same".into() }));
        assert_eq!(queue.propose(&context).unwrap(), None);
    }

    #[test]
    fn the_hypothesis_is_the_subject_or_the_first_words_or_the_name() {
        assert_eq!(
            words_before_diff(&patch(
                "a.patch",
                "From 1 Mon\nSubject: [PATCH 1/2] Pool connections\n\nbody\n---\n x | 1 +\n"
            )),
            "Pool connections"
        );
        assert_eq!(words_before_diff(&patch("a.patch", "Walk the headers once\n")), "Walk the headers once");
        assert_eq!(words_before_diff(&patch("a.patch", "")), "a.patch");
    }

    #[test]
    fn an_empty_queue_and_a_file_without_a_diff_are_refused_by_name() {
        assert!(Patches::new(vec![]).unwrap_err().to_string().contains("no .patch file"));
        let empty = Patch { name: "c.patch".into(), text: "hello\n---\n".into() };
        assert!(Patches::new(vec![empty]).unwrap_err().to_string().contains("c.patch"));
    }
}
