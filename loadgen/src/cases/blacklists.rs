//! Cases 49 to 71: blocked users and subnets. The crowds of 70 and 71 are in `crowd.rs`.

use super::request::{ANN, UA, UB, auth, by_admin, call, get, newcomer, put_user, t2, ta, tb, tm};
use super::table::{Case, one, row};
use crate::model::answer::{Tail, ok, status, status_with};
use crate::model::token::issued;

/// The group.
pub fn cases() -> Vec<Case> {
    let no = || status(403);
    let sub = |method: &str, subnet: &str| by_admin(method, &format!("subnet/{subnet}"));
    let user = |method: &str, login: &str| by_admin(method, &format!("user/{login}"));
    let free = |from: &str| (get().from(from), ok(UA));
    let shut = |from: &str| (get().from(from), no());
    let mut cases = vec![
        row(
            49,
            "a subnet in a subnet",
            vec![
                (sub("PUT", "77.99.0.0/16"), status(201)),
                (sub("PUT", "77.99.0.0/17"), status(201)),
                shut("77.99.1.1"),
                shut("77.99.200.1"),
                (sub("DELETE", "77.99.0.0/16"), status(204)),
                shut("77.99.1.1"),
                free("77.99.200.1"),
                free("77.98.255.255"),
                free("77.100.0.0"),
            ],
        ),
        row(
            50,
            "a short mask",
            vec![
                (sub("PUT", "64.0.0.0/2"), status(201)),
                shut("65.1.1.1"),
                shut("127.0.0.1"),
                shut("64.0.0.0"),
                shut("127.255.255.255"),
                free("128.0.0.1"),
                free("63.255.255.255"),
            ],
        ),
        row(
            50,
            "a single address",
            vec![
                (sub("PUT", "77.1.2.3/32"), status(201)),
                shut("77.1.2.3"),
                free("77.1.2.2"),
                free("77.1.2.4"),
                (sub("DELETE", "77.1.2.3/32"), status(204)),
                free("77.1.2.3"),
            ],
        ),
        row(
            50,
            "host bits are cleared",
            vec![
                (sub("PUT", "77.99.1.2/16"), status(201)),
                (sub("PUT", "77.99.200.200/16"), status(409)),
                (sub("DELETE", "77.99.0.255/16"), status(204)),
                (sub("DELETE", "77.99.1.2/16"), status(404)),
            ],
        ),
        one(52, "an empty mask", sub("PUT", "77.99.0.0/"), status(404)),
        one(52, "no mask", sub("PUT", "77.99.0.0"), status(404)),
        one(55, "a bad subnet by ann", call("PUT", "/blacklist/subnet/x/8").key(ta()), no()),
        one(55, "a bad subnet by nobody", call("PUT", "/blacklist/subnet/x/8"), no()),
        one(55, "a good subnet by ann", call("PUT", "/blacklist/subnet/77.0.0.0/8").key(ta()), no()),
        one(55, "an absent subnet", sub("DELETE", "77.0.0.0/8"), status(404)),
        row(
            56,
            "everybody is shut out",
            vec![
                (sub("PUT", "0.0.0.0/0"), status(201)),
                shut("10.1.0.1"),
                shut("99.9.9.9"),
                (sub("DELETE", "0.0.0.0/0"), no()),
                (auth(format!("{{{ANN}}}")), no()),
                (auth("x"), no()),
                (put_user(newcomer("x", "France")), no()),
                (call("GET", "/auth"), crate::model::answer::method("POST", Tail::None)),
                (call("GET", "/nowhere"), status(404)),
            ],
        ),
        one(58, "PUT of an unknown user", user("PUT", "zed"), status(404)),
        one(58, "DELETE of an unknown user", user("DELETE", "zed"), status(404)),
        row(
            58,
            "bob is blocked and unblocked",
            vec![
                (user("PUT", "bob"), status(201)),
                (user("PUT", "bob"), status(409)),
                (get().key(tb()).from("10.2.0.1"), no()),
                (auth(r#"{"login":"bob","password":"AaAa"}"#).from("10.2.0.1"), no()),
                (call("PATCH", "/user").key(tb()).from("10.2.0.1").body("{}"), no()),
                (put_user(newcomer("bob", "France")), status(409)),
                (user("DELETE", "bob"), status(204)),
                (get().key(tb()).from("10.2.0.1"), ok(UB)),
                (user("DELETE", "bob"), status(404)),
            ],
        ),
        row(
            59,
            "a login with everything in it",
            vec![
                (user("PUT", "J%C3%B6rg%2F1%20%25"), status(201)),
                (user("PUT", "%4A%c3%b6rg%2f1%20%25"), status(409)),
                (user("DELETE", "J%c3%b6rg%2f1%20%25"), status(204)),
            ],
        ),
        one(61, "decoded once only", user("PUT", "%2562ob"), status(404)),
        row(
            62,
            "a plus is a plus",
            vec![
                (put_user(newcomer("a b", "France")), status(201)),
                (user("PUT", "a+b"), status(404)),
                (user("PUT", "a%20b"), status(201)),
            ],
        ),
        row(
            62,
            "logins of dots",
            vec![
                (put_user(newcomer("..", "France")), status(201)),
                (user("PUT", ".."), status(201)),
                (user("DELETE", "%2e%2E"), status(204)),
            ],
        ),
        one(64, "%FF", user("PUT", "%FF"), status(404)),
        one(64, "%00", user("PUT", "%00"), status(404)),
        one(64, "a percent sign with one digit", user("PUT", "%2"), status_with(400, Tail::Close)),
        one(64, "a percent sign without digits", user("PUT", "%zz"), status_with(400, Tail::Close)),
        one(65, "raw ö in the target", user("PUT", "J\u{f6}rg"), status_with(400, Tail::Close)),
        row(
            67,
            "an admin blocks himself",
            vec![
                (user("PUT", "adm"), status(201)),
                (get().key(tm()), no()),
                (user("DELETE", "adm"), no()),
                (user("PUT", "bob"), no()),
                (sub("PUT", "77.0.0.0/8"), no()),
                (call("DELETE", "/blacklist/user/adm").key(t2()).from("10.2.0.1"), status(204)),
                (get().key(tm()), ok(super::request::UM)),
            ],
        ),
        one(68, "an admin from another country", user("PUT", "bob").from("10.2.0.1"), no()),
        one(68, "one who is no admin", call("PUT", "/blacklist/user/bob").key(ta()), no()),
        one(
            68,
            "one who claims to be admin",
            call("PUT", "/blacklist/user/bob").key(super::request::tok(r#"{"login":"ann","is_admin":true}"#)),
            no(),
        ),
        one(68, "an admin's old token with another nonce", get().key(issued("adm", "other")), ok(super::request::UM)),
    ];
    for mask in ["33", "99", "256", "4294967304", "-1", "+8", "08", "8x", "8.0", "000", "%208", "0x8"] {
        cases.push(one(52, format!("mask {mask}"), sub("PUT", &format!("77.99.0.0/{mask}")), status(400)));
        cases.push(one(52, format!("mask {mask}, DELETE"), sub("DELETE", &format!("77.99.0.0/{mask}")), status(400)));
    }
    for ip in
        ["77.99.0", "77.099.0.0", "77.99.0.256", "x", "77.99.0.0.0", "%2077.99.0.0", "77.99.0.0%20", "77.99.0.0:80"]
    {
        cases.push(one(53, format!("ip {ip}"), sub("PUT", &format!("{ip}/16")), status(400)));
    }
    cases.push(one(53, "IPv6", sub("PUT", "2001:db8::/32"), status(400)));
    cases
}
