//! From blocks to functions: the kernel's symbols and the server's own, and what each cost in the window. Exact: every
//! instruction of the server's CPU is in one line of it.

use super::counts::Block;
use crate::judge::sample::{FunctionCost, Mode};
use anyhow::{Context, Result};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, HashMap};

/// Names by address.
#[derive(Debug, Default)]
pub struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// The kernel's, from `ADDRESS NAME` lines.
    pub fn kernel(text: &str) -> Result<Symbols> {
        let mut all = Vec::new();
        for line in text.lines() {
            let (address, name) = line.split_once(' ').context("a line of the kernel's symbols has no name")?;
            all.push((u64::from_str_radix(address, 16)?, name.to_owned()));
        }
        all.sort_by_key(|(address, _)| *address);
        Ok(Symbols(all))
    }

    /// The server's: the ELF's functions, moved to where the machine loaded it, and the regions that are not the ELF's.
    pub fn server(elf: &[u8], maps: &str, path: &str) -> Result<Symbols> {
        let file = object::File::parse(elf).context("the server is no ELF file")?;
        let regions: Vec<Region> = maps.lines().filter_map(Region::parse).collect();
        let mut all = Vec::new();
        for region in regions.iter().filter(|r| r.name != path) {
            let name = if region.name.is_empty() { "[anonymous memory]" } else { region.name };
            all.push((region.start, name.to_owned()));
        }
        if let Some(moved) = moved(&file, maps, path) {
            all.push((linked(&file).wrapping_add(moved), "[no symbol]".to_owned()));
            for symbol in file.symbols().chain(file.dynamic_symbols()) {
                if symbol.kind() == SymbolKind::Text && symbol.is_definition() {
                    let name = symbol.name().unwrap_or("[unreadable name]");
                    all.push((symbol.address().wrapping_add(moved), format!("{:#}", rustc_demangle::demangle(name))));
                }
            }
        }
        all.sort_by_key(|(address, _)| *address);
        Ok(Symbols(all))
    }

    /// The function an address lies in.
    pub fn name(&self, address: u64) -> &str {
        match self.0.partition_point(|(at, _)| *at <= address) {
            0 => "[unknown]",
            after => &self.0[after - 1].1,
        }
    }

    /// The address of a function.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(_, n)| n == name).map(|(address, _)| *address)
    }
}

/// How far from where it was linked an ELF was loaded; `None` if it lies nowhere in `maps`.
pub fn moved(file: &object::File<'_>, maps: &str, path: &str) -> Option<u64> {
    let regions = maps.lines().filter_map(Region::parse);
    let loaded = regions.filter(|region| region.name == path).map(|region| region.start).min()?;
    Some(loaded.wrapping_sub(linked(file)))
}

/// The page where an ELF begins, as it was linked.
fn linked(file: &object::File<'_>) -> u64 {
    file.segments().map(|segment| segment.address()).min().unwrap_or(0) & !0xfff
}

/// The part of an ELF file that is loaded: what lies behind (symbols, debugging information) need not go into the
/// machine. What is no ELF is passed on whole, for the machine to refuse.
pub fn loaded_part(elf: &[u8]) -> &[u8] {
    let Ok(file) = object::File::parse(elf) else { return elf };
    let end = file.segments().map(|s| s.file_range()).map(|(at, size)| at.saturating_add(size)).max();
    end.and_then(|end| elf.get(..end as usize)).unwrap_or(elf)
}

/// Instructions per function on `cpu`, dearest first.
pub fn profile(window: &[Block], cpu: usize, kernel: &Symbols, server: &Symbols) -> Vec<FunctionCost> {
    let mut costs: HashMap<(&str, Mode), u64> = HashMap::new();
    for block in window.iter().filter(|b| b.cpu == cpu && !b.repeated) {
        let (symbols, mode) = if block.in_kernel() { (kernel, Mode::Kernel) } else { (server, Mode::User) };
        *costs.entry((symbols.name(block.address), mode)).or_default() += block.cost();
    }
    let function =
        |((name, mode), instructions): ((&str, Mode), u64)| FunctionCost { name: name.to_owned(), mode, instructions };
    let mut profile: Vec<FunctionCost> = costs.into_iter().map(function).collect();
    profile.sort_by(|a, b| b.instructions.cmp(&a.instructions).then_with(|| a.name.cmp(&b.name)));
    profile
}

