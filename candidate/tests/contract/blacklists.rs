//! Cases 49 to 71: blocking of subnets and users.

use std::io::Write;

use crate::client::*;
use crate::server::Server;

fn subnet(method: &str, network: &str) -> String {
    request(method, &format!("/blacklist/subnet/{network}"), "10.1.0.1", TM, "")
}

fn user(method: &str, login: &str) -> String {
    request(method, &format!("/blacklist/user/{login}"), "10.1.0.1", TM, "")
}

#[test]
fn subnets_overlap_without_conflict() {
    let server = Server::start();
    server.check([
        ("the /16", subnet("PUT", "99.1.2.3/16"), empty(201)),
        ("again", subnet("PUT", "99.1.0.0/16"), empty(409)),
        ("the /17", subnet("PUT", "99.1.0.0/17"), empty(201)),
        ("blocked twice", get("99.1.0.1", TA), empty(403)),
        ("the /16 again", subnet("DELETE", "99.1.0.0/16"), empty(204)),
        ("absent", subnet("DELETE", "99.1.0.0/16"), empty(404)),
        ("still blocked", get("99.1.0.1", TA), empty(403)),
        ("free", get("99.1.128.1", TA), ok(UA)),
        ("a short mask", subnet("PUT", "64.0.0.0/2"), empty(201)),
        ("inside", get("65.1.1.1", TA), empty(403)),
        ("at its end", get("127.0.0.1", TA), empty(403)),
        ("behind", get("128.0.0.1", TA), ok(UA)),
        ("before", get("63.255.255.255", TA), ok(UA)),
        ("405 comes first", request("BREW", "/user", "65.1.1.1", "", ""), not_allowed(USER_METHODS)),
    ]);
}

#[test]
fn networks_are_strict_and_judged_after_the_rights() {
    let server = Server::start();
    for mask in ["33", "99", "256", "4294967304", "-1", "+8", "08", "8x", "8.0"] {
        server.gives(&subnet("PUT", &format!("77.0.0.0/{mask}")), &empty(400));
    }
    for network in ["77.99.0/16", "77.099.0.0/16", "77.99.0.256/16", "x/8", "2001:db8::/32"] {
        server.gives(&subnet("PUT", network), &empty(400));
    }
    server.check([
        ("empty mask", subnet("PUT", "77.0.0.0/"), empty(404)),
        ("no admin", request("PUT", "/blacklist/subnet/x/8", "10.1.0.1", TA, ""), empty(403)),
        ("nobody", request("PUT", "/blacklist/subnet/x/8", "10.1.0.1", "", ""), empty(403)),
        ("escaped", subnet("PUT", "77%2E0.0.0/1%36"), empty(201)),
        ("unescaped", subnet("DELETE", "77.0.0.0/16"), empty(204)),
        ("wrong country", request("PUT", "/blacklist/user/bob", "10.2.0.1", TM, ""), empty(403)),
    ]);
}

#[test]
fn everybody_can_be_shut_out_for_good() {
    let server = Server::start();
    server.check([
        ("all", subnet("PUT", "0.0.0.0/0"), empty(201)),
        ("reading", get("99.9.9.9", TA), empty(403)),
        ("logging in", log_in(r#"{"login":"ann","password":"Aa1"}"#), empty(403)),
        ("bad JSON", log_in("["), empty(403)),
        ("undoing", subnet("DELETE", "0.0.0.0/0"), empty(403)),
        ("unknown path", request("GET", "/", "10.1.0.1", "", ""), empty(404)),
    ]);
}

#[test]
fn users_are_blocked_by_their_decoded_login() {
    let server = Server::start();
    server.check([
        ("unknown", user("PUT", "zed"), empty(404)),
        ("unknown", user("DELETE", "zed"), empty(404)),
        ("block", user("PUT", "bob"), empty(201)),
        ("again", user("PUT", "bob"), empty(409)),
        ("bob", get("10.2.0.1", TB), empty(403)),
        ("free", user("DELETE", "bob"), empty(204)),
        ("again", user("DELETE", "bob"), empty(404)),
        ("bob", get("10.2.0.1", TB), ok(UB)),
        ("escaped", user("PUT", "J%C3%B6rg%2F1%20%25"), empty(201)),
        ("in lower case", user("DELETE", "J%c3%b6rg%2f1%20%25"), empty(204)),
        ("decoded once", user("PUT", "%2562ob"), empty(404)),
        ("no UTF-8", user("PUT", "%FF"), empty(404)),
        ("NUL", user("PUT", "%00"), empty(404)),
        ("dots", user("PUT", ".."), empty(404)),
        ("raw bytes", user("PUT", "J\u{f6}rg"), closing(&empty(400))),
        ("himself", user("PUT", "adm"), empty(201)),
        ("no more", user("DELETE", "adm"), empty(403)),
        ("by another", request("DELETE", "/blacklist/user/adm", "10.2.0.1", T2, ""), empty(204)),
        ("back again", get("10.1.0.1", TM), ok(UM)),
    ]);
}

#[test]
fn of_equal_requests_at_once_one_wins() {
    let server = Server::start();
    let mut streams: Vec<_> = (0..64).map(|_| connect(server.address)).collect();
    let put = subnet("PUT", "88.0.0.0/8").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    for stream in &mut streams {
        stream.write_all(put.as_bytes()).unwrap();
    }
    let answers: Vec<String> = streams.iter_mut().map(rest).collect();
    let count = |expected: String| answers.iter().filter(|answer| **answer == expected).count();
    assert_eq!((count(closing(&empty(201))), count(closing(&empty(409)))), (1, 63));
}

#[test]
fn a_block_is_seen_by_all_workers_at_once() {
    let server = Server::start();
    let mut streams: Vec<_> = (0..64).map(|_| connect(server.address)).collect();
    let mut admin = connect(server.address);
    for _ in 0..5 {
        admin.write_all(user("PUT", "bob").as_bytes()).unwrap();
        expect(&mut admin, &empty(201));
        for stream in &mut streams {
            stream.write_all(get("10.2.0.1", TB).as_bytes()).unwrap();
        }
        streams.iter_mut().for_each(|stream| expect(stream, &empty(403)));
        admin.write_all(user("DELETE", "bob").as_bytes()).unwrap();
        expect(&mut admin, &empty(204));
        for stream in &mut streams {
            stream.write_all(get("10.2.0.1", TB).as_bytes()).unwrap();
        }
        streams.iter_mut().for_each(|stream| expect(stream, &ok(UB)));
    }
}
