//! Files that are either whole or not there: written beside, synced, renamed. Also the hex of a hash.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Write a file so that a reader, and a crash, see the old content or the new and nothing between.
///
/// # Errors
/// Names the file; what was there before is untouched.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    let name = path.file_name().context("a file has a name")?.to_string_lossy();
    // One fixed name: what a crash leaves is overwritten by the next write, not gathered.
    let partial = folder.join(format!(".{name}.partial"));
    let written = (|| {
        fs::create_dir_all(folder)?;
        let mut file = File::create(&partial)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&partial, path)?;
        sync_folder(folder)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written.with_context(|| format!("writing {} ({} bytes)", path.display(), content.len()))
}

/// Make a new name in a folder survive a power cut.
///
/// # Errors
/// The operating system's.
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/file");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_write_that_fails_leaves_what_was_there_and_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), "kept").unwrap();
        let message = format!("{:#}", write(&path, b"x").unwrap_err());
        assert!(message.contains("taken"), "{message}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read(path.join("inside")).unwrap(), b"kept");
    }

    #[test]
    fn hex_has_two_digits_a_byte() {
        assert_eq!(hex(&[0, 1, 0xab, 0xff]), "0001abff");
    }
}
