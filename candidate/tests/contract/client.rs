//! What tests say and expect: requests in bytes, the responses of the contract, tokens.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use candidate::token::{base64, mac::Signer};

use crate::server::Server;

pub const H: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
pub const TA: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoibiJ9.TGNq0bBIStrx31O1q9rV_AvM-HtQNzk4MBXmqzTtXr4";
pub const TB: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJsb2dpbiI6ImJvYiIsIm5vbmNlIjoibiJ9.2-5a19DLTfOAnC3JDcno3otrq2bHl_anb_2iHdUtUBA";
pub const TM: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJsb2dpbiI6ImFkbSIsIm5vbmNlIjoibiJ9.svtIcF1gouA9rjrl6XEJoFxCkLt3Jo_m99uxKOoweOg";
pub const T2: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJsb2dpbiI6ImFkMiIsIm5vbmNlIjoibiJ9.D6eR7zPdiqHhxUjNMMs2fFwF4i0MUaASg0_6HdFy1vY";
pub const TJ: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJsb2dpbiI6IkrDtnJnLzEgJSIsIm5vbmNlIjoibiJ9.kecqB_AWqlk9MbF5pwbhNVnNRgHq8RqqupJD__6rrUg";
pub const UA: &str = r#"{"login":"ann","name":"Ann","phone":"+331","country":"France"}"#;
pub const UB: &str = r#"{"login":"bob","name":"Bob","phone":"+492","country":"Germany"}"#;
pub const UM: &str = r#"{"login":"adm","name":"Adm","phone":"+333","country":"France","is_admin":true}"#;
pub const UJ: &str = r#"{"login":"Jörg/1 %","name":"a\u003cb\u003e\u0026\"\\","phone":"+5","country":"Bonaire, Sint Eustatius, and Saba"}"#;

pub const USER_METHODS: &str = "GET, HEAD, PATCH, PUT";

/// `200` with a JSON body.
pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A response without a body.
pub fn empty(code: u16) -> String {
    let reason = match code {
        201 => "Created",
        202 => "Accepted",
        204 => return "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        505 => "HTTP Version Not Supported",
        _ => panic!("{code} is no status of the contract"),
    };
    format!("HTTP/1.1 {code} {reason}\r\nContent-Length: 0\r\n\r\n")
}

/// The same response, after which the connection closes.
pub fn closing(response: &str) -> String {
    with_connection(response, "close")
}

/// The same response with a `Connection` field.
pub fn with_connection(response: &str, value: &str) -> String {
    response.replacen("\r\n\r\n", &format!("\r\nConnection: {value}\r\n\r\n"), 1)
}

/// `405` with the methods there are.
pub fn not_allowed(methods: &str) -> String {
    format!("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: {methods}\r\n\r\n")
}

/// A request with the usual fields.
pub fn request(method: &str, target: &str, address: &str, token: &str, body: &str) -> String {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {address}\r\n");
    if !token.is_empty() {
        head += &format!("X-API-Key: {token}\r\n");
    }
    if !body.is_empty() {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    head + "\r\n" + body
}

/// `GET /user` from an address.
pub fn get(address: &str, token: &str) -> String {
    request("GET", "/user", address, token, "")
}

/// `POST /auth` from 10.1.0.1.
pub fn log_in(body: &str) -> String {
    request("POST", "/auth", "10.1.0.1", "", body)
}

/// A token over any header and payload, rightly signed.
pub fn token(header: &str, payload: &[u8]) -> String {
    let mut text = Vec::new();
    base64::encode(header.as_bytes(), &mut text);
    text.push(b'.');
    base64::encode(payload, &mut text);
    sign(&String::from_utf8(text).unwrap())
}

/// `text` with its MAC.
pub fn sign(text: &str) -> String {
    let mut out = format!("{text}.").into_bytes();
    base64::encode(&Signer::new().sign(text.as_bytes()), &mut out);
    String::from_utf8(out).unwrap()
}

/// A token with the usual header.
pub fn tok(payload: &str) -> String {
    token(r#"{"alg":"HS256","typ":"JWT"}"#, payload.as_bytes())
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Everything that comes until the server closes; panics on a reset.
pub fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("a FIN after all bytes");
    String::from_utf8(all).unwrap()
}

/// Exactly as many bytes as `expected` has, which must be those.
pub fn expect(stream: &mut TcpStream, expected: &str) {
    let mut got = vec![0; expected.len()];
    let mut count = 0;
    while count < got.len() {
        match stream.read(&mut got[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            // The kernel clears away a ring that was opened by this thread.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&got[..count])),
        }
    }
    assert_eq!(String::from_utf8_lossy(&got[..count]), expected);
}

impl Server {
    /// All the server answers to `bytes` on one connection that ends after them.
    pub fn answer(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = connect(self.address);
        stream.write_all(bytes.as_ref()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        rest(&mut stream)
    }

    /// All the server answers to `bytes` although the client keeps its side open: the server has to close.
    pub fn last_answer(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = connect(self.address);
        stream.write_all(bytes.as_ref()).unwrap();
        rest(&mut stream)
    }

    /// Asserts that each request, sent alone, gets its response.
    pub fn check<'a>(&self, cases: impl IntoIterator<Item = (&'a str, String, String)>) {
        for (name, request, expected) in cases {
            assert_eq!(self.answer(&request), expected, "{name}: {request}");
        }
    }

    /// Asserts that a request gets a response.
    pub fn gives(&self, request: &str, expected: &str) {
        assert_eq!(self.answer(request), expected, "{request}");
    }
}
