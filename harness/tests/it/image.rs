//! The image of the server, without an engine for containers: the build steps of the Dockerfile run in a clean folder,
//! and what they leave is run as the image would run it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use loadgen::dataset::fixture;
use loadgen::port;
use object::{Object as _, ObjectSection as _};

/// Instructions of a stage of the Dockerfile, in order, continued lines joined.
fn stage(dockerfile: &str, name: &str) -> Vec<String> {
    let joined = dockerfile.replace("\\\n", " ");
    let begins = format!(" AS {name}");
    let behind = joined.lines().skip_while(|line| !(line.starts_with("FROM ") && line.ends_with(&begins))).skip(1);
    behind.take_while(|line| !line.starts_with("FROM ")).map(str::to_owned).collect()
}

/// What the one instruction of this kind says.
#[track_caller]
fn only<'l>(stage: &'l [String], instruction: &str) -> &'l str {
    let found: Vec<&str> = stage.iter().filter_map(|line| line.strip_prefix(instruction)).collect();
    assert_eq!(found.len(), 1, "{instruction} in {stage:?}");
    found[0].trim()
}

/// A server that is killed whatever the test does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_image_s_build_steps_leave_a_server_that_needs_nothing_but_itself() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let dockerfile = fs::read_to_string(root.join("Dockerfile")).unwrap();
    let (build, server) = (stage(&dockerfile, "build"), stage(&dockerfile, "server"));

    let clean = tempfile::tempdir().unwrap();
    let clone = Command::new("git").args(["clone", "--quiet"]).arg(root).arg(clean.path()).status().unwrap();
    assert!(clone.success());
    let mut step = Command::new("sh");
    step.args(["-ec", only(&build, "RUN")]).current_dir(clean.path()).env_remove("CARGO_TARGET_DIR");
    let built = step.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    // The image holds one file, so it must not ask for a loader or a library.
    let (from, to) = only(&server, "COPY --from=build").split_once(' ').unwrap();
    let program = fs::read(clean.path().join(from.strip_prefix("/src/").unwrap())).unwrap();
    let elf = object::File::parse(&*program).unwrap();
    assert!(elf.sections().all(|section| section.name() != Ok(".interp")), "the server is not static");
    let entry: Vec<String> = serde_json::from_str(only(&server, "ENTRYPOINT")).unwrap();
    let health: Vec<String> = serde_json::from_str(only(&server, "HEALTHCHECK").split_once("CMD ").unwrap().1).unwrap();
    assert_eq!((entry.join(" ").as_str(), health[0].as_str()), (to, to));

    // A folder with that file, and data that its user can only read.
    let image = tempfile::tempdir().unwrap();
    let installed = image.path().join(to.trim_start_matches('/'));
    fs::write(&installed, &program).unwrap();
    let data = image.path().join("data");
    fixture().write(&data).unwrap();
    for open in [image.path(), &data, &installed] {
        fs::set_permissions(open, Permissions::from_mode(0o555)).unwrap();
    }
    let (user, group) = only(&server, "USER").split_once(':').unwrap();
    let port = port::free().unwrap();
    let as_in_the_image = |arguments: &[String]| {
        let mut command = Command::new(&installed);
        command.args(arguments).args(["--port", &port.to_string()]).env_clear().current_dir("/").stdin(Stdio::null());
        // SAFETY: takes nothing and cannot fail.
        if unsafe { libc::geteuid() } == 0 {
            command.gid(group.parse().unwrap()).uid(user.parse().unwrap());
        }
        command
    };
    let check = || as_in_the_image(&health[1..]).output().unwrap();
    assert_eq!(check().status.code(), Some(1), "nobody serves yet");
    let serve = ["--data".to_owned(), data.to_str().unwrap().to_owned()];
    let mut running = Running(as_in_the_image(&serve).stderr(Stdio::null()).spawn().unwrap());
    while !port::listens(port, [running.0.id()]) {
        assert_eq!(running.0.try_wait().unwrap(), None, "the server ended before it listened");
        std::thread::sleep(Duration::from_millis(5));
    }
    let found = check();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
}
