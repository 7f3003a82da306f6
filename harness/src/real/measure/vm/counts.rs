//! What the counter plugin wrote, read back: windows of blocks, and marks that were executed where they must not be.

use anyhow::{Context, Result, bail};

/// A block of code and how often a CPU entered it in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// 0 is the load generator's, 1 the server's.
    pub cpu: usize,
    /// Address of its first instruction.
    pub address: u64,
    /// Instructions in it.
    pub instructions: u64,
    /// Whether it is one iteration of a repeated string instruction.
    pub repeated: bool,
    /// Times it was entered.
    pub times: u64,
}

impl Block {
    /// Kernel code lies in the upper half of the address space.
    pub fn in_kernel(&self) -> bool {
        self.address >> 63 == 1
    }

    /// Instructions this block accounts for in the window.
    pub fn cost(&self) -> u64 {
        self.instructions * self.times
    }
}

/// Sums over one CPU's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Instructions in user mode.
    pub user: u64,
    /// Instructions in kernel mode.
    pub kernel: u64,
    /// Iterations of repeated string instructions, in neither of the above.
    pub repeated: u64,
}

/// Everything one machine counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The windows, in order.
    pub windows: Vec<Vec<Block>>,
    /// Marks executed on another CPU than the load generator's: which mark, which CPU.
    pub foreign: Vec<(u8, usize)>,
    /// Marks on the right CPU that fit nowhere.
    pub stray: Vec<u8>,
    /// Whether the machine reached its end.
    pub finished: bool,
}

/// The sums of one CPU's blocks.
pub fn totals(window: &[Block], cpu: usize) -> Totals {
    let mut totals = Totals::default();
    for block in window.iter().filter(|b| b.cpu == cpu) {
        let sum = match (block.repeated, block.in_kernel()) {
            (true, _) => &mut totals.repeated,
            (false, true) => &mut totals.kernel,
            (false, false) => &mut totals.user,
        };
        *sum += block.cost();
    }
    totals
}

/// Reads the plugin's text. A half-written window is an error, never a smaller window.
pub fn parse(text: &str) -> Result<Output> {
    let mut output = Output::default();
    let mut open: Option<Vec<Block>> = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match (words[..].split_first(), &mut open) {
            (Some((&"block", rest)), Some(window)) => {
                window.push(block(rest).with_context(|| format!("the counter wrote a malformed line: {line:?}"))?);
            }
            (Some((&"window", [])), None) => open = Some(Vec::new()),
            (Some((&"end", [])), Some(_)) => output.windows.extend(open.take()),
            (Some((&"foreign", [mark, cpu])), None) => output.foreign.push((mark.parse()?, cpu.parse()?)),
            (Some((&"stray", [mark])), None) => output.stray.push(mark.parse()?),
            (Some((&"finished", [])), None) => output.finished = true,
            _ => bail!("the counter wrote a line that does not belong there: {line:?}"),
        }
    }
    if open.is_some() {
        bail!("the counter's last window is cut off");
    }
    Ok(output)
}

fn block(words: &[&str]) -> Option<Block> {
    let [cpu, address, instructions, repeated, times] = words else { return None };
    Some(Block {
        cpu: cpu.parse().ok()?,
        address: u64::from_str_radix(address, 16).ok()?,
        instructions: instructions.parse().ok()?,
        repeated: *repeated == "1",
        times: times.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "window\nblock 0 400000 3 0 10\nblock 1 401000 4 0 100\nblock 1 ffffffff81000000 7 0 5\n\
                        block 1 ffffffff82000000 1 1 4096\nend\nforeign 1 1\nstray 2\nfinished\n";

    #[test]
    fn user_kernel_and_repeated_are_summed_apart_and_by_cpu() {
        let output = parse(TEXT).unwrap();
        assert_eq!(totals(&output.windows[0], 1), Totals { user: 400, kernel: 35, repeated: 4096 });
        assert_eq!(totals(&output.windows[0], 0), Totals { user: 30, kernel: 0, repeated: 0 });
        assert_eq!((output.foreign, output.stray, output.finished), (vec![(1, 1)], vec![2], true));
    }

    #[test]
    fn a_window_that_is_cut_off_or_garbled_is_an_error() {
        assert!(parse("window\nblock 0 400000 3 0 10\n").unwrap_err().to_string().contains("cut off"));
        assert!(parse("window\nblock 0 400000 3 0\nend\n").unwrap_err().to_string().contains("malformed"));
        assert!(parse("block 0 400000 3 0 1\n").unwrap_err().to_string().contains("does not belong"));
        assert_eq!(parse("").unwrap(), Output::default());
    }
}
