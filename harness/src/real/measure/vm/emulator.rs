//! One emulator process: the machine's fixed parameters, starting it in a folder of its own, waiting, and killing it on
//! every path out.
//!
//! Everything the machine can see is fixed here: CPU, memory, clock, command line, names. The process runs inside its
//! folder and is given relative names, so its command line is the same wherever the cache is.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The machine. `shift=0`: one instruction is one nanosecond of guest time. `sleep=off`: idle time is skipped. No random
/// numbers from the host. `announce-rounds=0`: no timer of the migration code fires in a restored machine.
const MACHINE: &str = "-M q35 -cpu max,-rdrand,-rdseed -accel tcg,tb-size=512 -smp 2 -m 256 \
    -icount shift=0,sleep=off -rtc base=2024-01-01,clock=vm -seed 1 \
    -nodefaults -no-user-config -display none -no-reboot -serial file:console \
    -global migration.announce-rounds=0 -device pvpanic \
    -chardev file,id=answer,path=answer -device isa-debugcon,iobase=0xe9,chardev=answer \
    -kernel vmlinux -initrd initramfs \
    -L emulator/usr/share/qemu -L emulator/usr/share/seabios";

/// The kernel's command line. Neither `nohz_full` nor `rcu_nocbs`: work the kernel puts off must stay on the CPU that
/// caused it, or it would not be counted.
const KERNEL: &str = "console=ttyS0 quiet nokaslr norandmaps mitigations=off isolcpus=domain,managed_irq,1 tsc=reliable \
    random.trust_cpu=off no_timer_check reboot=t panic=-1 nowatchdog randomize_kstack_offset=off";

/// What a machine is started from; all of it in the cache.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Where the emulator's packages are unpacked.
    pub root: PathBuf,
    /// The kernel's ELF.
    pub kernel: PathBuf,
    /// The first file system.
    pub initramfs: PathBuf,
}

/// The fixed parameters as one text, for fingerprints.
pub fn parameters() -> String {
    format!("{MACHINE} -append {KERNEL}")
}

/// How a machine ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code (or -1 when a signal ended it).
    Exited(i32),
    /// It was killed because it took longer than it may.
    Overtime,
    /// It was killed because the stop flag was set.
    Interrupted,
}

/// A running emulator, in its own process group, which dies with this value.
pub struct Emulator {
    child: Child,
    folder: PathBuf,
}

impl Emulator {
    /// Starts the machine in `folder`, an empty folder of its own, with `extra` arguments.
    pub fn start(parts: &Parts, folder: &Path, extra: &[&str]) -> Result<Emulator> {
        for (name, target) in [("emulator", &parts.root), ("vmlinux", &parts.kernel), ("initramfs", &parts.initramfs)] {
            symlink(target, folder.join(name))
                .with_context(|| format!("cannot link {name} into {}", folder.display()))?;
        }
        let said = File::create(folder.join("emulator.log"))?;
        let program = parts.root.join("usr/bin/qemu-system-x86_64");
        let mut command = Command::new(&program);
        command.args(MACHINE.split_whitespace()).args(["-append", KERNEL]);
        command.args(extra).current_dir(folder).env_clear();
        command.env("LD_LIBRARY_PATH", "emulator/usr/lib/x86_64-linux-gnu:emulator/lib/x86_64-linux-gnu");
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said).process_group(0);
        // SAFETY: one system call between fork and exec. The emulator dies with the thread that waits for it.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let child = command.spawn().with_context(|| format!("cannot start the emulator {}", program.display()))?;
        Ok(Emulator { child, folder: folder.to_owned() })
    }

    /// Waits for the machine to end, at most until `deadline`.
    pub fn wait(&mut self, deadline: Instant, stop: &AtomicBool) -> Result<Ended> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Ended::Exited(status.code().unwrap_or(-1)));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Ended::Interrupted);
            }
            if Instant::now() >= deadline {
                return Ok(Ended::Overtime);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// An error if the emulator has ended although it should be running.
    pub fn must_run(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the emulator ended early ({status}). {}", self.last_words()),
        }
    }

    /// The last lines the emulator and the kernel said, for error messages.
    pub fn last_words(&self) -> String {
        let tail = |name: &str| {
            let text = String::from_utf8_lossy(&fs::read(self.folder.join(name)).unwrap_or_default()).into_owned();
            let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
            lines[lines.len().saturating_sub(8)..].join("\n")
        };
        format!("The emulator said:\n{}\nThe kernel said:\n{}", tail("emulator.log"), tail("console"))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // SAFETY: the group was made by `process_group(0)`, and its leader is not reaped before `wait` below.
            unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        }
        let _ = self.child.wait();
    }
}
