//! The table of blocks and how often each CPU entered each of them. Knows nothing of QEMU.
//!
//! Written as text, one window after another:
//! ```text
//! window
//! block CPU ADDRESS INSTRUCTIONS REPEATED TIMES      one line for every block entered in the window; the address is hex
//! end
//! ```

use std::collections::HashMap;
use std::io::{self, Write};

/// CPUs of the machine: the load generator's and the server's.
const CPUS: usize = 2;
/// Room for blocks. Boot and a measurement translate under 100,000; running out is refused, never wrapped.
const SLOTS: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Block {
    address: u64,
    instructions: u32,
    repeated: bool,
}

pub struct Counts {
    cpus: [usize; CPUS],
    slots: HashMap<Block, usize>,
    blocks: Vec<Block>,
    times: [Box<[u64]>; CPUS],
}

impl Counts {
    pub fn new() -> Counts {
        let row = || vec![0u64; SLOTS].into_boxed_slice();
        Counts { cpus: [0; CPUS], slots: HashMap::new(), blocks: Vec::new(), times: [row(), row()] }
    }

    /// Remembers that CPU `index` is the one QEMU keeps at `pointer`.
    pub fn cpu_is(&mut self, index: usize, pointer: usize) -> Result<(), String> {
        if index >= CPUS {
            return Err(format!("the machine has a CPU {index}; this counter knows {CPUS} CPUs"));
        }
        if pointer == 0 || self.cpus.contains(&pointer) {
            return Err(format!(
                "QEMU's current_cpu does not tell CPU {index} from the others; this QEMU cannot be used"
            ));
        }
        self.cpus[index] = pointer;
        Ok(())
    }

    /// Which CPU is at `pointer`.
    #[inline(always)]
    pub fn cpu(&self, pointer: usize) -> usize {
        usize::from(pointer == self.cpus[1])
    }

    /// The slot of a block; the same block translated again gets the same slot.
    pub fn slot(&mut self, address: u64, instructions: u32, repeated: bool) -> Result<usize, String> {
        let block = Block { address, instructions, repeated };
        if let Some(&slot) = self.slots.get(&block) {
            return Ok(slot);
        }
        let slot = self.blocks.len();
        if slot == SLOTS {
            return Err(format!("the guest executed more than {SLOTS} different blocks of code"));
        }
        self.blocks.push(block);
        self.slots.insert(block, slot);
        Ok(slot)
    }

    /// One more entry into the block in `slot`.
    #[inline(always)]
    pub fn add(&mut self, pointer: usize, slot: usize) {
        let cpu = self.cpu(pointer);
        // SAFETY: `slot` came from `slot()`, which never gives one beyond the rows' length.
        unsafe { *self.times[cpu].get_unchecked_mut(slot) += 1 };
    }

    /// Forgets every entry so far.
    pub fn clear(&mut self) {
        let used = self.blocks.len();
        for row in &mut self.times {
            row[..used].fill(0);
        }
    }

    /// Writes the entries since `clear` as one window.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "window")?;
        for (cpu, row) in self.times.iter().enumerate() {
            for (block, times) in self.blocks.iter().zip(row).filter(|(_, times)| **times > 0) {
                let Block { address, instructions, repeated } = block;
                writeln!(out, "block {cpu} {address:x} {instructions} {} {times}", u8::from(*repeated))?;
            }
        }
        writeln!(out, "end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_cpus() -> Counts {
        let mut counts = Counts::new();
        counts.cpu_is(0, 0x1000).unwrap();
        counts.cpu_is(1, 0x2000).unwrap();
        counts
    }

    #[test]
    fn entries_are_kept_apart_by_cpu_and_forgotten_by_clear() {
        let mut counts = two_cpus();
        let early = counts.slot(0x400000, 3, false).unwrap();
        counts.add(0x1000, early);
        counts.clear();
        let late = counts.slot(0xffff_ffff_8100_0000, 7, true).unwrap();
        counts.add(0x1000, early);
        counts.add(0x2000, late);
        counts.add(0x2000, late);
        let mut text = Vec::new();
        counts.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text, "window\nblock 0 400000 3 0 1\nblock 1 ffffffff81000000 7 1 2\nend\n");
    }

    #[test]
    fn a_block_translated_again_keeps_its_slot_and_another_length_is_another_block() {
        let mut counts = two_cpus();
        let slot = counts.slot(0x1234, 5, false).unwrap();
        assert_eq!(counts.slot(0x1234, 5, false), Ok(slot));
        assert_ne!(counts.slot(0x1234, 4, false), Ok(slot));
    }

    #[test]
    fn cpus_that_cannot_be_told_apart_are_refused() {
        let mut counts = Counts::new();
        assert!(counts.cpu_is(0, 0).unwrap_err().contains("current_cpu"));
        counts.cpu_is(0, 0x1000).unwrap();
        assert!(counts.cpu_is(1, 0x1000).is_err());
        assert!(counts.cpu_is(2, 0x3000).unwrap_err().contains("CPU 2"));
    }
}