/// How often `cpu` entered function `name`.
pub fn calls(window: &[Block], cpu: usize, kernel: &Symbols, name: &str) -> u64 {
    let Some(address) = kernel.address(name) else { return 0 };
    window.iter().filter(|b| b.cpu == cpu && b.address == address).map(|b| b.times).sum()
}

/// How often `cpu` entered each function whose name begins with `prefix`, by the rest of its name; those it never entered
/// are left out.
pub fn calls_by_name(window: &[Block], cpu: usize, kernel: &Symbols, prefix: &str) -> BTreeMap<String, u64> {
    let named: HashMap<u64, &str> =
        kernel.0.iter().filter_map(|(address, name)| Some((*address, name.strip_prefix(prefix)?))).collect();
    let mut calls = BTreeMap::new();
    for block in window.iter().filter(|b| b.cpu == cpu) {
        if let Some(name) = named.get(&block.address) {
            *calls.entry((*name).to_owned()).or_default() += block.times;
        }
    }
    calls
}

struct Region<'a> {
    start: u64,
    name: &'a str,
}

impl Region<'_> {
    /// A line of `/proc/PID/maps`: range, permissions, offset, device, inode, name.
    fn parse(line: &str) -> Option<Region<'_>> {
        let (range, rest) = line.split_once(' ')?;
        let (start, _) = range.split_once('-')?;
        let name = rest.splitn(5, ' ').nth(4).map_or("", str::trim);
        Some(Region { start: u64::from_str_radix(start, 16).ok()?, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(cpu: usize, address: u64, instructions: u64, times: u64) -> Block {
        Block { cpu, address, instructions, repeated: false, times }
    }

    #[test]
    fn instructions_go_to_the_function_they_lie_in_and_to_the_server_s_cpu_only() {
        let kernel = Symbols::kernel("ffffffff81000000 tcp_sendmsg\nffffffff81001000 tcp_ack\n").unwrap();
        let server = Symbols(vec![(0x1000, "parse".into()), (0x2000, "answer".into())]);
        let window = [
            block(1, 0xffff_ffff_8100_0010, 5, 3),
            block(1, 0xffff_ffff_8100_0fff, 1, 1),
            block(1, 0x1fff, 2, 4),
            block(0, 0x1000, 100, 100),
            Block { repeated: true, ..block(1, 0x1000, 1, 4096) },
        ];
        let cost = |name: &str, mode, instructions| FunctionCost { name: name.into(), mode, instructions };
        assert_eq!(
            profile(&window, 1, &kernel, &server),
            [cost("tcp_sendmsg", Mode::Kernel, 16), cost("parse", Mode::User, 8)]
        );
        assert_eq!(server.name(0xfff), "[unknown]");
    }

    #[test]
    fn calls_are_entries_at_a_function_s_first_instruction() {
        let kernel = Symbols::kernel("ffffffff81000000 do_epoll_wait\n").unwrap();
        let window = [block(1, 0xffff_ffff_8100_0000, 5, 7), block(1, 0xffff_ffff_8100_0010, 5, 9)];
        assert_eq!(calls(&window, 1, &kernel, "do_epoll_wait"), 7);
        assert_eq!(calls(&window, 0, &kernel, "do_epoll_wait"), 0);
        let polls = BTreeMap::from([("epoll_wait".to_owned(), 7)]);
        assert_eq!(calls_by_name(&window, 1, &kernel, "do_"), polls);
        assert_eq!(calls_by_name(&window, 0, &kernel, "do_"), BTreeMap::new());
    }

    #[test]
    fn a_server_s_functions_are_found_where_the_machine_loaded_it() {
        let elf = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let maps = "7fff00000000-7ffff0000000 r-xp 00000000 00:02 5     /candidate\n7ffff7200000-7ffff7201000 r-xp 00000000 00:00 0   [vdso]\n7ffff7300000-7ffff7400000 rw-p 00000000 00:00 0 \n";
        let symbols = Symbols::server(&elf, maps, "/candidate").unwrap();
        let file = object::File::parse(&*elf).unwrap();
        let here =
            file.symbols().find(|s| s.name().is_ok_and(|n| n.contains("instructions_go_to_the_function"))).unwrap();
        let name = symbols.name(0x7fff_0000_0000 + here.address());
        assert!(name.contains("instructions_go_to_the_function") && !name.contains("17h"), "{name}");
        assert_eq!(symbols.name(0x7fff_f720_0010), "[vdso]");
        assert_eq!(symbols.name(0x7fff_f730_0010), "[anonymous memory]");
    }
}
