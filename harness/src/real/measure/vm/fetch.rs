//! First use: gets the emulator and the kernel with the distribution's own client, unpacks them into the cache, installs
//! nothing and needs no root. Authenticity is apt's (signed indexes); identity is ours (recorded checksums).

use super::{kernel, sources};
use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages this was made with: name, version, checksum.
const LOCK: &str = include_str!("debian-12.lock");
/// The release the lock is for, as `/etc/os-release` names it.
const LOCK_RELEASE: (&str, &str) = ("debian", "12");
/// Never unpacked: the loader and C library must be the machine's own pair.
const OWN_LIBRARIES: &[&str] = &["libc6", "libgcc-s1", "gcc-12-base", "gcc-14-base"];
const EMULATOR: &str = "qemu-system-x86";
const FIRMWARE: &[&str] = &["qemu-system-data", "seabios"];
const KERNEL: &str = "linux-image-cloud-amd64";
/// The network emulator of the kernel, which Debian builds as a module.
const NETEM: &str = "sch_netem.ko";
/// What the cache holds of a machine: the emulator's files, the kernel, the module, and the list of packages.
const CONTENTS: [&str; 4] = ["root", "vmlinux", NETEM, "manifest"];
/// With 7.2 a machine with two CPUs hangs at boot under icount.
const OLDEST_MAJOR: u32 = 10;

/// The unpacked emulator and kernel.
#[derive(Debug)]
pub struct Fetched {
    /// Root of the emulator's files.
    pub root: PathBuf,
    /// The kernel's ELF.
    pub kernel: PathBuf,
    /// The kernel's network emulator.
    pub netem: PathBuf,
    /// Every package with version and checksum; what a fingerprint is made of.
    pub manifest: String,
}

/// What is in the cache, else fetches it. An interrupted fetch leaves nothing that looks finished.
pub fn fetch(cache: &Path, say: &mut dyn FnMut(&str)) -> Result<Fetched> {
    let name = hex(&Sha256::digest(format!("{LOCK}{}", CONTENTS.join(" "))));
    let place = cache.join(format!("machine-{}", &name[..12]));
    if !place.join("manifest").exists() {
        fs::create_dir_all(cache).with_context(|| format!("cannot make the cache folder {}", cache.display()))?;
        let work = tempfile::Builder::new().prefix("fetching-").tempdir_in(cache)?;
        into(work.path(), say).context(
            "the emulated meter needs QEMU 10 and a Debian cloud kernel and could not get them; \
             it needs apt-get, dpkg-deb and the network once (or a cache filled elsewhere: $HARNESS_CACHE)",
        )?;
        let done = work.path().join("done");
        // Another process may have been faster; then its result is as good.
        if let Err(e) = fs::rename(&done, &place)
            && !place.join("manifest").exists()
        {
            return Err(e).with_context(|| format!("cannot move the unpacked machine to {}", place.display()));
        }
    }
    let manifest = fs::read_to_string(place.join("manifest"))?;
    Ok(Fetched { root: place.join("root"), kernel: place.join("vmlinux"), netem: place.join(NETEM), manifest })
}

fn into(work: &Path, say: &mut dyn FnMut(&str)) -> Result<()> {
    let release = Release::read()?;
    let apt = Apt::new(work, &release)?;
    let recorded = recorded(LOCK)?;
    let exact: Vec<String> = recorded.iter().map(|(name, (version, _))| format!("{name}={version}")).collect();
    let here = (release.id.as_str(), release.version.as_str()) == LOCK_RELEASE;
    let wanted = match here.then(|| apt.size(&exact)) {
        Some(Ok(_)) => exact,
        Some(Err(_)) => {
            say("the mirror no longer has the recorded versions of the emulated machine; taking its newest");
            apt.newest(&release)?
        }
        None => apt.newest(&release)?,
    };
    let size = apt.size(&wanted)?;
    say(&format!(
        "downloading the emulated machine (QEMU and a Linux kernel, {} packages, {:.0} MB) once, into the cache; nothing is installed",
        wanted.len(),
        size as f64 / 1e6
    ));
    let debs = work.join("debs");
    fs::create_dir(&debs)?;
    apt.run("apt-get", &[&["download"][..], &refs(&wanted)].concat(), &debs)?;

    let done = work.join("done");
    let root = done.join("root");
    fs::create_dir_all(&root)?;
    let mut manifest = BTreeMap::new();
    for entry in fs::read_dir(&debs)? {
        let deb = entry?.path();
        let package = Package::read(&deb)?;
        let known = match recorded.get(&package.name) {
            Some((version, sum)) if *version == package.version => {
                ensure!(
                    *sum == package.sum,
                    "{} {} has checksum {}, but {sum} is recorded: the mirror serves something else under this version",
                    package.name,
                    package.version,
                    package.sum
                );
                "recorded"
            }
            _ => "unrecorded",
        };
        let is_kernel = package.name.starts_with("linux-image-");
        let to = if is_kernel { work.join("kernel") } else { root.clone() };
        run("dpkg-deb", &["-x", &deb.to_string_lossy(), &to.to_string_lossy()], &debs)?;
        if is_kernel {
            fs::write(done.join("vmlinux"), boot_image(&to)?)?;
            fs::write(done.join(NETEM), netem(&to)?)?;
        }
        manifest.insert(package.name, format!("{} {} {known}", package.version, package.sum));
    }
    ensure!(done.join("vmlinux").exists(), "no kernel package was among what was downloaded");
    let manifest: String = manifest.iter().map(|(name, rest)| format!("{name} {rest}\n")).collect();
    fs::write(done.join("manifest"), manifest)?;
    Ok(())
}

