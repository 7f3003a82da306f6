//! What QEMU calls: at installation, when a CPU appears, when a block is translated, executed, or is a mark.

use crate::counts::Counts;
use crate::decode::{is_repeated, mark_of};
use crate::qemu;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::{BufWriter, Write};

/// Begins a window: every count is set to zero.
const BEGIN: u8 = 1;
/// Ends a window: its counts are written out.
const END: u8 = 2;
/// Ends the machine: the output is closed and the emulator exits.
const FINISH: u8 = 3;

/// The CPU whose marks are obeyed; a mark executed on any other was executed by the candidate.
const MARKING_CPU: usize = 0;

struct Plugin {
    counts: Counts,
    out: BufWriter<File>,
    open: bool,
}

/// Set once in `qemu_plugin_install`.
static PLUGIN: Single = Single(UnsafeCell::new(None));

struct Single(UnsafeCell<Option<Plugin>>);

// SAFETY: under icount every CPU of the machine runs in one thread, and callbacks never overlap.
unsafe impl Sync for Single {}

/// The plugin API version this was written for; QEMU reads it before anything else.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = 4;

fn plugin() -> &'static mut Plugin {
    // SAFETY: set before any callback is registered; nothing keeps the reference beyond its own callback.
    unsafe { (*PLUGIN.0.get()).as_mut().unwrap_unchecked() }
}

/// Says why on stderr, which the harness keeps, and ends the emulator: a count that may be wrong must not exist.
fn refuse(why: &str) -> ! {
    eprintln!("vm-counter: {why}");
    // SAFETY: ends this process; unlike `exit` it does not run the emulator's own handlers from inside a callback.
    unsafe { qemu::_exit(70) }
}

/// Called by QEMU when the plugin is loaded, with `out=FILE` as its only argument.
///
/// # Safety
/// Called by QEMU, with `argc` C strings at `argv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    _info: *const c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    let mut path = None;
    for i in 0..argc as usize {
        // SAFETY: the contract above.
        let arg = unsafe { CStr::from_ptr(*argv.add(i)) }.to_string_lossy();
        match arg.strip_prefix("out=") {
            Some(p) => path = Some(p.to_owned()),
            None => refuse(&format!("unknown argument {arg:?}; give out=FILE")),
        }
    }
    let Some(path) = path else { refuse("no output file; give out=FILE") };
    let file = File::create(&path).unwrap_or_else(|e| refuse(&format!("cannot create {path}: {e}")));
    // SAFETY: nothing is registered yet, so nobody else looks at it.
    unsafe { *PLUGIN.0.get() = Some(Plugin { counts: Counts::new(), out: BufWriter::new(file), open: false }) };
    // SAFETY: `id` is the one QEMU gave, and the callbacks have the signatures it documents.
    unsafe {
        qemu::qemu_plugin_register_vcpu_init_cb(id, on_cpu);
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    }
    0
}

extern "C" fn on_cpu(_id: u64, index: c_uint) {
    if let Err(why) = plugin().counts.cpu_is(index as usize, qemu::current_cpu()) {
        refuse(&why);
    }
}

extern "C" fn on_translate(_id: u64, block: *mut c_void) {
    // SAFETY: QEMU passes a block that lives for this call; every instruction asked for is inside it.
    unsafe {
        let length = qemu::qemu_plugin_tb_n_insns(block);
        let mut repeated = false;
        for i in 0..length {
            let instruction = qemu::qemu_plugin_tb_get_insn(block, i);
            let mut bytes = [0u8; 16];
            let size = qemu::qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), bytes.len());
            let bytes = &bytes[..size.min(16)];
            repeated = length == 1 && is_repeated(bytes);
            if let Some(mark) = mark_of(bytes) {
                qemu::qemu_plugin_register_vcpu_insn_exec_cb(
                    instruction,
                    on_mark,
                    qemu::NO_REGISTERS,
                    mark as usize as *mut c_void,
                );
            }
        }
        let address = qemu::qemu_plugin_tb_vaddr(block);
        match plugin().counts.slot(address, length as u32, repeated) {
            Ok(slot) => {
                qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, on_execute, qemu::NO_REGISTERS, slot as *mut c_void)
            }
            Err(why) => refuse(&why),
        }
    }
}

/// The hot path: one compare and one add. The index QEMU passes is wrong under icount (it is that of the CPU which
/// translated the block), so it is ignored and `current_cpu` is asked.
extern "C" fn on_execute(_wrong_index: c_uint, slot: *mut c_void) {
    plugin().counts.add(qemu::current_cpu(), slot as usize);
}

extern "C" fn on_mark(_wrong_index: c_uint, mark: *mut c_void) {
    let plugin = plugin();
    let mark = mark as usize as u8;
    let cpu = plugin.counts.cpu(qemu::current_cpu());
    let written = if cpu != MARKING_CPU {
        writeln!(plugin.out, "foreign {mark} {cpu}")
    } else {
        match mark {
            BEGIN => {
                plugin.counts.clear();
                plugin.open = true;
                Ok(())
            }
            END if plugin.open => {
                plugin.open = false;
                plugin.counts.write(&mut plugin.out)
            }
            FINISH => {
                let closed = writeln!(plugin.out, "finished").and_then(|()| plugin.out.flush());
                if let Err(e) = closed {
                    refuse(&format!("cannot write the counts: {e}"));
                }
                // SAFETY: as in `refuse`; everything written is flushed.
                unsafe { qemu::_exit(0) }
            }
            other => writeln!(plugin.out, "stray {other}"),
        }
    };
    if let Err(e) = written {
        refuse(&format!("cannot write the counts: {e}"));
    }
}
