//! Once warm, a worker answers without the allocator. Counted for both engines, in a process of its own, because the
//! allocator is the process's.

#[allow(dead_code, reason = "belongs to the tests of the contract; a part is used here")]
#[path = "contract/client.rs"]
mod client;
#[allow(dead_code, reason = "belongs to the tests of the contract; a part is used here")]
#[path = "contract/server.rs"]
mod server;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use candidate::choices::EngineChoice;
use candidate::engine::{Server, stop_pair};
use candidate::load;

use client::*;

const ENGINE: &str = "epoll";

/// The system's allocator, which counts how often workers ask it for something.
struct Counting;

static ASKED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether the thread is not a worker.
    static UNCOUNTED: Cell<bool> = const { Cell::new(false) };
}

fn count() {
    if !UNCOUNTED.get() {
        ASKED.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: all is left to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Connections that are kept.
const CONNECTIONS: usize = 16;
/// Requests of each kind that go out together on a connection.
const DEPTH: usize = 4;
/// How often all kinds are sent on all connections.
const ROUNDS: usize = 50;

/// Requests that change nothing, with their answers: what a server does all day.
fn kinds() -> Vec<(String, String)> {
    let body = r#"{"login":"ann","password":"Aa1","nonce":"n"}"#;
    let wrong = r#"{"login":"ann","password":"no","nonce":"n"}"#;
    vec![
        (log_in(body), ok(&format!("\"{TA}\""))),
        (log_in(wrong), empty(403)),
        (get("10.1.0.1", TA), ok(UA)),
        (get("10.2.0.1", TA), empty(403)),
        (request("HEAD", "/user", "10.1.0.1", TA, ""), ok(UA).replace(UA, "")),
        (request("GET", "/nowhere", "10.1.0.1", TA, ""), empty(404)),
        (request("DELETE", "/user", "10.1.0.1", TA, ""), not_allowed(USER_METHODS)),
        (request("PUT", "/blacklist/user/bob", "10.1.0.1", TA, ""), empty(403)),
    ]
}

fn round(streams: &mut [TcpStream], kinds: &[(String, String)]) {
    for (request, response) in kinds {
        for stream in &mut *streams {
            stream.write_all(request.repeat(DEPTH).as_bytes()).unwrap();
        }
        for stream in &mut *streams {
            expect(stream, &response.repeat(DEPTH));
        }
    }
}

/// How often workers of this engine ask the allocator for something, for all rounds after the first two.
fn asked(engine: EngineChoice) -> usize {
    let data = server::fixture();
    let state = load::state(data.path()).unwrap_or_else(|bad| panic!("{bad}"));
    let (stopper, stop) = stop_pair().unwrap();
    let server = Server::open(0, Some(2), engine, stop).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&state));
        let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(address)).collect();
        let kinds = kinds();
        round(&mut streams, &kinds);
        round(&mut streams, &kinds);
        let before = ASKED.load(Ordering::Relaxed);
        for _ in 0..ROUNDS {
            round(&mut streams, &kinds);
        }
        let after = ASKED.load(Ordering::Relaxed);
        drop(streams);
        stopper.stop().unwrap();
        serving.join().unwrap().unwrap();
        after - before
    })
}

#[test]
fn a_warm_worker_does_not_allocate() {
    UNCOUNTED.set(true);
    let counted = thread::spawn(|| ASKED.load(Ordering::Relaxed)).join().unwrap();
    assert_eq!(asked(EngineChoice::Epoll), 0);
    assert!(ASKED.load(Ordering::Relaxed) > counted, "workers that warm up are seen");
    if server::usable("uring") == "uring" {
        assert_eq!(asked(EngineChoice::Uring), 0);
    }
}
