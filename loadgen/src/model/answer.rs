//! The exact bytes of every answer (contract section 2). Who gets which is decided elsewhere.

/// What follows the status: nothing, or a `Connection` field as last field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The connection stays, and nothing says so.
    None,
    /// `name+c`: the connection closes.
    Close,
    /// `name+k`: HTTP/1.0 that stays.
    Keep,
}

impl Tail {
    fn field(self) -> &'static str {
        match self {
            Tail::None => "",
            Tail::Close => "Connection: close\r\n",
            Tail::Keep => "Connection: keep-alive\r\n",
        }
    }
}

/// The value of `Allow` on each path.
pub mod allow {
    /// `/auth`
    pub const AUTH: &str = "POST";
    /// `/user`
    pub const USER: &str = "GET, HEAD, PATCH, PUT";
    /// Both black lists.
    pub const BLACKLIST: &str = "DELETE, PUT";
}

/// `200(b)`, with `tail`.
pub fn ok_with(body: &str, tail: Tail) -> Vec<u8> {
    let mut bytes = head_of(body, tail);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// `200(b)`.
pub fn ok(body: &str) -> Vec<u8> {
    ok_with(body, Tail::None)
}

/// The head of `200(b)` alone, as HEAD gets it.
pub fn head_of(body: &str, tail: Tail) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n",
        body.len(),
        tail.field()
    )
    .into_bytes()
}

/// `405(A)`.
pub fn method(allow: &str, tail: Tail) -> Vec<u8> {
    format!("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: {allow}\r\n{}\r\n", tail.field())
        .into_bytes()
}

/// An answer without a body: 201, 202, 204, 400, 403, 404, 408, 409, 413, 417, 431, 501, 505.
pub fn status_with(code: u16, tail: Tail) -> Vec<u8> {
    let (reason, length) = match code {
        201 => ("Created", "Content-Length: 0\r\n"),
        202 => ("Accepted", "Content-Length: 0\r\n"),
        204 => ("No Content", ""),
        400 => ("Bad Request", "Content-Length: 0\r\n"),
        403 => ("Forbidden", "Content-Length: 0\r\n"),
        404 => ("Not Found", "Content-Length: 0\r\n"),
        408 => ("Request Timeout", "Content-Length: 0\r\n"),
        409 => ("Conflict", "Content-Length: 0\r\n"),
        413 => ("Content Too Large", "Content-Length: 0\r\n"),
        417 => ("Expectation Failed", "Content-Length: 0\r\n"),
        431 => ("Request Header Fields Too Large", "Content-Length: 0\r\n"),
        501 => ("Not Implemented", "Content-Length: 0\r\n"),
        505 => ("HTTP Version Not Supported", "Content-Length: 0\r\n"),
        other => unreachable!("the contract has no bodiless answer {other}"),
    };
    format!("HTTP/1.1 {code} {reason}\r\n{length}{}\r\n", tail.field()).into_bytes()
}

/// A bodiless answer on a connection that stays.
pub fn status(code: u16) -> Vec<u8> {
    status_with(code, Tail::None)
}

/// `100 Continue`.
pub fn go_on() -> Vec<u8> {
    b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()
}

/// Whether a connection ends after these answers.
pub fn closes(answers: &[u8]) -> bool {
    let field: &[u8] = b"\r\nConnection: close\r\n";
    answers.windows(field.len()).any(|bytes| bytes == field)
}
