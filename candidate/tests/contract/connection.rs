//! Cases 121 to 139: what happens on a connection over time.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::client::*;
use crate::server::Server;

#[test]
fn a_pipeline_gives_the_same_bytes_in_any_cut() {
    let server = Server::start();
    let body = r#"{"login":"ann","password":"Aa1","nonce":"n"}"#;
    let chunked = "PATCH /user HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    let pipeline = log_in(body) + chunked + "\r\n" + &get("10.1.0.1", TA);
    let expected = ok(&format!("\"{TA}\"")) + &empty(403) + &ok(UA);
    for cut in 0..=pipeline.len() {
        let mut stream = connect(server.address);
        stream.write_all(&pipeline.as_bytes()[..cut]).unwrap();
        // Long enough for the server to see the first part alone, at least most times.
        thread::sleep(Duration::from_micros(500));
        stream.write_all(&pipeline.as_bytes()[cut..]).unwrap();
        expect(&mut stream, &expected);
    }
    let mut stream = connect(server.address);
    for byte in pipeline.bytes() {
        stream.write_all(&[byte]).unwrap();
    }
    expect(&mut stream, &expected);
}

#[test]
fn a_thousand_requests_in_one_write_are_answered_in_order() {
    let server = Server::start();
    let mut requests = String::new();
    let mut expected = String::new();
    for number in 0..1_000 {
        let (request, answer) = match number % 5 {
            0 => (get("10.1.0.1", TA), ok(UA)),
            1 => (get("10.1.0.1", TB), empty(403)),
            2 => (request("PATCH", "/user", "10.1.0.1", TA, "{\"phone\":\"+331\"}"), empty(202)),
            3 => (request("GET", "/nothing", "", "", ""), empty(404)),
            _ => (log_in(r#"{"login":"ann","password":"Aa1","nonce":"n"}"#), ok(&format!("\"{TA}\""))),
        };
        requests += &request;
        expected += &answer;
    }
    server.gives(&requests, &expected);
}

#[test]
fn nothing_behind_connection_close_has_an_effect() {
    let server = Server::start();
    let close = get("10.1.0.1", TA).replace("\r\n\r\n", "\r\nConnection: x, Close\r\n\r\n");
    let block = request("PUT", "/blacklist/user/bob", "10.1.0.1", TM, "");
    assert_eq!(server.last_answer(close + &block), closing(&ok(UA)));
    server.gives(&get("10.2.0.1", TB), &ok(UB));
}

#[test]
fn answers_arrive_before_the_end_although_input_is_unread() {
    let server = Server::start();
    let requests =
        get("10.1.0.1", TA).repeat(50) + &get("10.1.0.1", TA).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let all = requests + &"junk".repeat(25_000);
    assert_eq!(server.last_answer(all), ok(UA).repeat(50) + &closing(&ok(UA)));
    let bad = "GET /user HTTP/1.1\r\nHost : x\r\n\r\n".to_owned() + &"x".repeat(60_000);
    assert_eq!(server.last_answer(bad), closing(&empty(400)));
}

#[test]
fn an_incomplete_request_at_the_end_of_input_gets_nothing() {
    let server = Server::start();
    let whole = log_in("{}");
    for cut in [0, 1, 20, whole.len() - 1] {
        server.gives(&whole[..cut], "");
        server.gives(&(get("10.1.0.1", TA) + &whole[..cut]), &ok(UA));
    }
    server.gives("\r\n", "");
}

#[test]
fn a_client_that_waits_is_told_to_continue_after_earlier_answers() {
    let server = Server::start();
    let body = r#"{"login":"ann","password":"Aa1","nonce":"n"}"#;
    let waiting = log_in(body).replace("Host: x", "Host: x\r\nExpect: 100-Continue");
    let head = waiting.strip_suffix(body).unwrap();
    let mut stream = connect(server.address);
    stream.write_all((get("10.1.0.1", TA).repeat(2) + head).as_bytes()).unwrap();
    expect(&mut stream, &(ok(UA).repeat(2) + "HTTP/1.1 100 Continue\r\n\r\n"));
    stream.write_all(body.as_bytes()).unwrap();
    expect(&mut stream, &ok(&format!("\"{TA}\"")));
    assert_eq!(server.last_answer(head.replace("Length: 44", "Length: 70000")), closing(&empty(413)));
    assert_eq!(server.last_answer(head.replace("100-Continue", "foo")), closing(&empty(417)));
}

#[test]
fn a_client_that_reads_nothing_gets_everything_later_and_disturbs_nobody() {
    let server = Server::start();
    let mut silent = connect(server.address);
    silent.set_nonblocking(true).unwrap();
    let count = 20_000;
    let requests = get("10.1.0.1", TA).repeat(count);
    let mut sent = 0;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(1) && sent < requests.len() {
        match silent.write(&requests.as_bytes()[sent..]) {
            Ok(more) => sent += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("{error}"),
        }
    }
    for _ in 0..8 {
        let start = Instant::now();
        server.gives(&get("10.1.0.1", TA), &ok(UA));
        assert!(start.elapsed() < Duration::from_secs(1), "others wait for {:?}", start.elapsed());
    }
    silent.set_nonblocking(false).unwrap();
    let mut writer = silent.try_clone().unwrap();
    let left = requests.as_bytes()[sent..].to_vec();
    let writing = thread::spawn(move || {
        writer.write_all(&left).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let all = rest(&mut silent);
    writing.join().unwrap();
    assert!(all == ok(UA).repeat(count), "{} of {} bytes", all.len(), ok(UA).len() * count);
}

#[test]
fn clients_that_vanish_leave_nothing_behind() {
    let mut server = Server::start();
    let files = |server: &Server| {
        let all = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
        // One that is closed just now has no name any more.
        all.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok()).collect::<Vec<_>>()
    };
    // All workers have opened what they need once they have answered. Each gets the connections that come from its core.
    let all = sched_getaffinity(None).unwrap();
    for core in (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)) {
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only).unwrap();
        (0..25).for_each(|_| server.gives(&get("10.1.0.1", TA), &ok(UA)));
    }
    sched_setaffinity(None, &all).unwrap();
    let before = files(&server);
    for _ in 0..300 {
        let mut stream = connect(server.address);
        stream.write_all(get("10.1.0.1", TA).repeat(20).as_bytes()).unwrap();
        let mut one = [0; 1];
        assert_eq!(stream.read(&mut one).unwrap(), 1);
        // Closing with unread input makes the kernel send a reset.
        drop(stream);
        server.gives(&get("10.1.0.1", TB), &empty(403));
    }
    let start = Instant::now();
    while files(&server).len() > before.len() && start.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(20));
    }
    let after = files(&server);
    assert!(after.len() <= before.len(), "{after:?}, and before {before:?}");
    assert!(server.lives());
}

#[test]
fn many_connections_at_once_are_all_served() {
    let server = Server::start();
    let mut streams: Vec<_> = (0..800).map(|_| connect(server.address)).collect();
    for stream in &mut streams {
        stream.write_all(get("10.1.0.1", TA).as_bytes()).unwrap();
    }
    streams.iter_mut().for_each(|stream| expect(stream, &ok(UA)));
}

#[test]
fn a_head_that_does_not_end_is_given_up_after_ten_seconds() {
    let server = Server::start();
    let start = Instant::now();
    assert_eq!(server.last_answer("GET /user HTTP/1.1\r\nHost"), closing(&empty(408)));
    let waited = start.elapsed();
    assert!(waited >= Duration::from_secs(9) && waited < Duration::from_secs(12), "{waited:?}");
}
