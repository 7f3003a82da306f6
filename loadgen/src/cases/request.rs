//! Writing the requests of cases: the contract's usual one, and what each case changes about it.

use crate::model::token::{self, issued};

/// A request in pieces.
#[derive(Debug, Clone)]
pub struct Request {
    line: Vec<u8>,
    host: bool,
    from: Vec<String>,
    keys: Vec<String>,
    more: Vec<Vec<u8>>,
    body: Option<Vec<u8>>,
    behind: Vec<u8>,
}

/// Nonce `n`, login `ann`.
pub fn ta() -> String {
    issued("ann", "n")
}
/// Nonce `n`, login `bob`.
pub fn tb() -> String {
    issued("bob", "n")
}
/// Nonce `n`, login `adm`: an admin.
pub fn tm() -> String {
    issued("adm", "n")
}
/// Nonce `n`, login `ad2`: an admin.
pub fn t2() -> String {
    issued("ad2", "n")
}
/// A token with this payload, rightly signed.
pub fn tok(payload: impl AsRef<[u8]>) -> String {
    token::signed(token::HEADER, payload)
}

/// The body of ann.
pub const UA: &str = r#"{"login":"ann","name":"Ann","phone":"+331","country":"France"}"#;
/// The body of bob.
pub const UB: &str = r#"{"login":"bob","name":"Bob","phone":"+492","country":"Germany"}"#;
/// The body of adm.
pub const UM: &str = r#"{"login":"adm","name":"Adm","phone":"+333","country":"France","is_admin":true}"#;
/// The body of Jörg/1 %.
pub const UJ: &str = r#"{"login":"Jörg/1 %","name":"a\u003cb\u003e\u0026\"\\","phone":"+5","country":"Bonaire, Sint Eustatius, and Saba"}"#;
/// ann's login and password.
pub const ANN: &str = r#""login":"ann","password":"Aa1""#;

/// GET /user by ann from 10.1.0.1.
pub fn get() -> Request {
    call("GET", "/user").key(ta())
}

/// A call from 10.1.0.1 without a token.
pub fn call(method: &str, target: &str) -> Request {
    Request {
        line: format!("{method} {target} HTTP/1.1").into_bytes(),
        host: true,
        from: vec!["10.1.0.1".into()],
        keys: vec![],
        more: vec![],
        body: None,
        behind: Vec::new(),
    }
}

/// POST /auth from 10.1.0.1.
pub fn auth(body: impl AsRef<[u8]>) -> Request {
    call("POST", "/auth").body(body)
}

/// PUT /user from 10.1.0.1.
pub fn put_user(body: impl AsRef<[u8]>) -> Request {
    call("PUT", "/user").body(body)
}

/// A new user of that country, as a body.
pub fn newcomer(login: &str, country: &str) -> String {
    let quote = crate::model::json::quote;
    format!(r#"{{"login":{},"password":"pw","name":"New","phone":"+7","country":{}}}"#, quote(login), quote(country))
}

/// PATCH /user by ann.
pub fn patch(body: impl AsRef<[u8]>) -> Request {
    call("PATCH", "/user").key(ta()).body(body)
}

/// A blacklist call by adm.
pub fn by_admin(method: &str, path: &str) -> Request {
    call(method, &format!("/blacklist/{path}")).key(tm())
}

impl Request {
    /// Another request line, as it stands.
    pub fn line(mut self, line: impl AsRef<[u8]>) -> Request {
        self.line = line.as_ref().to_vec();
        self
    }
    /// Without Host.
    pub fn no_host(mut self) -> Request {
        self.host = false;
        self
    }
    /// From another address.
    pub fn from(mut self, address: &str) -> Request {
        self.from = vec![address.into()];
        self
    }
    /// Without an address.
    pub fn nowhere(mut self) -> Request {
        self.from.clear();
        self
    }
    /// With another token.
    pub fn key(mut self, key: impl Into<String>) -> Request {
        self.keys = vec![key.into()];
        self
    }
    /// Without a token.
    pub fn no_key(mut self) -> Request {
        self.keys.clear();
        self
    }
    /// One more field line, without its CRLF.
    pub fn field(mut self, line: impl AsRef<[u8]>) -> Request {
        self.more.push(line.as_ref().to_vec());
        self
    }
    /// With a body and its Content-Length.
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Request {
        self.body = Some(body.as_ref().to_vec());
        self
    }
    /// With these bytes behind the head as they stand.
    pub fn behind(mut self, bytes: impl AsRef<[u8]>) -> Request {
        self.behind.extend_from_slice(bytes.as_ref());
        self
    }
    /// With a chunked body, as it stands on the wire.
    pub fn chunks(self, bytes: impl AsRef<[u8]>) -> Request {
        self.field("Transfer-Encoding: chunked").behind(bytes)
    }
    /// The head alone, for a body that is sent apart.
    pub fn head(&self) -> Vec<u8> {
        let mut out = [&self.line[..], b"\r\n"].concat();
        if self.host {
            out.extend_from_slice(b"Host: x\r\n");
        }
        for address in &self.from {
            out.extend_from_slice(format!("X-Forwarded-For: {address}\r\n").as_bytes());
        }
        for key in &self.keys {
            out.extend_from_slice(format!("X-API-Key: {key}\r\n").as_bytes());
        }
        for line in &self.more {
            out.extend_from_slice(line);
            out.extend_from_slice(b"\r\n");
        }
        if let Some(body) = &self.body {
            out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out
    }
    /// All bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.head();
        out.extend_from_slice(self.body.as_deref().unwrap_or_default());
        out.extend_from_slice(&self.behind);
        out
    }
}

/// A body as one chunk and the end.
pub fn chunk(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
}

impl From<Request> for Vec<u8> {
    fn from(request: Request) -> Vec<u8> {
        request.bytes()
    }
}
