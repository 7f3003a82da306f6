//! Repositories with everything in them that a user or a proposer might leave: hooks that fail, filters, a dirty index,
//! links, other repositories, forged times.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use git2::{Repository, Signature};
use tempfile::TempDir;

use super::*;

struct Bench {
    folder: TempDir,
    first: CommitId,
    second: CommitId,
}

impl Bench {
    /// Two commits, hooks that refuse everything, a filter that must not run, no identity of the user's.
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repo");
        let git = Repository::init(&root).unwrap();
        let mut config = git.config().unwrap();
        config.set_str("filter.bad.clean", "exit 1").unwrap();
        config.set_str("filter.bad.smudge", "exit 1").unwrap();
        config.set_bool("filter.bad.required", true).unwrap();
        config.set_bool("core.autocrlf", true).unwrap();
        config.set_str("core.fsmonitor", "/bin/false").unwrap();
        for hook in ["pre-commit", "commit-msg", "post-commit", "post-checkout", "reference-transaction"] {
            let path = root.join(".git/hooks").join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\ntouch {}/hook-ran\nexit 1\n", folder.path().display())).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("candidate/src/main.rs", "fn main() {}\n");
        put("candidate/src/tunables.rs", "pub const N: u32 = 1;\n");
        put("candidate/run.sh", "#!/bin/sh\n");
        fs::set_permissions(root.join("candidate/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        put("README", "read me\n");
        put(".gitignore", "ignored/\n*.o\n");
        symlink("README", root.join("link")).unwrap();
        let first = plain_commit(&git, "first");
        put("candidate/src/tunables.rs", "pub const N: u32 = 2;\n");
        let second = plain_commit(&git, "second\n\nText.\n\nAttempt: 7\nGain: 4.1%\n");
        Bench { folder, first, second }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn repo(&self) -> Repo {
        Repo::open(&self.root().join("candidate/src")).unwrap()
    }

    fn worktree(&self) -> Worktree {
        self.repo().worktree(&self.folder.path().join("cache/work"), &self.second).unwrap()
    }

    /// All that must stay as it is: HEAD, index, refs of the user's.
    fn users(&self) -> (String, Vec<u8>, String) {
        let read = |p: &str| fs::read(self.root().join(p)).unwrap();
        let head = String::from_utf8(read(".git/HEAD")).unwrap();
        (head, read(".git/index"), self.repo().head().unwrap().to_string())
    }
}

/// Through libgit2 with filters avoided: the blobs are made from the bytes.
fn plain_commit(git: &Repository, message: &str) -> CommitId {
    let mut index = git.index().unwrap();
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None).unwrap();
    index.write().unwrap();
    let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
    let who = Signature::now("user", "user@localhost").unwrap();
    let parents: Vec<_> = git.head().ok().map(|h| h.peel_to_commit().unwrap()).into_iter().collect();
    let parents: Vec<_> = parents.iter().collect();
    id(git.commit(Some("HEAD"), &who, &who, message, &tree, &parents).unwrap())
}

fn paths(changes: &[Change]) -> Vec<(&str, Mode)> {
    changes.iter().map(|c| (c.path.as_str(), c.mode)).collect()
}

#[test]
fn a_folder_outside_a_repository_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Repo::open(folder.path()), Err(GitError::NoRepository(_))));
    Repository::init_bare(folder.path()).unwrap();
    assert!(matches!(Repo::open(folder.path()), Err(GitError::Bare(_))));
}

#[test]
fn a_revision_is_an_id_a_branch_an_expression_or_a_clear_error() {
    let bench = Bench::new();
    let repo = bench.repo();
    assert_eq!(repo.resolve("HEAD").unwrap(), bench.second);
    assert_eq!(repo.resolve("HEAD~1").unwrap(), bench.first);
    assert_eq!(repo.resolve(bench.first.short()).unwrap(), bench.first);
    assert!(matches!(repo.resolve("nothing"), Err(GitError::NoSuchRevision { .. })));
    assert!(matches!(repo.resolve("0000000000"), Err(GitError::NoSuchRevision { .. })));
    assert_eq!(repo.resolve(&bench.first.as_str()[..4]).unwrap(), bench.first);
    assert!(
        matches!(repo.resolve(&bench.first.as_str()[..3]), Err(GitError::NoSuchRevision { .. })),
        "an attempt's number"
    );
    let error = repo.resolve("HEAD:README").unwrap_err();
    assert_eq!(error.to_string(), "`HEAD:README` is a blob, not a commit");
}

