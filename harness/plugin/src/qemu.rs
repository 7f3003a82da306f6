//! The few functions of QEMU's plugin interface that are used, declared by hand (no header is packaged), and the one
//! thing the interface does not tell truthfully: which CPU is running.

use std::ffi::{c_int, c_uint, c_void};

/// The callback reads no guest registers.
pub const NO_REGISTERS: c_int = 0;

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_init_cb(id: u64, callback: extern "C" fn(u64, c_uint));
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, callback: extern "C" fn(u64, *mut c_void));
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut c_void,
        callback: extern "C" fn(c_uint, *mut c_void),
        flags: c_int,
        userdata: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut c_void,
        callback: extern "C" fn(c_uint, *mut c_void),
        flags: c_int,
        userdata: *mut c_void,
    );
    pub fn qemu_plugin_tb_n_insns(block: *const c_void) -> usize;
    pub fn qemu_plugin_tb_vaddr(block: *const c_void) -> u64;
    pub fn qemu_plugin_tb_get_insn(block: *const c_void, index: usize) -> *mut c_void;
    pub fn qemu_plugin_insn_data(instruction: *const c_void, to: *mut c_void, size: usize) -> usize;
    /// The C library's immediate exit.
    pub fn _exit(code: c_int) -> !;
}

/// QEMU's thread-local pointer to the CPU this thread is running, or null.
///
/// Read in the initial-exec way, which needs the emulator to export the symbol: where it does not, the plugin does not
/// load and the dynamic linker names the missing symbol, which is what should happen.
#[inline(always)]
pub fn current_cpu() -> usize {
    let cpu: usize;
    // SAFETY: the thread-local is a pointer, defined by the executable that loads this plugin; it is only read.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr [rip + current_cpu@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) cpu,
            options(nostack, readonly, preserves_flags, pure)
        );
    }
    cpu
}
