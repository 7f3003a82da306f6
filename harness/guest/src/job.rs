//! The job as one run of bytes: `magic, task, gate, count, then (mode, path, contents) for each file`, little-endian,
//! lengths in front. Small enough to need no library inside the machine.

const MAGIC: &[u8; 8] = b"VMJOB\0\0\x01";

/// What the machine is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Count a loop of known length on either CPU, and nothing.
    SelfTest,
    /// Run the server and the load generator against each other.
    Measure,
    /// Play cases of the contract against servers started for them.
    Cases,
    /// The same, over a network with distance.
    DistantCases,
}

/// A file to create before anything runs. Borrowed: in the machine every byte copied costs host time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// Absolute path in the machine.
    pub path: &'a str,
    /// Permission bits.
    pub mode: u32,
    /// Contents.
    pub contents: &'a [u8],
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<'a> {
    /// What to do.
    pub task: Task,
    /// Whether the load generator holds the server still while it writes a wave.
    pub gate: bool,
    /// The files to create, in order.
    pub files: Vec<File<'a>>,
}

impl Job<'_> {
    /// The job as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let size = self.files.iter().map(|f| f.path.len() + f.contents.len() + 12).sum::<usize>();
        let mut out = Vec::with_capacity(size + 14);
        out.extend_from_slice(MAGIC);
        out.push(self.task as u8);
        out.push(u8::from(self.gate));
        out.extend_from_slice(&(self.files.len() as u32).to_le_bytes());
        for file in &self.files {
            out.extend_from_slice(&file.mode.to_le_bytes());
            for bytes in [file.path.as_bytes(), file.contents] {
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes);
            }
        }
        out
    }

    /// The job in `bytes`; bytes after its end are ignored (the transport works in whole pages).
    pub fn decode(bytes: &[u8]) -> Result<Job<'_>, String> {
        let mut rest = Rest(bytes);
        if rest.take(8)? != MAGIC {
            return Err("the job does not begin as a job does: harness and vm-init are of different versions".into());
        }
        let task = match rest.take(1)? {
            [0] => Task::SelfTest,
            [1] => Task::Measure,
            [2] => Task::Cases,
            [3] => Task::DistantCases,
            other => {
                return Err(format!("the job's task is {}, which this vm-init does not know", other[0]));
            }
        };
        let gate = rest.take(1)? == [1];
        let count = rest.number()?;
        let mut files = Vec::new();
        for _ in 0..count {
            let mode = rest.number()?;
            let path = std::str::from_utf8(rest.sized()?).map_err(|_| "a path in the job is not UTF-8")?;
            files.push(File { path, mode, contents: rest.sized()? });
        }
        Ok(Job { task, gate, files })
    }
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let (head, tail) = self.0.split_at_checked(n).ok_or("the job ends too early: it was cut off on its way in")?;
        self.0 = tail;
        Ok(head)
    }

    fn number(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes were taken")))
    }

    fn sized(&mut self) -> Result<&'a [u8], String> {
        let size = self.number()? as usize;
        self.take(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job<'static> {
        let file = |path, mode, contents| File { path, mode, contents };
        let files = vec![file("/candidate", 0o755, &b"\x7fELF"[..]), file("/storage/data/empty", 0o644, b"")];
        Job { task: Task::Measure, gate: true, files }
    }

    #[test]
    fn a_job_comes_back_as_it_was_sent_even_with_padding_behind_it() {
        let mut bytes = job().encode();
        bytes.resize(4096, 0);
        assert_eq!(Job::decode(&bytes), Ok(job()));
    }

    #[test]
    fn a_job_cut_anywhere_is_an_error_and_never_a_smaller_job() {
        let bytes = job().encode();
        for end in 0..bytes.len() {
            assert!(Job::decode(&bytes[..end]).is_err(), "cut after {end} bytes");
        }
    }

    #[test]
    fn another_version_or_task_is_named() {
        let mut bytes = job().encode();
        bytes[8] = 9;
        assert!(Job::decode(&bytes).unwrap_err().contains("task is 9"));
        bytes[7] = 2;
        assert!(Job::decode(&bytes).unwrap_err().contains("different versions"));
    }
}
