//! From a worktree to a binary whose bytes depend on the commit only, kept by its hash. What the binary is worth is
//! measured elsewhere; which paths a proposer may change is fenced before.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::os::process::{Ended, Finished, Limits, Spawn, StartError};

#[cfg(test)]
mod tests;

/// The one platform that candidates are built for; naming it keeps our flags away from build scripts.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";
/// What cargo may say on stdout, its messages for programs.
const MESSAGES: usize = 64 << 20;
/// What a toolchain needs of the environment, and nothing else.
const NEEDED: [&str; 5] = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
/// What only fetching needs.
const NETWORK: [&str; 9] = [
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "CARGO_HTTP_CAINFO",
    "CARGO_HTTP_PROXY",
];

/// A build that the harness could not even try, or whose result it could not keep.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// cargo is missing.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A file of the cache or the worktree.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// HOME and CARGO_HOME are both unset.
    #[error("neither CARGO_HOME nor HOME is set, so cargo's crates cannot be found. Set HOME")]
    NoHome,
    /// Crates are missing and cannot be had.
    #[error(
        "the crates of {folder}/Cargo.lock are not all here and could not be fetched: {why}. Run `cargo fetch --locked` \
         there once while online. Log: {log}"
    )]
    CratesMissing {
        /// The workspace.
        folder: PathBuf,
        /// cargo's word.
        why: String,
        /// Where it all is.
        log: PathBuf,
    },
    /// Ctrl-C while fetching.
    #[error("interrupted while fetching crates")]
    Interrupted,
}

/// How a build ended. All but `Built` and `Interrupted` are the candidate's failure.
#[derive(Debug, PartialEq)]
pub enum Build {
    /// It is in the store.
    Built(Binary),
    /// It does not compile, or compiles to something that cannot be replayed.
    Failed(String),
    /// It took too long.
    TimedOut(Duration),
    /// The stop flag was set.
    Interrupted,
}

/// A binary in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// Its path; the last part is its hash.
    pub path: PathBuf,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// How long the build took.
    pub seconds: f64,
}

/// Builds candidates. Keep its folders out of a proposer's reach: what lies in them ends up in binaries.
#[derive(Clone, Debug)]
pub struct Builder {
    target: PathBuf,
    store: PathBuf,
    cargo_home: PathBuf,
    /// Time for one build.
    pub limit: Duration,
    /// Bytes of log that are kept.
    pub log_bytes: u64,
    /// Limits on compilers and build scripts.
    pub limits: Limits,
    /// Compilers at a time; `None` leaves it to cargo.
    pub jobs: Option<usize>,
    /// Whether programs get line tables: these name the functions that were inlined, and change names that decide in which
    /// order the linker lays functions out, so it is a relinked program that has them.
    line_tables: bool,
}

impl Builder {
    /// A builder that keeps its target folder (dependencies stay built) and its binaries in `cache`.
    pub fn new(cache: &Path) -> Result<Builder, BuildError> {
        fs::create_dir_all(cache).map_err(file("create", cache))?;
        let cache = cache.canonicalize().map_err(file("find", cache))?;
        let home = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let cargo_home = home("CARGO_HOME").or_else(|| Some(home("HOME")?.join(".cargo"))).ok_or(BuildError::NoHome)?;
        Ok(Builder {
            target: cache.join("target"),
            store: cache.join("binaries"),
            cargo_home,
            limit: Duration::from_secs(300),
            log_bytes: 1 << 20,
            limits: Limits::default(),
            jobs: None,
            line_tables: false,
        })
    }

    /// The same builder with line tables, in a target folder of its own.
    #[must_use]
    pub fn with_line_tables(&self) -> Builder {
        Builder { target: self.target.with_file_name("target-lines"), line_tables: true, ..self.clone() }
    }

