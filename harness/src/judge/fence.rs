//! What a proposal may touch: which paths, of which kind, how many, how large. Pure: it sees a list of changes and
//! refuses or lets through. Who makes that list is `os/git.rs`; what a changed manifest may say is in `manifest.rs`.

use std::fmt;

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file was added or changed.
    File,
    /// A file with the execute bit was added or changed.
    Executable,
    /// A symbolic link was added or changed.
    Symlink,
    /// A submodule (a commit of another repository) was added or changed.
    Submodule,
    /// It is gone.
    Deleted,
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the repository's root, `/` between its parts.
    pub path: String,
    /// What became of it.
    pub kind: Kind,
}

/// The fence of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The only folder that may change, e.g. `candidate`.
    pub inside: String,
    /// Most paths that one proposal may change.
    pub files: usize,
    /// Largest diff, in bytes.
    pub bytes: usize,
}

impl Fence {
    /// Around this folder, with the default limits.
    pub fn around(folder: &str) -> Self {
        Fence { inside: folder.trim_end_matches('/').to_owned(), files: 100, bytes: 1 << 20 }
    }

    /// Refuse or let through.
    ///
    /// # Errors
    /// The first refusal; its text is the outcome's reason.
    pub fn check(&self, changes: &[Change], diff_bytes: usize) -> Result<(), Refusal> {
        if changes.is_empty() {
            return Err(Refusal::Nothing);
        }
        if changes.len() > self.files {
            return Err(Refusal::TooManyFiles { files: changes.len(), limit: self.files });
        }
        if diff_bytes > self.bytes {
            return Err(Refusal::TooLarge { bytes: diff_bytes, limit: self.bytes });
        }
        changes.iter().try_for_each(|change| self.one(change))
    }

    fn one(&self, change: &Change) -> Result<(), Refusal> {
        let path = change.path.as_str();
        let refuse = |why| Err(Refusal::Path { path: printable(path), why });
        let parts: Vec<&str> = path.split('/').collect();
        if path.contains(|letter: char| letter.is_control() || letter == '\\')
            || parts.iter().any(|part| matches!(*part, "" | "." | ".."))
        {
            return refuse(Why::NotAPath);
        }
        let Some(within) = path.strip_prefix(&self.inside).and_then(|rest| rest.strip_prefix('/')) else {
            return refuse(Why::Outside(self.inside.clone()));
        };
        match change.kind {
            Kind::Symlink => return refuse(Why::Symlink),
            Kind::Submodule => return refuse(Why::Submodule),
            Kind::File | Kind::Executable | Kind::Deleted => {}
        }
        for part in within.split('/') {
            // Some file systems hold `.GIT` for `.git`; no honest change needs either.
            let name = part.to_ascii_lowercase();
            if name.starts_with(".git") {
                return refuse(Why::Git);
            }
            if name == ".cargo" || name == "rust-toolchain" || name == "rust-toolchain.toml" || name == "cargo.lock" {
                return refuse(Why::Toolchain);
            }
            if name == "build.rs" {
                return refuse(Why::BuildScript);
            }
        }
        let manifest = within.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case("Cargo.toml"));
        if manifest && (within != "Cargo.toml" || change.kind == Kind::Deleted) {
            return refuse(Why::Manifest);
        }
        Ok(())
    }
}

/// Why the fence refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The proposal changes nothing.
    Nothing,
    /// Too many paths.
    TooManyFiles {
        /// How many.
        files: usize,
        /// How many may be.
        limit: usize,
    },
    /// Too large a diff.
    TooLarge {
        /// How large.
        bytes: usize,
        /// How large it may be.
        limit: usize,
    },
    /// A path.
    Path {
        /// Which, safe to print.
        path: String,
        /// What is wrong with it.
        why: Why,
    },
    /// A change to the candidate's manifest.
    Manifest(String),
}

/// What is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Not a plain relative path.
    NotAPath,
    /// Not below the one folder that may change.
    Outside(String),
    /// A symbolic link.
    Symlink,
    /// A submodule.
    Submodule,
    /// A file that tells git what to do.
    Git,
    /// A file that tells cargo or rustup what to do.
    Toolchain,
    /// A build script.
    BuildScript,
    /// A manifest other than the candidate's own, or that one deleted.
    Manifest,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Nothing => f.write_str("the proposal changes nothing"),
            Refusal::TooManyFiles { files, limit } => {
                write!(f, "{files} paths changed; one proposal may change {limit}")
            }
            Refusal::TooLarge { bytes, limit } => write!(f, "a diff of {bytes} bytes; one proposal may have {limit}"),
            Refusal::Path { path, why } => write!(f, "{path}: {why}"),
            Refusal::Manifest(why) => write!(f, "the candidate's Cargo.toml: {why}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NotAPath => f.write_str("not a plain path inside the repository"),
            Why::Outside(inside) => write!(f, "outside {inside}/, the only folder a proposal may change"),
            Why::Symlink => f.write_str("a symbolic link; what it points at could be outside"),
            Why::Submodule => f.write_str("a submodule; its content would come from another repository"),
            Why::Git => f.write_str("a file that tells git what to do"),
            Why::Toolchain => f.write_str("a file that tells cargo or rustup what to do"),
            Why::BuildScript => f.write_str("a build script would run as the harness's user"),
            Why::Manifest => f.write_str("the candidate has one manifest, and keeps it"),
        }
    }
}

