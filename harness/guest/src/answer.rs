//! The answer as sections: `@NAME LENGTH\n` and the bytes, closed by a section `end`. An answer without `end` is no
//! answer. Everything in it is written by PID 1; the bytes of some sections are the candidate's and prove nothing.

/// How the server fared: `running`, `exited N`, `killed N`, `silent` (never listened) or `unstartable WHY`.
pub const SERVER: &str = "server";
/// The server's standard output and error, the first of it.
pub const SERVER_OUTPUT: &str = "server-output";
/// `/proc/PID/status` of the server after the load.
pub const SERVER_STATUS: &str = "server-status";
/// `/proc/PID/smaps_rollup` of the server after the load: exact, where `status` is behind by up to 64 pages a thread.
pub const SERVER_MEMORY: &str = "server-memory";
/// `/proc/PID/maps` of the server after the load.
pub const SERVER_MAPS: &str = "server-maps";
/// How the load generator ended: `exited N`, `killed N`, `overtime` (out of guest time) or `unstartable WHY`.
pub const LOAD: &str = "load";
/// The load generator's standard output.
pub const LOAD_REPORT: &str = "load-report";
/// The load generator's standard error.
pub const LOAD_ERRORS: &str = "load-errors";
/// Why PID 1 itself could not do the job.
pub const FAULT: &str = "fault";
/// Text symbols of the kernel: `ADDRESS NAME` lines; sent once, when the snapshot is made.
pub const SYMBOLS: &str = "symbols";
/// The last section.
pub const END: &str = "end";

/// One section as bytes.
pub fn section(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("@{name} {}\n", bytes.len()).into_bytes();
    out.extend_from_slice(bytes);
    out
}

/// The sections of a whole answer, in order; an error when it is cut or malformed.
pub fn sections(mut bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut all = Vec::new();
    loop {
        let line_end = bytes.iter().position(|&b| b == b'\n').ok_or("the machine's answer has no end")?;
        let line = String::from_utf8_lossy(&bytes[..line_end]).into_owned();
        let header = line.strip_prefix('@').and_then(|l| l.split_once(' '));
        let (name, size) = header
            .and_then(|(name, size)| Some((name, size.parse::<usize>().ok()?)))
            .ok_or_else(|| format!("the machine's answer has a malformed section: {line:?}"))?;
        if name == END {
            return Ok(all);
        }
        let body = &bytes[line_end + 1..];
        let (contents, rest) = body.split_at_checked(size).ok_or_else(|| format!("section {name} is cut off"))?;
        all.push((name.to_owned(), contents.to_vec()));
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_come_back_in_order_whatever_bytes_they_hold() {
        let mut bytes = section(SERVER, b"running");
        bytes.extend(section(SERVER_OUTPUT, b"@end 0\n\xff\0"));
        bytes.extend(section(END, b""));
        let got = sections(&bytes).unwrap();
        assert_eq!(got, [(SERVER.into(), b"running".to_vec()), (SERVER_OUTPUT.into(), b"@end 0\n\xff\0".to_vec())]);
    }

    #[test]
    fn an_answer_without_its_end_is_an_error() {
        assert!(sections(&section(SERVER, b"running")).unwrap_err().contains("no end"));
        assert!(sections(b"@server 100\nrun").unwrap_err().contains("cut off"));
        assert!(sections(b"server 1\n").unwrap_err().contains("malformed"));
    }
}
