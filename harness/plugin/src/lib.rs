//! A QEMU plugin (API v4) that counts every instruction the emulated machine retires between two marks.
//!
//! What QEMU calls is in `callbacks`, how blocks are kept and counted in `counts`, how instruction bytes are read in
//! `decode`, what QEMU offers in `qemu`. What the numbers mean, and whose they are, the harness decides, not this.
//!
//! Every translated block gets a slot; executing it adds 1 to `count[cpu][slot]`. A block is counted when it is entered:
//! one that is left early by a fault is counted whole, and again from where it resumes. That is a property of the guest's
//! execution, so it is the same in every run.

// Symbols that only the emulator has: a unit test could not be linked with them.
#[cfg(not(test))]
mod callbacks;
mod counts;
mod decode;
#[cfg(not(test))]
mod qemu;
