//! One request between meaning and bytes: what it means, and the pieces its text is made of.

use crate::model::Meaning;
use crate::workload::Kind;

/// A request: its meaning, and what the wire must carry for it.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The kind it was drawn as.
    pub kind: Kind,
    /// What it means, for the oracle.
    pub meaning: Meaning,
    /// The method as written.
    pub method: String,
    /// Path and nothing else.
    pub path: String,
    /// Values of `X-Forwarded-For`, one field each.
    pub addresses: Vec<String>,
    /// Values of `X-API-Key`, one field each.
    pub keys: Vec<String>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
}
