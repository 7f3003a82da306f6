//! The ledger under crashes, full disks and hands that change it.

use super::*;
use crate::data::history::tests::{intent, invalid, outcome, promoted, started};

fn written(events: Vec<Event>) -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let (mut ledger, note) = Ledger::open(folder.path()).unwrap();
    assert_eq!(note, None);
    for event in events {
        ledger.append(event).unwrap();
    }
    let bytes = fs::read(folder.path().join(FILE)).unwrap();
    (folder, bytes)
}

fn three() -> Vec<Event> {
    vec![started("a"), intent("a", 1), outcome("a", promoted(1))]
}

fn bad_line(bytes: &[u8]) -> Option<u64> {
    Contents::parse(bytes).err().map(|bad| bad.line)
}

#[test]
fn what_was_appended_is_read_back_and_goes_on_where_it_stopped() {
    let (folder, _) = written(three());
    let (mut ledger, _) = Ledger::open(folder.path()).unwrap();
    ledger.append(intent("a", 2)).unwrap();
    let contents = read(folder.path()).unwrap();
    assert_eq!(&contents, ledger.contents());
    let mut expected = three();
    expected.push(intent("a", 2));
    assert_eq!(contents.events().cloned().collect::<Vec<_>>(), expected);
    assert_eq!(contents.lines.iter().map(|line| line.entry.n).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn a_crash_at_any_byte_of_the_last_line_loses_that_line_only_and_says_so() {
    let (folder, bytes) = written(three());
    let second_ends = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for length in (second_ends..bytes.len()).step_by(37).chain([bytes.len() - 1]) {
        fs::write(folder.path().join(FILE), &bytes[..length]).unwrap();
        let (mut ledger, note) = Ledger::open(folder.path()).unwrap();
        assert_eq!(note.is_some(), length > second_ends, "cut to {length}");
        assert_eq!(ledger.contents().lines.len(), 2);
        ledger.append(outcome("a", invalid(1))).unwrap();
        assert_eq!(read(folder.path()).unwrap().lines.len(), 3);
    }
    // Blocks that were allocated and never written come back as zeros.
    fs::write(folder.path().join(FILE), [&bytes[..second_ends], &[0; 4096][..]].concat()).unwrap();
    assert!(Ledger::open(folder.path()).unwrap().1.unwrap().contains("4096 bytes"));
}

#[test]
fn a_block_missing_inside_the_last_line_is_a_torn_line_and_inside_an_earlier_one_is_damage() {
    let (folder, bytes) = written(three());
    let mut holed = bytes.clone();
    let length = holed.len();
    holed[length - 600..length - 100].fill(0);
    fs::write(folder.path().join(FILE), &holed).unwrap();
    assert!(Ledger::open(folder.path()).unwrap().1.is_some());
    assert_eq!(read(folder.path()).unwrap().lines.len(), 2);
    let mut holed = bytes;
    holed[300..400].fill(0);
    assert_eq!(bad_line(&holed), Some(1));
}

proptest::proptest! {
    #[test]
    fn no_bytes_at_all_make_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        let whole = bytes.contains(&b'\n');
        let read = Contents::parse(&bytes);
        proptest::prop_assert!(read.is_err() || !whole || read.is_ok_and(|contents| contents.lines.is_empty()));
    }
}

#[test]
fn any_byte_that_is_changed_is_found_in_its_line() {
    let (_folder, bytes) = written(three());
    assert_eq!(bad_line(&bytes), None);
    for at in (0..bytes.len()).step_by(11) {
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        if bytes[at] != b'\n' {
            assert_eq!(bad_line(&changed), Some(line), "byte {at}");
        }
    }
}

#[test]
fn lines_that_are_removed_swapped_or_added_are_found() {
    let (_folder, bytes) = written(three());
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(bad_line(&[lines[0], lines[2]].concat()), Some(2));
    assert_eq!(bad_line(&[lines[1], lines[2]].concat()), Some(1));
    assert_eq!(bad_line(&[lines[0], lines[2], lines[1]].concat()), Some(2));
    assert_eq!(bad_line(&[lines[0], lines[1], lines[2], lines[2]].concat()), Some(4));
    assert_eq!(bad_line(&[lines[0], b"\n", lines[1]].concat()), Some(2));
}

#[test]
fn a_damaged_ledger_is_not_appended_to_and_the_line_is_named() {
    let (folder, mut bytes) = written(three());
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 200;
    bytes[at] ^= 1;
    fs::write(folder.path().join(FILE), &bytes).unwrap();
    let error = Ledger::open(folder.path()).unwrap_err();
    assert_eq!(error.downcast_ref::<BadLine>().unwrap().line, 2);
    assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), bytes);
}

#[test]
fn two_searches_cannot_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let first = Ledger::open(folder.path()).unwrap();
    assert!(Ledger::open(folder.path()).unwrap_err().to_string().contains("a search is running"));
    assert_eq!(read(folder.path()).unwrap(), Contents::default(), "reading needs no lock");
    drop(first);
    Ledger::open(folder.path()).unwrap();
}

