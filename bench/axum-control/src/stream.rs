//! What stands between the socket and hyper.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use memchr::memmem::Finder;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;

/// What the minor version stands behind.
const START: &[u8] = b" HTTP/1.";
/// How long, and for how many bytes, what still comes behind the end is read.
const LINGER: (Duration, u64) = (Duration::from_secs(5), 1 << 20);

/// A connection on which HTTP/1.2 to 1.9 read as HTTP/1.1, which the contract takes them for: hyper knows 1.0 and 1.1 only,
/// and has no setting for it. Where requests begin only hyper knows, so any line that ends like a request line is changed.
/// It matters in one place: a JSON string cut by the end of a chunk, or of a read, right behind ` HTTP/1.2`.
pub struct Stream {
    tcp: TcpStream,
    finder: Finder<'static>,
    /// Bytes of `START` at the end of the last read.
    begun: usize,
}

impl Stream {
    pub fn new(tcp: TcpStream, finder: Finder<'static>) -> Stream {
        Stream { tcp, finder, begun: 0 }
    }

    pub fn finder() -> Finder<'static> {
        Finder::new(START)
    }

    /// Closes for writing, and reads on for a while, so that the other end sees everything and no reset.
    pub async fn end(mut self) -> io::Result<()> {
        self.tcp.shutdown().await?;
        let (time, bytes) = LINGER;
        let rest = &mut self.tcp.take(bytes);
        tokio::time::timeout(time, tokio::io::copy(rest, &mut tokio::io::sink())).await??;
        Ok(())
    }
}

/// Changes the versions in what was just read, and tells how many bytes of `START` end it.
fn mend(bytes: &mut [u8], begun: usize, finder: &Finder) -> usize {
    let rest = &START[begun..];
    if begun > 0 && bytes.starts_with(rest) {
        lower(&mut bytes[rest.len()..]);
    }
    let mut from = 0;
    while let Some(at) = finder.find(&bytes[from..]) {
        from += at + START.len();
        lower(&mut bytes[from..]);
    }
    if begun > 0 && rest.len() >= bytes.len() && rest.starts_with(bytes) {
        return begun + bytes.len();
    }
    let last = &bytes[bytes.len().saturating_sub(START.len())..];
    let space = last.iter().rposition(|byte| *byte == START[0]);
    space.map(|at| &last[at..]).filter(|end| START.starts_with(end)).map_or(0, <[u8]>::len)
}

/// Makes a later minor version that ends a line the first.
fn lower(version: &mut [u8]) {
    if let [minor @ b'2'..=b'9', end @ ..] = version
        && (end.starts_with(b"\r\n") || b"\r\n".starts_with(end))
    {
        *minor = b'1';
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, buffer: &mut ReadBuf) -> Poll<io::Result<()>> {
        let from = buffer.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(cx, buffer);
        let new = &mut buffer.filled_mut()[from..];
        if !new.is_empty() {
            self.begun = mend(new, self.begun, &self.finder);
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context, bytes: &[IoSlice]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(reads: &[&[u8]]) -> String {
        let finder = Stream::finder();
        let mut begun = 0;
        let mut out = Vec::new();
        for read in reads {
            let mut bytes = read.to_vec();
            begun = mend(&mut bytes, begun, &finder);
            out.extend(bytes);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn later_minor_versions_are_lowered_however_the_bytes_come() {
        let text = b"GET /a HTTP/1.2\r\nHost: x\r\n\r\nGET / HTTP HTTP/1.9\r\n\r\n";
        let want = "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP HTTP/1.1\r\n\r\n";
        for cut in 0..text.len() {
            assert_eq!(mended(&[&text[..cut], &text[cut..]]), want, "cut at {cut}");
        }
        assert_eq!(mended(&text.chunks(1).collect::<Vec<_>>()), want);
    }

    #[test]
    fn nothing_else_is_changed() {
        let text = b"GET /HTTP/1.2 HTTP/1.0\r\nA: HTTP/1.20\r\nB: HTTP/2.3\r\n\r\n{\"nonce\":\" HTTP/1.2\"}";
        assert_eq!(mended(&[text]).as_bytes(), text);
    }
}
