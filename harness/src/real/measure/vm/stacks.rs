//! From blocks to stacks of functions with the inlined ones resolved: every instruction of the window on its own, by the
//! line tables of the server's ELF. The calls between functions are not known.

use std::collections::HashMap;

use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian};
use anyhow::{Context as _, Result, anyhow};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Object as _, ObjectSection as _, ObjectSegment as _};

use super::counts::Block;
use super::profile::{Symbols, moved};
use crate::judge::profile::Stack;
use crate::judge::sample::Mode;

type Lines<'a> = addr2line::Context<EndianSlice<'a, LittleEndian>>;

/// The stacks of `cpu` in this window, dearest first; their instructions are all of the CPU's.
///
/// # Errors
/// When the ELF or its line tables cannot be read.
pub fn stacks(window: &[Block], cpu: usize, kernel: &Symbols, server: &Server) -> Result<Vec<Stack>> {
    let mut times: HashMap<u64, u64> = HashMap::new();
    let mut costs: HashMap<(Mode, Vec<String>), u64> = HashMap::new();
    for block in window.iter().filter(|block| block.cpu == cpu && !block.repeated) {
        if block.in_kernel() {
            *costs.entry((Mode::Kernel, vec![kernel.name(block.address).to_owned()])).or_default() += block.cost();
        } else {
            server.instructions(block).into_iter().for_each(|at| *times.entry(at).or_default() += block.times);
        }
    }
    for (address, times) in times {
        *costs.entry((Mode::User, server.frames(address)?)).or_default() += times;
    }
    let mut stacks: Vec<Stack> =
        costs.into_iter().map(|((mode, frames), instructions)| Stack { mode, frames, instructions }).collect();
    stacks.sort_by(|a, b| b.instructions.cmp(&a.instructions).then_with(|| a.frames.cmp(&b.frames)));
    Ok(stacks)
}

/// A server's ELF as the machine had loaded it.
pub struct Server<'a> {
    elf: object::File<'a>,
    lines: Lines<'a>,
    symbols: Symbols,
    /// How far from where it was linked it was loaded.
    moved: u64,
}

impl<'a> Server<'a> {
    /// The server at `path` of the machine, where `maps` says what lies where.
    ///
    /// # Errors
    /// When it is no ELF, or its line tables are malformed.
    pub fn new(elf: &'a [u8], maps: &str, path: &str) -> Result<Server<'a>> {
        let symbols = Symbols::server(elf, maps, path)?;
        let file = object::File::parse(elf).context("the server is no ELF file")?;
        let section = |id: addr2line::gimli::SectionId| -> Result<EndianSlice<'a, LittleEndian>> {
            let data = file.section_by_name(id.name()).map_or(Ok(&[][..]), |section| section.data());
            Ok(EndianSlice::new(data.with_context(|| format!("reading {}", id.name()))?, LittleEndian))
        };
        let lines = Lines::from_dwarf(Dwarf::load(section)?).map_err(|error| anyhow!("the line tables: {error}"))?;
        let moved = moved(&file, maps, path).unwrap_or(0);
        Ok(Server { elf: file, lines, symbols, moved })
    }

    /// Addresses of a block's instructions; where its bytes are not the ELF's, all are taken to lie at its beginning.
    fn instructions(&self, block: &Block) -> Vec<u64> {
        let linked = block.address.wrapping_sub(self.moved);
        let bytes = self.elf.segments().find_map(|segment| {
            let offset = usize::try_from(linked.checked_sub(segment.address())?).ok()?;
            segment.data().ok()?.get(offset..)
        });
        let mut decoder = Decoder::with_ip(64, bytes.unwrap_or_default(), block.address, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        (0..block.instructions)
            .map(|_| {
                if !decoder.can_decode() {
                    return block.address;
                }
                decoder.decode_out(&mut instruction);
                instruction.ip()
            })
            .collect()
    }

    /// The function at an address, and below it those that were inlined there, the innermost last.
    fn frames(&self, address: u64) -> Result<Vec<String>> {
        let unread = |error| anyhow!("the line tables at {address:#x}: {error}");
        let mut found = self.lines.find_frames(address.wrapping_sub(self.moved)).skip_all_loads().map_err(unread)?;
        let mut frames = Vec::new();
        while let Some(frame) = found.next().map_err(unread)? {
            if let Some(name) = frame.function {
                let name = name.raw_name().map_err(unread)?;
                frames.push(format!("{:#}", rustc_demangle::demangle(&name)));
            }
        }
        if frames.is_empty() {
            // Code without line tables: the C library, the page of the kernel's that user code may call.
            frames.push(self.symbols.name(address).to_owned());
        }
        frames.reverse();
        Ok(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn outer_function_of_this_test(x: u64) -> u64 {
        inlined_function_of_this_test(x) ^ 0x5a5a
    }

    #[inline(always)]
    fn inlined_function_of_this_test(x: u64) -> u64 {
        std::hint::black_box(x).wrapping_mul(0x9e37_79b9).rotate_left(7)
    }

    #[test]
    fn every_instruction_of_a_block_has_its_function_and_those_inlined_there() {
        let elf = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let maps = "7fff00000000-7ffff0000000 r-xp 00000000 00:02 5     /server\n";
        let server = Server::new(&elf, maps, "/server").unwrap();
        let at = outer_function_of_this_test as fn(u64) -> u64 as usize as u64;
        assert_eq!(outer_function_of_this_test(1), outer_function_of_this_test(1));
        // Where this process has it, less where this process was loaded, plus where the machine would have loaded it.
        let own = std::fs::read_to_string("/proc/self/maps").unwrap();
        let here =
            own.lines().find(|line| line.contains(&*std::env::current_exe().unwrap().to_string_lossy())).unwrap();
        let loaded = u64::from_str_radix(here.split('-').next().unwrap(), 16).unwrap();
        let address = at - loaded + 0x7fff_0000_0000;
        let block = |instructions, times| Block { cpu: 1, address, instructions, repeated: false, times };
        let kernel = Symbols::kernel("ffffffff81000000 tcp_sendmsg\n").unwrap();
        let mut window = vec![block(6, 10)];
        window.push(Block { address: 0xffff_ffff_8100_0004, ..block(3, 5) });
        window.push(Block { cpu: 0, ..block(6, 99) });
        let stacks = stacks(&window, 1, &kernel, &server).unwrap();
        assert_eq!(stacks.iter().map(|stack| stack.instructions).sum::<u64>(), 75, "{stacks:#?}");
        let user: Vec<&Stack> = stacks.iter().filter(|stack| stack.mode == Mode::User).collect();
        assert!(user.iter().all(|stack| stack.frames[0].ends_with("outer_function_of_this_test")), "{user:#?}");
        assert!(
            user.iter().any(|stack| stack.frames[1..].iter().any(|f| f.ends_with("inlined_function_of_this_test")))
        );
        assert!(stacks.contains(&Stack { mode: Mode::Kernel, frames: vec!["tcp_sendmsg".into()], instructions: 15 }));
    }
}