/// A path as it may be shown: no control characters, no end of the screen away.
fn printable(path: &str) -> String {
    path.chars()
        .take(200)
        .flat_map(|letter| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changed(path: &str, kind: Kind) -> Vec<Change> {
        vec![Change { path: path.to_owned(), kind }]
    }

    fn refusal(path: &str, kind: Kind) -> Option<String> {
        Fence::around("candidate").check(&changed(path, kind), 100).err().map(|refusal| refusal.to_string())
    }

    #[test]
    fn honest_changes_pass() {
        for (path, kind) in [
            ("candidate/src/main.rs", Kind::File),
            ("candidate/src/engine/new.rs", Kind::File),
            ("candidate/src/old.rs", Kind::Deleted),
            ("candidate/src/rebuild.rs", Kind::File),
            ("candidate/Cargo.toml", Kind::File),
            ("candidate/README.md", Kind::Executable),
        ] {
            assert_eq!(refusal(path, kind), None, "{path}");
        }
    }

    #[test]
    fn the_judge_and_everything_else_outside_the_candidate_is_out_of_reach() {
        for path in [
            "harness/src/judge/decide.rs",
            "loadgen/src/drive.rs",
            "runs.toml",
            "Cargo.lock",
            "Cargo.toml",
            ".cargo/config.toml",
            "rust-toolchain.toml",
            "history/ledger.jsonl",
            "knowledge/INDEX.md",
            "candidate",
            "candidates/x.rs",
            "candidate2/src/main.rs",
            "Candidate/src/main.rs",
        ] {
            assert!(refusal(path, Kind::File).unwrap().contains("outside candidate/"), "{path}");
            assert!(refusal(path, Kind::Deleted).is_some(), "{path}");
        }
    }

    #[test]
    fn paths_that_climb_out_or_are_none_are_refused_and_printed_safely() {
        for path in [
            "candidate/../harness/x",
            "/candidate/x",
            "candidate//x",
            "candidate/./x",
            "candidate/",
            "",
            "candidate\\..\\x",
            "candidate/a\nb",
        ] {
            assert!(refusal(path, Kind::File).unwrap().contains("not a plain path"), "{path:?}");
        }
        assert!(!refusal("candidate/\u{1b}[2J", Kind::File).unwrap().contains('\u{1b}'));
    }

    #[test]
    fn links_and_submodules_are_refused_but_may_be_deleted() {
        assert!(refusal("candidate/src/data", Kind::Symlink).unwrap().contains("symbolic link"));
        assert!(refusal("candidate/vendor", Kind::Submodule).unwrap().contains("submodule"));
        assert_eq!(refusal("candidate/src/data", Kind::Deleted), None);
    }

    #[test]
    fn files_that_steer_git_cargo_or_the_build_are_refused_at_any_depth() {
        for path in [
            ".gitattributes",
            "src/.gitattributes",
            ".gitmodules",
            ".gitignore",
            ".GIT/config",
            "a/.git/hooks/pre-commit",
            ".cargo/config.toml",
            "rust-toolchain",
            "rust-toolchain.toml",
            "Cargo.lock",
            "build.rs",
            "src/build.rs",
            "Build.RS",
            "evil/Cargo.toml",
            "src/cargo.toml",
        ] {
            assert!(refusal(&format!("candidate/{path}"), Kind::File).is_some(), "{path}");
        }
        assert!(refusal("candidate/Cargo.toml", Kind::Deleted).is_some());
    }

    #[test]
    fn nothing_too_much_and_too_many_are_refused_with_the_limit() {
        let fence = Fence::around("candidate/");
        assert_eq!(fence.check(&[], 0), Err(Refusal::Nothing));
        let many: Vec<Change> = (0..101).flat_map(|i| changed(&format!("candidate/src/{i}.rs"), Kind::File)).collect();
        assert_eq!(fence.check(&many[..100], 9), Ok(()));
        assert_eq!(fence.check(&many, 9).unwrap_err().to_string(), "101 paths changed; one proposal may change 100");
        assert_eq!(fence.check(&many[..1], 1 << 20), Ok(()));
        assert!(fence.check(&many[..1], (1 << 20) + 1).unwrap_err().to_string().contains("1048577 bytes"));
    }

    proptest! {
        #[test]
        fn whatever_passes_is_below_the_folder(path in "(candidate|\\.|/|[a-z]|\\.\\.){0,12}") {
            if Fence::around("candidate").check(&changed(&path, Kind::File), 1).is_ok() {
                prop_assert!(!path.split('/').any(|part| matches!(part, "" | "." | "..")));
                prop_assert!(path.starts_with("candidate/"));
            }
        }
    }
}
