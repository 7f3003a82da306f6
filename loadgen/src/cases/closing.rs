//! How a connection ends when much is still on its way. Between two programs of one machine nothing is on its way for
//! long: this tells most over a network with distance.

use super::line::PATIENCE;
use super::request::{ANN, auth};
use super::table::{Case, own};
use crate::model::answer::{Tail, ok_with};
use crate::model::token::issued;
use std::io::Write;
use std::time::Duration;

/// Letters of a nonce that is answered in six bytes each, before base64: 480 KB of answer, as in case 88.
const LETTERS: usize = 60_000;

fn nonce() -> String {
    "<".repeat(LETTERS)
}

/// The right answer to a request with that nonce.
fn long_answer(tail: Tail) -> Vec<u8> {
    ok_with(&format!("\"{}\"", issued("ann", &nonce())), tail)
}

/// The group.
pub fn cases() -> Vec<Case> {
    let request = || auth(format!("{{{ANN},\"nonce\":\"{}\"}}", nonce()));
    vec![own(213, "480 KB of answer, then FIN, though more comes meanwhile", move |stage| {
        let answer = long_answer(Tail::Close);
        let mut line = stage.open()?;
        line.send(request().field("Connection: close").bytes())?;
        // Until the answer begins: a client nearby has all of it before more comes, one far away has not. What
        // comes instead, or that nothing does, is told below.
        line.socket().set_read_timeout(Some(PATIENCE)).expect("a time that is not zero is a timeout");
        let _ = line.socket().peek(&mut [0]);
        let mut more = line.socket().try_clone().expect("a socket can be cloned");
        let sender = std::thread::spawn(move || {
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(10));
                // The server may have closed after its FIN: then the rest stays unsent.
                if more.write_all(&[b'x'; 100]).is_err() {
                    return;
                }
            }
        });
        let ended = line.expect(answer).and_then(|()| line.fin());
        sender.join().expect("the sender does not panic");
        ended
    })]
}
