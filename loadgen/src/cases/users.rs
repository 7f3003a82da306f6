//! Cases 91 to 101: users made and changed.

use super::request::{ANN, UA, auth, call, get, newcomer, patch, put_user, tb};
use super::table::{Case, fresh, one, row};
use crate::model::answer::{ok, status};
use crate::model::json::quote;
use crate::model::token::issued;

/// The group.
pub fn cases() -> Vec<Case> {
    let (no, bad) = (|| status(403), || status(400));
    let mut cases = vec![
        one(91, "a taken login", put_user(newcomer("ann", "France")), status(409)),
        one(91, "a taken login from another country", put_user(newcomer("ann", "Germany")), no()),
        one(91, "a new user from another country", put_user(newcomer("x", "Germany")), no()),
        row(
            91,
            "a new user from nowhere",
            vec![
                (put_user(newcomer("x", "Germany")).from("99.9.9.9"), status(201)),
                (get().key(issued("x", "n")), no()),
                (
                    get().key(issued("x", "n")).from("10.2.0.1"),
                    ok(r#"{"login":"x","name":"New","phone":"+7","country":"Germany"}"#),
                ),
                (
                    auth(r#"{"login":"x","password":"pw","nonce":"1"}"#).from("10.2.0.1"),
                    ok(&format!("\"{}\"", issued("x", "1"))),
                ),
            ],
        ),
        one(92, "an empty login", put_user(newcomer("", "France")), bad()),
        one(92, "an empty object", put_user("{}"), bad()),
        one(92, "no JSON", put_user("x"), bad()),
        row(
            92,
            "empty texts but the login",
            vec![
                (
                    put_user(r#"{"login":"e","password":"","name":"","phone":"","country":""}"#).from("99.9.9.9"),
                    status(201),
                ),
                (get().key(issued("e", "")).from("99.9.9.9"), ok(r#"{"login":"e","name":"","phone":"","country":""}"#)),
                (get().key(issued("e", "")).from("10.4.0.1"), ok(r#"{"login":"e","name":"","phone":"","country":""}"#)),
                (auth(r#"{"login":"e"}"#).from("99.9.9.9"), ok(&format!("\"{}\"", issued("e", "")))),
            ],
        ),
        row(
            92,
            "nobody makes himself an admin",
            vec![
                (
                    put_user(
                        r#"{"login":"e","password":"p","name":"n","phone":"1","country":"France","is_admin":true}"#,
                    ),
                    status(201),
                ),
                (get().key(issued("e", "")), ok(r#"{"login":"e","name":"n","phone":"1","country":"France"}"#)),
                (call("PUT", "/blacklist/user/bob").key(issued("e", "")), no()),
            ],
        ),
        row(
            94,
            "a login that tries to be a claim",
            vec![
                (put_user(newcomer("x\",\"login\":\"adm", "France")), status(201)),
                (
                    auth(r#"{"login":"x\",\"login\":\"adm","password":"pw","nonce":"n"}"#),
                    ok(&format!("\"{}\"", issued("x\",\"login\":\"adm", "n"))),
                ),
                (call("PUT", "/blacklist/user/bob").key(issued("x\",\"login\":\"adm", "n")), no()),
            ],
        ),
        row(
            95,
            "a name that needs every escape",
            vec![
                (patch(r#"{"name":"\"\\\u0001😀</script>\u2029\u0000ö"}"#), status(202)),
                (
                    get(),
                    ok(&format!(
                        r#"{{"login":"ann","name":{},"phone":"+331","country":"France"}}"#,
                        quote("\"\\\u{1}😀</script>\u{2029}\0ö")
                    )),
                ),
            ],
        ),
        row(
            97,
            "a user who moves",
            vec![
                (patch(r#"{"country":"Germany"}"#), status(202)),
                (get(), no()),
                (auth(format!("{{{ANN}}}")), no()),
                (patch("{}"), no()),
                (get().from("10.2.0.1"), ok(&UA.replace("France", "Germany"))),
            ],
        ),
        one(98, "bad JSON without a token", patch("x").no_key(), no()),
        one(98, "bad JSON with a token", patch("x"), bad()),
        one(98, "bad JSON with a token, from another country", patch("x").from("10.2.0.1"), no()),
        one(98, "a wrong type", patch(r#"{"name":5}"#), bad()),
        one(98, "a wrong type behind a right one", patch(r#"{"name":"x","name":[]}"#), bad()),
        row(
            98,
            "a refused change changes nothing",
            vec![(patch(r#"{"name":"Other","phone":5}"#), bad()), (get(), ok(UA))],
        ),
        row(
            98,
            "members that are ignored",
            vec![
                (patch(r#"{"login":5,"is_admin":"x","name":"Anna","phone":null}"#), status(202)),
                (patch(r#"{"login":"bob","is_admin":true}"#), status(202)),
                (get(), ok(&UA.replace("\"Ann\"", "\"Anna\""))),
                (call("PUT", "/blacklist/user/bob").key(issued("ann", "n")), no()),
            ],
        ),
        row(
            98,
            "empty texts count",
            vec![
                (patch(r#"{"name":"","phone":"","password":""}"#), status(202)),
                (get(), ok(r#"{"login":"ann","name":"","phone":"","country":"France"}"#)),
                (auth(r#"{"login":"ann","nonce":""}"#), ok(&format!("\"{}\"", issued("ann", "")))),
                (auth(format!("{{{ANN}}}")), no()),
            ],
        ),
        row(
            100,
            "a new password",
            vec![
                (patch(r#"{"password":"Aa2"}"#), status(202)),
                (auth(format!("{{{ANN}}}")), no()),
                (auth(r#"{"login":"ann","password":"Aa2","nonce":"n"}"#), ok(&format!("\"{}\"", issued("ann", "n")))),
            ],
        ),
        fresh(101, "the same new login twice in one pipeline", |stage| {
            let mut line = stage.open()?;
            line.send([put_user(newcomer("x", "France")).bytes(), put_user(newcomer("x", "France")).bytes()].concat())?;
            line.expect([status(201), status(409)].concat())?;
            line.in_step()
        }),
        fresh(101, "a change is seen by the next request of the pipeline and by other connections at once", |stage| {
            let mut line = stage.open()?;
            let mut other = stage.open()?;
            other.send(get().bytes())?;
            other.expect(ok(UA))?;
            for turn in 0..50 {
                let right = ok(&UA.replace("+331", &format!("+{turn}")));
                line.send([patch(format!(r#"{{"phone":"+{turn}"}}"#)).bytes(), get().bytes()].concat())?;
                line.expect([status(202), right.clone()].concat())?;
                other.send(get().bytes())?;
                other.expect(right)?;
            }
            other.in_step()
        }),
        one(202, "a wrong password", auth(r#"{"login":"ann","password":"aa1"}"#), no()),
        one(202, "a password with a zero behind", auth(r#"{"login":"ann","password":"Aa1\u0000"}"#), no()),
        one(202, "a shorter password", auth(r#"{"login":"ann","password":"Aa"}"#), no()),
        one(202, "no password", auth(r#"{"login":"ann"}"#), no()),
        one(202, "from another country", auth(format!("{{{ANN}}}")).from("10.2.0.1"), no()),
        one(202, "bad JSON from another country", auth("x").from("10.2.0.1"), bad()),
        one(
            202,
            "a right password with a foreign token",
            auth(format!("{{{ANN}}}")).key(tb()),
            ok(&format!("\"{}\"", issued("ann", ""))),
        ),
    ];
    for member in ["login", "password", "name", "phone", "country"] {
        let all = [("login", "e"), ("password", "p"), ("name", "n"), ("phone", "1"), ("country", "France")];
        let body = |text: Option<&str>| {
            let members: Vec<String> = (all.iter())
                .filter_map(|(key, value)| match (*key == member, text) {
                    (false, _) => Some(format!("\"{key}\":\"{value}\"")),
                    (true, Some(text)) => Some(format!("\"{key}\":{text}")),
                    (true, None) => None,
                })
                .collect();
            format!("{{{}}}", members.join(","))
        };
        for (name, text) in [("missing", None), ("null", Some("null")), ("a number", Some("5"))] {
            cases.push(one(92, format!("{member} is {name}"), put_user(body(text)), bad()));
        }
    }
    cases
}
