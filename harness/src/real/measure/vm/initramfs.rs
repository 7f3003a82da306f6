//! The machine's first file system: PID 1 and the console it is started with, as a cpio archive ("newc"), always the same
//! bytes for the same program.

/// The archive with `init` as `/init`.
pub fn archive(init: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(init.len() + 1024);
    entry(&mut out, 1, "dev", 0o040_755, (0, 0), b"");
    // The kernel gives PID 1 this as its standard streams; a Rust program without them aborts.
    entry(&mut out, 2, "dev/console", 0o020_600, (5, 1), b"");
    entry(&mut out, 3, "init", 0o100_755, (0, 0), init);
    entry(&mut out, 0, "TRAILER!!!", 0, (0, 0), b"");
    out
}

/// One file: a header of thirteen 8-digit hex numbers, then name and contents, each padded to four bytes.
fn entry(out: &mut Vec<u8>, inode: u32, name: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
    let fields = [inode, mode, 0, 0, 1, 0, contents.len() as u32, 0, 0, device.0, device.1, name.len() as u32 + 1, 0];
    out.extend_from_slice(b"070701");
    for field in fields {
        out.extend_from_slice(format!("{field:08X}").as_bytes());
    }
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend_from_slice(contents);
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_own_cpio_reads_the_archive() {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let Ok(mut cpio) = Command::new("cpio").arg("-tv").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
            eprintln!("not run: this machine has no cpio");
            return;
        };
        cpio.stdin.take().unwrap().write_all(&archive(b"12345")).unwrap();
        let listing = String::from_utf8(cpio.wait_with_output().unwrap().stdout).unwrap();
        let lines: Vec<&str> = listing.lines().collect();
        assert_eq!(lines.len(), 3, "{listing}");
        assert!(lines[1].starts_with("crw-------") && lines[1].contains("5,   1"), "{listing}");
        assert!(lines[2].starts_with("-rwxr-xr-x") && lines[2].contains(" 5 "), "{listing}");
    }

    #[test]
    fn every_header_and_body_begins_on_four_bytes() {
        let bytes = archive(b"12345");
        let headers: Vec<usize> = (0..bytes.len() - 5).filter(|&i| &bytes[i..i + 6] == b"070701").collect();
        assert_eq!(headers.len(), 4);
        assert!(headers.iter().all(|at| at.is_multiple_of(4)) && bytes.len().is_multiple_of(4));
    }
}
