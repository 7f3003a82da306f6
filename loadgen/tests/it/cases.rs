//! The runner of the contract's cases against servers that are wrong in one way each: what fails, and what it says.

use loadgen::cases::{CaseFilter, CaseReport, CommandServer, RunningServer, StartServer, run};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

/// How each connection is served; for each chunk of bytes read, or none at the end.
type Serve = fn(&mut TcpStream);

struct Fake(Serve);

struct Running(SocketAddr);

impl StartServer for Fake {
    fn start(&self, data: &Path) -> anyhow::Result<Box<dyn RunningServer>> {
        assert!(data.join("users.jsonl").exists() && data.join("GeoLite2-City-CSV").is_dir());
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        let serve = self.0;
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let mut socket = socket.unwrap();
                std::thread::spawn(move || serve(&mut socket));
            }
        });
        Ok(Box::new(Running(addr)))
    }
}

impl RunningServer for Running {
    fn addr(&self) -> SocketAddr {
        self.0
    }
    fn pid(&self) -> u32 {
        std::process::id()
    }
    fn ended(&mut self) -> Option<String> {
        None
    }
}

fn cases(filter: &str, serve: Serve) -> CaseReport {
    let mut told = 0;
    let report = run(&Fake(serve), &CaseFilter::parse(filter).unwrap(), &mut |_| told += 1);
    assert_eq!(told, report.passed + report.failed.len());
    assert!(told > 0);
    report
}

/// Answers each request with `answer`; requests have no bodies here.
fn answering(socket: &mut TcpStream, answer: &[u8]) {
    let mut come = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = socket.read(&mut buffer) {
        come.extend_from_slice(&buffer[..count]);
        while let Some(end) = come.windows(4).position(|four| four == b"\r\n\r\n") {
            come.drain(..end + 4);
            if socket.write_all(answer).is_err() {
                return;
            }
        }
    }
}

#[test]
fn a_server_that_always_says_404_passes_the_cases_of_unknown_paths_and_no_others() {
    let report = cases("104", |socket| answering(socket, NOT_FOUND));
    assert_eq!(report.failed, []);
    let report = cases("34,40", |socket| answering(socket, NOT_FOUND));
    assert_eq!(report.passed, 0);
    let failed = &report.failed[0];
    assert_eq!(failed.number, 34);
    assert!(failed.expected.contains("403 Forbidden") && failed.got.contains("404 Not Found"), "{failed:?}");
}

#[test]
fn a_byte_behind_the_right_answer_fails_a_case() {
    let report = cases("104", |socket| answering(socket, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n\n"));
    assert_eq!(report.passed, 0);
    assert!(report.failed[0].expected.contains("in step"), "{:?}", report.failed[0]);
}

#[test]
fn a_flipped_letter_or_one_field_too_many_fails_a_case() {
    let report = cases("104", |socket| answering(socket, b"HTTP/1.1 404 Not found\r\nContent-Length: 0\r\n\r\n"));
    assert_eq!(report.passed, 0);
    let report =
        cases("104", |socket| answering(socket, b"HTTP/1.1 404 Not Found\r\nServer: x\r\nContent-Length: 0\r\n\r\n"));
    assert_eq!(report.passed, 0);
}

#[test]
fn a_connection_closed_after_an_answer_that_does_not_say_so_fails_a_case() {
    let report = cases("104", |socket| {
        let _ = socket.read(&mut [0; 4096]);
        let _ = socket.write_all(NOT_FOUND);
        let _ = socket.shutdown(Shutdown::Write);
        std::thread::sleep(Duration::from_secs(1));
    });
    assert_eq!(report.passed, 0);
    assert!(report.failed[0].got.contains("FIN"), "{:?}", report.failed[0]);
}

#[test]
fn a_connection_left_open_where_it_must_end_fails_a_case() {
    const BAD: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let right = cases("113", |socket| {
        let _ = socket.read(&mut [0; 4096]);
        let _ = socket.write_all(BAD);
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.read(&mut [0; 4096]);
    });
    assert!(right.passed > 0);
    let fine = right.failed.iter().filter(|case| !case.expected.contains("400 Bad Request"));
    assert_eq!(right.failed.len(), fine.count(), "{right:?}");
    let open = cases("204", |socket| answering(socket, BAD));
    assert!(open.failed.iter().any(|case| case.got.contains("an open connection")), "{open:?}");
}

#[test]
fn a_reset_is_not_a_graceful_end() {
    let report = cases("113", |socket| {
        // One byte is left unread: closing then resets, after the answer has gone out.
        let _ = socket.read(&mut [0; 8]);
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        std::thread::sleep(Duration::from_millis(50));
    });
    assert_eq!(report.passed, 0);
    assert!(report.failed.iter().any(|case| case.got.contains("RST")), "{report:?}");
}

#[test]
fn a_server_that_cannot_start_fails_each_case_with_its_reason() {
    struct Broken;
    impl StartServer for Broken {
        fn start(&self, _: &Path) -> anyhow::Result<Box<dyn RunningServer>> {
            anyhow::bail!("no such program")
        }
    }
    let report = run(&Broken, &CaseFilter::parse("1").unwrap(), &mut |_| {});
    assert_eq!(report.passed, 0);
    assert!(report.failed.iter().all(|case| case.got.contains("no such program")));
}

/// A program for the test below, which starts this very test: a server that serves two clients and dies of the third.
#[test]
#[ignore = "a program for another test"]
fn crashing_server() {
    let Ok(port) = std::env::var("CRASHING_PORT") else { return };
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    for client in 1.. {
        let (mut socket, _) = listener.accept().unwrap();
        if client == 3 {
            eprintln!("not this one");
            std::process::abort();
        }
        std::thread::spawn(move || answering(&mut socket, NOT_FOUND));
    }
}

#[test]
fn a_server_that_crashes_is_told_with_its_signal_its_last_words_and_the_case_before() {
    let folder = tempfile::tempdir().unwrap();
    let server = folder.path().join("server");
    let program = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\nCRASHING_PORT=$4 exec '{}' --exact cases::crashing_server --ignored --nocapture\n",
        program.display()
    );
    std::fs::write(&server, script).unwrap();
    std::fs::set_permissions(&server, PermissionsExt::from_mode(0o755)).unwrap();
    let report = run(&CommandServer::new(server), &CaseFilter::parse("104").unwrap(), &mut |_| {});
    assert!(report.passed > 0);
    let got: Vec<&str> = report.failed.iter().map(|case| case.got.as_str()).collect();
    let told = |got: &&str| {
        got.contains("the server ended with signal 6 (SIGABRT)")
            && got.contains("not this one")
            && got.ends_with("after case 104")
    };
    assert!(!got.is_empty() && got.iter().all(told), "{got:?}");
}
