//! Builds what runs inside and around the emulated machine from this repository: PID 1 and the load generator (static,
//! for the machine has no libraries) and the counter. Kept in the cache under the hash of their sources.

use super::super::tree_hash::tree_hash;
use super::fetch::hex;
use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything the tools are built from, relative to the repository.
const SOURCES: &[&str] = &["Cargo.toml", "Cargo.lock", "harness/guest", "harness/plugin", "loadgen"];
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Static and at a fixed address; without symbols, which nobody reads in the machine.
const STATIC: &str = "-C target-feature=+crt-static -C relocation-model=static -C strip=symbols";

/// The built tools.
#[derive(Debug)]
pub struct Tools {
    /// PID 1.
    pub init: PathBuf,
    /// The load generator.
    pub loadgen: PathBuf,
    /// The counter plugin.
    pub counter: PathBuf,
    /// Hash of the three programs: what a count depends on, whatever else changed in their sources.
    pub hash: String,
}

/// What is in the cache, else builds it.
pub fn build(repo_root: &Path, cache: &Path, say: &mut dyn FnMut(&str)) -> Result<Tools> {
    let hash = source_hash(repo_root)?;
    let place = cache.join(format!("tools-{}", &hash[..16]));
    if !place.exists() {
        say("building what runs in the emulated machine (PID 1, load generator, counter)");
        let built = cache.join("target");
        fs::create_dir_all(&built).with_context(|| format!("cannot make {}", built.display()))?;
        // Programs of all checkouts come to lie under the same names here: none may build before ours are copied.
        let folder = fs::File::open(&built)?;
        flock(&folder, FlockOperation::LockExclusive).with_context(|| format!("cannot lock {}", built.display()))?;
        cargo(repo_root, &built, STATIC, &["-p", "vm-init", "-p", "loadgen", "--target", TARGET])?;
        cargo(repo_root, &built, "", &["-p", "vm-counter"])?;
        let work = tempfile::Builder::new().prefix("building-").tempdir_in(cache)?;
        let done = work.path().join("done");
        fs::create_dir(&done)?;
        for (from, name) in [
            (built.join(TARGET).join("judge/vm-init"), "vm-init"),
            (built.join(TARGET).join("judge/loadgen"), "loadgen"),
            (built.join("judge/libvm_counter.so"), "counter.so"),
        ] {
            fs::copy(&from, done.join(name)).with_context(|| format!("cargo did not leave {}", from.display()))?;
        }
        ensure!(
            source_hash(repo_root)? == hash,
            "the sources of harness or loadgen changed while they were being built"
        );
        // Losing this race to another process is fine: it built the same sources.
        if let Err(e) = fs::rename(&done, &place)
            && !place.exists()
        {
            return Err(e).context("cannot keep the built tools in the cache");
        }
    }
    let at = |name: &str| place.join(name);
    let mut programs = Sha256::new();
    for name in ["vm-init", "loadgen", "counter.so"] {
        let program = fs::read(at(name)).with_context(|| format!("cannot read {}", at(name).display()))?;
        programs.update(Sha256::digest(program));
    }
    Ok(Tools {
        init: at("vm-init"),
        loadgen: at("loadgen"),
        counter: at("counter.so"),
        hash: hex(&programs.finalize()),
    })
}

fn cargo(repo_root: &Path, target: &Path, flags: &str, arguments: &[&str]) -> Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&program);
    command.args(["build", "--locked", "--profile", "judge", "--quiet"]).args(arguments).current_dir(repo_root);
    // The user's flags are not ours: what is measured must not depend on them.
    command.env("RUSTFLAGS", flags).env_remove("CARGO_ENCODED_RUSTFLAGS").env("CARGO_TARGET_DIR", target);
    let output = command.output().with_context(|| format!("cannot run {}", program.to_string_lossy()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("cargo build {} failed in {}:\n{}", arguments.join(" "), repo_root.display(), said.trim_end());
    }
    Ok(())
}

/// Of all sources, and of the compiler's version and its flags.
fn source_hash(repo_root: &Path) -> Result<String> {
    let version = Command::new("rustc").arg("-vV").current_dir(repo_root).output().context("cannot run rustc -vV")?;
    let mut hash = Sha256::new_with_prefix(tree_hash(repo_root, SOURCES)?);
    hash.update(version.stdout);
    hash.update(STATIC);
    Ok(hex(&hash.finalize()))
}
