//! Start-up time and memory with data of full size: 4 million networks, 120,000 locations, 1 million users.
//!
//! `cargo bench -p candidate --bench full_size` makes the files in a temporary folder (about 350 MB), starts the server on
//! them, and prints what the contract limits: the time until it listens, and the most memory it had. Exit code 1 if a
//! limit is broken. The first start reads files that have just been written, so the disk plays no part.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const NETWORKS: u32 = 4_000_000;
const LOCATIONS: u32 = 120_000;
const COUNTRIES: u32 = 250;
const USERS: u32 = 1_000_000;
/// Contract 1.1.
const MOST_TIME: Duration = Duration::from_secs(5);
const MOST_KIB: u64 = 2_000_000_000 / 1024;
/// The best of these counts: what is slower is the machine's other work.
const STARTS: usize = 3;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("full_size: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> io::Result<bool> {
    let folder = tempfile::tempdir()?;
    eprintln!("writing {NETWORKS} networks, {LOCATIONS} locations and {USERS} users");
    write(folder.path())?;
    let mut times = Vec::new();
    let mut most = 0;
    for _ in 0..STARTS {
        let (time, kib) = start(folder.path())?;
        println!("listens after {:.2} s, peak memory {:.0} MB", time.as_secs_f64(), kib as f64 * 1024.0 / 1e6);
        times.push(time);
        most = most.max(kib);
    }
    let best = times.into_iter().min().unwrap_or_default();
    let holds = best <= MOST_TIME && most <= MOST_KIB;
    println!(
        "best of {STARTS}: {:.2} s (at most {} s), {:.0} MB (at most {:.0} MB): {}",
        best.as_secs_f64(),
        MOST_TIME.as_secs(),
        most as f64 * 1024.0 / 1e6,
        MOST_KIB as f64 * 1024.0 / 1e6,
        if holds { "holds" } else { "DOES NOT HOLD" }
    );
    Ok(holds)
}

/// A server that is killed whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Time until it says that it serves, and its peak memory in KiB by then.
fn start(data: &Path) -> io::Result<(Duration, u64)> {
    let began = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_candidate"))
        .args(["--port", "0", "--data"])
        .arg(data)
        .stderr(Stdio::piped())
        .spawn()?;
    let mut running = Running(child);
    let said = running.0.stderr.take().ok_or_else(|| io::Error::other("the server has no stderr"))?;
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line)?;
    let time = began.elapsed();
    if !line.contains("serving on") {
        return Err(io::Error::other(format!("the server does not serve: {}", line.trim())));
    }
    // Each worker makes its copy of the tables as it begins; they are not counted by a look that comes too early.
    std::thread::sleep(Duration::from_millis(500));
    let status = fs::read_to_string(format!("/proc/{}/status", running.0.id()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    Ok((time, peak.ok_or_else(|| io::Error::other("the kernel does not say how much memory the server had"))?))
}

fn write(folder: &Path) -> io::Result<()> {
    let geo = folder.join("GeoLite2-City-CSV");
    fs::create_dir(&geo)?;
    let create = |path: &Path| Ok::<_, io::Error>(BufWriter::with_capacity(1 << 20, File::create(path)?));

    let mut locations = create(&geo.join("GeoLite2-City-Locations-en.csv"))?;
    writeln!(
        locations,
        "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,subdivision_1_iso_code,\
         subdivision_1_name,subdivision_2_iso_code,subdivision_2_name,city_name,metro_code,time_zone,is_in_european_union"
    )?;
    for id in 0..LOCATIONS {
        let country = id % COUNTRIES;
        writeln!(locations, "{id},en,EU,Europe,XX,\"Country {country}, Republic of\",,,,,City {id},,Europe/Paris,0")?;
    }
    locations.flush()?;

    let mut blocks = create(&geo.join("GeoLite2-City-Blocks-IPv4.csv"))?;
    writeln!(
        blocks,
        "network,geoname_id,registered_country_geoname_id,represented_country_geoname_id,is_anonymous_proxy,\
         is_satellite_provider,postal_code,latitude,longitude,accuracy_radius"
    )?;
    // A kibi of addresses for each network of the list; three in four cover it, the fourth half of it.
    for number in 0..NETWORKS {
        let [a, b, c, d] = (number * 1024).to_be_bytes();
        let length = if number % 4 == 0 { 23 } else { 22 };
        let id = scattered(number) % LOCATIONS;
        writeln!(blocks, "{a}.{b}.{c}.{d}/{length},{id},{id},,0,0,75001,48.8566,2.3522,50")?;
    }
    blocks.flush()?;

    let mut users = create(&folder.join("users.jsonl"))?;
    for number in 0..USERS {
        let word = scattered(number);
        writeln!(
            users,
            "{{\"login\":\"user{word:08x}{number}\",\"password\":\"secret-{word:x}\",\"name\":\"Name {word}\",\
             \"phone\":\"+33{number:09}\",\"country\":\"Country {}, Republic of\",\"is_admin\":{}}}",
            word % COUNTRIES,
            number % 1000 == 0
        )?;
    }
    users.flush()
}

/// The same number for the same number, without a pattern to the eye: Knuth's multiplicative hashing.
fn scattered(number: u32) -> u32 {
    number.wrapping_mul(2_654_435_769).rotate_left(16)
}
