//! The edges of the counted window, for whoever counts.

/// Is told when the window opens and closes; nothing is in flight at either moment. Called on the driving thread, so
/// what it does is not the server's work.
pub trait Window {
    /// The next request belongs to the window.
    fn opens(&self);
    /// The last answer of the window is in.
    fn closes(&self);
}

/// Marks that a meter outside the machine sees: an instruction that does nothing but be recognised.
#[derive(Debug, Clone, Copy)]
pub struct Marks;

impl Window for Marks {
    fn opens(&self) {
        // SAFETY: a NOP with an operand; it reads and writes nothing.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(".byte 0x0f, 0x1f, 0x84, 0x00, 0x01, 0xde, 0xc0, 0x5e", options(nostack, preserves_flags));
        }
    }

    fn closes(&self) {
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(".byte 0x0f, 0x1f, 0x84, 0x00, 0x02, 0xde, 0xc0, 0x5e", options(nostack, preserves_flags));
        }
    }
}