fn boot_image(unpacked: &Path) -> Result<Vec<u8>> {
    let boot = unpacked.join("boot");
    for entry in fs::read_dir(&boot).with_context(|| format!("the kernel package has no {}", boot.display()))? {
        let path = entry?.path();
        if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("vmlinuz")) {
            return kernel::unpack(&fs::read(path)?);
        }
    }
    bail!("the kernel package has no vmlinuz")
}

/// The module's ELF. Debian 13 packs its modules, and has them below `usr`.
fn netem(unpacked: &Path) -> Result<Vec<u8>> {
    let folders = ["lib/modules", "usr/lib/modules"].map(|folder| fs::read_dir(unpacked.join(folder)));
    for release in folders.into_iter().flatten().flatten() {
        let module = release?.path().join("kernel/net/sched").join(NETEM);
        let packed = module.with_extension("ko.xz");
        if packed.exists() {
            run("xz", &["-d", &packed.to_string_lossy()], unpacked)?;
        }
        if module.exists() {
            return Ok(fs::read(module)?);
        }
    }
    bail!("the kernel package has no module {NETEM}")
}

/// Name to (version, checksum).
fn recorded(lock: &str) -> Result<BTreeMap<String, (String, String)>> {
    let mut all = BTreeMap::new();
    for line in lock.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let [name, version, sum] = line.split(' ').collect::<Vec<_>>()[..] else {
            bail!("the package lock has a malformed line: {line}");
        };
        all.insert(name.to_owned(), (version.to_owned(), sum.to_owned()));
    }
    Ok(all)
}

/// Which distribution this machine runs.
struct Release {
    id: String,
    version: String,
    codename: String,
}

impl Release {
    fn read() -> Result<Release> {
        let text = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
        let field = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix('='));
            line.map(|v| v.trim_matches('"').to_owned()).unwrap_or_default()
        };
        let release = Release { id: field("ID"), version: field("VERSION_ID"), codename: field("VERSION_CODENAME") };
        ensure!(
            !release.codename.is_empty(),
            "/etc/os-release names no VERSION_CODENAME; this works on Debian 12 and later"
        );
        Ok(release)
    }
}

/// The distribution's client with a configuration of its own: its own lists and archives, the machine's sources.
struct Apt {
    options: Vec<String>,
    folder: PathBuf,
}

impl Apt {
    fn new(work: &Path, release: &Release) -> Result<Apt> {
        let folder = work.join("apt");
        for below in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(folder.join(below))?;
        }
        let list = folder.join("sources.list");
        let own = own_sources()?;
        let text = sources::private_list(&own, &release.codename).with_context(|| {
            format!(
                "none of the {} package sources under /etc/apt is for this release ({})",
                own.len(),
                release.codename
            )
        })?;
        let options = [
            format!("Dir::Etc::sourcelist={}", list.display()),
            "Dir::Etc::sourceparts=/dev/null".into(),
            "Dir::Etc::preferences=/dev/null".into(),
            "Dir::Etc::preferencesparts=/dev/null".into(),
            format!("Dir::State={}", folder.display()),
            // As if nothing were installed: the machine must not depend on what this host happens to have.
            "Dir::State::status=/dev/null".into(),
            format!("Dir::Cache={}", folder.display()),
            "APT::Update::Error-Mode=any".into(),
            "APT::Sandbox::User=root".into(),
            "Acquire::Retries=2".into(),
            "Acquire::http::Timeout=30".into(),
        ];
        let options = options.into_iter().flat_map(|o| ["-o".to_owned(), o]).collect();
        let apt = Apt { options, folder };
        fs::write(&list, &text)?;
        if let Err(with_backports) = apt.run("apt-get", &["update"], &apt.folder) {
            // A release may have no backports (yet); it is then asked for what it has itself.
            let without: String =
                text.lines().filter(|l| !l.contains("-backports ")).map(|l| format!("{l}\n")).collect();
            fs::write(&list, without)?;
            if apt.run("apt-get", &["update"], &apt.folder).is_err() {
                return Err(with_backports);
            }
        }
        Ok(apt)
    }

    /// Bytes to download for these packages; an error if one is not to be had.
    fn size(&self, packages: &[String]) -> Result<u64> {
        let text = self.run("apt-get", &[&["--print-uris", "download"][..], &refs(packages)].concat(), &self.folder)?;
        // Each line: 'ADDRESS' FILE SIZE CHECKSUM
        Ok(text.lines().filter_map(|l| l.split(' ').nth(2)?.parse::<u64>().ok()).sum())
    }

    /// The newest emulator that will do, with everything it needs, and the newest kernel.
    fn newest(&self, release: &Release) -> Result<Vec<String>> {
        let backports = format!("{}-backports", release.codename);
        let mut found = String::from("none");
        for target in [&[][..], &["-t", backports.as_str()]] {
            let ask = [&["-s", "--no-install-recommends", "install"][..], target, &[EMULATOR], FIRMWARE].concat();
            let Ok(text) = self.run("apt-get", &ask, &self.folder) else { continue };
            let packages = planned(&text);
            let Some((_, version)) = packages.iter().find(|(name, _)| name == EMULATOR) else { continue };
            found = version.clone();
            if major(version) < OLDEST_MAJOR {
                continue;
            }
            let wanted = packages.iter().filter(|(name, _)| !OWN_LIBRARIES.contains(&name.as_str()));
            let mut wanted: Vec<String> = wanted.map(|(name, version)| format!("{name}={version}")).collect();
            let depends = self.run("apt-cache", &["depends", KERNEL], &self.folder)?;
            let kernel = depends.split_whitespace().find(|w| w.starts_with("linux-image-") && *w != KERNEL);
            wanted.push(kernel.with_context(|| format!("{KERNEL} names no kernel"))?.to_owned());
            return Ok(wanted);
        }
        bail!(
            "the newest {EMULATOR} of {} is {found}; the emulated meter needs {OLDEST_MAJOR} or newer",
            release.codename
        )
    }

    fn run(&self, program: &str, arguments: &[&str], folder: &Path) -> Result<String> {
        run(program, &[refs(&self.options), arguments.to_vec()].concat(), folder)
    }
}

