//! Marks that a meter outside the machine sees: an instruction that does nothing but be recognised.

/// The window begins.
pub fn begin() {
    // SAFETY: a NOP with an operand; it reads and writes nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(".byte 0x0f, 0x1f, 0x84, 0x00, 0x01, 0xde, 0xc0, 0x5e", options(nostack, preserves_flags));
    }
}

/// The window ends.
pub fn end() {
    // SAFETY: as above.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(".byte 0x0f, 0x1f, 0x84, 0x00, 0x02, 0xde, 0xc0, 0x5e", options(nostack, preserves_flags));
    }
}
