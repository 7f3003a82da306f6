//! What the machine's self-test must have counted: a loop of known length on either CPU, and nothing in between. The
//! same block of code runs on both CPUs, which is what finds an emulator that does not tell them apart.

use super::counts::{self, Output};
use anyhow::{Result, bail, ensure};
use vm_init::{SELF_TEST_ITERATIONS, answer};

/// Instructions between the marks that belong to no loop: setting up the counter register, the call, the return.
const AROUND: u64 = 16;
/// User instructions of the pipes that start and end the loop on the other CPU.
const HANDOVER: u64 = 4_000;

/// The figures as text, or what is wrong with them.
pub fn judge(sections: &[(String, Vec<u8>)], output: &Output) -> Result<String> {
    if let Some((_, why)) = sections.iter().find(|(name, _)| name == answer::FAULT) {
        bail!("PID 1 of the machine failed: {}", String::from_utf8_lossy(why));
    }
    let [here, empty, there] = &output.windows[..] else {
        bail!("{} windows were counted, not three", output.windows.len());
    };
    let user = |window, cpu| counts::totals(window, cpu).user;
    let loop_length = SELF_TEST_ITERATIONS * 4;
    let figures = [user(here, 0), user(here, 1), user(empty, 0), user(empty, 1), user(there, 0), user(there, 1)];
    let between = |what: &str, got: u64, least: u64, most: u64| {
        ensure!(
            (least..=most).contains(&got),
            "{what}: {got} user instructions counted, {least} to {most} expected (all: {figures:?})"
        );
        Ok(())
    };
    between("a loop on CPU 0", figures[0], loop_length, loop_length + AROUND)?;
    between("CPU 1 beside that loop", figures[1], 0, 0)?;
    between("an empty window on CPU 0", figures[2], 0, AROUND)?;
    between("an empty window on CPU 1", figures[3], 0, 0)?;
    between("CPU 0 beside the loop on CPU 1", figures[4], 0, HANDOVER)?;
    between("the same loop on CPU 1", figures[5], loop_length, loop_length + HANDOVER)?;
    ensure!(
        output.finished && output.foreign.is_empty() && output.stray.is_empty(),
        "marks were out of place: {output:?}"
    );
    let [a, b, c, d, e, f] = figures;
    Ok(format!("user instructions on CPU 0 and 1: loop here {a} {b}, nothing {c} {d}, loop there {e} {f}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use counts::Block;

    fn block(cpu: usize, instructions: u64) -> Block {
        Block { cpu, address: 0x400000, instructions, repeated: false, times: 1 }
    }

    fn output(loop_here: u64, cpu_of_loop_there: usize) -> Output {
        let there = vec![block(cpu_of_loop_there, 4_000_200)];
        Output {
            windows: vec![vec![block(0, loop_here)], vec![block(0, 3)], there],
            finished: true,
            ..Output::default()
        }
    }

    #[test]
    fn a_right_count_passes_and_says_its_figures() {
        assert!(judge(&[], &output(4_000_003, 1)).unwrap().contains("4000003"));
    }

    #[test]
    fn a_count_that_is_off_or_on_the_wrong_cpu_is_refused() {
        assert!(judge(&[], &output(3_999_999, 1)).unwrap_err().to_string().contains("a loop on CPU 0"));
        assert!(judge(&[], &output(4_000_003, 0)).unwrap_err().to_string().contains("beside the loop on CPU 1"));
        assert!(judge(&[], &Output::default()).unwrap_err().to_string().contains("not three"));
    }
}