#[test]
fn an_ambiguous_revision_lists_the_commits_it_may_mean() {
    let bench = Bench::new();
    let repo = bench.repo();
    let tree = repo.tree(&bench.first).unwrap();
    // Commits until two begin with the same four digits: a few hundred, by the birthday paradox.
    let mut seen = std::collections::HashMap::new();
    let mut twins = None;
    for n in 0..20_000 {
        let when = git2::Time::new(n, 0);
        let who = Signature::new("user", "user@localhost", &when).unwrap();
        let oid = repo.git.commit(None, &who, &who, &format!("twin {n}"), &tree, &[]).unwrap();
        if let Some(other) = seen.insert(oid.to_string()[..4].to_owned(), oid) {
            twins = Some((oid, other));
            break;
        }
    }
    let (one, other) = twins.expect("two ids with the same four digits");
    let error = repo.resolve(&one.to_string()[..4]).unwrap_err();
    let GitError::Ambiguous { candidates, .. } = &error else { panic!("{error}") };
    assert_eq!(candidates.len(), 2);
    let text = error.to_string();
    assert!(text.contains(&one.to_string()[..10]) && text.contains(&other.to_string()[..10]), "{text}");
}

#[test]
fn dirt_is_told_as_staged_unstaged_or_untracked_and_looking_changes_nothing() {
    let bench = Bench::new();
    let root = bench.root();
    assert_eq!(bench.repo().dirt("").unwrap(), []);
    fs::write(root.join("candidate/src/main.rs"), "staged").unwrap();
    let git = Repository::open(&root).unwrap();
    let mut index = git.index().unwrap();
    index.add_path(Path::new("candidate/src/main.rs")).unwrap();
    index.write().unwrap();
    fs::write(root.join("candidate/src/tunables.rs"), "unstaged").unwrap();
    fs::write(root.join("candidate/new.rs"), "").unwrap();
    fs::write(root.join("README"), "elsewhere").unwrap();
    let before = bench.users();
    let dirt = bench.repo().dirt("candidate").unwrap();
    let told: Vec<_> = dirt.iter().map(|d| (d.path.as_str(), d.staged, d.unstaged, d.untracked)).collect();
    assert_eq!(
        told,
        [
            ("candidate/new.rs", false, false, true),
            ("candidate/src/main.rs", true, false, false),
            ("candidate/src/tunables.rs", false, true, false),
        ]
    );
    assert_eq!(bench.users(), before);
}

