//! The machine after boot, as a file: made once, restored in a fraction of a second for every measurement.
//!
//! Two snapshots made independently must count alike, so nothing of the host's time may be in the file: PID 1 stops the
//! machine at an exact instruction, and the three clock fields that still depend on how long the host took are set to
//! what they would be on a host that took no time.

use super::emulator::{Emulator, Parts};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use vm_init::answer;

/// Booting takes 12 s on an idle core.
const BOOT_LIMIT: Duration = Duration::from_secs(180);

/// Boots a machine and writes `state` (the snapshot) and `symbols` (the kernel's) into `folder`.
pub fn make(parts: &Parts, folder: &Path) -> Result<()> {
    let work = tempfile::tempdir_in(folder).context("cannot make a working folder for the snapshot")?;
    let extra = [
        "-action",
        "panic=pause",
        "-global",
        "migration.store-global-state=off",
        "-qmp",
        "unix:control,server=on,wait=off",
    ];
    let mut machine = Emulator::start(parts, work.path(), &extra)?;
    let deadline = Instant::now() + BOOT_LIMIT;
    let mut control = Control::connect(&work.path().join("control"), &mut machine, deadline)?;
    loop {
        let status = control.call("query-status", json!({})).context("asking the booting machine how it is")?;
        match status["status"].as_str() {
            Some("guest-panicked") => break,
            Some("running") => {}
            other => bail!("the booting machine is {other:?}. {}", machine.last_words()),
        }
        ensure!(Instant::now() < deadline, "the machine did not boot within {BOOT_LIMIT:?}. {}", machine.last_words());
        machine.must_run()?;
        std::thread::sleep(Duration::from_millis(20));
    }
    control.call("migrate-set-parameters", json!({ "max-bandwidth": 1_000_000_000_000_u64 }))?;
    control.call("migrate", json!({ "uri": "file:state" }))?;
    loop {
        let progress = control.call("query-migrate", json!({}))?;
        match progress["status"].as_str() {
            Some("completed") => break,
            Some("failed") => bail!("the emulator could not write the snapshot: {progress}"),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
        ensure!(Instant::now() < deadline, "the snapshot was not written within {BOOT_LIMIT:?}");
    }
    drop(machine);

    let said = fs::read(work.path().join("answer")).context("the booted machine said nothing")?;
    let sections = answer::sections(&said).map_err(anyhow::Error::msg)?;
    if let Some((_, why)) = sections.iter().find(|(name, _)| name == answer::FAULT) {
        bail!("PID 1 of the machine failed: {}", String::from_utf8_lossy(why));
    }
    let symbols = sections.iter().find(|(name, _)| name == answer::SYMBOLS);
    let (_, symbols) = symbols.context("the booted machine did not tell its kernel's symbols")?;
    let mut state = fs::read(work.path().join("state")).context("cannot read the snapshot back")?;
    forget_host_time(&mut state)?;
    fs::write(folder.join("state"), state)?;
    fs::write(folder.join("symbols"), symbols)?;
    Ok(())
}

/// Guest time in nanoseconds is instructions plus a bias; idle time adds to the bias, and the idle time after the
/// machine was stopped is the host's. The sum is rounded up to a whole quarter second, well clear of that remainder.
const GUEST_TIME_STEP: i64 = 250_000_000;
/// What the two offsets of the host's clock are set to; a restored machine under icount never reads them.
const CLOCK_OFFSET: i64 = 1 << 33;

/// Layout, from QEMU's `vmstate_timers`: three big-endian 64-bit fields (ticks offset, unused, clock offset), then the
/// subsection: marker 5, length of the name, name, 32-bit version, bias, instructions.
fn forget_host_time(state: &mut [u8]) -> Result<()> {
    const NAME: &[u8] = b"\x05\x0ctimer/icount";
    let at: Vec<usize> = state.windows(NAME.len()).enumerate().filter(|(_, w)| *w == NAME).map(|(at, _)| at).collect();
    let [at] = at[..] else {
        bail!(
            "the snapshot holds the emulator's timer state {} times, not once: this QEMU writes it differently",
            at.len()
        );
    };
    let bias_at = at + NAME.len() + 4;
    ensure!(at >= 24 && bias_at + 16 <= state.len(), "the snapshot's timer state is cut off");
    let read = |at: usize| i64::from_be_bytes(state[at..at + 8].try_into().expect("eight bytes"));
    let (bias, instructions) = (read(bias_at), read(bias_at + 8));
    let time = bias + instructions;
    ensure!(time > 0 && instructions > 0, "the snapshot's clock is not positive: this QEMU writes it differently");
    let rounded = (time / GUEST_TIME_STEP + 1) * GUEST_TIME_STEP;
    let mut put = |at: usize, value: i64| state[at..at + 8].copy_from_slice(&value.to_be_bytes());
    put(bias_at, rounded - instructions);
    put(at - 24, CLOCK_OFFSET);
    put(at - 16, 0);
    put(at - 8, CLOCK_OFFSET);
    Ok(())
}

/// QEMU's control socket: one request, one answer, events skipped.
struct Control {
    lines: BufReader<UnixStream>,
}

impl Control {
    fn connect(path: &Path, machine: &mut Emulator, deadline: Instant) -> Result<Control> {
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(e) if Instant::now() >= deadline => {
                    return Err(e).context("cannot reach the emulator's control socket");
                }
                Err(_) => machine.must_run()?,
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut control = Control { lines: BufReader::new(stream) };
        control.message()?;
        control.call("qmp_capabilities", json!({}))?;
        Ok(control)
    }

    fn call(&mut self, what: &str, arguments: Value) -> Result<Value> {
        writeln!(self.lines.get_mut(), "{}", json!({ "execute": what, "arguments": arguments }))?;
        loop {
            let mut message = self.message()?;
            if let Some(error) = message.get("error") {
                bail!("the emulator refused {what}: {error}");
            }
            if let Some(answer) = message.get_mut("return") {
                return Ok(answer.take());
            }
        }
    }

    fn message(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(self.lines.read_line(&mut line)? > 0, "the emulator closed its control socket");
        Ok(serde_json::from_str(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(ticks: i64, clock: i64, bias: i64, instructions: i64) -> Vec<u8> {
        let mut bytes = b"something before".to_vec();
        for field in [ticks, 7, clock] {
            bytes.extend(field.to_be_bytes());
        }
        bytes.extend(b"\x05\x0ctimer/icount\0\0\0\x01");
        bytes.extend(bias.to_be_bytes());
        bytes.extend(instructions.to_be_bytes());
        bytes.extend(b"something after");
        bytes
    }

    #[test]
    fn two_snapshots_that_differ_in_host_time_alone_become_the_same() {
        let mut one = state(123, 456, 2_000_000_000, 3_100_000_000);
        let mut two = state(999, 888, 2_000_700_000, 3_100_000_000);
        forget_host_time(&mut one).unwrap();
        forget_host_time(&mut two).unwrap();
        assert_eq!(one, two);
    }

    #[test]
    fn a_snapshot_without_the_timer_state_or_with_two_is_refused() {
        assert!(forget_host_time(&mut [0; 100]).unwrap_err().to_string().contains("0 times"));
        let mut twice = [state(1, 1, 1, 1), state(1, 1, 1, 1)].concat();
        assert!(forget_host_time(&mut twice).unwrap_err().to_string().contains("2 times"));
    }
}
