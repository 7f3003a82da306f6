//! `history/attempts/NNNN/`: what was seen of one attempt beside its ledger line. Written whole or not at all, each file
//! bounded; the ledger does not depend on any of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::durable;
use crate::judge::sample::{FunctionCost, Pair};

/// A file of an attempt's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The change, as a unified diff.
    Proposal,
    /// What the compiler said.
    BuildLog,
    /// The cases of the contract, and which failed.
    Validate,
    /// All pairs that were measured.
    Samples,
    /// Instructions by function, champion and challenger.
    Profile,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Proposal => "proposal.diff",
            Part::BuildLog => "build.log",
            Part::Validate => "validate.json",
            Part::Samples => "samples.json",
            Part::Profile => "profile.json",
        }
    }
}

/// Largest text that is kept whole.
pub const LONGEST: usize = 1 << 20;

/// Functions kept of each profile; the rest is summed up in one row.
const FUNCTIONS: usize = 200;

/// Where instructions went on one seed, dearest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profiles {
    /// The champion's functions.
    pub champion: Vec<FunctionCost>,
    /// Requests that the champion's window verified.
    pub champion_requests: u64,
    /// The challenger's functions.
    pub challenger: Vec<FunctionCost>,
    /// Requests that the challenger's window verified.
    pub challenger_requests: u64,
}

/// The pairs of both stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Those of the screen.
    pub screen: Vec<Pair>,
    /// Those on fresh seeds.
    pub confirm: Vec<Pair>,
}

/// The attempts' folders of one history.
#[derive(Clone, Debug)]
pub struct Attempts {
    root: PathBuf,
}

impl Attempts {
    /// Below this history folder.
    pub fn new(history: &Path) -> Self {
        Attempts { root: history.join("attempts") }
    }

    /// An attempt's folder.
    pub fn folder(&self, attempt: u32) -> PathBuf {
        self.root.join(format!("{attempt:04}"))
    }

    /// The path of one of its files, for those who write it as it grows (a compiler's log).
    pub fn path(&self, attempt: u32, part: Part) -> PathBuf {
        self.folder(attempt).join(part.name())
    }

    /// Keep a text. One that is too long keeps its beginning and its end, with a line that says how much is missing.
    ///
    /// # Errors
    /// Names the file.
    pub fn keep_text(&self, attempt: u32, part: Part, text: &str) -> Result<()> {
        durable::write(&self.path(attempt, part), shorten(text, LONGEST).as_bytes())
    }

    /// Keep a value as JSON.
    ///
    /// # Errors
    /// Names the file.
    pub fn keep<T: Serialize>(&self, attempt: u32, part: Part, value: &T) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(value)
            .with_context(|| format!("attempt {attempt}: writing {} as JSON", part.name()))?;
        text.push(b'\n');
        durable::write(&self.path(attempt, part), &text)
    }

    /// Keep the profiles, each cut to its dearest functions.
    ///
    /// # Errors
    /// Names the file.
    pub fn keep_profiles(&self, attempt: u32, profiles: &Profiles) -> Result<()> {
        let cut =
            Profiles { champion: dearest(&profiles.champion), challenger: dearest(&profiles.challenger), ..*profiles };
        self.keep(attempt, Part::Profile, &cut)
    }

    /// A text that was kept; `None` if it was not.
    ///
    /// # Errors
    /// Names the file.
    pub fn text(&self, attempt: u32, part: Part) -> Result<Option<String>> {
        let path = self.path(attempt, part);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }

    /// A value that was kept as JSON; `None` if it was not.
    ///
    /// # Errors
    /// Names the file, and where in it the fault is.
    pub fn value<T: DeserializeOwned>(&self, attempt: u32, part: Part) -> Result<Option<T>> {
        let Some(text) = self.text(attempt, part)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).with_context(|| format!("reading {}", self.path(attempt, part).display()))
    }
}

