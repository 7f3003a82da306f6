//! I/O ports from user space: the firmware configuration device that brings the job, the debug console that takes the
//! answer, and the panic device that stops the machine. Permission is taken and given back here; while a process holds
//! it every context switch pays for it, so nothing else may run meanwhile.

use std::arch::asm;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{Ordering, compiler_fence};
use vm_init::{ANSWER_PORT, JOB_FILE, STOP_PORT};

const SELECTOR: u16 = 0x510;
const DATA: u16 = 0x511;
const DMA_HIGH: u16 = 0x514;
const DMA_LOW: u16 = 0x518;
const DIRECTORY: u16 = 0x19;
const DMA_ERROR: u32 = 1;
const DMA_READ: u32 = 2;
const DMA_SELECT: u32 = 8;
const PAGE: usize = 4096;

/// The permission, given back when dropped.
pub struct Ports(());

impl Ports {
    /// Asks the kernel for the ports this file names, and no other.
    pub fn open() -> io::Result<Ports> {
        permit(1).map(Ports)
    }

    /// Sends bytes of the answer.
    pub fn send(&self, bytes: &[u8]) {
        // SAFETY: reads exactly `bytes`, writes no memory; the port is permitted.
        unsafe {
            asm!("rep outsb", in("dx") ANSWER_PORT, inout("rsi") bytes.as_ptr() => _, inout("rcx") bytes.len() => _,
                 options(nostack, readonly));
        }
    }

    /// Stops the machine at this instruction; returns in whatever machine goes on from there.
    pub fn stop_machine(&self) {
        // SAFETY: the port is permitted; the device touches no memory of ours.
        unsafe { asm!("out dx, al", in("dx") STOP_PORT, in("al") 1u8, options(nostack, nomem)) };
    }

    /// The job's bytes, if this machine was given one.
    pub fn job(&self) -> io::Result<Option<Pages>> {
        let Some((selector, size)) = self.find(JOB_FILE) else {
            return Ok(None);
        };
        let pages = size.div_ceil(PAGE);
        let buffer = Pages::new(pages + 1)?;
        let pagemap = File::open("/proc/self/pagemap")?;
        // The page after the data holds the command block: control and length, then the address, all big-endian.
        let command = buffer.page(pages).cast::<u32>();
        let command_at = physical(&pagemap, command.cast())?;
        for page in 0..pages {
            let length = (size - page * PAGE).min(PAGE) as u32;
            let select = if page == 0 { DMA_SELECT | u32::from(selector) << 16 } else { 0 };
            let to = physical(&pagemap, buffer.page(page))?;
            // SAFETY: `command` is 16 bytes inside a page of ours, aligned; the device writes only to `to`, a page of
            // ours, and to the command's first word, which is why that one is read as volatile.
            let control = unsafe {
                command.write_volatile((DMA_READ | select).to_be());
                command.add(1).write_volatile(length.to_be());
                command.add(2).cast::<u64>().write_volatile(to.to_be());
                compiler_fence(Ordering::SeqCst);
                out32(DMA_HIGH, ((command_at >> 32) as u32).to_be());
                out32(DMA_LOW, (command_at as u32).to_be());
                compiler_fence(Ordering::SeqCst);
                u32::from_be(command.read_volatile())
            };
            // QEMU answers before the store returns; anything left in the control word is a refusal.
            if control != 0 {
                let why = if control & DMA_ERROR != 0 { "refused" } else { "did not finish" };
                return Err(io::Error::other(format!("fw_cfg {why} to read page {page} of the job")));
            }
        }
        Ok(Some(buffer.of_size(size)))
    }

    /// Selector and size of a file in the device's directory.
    fn find(&self, name: &str) -> Option<(u16, usize)> {
        // SAFETY: the port is permitted; no memory is touched.
        unsafe { asm!("out dx, ax", in("dx") SELECTOR, in("ax") DIRECTORY, options(nostack, nomem)) };
        let count = u32::from_be_bytes(self.read());
        (0..count).find_map(|_| {
            let entry: [u8; 64] = self.read();
            let size = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]) as usize;
            let selector = u16::from_be_bytes([entry[4], entry[5]]);
            (entry[8..].split(|&b| b == 0).next() == Some(name.as_bytes())).then_some((selector, size))
        })
    }

    fn read<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            // SAFETY: the port is permitted; no memory is touched.
            unsafe { asm!("in al, dx", in("dx") DATA, out("al") *byte, options(nostack, nomem)) };
        }
        bytes
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        // Failing to give a permission back cannot happen once it was granted; there is nobody to tell either.
        let _ = permit(0);
    }
}

fn permit(on: i32) -> io::Result<()> {
    for (first, count) in [(SELECTOR, 12), (ANSWER_PORT, 1), (STOP_PORT, 1)] {
        // SAFETY: changes this thread's permissions only.
        if unsafe { libc::ioperm(first.into(), count, on) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// # Safety
/// The port must be permitted, and what the device then does to memory must be sound.
unsafe fn out32(port: u16, value: u32) {
    // SAFETY: the caller's.
    unsafe { asm!("out dx, eax", in("dx") port, in("eax") value, options(nostack)) };
}

/// The physical address of a populated, locked page.
fn physical(pagemap: &File, page: *const u8) -> io::Result<u64> {
    let mut entry = [0; 8];
    pagemap.read_exact_at(&mut entry, (page as usize / PAGE * 8) as u64)?;
    let frame = u64::from_le_bytes(entry) & ((1 << 55) - 1);
    if frame == 0 {
        return Err(io::Error::other("the kernel does not tell where a page is; vm-init must run as root"));
    }
    Ok(frame * PAGE as u64)
}

/// Pages that are in memory and stay where they are, with something in them.
pub struct Pages {
    at: *mut u8,
    size: usize,
    used: usize,
}

impl Pages {
    fn new(count: usize) -> io::Result<Pages> {
        let size = count * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE | libc::MAP_LOCKED;
        // SAFETY: a fresh anonymous mapping.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Pages { at: at.cast(), size, used: 0 })
    }

    fn of_size(mut self, used: usize) -> Pages {
        assert!(used <= self.size, "more than the buffer holds");
        self.used = used;
        self
    }

    fn page(&self, index: usize) -> *mut u8 {
        assert!(index * PAGE < self.size, "a page beyond the buffer");
        // SAFETY: inside the mapping, as just checked.
        unsafe { self.at.add(index * PAGE) }
    }
}

impl std::ops::Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped, and no longer written by the device when it is handed out.
        unsafe { std::slice::from_raw_parts(self.at, self.used) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, to which nothing refers any more.
        unsafe { libc::munmap(self.at.cast(), self.size) };
    }
}
