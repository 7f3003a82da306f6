//! A server of its own for a test, on the contract's fixture, stopped when the test ends. The root of the tests says which
//! engine it has.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::thread;

use candidate::choices::EngineChoice;
use candidate::engine::{Wish, choose};

use tempfile::TempDir;

const USERS: &str = r#"{"login":"ann","password":"Aa1","name":"Ann","phone":"+331","country":"France"}
{"login":"bob","password":"AaAa","name":"Bob","phone":"+492","country":"Germany","is_admin":false}
{"login":"adm","password":"s3","name":"Adm","phone":"+333","country":"France","is_admin":true}
{"login":"ad2","password":"s4","name":"Ad2","phone":"+494","country":"Germany","is_admin":true}
{"login":"Jörg/1 %","password":"p5","name":"a<b>&\"\\","phone":"+5","country":"Bonaire, Sint Eustatius, and Saba"}
{"login":"no1","password":"p6","name":"N","phone":"+6","country":"Atlantis"}
"#;
const LOCATIONS: &str = "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,more
1,en,EU,Europe,FR,France,
2,en,EU,Europe,DE,Germany,
3,en,NA,\"North America\",BQ,\"Bonaire, Sint Eustatius, and Saba\",
4,en,EU,Europe,,,
";
const BLOCKS: &str = "network,geoname_id,registered_country_geoname_id,more
10.1.0.0/16,1,,
10.2.0.0/16,2,,
10.3.0.0/16,3,,
10.4.0.0/16,4,,
10.5.0.0/16,,1,
10.6.0.0/16,1,,
10.6.7.0/24,2,,
10.7.0.0/16,999,,
";

/// Writes the fixture to a directory that lives as long as the result.
pub fn fixture() -> TempDir {
    let directory = TempDir::new().unwrap();
    let geo = directory.path().join("GeoLite2-City-CSV");
    fs::create_dir(&geo).unwrap();
    fs::write(directory.path().join("users.jsonl"), USERS).unwrap();
    fs::write(geo.join("GeoLite2-City-Locations-en.csv"), LOCATIONS).unwrap();
    fs::write(geo.join("GeoLite2-City-Blocks-IPv4.csv"), BLOCKS).unwrap();
    directory
}

/// The program, not yet started, with the engine of these tests.
pub fn program(data: &Path) -> Command {
    program_with(usable(crate::ENGINE), data)
}

/// The program, not yet started, with an engine.
pub fn program_with(engine: &str, data: &Path) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_candidate"));
    program.arg("--engine").arg(engine).arg("--data").arg(data);
    program
}

/// The engine of that name if this kernel lets us have it. If not, says so where everybody sees it, and gives the other.
pub fn usable(engine: &'static str) -> &'static str {
    static SAID: Once = Once::new();
    let refused = match engine {
        // In a thread of its own: clearing the ring away may interrupt a system call of the thread that opened it.
        "uring" => thread::spawn(|| choose(Wish::Only(EngineChoice::Uring), EngineChoice::Uring).err()).join().unwrap(),
        _ => None,
    };
    let Some(why) = refused else {
        return engine;
    };
    // Not by `eprintln`, which the test harness keeps to itself while tests pass.
    SAID.call_once(|| drop(writeln!(std::io::stderr(), "NOT TESTED with io_uring, only with epoll: {why}")));
    "epoll"
}

/// A running server.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it said before it served.
    #[allow(dead_code, reason = "for the tests in `engines`")]
    pub said: String,
    /// What it says after that; nobody needs to read it.
    _saying: BufReader<ChildStderr>,
    child: Child,
    _data: TempDir,
}

impl Server {
    /// Starts one with two workers.
    pub fn start() -> Self {
        let data = fixture();
        Self::spawn(program(data.path()).args(["--port", "0", "--workers", "2"]), data)
    }

    /// Starts `program`, which must have port 0, and waits until it serves.
    pub fn spawn(program: &mut Command, data: TempDir) -> Self {
        let mut child = program.stderr(Stdio::piped()).spawn().unwrap();
        let mut saying = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let port = loop {
            let mut line = String::new();
            assert!(saying.read_line(&mut line).unwrap() > 0, "no port in {said:?}");
            if let Some((_, rest)) = line.split_once(" on 0.0.0.0:") {
                break rest.split(',').next().unwrap().parse::<u16>().unwrap();
            }
            said += &line;
        };
        Self { address: (Ipv4Addr::LOCALHOST, port).into(), said, _saying: saying, child, _data: data }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until it has ended by itself.
    #[allow(dead_code, reason = "for the tests in `engines`")]
    pub fn ends(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
