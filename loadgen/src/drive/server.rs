//! What the kernel says of the server's process, read outside the window.

use crate::report::ServerFacts;
use anyhow::Context;

/// Voluntary context switches of all threads of a process, so far.
pub fn switches(pid: u32) -> anyhow::Result<u64> {
    let folder = format!("/proc/{pid}/task");
    let mut sum = 0;
    for thread in std::fs::read_dir(&folder).with_context(|| format!("cannot read {folder}: is the server running?"))? {
        let path = thread?.path().join("status");
        // A thread may have ended since the folder was listed.
        if let Ok(text) = std::fs::read_to_string(&path) {
            sum += field(&text, "voluntary_ctxt_switches:").unwrap_or(0);
        }
    }
    Ok(sum)
}

/// The facts, after a window that began at `before` switches.
pub fn facts(pid: u32, before: u64) -> anyhow::Result<ServerFacts> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}: has the server ended?"))?;
    Ok(ServerFacts {
        voluntary_switches: switches(pid)?.saturating_sub(before),
        peak_rss_kib: field(&text, "VmHWM:")
            .with_context(|| format!("{path} has no VmHWM line: has the server ended?"))?,
    })
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line[name.len()..].split_whitespace().next()?.parse().ok()
}
