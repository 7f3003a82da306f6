//! One search at a time: a lock on a file that the kernel lets go of when its holder dies, however it dies.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Take the lock at `path`, or say who has it.
    ///
    /// # Errors
    /// When another process holds it: its process id is named.
    pub fn take(path: &Path) -> Result<Self> {
        let tried = || format!("locking {}", path.display());
        let mut file =
            OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path).with_context(tried)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                // A holder that has not yet written its line is still a holder.
                let _ = (&file).take(64).read_to_string(&mut holder);
                let who =
                    holder.trim().parse::<u32>().map_or("another process".to_owned(), |pid| format!("process {pid}"));
                bail!(
                    "a search is running ({who} holds {}): wait for it, see how far it is with `harness log`, or stop it with Ctrl-C there",
                    path.display()
                );
            }
            Err(error) => return Err(error).with_context(tried),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).with_context(tried)?;
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    /// Closing would do, but for a process that is being started just now and still holds a copy of the descriptor.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is_and_gets_its_turn_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap();
        let message = Lock::take(&path).unwrap_err().to_string();
        assert!(message.contains(&format!("process {} holds", std::process::id())), "{message}");
        drop(first);
        Lock::take(&path).unwrap();
    }

    #[test]
    fn a_copy_of_the_descriptor_keeps_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap();
        let copy = first.file.try_clone().unwrap();
        drop(first);
        Lock::take(&path).unwrap();
        drop(copy);
    }

    #[test]
    fn a_lock_file_left_by_a_dead_process_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "999999999 and a longer line than the next\n").unwrap();
        let _lock = Lock::take(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
    }
}
