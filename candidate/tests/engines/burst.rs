//! More at once than any queue or buffer ring of an engine has room for.

use std::io::Write;

use candidate::engine::raise_file_limit;
use candidate::tunables;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::*;
use crate::servers;

#[test]
fn a_burst_larger_than_all_queues_is_served_whole() {
    raise_file_limit();
    // Each connection takes a buffer, and each one more for which there is none takes a place among the completions.
    let crowd = usize::from(tunables::RING_BUFFERS) + 5 * tunables::RING_ENTRIES as usize;
    for (engine, server) in servers() {
        let mut streams: Vec<_> = (0..crowd).map(|_| connect(server.address)).collect();
        for stream in &mut streams {
            stream.write_all(get("10.1.0.1", TA).as_bytes()).unwrap();
            expect(stream, &ok(UA));
        }
        let pid = Pid::from_raw(server.pid() as i32).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        for stream in &mut streams {
            stream.write_all(get("10.1.0.1", TA).as_bytes()).unwrap();
        }
        kill_process(pid, Signal::CONT).unwrap();
        for (number, stream) in streams.iter_mut().enumerate() {
            println!("{engine}, connection {number}");
            expect(stream, &ok(UA));
        }
    }
}
