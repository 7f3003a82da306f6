//! What a connection does when it gets its turn, as far as it is the same in every engine.

use crate::api::Service;
use crate::choices::WriteMode;
use crate::conn::{Conn, Step};
use crate::tunables;

/// Requests answered in one turn; the rest waits until the others had theirs.
pub const REQUESTS_PER_TURN: usize = 512;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing to do until something happens at the socket.
    Wait,
    /// There is more to do.
    Again,
    /// The connection is over.
    Over,
}

/// Answers requests that are there, at most `left`, up to where output is to be handed on. `Answered` if there may be more.
pub fn answer(conn: &mut Conn, service: &mut Service<'_>, left: &mut usize) -> Step {
    let mut step = Step::Answered;
    while *left > 0 && step == Step::Answered {
        step = conn.step(service);
        if step == Step::Answered {
            *left -= 1;
            if tunables::WRITE_MODE == WriteMode::PerResponse {
                break;
            }
        }
    }
    service.batch_done();
    step
}
