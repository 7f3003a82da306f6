//! What a connection does with bytes in any cut, with the end of input, and with time.

use super::*;
use crate::state::State;
use crate::state::countries::Countries;
use crate::state::users::Users;

const BAD: &str = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const LATE: &str = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const LOST: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// A connection to a server without data, and what it has said.
struct Dialogue<'s> {
    conn: Conn,
    service: Service<'s>,
    said: String,
}

fn with_dialogue(test: impl FnOnce(&mut Dialogue<'_>)) {
    let state = State::new(Countries::new(Vec::new(), Vec::new()), Users::default());
    test(&mut Dialogue { conn: Conn::new(0), service: Service::new(&state), said: String::new() });
}

impl Dialogue<'_> {
    fn hear(&mut self, text: &str) -> &mut Self {
        self.conn.input.extend(text.as_bytes());
        self.go_on()
    }

    fn end(&mut self) -> &mut Self {
        self.conn.end_of_input();
        self.go_on()
    }

    fn go_on(&mut self) -> &mut Self {
        while self.conn.step(&mut self.service) == Step::Answered {}
        self.service.batch_done();
        let unsent = self.conn.unsent();
        self.said.push_str(std::str::from_utf8(unsent).unwrap());
        let count = unsent.len();
        self.conn.sent(count);
        self
    }

    fn said(&mut self) -> String {
        std::mem::take(&mut self.said)
    }
}

#[test]
fn a_pipeline_gives_the_same_bytes_in_any_cut() {
    let chunked = "PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    let sized = "GET /y HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    let pipeline = format!("\r\n{sized}{chunked}\r\nGET /z HTTP/1.1\r\nHost: x\r\n\r\n");
    for cut in 0..=pipeline.len() {
        with_dialogue(|dialogue| {
            let said = dialogue.hear(&pipeline[..cut]).hear(&pipeline[cut..]).said();
            assert_eq!(said, LOST.repeat(3), "cut after {cut} bytes");
        });
    }
    with_dialogue(|dialogue| {
        for at in 0..pipeline.len() {
            dialogue.hear(&pipeline[at..=at]);
        }
        assert_eq!(dialogue.said(), LOST.repeat(3));
    });
}

#[test]
fn one_empty_line_may_come_before_each_request_and_no_second() {
    with_dialogue(|dialogue| {
        let request = "\r\nGET /z HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(dialogue.hear(&request.repeat(2)).said(), LOST.repeat(2));
        assert_eq!(dialogue.hear("\r\n\r").said(), BAD);
    });
}

#[test]
fn nothing_behind_a_closing_response_is_looked_at() {
    with_dialogue(|dialogue| {
        let said = dialogue.hear("GET /z HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n\n\n").said();
        assert_eq!(said, LOST.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        assert_eq!(dialogue.hear("GET /z HTTP/1.1\r\nHost: x\r\n\r\n").said(), "");
        assert!(dialogue.conn.take_shutdown() && !dialogue.conn.take_shutdown() && !dialogue.conn.is_over());
        dialogue.end().conn.take_shutdown();
        assert!(dialogue.conn.is_over());
    });
}

#[test]
fn discarding_ends_after_a_mebibyte() {
    with_dialogue(|dialogue| {
        assert_eq!(dialogue.hear("\n").said(), BAD);
        assert!(dialogue.conn.take_shutdown());
        dialogue.hear(&"x".repeat(LINGER_BYTES));
        dialogue.conn.take_shutdown();
        assert!(dialogue.conn.wants_input() && !dialogue.conn.is_over());
        dialogue.hear("x").conn.take_shutdown();
        assert!(!dialogue.conn.wants_input() && dialogue.conn.is_over());
    });
}

#[test]
fn complete_requests_before_the_end_of_input_are_answered_and_others_not() {
    with_dialogue(|dialogue| {
        dialogue.hear("GET /z HTTP/1.1\r\nHost: x\r\n\r\nGET /z HTTP/1.1\r\nHost").end();
        assert_eq!(dialogue.said(), LOST);
        assert!(dialogue.conn.is_over());
    });
}

#[test]
fn the_client_is_told_to_continue_once_and_only_if_it_waits() {
    let head = "PUT /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    with_dialogue(|dialogue| {
        assert_eq!(dialogue.hear(head).said(), CONTINUE);
        assert_eq!(dialogue.hear("a").hear("b").said(), LOST);
        assert_eq!(dialogue.hear(&format!("{head}ab")).said(), LOST);
        let many = dialogue.hear(&format!("{head}ab{head}")).said();
        assert_eq!(many, format!("{LOST}{CONTINUE}"));
    });
}

#[test]
fn a_head_and_a_body_have_ten_seconds_each() {
    with_dialogue(|dialogue| {
        dialogue.hear("GET /z HTTP/1.1\r\n").conn.wait(1_000);
        assert!(!dialogue.conn.check_time(10_999));
        dialogue.hear("Host: x\r\nContent-Length: 2\r\n\r\na").conn.wait(10_999);
        assert!(!dialogue.conn.check_time(20_998));
        assert!(dialogue.conn.check_time(20_999));
        assert_eq!(dialogue.go_on().said(), LATE);
        assert!(dialogue.conn.take_shutdown());
        dialogue.conn.wait(21_000);
        assert!(!dialogue.conn.check_time(25_999) && dialogue.conn.check_time(26_000) && dialogue.conn.is_over());
    });
}

#[test]
fn an_idle_connection_is_closed_without_a_response() {
    with_dialogue(|dialogue| {
        dialogue.hear("GET /z HTTP/1.1\r\nHost: x\r\n\r\n\r").said();
        dialogue.conn.wait(5_000);
        dialogue.hear("\n").conn.wait(50_000);
        assert!(!dialogue.conn.check_time(79_999) && dialogue.conn.check_time(80_000));
        assert_eq!(dialogue.go_on().said(), "");
        assert!(dialogue.conn.take_shutdown());
    });
}

#[test]
fn unread_output_stops_the_answers_and_ends_the_connection_in_the_end() {
    with_dialogue(|dialogue| {
        let request = "GET /z HTTP/1.1\r\nHost: x\r\n\r\n";
        let enough = MAX_UNSENT / LOST.len() + 10;
        dialogue.conn.input.extend(request.repeat(enough).as_bytes());
        while dialogue.conn.step(&mut dialogue.service) == Step::Answered {}
        assert!(dialogue.conn.is_full() && !dialogue.conn.wants_input());
        dialogue.conn.wait(0);
        assert!(!dialogue.conn.check_time(1_000) && !dialogue.conn.check_time(30_999));
        dialogue.conn.sent(1_000);
        assert!(!dialogue.conn.check_time(31_000) && !dialogue.conn.check_time(60_999));
        assert_eq!(dialogue.conn.step(&mut dialogue.service), Step::Answered);
        assert!(dialogue.conn.check_time(61_000) && dialogue.conn.is_over());
    });
}
