//! Neighbours of cases 34 to 68 and 103 to 107: targets, methods and addresses on every route.

use super::request::{ANN, Request, UA, auth, by_admin, call, get, newcomer, patch, put_user, tm};
use super::table::{Case, each, fresh, round, row};
use crate::model::answer::{Tail, allow, head_of, method, ok, ok_with, status, status_with};
use crate::model::token::issued;

/// A request of every route and method, right but for what a case changes.
fn every() -> Vec<Request> {
    vec![
        get(),
        get().line("HEAD /user HTTP/1.1"),
        auth(format!("{{{ANN}}}")),
        put_user(newcomer("x", "France")),
        patch("{}"),
        by_admin("PUT", "user/bob"),
        by_admin("DELETE", "user/bob"),
        by_admin("PUT", "subnet/77.0.0.0/8"),
        by_admin("DELETE", "subnet/77.0.0.0/8"),
    ]
}

/// The group.
pub fn cases() -> Vec<Case> {
    let (no, nowhere) = (|| status(403), || status(404));
    let bad = || status_with(400, Tail::Close);
    let refused = |change: &dyn Fn(Request) -> Request| {
        every().into_iter().map(|request| (change(request), no())).collect::<Vec<_>>()
    };
    let fine = |target: &str| (get().line(format!("GET {target} HTTP/1.1")), ok(UA));
    let put = |path: &str| by_admin("PUT", path);
    let verbs = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "get", "put", "Delete",
    ];
    let paths = [
        ("/auth", allow::AUTH),
        ("/user", allow::USER),
        ("/blacklist/user/ann", allow::BLACKLIST),
        ("/blacklist/user/nobody", allow::BLACKLIST),
        ("/blacklist/subnet/1.2.3.4/8", allow::BLACKLIST),
        ("/blacklist/subnet/x/y", allow::BLACKLIST),
    ];
    let wrong = |target: fn(&str) -> String| {
        let mut steps = Vec::new();
        for (path, allowed) in paths {
            for verb in verbs.iter().filter(|verb| !allowed.split(", ").any(|name| name == **verb)) {
                steps.push((call(verb, &target(path)).nowhere(), method(allowed, Tail::None)));
            }
        }
        steps
    };
    let mut cases = vec![
        each(103, "every other method of every path, from nowhere", wrong(str::to_string)),
        each(103, "every other method of every path, with a query", wrong(|path| format!("{path}?a/b"))),
        each(103, "every other method of every path, in absolute form", wrong(|path| format!("http://h{path}"))),
        each(
            106,
            "HEAD has no body whatever the answer",
            [
                (call("HEAD", "/user").nowhere(), no()),
                (get().line("HEAD /user HTTP/1.1").from("10.2.0.1"), no()),
                (get().line("HEAD /user?x HTTP/1.1").body("x"), head_of(UA, Tail::None)),
                (get().line("HEAD /user HTTP/1.1").key(tm()), head_of(super::request::UM, Tail::None)),
                (call("HEAD", "/blacklist/user/bob"), method(allow::BLACKLIST, Tail::None)),
                (get().line("HEAD /user HTTP/1.1").field("Connection: close"), head_of(UA, Tail::Close)),
                (get().line("HEAD /user HTTP/1.0"), head_of(UA, Tail::Close)),
                (get().line("HEAD /user HTTP/1.0").field("Connection: keep-alive"), head_of(UA, Tail::Keep)),
                (get().line("HEAD http://h/user HTTP/1.1"), head_of(UA, Tail::None)),
                (get().line("HEAD user HTTP/1.1"), bad()),
            ],
        ),
        each(
            107,
            "targets that are /user",
            [
                "/user?",
                "/user??",
                "/user?a?b",
                "/user?%",
                "/user?%zz",
                "/user?a/b/../c",
                "/user?/auth",
                "http://h/user",
                "http://h:80/user?x",
                "http://u:p@h/user",
                "http://[::1]:8/user",
                "hTtP://h/user",
                "HTTPS://h/user",
                "https://a.b/user?http://c/auth",
            ]
            .map(fine),
        ),
        each(
            107,
            "absolute forms of unknown paths",
            [
                "http://h/",
                "http://h",
                "https://h",
                "http://h//user",
                "http://h/user/",
                "http://h/USER",
                "http://h?/user",
                "http://h?",
                "http://user",
                "http://h/x",
            ]
            .map(|target| (get().line(format!("GET {target} HTTP/1.1")), nowhere())),
        ),
        each(
            107,
            "targets of no form",
            [
                "http://",
                "https://",
                "http:",
                "http:/",
                "http",
                "http:/user",
                "http:///user",
                "https:///",
                "http://?x",
                "httpx://h/user",
                "ws://h/user",
                "h/user",
                "user",
                "h:80",
                "*",
                "**",
                "*/user",
                ".",
                "?",
                "%2Fuser",
                "\\user",
                "-",
                "@/user",
                "#",
                "#/user",
                "/#",
                "/user#",
                "/user?#",
                "http://h/user#f",
                "http://h#/user",
            ]
            .into_iter()
            .flat_map(|target| ["GET", "OPTIONS", "PUT"].map(|verb| (call(verb, target), bad()))),
        ),
        each(
            107,
            "absolute forms of other routes",
            [
                (
                    auth(format!("{{{ANN}}}")).line("POST http://h/auth HTTP/1.1"),
                    ok(&format!("\"{}\"", issued("ann", ""))),
                ),
                (by_admin("DELETE", "").line("DELETE https://h:1/blacklist/user/bob?x HTTP/1.1"), nowhere()),
                (by_admin("PUT", "").line("PUT http://h/blacklist/subnet/x/8 HTTP/1.1"), status(400)),
            ],
        ),
        each(
            64,
            "percent signs without two digits",
            [
                "/%",
                "/%2",
                "/%2g",
                "/%g2",
                "/%%",
                "/%%20",
                "/%x20",
                "/user%",
                "/user/%1",
                "/x/%4",
                "/auth%?%20",
                "/blacklist/user/%",
                "/blacklist/user/a%",
                "/blacklist/user/a%f",
                "/blacklist/user/%0x",
                "/blacklist/user/%-1",
                "/blacklist/user/%20%2",
                "/blacklist/user/% 0",
                "/blacklist/subnet/%/8",
                "/blacklist/subnet/77.0.0.0/%",
                "/blacklist/subnet/77.0.0.0/%8",
                "http://h/%",
                "http://h/blacklist/user/%z0",
            ]
            .map(|target| (call("PUT", target).key(tm()), bad())),
        ),
        each(
            104,
            "paths that only look like one",
            [
                "/auth/",
                "/Auth",
                "/authx",
                "/aut",
                "/auth%20",
                "/auth;x",
                "//auth",
                "/./auth",
                "/x/../auth",
                "/%61uth",
                "/user/ann",
                "/user;a",
                "/user%00",
                "/user.json",
                "/User",
                "/blacklist//user/ann",
                "/blacklist/User/ann",
                "/blacklist/users/ann",
                "/blacklist/%75ser/ann",
                "/%62lacklist/user/ann",
                "/blacklist/user//ann",
                "/blacklist/user/ann/",
                "/blacklist/user//",
                "/blacklist/user/../user/ann",
                "/./blacklist/user/ann",
                "/blacklist/subnet",
                "/blacklist/subnet/",
                "/blacklist/subnet//",
                "/blacklist/subnet/77.0.0.0/",
                "/blacklist/subnet//8",
                "/blacklist/subnet/77.0.0.0%2F8",
                "/blacklist/subnet/77.0.0.0/8/x",
                "/blacklist/subnet/77.0.0.0/8//",
                "/blacklist/subnets/77.0.0.0/8",
                "/blacklist/%73ubnet/77.0.0.0/8",
                "/x/blacklist/user/ann",
                "/blacklist",
                "/blacklist/",
                "/blacklist/ann",
            ]
            .into_iter()
            .flat_map(|path| {
                ["GET", "PUT", "DELETE", "POST"].map(|verb| (call(verb, path).key(tm()).body("{}"), nowhere()))
            }),
        ),
        each(34, "no address, on every route", refused(&Request::nowhere)),
        each(35, "two addresses, on every route", refused(&|request| request.field("X-Forwarded-For: 10.1.0.1"))),
        each(37, "IPv6, on every route", refused(&|request| request.from("::ffff:10.1.0.1"))),
        each(37, "an octet too large, on every route", refused(&|request| request.from("10.1.0.256"))),
        each(
            37,
            "octets that are none, in every place",
            (0..4usize).flat_map(|place| {
                [
                    "256",
                    "300",
                    "999",
                    "1000",
                    "00",
                    "01",
                    "010",
                    "000",
                    "0x1",
                    "-1",
                    "+1",
                    "",
                    "a",
                    "1a",
                    "1 ",
                    "\u{661}",
                    "4294967297",
                ]
                .map(|octet| {
                    let mut octets = ["10", "1", "0", "1"];
                    octets[place] = octet;
                    // A blank behind the last octet is trimmed.
                    let right = place == 3 && octet == "1 ";
                    (get().from(&octets.join(".")), if right { ok(UA) } else { no() })
                })
            }),
        ),
        each(
            44,
            "addresses at the ends",
            [
                "0.0.0.0",
                "255.255.255.255",
                "10.1.0.0",
                "10.1.255.255",
                "10.0.255.255",
                "9.255.255.255",
                "10.8.0.0",
                "99.0.0.0",
                "1.2.3.4",
                "100.200.100.200",
                "10.6.6.255",
                "10.6.8.0",
                "10.5.255.255",
                "10.7.0.0",
            ]
            .map(|address| (get().from(address), ok(UA))),
        ),
        each(
            44,
            "addresses of other countries",
            [
                "10.2.0.0",
                "10.2.255.255",
                "10.3.0.0",
                "10.3.255.255",
                "10.4.0.0",
                "10.4.255.255",
                "10.6.7.0",
                "10.6.7.255",
            ]
            .map(|address| (get().from(address), no())),
        ),
        each(
            29,
            "another country, on every route with a user",
            [
                get(),
                auth(format!("{{{ANN}}}")),
                patch("{}"),
                patch("x"),
                by_admin("PUT", "user/bob"),
                by_admin("DELETE", "user/zed"),
                put("subnet/x/y"),
                put_user(newcomer("x", "France")),
            ]
            .map(|request| (request.from("10.2.0.1"), no())),
        ),
        round(56, "a blocked address, on every route, before all else", {
            let from = |request: Request| request.from("77.1.1.1");
            let mut steps = vec![(put("subnet/77.0.0.0/8"), status(201))];
            steps.extend(every().into_iter().map(|request| (from(request), no())));
            steps.extend([
                (from(auth("x")), no()),
                (from(put_user("x")), no()),
                (from(patch("x").no_key()), no()),
                (from(put("subnet/x/99")), no()),
                (from(call("GET", "/nowhere")), nowhere()),
                (from(call("DELETE", "/user")), method(allow::USER, Tail::None)),
                (put("subnet/77.0.0.0/8"), status(409)),
                (by_admin("DELETE", "subnet/77.0.0.0/8"), status(204)),
                (from(get()), ok(UA)),
            ]);
            steps
        }),
        round(
            59,
            "parameters are decoded",
            vec![
                (put("subnet/77%2e99.0.0/%31%36"), status(201)),
                (put("subnet/%37%37.99.255.255/16?x"), status(409)),
                (get().from("77.99.1.1"), no()),
                (by_admin("DELETE", "subnet/77.99.0.0/1%36"), status(204)),
                (put("user/%62ob"), status(201)),
                (put("user/%62%6F%62"), status(409)),
                (by_admin("DELETE", "user/bo%62"), status(204)),
            ],
        ),
        each(
            61,
            "parameters that name nobody",
            [
                "bob%20",
                "%20bob",
                "BOB",
                "bob%00",
                "bo",
                "bobb",
                "b%6fb%2f",
                "%252e",
                "+bob",
                "bob;x",
                "bob,ann",
                "%C3",
                "%c3%28",
                "%ED%A0%80",
                "*",
                "bob%0A",
            ]
            .map(|login| (put(&format!("user/{login}")), nowhere())),
        ),
        each(
            53,
            "parameters that are no subnet",
            [
                "77.0.0.0/33",
                "77.0.0.0/032",
                "77.0.0.0/00",
                "77.0.0.0/1%20",
                "77.0.0.0/%2B8",
                "77.0.0.0/8%00",
                "77.0.0.0/%D9%A8",
                "77.0.0.0/255.0.0.0",
                "77.0.0.0/8,9",
                "77.0.0.0/320",
                "77.0.0.0/-0",
                "0/0",
                "77.0.0/8",
                "77.0.0.0./8",
                ".77.0.0.0/8",
                "77..0.0/8",
                "77.0.0.00/8",
                "77.00.0.0/8",
                "077.0.0.0/8",
                "256.0.0.0/8",
                "77.0.0.1000/8",
                "77.0.0.0%2F8/8",
                "77.0.0.0%00/8",
                "77,0,0,0/8",
                "1291845632/8",
                "0x4d.0.0.0/8",
                "::/0",
                "::ffff:77.0.0.0/104",
                "a.b.c.d/8",
                "*/8",
                "77.0.0.+0/8",
            ]
            .into_iter()
            .flat_map(|subnet| {
                ["PUT", "DELETE"].map(|verb| (by_admin(verb, &format!("subnet/{subnet}")), status(400)))
            }),
        ),
        each(
            55,
            "who may not, before what is wrong",
            ["subnet/x/8", "subnet/77.0.0.0/99", "subnet/77.0.0.0/8", "user/zed", "user/bob", "user/%FF"]
                .into_iter()
                .flat_map(|path| {
                    let asked = move |verb| call(verb, &format!("/blacklist/{path}"));
                    ["PUT", "DELETE"].into_iter().flat_map(move |verb| {
                        [
                            asked(verb),
                            asked(verb).key("x"),
                            asked(verb).key(issued("ann", "n")),
                            asked(verb).key(issued("zed", "n")),
                            asked(verb).key(tm()).from("10.2.0.1"),
                        ]
                    })
                })
                .map(|request| (request, no())),
        ),
        row(
            50,
            "the whole of the addresses",
            vec![
                (put("subnet/1.2.3.4/0"), status(201)),
                (get().from("0.0.0.0"), no()),
                (get().from("255.255.255.255"), no()),
                (get().from("127.0.0.1"), no()),
                (get().from("128.0.0.1"), no()),
                (by_admin("DELETE", "subnet/0.0.0.0/0"), no()),
            ],
        ),
        fresh(10, "a server listens on every address it has", |stage| {
            let other = std::net::SocketAddr::from(([127, 0, 0, 2], stage.addr.port()));
            let mut line = super::line::Line::open(other)?;
            line.send(get().field("Connection: close").bytes())?;
            line.expect(ok_with(UA, Tail::Close))?;
            line.fin()
        }),
    ];
    for first in [1, 9, 17, 25] {
        cases.push(round(50, format!("masks {first} to {}", first + 7), (first..first + 8).flat_map(mask).collect()));
    }
    cases
}

/// A subnet of that length is put, hit at its ends and missed beside them, and deleted.
fn mask(length: u32) -> Vec<(Request, Vec<u8>)> {
    let bits = 213 << 24 | 170 << 16 | 85 << 8 | 171u32;
    let mask = u32::MAX << (32 - length);
    let (low, high) = (bits & mask, bits | !mask);
    let text = |address: u32| std::net::Ipv4Addr::from(address).to_string();
    let asked = |verb: &str, address: u32| by_admin(verb, &format!("subnet/{}/{length}", text(address)));
    let from = |address: u32, right: Vec<u8>| (get().from(&text(address)), right);
    vec![
        (asked("PUT", bits), status(201)),
        (asked("PUT", high), status(409)),
        from(low, status(403)),
        from(high, status(403)),
        from(low.wrapping_sub(1), ok(UA)),
        from(high.wrapping_add(1), ok(UA)),
        (asked("DELETE", high.wrapping_add(1)), status(404)),
        (asked("DELETE", low), status(204)),
        from(low, ok(UA)),
        (asked("DELETE", bits), status(404)),
    ]
}
