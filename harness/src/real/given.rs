//! Servers that are given as a file, not built from a commit. They must be programs that the emulated machine can run,
//! which holds nothing but the file: static ones for x86-64.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use object::Endianness;
use object::elf::{EM_X86_64, ET_DYN, ET_EXEC};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use sha2::{Digest as _, Sha256};

use crate::data::durable::hex;

/// SHA-256 of the server in this file, hex.
///
/// # Errors
/// Why the emulated machine could not run it, and how to make one that it can.
pub fn server(path: &Path) -> Result<String> {
    let bytes =
        std::fs::read(path).with_context(|| format!("the server {} cannot be read: is it built?", path.display()))?;
    runnable(&bytes).with_context(|| format!("{} cannot be measured", path.display()))?;
    Ok(hex(&Sha256::digest(&bytes)))
}

fn runnable(bytes: &[u8]) -> Result<()> {
    let file = ElfFile64::<Endianness>::parse(bytes)
        .ok()
        .filter(|file| [ET_EXEC, ET_DYN].contains(&file.elf_header().e_type(file.endian())))
        .context("it is no 64-bit ELF program: give the server's built binary")?;
    let machine = file.elf_header().e_machine(file.endian());
    ensure!(machine == EM_X86_64, "it is not built for x86-64: build it with --target {}", super::build::TARGET);
    for header in file.elf_program_headers() {
        if let Some(loader) = header.interpreter(file.endian(), bytes).context("its program headers are damaged")? {
            bail!(
                "it is linked dynamically (it asks for {}), and the emulated machine holds only the given file: link it \
                 statically, in Rust with RUSTFLAGS=\"-C target-feature=+crt-static\" and --target {}, in C with -static",
                String::from_utf8_lossy(loader),
                super::build::TARGET
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_program_is_taken_and_what_the_machine_cannot_run_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server");
        let given = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            server(&path).map_err(|error| format!("{error:#}"))
        };
        let dynamic = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let refused = given(&dynamic).unwrap_err();
        assert!(refused.contains("ld-linux") && refused.contains("crt-static"), "{refused}");

        // The same program without its wish for a loader, as the type of that header says.
        let mut lonely = dynamic.clone();
        let first = usize::try_from(u64::from_le_bytes(lonely[32..40].try_into().unwrap())).unwrap();
        let wish = (0..).map(|n| first + 56 * n).find(|at| lonely[*at..*at + 4] == 3_u32.to_le_bytes()).unwrap();
        lonely[wish] = 0;
        assert_eq!(given(&lonely).unwrap(), hex(&Sha256::digest(&lonely)));

        let mut other = lonely.clone();
        other[18..20].copy_from_slice(&183_u16.to_le_bytes());
        assert!(given(&other).unwrap_err().contains("not built for x86-64"));
        assert!(given(&dynamic[..40]).unwrap_err().contains("no 64-bit ELF program"));
        assert!(given(b"#!/bin/sh\n").unwrap_err().contains("no 64-bit ELF program"));
    }
}
