//! Chunked bodies.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::{check, everywhere, hold};

/// A chunk that is sound, or nearly so.
fn chunk() -> impl Strategy<Value = Vec<u8>> {
    let data = prop_oneof![Just(1usize), Just(2), Just(15), Just(16), Just(17), 3usize..300];
    let size = prop_oneof![
        8 => Just(String::new()),
        1 => Just("0".repeat(15)),
        1 => Just("0".repeat(16)),
        1 => Just("+".to_owned()),
    ];
    let extension = prop_oneof![
        6 => Just(String::new()),
        1 => Just(";x=\"y\"".to_owned()),
        1 => Just(" ".to_owned()),
        1 => (250usize..260).prop_map(|length| format!(";{}", "x".repeat(length))),
        1 => "\\PC{0,8}".prop_map(|text| format!(";{text}")),
    ];
    let end = prop_oneof![16 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("")];
    (data, size, extension, end, any::<bool>()).prop_map(|(length, size, extension, end, upper)| {
        let digits = if upper { format!("{length:X}") } else { format!("{length:x}") };
        let mut chunk = format!("{size}{digits}{extension}{end}").into_bytes();
        chunk.extend((0..length).map(|at| b"\r\n0;x"[at % 5]));
        chunk.extend_from_slice(b"\r\n");
        chunk
    })
}

fn trailers() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        6 => Just("X: y".to_owned()),
        2 => Just("Content-Length: 5".to_owned()),
        1 => Just("x".to_owned()),
        1 => Just(" x: y".to_owned()),
        1 => (2_030usize..2_050).prop_map(|length| format!("x:{}", "y".repeat(length - 4))),
    ];
    (vec(line, 0..4), prop_oneof![8 => Just("\r\n"), 1 => Just("\n")])
        .prop_map(|(lines, end)| lines.iter().map(|line| format!("{line}{end}")).collect::<String>().into_bytes())
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    (vec(chunk(), 0..5), prop_oneof![Just("0\r\n"), Just("000;a\r\n"), Just("")], trailers(), "(\r\n)?[a-z]{0,3}")
        .prop_map(|(chunks, last, trailers, behind)| {
            [chunks.concat(), last.into(), trailers, behind.into_bytes()].concat()
        })
}

#[test]
fn a_chunked_body_is_what_the_oracle_decodes_however_it_is_cut() {
    hold(400, body(), |bytes| {
        check::chunked(&bytes, &everywhere(bytes.len()));
        (1..bytes.len()).step_by(7).for_each(|cut| check::chunked(&bytes, &[cut]));
    });
}

#[test]
fn a_few_changed_bytes_of_a_body_are_judged_as_the_oracle_judges_them() {
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 1..4);
    hold(400, (body(), changes), |(mut bytes, changes)| {
        bytes.push(b'0');
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        check::chunked(&bytes, &everywhere(bytes.len()));
    });
}

#[test]
fn the_total_of_a_body_ends_at_the_same_byte() {
    for (first, second) in [(65_536, 0), (65_535, 1), (65_535, 2), (32_768, 32_769), (1, 65_535), (1, 65_536)] {
        let chunk = |size: usize| format!("{size:x}\r\n{}\r\n", "x".repeat(size));
        let text = if second == 0 { chunk(first) } else { chunk(first) + &chunk(second) } + "0\r\n\r\n";
        check::chunked(text.as_bytes(), &[1, first, first + 5, first + 12]);
    }
}

#[test]
fn announced_sizes_do_not_wrap_around() {
    hold(300, ("[0-9a-fA-F]{1,40}", 0usize..40), |(size, cut)| {
        check::chunked(format!("1\r\nx\r\n{size}\r\n").as_bytes(), &[cut]);
    });
}
