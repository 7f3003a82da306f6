//! Cases 34 to 47: where a request comes from.

use super::request::{ANN, UA, UB, UJ, auth, get, newcomer, put_user, ta, tb};
use super::table::{Case, one};
use crate::model::answer::{ok, status};
use crate::model::token::issued;

/// The group.
pub fn cases() -> Vec<Case> {
    let no = || status(403);
    let bob = |from: &str| get().key(tb()).from(from);
    let mut cases = vec![
        one(34, "no address, GET", get().from_nowhere(), no()),
        one(34, "no address, /auth", auth(format!("{{{ANN}}}")).from_nowhere(), no()),
        one(34, "no address, PUT", put_user(newcomer("x", "France")).from_nowhere(), no()),
        one(34, "no address, bad JSON", auth("x").from_nowhere(), no()),
        one(35, "two equal fields", get().field("X-Forwarded-For: 10.1.0.1"), no()),
        one(35, "two fields, the second bad", get().field("X-Forwarded-For: "), no()),
        one(35, "a list", get().from("10.1.0.1, 10.1.0.1"), no()),
        one(38, "blanks and tabs around", get().from(" \t      10.1.0.1 \t       \t"), ok(UA)),
        one(40, "no record", get().from("99.9.9.9"), ok(UA)),
        one(40, "no record: a row without id", get().from("10.5.0.1"), ok(UA)),
        one(40, "no record: a row with an unknown id", get().from("10.7.0.1"), ok(UA)),
        one(41, "a record without country", get().from("10.4.0.1"), no()),
        one(43, "ann from 10.6.8.1", get().from("10.6.8.1"), ok(UA)),
        one(43, "ann from 10.6.7.9", get().from("10.6.7.9"), no()),
        one(43, "bob from 10.6.8.1", bob("10.6.8.1"), no()),
        one(43, "bob from 10.6.7.9", bob("10.6.7.9"), ok(UB)),
        one(43, "bob from 10.6.7.0", bob("10.6.7.0"), ok(UB)),
        one(43, "ann from 10.6.6.255", get().from("10.6.6.255"), ok(UA)),
        one(43, "ann from 10.6.7.255", get().from("10.6.7.255"), no()),
        one(44, "bob from 10.1.0.0", bob("10.1.0.0"), no()),
        one(44, "bob from 10.1.255.255", bob("10.1.255.255"), no()),
        one(44, "bob from 10.0.255.255", bob("10.0.255.255"), ok(UB)),
        one(44, "bob from 0.0.0.0", bob("0.0.0.0"), ok(UB)),
        one(44, "bob from 255.255.255.255", bob("255.255.255.255"), ok(UB)),
        one(46, "a country with commas", get().key(issued("Jörg/1 %", "n")).from("10.3.0.1"), ok(UJ)),
        one(
            46,
            "a country without any network, from nowhere",
            get().key(issued("no1", "n")).from("99.0.0.1"),
            ok(r#"{"login":"no1","name":"N","phone":"+6","country":"Atlantis"}"#),
        ),
        one(46, "a country without any network, from France", get().key(issued("no1", "n")), no()),
        one(
            47,
            "names in other case",
            get().from_nowhere().no_key().field("x-FORWARDED-for: 10.1.0.1").field(format!("x-api-KEY: {}", ta())),
            ok(UA),
        ),
    ];
    for address in [
        "::1",
        "::ffff:10.1.0.1",
        "[::1]",
        "10.1.0.1:80",
        "10.1.0",
        "10.1.0.1.1",
        "10.1.0.256",
        "10.1.0.01",
        "010.1.0.1",
        "10.1.0.0001",
        "10.1.0.1,",
        "+10.1.0.1",
        "0x0a.1.0.1",
        "10.1..1",
        "10.1.0.",
        ".10.1.0.1",
        "10. 1.0.1",
        "10.1.0.1a",
        "167837697",
        "unknown",
        "\"10.1.0.1\"",
        "",
    ] {
        cases.push(one(37, format!("address {address:?}"), get().from(address), no()));
    }
    cases
}