    /// Makes sure that every crate of the lock file is here, so that builds need no network.
    pub fn fetch(&self, workspace: &Path, log: &Path, stop: &AtomicBool) -> Result<(), BuildError> {
        // Asked offline first: a machine without a network that has the crates should not wait for time-outs.
        for offline in [true, false] {
            let mut cargo = self.cargo(workspace, log).args(["fetch", "--locked", "--target", TARGET]);
            cargo = if offline { cargo.arg("--offline") } else { cargo.inherit(NETWORK) };
            let done = cargo.run(self.limit, stop)?;
            match done.ended {
                Ended::Exit(0) => return Ok(()),
                Ended::Interrupted => return Err(BuildError::Interrupted),
                _ if offline => {}
                _ => {
                    let why = reason(&done, log);
                    return Err(BuildError::CratesMissing { folder: workspace.into(), why, log: log.into() });
                }
            }
        }
        Ok(())
    }

    /// What compiles here, as it names itself: part of what a binary, and so a count, depends on.
    pub fn compiler(&self, workspace: &Path) -> Result<String, BuildError> {
        let rustc = Spawn::new("rustc").folder(workspace).inherit(NEEDED).arg("-vV").capture(MESSAGES);
        let done = rustc.run(self.limit, &AtomicBool::new(false))?;
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Builds `package` of the workspace at `worktree`, in release mode, statically linked.
    pub fn build(&self, worktree: &Path, package: &str, log: &Path, stop: &AtomicBool) -> Result<Build, BuildError> {
        let worktree = &worktree.canonicalize().map_err(file("find", worktree))?;
        self.forget(worktree)?;
        let mut cargo = self
            .cargo(worktree, log)
            .args(["build", "--release", "--offline", "--locked", "--package", package, "--target", TARGET])
            .arg("--message-format=json-render-diagnostics")
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags(worktree))
            .capture(MESSAGES);
        if self.line_tables {
            cargo = cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
        }
        if let Some(jobs) = self.jobs {
            cargo = cargo.arg(format!("--jobs={jobs}"));
        }
        let done = cargo.run(self.limit, stop)?;
        Ok(match done.ended {
            // What goes on after the build is not the build's work.
            Ended::Exit(0) if done.leftovers > 0 => {
                Build::Failed(format!("the build left {} processes running; they were ended", done.leftovers))
            }
            Ended::Exit(0) => match executable(&done.stdout, package) {
                Some(path) => self.keep(&path, worktree, done.duration)?,
                None => Build::Failed(format!("package {package} builds no program of that name")),
            },
            Ended::TimedOut => Build::TimedOut(done.duration),
            Ended::Interrupted => Build::Interrupted,
            _ => Build::Failed(reason(&done, log)),
        })
    }

    /// Paths of this machine are replaced by names, so that another machine or folder gives the same bytes. The
    /// worktree's own path is not among them, because cargo names its files relatively, and a flag that differs from
    /// worktree to worktree would build every dependency anew.
    fn flags(&self, worktree: &Path) -> String {
        let renamed = |path: &Path, name: &str| format!("--remap-path-prefix={}={name}", path.display());
        // Separated by 0x1f as cargo wants it: a path may hold spaces.
        let mut flags = vec![
            "-Ctarget-feature=+crt-static".to_owned(),
            renamed(&self.cargo_home, "/cargo"),
            renamed(&self.target, "/target"),
        ];
        // Line tables name the folder that was compiled in.
        flags.extend(self.line_tables.then(|| renamed(worktree, "/candidate")));
        flags.join("\x1f")
    }

    fn cargo(&self, folder: &Path, log: &Path) -> Spawn {
        Spawn::new("cargo")
            .folder(folder)
            .log(log, self.log_bytes)
            .limits(self.limits.clone())
            .inherit(NEEDED)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_INCREMENTAL", "0")
            // A user's compiler cache or wrapper has no say in what is measured.
            .env("RUSTC_WRAPPER", "")
            .env("RUSTC_WORKSPACE_WRAPPER", "")
            .env("SOURCE_DATE_EPOCH", "0")
            .env("LC_ALL", "C")
    }

