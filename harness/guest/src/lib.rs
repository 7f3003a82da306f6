//! What the harness and PID 1 of the emulated machine say to each other: the job that goes in, the answer that comes
//! out, and the fixed names both use. Pure: bytes to values and back. The machine itself is in the binary of this crate.

pub mod answer;
pub mod job;

/// Name of the fw_cfg file that carries the job.
pub const JOB_FILE: &str = "opt/harness/job";
/// I/O port of QEMU's debug console, which carries the answer.
pub const ANSWER_PORT: u16 = 0xe9;
/// I/O port of QEMU's panic device; writing 1 to it stops the machine at that very instruction.
pub const STOP_PORT: u16 = 0x505;
/// TCP port the server must listen on.
pub const SERVER_PORT: u16 = 8080;
/// Where the candidate's binary is put; constant, because even the length of a path costs instructions.
pub const SERVER_PATH: &str = "/candidate";
/// Where the load generator's binary is put.
pub const LOADGEN_PATH: &str = "/job/loadgen";
/// Where the plan is put; readable by the load generator only.
pub const PLAN_PATH: &str = "/job/plan";
/// Where the numbers of the cases to play are put, as the load generator's filter takes them.
pub const CASES_PATH: &str = "/job/cases";
/// Where the kernel's module for a network with distance is put.
pub const NETEM_PATH: &str = "/job/sch_netem.ko";
/// The folder of the server's data.
pub const DATA_DIR: &str = "/storage/data";

/// Mark that begins a window.
pub const MARK_BEGIN: u8 = 1;
/// Mark that ends a window.
pub const MARK_END: u8 = 2;
/// Mark that ends the machine.
pub const MARK_FINISH: u8 = 3;
/// Iterations of the self-test's loop, of four instructions each.
pub const SELF_TEST_ITERATIONS: u64 = 1_000_000;
