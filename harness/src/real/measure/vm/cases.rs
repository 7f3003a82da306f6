//! The contract's cases inside the machine, uncounted: where a network has distance and waiting costs nothing.

use super::{Fault, VmMeter, profile, read};
use anyhow::{Context, anyhow};
use loadgen::cases::CaseReport;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vm_init::job::{File, Job, Task};
use vm_init::{CASES_PATH, LOADGEN_PATH, NETEM_PATH, SERVER_PATH, answer};

/// What lies between the server and its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Plain loopback.
    Loopback,
    /// 20 ms of round trip and packets of 1,500 bytes (`harness/guest/src/distance.rs`).
    Distant,
}

impl VmMeter {
    /// Plays the cases of these numbers (as in `34,36-40`) against the server, at most for `limit` of host time. May be
    /// called from several threads at once, as [`VmMeter::measure`].
    pub fn cases(
        &self,
        server: &Path,
        network: Network,
        numbers: &str,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<CaseReport, Fault> {
        let (elf, loadgen, netem) = (read(server)?, read(&self.tools.loadgen)?, read(&self.netem)?);
        let file = |path, mode, contents| File { path, mode, contents };
        let mut files = vec![
            file(SERVER_PATH, 0o755, profile::loaded_part(&elf)),
            file(LOADGEN_PATH, 0o755, profile::loaded_part(&loadgen)),
            file(CASES_PATH, 0o600, numbers.as_bytes()),
        ];
        let task = match network {
            Network::Loopback => Task::Cases,
            Network::Distant => {
                files.push(file(NETEM_PATH, 0o600, &netem));
                Task::DistantCases
            }
        };
        let folder = self.folder()?;
        let sections = self.run(folder.path(), &Job { task, gate: false, files }, &[], limit, stop)?;
        report(&sections)
    }
}

/// The load generator's report, or why there is none.
fn report(sections: &[(String, Vec<u8>)]) -> Result<CaseReport, Fault> {
    let text = |wanted: &str| {
        let found = sections.iter().find(|(name, _)| name == wanted);
        found.map_or(String::new(), |(_, bytes)| String::from_utf8_lossy(bytes).trim().to_owned())
    };
    let why = text(answer::FAULT);
    if !why.is_empty() {
        return Err(Fault::Own(anyhow!("PID 1 of the emulated machine failed: {why}")));
    }
    let said = text(answer::LOAD_ERRORS);
    match text(answer::LOAD).as_str() {
        "exited 0" | "exited 1" => {
            let report = text(answer::LOAD_REPORT);
            Ok(serde_json::from_str(&report)
                .with_context(|| format!("the load generator's report cannot be read: {report}; it said: {said}"))?)
        }
        // It starts one server first, to tell a program that cannot run from failed cases.
        "exited 2" => Err(Fault::Invalid(format!("the cases could not begin: {said}"))),
        "overtime" => Err(Fault::Invalid("the cases did not end in their guest time".into())),
        ended => Err(Fault::Own(anyhow!("the load generator of the emulated machine {ended}; it said: {said}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(load: &str, text: &str) -> Result<CaseReport, Fault> {
        let section = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        report(&[
            section(answer::LOAD, load),
            section(answer::LOAD_REPORT, text),
            section(answer::LOAD_ERRORS, "the server did not listen"),
        ])
    }

    #[test]
    fn a_report_is_taken_whether_cases_failed_or_not() {
        let text = r#"{"passed":1,"failed":[{"number":130,"name":"n","sent":"","expected":"FIN","got":"RST"}],"left_out":2,"in_other_forms":0,"seconds":0.5}"#;
        assert_eq!(said("exited 1", text).unwrap().failed[0].got, "RST");
        assert!(matches!(said("exited 0", "{"), Err(Fault::Own(_))));
    }

    #[test]
    fn a_server_that_does_not_start_is_the_candidate_s_fault_and_a_lost_load_generator_ours() {
        assert!(matches!(said("exited 2", ""), Err(Fault::Invalid(why)) if why.contains("did not listen")));
        assert!(matches!(said("overtime", ""), Err(Fault::Invalid(_))));
        assert!(matches!(said("killed 9", ""), Err(Fault::Own(_))));
        let fault = [(answer::FAULT.to_owned(), b"cannot load the network emulator".to_vec())];
        assert!(matches!(report(&fault), Err(Fault::Own(why)) if why.to_string().contains("network emulator")));
    }
}
