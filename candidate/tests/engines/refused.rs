//! A kernel that refuses io_uring, as most containers' do: played by a seccomp filter, which threads and programs that a
//! thread starts have from it.

use std::collections::BTreeMap;
use std::io::Write;
use std::thread;

use candidate::choices::EngineChoice;
use candidate::engine::{Server as Engine, Wish, choose, stop_pair};
use candidate::load;
use candidate::tunables;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::client::*;
use crate::server::{Server, fixture, program_with};

/// Does `work` in a thread to which the kernel refuses io_uring with the error `number`.
fn refused<T: Send>(number: i32, work: impl FnOnce() -> T + Send) -> T {
    let calls = BTreeMap::from([(SETUP, Vec::new())]);
    let refuse = SeccompAction::Errno(number as u32);
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into().unwrap());
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            apply_filter(&filter).expect("a kernel with seccomp filters");
            work()
        });
        thread.join().unwrap()
    })
}

/// The number of the system call io_uring_setup, the same on all architectures.
const SETUP: i64 = 425;
/// What a sandbox says, and what kernels say that lack io_uring or what we need of it.
const ERRORS: [(i32, &str); 3] =
    [(1, "Operation not permitted"), (38, "Function not implemented"), (22, "Invalid argument")];

#[test]
fn auto_takes_epoll_instead_says_so_and_serves() {
    for (number, name) in ERRORS {
        let choice = refused(number, || choose(Wish::Auto, EngineChoice::Uring)).unwrap();
        assert_eq!(choice.engine, EngineChoice::Epoll);
        let note = choice.note.unwrap();
        assert!(note.contains(name) && note.contains("epoll") && !note.contains('\n'), "{note}");
    }
    let data = fixture();
    let state = load::state(data.path()).unwrap_or_else(|bad| panic!("{bad}"));
    refused(1, || {
        let (stopper, stop) = stop_pair().unwrap();
        let engine = choose(Wish::Auto, EngineChoice::Uring).unwrap().engine;
        let server = Engine::open(0, Some(1), engine, stop).unwrap();
        let address = ([127, 0, 0, 1], server.address().port()).into();
        thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(&state));
            let mut stream = connect(address);
            stream.write_all(get("10.1.0.1", TA).as_bytes()).unwrap();
            expect(&mut stream, &ok(UA));
            drop(stream);
            stopper.stop().unwrap();
            assert_eq!(serving.join().unwrap(), Ok(()));
        });
    });
}

#[test]
fn the_program_says_one_line_about_it_if_it_prefers_io_uring() {
    let data = fixture();
    let mut program = program_with("auto", data.path());
    program.args(["--port", "0", "--workers", "2"]);
    let server = refused(1, || Server::spawn(&mut program, data));
    server.gives(&get("10.1.0.1", TA), &ok(UA));
    let lines = usize::from(tunables::ENGINE == EngineChoice::Uring);
    assert_eq!(server.said.lines().filter(|line| line.contains("io_uring is refused")).count(), lines);
}

#[test]
fn io_uring_asked_for_by_name_and_refused_ends_the_program() {
    let data = fixture();
    let output = refused(1, || program_with("uring", data.path()).args(["--port", "0"]).output()).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("io_uring is refused: Operation not permitted") && said.contains("--engine epoll"), "{said}");
}
