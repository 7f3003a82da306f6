//! Work whose count is known, by which a counter proves itself before and after each window. The window itself is in the
//! parent module.

use std::time::Duration;
use std::{ptr, thread};

use super::counter::{Counter, Kind, Mode, NoCounter, Scope};
use crate::os::pin;

/// Rounds of the loop.
const ROUNDS: u64 = 1_000_000;
/// Instructions in a round.
const EACH: u64 = 4;
/// Pages that are touched.
const PAGES: u64 = 512;

/// What the known work must count: no less than the work itself, and little more, since reading the counter counts too.
struct Expected {
    least: u64,
    most: u64,
}

/// Counts known work on `cpu`. The error says what was counted and what should have been.
pub fn prove(kind: Kind, cpu: usize) -> Result<(), NoCounter> {
    let proof = move || {
        pin::pin_this_thread(&[cpu]).map_err(|e| NoCounter::Wrong(format!("it cannot be tried: {e}")))?;
        let mode = match kind {
            Kind::Instructions | Kind::PageFaults => Mode::User,
            // The kernel counts these in its own mode.
            Kind::TaskClock | Kind::ContextSwitches => Mode::Both,
        };
        let mut counter = Counter::open(kind, mode, Scope::ThisThread)?;
        let wrong = |e: super::counter::Bad| NoCounter::Wrong(e.to_string());
        let before = counter.read().map_err(wrong)?;
        let expected = work(kind).map_err(NoCounter::Wrong)?;
        let after = counter.read().map_err(wrong)?;
        let counted = counter.between(before, after).map_err(wrong)?.count;
        check(kind, cpu, &expected, counted)
    };
    // A thread of its own, so that the caller's pinning stays as it is.
    let done = thread::spawn(proof).join();
    done.unwrap_or_else(|_| Err(NoCounter::Wrong("the self-test failed in itself".into())))
}

fn check(kind: Kind, cpu: usize, expected: &Expected, counted: u64) -> Result<(), NoCounter> {
    if (expected.least..=expected.most).contains(&counted) {
        return Ok(());
    }
    let Expected { least, most } = expected;
    let text = format!("on CPU {cpu}, work of {least} to {most} {kind} was counted as {counted}");
    Err(NoCounter::Wrong(text))
}

fn work(kind: Kind) -> Result<Expected, String> {
    match kind {
        Kind::Instructions => {
            spin();
            Ok(Expected { least: ROUNDS * EACH, most: ROUNDS * EACH + 20_000 })
        }
        Kind::PageFaults => {
            touch(PAGES)?;
            Ok(Expected { least: PAGES, most: PAGES + 16 })
        }
        Kind::TaskClock => {
            let before = thread_time();
            while thread_time() - before < 5_000_000 {
                spin();
            }
            let spent = thread_time() - before;
            // The clock is read inside the counted stretch, so the counter may only be a little ahead.
            Ok(Expected { least: spent - spent / 20, most: spent + 2_000_000 })
        }
        Kind::ContextSwitches => {
            for _ in 0..10 {
                thread::sleep(Duration::from_micros(100));
            }
            // Other tasks may take the CPU in between, so the upper bound is a loose one.
            Ok(Expected { least: 10, most: 1_000 })
        }
    }
}

/// Exactly [`ROUNDS`] times [`EACH`] instructions, whatever the compiler thinks of it.
#[cfg(target_arch = "x86_64")]
fn spin() {
    // SAFETY: changes one register that is declared and the flags; touches no memory.
    unsafe {
        std::arch::asm!(
            "2:",
            "nop",
            "nop",
            "dec {n}",
            "jnz 2b",
            n = inout(reg) ROUNDS => _,
            options(nomem, nostack),
        );
    }
}

/// Touches that many fresh pages, one fault each.
fn touch(pages: u64) -> Result<(), String> {
    let (page, length) = (4096usize, pages as usize * 4096);
    // SAFETY: a fresh private mapping, written within its length and unmapped before anybody else knows of it.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return Err(format!("mapping {length} bytes failed: {}", std::io::Error::last_os_error()));
        }
        // One fault a page, not one for many.
        libc::madvise(start, length, libc::MADV_NOHUGEPAGE);
        for n in 0..pages as usize {
            start.cast::<u8>().add(n * page).write_volatile(1);
        }
        libc::munmap(start, length);
    }
    Ok(())
}

fn thread_time() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_counters_prove_themselves_on_every_cpu() {
        for cpu in pin::allowed().unwrap() {
            for kind in [Kind::PageFaults, Kind::TaskClock, Kind::ContextSwitches] {
                // A clock counts what a busy host steals between two reads; a counter that is wrong is wrong every time.
                let tries = if kind == Kind::TaskClock { 10 } else { 1 };
                let mut found = prove(kind, cpu);
                for _ in 1..tries {
                    if matches!(found, Err(NoCounter::Wrong(_))) {
                        found = prove(kind, cpu);
                    }
                }
                match found {
                    Ok(()) => {}
                    Err(error @ NoCounter::Paranoid { .. }) => println!("not run: {error}"),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    #[test]
    fn a_count_outside_what_is_known_is_told_with_both_figures() {
        let expected = Expected { least: 4_000_000, most: 4_020_000 };
        assert!(check(Kind::Instructions, 1, &expected, 4_000_003).is_ok());
        for wrong in [0, 3_999_999, 8_000_000] {
            let text = check(Kind::Instructions, 1, &expected, wrong).unwrap_err().to_string();
            assert!(text.contains("4000000 to 4020000") && text.contains(&format!("as {wrong}")), "{text}");
        }
    }

    #[test]
    fn the_hardware_counter_counts_the_loop_where_there_is_one() {
        match prove(Kind::Instructions, pin::allowed().unwrap()[0]) {
            Ok(()) => println!("run on hardware"),
            Err(error @ NoCounter::Wrong(_)) => panic!("{error}"),
            Err(error) => println!("not run on hardware: {error}"),
        }
    }
}
