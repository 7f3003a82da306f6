//! Cases 91 to 101: accounts.

use crate::client::*;
use crate::server::Server;

fn put(address: &str, body: &str) -> String {
    request("PUT", "/user", address, "", body)
}

fn account(login: &str, country: &str) -> String {
    format!(r#"{{"login":"{login}","password":"p","name":"N","phone":"1","country":"{country}"}}"#)
}

#[test]
fn accounts_are_created_once_and_from_their_country() {
    let server = Server::start();
    server.check([
        ("exists", put("10.1.0.1", &account("ann", "France")), empty(409)),
        ("exists, other country", put("10.1.0.1", &account("ann", "Germany")), empty(403)),
        ("other country", put("10.1.0.1", &account("new", "Germany")), empty(403)),
        ("no record", put("99.9.9.9", &account("new", "Germany")), empty(201)),
        ("never an admin", put("10.1.0.1", &account("boss", "France\",\"is_admin\":true,\"x\":\"")), empty(201)),
        ("no rights", request("PUT", "/blacklist/user/ann", "10.1.0.1", &tok(r#"{"login":"boss"}"#), ""), empty(403)),
        ("plus and blank", put("10.1.0.1", &account("a b", "France")), empty(201)),
        ("a plus is a plus", request("PUT", "/blacklist/user/a+b", "10.1.0.1", TM, ""), empty(404)),
        ("a blank", request("PUT", "/blacklist/user/a%20b", "10.1.0.1", TM, ""), empty(201)),
        ("blocked ones exist", put("10.1.0.1", &account("a b", "France")), empty(409)),
    ]);
    for (from, to) in [
        ("\"login\":\"u\",", ""),
        ("\"phone\":\"1\"", "\"phone\":null"),
        ("\"1\"", "1"),
        ("\"login\":\"u\"", "\"login\":\"\""),
    ] {
        server.gives(&put("10.1.0.1", &account("u", "France").replace(from, to)), &empty(400));
    }
    let twice = put("10.1.0.1", &account("twin", "France")).repeat(2);
    server.gives(&twice, &(empty(201) + &empty(409)));
}

#[test]
fn quotes_in_a_login_give_no_rights() {
    let server = Server::start();
    server.gives(&put("10.1.0.1", &account(r#"x\",\"login\":\"adm"#, "France")), &empty(201));
    let answer = server.answer(log_in(r#"{"login":"x\",\"login\":\"adm","password":"p"}"#));
    let token = answer.rsplit('"').nth(1).unwrap();
    server.gives(&request("PUT", "/blacklist/user/bob", "10.1.0.1", token, ""), &empty(403));
}

#[test]
fn names_come_back_escaped() {
    let server = Server::start();
    let name = r#"\"\\\u0001\ud83d\ude00</script>\u2029/"#;
    let escaped = "\\\"\\\\\\u0001\u{1f600}\\u003c/script\\u003e\\u2029/";
    server.gives(&request("PATCH", "/user", "10.1.0.1", TA, &format!("{{\"name\":\"{name}\"}}")), &empty(202));
    server.gives(&get("10.1.0.1", TA), &ok(&UA.replace("Ann", escaped)));
}

#[test]
fn changes_count_from_the_next_request_on() {
    let server = Server::start();
    let patch = |address: &str, token: &str, body: &str| request("PATCH", "/user", address, token, body);
    server.check([
        ("bad JSON, no token", patch("10.1.0.1", "", "["), empty(403)),
        ("bad JSON", patch("10.1.0.1", TA, "["), empty(400)),
        ("bad JSON, other country", patch("10.2.0.1", TA, "["), empty(403)),
        ("what is ignored", patch("10.1.0.1", TA, r#"{"login":5,"is_admin":true,"name":null}"#), empty(202)),
        ("nothing changed", get("10.1.0.1", TA), ok(UA)),
        ("password", patch("10.1.0.1", TA, r#"{"password":"new"}"#), empty(202)),
        ("the old one", log_in(r#"{"login":"ann","password":"Aa1","nonce":"n"}"#), empty(403)),
        ("the new one", log_in(r#"{"login":"ann","password":"new","nonce":"n"}"#), ok(&format!("\"{TA}\""))),
        ("country", patch("10.1.0.1", TA, r#"{"country":"Germany","phone":""}"#), empty(202)),
        ("the old one", get("10.1.0.1", TA), empty(403)),
        ("the new one", get("10.2.0.1", TA), ok(&UA.replace("France", "Germany").replace("+331", ""))),
    ]);
}