/// Beginning and end of a text that is longer than `limit` bytes; whole lines where there are lines.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let edge = |at: usize| (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let head = &text[..edge(limit / 2)];
    let tail = &text[edge(text.len() - limit / 2)..];
    let head = head.rfind('\n').map_or(head, |end| &head[..=end]);
    let tail = tail.find('\n').map_or(tail, |end| &tail[end + 1..]);
    let missing = text.len() - head.len() - tail.len();
    format!("{head}\n[... {missing} bytes are not kept; a text of {} bytes is cut to {limit} ...]\n{tail}", text.len())
}

fn dearest(costs: &[FunctionCost]) -> Vec<FunctionCost> {
    let mut costs = costs.to_vec();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.instructions));
    let rest = costs.split_off(costs.len().min(FUNCTIONS));
    // Summed by mode: the total of the window stays what it was.
    for mode in [crate::judge::sample::Mode::User, crate::judge::sample::Mode::Kernel] {
        let others: Vec<&FunctionCost> = rest.iter().filter(|cost| cost.mode == mode).collect();
        if !others.is_empty() {
            let instructions = others.iter().map(|cost| cost.instructions).sum();
            costs.push(FunctionCost { name: "(all other functions)".to_owned(), mode, instructions });
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::history::tests::promoted;
    use crate::judge::sample::Mode;

    fn attempts() -> (tempfile::TempDir, Attempts) {
        let folder = tempfile::tempdir().unwrap();
        let attempts = Attempts::new(folder.path());
        (folder, attempts)
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_not_is_none() {
        let (folder, attempts) = attempts();
        let samples = Samples { screen: Vec::new(), confirm: promoted(7).confirm };
        attempts.keep(7, Part::Samples, &samples).unwrap();
        attempts.keep_text(7, Part::Proposal, "diff --git a b\n").unwrap();
        assert_eq!(attempts.value::<Samples>(7, Part::Samples).unwrap(), Some(samples));
        assert_eq!(attempts.text(7, Part::Proposal).unwrap().as_deref(), Some("diff --git a b\n"));
        assert_eq!(attempts.text(7, Part::BuildLog).unwrap(), None);
        assert!(folder.path().join("attempts/0007/samples.json").exists());
        assert!(attempts.folder(12_345).ends_with("attempts/12345"));
    }

    #[test]
    fn a_file_that_is_damaged_is_named() {
        let (_folder, attempts) = attempts();
        attempts.keep_text(1, Part::Samples, "{").unwrap();
        assert!(
            format!("{:#}", attempts.value::<Samples>(1, Part::Samples).unwrap_err()).contains("0001/samples.json")
        );
    }

    #[test]
    fn a_text_without_end_keeps_its_beginning_and_its_end() {
        let (_folder, attempts) = attempts();
        let long: String = (0..300_000).map(|i| format!("line {i} ä\n")).collect();
        attempts.keep_text(1, Part::BuildLog, &long).unwrap();
        let kept = attempts.text(1, Part::BuildLog).unwrap().unwrap();
        assert!(kept.len() <= LONGEST + 200 && kept.starts_with("line 0 ä\n") && kept.ends_with("line 299999 ä\n"));
        assert!(kept.contains("bytes are not kept"));
        assert!(shorten(&"ä".repeat(1000), 11).len() < 120, "no line to cut at, and letters of two bytes");
    }

    #[test]
    fn a_long_profile_keeps_its_dearest_functions_and_its_total() {
        let (_folder, attempts) = attempts();
        let cost = |i: u64| FunctionCost {
            name: format!("f{i}"),
            mode: [Mode::User, Mode::Kernel][i as usize % 2],
            instructions: i,
        };
        let profiles = Profiles { champion: (0..500).map(cost).collect(), champion_requests: 9, ..Profiles::default() };
        attempts.keep_profiles(1, &profiles).unwrap();
        let kept: Profiles = attempts.value(1, Part::Profile).unwrap().unwrap();
        assert_eq!(kept.champion.len(), 202);
        assert_eq!(kept.champion[0].name, "f499");
        let total = |costs: &[FunctionCost]| costs.iter().map(|cost| cost.instructions).sum::<u64>();
        assert_eq!(total(&kept.champion), total(&profiles.champion));
        assert_eq!(kept.champion_requests, 9);
    }
}
