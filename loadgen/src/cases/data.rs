//! Rules of sections 1.2 to 1.6 and clarification 12: what the three files may look like, and what ends the process.

use super::line::{Failure, Step, fail};
use super::request::{Request, get};
use super::table::{Case, Exchange, Stage, own, play_row};
use crate::model::answer::{ok, status};
use crate::model::token::issued;
use crate::server::RunningServer;
use std::path::Path;

const USERS: &str = r#"{"login":"u","password":"p","name":"n","phone":"1","country":"France"}"#;
const LOCATIONS: &str = "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,a,b,c,d,e,f,g,h\n1,en,EU,Europe,FR,France,,,,,,,,0\n2,en,EU,Europe,DE,Germany,,,,,,,,1\n";
const BLOCKS: &str = "network,geoname_id,r,p,a,s,z,x,y,radius\n10.1.0.0/16,1,2,,0,0,,,,\n10.2.0.0/16,2,1,,0,0,,,,\n";

/// The three files.
#[derive(Clone)]
struct Files {
    users: Vec<u8>,
    locations: Vec<u8>,
    blocks: Vec<u8>,
}

impl Files {
    fn new() -> Files {
        Files { users: USERS.into(), locations: LOCATIONS.into(), blocks: BLOCKS.into() }
    }

    fn users(lines: impl AsRef<[u8]>) -> Files {
        Files { users: lines.as_ref().to_vec(), ..Files::new() }
    }

    fn locations(rows: impl AsRef<[u8]>) -> Files {
        Files { locations: rows.as_ref().to_vec(), ..Files::new() }
    }

    fn blocks(rows: impl AsRef<[u8]>) -> Files {
        Files { blocks: rows.as_ref().to_vec(), ..Files::new() }
    }

    fn write(&self, folder: &Path) -> std::io::Result<()> {
        let geo = folder.join("GeoLite2-City-CSV");
        std::fs::create_dir_all(&geo)?;
        std::fs::write(folder.join("users.jsonl"), &self.users)?;
        std::fs::write(geo.join("GeoLite2-City-Locations-en.csv"), &self.locations)?;
        std::fs::write(geo.join("GeoLite2-City-Blocks-IPv4.csv"), &self.blocks)
    }

    /// A server that has loaded them, and why there is none.
    fn serve(&self, stage: &Stage<'_>) -> Result<(tempfile::TempDir, anyhow::Result<Box<dyn RunningServer>>), Failure> {
        let folder = tempfile::tempdir().and_then(|folder| self.write(folder.path()).map(|()| folder));
        let folder = folder.or_else(|error| fail("a data folder", error.to_string()))?;
        let server = stage.start.start(folder.path());
        Ok((folder, server))
    }
}

/// Files that are loaded, and then these exchanges.
fn loaded(name: &str, files: Files, steps: Vec<(Request, Vec<u8>)>) -> Case {
    let steps: Vec<Exchange> =
        steps.into_iter().map(|(request, answer)| Exchange { request: request.bytes(), answer }).collect();
    own(210, name, move |stage| {
        let (_folder, server) = files.serve(stage)?;
        let server = server.or_else(|error| fail("a server that listens", format!("{error:#}")))?;
        play_row(&mut super::line::Line::open(server.addr())?, &steps, |line, request| line.send(request))
    })
}

/// Files one of which is bad: the process ends. The file is what is sent, in a report.
fn refused(name: &str, all: Vec<Files>) -> Case {
    own(210, name, move |stage| -> Step {
        for files in &all {
            if files.serve(stage)?.1.is_ok() {
                let text =
                    [&files.users[..], &files.locations, &files.blocks].map(|bytes| bytes.escape_ascii().to_string());
                return fail("a process that ends", format!("a server that listens, with {}", text.join(" and ")));
            }
        }
        Ok(())
    })
}

