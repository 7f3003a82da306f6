//! From what a machine said and counted to a sample, or to whose fault it is that there is none.

use super::Fault;
use super::counts::{self, Output};
use super::profile::{self, Symbols};
use super::stacks;
use crate::judge::profile::Stack;
use crate::judge::sample::{Counted, Load, Sample, Side};
use anyhow::anyhow;
use serde::Deserialize;
use vm_init::answer;
use vm_init::{SERVER_PATH, SERVER_PORT};

const LOAD_CPU: usize = 0;
const SERVER_CPU: usize = 1;

/// System calls in which a server waits for something to do.
const POLL_CALLS: &[&str] = &[
    "__x64_sys_epoll_wait",
    "__x64_sys_epoll_pwait",
    "__x64_sys_epoll_pwait2",
    "__x64_sys_io_uring_enter",
    "__x64_sys_poll",
    "__x64_sys_ppoll",
    "__x64_sys_select",
    "__x64_sys_pselect6",
];
/// What the names of the kernel's system calls begin with.
const SYSTEM_CALL: &str = "__x64_sys_";
/// Entered once for each switch from one task to another.
const CONTEXT_SWITCH: &str = "__switch_to_asm";
/// Entered once for each page fault.
const PAGE_FAULT: &str = "exc_page_fault";
/// Kernel threads that work for whoever uses io_uring; the load generator does not.
const URING_WORKERS: &[&str] = &["io_wqe_worker", "io_wq_worker", "io_sq_thread"];

/// What the load generator reports; the rest of its report is not needed here.
#[derive(Deserialize)]
struct Report {
    seed: u64,
    window: Load,
    #[serde(default)]
    errors: Vec<WrongAnswer>,
}

#[derive(Deserialize)]
struct WrongAnswer {
    what: String,
    kind: String,
    part: String,
    expected: String,
    got: String,
}

impl Report {
    fn summary(&self) -> String {
        let Load { sent, wrong, lost, .. } = self.window;
        let first = self.errors.first().map_or(String::new(), |e| {
            format!("; the first: {} ({}, {}): expected `{}`, got `{}`", e.what, e.kind, e.part, e.expected, e.got)
        });
        format!("{wrong} wrong and {lost} lost answers of {sent} in the window{first}")
    }
}

/// One machine's end, as found in its folder.
pub struct Evidence<'a> {
    /// Seed the job was made from.
    pub seed: u64,
    /// Sections of the answer.
    pub sections: &'a [(String, Vec<u8>)],
    /// The counter's output.
    pub output: &'a Output,
    /// The server's ELF.
    pub elf: &'a [u8],
    /// The kernel's symbols.
    pub kernel: &'a Symbols,
}

