//! Cases 1 to 32: which tokens are taken.

use crate::client::*;
use crate::server::Server;

#[test]
fn tokens_that_are_no_token_of_ours_are_refused() {
    let server = Server::start();
    let (text, mac) = TA.rsplit_once('.').unwrap();
    let mut refused = vec![
        String::new(),
        format!("Bearer {TA}"),
        "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoibiJ9.".to_owned(),
        format!("{TA}."),
        format!("{TA}.x"),
        format!(".{TA}"),
        text.to_owned(),
        "..".to_owned(),
        mac.to_owned(),
        format!("{text}.{}", mac.replace('_', "/").replace('-', "+")),
        format!("{text}.{}", &mac[1..]),
        format!("{TA}A"),
        format!("{text}. {mac}"),
        sign(&format!("{text}=")),
        tok(r#"{"login":"zed"}"#),
        tok(r#"{"login":"ann","login":"bob"}"#),
        tok(r#"{"LOGIN":"ann"}"#),
        tok(r#"{"x":{"login":"ann"}}"#),
        tok(r#"{"login":"ann"}x"#),
        tok("[]"),
        tok(""),
        tok(r#"{"login":"ANN"}"#),
        tok(r#"{"login":"ann "}"#),
        tok(r#"{"login":"ann\u0000"}"#),
        token(r#"{"alg":"HS256"}"#, b"{\"login\":\"ann\",\"x\":\"\xff\"}"),
        tok(r#"{"login":"ann","exp":1}"#),
    ];
    refused.extend(["5", "6", "7"].map(|last| format!("{}{last}", &TA[..TA.len() - 1])));
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"HS384"}"#,
        r#"{"alg":"HS256","crit":["exp"]}"#,
        r#"{"alg":"HS256","alg":"none"}"#,
    ] {
        refused.push(token(header, br#"{"login":"ann"}"#));
    }
    for token in refused {
        server.gives(&get("10.1.0.1", &token), &empty(403));
    }
    let twice = get("10.1.0.1", TA).replace("\r\n\r\n", &format!("\r\nX-API-Key: {TA}\r\n\r\n"));
    server.gives(&twice, &empty(403));
    server.gives(
        &get("10.1.0.1", "").replace("\r\n\r\n", &format!("\r\nAuthorization: Bearer {TA}\r\n\r\n")),
        &empty(403),
    );
}

#[test]
fn every_token_under_the_key_is_as_good_as_ours() {
    let server = Server::start();
    let payload = br#"{"login":"ann"}"#;
    let taken = [
        TA.to_owned(),
        format!(" \t{TA}\t "),
        token(r#"{"typ":"at+jwt","alg":"HS256"}"#, payload),
        token(r#"{ "alg" : "HS256" }"#, payload),
        token(r#"{"alg":"none","alg":"HS256","typ":5}"#, payload),
        tok(r#"{"login":"bob","login":"ann"}"#),
        tok(r#"{"x":{"login":"bob"},"login":"ann"}"#),
        tok(r#"{"login":"ann","nonce":"???~~~ÿþ"}"#),
        tok(r#"{"login":"ann","exp":1e999,"iat":"x"}"#),
    ];
    for token in taken {
        server.gives(&get("10.1.0.1", &token), &ok(UA));
    }
    server.check([
        ("another country", get("10.1.0.1", TB), empty(403)),
        ("the right country", get("10.2.0.1", TB), ok(UB)),
        ("an admin", get("10.1.0.1", TM), ok(UM)),
        ("a comma in the CSV", get("10.3.0.1", TJ), ok(UJ)),
    ]);
}

#[test]
fn a_token_works_from_when_its_user_exists_and_outlives_the_password() {
    let server = Server::start();
    let new = tok(r#"{"login":"new"}"#);
    let body = r#"{"login":"new","password":"p","name":"N","phone":"1","country":"France"}"#;
    server.check([
        ("before", get("10.1.0.1", &new), empty(403)),
        ("created", request("PUT", "/user", "10.1.0.1", "", body), empty(201)),
        ("after", get("10.1.0.1", &new), ok(r#"{"login":"new","name":"N","phone":"1","country":"France"}"#)),
        ("new password", request("PATCH", "/user", "10.1.0.1", TA, r#"{"password":"q"}"#), empty(202)),
        ("old token", get("10.1.0.1", TA), ok(UA)),
    ]);
}
