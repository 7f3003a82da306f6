//! Builds what runs inside and around the emulated machine from this repository: PID 1 and the load generator (static,
//! for the machine has no libraries) and the counter. Kept in the cache under the hash of their sources.

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

/// Hash over every source file's path and contents, and over the compiler's version.
fn source_hash(repo_root: &Path) -> Result<String> {
    let mut files = Vec::new();
    for source in SOURCES {
        collect(&repo_root.join(source), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let contents = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(repo_root).unwrap_or(&file).to_string_lossy().into_owned();
        hash.update(format!("{name} {}\n", contents.len()));
        hash.update(contents);
    }
    let version = Command::new("rustc").arg("-vV").current_dir(repo_root).output().context("cannot run rustc -vV")?;
    hash.update(version.stdout);
    hash.update(STATIC);
    Ok(hex(&hash.finalize()))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))? {
        let path = entry?.path();
        if path.file_name().is_none_or(|name| name != "target") {
            collect(&path, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_changes_with_any_source_and_not_with_what_was_built() {
        let root = tempfile::tempdir().unwrap();
        for file in ["Cargo.toml", "Cargo.lock", "harness/guest/src/main.rs", "harness/plugin/lib.rs", "loadgen/a.rs"] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        let first = source_hash(root.path()).unwrap();
        fs::create_dir(root.path().join("loadgen/target")).unwrap();
        fs::write(root.path().join("loadgen/target/x"), "built").unwrap();
        assert_eq!(source_hash(root.path()).unwrap(), first);
        fs::write(root.path().join("harness/guest/src/main.rs"), "changed").unwrap();
        assert_ne!(source_hash(root.path()).unwrap(), first);
    }
}
