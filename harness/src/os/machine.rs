//! Facts about this machine, for a score's fingerprint and for `doctor`. What they mean for a measurement is not decided
//! here; what cannot be read is `None`, never a guess.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::pin;

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// As the CPU names itself.
    pub cpu_model: Option<String>,
    /// CPUs of the machine that are online.
    pub cpus: usize,
    /// CPUs that this process may use.
    pub allowed: Vec<usize>,
    /// CPUs that the scheduler leaves alone (`isolcpus`), as the kernel lists them.
    pub isolated: Option<String>,
    /// Kernel release, as `uname -r`.
    pub kernel: Option<String>,
    /// Hypervisor or container, where the CPU or the environment says so.
    pub virtual_machine: bool,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Memory that can still be had, bytes.
    pub memory_available: Option<u64>,
    /// Load average of the last minute.
    pub load: Option<f64>,
    /// `kernel.perf_event_paranoid`: who may count what.
    pub perf_event_paranoid: Option<i32>,
    /// Frequency governor of CPU 0, where there is one.
    pub governor: Option<String>,
}

impl Machine {
    /// Reads them now.
    pub fn read() -> Machine {
        let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
        let meminfo = text("/proc/meminfo").unwrap_or_default();
        let kib = |name: &str| Some(field(&meminfo, name)?.split_whitespace().next()?.parse::<u64>().ok()? * 1024);
        Machine {
            cpu_model: field(&cpuinfo, "model name").map(str::to_owned),
            cpus: cpuinfo.lines().filter(|l| l.starts_with("processor")).count(),
            allowed: pin::allowed().unwrap_or_default(),
            isolated: text("/sys/devices/system/cpu/isolated"),
            kernel: text("/proc/sys/kernel/osrelease"),
            virtual_machine: field(&cpuinfo, "flags").is_some_and(|f| f.split(' ').any(|f| f == "hypervisor")),
            memory: kib("MemTotal"),
            memory_available: kib("MemAvailable"),
            load: text("/proc/loadavg").and_then(|t| t.split(' ').next()?.parse().ok()),
            perf_event_paranoid: perf_event_paranoid(),
            governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        }
    }
}

/// `kernel.perf_event_paranoid`, or `None` on a kernel without perf events.
pub fn perf_event_paranoid() -> Option<i32> {
    text("/proc/sys/kernel/perf_event_paranoid")?.parse().ok()
}

/// Bytes that this user may still write at `path`.
pub fn free_disk(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: an all-zero statvfs is valid and is overwritten.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a terminated path, and a statvfs that outlives the call.
    let rc = unsafe { libc::statvfs(path.as_ptr(), &mut stat) };
    (rc == 0).then(|| stat.f_bavail as u64 * stat.f_frsize as u64)
}

fn text(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|l| {
        let (key, value) = l.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_cpus_memory_and_a_disk() {
        let m = Machine::read();
        assert!(m.cpus >= m.allowed.len() && !m.allowed.is_empty(), "{m:?}");
        assert!(m.kernel.unwrap().contains('.'));
        assert!(m.memory.unwrap() > m.memory_available.unwrap());
        assert!(free_disk(Path::new("/")).is_some_and(|b| b > 0));
        assert_eq!(free_disk(Path::new("/no/such/folder")), None);
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "model\t\t: 85\nmodel name\t: A CPU @ 2: GHz\n";
        assert_eq!(field(text, "model name"), Some("A CPU @ 2: GHz"));
        assert_eq!(field(text, "name"), None);
    }
}
