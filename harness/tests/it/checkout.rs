//! A repository of a test's own, and the harness run in it as a person would. What it is asked is in the other modules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A repository in a folder that vanishes, with a cache beside it.
pub struct Checkout {
    folder: TempDir,
    cache: PathBuf,
}

/// How a call of the harness ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Ended with `code`, and says all these words on stderr.
    #[track_caller]
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing: {self:?}");
        }
        assert!(self.stdout.is_empty(), "a refusal is not data: {self:?}");
    }

    /// Ended with `code`, and stdout is one JSON value.
    #[track_caller]
    pub fn json(&self, code: i32) -> serde_json::Value {
        assert_eq!(self.code, Some(code), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the harness prints text");
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Checkout {
    /// A commit with a candidate and this runs.toml.
    pub fn with_runs(runs: &str) -> Self {
        let made = Checkout::empty();
        made.git(&["init", "--quiet", "--initial-branch=main"]);
        made.write(".gitignore", "history/lock\n");
        made.write("runs.toml", runs);
        made.write("candidate/src/main.rs", "fn main() {}\n");
        made.commit("Begin");
        made
    }

    /// The last commit of the repository at `root`, on a branch `main`. What takes long to fetch and boot is taken from
    /// `cache`, or left there for the next; builds and samples are this clone's own.
    pub fn clone_of(root: &Path, cache: &Path) -> Self {
        let made = Checkout::empty();
        let root = root.to_str().expect("the repository's path is text");
        made.git(&["clone", "--quiet", root, "."]);
        made.git(&["checkout", "--quiet", "-B", "main"]);
        let shared = cache.join("vm");
        fs::create_dir_all(&shared).unwrap();
        fs::create_dir(&made.cache).unwrap();
        std::os::unix::fs::symlink(fs::canonicalize(shared).unwrap(), made.cache.join("vm")).unwrap();
        made
    }

    /// A folder that is no repository yet.
    pub fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("repo")).unwrap();
        let cache = folder.path().join("cache");
        Checkout { folder, cache }
    }

    /// Its root.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// Write a file, its folders too.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commit all there is.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// What git prints.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "Test").env(format!("GIT_{role}_EMAIL"), "test@example.org");
        }
        let output = without_git(&mut git).current_dir(self.root()).output().expect("git is installed");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// All that a refused command must leave as it was: HEAD, every ref, every worktree, every file.
    pub fn state(&self) -> String {
        [
            &["rev-parse", "HEAD"][..],
            &["symbolic-ref", "HEAD"],
            &["for-each-ref"],
            &["worktree", "list", "--porcelain"],
            &["status", "--porcelain", "--untracked-files=all", "--ignored"],
        ]
        .map(|args| self.git(args))
        .join("\n")
    }

    /// A call of the harness in the root, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
        command.args(args).env("HARNESS_CACHE", &self.cache).current_dir(self.root());
        without_git(&mut command);
        command
    }

    /// Run the harness in the root.
    pub fn harness(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// Processes that work in this checkout or its cache.
    pub fn processes(&self) -> Vec<String> {
        let folder = fs::canonicalize(self.folder.path()).unwrap();
        let here = |process: &PathBuf| {
            let command = fs::read(process.join("cmdline")).unwrap_or_default();
            fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&folder))
                || String::from_utf8_lossy(&command).contains(&*folder.to_string_lossy())
        };
        let all = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
        all.filter(here).map(|process| process.display().to_string()).collect()
    }

    /// Run the harness, and hold it to leaving the repository as it was.
    #[track_caller]
    pub fn untouched(&self, args: &[&str]) -> Ran {
        let before = self.state();
        let ran = self.harness(args);
        assert_eq!(self.state(), before, "harness {args:?} changed the repository: {ran:?}");
        ran
    }
}

/// A hook that runs the tests tells every git where it is: not these.
fn without_git(command: &mut Command) -> &mut Command {
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"]
        .into_iter()
        .fold(command, |command, name| command.env_remove(name))
}
