//! The fixture of the contract's section 11, which its numbered cases are written against.

use super::files::{self, Spelling};
use super::{Block, DataSet, Location, User, Zones};
use crate::chance::Chance;
use crate::model::json::quote;

/// The fixture.
pub fn fixture() -> DataSet {
    let user = |login: &str, password: &str, name: &str, phone: &str, country: &str, admin| User {
        login: login.into(),
        password: password.into(),
        name: name.into(),
        phone: phone.into(),
        country: country.into(),
        admin,
    };
    let bonaire = "Bonaire, Sint Eustatius, and Saba";
    let users = vec![
        user("ann", "Aa1", "Ann", "+331", "France", false),
        user("bob", "AaAa", "Bob", "+492", "Germany", false),
        user("adm", "s3", "Adm", "+333", "France", true),
        user("ad2", "s4", "Ad2", "+494", "Germany", true),
        user("Jörg/1 %", "p5", "a<b>&\"\\", "+5", bonaire, false),
        user("no1", "p6", "N", "+6", "Atlantis", false),
    ];
    let locations = [("1", "France"), ("2", "Germany"), ("3", bonaire), ("4", "")]
        .map(|(id, country)| Location { id: id.into(), country: country.into() });
    let blocks = [
        (1, 0, 16, "1", ""),
        (2, 0, 16, "2", ""),
        (3, 0, 16, "3", ""),
        (4, 0, 16, "4", ""),
        (5, 0, 16, "", "1"),
        (6, 0, 16, "1", ""),
        (6, 7, 24, "2", ""),
        (7, 0, 16, "999", ""),
    ]
    .map(|(second, third, length, id, registered)| Block {
        address: u32::from_be_bytes([10, second, third, 0]),
        length,
        id: id.into(),
        registered: registered.into(),
    });
    let lines: Vec<String> = (users.iter())
        .map(|user| {
            format!(
                "{{\"login\":{},\"password\":{},\"name\":{},\"phone\":{},\"country\":{}{}}}",
                quote(&user.login),
                quote(&user.password),
                quote(&user.name),
                quote(&user.phone),
                quote(&user.country),
                if user.admin { ",\"is_admin\":true" } else { "" }
            )
        })
        .collect();
    let spelling = Spelling { crlf: false, last_newline: true, needless_quotes: 0, anycast: false };
    let files = files::all(&mut Chance::new(0, "fixture"), &spelling, &lines, &locations, &blocks);
    DataSet { users, locations: locations.to_vec(), blocks: blocks.to_vec(), zones: Zones::default(), files }
}
