//! What the engines must do alike and no answer shows: a burst, the end, a kernel that refuses io_uring.

mod burst;
#[allow(dead_code, reason = "belongs to the tests of the contract; a part is used here")]
#[path = "../contract/client.rs"]
mod client;
mod end;
mod refused;
#[allow(dead_code, reason = "belongs to the tests of the contract; a part is used here")]
#[path = "../contract/server.rs"]
mod server;

use server::{Server, fixture, program_with, usable};

/// What `server` starts where a test does not say.
const ENGINE: &str = "epoll";
/// Both.
const ENGINES: [&str; 2] = ["epoll", "uring"];

/// A server with one worker for each engine that this kernel lets us have.
fn servers() -> impl Iterator<Item = (&'static str, Server)> {
    ENGINES.into_iter().filter(|engine| usable(engine) == *engine).map(|engine| {
        let data = fixture();
        let mut program = program_with(engine, data.path());
        (engine, Server::spawn(program.args(["--port", "0", "--workers", "1"]), data))
    })
}