/// Name and version of what a simulated installation would unpack (`Inst NAME (VERSION ...`).
fn planned(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("Inst ")?.split(' ');
            Some((words.next()?.to_owned(), words.find_map(|w| w.strip_prefix('('))?.trim_end_matches(')').to_owned()))
        })
        .collect()
}

/// First number of a version, behind its epoch.
fn major(version: &str) -> u32 {
    let upstream = version.split_once(':').map_or(version, |(_, rest)| rest);
    upstream.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn own_sources() -> Result<Vec<sources::Source>> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(entries) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(entries.filter_map(|e| Some(e.ok()?.path())));
    }
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        match file.extension().and_then(|e| e.to_str()) {
            Some("list") => all.extend(sources::one_line(&text)),
            Some("sources") => all.extend(sources::deb822(&text)),
            _ => {}
        }
    }
    Ok(all)
}

struct Package {
    name: String,
    version: String,
    sum: String,
}

impl Package {
    fn read(deb: &Path) -> Result<Package> {
        let file = deb.to_string_lossy();
        let field = |name| anyhow::Ok(run("dpkg-deb", &["-f", &file, name], Path::new("/"))?.trim().to_owned());
        Ok(Package { name: field("Package")?, version: field("Version")?, sum: hex(&Sha256::digest(fs::read(deb)?)) })
    }
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<String> {
    let output = Command::new(program).args(arguments).current_dir(folder).env("LC_ALL", "C").output();
    let output = output
        .with_context(|| format!("cannot run {program}: it comes with Debian's packages apt, dpkg and xz-utils"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let shown = arguments.iter().rfind(|a| !a.contains('=') && !a.starts_with('/')).unwrap_or(&"");
        let lines: Vec<&str> = said
            .lines()
            .filter(|l| l.starts_with("E:") || l.starts_with("Err:") || l.starts_with("dpkg"))
            .take(6)
            .collect();
        bail!(
            "{program} ({shown}) failed: {}",
            if lines.is_empty() { said.trim().to_owned() } else { lines.join("; ") }
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn refs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_names_emulator_firmware_and_one_kernel_each_with_a_checksum() {
        let lock = recorded(LOCK).unwrap();
        assert!(FIRMWARE.iter().chain([&EMULATOR]).all(|name| lock.contains_key(*name)));
        assert_eq!(lock.keys().filter(|name| name.starts_with("linux-image-")).count(), 1);
        assert!(lock.values().all(|(_, sum)| sum.len() == 64 && sum.bytes().all(|b| b.is_ascii_hexdigit())));
        assert!(major(&lock[EMULATOR].0) >= OLDEST_MAJOR);
        assert!(recorded("name version\n").is_err());
    }

    #[test]
    fn a_simulated_installation_is_read_with_and_without_an_older_version_in_it() {
        let text = "Inst a (1:2.0-1 Debian:12 [amd64])\nInst b [0.9] (1.0 Debian:12 [all]) []\nConf a (1:2.0-1 x)\n";
        assert_eq!(planned(text), [("a".into(), "1:2.0-1".into()), ("b".into(), "1.0".into())]);
    }

    #[test]
    fn versions_are_compared_by_their_first_number_behind_the_epoch() {
        assert_eq!([major("1:10.0.2+ds-2"), major("1:7.2+dfsg-7"), major("9"), major("x")], [10, 7, 9, 0]);
    }
}