impl Evidence<'_> {
    /// The sample, or the fault. The order matters: what makes the count a lie comes before what the server did wrong.
    pub fn verdict(&self) -> Result<Counted, Fault> {
        if let Some(why) = self.text(answer::FAULT) {
            return Err(Fault::Own(anyhow!("PID 1 of the emulated machine failed: {why}")));
        }
        if let Some((mark, cpu)) = self.output.foreign.first() {
            return Err(Fault::Unsound(format!("marker executed by the candidate (mark {mark} on CPU {cpu})")));
        }
        let server = self.text(answer::SERVER).unwrap_or_default();
        let Some(load) = self.text(answer::LOAD) else {
            return Err(self.invalid(&match server.split_once(' ') {
                Some(("unstartable", why)) => {
                    format!("the server cannot be executed ({why}); it must be a static x86-64 binary")
                }
                Some(_) => format!("the server {} before it listened", past(&server)),
                None => format!("the server did not listen on port {SERVER_PORT} within 10 s of guest time"),
            }));
        };
        self.load_ended_well(&load, &server)?;
        let report = self.report()?;
        let Load { sent, verified, wrong, lost } = report.window;
        if sent != verified + wrong + lost {
            return Err(Fault::Unsound(format!(
                "ledgers unequal: sent {sent}, verified {verified}, wrong {wrong}, lost {lost}"
            )));
        }
        if report.seed != self.seed {
            return Err(Fault::Own(anyhow!("the load generator ran seed {}, not {}", report.seed, self.seed)));
        }
        if server != "running" {
            return Err(self.invalid(&format!("the server {} while it was being measured", past(&server))));
        }
        let [window] = &self.output.windows[..] else {
            let (windows, stray) = (self.output.windows.len(), &self.output.stray);
            return Err(Fault::Own(anyhow!(
                "the load generator made {windows} windows, not one (stray marks: {stray:?})"
            )));
        };
        if !self.output.finished || !self.output.stray.is_empty() {
            return Err(Fault::Own(anyhow!(
                "the counter's output is not whole (stray marks: {:?})",
                self.output.stray
            )));
        }
        for worker in URING_WORKERS {
            let foreign = profile::profile(window, LOAD_CPU, self.kernel, self.kernel);
            if let Some(cost) = foreign.iter().find(|f| f.name == *worker) {
                return Err(Fault::Unsound(format!(
                    "off-core work: the server's io_uring workers ran on the load generator's CPU ({worker}, {} instructions)",
                    cost.instructions
                )));
            }
        }
        let (server, load) = (counts::totals(window, SERVER_CPU), counts::totals(window, LOAD_CPU));
        let maps = self.text(answer::SERVER_MAPS).unwrap_or_default();
        let symbols = Symbols::server(self.elf, &maps, SERVER_PATH).map_err(Fault::Own)?;
        let calls = |names: &[&str]| names.iter().map(|n| profile::calls(window, SERVER_CPU, self.kernel, n)).sum();
        let polls: u64 = calls(POLL_CALLS);
        let side = Side {
            wakeups: Some(if polls > 0 { polls } else { calls(&["schedule_idle"]) }),
            peak_rss_kib: self.peak_rss(),
            rep_iterations: Some(server.repeated),
            load_cpu: Some((load.user, load.kernel)),
            system_calls: Some(profile::calls_by_name(window, SERVER_CPU, self.kernel, SYSTEM_CALL)),
            context_switches: Some(calls(&[CONTEXT_SWITCH])),
            page_faults: Some(calls(&[PAGE_FAULT])),
        };
        Ok(Counted {
            sample: Sample { seed: self.seed, user: server.user, kernel: server.kernel, load: report.window, side },
            profile: profile::profile(window, SERVER_CPU, self.kernel, &symbols),
        })
    }

    /// Where every instruction of the window lies. To be asked after the verdict.
    pub fn stacks(&self) -> Result<Vec<Stack>, Fault> {
        let window = self.output.windows.first().ok_or_else(|| Fault::Own(anyhow!("there is no window")))?;
        let maps = self.text(answer::SERVER_MAPS).unwrap_or_default();
        let server = stacks::Server::new(self.elf, &maps, SERVER_PATH)?;
        Ok(stacks::stacks(window, SERVER_CPU, self.kernel, &server)?)
    }

    fn load_ended_well(&self, load: &str, server: &str) -> Result<(), Fault> {
        match load {
            "exited 0" => Ok(()),
            // Answers were wrong or missing: the report says which, unless a dead server is the better explanation.
            "exited 1" => {
                let ended = if server == "running" { String::new() } else { format!("the server {}: ", past(server)) };
                Err(self.invalid(&format!(
                    "{ended}{}",
                    self.report().map_or_else(|_| self.text(answer::LOAD_ERRORS).unwrap_or_default(), |r| r.summary())
                )))
            }
            "overtime" => Err(self.invalid("the answers took more than 30 s of guest time")),
            other => {
                let said = self.text(answer::LOAD_ERRORS).unwrap_or_default();
                Err(Fault::Own(anyhow!("the load generator {} in the emulated machine: {}", past(other), said.trim())))
            }
        }
    }

    fn report(&self) -> Result<Report, Fault> {
        let text = self.text(answer::LOAD_REPORT).unwrap_or_default();
        serde_json::from_str(&text).map_err(|e| {
            let said = self.text(answer::LOAD_ERRORS).unwrap_or_default();
            Fault::Own(anyhow!("the load generator's report cannot be read ({e}); it said: {}", said.trim()))
        })
    }

    /// The most the kernel has noted, or what is held at the end if that is more.
    fn peak_rss(&self) -> Option<u64> {
        let kib = |section: &str, field: &str| {
            let text = self.text(section)?;
            let line = text.lines().find_map(|l| l.strip_prefix(field))?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        kib(answer::SERVER_STATUS, "VmHWM:").max(kib(answer::SERVER_MEMORY, "Rss:"))
    }

    fn text(&self, name: &str) -> Option<String> {
        let (_, bytes) = self.sections.iter().find(|(n, _)| n == name)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The candidate's fault, with the end of what it said.
    fn invalid(&self, why: &str) -> Fault {
        let said = self.text(answer::SERVER_OUTPUT).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].join(" | ");
        Fault::Invalid(if last.is_empty() { why.to_owned() } else { format!("{why}. Its output ends: {last}") })
    }
}

/// `exited 3` as part of a sentence.
fn past(ended: &str) -> String {
    match ended.split_once(' ') {
        Some(("exited", code)) => format!("exited with code {code}"),
        Some(("killed", signal)) => format!("was killed by signal {signal}"),
        _ => ended.to_owned(),
    }
}
