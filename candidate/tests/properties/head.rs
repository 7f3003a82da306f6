//! Request heads and targets.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{check, everywhere, hold};

const TARGETS: [&str; 14] = [
    "/user",
    "/auth",
    "/user?x=%",
    "/user/",
    "/blacklist/user/a%2Fb",
    "/blacklist/subnet/1.2.3.4/8",
    "/blacklist/subnet//8",
    "http://h/user",
    "HTTPS://h?x/user",
    "http:///user",
    "*",
    "/%4",
    "/a b",
    "/user#f",
];

const FIELDS: [&str; 30] = [
    "Host: x",
    "Host: x",
    "hOST:",
    "X-Forwarded-For: 10.1.0.1",
    "x-FORWARDED-for:\t 10.1.0.1 \t",
    "X-API-Key: a.b.c",
    "X-API-Key:",
    "Content-Length: 5",
    "content-length: 0",
    "Content-Length: 65536",
    "Content-Length: 65537",
    "Content-Length: 99999999999999999999999",
    "Content-Length: 5, 5",
    "Transfer-Encoding: Chunked",
    "Transfer-Encoding: gzip, chunked",
    "Expect: 100-Continue",
    "Expect:",
    "Expect: foo",
    "Connection: close",
    "Connection: a, Keep-Alive ,b",
    "connection: xclose,,",
    "Accept: */*",
    "A: \u{ff} \t",
    "A: \u{1}",
    "A : b",
    " A: b",
    ": b",
    "A",
    "A: b\rc",
    "X(a): b",
];

fn line() -> impl Strategy<Value = String> {
    let method = select(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "BREW", "get", "", "G(T"][..]);
    let version = prop_oneof![
        8 => Just("HTTP/1.1"),
        2 => Just("HTTP/1.0"),
        1 => select(&["HTTP/1.9", "HTTP/2.0", "HTTP/0.9", "HTTP/1.10", "http/1.1", "HTTP/1.x", "", "HTTP/1.1 "][..]),
    ];
    let gap = prop_oneof![16 => Just(" "), 1 => Just("  "), 1 => Just("\t"), 1 => Just("")];
    (prop_oneof![3 => Just("GET"), 2 => method], gap, select(&TARGETS[..]), version)
        .prop_map(|(method, gap, target, version)| format!("{method}{gap}{target} {version}"))
}

/// A head that is sound, or nearly so, and what follows it.
fn head() -> impl Strategy<Value = Vec<u8>> {
    let end = prop_oneof![24 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r")];
    let fields = vec((select(&FIELDS[..]), end.clone()), 0..7);
    (line(), end, any::<bool>(), fields, "[a-zA-Z \r\n]{0,4}").prop_map(|(line, end, host, fields, behind)| {
        let mut text = line + end;
        if host {
            text += "Host: x\r\n";
        }
        for (field, end) in fields {
            text = text + field + end;
        }
        (text + "\r\n" + &behind).into_bytes()
    })
}

#[test]
fn a_head_is_what_the_oracle_reads_however_it_is_cut() {
    hold(800, head(), |bytes| check::head(&bytes, &everywhere(bytes.len())));
}

#[test]
fn a_head_cut_once_is_the_same_head() {
    hold(60, head(), |bytes| (1..bytes.len()).for_each(|cut| check::head(&bytes, &[cut])));
}

#[test]
fn a_few_changed_bytes_of_a_head_are_judged_as_the_oracle_judges_them() {
    hold(800, (head(), vec((any::<Index>(), any::<u8>()), 1..4)), |(mut bytes, changes)| {
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        check::head(&bytes, &everywhere(bytes.len()));
    });
}

#[test]
fn heads_end_at_the_same_length_and_number_of_fields() {
    let start = "GET /user HTTP/1.1\r\nHost: x\r\n";
    for length in 16_380..16_390 {
        let head = format!("{start}a: {}\r\n\r\n", "b".repeat(length - start.len() - 7));
        check::head(head.as_bytes(), &[start.len(), 16_381, 16_383, 16_384, length - 1]);
    }
    for count in 97..104 {
        let head = start.to_owned() + &"a: b\r\n".repeat(count) + "\r\n";
        check::head(head.as_bytes(), &everywhere(head.len()));
    }
}

#[test]
fn all_ways_of_finding_fields_agree() {
    let lines = vec(select(&FIELDS[..]), 0..20).prop_map(|fields| fields.join("\r\n") + "\r\n\r\n");
    hold(800, lines, |lines| check::fields(lines.as_bytes()));
}

#[test]
fn targets_have_the_routes_that_the_oracle_finds() {
    let part = select(
        &["/", "auth", "user", "blacklist", "subnet", "1.2.3.4", "8", "%2f", "%", "%4g", "?", "#", "http://", "h", " "]
            [..],
    );
    hold(2_000, vec(part, 0..9), |parts| check::route(parts.concat().as_bytes()));
    TARGETS.iter().for_each(|target| check::route(target.as_bytes()));
}