/// The group.
pub fn cases() -> Vec<Case> {
    let asked = |login: &str, from: &str| get().key(issued(login, "")).from(from);
    let user = |name: &str, country: &str| {
        ok(&format!("{{\"login\":\"u\",\"name\":\"{name}\",\"phone\":\"1\",\"country\":\"{country}\"}}"))
    };
    let french = || user("n", "France");
    let no = || status(403);
    let fits = |addresses: &[&str]| addresses.iter().map(|from| (asked("u", from), french())).collect::<Vec<_>>();
    let not = |addresses: &[&str]| addresses.iter().map(|from| (asked("u", from), no())).collect::<Vec<_>>();
    let line = |member: &str| {
        format!("{{\"login\":\"u\",\"password\":\"p\",\"name\":\"n\",\"phone\":\"1\",\"country\":\"France\"{member}}}")
    };
    let head = "network,geoname_id\n";
    vec![
        loaded(
            "blank lines, CRLF and a last line without an end",
            Files::users(format!("\n \t\r\n\r\n{USERS}\r\n\n  ")),
            fits(&["10.1.0.1"]),
        ),
        loaded(
            "a later line of a login replaces the earlier",
            Files::users(format!("{}\n{}\n", line("").replace("\"n\"", "\"old\""), line(",\"is_admin\":true"))),
            vec![(
                asked("u", "10.1.0.1"),
                ok(r#"{"login":"u","name":"n","phone":"1","country":"France","is_admin":true}"#),
            )],
        ),
        loaded(
            "a later line may take the rights away",
            Files::users(format!("{}\n{}\n", line(",\"is_admin\":true"), line(""))),
            fits(&["10.1.0.1"]),
        ),
        loaded("rights that are none", Files::users(format!("{}\n", line(",\"is_admin\":null"))), fits(&["10.1.0.1"])),
        loaded(
            "rights that are false",
            Files::users(format!("{}\n", line(",\"is_admin\":false"))),
            fits(&["10.1.0.1"]),
        ),
        loaded(
            "unknown members, escapes and repeats",
            Files::users(
                r#"{"x":[{"login":"z"}],"login":"v","log\u0069n":"u","password":"p","name":"\u003c\u00e9\ud83d\ude00","name":null,"phone":"1","country":"France","Is_Admin":true}"#,
            ),
            vec![
                (
                    asked("u", "10.1.0.1"),
                    ok("{\"login\":\"u\",\"name\":\"\\u003cé😀\",\"phone\":\"1\",\"country\":\"France\"}"),
                ),
                (asked("v", "10.1.0.1"), no()),
                (asked("z", "10.1.0.1"), no()),
            ],
        ),
        loaded("no users at all", Files::users(""), not(&["10.1.0.1"])),
        loaded(
            "locations in quotes, with commas, doubled quotes and CRLF",
            Files {
                users: line("").replace("France", "A \\\"b\\\", c").into(),
                locations: LOCATIONS.replace('\n', "\r\n").replace(",France,", ",\"A \"\"b\"\", c\",").into(),
                ..Files::new()
            },
            vec![(asked("u", "10.1.0.1"), user("n", "A \\\"b\\\", c")), (asked("u", "10.2.0.1"), no())],
        ),
        loaded(
            "a line break in quotes, and every field quoted",
            Files::locations(
                "h,h,h,h,h,h,h\n\"1\",\"en\",\"a\nb\",\"E\",\"F\",\"France\",\"x\"\n2,en,E,E,D,\"Germany\",\"y\"",
            ),
            [fits(&["10.1.0.1"]), not(&["10.2.0.1"])].concat(),
        ),
        loaded(
            "a location that comes twice",
            Files::locations(LOCATIONS.to_string() + "2,en,EU,Europe,FR,France,,,,,,,,0\n"),
            fits(&["10.1.0.1", "10.2.0.1"]),
        ),
        loaded(
            "ids are compared as text",
            Files {
                locations: (LOCATIONS.to_string() + "03,en,E,E,D,Germany,\n").into(),
                blocks: format!("{head}10.1.0.0/16,01\n10.2.0.0/16,3\n10.3.0.0/16, 2\n10.4.0.0/16,2.0\n").into(),
                ..Files::new()
            },
            fits(&["10.1.0.1", "10.2.0.1", "10.3.0.1", "10.4.0.1"]),
        ),
        loaded(
            "a name of the country only, in its place",
            Files::locations("h,h,h,h,h,h\n1,France,France,France,France,Germany\n2,en,EU,E,DE,France\n"),
            [not(&["10.1.0.1"]), fits(&["10.2.0.1"])].concat(),
        ),
        loaded(
            "blocks with more columns, quotes, CRLF and no last end",
            Files::blocks(
                "network,geoname_id,a,b,c,d,e,f,g,h,is_anycast\r\n\"10.1.0.0/16\",\"1\",2,,0,0,\"a,b\",1,1,1,1\r\n10.2.0.0/16,2,1,,0,0,,,,,",
            ),
            [fits(&["10.1.0.1", "10.3.0.1"]), not(&["10.2.0.1"])].concat(),
        ),
        loaded(
            "blocks of two columns",
            Files::blocks(format!("{head}10.2.0.0/16,2")),
            [not(&["10.2.0.0", "10.2.255.255"]), fits(&["10.1.255.255", "10.3.0.0"])].concat(),
        ),
        loaded("only a header", Files::blocks(head), fits(&["10.1.0.1", "10.2.0.1", "0.0.0.0", "255.255.255.255"])),
        loaded(
            "the registered country is never used",
            Files::blocks("h,h,h,h\n10.1.0.0/16,,2,2\n10.2.0.0/16,999,2,2\n"),
            fits(&["10.1.0.1", "10.2.0.1"]),
        ),
        loaded(
            "host bits are cleared",
            Files::blocks(format!("{head}10.2.3.4/16,2\n10.255.255.255/9,2\n")),
            [
                not(&["10.2.0.0", "10.2.255.255", "10.128.0.0", "10.255.255.255"]),
                fits(&["10.3.0.0", "10.127.255.255", "11.0.0.0"]),
            ]
            .concat(),
        ),
        loaded(
            "the longest prefix wins in any order",
            Files::blocks(format!(
                "{head}10.6.7.8/32,1\n10.6.0.0/16,1\n10.6.7.0/24,2\n0.0.0.0/0,2\n10.6.7.128/25,1\n128.0.0.0/1,1\n"
            )),
            [
                fits(&[
                    "10.6.7.8",
                    "10.6.6.255",
                    "10.6.8.0",
                    "10.6.7.128",
                    "10.6.7.255",
                    "128.0.0.0",
                    "255.255.255.255",
                    "10.6.0.0",
                    "10.6.255.255",
                ]),
                not(&["10.6.7.7", "10.6.7.9", "10.6.7.127", "10.5.255.255", "10.7.0.0", "0.0.0.0", "127.255.255.255"]),
            ]
            .concat(),
        ),
        loaded(
            "a longer prefix without a location gives way to a shorter",
            Files::blocks(format!("{head}10.0.0.0/8,2\n10.1.0.0/16,1\n10.1.2.0/24,\n10.1.3.0/24,999\n")),
            [fits(&["10.1.2.1", "10.1.3.1"]), not(&["10.2.0.1"])].concat(),
        ),
        loaded(
            "of equal networks the later row counts",
            Files::blocks(format!(
                "{head}10.1.0.0/16,2\n10.1.9.9/16,1\n10.2.0.0/16,1\n10.2.0.0/16,2\n10.3.0.0/16,2\n10.3.0.0/16,\n10.4.0.0/16,1\n10.4.0.0/16,999\n"
            )),
            [fits(&["10.1.0.1", "10.4.0.1"]), not(&["10.2.0.1", "10.3.0.1"])].concat(),
        ),
        loaded(
            "a country that is empty is one",
            Files::locations("h,h,h,h,h,h\n1,en,EU,E,FR,\n2,en,EU,E,FR,France\n"),
            [not(&["10.1.0.1"]), fits(&["10.2.0.1"])].concat(),
        ),
        refused(
            "users that are none",
            [
                "[]",
                "null",
                "{}",
                "x",
                "{\"login\":\"\",\"password\":\"p\",\"name\":\"n\",\"phone\":\"1\",\"country\":\"c\"}",
                "{\"login\":\"u\",\"password\":\"p\",\"name\":\"n\",\"phone\":\"1\"}",
                "{\"login\":\"u\",\"password\":5,\"name\":\"n\",\"phone\":\"1\",\"country\":\"c\"}",
            ]
            .map(|bad| Files::users(format!("{USERS}\n{bad}\n")))
            .into_iter()
            .chain(
                [
                    line(",\"is_admin\":1"),
                    line(",\"is_admin\":\"true\""),
                    line(",\"x\":01"),
                    line(",\"x\":\"\\ud83d\""),
                    line(","),
                    line("") + "x",
                    format!("{USERS}{USERS}"),
                    format!("\u{feff}{USERS}"),
                ]
                .map(Files::users),
            )
            .chain([Files::users(
                line(",\"x\":\"~\"").bytes().map(|byte| if byte == b'~' { 0xff } else { byte }).collect::<Vec<_>>(),
            )])
            .collect(),
        ),
        refused(
            "rows that are none",
            [
                "10.1.0.0,1",
                "10.1.0.0/33,1",
                "10.1.0.0/08,1",
                "10.1.0/16,1",
                "10.1.0.256/16,1",
                "2001:db8::/32,1",
                "x/8,1",
                "10.1.0.0/16",
                ",1",
                "/,1",
            ]
            .map(|row| Files::blocks(format!("{BLOCKS}{row}\n")))
            .into_iter()
            .chain(["3,en,EU,Europe,FR\n", "3\n"].map(|row| Files::locations(format!("{LOCATIONS}{row}"))))
            .collect(),
        ),
    ]
}
