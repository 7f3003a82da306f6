//! Everything that is kept in files: the run definitions people write, the ledger, the attempts' folders and the lessons.
//! What the values mean is the judge's; nothing here decides.

pub mod attempts;
pub mod calibration;
pub mod definition;
pub mod durable;
pub mod history;
pub mod knowledge;
pub mod ledger;
pub mod lock;
pub mod units;
