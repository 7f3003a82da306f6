//! The program itself: its options, bad data, a port that is taken, descriptors that run out.

use std::fs;
use std::io::Write;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::client::*;
use crate::server::{Server, fixture, program};

fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn help_version_and_check_are_data_on_stdout() {
    let data = fixture();
    let mut help = Command::new(env!("CARGO_BIN_EXE_candidate"));
    let help = help.arg("--help").output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--workers"));
    let version = program(data.path()).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("candidate "));
    let check = program(data.path()).arg("--check-data").output().unwrap();
    assert!(check.status.success() && String::from_utf8_lossy(&check.stdout).starts_with("users: 6, "));
    let wrong = program(data.path()).arg("--prot=1").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn a_health_check_finds_a_server_that_answers_and_nothing_else() {
    let check = |port: u16| {
        let mut check = Command::new(env!("CARGO_BIN_EXE_candidate"));
        check.args(["--check", "--port", &port.to_string()]).output().unwrap()
    };
    let server = Server::start();
    assert_eq!(check(server.address.port()).status.code(), Some(0));
    drop(server);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let stranger = thread::spawn(move || {
        let (mut socket, _) = other.accept().unwrap();
        socket.write_all(b"220 mail\r\n").unwrap();
    });
    let found = check(port);
    stranger.join().unwrap();
    assert_eq!(found.status.code(), Some(1));
    assert!(says(&found).contains(&format!("port {port}")), "{}", says(&found));
    let nobody = check(port);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(says(&nobody).contains("no server answers"), "{}", says(&nobody));
}

#[test]
fn bad_data_ends_the_program_with_its_place() {
    let data = fixture();
    let file = data.path().join("users.jsonl");
    let users = fs::read_to_string(&file).unwrap() + "{\"login\":\"\"}\n";
    fs::write(&file, users).unwrap();
    let output = program(data.path()).args(["--port", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(says(&output).contains("users.jsonl:7: "), "{}", says(&output));
    fs::remove_file(&file).unwrap();
    let output = program(data.path()).args(["--port", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(says(&output).contains("users.jsonl: cannot be read"), "{}", says(&output));
}

#[test]
fn a_port_that_is_taken_is_named_even_by_a_server_of_the_same_kind() {
    let server = Server::start();
    let data = fixture();
    let port = server.address.port().to_string();
    let output = program(data.path()).args(["--port", &port]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(says(&output).contains(&format!("port {port} is taken")), "{}", says(&output));
    server.gives(&get("10.1.0.1", TA), &ok(UA));
}

#[test]
fn out_of_descriptors_the_server_neither_spins_nor_forgets_to_accept() {
    let data = fixture();
    let server = Server::spawn(program(data.path()).args(["--port", "0", "--workers", "1"]), data);
    server.gives(&get("10.1.0.1", TA), &ok(UA));
    // Lowered from outside, for the server has raised it as far as it may.
    let pid = Pid::from_raw(server.pid() as i32);
    prlimit(pid, Resource::Nofile, Rlimit { current: Some(40), maximum: Some(40) }).unwrap();
    let mut streams: Vec<_> = (0..80).map(|_| connect(server.address)).collect();
    let used = processor_ticks(&server);
    thread::sleep(Duration::from_millis(600));
    let spent = processor_ticks(&server) - used;
    assert!(spent < 20, "{spent} ticks of 10 ms while it had nothing to do");
    let mut first = streams.remove(0);
    first.write_all(get("10.1.0.1", TA).as_bytes()).unwrap();
    expect(&mut first, &ok(UA));
    let mut last = streams.pop().unwrap();
    drop((first, streams));
    last.write_all(get("10.1.0.1", TA).as_bytes()).unwrap();
    expect(&mut last, &ok(UA));
}

/// Processor time used, in the kernel's ticks.
fn processor_ticks(server: &Server) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
