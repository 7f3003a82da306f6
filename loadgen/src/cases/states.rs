//! Neighbours of cases 31, 32, 49 to 68 and 91 to 101: what changes, for whom, in which order it is checked.

use super::request::{ANN, Request, UA, UB, UM, auth, by_admin, call, get, newcomer, patch, put_user, t2, ta, tb, tm};
use super::table::{Case, each, round, row};
use crate::model::answer::{ok, status};
use crate::model::token::issued;

/// The group.
pub fn cases() -> Vec<Case> {
    let (no, bad) = (|| status(403), || status(400));
    let user = |verb: &str, login: &str| by_admin(verb, &format!("user/{login}"));
    let subnet = |verb: &str, subnet: &str| by_admin(verb, &format!("subnet/{subnet}"));
    let by = |login: &str, request: Request| request.key(issued(login, "n"));
    let german = |request: Request| request.from("10.2.0.1");
    let change = |member: &str, value: &str| patch(format!("{{\"{member}\":\"{value}\"}}"));
    let login = |body: &str| auth(body);
    let token = |login: &str| ok(&format!("\"{}\"", issued(login, "")));
    let person = |login: &str, name: &str, phone: &str, country: &str| {
        ok(&format!("{{\"login\":\"{login}\",\"name\":\"{name}\",\"phone\":\"{phone}\",\"country\":\"{country}\"}}"))
    };
    let ann = |name: &str, phone: &str| person("ann", name, phone, "France");
    let bonaire = "Bonaire, Sint Eustatius, and Saba";
    vec![
        each(
            202,
            "logins of every user of the data",
            [
                (login(r#"{"login":"bob","password":"AaAa"}"#).from("10.2.0.1"), token("bob")),
                (login(r#"{"login":"bob","password":"AaAa"}"#), no()),
                (login(r#"{"login":"adm","password":"s3"}"#), token("adm")),
                (login(r#"{"login":"ad2","password":"s4"}"#).from("99.1.1.1"), token("ad2")),
                (login(r#"{"login":"ad2","password":"s4"}"#), no()),
                (login(r#"{"login":"Jörg/1 %","password":"p5"}"#).from("10.3.9.9"), token("Jörg/1 %")),
                (login(r#"{"login":"J\u00f6rg\/1 %","password":"p5"}"#).from("10.3.9.9"), token("Jörg/1 %")),
                (login(r#"{"login":"Jo\u0308rg/1 %","password":"p5"}"#).from("10.3.9.9"), no()),
                (login(r#"{"login":"no1","password":"p6"}"#).from("10.5.1.1"), token("no1")),
                (login(r#"{"login":"no1","password":"p6"}"#).from("10.4.1.1"), no()),
            ],
        ),
        each(
            202,
            "passwords that are nearly right",
            [
                "aa1",
                "AA1",
                "Aa",
                "Aa11",
                " Aa1",
                "Aa1 ",
                "",
                "Aa1\\u0000",
                "\\u0000",
                "1aA",
                "Aa\\u0661",
                "Ąa1",
                "AaAa",
                "Aa1Aa1",
            ]
            .map(|password| (auth(format!("{{\"login\":\"ann\",\"password\":\"{password}\"}}")), no())),
        ),
        each(
            202,
            "logins that are nearly right",
            ["Ann", "ann ", " ann", "ann\\u0000", "an", "annn", "", "\\u0000", "ａnn"]
                .map(|name| (auth(format!("{{\"login\":\"{name}\",\"password\":\"Aa1\"}}")), no())),
        ),
        each(
            202,
            "a key has no meaning for /auth and PUT",
            ["x", "", &tb(), &format!("{}x", ta())].into_iter().flat_map(|key| {
                [
                    (auth(format!("{{{ANN}}}")).key(key), token("ann")),
                    (put_user(newcomer("ann", "France")).key(key), status(409)),
                    (put_user("x").key(key), bad()),
                ]
            }),
        ),
        each(
            202,
            "/auth checks in its order",
            [
                (auth("x").from("10.2.0.1"), bad()),
                (auth("x").nowhere(), no()),
                (auth(r#"{"login":5}"#).from("10.2.0.1"), bad()),
                (auth(r#"{"login":"zed","nonce":5}"#), bad()),
                (auth(r#"{"login":"ann","password":"x","nonce":[]}"#), bad()),
            ],
        ),
        each(
            92,
            "PUT checks in its order",
            [
                (put_user(newcomer("", "Germany")), bad()),
                (put_user(newcomer("ann", "Germany")), no()),
                (put_user(newcomer("ann", "")), no()),
                (put_user(newcomer("ann", "france")), no()),
                (put_user(newcomer("ann", "France ")), no()),
                (put_user(newcomer("new", "Germany")).from("10.4.0.1"), no()),
                (put_user(newcomer("ann", "")).from("10.4.0.1"), status(409)),
                (put_user(newcomer("ann", "Germany")).from("99.9.9.9"), status(409)),
                (put_user(newcomer("ann", bonaire)).from("10.3.0.1"), status(409)),
                (put_user(r#"{"login":"new","password":"p","name":"n","phone":"1"}"#).from("10.2.0.1"), bad()),
                (put_user("x").nowhere(), no()),
                (put_user(r#"{"login":"ann","password":null,"name":"n","phone":"1","country":"Germany"}"#), bad()),
            ],
        ),
        each(
            98,
            "PATCH checks in its order",
            [
                (patch("x").no_key(), no()),
                (patch("x").key("x"), no()),
                (patch("x").key(issued("zed", "")), no()),
                (patch("x").from("10.2.0.1"), no()),
                (patch("x").nowhere(), no()),
                (patch("x"), bad()),
                (patch(""), bad()),
                (patch("{}"), status(202)),
                (patch("{\"x\":1}"), status(202)),
                (patch(r#"{"name":null,"phone":null,"password":null,"country":null}"#), status(202)),
                (get(), ok(UA)),
                (auth(format!("{{{ANN}}}")), token("ann")),
            ],
        ),
        round(
            97,
            "each member changed alone and back",
            vec![
                (change("name", "A"), status(202)),
                (get(), ann("A", "+331")),
                (change("phone", ""), status(202)),
                (get(), ann("A", "")),
                (change("name", "Ann"), status(202)),
                (get(), ann("Ann", "")),
                (change("phone", "+331"), status(202)),
                (get(), ok(UA)),
                (change("password", "x"), status(202)),
                (auth(format!("{{{ANN}}}")), no()),
                (get(), ok(UA)),
                (change("password", "Aa1"), status(202)),
                (auth(format!("{{{ANN}}}")), token("ann")),
                (change("country", "Germany"), status(202)),
                (get(), no()),
                (change("country", "France"), no()),
                (german(get()), person("ann", "Ann", "+331", "Germany")),
                (get().from("99.9.9.9"), person("ann", "Ann", "+331", "Germany")),
                (german(change("country", "")), status(202)),
                (german(get()), no()),
                (get().from("10.4.0.1"), person("ann", "Ann", "+331", "")),
                (change("country", bonaire).from("10.4.0.1"), status(202)),
                (get().from("10.3.0.1"), person("ann", "Ann", "+331", bonaire)),
                (change("country", "France").from("10.3.0.1"), status(202)),
                (get(), ok(UA)),
                (get().key(tb()).from("10.2.0.1"), ok(UB)),
            ],
        ),
        round(
            97,
            "an admin changes and stays one",
            vec![
                (patch(r#"{"name":"X","is_admin":false}"#).key(tm()), status(202)),
                (get().key(tm()), ok(&UM.replace("\"Adm\"", "\"X\""))),
                (user("PUT", "bob"), status(201)),
                (user("DELETE", "bob"), status(204)),
                (patch(r#"{"name":"Adm","is_admin":null}"#).key(tm()), status(202)),
                (get().key(tm()), ok(UM)),
            ],
        ),
        round(
            97,
            "an admin who moves administers from there",
            vec![
                (change("country", "Germany").key(tm()), status(202)),
                (user("PUT", "bob"), no()),
                (german(user("PUT", "bob")), status(201)),
                (german(user("DELETE", "bob")), status(204)),
                (german(change("country", "France").key(tm())), status(202)),
                (get().key(tm()), ok(UM)),
            ],
        ),
        round(
            58,
            "everything a blocked user may not",
            vec![
                (user("PUT", "ann"), status(201)),
                (get(), no()),
                (get().line("HEAD /user HTTP/1.1"), no()),
                (auth(format!("{{{ANN}}}")), no()),
                (auth("{\"login\":\"ann\"}"), no()),
                (auth("x"), bad()),
                (patch("{}"), no()),
                (patch("x"), no()),
                (get().key(issued("ann", "other")), no()),
                (get().from("99.9.9.9"), no()),
                (put_user(newcomer("ann", "France")), status(409)),
                (put_user(newcomer("ann", "Germany")), no()),
                (by("ann", call("PUT", "/blacklist/user/bob")), no()),
                (user("PUT", "ann"), status(409)),
                (get().key(tm()), ok(UM)),
                (user("DELETE", "ann"), status(204)),
                (user("DELETE", "ann"), status(404)),
                (get(), ok(UA)),
                (auth(format!("{{{ANN}}}")), token("ann")),
            ],
        ),
        round(
            67,
            "a blocked admin may nothing",
            vec![
                (user("PUT", "ad2"), status(201)),
                (german(get().key(t2())), no()),
                (german(by("ad2", call("DELETE", "/blacklist/user/ad2"))), no()),
                (german(by("ad2", call("PUT", "/blacklist/subnet/77.0.0.0/8"))), no()),
                (german(by("ad2", call("PUT", "/blacklist/user/zed"))), no()),
                (user("DELETE", "ad2"), status(204)),
                (german(by("ad2", call("PUT", "/blacklist/user/ann"))), status(201)),
                (get(), no()),
                (german(by("ad2", call("DELETE", "/blacklist/user/ann"))), status(204)),
                (get(), ok(UA)),
            ],
        ),
        round(
            49,
            "equal and nested networks are their own",
            vec![
                (subnet("PUT", "77.99.0.0/16"), status(201)),
                (subnet("PUT", "77.99.0.0/15"), status(201)),
                (subnet("PUT", "77.99.0.0/17"), status(201)),
                (subnet("PUT", "77.98.5.5/15"), status(409)),
                (subnet("DELETE", "77.99.0.0/18"), status(404)),
                (subnet("DELETE", "77.99.0.0/16"), status(204)),
                (get().from("77.99.255.1"), no()),
                (subnet("DELETE", "77.99.0.0/15"), status(204)),
                (get().from("77.99.255.1"), ok(UA)),
                (get().from("77.99.1.1"), no()),
                (get().from("77.98.1.1"), ok(UA)),
                (subnet("DELETE", "77.99.127.255/17"), status(204)),
                (get().from("77.99.1.1"), ok(UA)),
                (subnet("PUT", "77.99.0.0/32"), status(201)),
                (subnet("PUT", "77.99.0.1/32"), status(201)),
                (subnet("PUT", "77.99.0.0/31"), status(201)),
                (subnet("DELETE", "77.99.0.0/32"), status(204)),
                (get().from("77.99.0.0"), no()),
                (subnet("DELETE", "77.99.0.0/31"), status(204)),
                (get().from("77.99.0.0"), ok(UA)),
                (get().from("77.99.0.1"), no()),
                (subnet("DELETE", "77.99.0.1/32"), status(204)),
                (get().from("77.99.0.1"), ok(UA)),
            ],
        ),
        round(
            70,
            "a subnet that was deleted can be put again",
            (0..5)
                .flat_map(|_| {
                    [
                        (subnet("PUT", "10.2.0.0/16"), status(201)),
                        (get().key(tb()).from("10.2.0.1"), no()),
                        (subnet("DELETE", "10.2.0.0/16"), status(204)),
                        (get().key(tb()).from("10.2.0.1"), ok(UB)),
                    ]
                })
                .collect(),
        ),
        row(
            68,
            "an admin who shuts himself out",
            vec![
                (subnet("PUT", "10.1.0.0/24"), status(201)),
                (get().key(tm()), no()),
                (subnet("DELETE", "10.1.0.0/24"), no()),
                (get().key(tm()).from("10.1.1.0"), ok(UM)),
                (subnet("DELETE", "10.1.0.0/24").from("10.1.1.0"), status(204)),
                (get().key(tm()), ok(UM)),
            ],
        ),
        row(
            31,
            "a new user does all a user does",
            vec![
                (get().key(issued("x", "")), no()),
                (put_user(newcomer("x", "France")), status(201)),
                (put_user(newcomer("x", "France")), status(409)),
                (auth(r#"{"login":"x","password":"pw"}"#), token("x")),
                (patch(r#"{"name":"Y","password":"z"}"#).key(issued("x", "")), status(202)),
                (get().key(issued("x", "")), person("x", "Y", "+7", "France")),
                (auth(r#"{"login":"x","password":"pw"}"#), no()),
                (auth(r#"{"login":"x","password":"z"}"#), token("x")),
                (by("x", call("PUT", "/blacklist/user/ann")), no()),
                (user("PUT", "x"), status(201)),
                (get().key(issued("x", "")), no()),
                (put_user(newcomer("x", "France")), status(409)),
                (user("DELETE", "x"), status(204)),
                (get().key(issued("x", "")), person("x", "Y", "+7", "France")),
            ],
        ),
        row(
            62,
            "logins of every kind can be made, asked for and blocked",
            ["a b", "a+b", "a%b", "a/b", "?", "#", "..", ".", "\u{0}", "\u{7f}", "日本", "😀", "<b>", "\\\"", "A", " "]
                .into_iter()
                .flat_map(|login| {
                    let quoted = crate::model::json::quote(login);
                    let raw = login.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
                    [
                        (put_user(newcomer(login, "France")), status(201)),
                        (put_user(newcomer(login, "France")), status(409)),
                        (
                            auth(format!("{{\"login\":{quoted},\"password\":\"pw\"}}")),
                            ok(&format!("\"{}\"", issued(login, ""))),
                        ),
                        (
                            get().key(issued(login, "")),
                            ok(&format!(
                                "{{\"login\":{quoted},\"name\":\"New\",\"phone\":\"+7\",\"country\":\"France\"}}"
                            )),
                        ),
                        (user("PUT", &raw), status(201)),
                        (get().key(issued(login, "")), no()),
                        (user("DELETE", &raw.to_ascii_uppercase()), status(204)),
                    ]
                })
                .collect(),
        ),
        row(
            101,
            "long members",
            vec![
                (put_user(newcomer(&"l".repeat(3_000), "France")), status(201)),
                (get().key(issued(&"l".repeat(3_000), "")), person(&"l".repeat(3_000), "New", "+7", "France")),
                (patch(format!("{{\"name\":\"{}\"}}", "n".repeat(50_000))), status(202)),
                (get(), ann(&"n".repeat(50_000), "+331")),
                (user("PUT", &"l".repeat(3_000)), status(201)),
                (get().key(issued(&"l".repeat(3_000), "")), no()),
            ],
        ),
    ]
}
