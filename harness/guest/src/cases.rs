//! Cases of the contract: the load generator starts servers itself, as this very program, which confines itself and then
//! becomes the server. Guest time is free while everything waits, so clocks of a minute are played out in full.

use crate::run::{ChildSignal, output_of};
use crate::{distance, machine};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use vm_init::answer::{self, section};
use vm_init::{CASES_PATH, LOADGEN_PATH, NETEM_PATH, SERVER_PATH};

/// This program, as what the load generator starts.
const CONFINED: &str = "/init";
/// Guest time all cases may take together; the longest clock takes 79 s of it.
const LIMIT: Duration = Duration::from_secs(180);

/// Plays the cases; the sections of the answer.
pub fn play(distant: bool) -> io::Result<Vec<u8>> {
    if distant {
        distance::set_up(NETEM_PATH)?;
    }
    let children = ChildSignal::block()?;
    let numbers = fs::read_to_string(CASES_PATH)?;
    let mut command = Command::new(LOADGEN_PATH);
    command.args(["cases", "--server", CONFINED, "--filter", &numbers, "--json"]);
    let (ended, said) = output_of(command, LIMIT, &children)?;
    machine::kill_server();
    Ok([section(answer::LOAD, ended.as_bytes()), said].concat())
}

/// Becomes the server, with the arguments this program was started with. Returns only if that fails.
pub fn become_server() -> io::Error {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The load generator makes the folder for itself alone.
    let opened = match arguments.iter().position(|argument| argument == "--data").and_then(|at| arguments.get(at + 1)) {
        Some(data) => fs::set_permissions(data, fs::Permissions::from_mode(0o755)),
        None => Ok(()),
    };
    match opened.and_then(|()| machine::become_server()) {
        Ok(()) => Command::new(SERVER_PATH).arg0("candidate").args(arguments).env_clear().exec(),
        Err(error) => error,
    }
}
