//! Requests that ask for the end of their connection: the field on both sides, after all others. Nothing else changes.

const FIELD: &[u8] = b"Connection: close\r\n";
const END: &[u8] = b"\r\n\r\n";

/// Makes a request ask for the end of the connection, and its answer announce it.
pub fn close(request: &mut Vec<u8>, answer: &mut Vec<u8>) {
    for bytes in [request, answer] {
        let end = bytes.windows(END.len()).position(|four| four == END).expect("a head has an end");
        bytes.splice(end + 2..end + 2, FIELD.iter().copied());
    }
}

/// Whether an answer announces the end of its connection. No body has a line break, so this is found in heads only.
pub fn closes(answer: &[u8]) -> bool {
    let whole = b"\r\nConnection: close\r\n\r\n";
    answer.windows(whole.len()).any(|bytes| bytes == whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_the_last_of_both_heads_and_bodies_stay() {
        let mut request = b"\r\nPUT / HTTP/1.1\r\nHost: x\r\n\r\nbody\r\n\r\n".to_vec();
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec();
        assert!(!closes(&answer));
        close(&mut request, &mut answer);
        assert_eq!(request, b"\r\nPUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nbody\r\n\r\n");
        assert_eq!(answer, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
        assert!(closes(&answer));
    }
}
