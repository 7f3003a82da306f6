//! A chunked body (3.8), a byte at a time. Where one line has several faults, all of them are right.

use candidate::http::Fault;

/// What the bytes behind a head come to.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// More is needed. Nothing is certainly wrong.
    Waiting,
    /// The body, and what follows it.
    Body(Vec<u8>, Vec<u8>),
    /// It is wrong in these ways; the line that is may be incomplete.
    Wrong(Vec<Fault>, Line),
}

/// Whether the end of the line at fault has come.
#[derive(Debug, PartialEq)]
pub enum Line {
    Complete,
    Incomplete,
}

enum Stage {
    Size,
    Data(u64),
    DataEnd,
    Trailers(usize),
}

/// Decodes `bytes`.
pub fn decode(bytes: &[u8]) -> Outcome {
    let mut body = Vec::new();
    let mut line = Vec::new();
    let mut stage = Stage::Size;
    for (at, byte) in bytes.iter().enumerate() {
        if let Stage::Data(left) = stage {
            body.push(*byte);
            stage = if left == 1 { Stage::DataEnd } else { Stage::Data(left - 1) };
            continue;
        }
        line.push(*byte);
        if line.last() != Some(&b'\n') {
            continue;
        }
        let faults = faults(&stage, &line, body.len() as u64);
        if !faults.is_empty() {
            return Outcome::Wrong(faults, Line::Complete);
        }
        let text = &line[..line.len() - 2];
        stage = match stage {
            Stage::Size => match size(text) {
                0 => Stage::Trailers(0),
                size => Stage::Data(size as u64),
            },
            Stage::DataEnd => Stage::Size,
            Stage::Trailers(_) if text.is_empty() => return Outcome::Body(body, bytes[at + 1..].to_vec()),
            Stage::Trailers(seen) => Stage::Trailers(seen + line.len()),
            Stage::Data(_) => unreachable!("data is no line"),
        };
        line.clear();
    }
    // A line without its end is wrong already if it is wrong whatever follows.
    let faults = if line.is_empty() { Vec::new() } else { faults(&stage, &line, body.len() as u64) };
    if faults.is_empty() { Outcome::Waiting } else { Outcome::Wrong(faults, Line::Incomplete) }
}

/// What is certainly wrong with a line, which ends in LF if it is complete.
fn faults(stage: &Stage, line: &[u8], decoded: u64) -> Vec<Fault> {
    let mut faults = Vec::new();
    let complete = line.ends_with(b"\n");
    let text = match line {
        [text @ .., b'\r', b'\n'] => text,
        [.., b'\n'] => {
            // A bare LF; whatever else is wrong with the line is judged without it.
            faults.push(Fault::BadRequest);
            &line[..line.len() - 1]
        }
        [text @ .., b'\r'] => text,
        text => text,
    };
    match stage {
        Stage::Size => {
            if size(text).saturating_add(decoded.into()) > 65_536 {
                faults.push(Fault::TooLarge);
            }
            let digits = digits(text);
            let extension = &text[digits..];
            let none = digits == 0 && (complete || line != text || !extension.is_empty());
            let odd = !extension.is_empty() && extension[0] != b';';
            let control = extension.iter().any(|byte| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f);
            if none || digits > 16 || odd || control || text.len() > 256 {
                faults.push(Fault::BadRequest);
            }
        }
        Stage::DataEnd => {
            if !b"\r\n".starts_with(line) {
                faults.push(Fault::BadRequest);
            }
        }
        Stage::Trailers(seen) => {
            // An incomplete line will have two more bytes at least.
            let length = if text.is_empty() { 0 } else { text.len() + 2 };
            if seen + length > 4_096 {
                faults.push(Fault::HeadTooLarge);
            }
            if !super::head::is_field(text) && !text.is_empty() && complete {
                faults.push(Fault::BadRequest);
            }
        }
        Stage::Data(_) => {}
    }
    faults
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count()
}

/// The size that the first digits of `text` announce; as good as endless where it does not fit.
fn size(text: &[u8]) -> u128 {
    let digits = std::str::from_utf8(&text[..digits(text)]).unwrap();
    match digits {
        "" => 0,
        _ => u128::from_str_radix(digits, 16).unwrap_or(u128::from(u64::MAX)),
    }
}
