//! Three windows whose counts are known: a loop on the load generator's CPU, nothing, and the very same loop (the same
//! block of code, translated by the other CPU) on the server's CPU. The harness knows what each must have counted.

use crate::machine::{self, SERVER_CPU};
use std::arch::asm;
use std::io::{self, Read, Write};
use vm_init::{MARK_BEGIN, MARK_END, SELF_TEST_ITERATIONS};

/// Executes mark `ID`: an instruction that does nothing and is recognised by its bytes.
#[inline(always)]
pub fn mark<const ID: u8>() {
    // SAFETY: a no-operation.
    unsafe { asm!(".byte 0x0f, 0x1f, 0x84, 0x00, {}, 0xde, 0xc0, 0x5e", const ID) };
}

/// Runs the three windows.
pub fn run() -> io::Result<()> {
    mark::<MARK_BEGIN>();
    spin();
    mark::<MARK_END>();

    mark::<MARK_BEGIN>();
    mark::<MARK_END>();

    let (mut order, mut give_order) = io::pipe()?;
    let (mut report, mut give_report) = io::pipe()?;
    let other = std::thread::spawn(move || -> io::Result<()> {
        machine::pin(SERVER_CPU)?;
        give_report.write_all(&[0])?;
        order.read_exact(&mut [0])?;
        spin();
        give_report.write_all(&[1])
    });
    report.read_exact(&mut [0])?;
    mark::<MARK_BEGIN>();
    give_order.write_all(&[0])?;
    report.read_exact(&mut [0])?;
    mark::<MARK_END>();
    other.join().map_err(|_| io::Error::other("the self-test's thread panicked"))?
}

/// Four instructions, `SELF_TEST_ITERATIONS` times.
#[inline(never)]
fn spin() {
    // SAFETY: counts a register down.
    unsafe {
        asm!("2: nop", "nop", "dec {0}", "jnz 2b", inout(reg) SELF_TEST_ITERATIONS => _, options(nomem, nostack))
    };
}
