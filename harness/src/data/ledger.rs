//! `history/ledger.jsonl`: what happened, in order, for good. Append-only and hash-chained; durable before `append`
//! returns; valid after a crash or a full disk at any byte. What the events add up to is in `history.rs`.
//!
//! A line is `{"prev":HASH,"hash":HASH,"body":BODY}` with `hash = SHA-256(prev + BODY)`, both as they stand in the line,
//! so any program can check the chain without knowing what a body means. The first `prev` is 64 zeros. A chain cannot
//! show that whole lines were cut off its end: a promoted commit's message carries its line's hash for that.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::durable;
use super::history::Event;
use super::lock::Lock;

const FILE: &str = "ledger.jsonl";

/// A line's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Line number, from 1.
    pub n: u64,
    /// When it was written.
    pub time: jiff::Timestamp,
    /// What happened.
    pub event: Event,
}

/// A line as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its content.
    pub entry: Entry,
    /// Its hash, hex.
    pub hash: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw<'a> {
    prev: String,
    hash: String,
    #[serde(borrow)]
    body: &'a RawValue,
}

fn chain(prev: &str, body: &str) -> String {
    durable::hex(&Sha256::new().chain_update(prev).chain_update(body).finalize())
}

fn render(prev: &str, hash: &str, body: &str) -> String {
    format!("{{\"prev\":\"{prev}\",\"hash\":\"{hash}\",\"body\":{body}}}\n")
}

/// The first line that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the ledger does not hold: {}", self.line, self.why)
    }
}

impl std::error::Error for BadLine {}

/// A ledger that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// Its whole lines.
    pub lines: Vec<Line>,
    /// Bytes after the last whole line: what a crash left of a line that was never acknowledged.
    pub torn: usize,
}

impl Contents {
    fn parse(bytes: &[u8]) -> Result<Self, BadLine> {
        let mut whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        // After a power cut a block inside the last line may be missing while its end is there: the kernel writes blocks
        // in any order, and a missing one reads as zeros, which JSON never holds.
        let last = bytes[..whole.saturating_sub(1)].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if bytes[last..whole].contains(&0) {
            whole = last;
        }
        let mut lines: Vec<Line> = Vec::new();
        for (index, text) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            let number = index as u64 + 1;
            let prev = lines.last().map_or_else(genesis, |line| line.hash.clone());
            lines.push(line(number, &prev, text).map_err(|why| BadLine { line: number, why })?);
        }
        Ok(Contents { lines, torn: bytes.len() - whole })
    }

    /// Hash of the last line: the whole history in one figure.
    pub fn head(&self) -> String {
        self.lines.last().map_or_else(genesis, |line| line.hash.clone())
    }

    /// The events in order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.lines.iter().map(|line| &line.entry.event)
    }
}

fn genesis() -> String {
    "0".repeat(64)
}

fn line(number: u64, prev: &str, text: &[u8]) -> Result<Line, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not text".to_owned())?;
    let raw: Raw<'_> = serde_json::from_str(text).map_err(|error| format!("it is not a ledger line ({error})"))?;
    if raw.prev != prev {
        return Err("it does not follow the line before it (a line was removed, added or moved)".to_owned());
    }
    if raw.hash != chain(prev, raw.body.get()) {
        return Err("its content does not match its hash (it was changed)".to_owned());
    }
    if render(&raw.prev, &raw.hash, raw.body.get()) != text {
        return Err("it is not written as the harness writes it (it was changed)".to_owned());
    }
    let entry: Entry = serde_json::from_str(raw.body.get())
        .map_err(|error| format!("this version of the harness cannot read it ({error}); use the one that wrote it"))?;
    if entry.n != number {
        return Err(format!("it says it is line {}", entry.n));
    }
    Ok(Line { entry, hash: raw.hash })
}

/// Read the ledger in this history folder, without the lock. A ledger that does not exist is empty; a torn last line is
/// left out and counted.
///
/// # Errors
/// [`BadLine`] (found by `downcast_ref`) when the chain does not hold, else the operating system's.
pub fn read(history: &Path) -> Result<Contents> {
    let path = history.join(FILE);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
        other => other.with_context(|| format!("reading {}", path.display()))?,
    };
    Contents::parse(&bytes).with_context(|| {
        format!(
            "{} is damaged: restore it from a copy; nothing is appended to a ledger that does not hold",
            path.display()
        )
    })
}

/// What an append needs of a file; a test puts a full disk in its place.
pub trait Disk {
    /// Add these bytes at the end.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Make what was added survive a power cut.
    fn sync(&mut self) -> io::Result<()>;
    /// Cut to this length.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Disk for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::End(0))?;
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.sync_data()
    }
}

/// The ledger, open for appending; no other process has it open so.
#[derive(Debug)]
pub struct Ledger<D = File> {
    disk: D,
    path: PathBuf,
    contents: Contents,
    length: u64,
    broken: bool,
    _lock: Option<Lock>,
}

impl Ledger {
    /// Open (or begin) the ledger of this history folder. A line that a crash tore is cut off; the second value says so.
    ///
    /// # Errors
    /// When another search holds the lock, or the chain does not hold.
    pub fn open(history: &Path) -> Result<(Self, Option<String>)> {
        fs::create_dir_all(history).with_context(|| format!("making {}", history.display()))?;
        let lock = Lock::take(&history.join("lock"))?;
        let contents = read(history)?;
        let path = history.join(FILE);
        let opened = || format!("opening {}", path.display());
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).with_context(opened)?;
        durable::sync_folder(history).with_context(opened)?;
        let length = file.metadata().with_context(opened)?.len() - contents.torn as u64;
        let note = (contents.torn > 0).then(|| format!("the ledger's last line was cut short by a crash ({} bytes); it is removed, nothing that was recorded is lost", contents.torn));
        if note.is_some() {
            file.cut(length).with_context(opened)?;
        }
        Ok((
            Ledger {
                disk: file,
                path,
                contents: Contents { torn: 0, ..contents },
                length,
                broken: false,
                _lock: Some(lock),
            },
            note,
        ))
    }
}

impl<D: Disk> Ledger<D> {
    /// Append an event; durable when this returns.
    ///
    /// # Errors
    /// When the line could not be written whole (a full disk): the ledger is as it was before.
    pub fn append(&mut self, event: Event) -> Result<&Line> {
        if self.broken {
            bail!(
                "{} could not be written before and may have a torn last line: start again, it is then removed",
                self.path.display()
            );
        }
        let prev = self.contents.head();
        let entry = Entry { n: self.contents.lines.len() as u64 + 1, time: jiff::Timestamp::now(), event };
        let body = serde_json::to_string(&entry).context("writing an event as JSON")?;
        let hash = chain(&prev, &body);
        let text = render(&prev, &hash, &body);
        if let Err(error) = self.disk.append(text.as_bytes()).and_then(|()| self.disk.sync()) {
            // Whatever part of the line is there must not be followed by another.
            self.broken = self.disk.cut(self.length).is_err();
            return Err(error).with_context(|| {
                format!(
                    "appending {} bytes to {}: nothing was recorded; free some disk space and start again",
                    text.len(),
                    self.path.display()
                )
            });
        }
        self.length += text.len() as u64;
        self.contents.lines.push(Line { entry, hash });
        Ok(&self.contents.lines[self.contents.lines.len() - 1])
    }

    /// Everything recorded so far.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
