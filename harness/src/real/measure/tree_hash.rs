//! A hash over source files and folders: two trees have the same if and only if what can be built from them is the same.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

/// SHA-256, hex, over path and contents of every file in or beneath `parts` of `root`. What cargo built (`target`) does not
/// count; a part that does not exist is as good as an empty folder.
///
/// # Errors
/// Names the file or folder that cannot be read.
pub fn tree_hash(root: &Path, parts: &[&str]) -> Result<String> {
    let mut files = Vec::new();
    for part in parts {
        collect(&root.join(part), &mut files)?;
    }
    files.sort();
    let mut all = Sha256::new();
    for path in files {
        let contents = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        all.update(path.strip_prefix(root).unwrap_or(&path).as_os_str().as_encoded_bytes());
        all.update([0]);
        all.update(Sha256::digest(&contents));
    }
    Ok(all.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            files.push(path.to_owned());
            return Ok(());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot look at {}", path.display())),
    }
    for entry in fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))? {
        let entry = entry?.path();
        if entry.file_name().is_none_or(|name| name != "target") {
            collect(&entry, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_changes_with_any_file_and_not_with_what_was_built() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let parts = ["Cargo.toml", "guest", ".cargo"];
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "one");
        write("guest/src/main.rs", "one");
        let first = tree_hash(root, &parts).unwrap();
        write("guest/target/x", "built");
        write("elsewhere", "nobody's");
        assert_eq!(tree_hash(root, &parts).unwrap(), first);
        let mut seen = vec![first];
        for (name, text) in
            [("guest/src/main.rs", "two"), ("guest/new", ""), (".cargo", "now there"), ("Cargo.toml", "onetwo")]
        {
            write(name, text);
            let hash = tree_hash(root, &parts).unwrap();
            assert!(!seen.contains(&hash), "{name}");
            seen.push(hash);
        }
        fs::remove_file(root.join("guest/new")).unwrap();
        assert!(!seen.contains(&tree_hash(root, &parts).unwrap()));
    }
}
