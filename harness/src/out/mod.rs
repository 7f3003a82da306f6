//! What people read: the progress of a search, its summary, the log and one attempt whole. Reads values, decides nothing.

pub mod calibrated;
pub mod console;
pub mod difference;
pub mod format;
pub mod log;
pub mod measured;
pub mod profiled;
pub mod replayed;
pub mod show;
pub mod simulated;
pub mod summary;

use crate::judge::budget::Progress;
use crate::judge::outcome::Phase;
use crate::judge::record::Record;

/// Who is told how a search goes.
pub trait Watch {
    /// Something worth a line that is not an attempt.
    fn note(&mut self, line: &str);
    /// An attempt has its number.
    fn opened(&mut self, number: u32, hypothesis: &str, progress: &Progress);
    /// A phase of it begins.
    fn phase(&mut self, number: u32, phase: Phase);
    /// It has ended and is recorded.
    fn ended(&mut self, record: &Record, progress: &Progress);
}