#[test]
fn a_worktree_holds_the_commit_and_leaves_the_users_checkout_alone() {
    let bench = Bench::new();
    fs::write(bench.root().join("candidate/src/main.rs"), "the user is at work").unwrap();
    let before = bench.users();
    let work = bench.worktree();
    assert_eq!(fs::read_to_string(work.path().join("candidate/src/tunables.rs")).unwrap(), "pub const N: u32 = 2;\n");
    assert_eq!(fs::read_to_string(work.path().join("candidate/src/main.rs")).unwrap(), "fn main() {}\n");
    assert_eq!(fs::read_link(work.path().join("link")).unwrap(), Path::new("README"));
    assert_eq!(fs::metadata(work.path().join("candidate/run.sh")).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(work.changes(&bench.second).unwrap(), []);
    assert_eq!(paths(&work.changes(&bench.first).unwrap()), [("candidate/src/tunables.rs", Mode::Regular)]);
    // git itself agrees that it is one of its worktrees, detached and clean.
    let git = Repository::open(work.path()).unwrap();
    assert!(git.is_worktree() && git.head_detached().unwrap());
    assert_eq!(git.statuses(None).unwrap().len(), 0);
    assert_eq!(bench.users(), before);
    assert_eq!(fs::read_to_string(bench.root().join("candidate/src/main.rs")).unwrap(), "the user is at work");
    assert!(!bench.folder.path().join("hook-ran").exists());
}

#[test]
fn every_kind_of_change_is_seen_and_undone() {
    let bench = Bench::new();
    let work = bench.worktree();
    let at = |p: &str| work.path().join(p);
    fs::write(at("candidate/src/tunables.rs"), "pub const N: u32 = 3;\n").unwrap();
    fs::remove_file(at("README")).unwrap();
    fs::remove_file(at("link")).unwrap();
    symlink("/etc/passwd", at("link")).unwrap();
    fs::set_permissions(at("candidate/run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir_all(at("ignored/deep")).unwrap();
    fs::write(at("ignored/deep/a.o"), "x").unwrap();
    fs::create_dir_all(at("candidate/empty/er")).unwrap();
    Repository::init(at("candidate/sub")).unwrap();
    fs::write(at("candidate/sub/file"), "x").unwrap();
    fs::write(at("candidate/.gitattributes"), "* filter=bad\n").unwrap();
    let fifo = std::ffi::CString::new(at("candidate/pipe").to_str().unwrap()).unwrap();
    // SAFETY: a terminated path.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    let changes = work.changes(&bench.second).unwrap();
    assert_eq!(
        paths(&changes),
        [
            ("README", Mode::Deleted),
            ("candidate/.gitattributes", Mode::Regular),
            ("candidate/pipe", Mode::Special),
            ("candidate/run.sh", Mode::Regular),
            ("candidate/src/tunables.rs", Mode::Regular),
            ("candidate/sub", Mode::Submodule),
            ("candidate/sub/file", Mode::Regular),
            ("ignored/deep/a.o", Mode::Regular),
            ("link", Mode::Symlink),
        ]
    );
    let script = changes.iter().find(|c| c.path == "candidate/run.sh").unwrap();
    assert_eq!(script.was, Some(Mode::Executable));
    work.restore(&bench.second).unwrap();
    assert_eq!(work.changes(&bench.second).unwrap(), []);
    assert!(!at("candidate/empty").exists() && !at("ignored").exists() && !at("candidate/sub").exists());
}

#[test]
fn a_change_of_the_same_size_with_its_old_time_put_back_is_seen() {
    let bench = Bench::new();
    let work = bench.worktree();
    let file = work.path().join("candidate/src/tunables.rs");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "pub const N: u32 = 9;\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_eq!(paths(&work.changes(&bench.second).unwrap()), [("candidate/src/tunables.rs", Mode::Regular)]);
    work.restore(&bench.second).unwrap();
    assert!(fs::metadata(&file).unwrap().modified().unwrap() > time, "a build must see that it changed");
}

#[test]
fn a_folder_swapped_for_a_link_does_not_lead_the_harness_outside() {
    let bench = Bench::new();
    let work = bench.worktree();
    let outside = bench.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("main.rs"), "precious").unwrap();
    fs::remove_dir_all(work.path().join("candidate/src")).unwrap();
    symlink(&outside, work.path().join("candidate/src")).unwrap();
    work.write("candidate/src/main.rs", b"new").unwrap();
    assert_eq!(fs::read_to_string(outside.join("main.rs")).unwrap(), "precious");
    fs::remove_dir_all(work.path().join("candidate/src")).unwrap();
    symlink(&outside, work.path().join("candidate/src")).unwrap();
    work.restore(&bench.second).unwrap();
    assert_eq!(fs::read_to_string(outside.join("main.rs")).unwrap(), "precious");
    assert_eq!(work.changes(&bench.second).unwrap(), []);
    for bad in ["../x", "/etc/x", "", ".git/config", "a/../../x"] {
        assert!(matches!(work.write(bad, b""), Err(GitError::BadPath { .. })), "{bad}");
    }
}

#[test]
fn a_wrecked_worktree_is_made_whole_whatever_was_done_to_it() {
    let bench = Bench::new();
    let path = bench.worktree().path().to_owned();
    let wrecks: [fn(&Path); 6] = [
        |p| fs::remove_dir_all(p).unwrap(),
        |p| fs::remove_file(p.join(".git")).unwrap(),
        |p| fs::write(p.join(".git"), "gitdir: /nowhere\n").unwrap(),
        |p| {
            fs::remove_file(p.join(".git")).unwrap();
            Repository::init(p).unwrap();
        },
        |p| fs::set_permissions(p.join("candidate"), fs::Permissions::from_mode(0o000)).unwrap(),
        |p| {
            use std::os::unix::ffi::OsStrExt;
            fs::write(p.join(std::ffi::OsStr::from_bytes(b"bad\xff")), "x").unwrap();
        },
    ];
    for (n, wreck) in wrecks.into_iter().enumerate() {
        wreck(&path);
        let again = bench.worktree();
        assert_eq!(again.changes(&bench.second).unwrap(), [], "wreck {n}");
        assert_eq!(Repository::open(&path).unwrap().statuses(None).unwrap().len(), 0, "wreck {n}");
        wreck(&path);
        again.restore(&bench.first).unwrap();
        assert_eq!(again.changes(&bench.first).unwrap(), [], "wreck {n}");
    }
    // The metadata lost instead: the folder's link says whose it is.
    fs::remove_dir_all(bench.root().join(".git/worktrees")).unwrap();
    assert_eq!(bench.worktree().changes(&bench.second).unwrap(), []);
}

#[test]
fn a_folder_that_is_not_ours_is_never_cleaned() {
    let bench = Bench::new();
    let theirs = bench.folder.path().join("home");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("thesis"), "years").unwrap();
    let error = bench.repo().worktree(&theirs, &bench.second).unwrap_err();
    assert!(matches!(error, GitError::Occupied { .. }), "{error}");
    assert!(bench.repo().worktree(&bench.root(), &bench.second).is_err());
    assert_eq!(fs::read_to_string(theirs.join("thesis")).unwrap(), "years");
}

#[test]
fn a_vanished_worktree_is_pruned() {
    let bench = Bench::new();
    let admin = bench.root().join(".git/worktrees");
    fs::remove_dir_all(bench.worktree().path()).unwrap();
    assert_eq!(bench.repo().prune_worktrees().unwrap(), 1);
    assert_eq!(fs::read_dir(&admin).unwrap().count(), 0);
}

#[test]
fn a_commit_holds_the_folder_and_no_hook_filter_or_identity_has_a_say() {
    let bench = Bench::new();
    let before = bench.users();
    let work = bench.worktree();
    let repo = bench.repo();
    work.write("candidate/src/tunables.rs", b"pub const N: u32 = 3;\r\n").unwrap();
    work.write("candidate/.gitattributes", b"* filter=bad text\n").unwrap();
    work.write("candidate/new/deep.rs", b"// new\n").unwrap();
    fs::remove_file(work.path().join("candidate/src/main.rs")).unwrap();
    fs::create_dir(work.path().join("candidate/src/main.rs")).unwrap();
    fs::write(work.path().join("candidate/src/main.rs/inner"), "x").unwrap();
    let made = work.commit(&bench.second, "attempt 1\n\nAttempt: 1\n").unwrap();
    assert_eq!(work.changes(&made).unwrap(), []);
    let line = repo.read_file(&made, "candidate/src/tunables.rs").unwrap().unwrap();
    assert_eq!(line, b"pub const N: u32 = 3;\r\n", "autocrlf and attributes were not applied");
    assert_eq!(repo.read_file(&made, "candidate/src/main.rs").unwrap(), None);
    assert_eq!(repo.read_file(&made, "candidate/src/main.rs/inner").unwrap().unwrap(), b"x");
    let commit = repo.commit(&made).unwrap();
    assert_eq!(
        (commit.summary().unwrap(), id(commit.parent_id(0).unwrap())),
        (Some("attempt 1"), bench.second.clone())
    );
    assert_eq!(commit.author().name().unwrap(), "harness");
    assert_eq!(bench.users(), before);
    assert!(!bench.folder.path().join("hook-ran").exists());
    Repository::init(work.path().join("candidate/sub")).unwrap();
    assert!(matches!(work.commit(&made, "x"), Err(GitError::Uncommittable { .. })));
}

#[test]
fn a_diff_of_two_commits_applies_and_one_that_does_not_fit_changes_nothing() {
    let bench = Bench::new();
    let (repo, work) = (bench.repo(), bench.worktree());
    let diff = repo.diff(&bench.first, &bench.second).unwrap();
    assert!(diff.contains("-pub const N: u32 = 1;\n+pub const N: u32 = 2;\n"), "{diff}");
    work.restore(&bench.first).unwrap();
    work.apply(&bench.first, &diff).unwrap();
    assert_eq!(work.changes(&bench.second).unwrap(), []);
    let fails = work.apply(&bench.second, &diff);
    assert!(matches!(fails, Err(GitError::PatchFails { .. })), "{fails:?}");
    assert_eq!(work.changes(&bench.second).unwrap(), []);
    assert!(matches!(work.apply(&bench.first, "no diff at all"), Err(GitError::PatchFails { .. })));
    // As `diff -u` writes it, without git's header.
    let plain = "--- a/candidate/src/tunables.rs\n+++ b/candidate/src/tunables.rs\n@@ -1 +1 @@\n-pub const N: u32 = 2;\n+pub const N: u32 = 5;\n";
    work.apply(&bench.second, plain).unwrap();
    assert_eq!(paths(&work.changes(&bench.second).unwrap()), [("candidate/src/tunables.rs", Mode::Regular)]);
    let new = "--- /dev/null\n+++ b/candidate/n.rs\n@@ -0,0 +1 @@\n+// n\n--- a/README\n+++ /dev/null\n@@ -1 +0,0 @@\n-read me\n";
    work.apply(&bench.second, new).unwrap();
    assert_eq!(
        paths(&work.changes(&bench.second).unwrap()),
        [("README", Mode::Deleted), ("candidate/n.rs", Mode::Regular)]
    );
    let outside = "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+y\n";
    assert!(work.apply(&bench.second, outside).is_err());
    assert!(!bench.folder.path().join("cache/x").exists());
}

#[test]
fn an_attempts_ref_is_kept_for_good() {
    let bench = Bench::new();
    let repo = bench.repo();
    repo.keep_attempt(1, &bench.first).unwrap();
    repo.keep_attempt(1, &bench.first).unwrap();
    assert!(matches!(repo.keep_attempt(1, &bench.second), Err(GitError::RefTaken { .. })));
    assert_eq!(repo.attempt(1).unwrap(), Some(bench.first.clone()));
    assert_eq!(repo.attempt(2).unwrap(), None);
}

#[test]
fn the_bank_s_branch_goes_wherever_it_is_put_and_never_under_the_users_feet() {
    let bench = Bench::new();
    let (repo, work) = (bench.repo(), bench.worktree());
    let at = || bench.repo().resolve("refs/heads/bank/night").ok();
    repo.set_bank_branch("night", None).unwrap();
    for to in [&bench.second, &bench.first, &bench.first] {
        repo.set_bank_branch("night", Some(to)).unwrap();
        assert_eq!(at().as_ref(), Some(to));
    }
    let before = fs::read_to_string(work.admin_head()).unwrap();
    fs::write(work.admin_head(), "ref: refs/heads/bank/night\n").unwrap();
    assert!(matches!(bench.repo().set_bank_branch("night", None), Err(GitError::CheckedOut { .. })));
    fs::write(work.admin_head(), before).unwrap();
    repo.set_bank_branch("night", None).unwrap();
    assert_eq!(at(), None);
    assert!(matches!(repo.set_bank_branch("a/b", None), Err(GitError::BadName(_))));
}

#[test]
fn the_search_branch_only_moves_forward_and_never_under_the_users_feet() {
    let bench = Bench::new();
    let repo = bench.repo();
    let work = bench.worktree();
    assert_eq!(repo.search_branch("night").unwrap(), None);
    repo.advance_search_branch("night", &bench.first).unwrap();
    repo.advance_search_branch("night", &bench.second).unwrap();
    assert_eq!(repo.search_branch("night").unwrap(), Some(bench.second.clone()));
    assert!(matches!(repo.advance_search_branch("night", &bench.first), Err(GitError::NotFastForward { .. })));
    work.write("x", b"x").unwrap();
    let third = work.commit(&bench.second, "third").unwrap();
    for head in [bench.root().join(".git/HEAD"), work.admin_head()] {
        let before = fs::read_to_string(&head).unwrap();
        fs::write(&head, "ref: refs/heads/search/night\n").unwrap();
        let refused = bench.repo().advance_search_branch("night", &third);
        assert!(matches!(refused, Err(GitError::CheckedOut { .. })), "{refused:?}");
        fs::write(&head, before).unwrap();
    }
    repo.advance_search_branch("night", &third).unwrap();
    for bad in ["", "a b", "../x", "a/b", "x.lock"] {
        assert!(matches!(repo.advance_search_branch(bad, &third), Err(GitError::BadName(_))), "{bad}");
    }
    assert!(!bench.folder.path().join("hook-ran").exists());
}