/// A disk with room for so many bytes; the write that does not fit is done in part, as the kernel does it.
struct Small {
    bytes: Vec<u8>,
    room: usize,
    can_cut: bool,
    can_sync: bool,
}

impl Disk for Small {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend(&bytes[..fits]);
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.can_sync { Ok(()) } else { Err(io::Error::other("the disk is gone")) }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if !self.can_cut {
            return Err(io::Error::other("read-only now"));
        }
        self.bytes.truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}

fn on(disk: Small) -> Ledger<Small> {
    Ledger {
        disk,
        path: "history/ledger.jsonl".into(),
        contents: Contents::default(),
        length: 0,
        broken: false,
        _lock: None,
    }
}

#[test]
fn a_full_disk_leaves_a_valid_ledger_and_goes_on_when_there_is_room() {
    let (_folder, bytes) = written(three());
    for room in (0..bytes.len()).step_by(53) {
        let mut ledger = on(Small { bytes: Vec::new(), room, can_cut: true, can_sync: true });
        let mut kept = 0;
        let error = loop {
            match ledger.append(intent("a", kept + 1)) {
                Ok(_) => kept += 1,
                Err(error) => break format!("{error:#}"),
            }
        };
        assert!(error.contains("nothing was recorded; free some disk space"), "{error}");
        let contents = Contents::parse(&ledger.disk.bytes).unwrap();
        assert_eq!((contents.lines.len(), contents.torn), (kept as usize, 0), "room {room}");
        ledger.disk.room += 10_000;
        ledger.append(intent("a", kept + 1)).unwrap();
        assert_eq!(&Contents::parse(&ledger.disk.bytes).unwrap(), ledger.contents());
    }
}

#[test]
fn a_disk_that_cannot_even_be_cut_is_not_written_to_again_and_the_next_start_repairs_it() {
    let mut ledger = on(Small { bytes: Vec::new(), room: 600, can_cut: false, can_sync: true });
    ledger.append(intent("a", 1)).unwrap();
    assert!(ledger.append(intent("a", 2)).is_err());
    ledger.disk.room = 10_000;
    assert!(ledger.append(intent("a", 2)).unwrap_err().to_string().contains("start again"));
    let left = Contents::parse(&ledger.disk.bytes).unwrap();
    assert_eq!(left.lines.len(), 1);
    assert!(left.torn > 0);
}

#[test]
fn a_line_that_could_not_be_synced_is_not_acknowledged() {
    let mut ledger = on(Small { bytes: Vec::new(), room: 10_000, can_cut: true, can_sync: false });
    assert!(ledger.append(intent("a", 1)).is_err());
    assert!(ledger.disk.bytes.is_empty() && ledger.contents().lines.is_empty());
}

#[test]
fn the_format_is_what_its_description_says() {
    let (_folder, bytes) = written(vec![Event::RunInterrupted { run: "a".to_owned() }]);
    let text = String::from_utf8(bytes).unwrap();
    let zeros = "0".repeat(64);
    let body = text.trim_end().split_once("\"body\":").unwrap().1.strip_suffix('}').unwrap();
    let hash = durable::hex(&Sha256::digest(format!("{zeros}{body}")));
    assert_eq!(text, format!("{{\"prev\":\"{zeros}\",\"hash\":\"{hash}\",\"body\":{body}}}\n"));
    assert!(
        body.starts_with("{\"n\":1,\"time\":\"20")
            && body.ends_with("Z\",\"event\":{\"event\":\"run-interrupted\",\"run\":\"a\"}}"),
        "{body}"
    );
}

const CHILD: &str = "LEDGER_TEST_FOLDER";

/// Appends, and says which lines were acknowledged, until it is killed or fails.
fn append_until_stopped(folder: &Path) {
    let (mut ledger, _) = Ledger::open(folder).unwrap();
    for attempt in 1.. {
        match ledger.append(outcome("a", promoted(attempt))) {
            // Standard output may be captured; this file is not.
            Ok(line) => fs::write(folder.join("acknowledged"), line.entry.n.to_string()).unwrap(),
            Err(error) => panic!("{error:#}"),
        }
    }
}

#[test]
fn killed_at_any_instant_no_acknowledged_line_is_lost_and_the_lock_is_free() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return append_until_stopped(Path::new(&folder));
    }
    for milliseconds in [60, 75, 90, 105, 120] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "data::ledger::tests::killed_at_any_instant_no_acknowledged_line_is_lost_and_the_lock_is_free",
            ])
            .env(CHILD, folder.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let acknowledged = || fs::read_to_string(folder.path().join("acknowledged")).ok()?.parse::<usize>().ok();
        let patience = std::time::Instant::now();
        while acknowledged().is_none() && patience.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        let kept = read(folder.path()).unwrap().lines.len();
        // The kill may have come while the file of the last number was being written.
        let said = acknowledged().unwrap_or(kept);
        assert!(kept >= said.max(1) && kept <= said + 1, "kept {kept}, acknowledged {said}");
        let (mut ledger, _) = Ledger::open(folder.path()).unwrap();
        ledger.append(intent("a", 1)).unwrap();
        assert_eq!(read(folder.path()).unwrap().lines.len(), kept + 1);
    }
}