    /// Makes cargo build the workspace's own packages anew. It tells "unchanged" by times and by the package's place in
    /// the workspace, so two worktrees that share a target folder, a file put back with an older time, or a clock that
    /// was set back would give the binary of other sources: the one error that a search cannot survive.
    fn forget(&self, worktree: &Path) -> Result<(), BuildError> {
        let lock = worktree.join("Cargo.lock");
        let names = local_packages(&fs::read_to_string(&lock).map_err(file("read", &lock))?);
        let prints = self.target.join(TARGET).join("release/.fingerprint");
        for entry in fs::read_dir(prints).into_iter().flatten().flatten() {
            let folder = entry.file_name().to_string_lossy().into_owned();
            let ours = folder.rsplit_once('-').is_some_and(|(name, _)| names.iter().any(|n| n == name));
            if ours {
                fs::remove_dir_all(entry.path()).map_err(file("remove", &entry.path()))?;
            }
        }
        Ok(())
    }

    fn keep(&self, built: &Path, worktree: &Path, took: Duration) -> Result<Build, BuildError> {
        let bytes = fs::read(built).map_err(file("read", built))?;
        for folder in [worktree, &self.target] {
            if contains(&bytes, folder.as_os_str().as_encoded_bytes()) {
                let folder = folder.display();
                return Ok(Build::Failed(format!(
                    "the program contains the path of its build, {folder}, so another build of the same commit would \
                     differ. Look for env!(\"CARGO_MANIFEST_DIR\"), env!(\"OUT_DIR\") and the like"
                )));
            }
        }
        let sha256: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        let path = self.store.join(&sha256);
        if fs::read(&path).map(|now| now != bytes).unwrap_or(true) {
            store(&path, &bytes).map_err(file("write", &path))?;
        }
        Ok(Build::Built(Binary { path, sha256, seconds: took.as_secs_f64() }))
    }
}

/// Whole or not at all, whenever the harness is killed.
fn store(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let new = path.with_extension(format!("new{}", std::process::id()));
    let _ = fs::remove_file(&new);
    let mut file = fs::File::options().write(true).create_new(true).mode(0o555).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(new, path)
}

/// Packages of a lock file that come from no registry: those of the workspace, by whatever path.
fn local_packages(lock: &str) -> Vec<String> {
    let packages = lock.split("[[package]]").skip(1).filter(|p| !p.contains("\nsource = "));
    let name = |p: &str| Some(p.lines().find_map(|l| l.strip_prefix("name = \""))?.trim_end_matches('"').to_owned());
    packages.filter_map(name).collect()
}

/// The program among cargo's messages: the one named like the package, else the only one.
fn executable(messages: &[u8], package: &str) -> Option<PathBuf> {
    let text = String::from_utf8_lossy(messages);
    let programs: Vec<(String, PathBuf)> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|m| Some((m["target"]["name"].as_str()?.to_owned(), m["executable"].as_str()?.into())))
        .collect();
    let named = programs.iter().find(|(name, _)| name == package);
    named.or(programs.first().filter(|_| programs.len() == 1)).map(|(_, path)| path.clone())
}

/// For people: the first error with the lines that say where, or how else it ended. Nothing is decided by it.
fn reason(done: &Finished, log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|l| l.starts_with("error")).unwrap_or(lines.len().saturating_sub(6));
    let mut excerpt = lines[first..].iter().take(8).copied().collect::<Vec<_>>().join("\n");
    if done.output_cut {
        excerpt.push_str("\n(the log reached its limit, limits.log)");
    }
    if let Some(error) = &done.output_error {
        excerpt.push_str(&format!("\n(the log is not whole: {error})"));
    }
    match done.ended {
        Ended::Exit(code) if excerpt.is_empty() => format!("cargo left with code {code} and said nothing"),
        Ended::Exit(_) => excerpt,
        Ended::TimedOut => format!("it took longer than {:.0} s", done.duration.as_secs_f64()),
        Ended::Signal(n) => format!("cargo was ended by signal {n}\n{excerpt}"),
        Ended::TooManyProcesses(n) => format!("the build had {n} processes and threads, more than allowed"),
        Ended::TooMuchMemory(n) => format!("the build took {} MiB of memory, more than allowed", n >> 20),
        other => format!("the build ended oddly: {other:?}\n{excerpt}"),
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    // A path as short as /src would be found by accident.
    needle.len() > 6 && bytes.windows(needle.len()).any(|w| w == needle)
}

fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BuildError + use<> {
    let path = path.to_owned();
    move |source| BuildError::File { what, path, source }
}
