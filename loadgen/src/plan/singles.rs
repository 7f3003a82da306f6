//! Requests that stand alone, one way of drawing for each kind.

use super::ask::Ask;
use super::broken::wrong_type;
use super::draw::{Draw, Sender, ask};
use crate::model::{ALLOW, Call, Members};
use crate::spell::Value;
use crate::workload::Kind;
use std::net::Ipv4Addr;

impl Draw {
    /// A request of a kind that is no chain.
    pub fn single(&mut self, kind: Kind) -> Ask {
        let user = self.pool.user(&mut self.chance);
        let login = user.login.as_str();
        let home = self.home(&user);
        let bare = self.pool.bare(&mut self.chance);
        let variant = self.variants.deal(&mut self.chance);
        match kind {
            Kind::Get => {
                let sender = Sender::at(home).proving(self, login);
                self.get(kind, "GET", sender)
            }
            Kind::GetNoRecord => {
                let sender = Sender::at(bare).proving(self, login);
                self.get(kind, "GET", sender)
            }
            Kind::GetOtherCountry => {
                let sender = Sender::at(self.abroad(&user.country)).proving(self, login);
                self.get(kind, "GET", sender)
            }
            Kind::GetForged => {
                let other = self.pool.admin(&mut self.chance).login;
                let key = self.tokens.forged(&mut self.chance, login, &other);
                self.get(kind, "GET", Sender::at(home).with_bad(vec![key]))
            }
            Kind::GetOtherAlgorithm => {
                let key = self.tokens.other_algorithm(&mut self.chance, login);
                self.get(kind, "GET", Sender::at(home).with_bad(vec![key]))
            }
            Kind::GetExpired => {
                let key = self.tokens.out_of_time(&mut self.chance, login);
                self.get(kind, "GET", Sender::at(home).with_bad(vec![key]))
            }
            Kind::GetNoToken => {
                let good = self.tokens.good(&mut self.chance, login);
                let keys = match variant % 5 {
                    0 => vec![],
                    1 => vec![String::new()],
                    2 => vec![format!("Bearer {good}")],
                    3 => vec![good.clone(), good],
                    _ => vec![good.rsplit_once('.').map_or(String::new(), |(text, _)| text.into())],
                };
                self.get(kind, "GET", Sender::at(home).with_bad(keys))
            }
            Kind::GetUnknown => {
                let nobody = self.new_login();
                let sender = Sender::at(home).proving(self, &nobody);
                self.get(kind, "GET", sender)
            }
            Kind::GetNoAddress => {
                let mut sender = Sender::at(home).proving(self, login);
                sender.addresses = self.bad_address(home);
                sender.from = None;
                self.get(kind, "GET", sender)
            }
            Kind::Head => {
                let sender = Sender::at(if variant.is_multiple_of(5) { self.abroad(&user.country) } else { home });
                let sender = sender.proving(self, login);
                self.get(kind, "HEAD", sender)
            }
            Kind::Auth => self.auth(kind, home, login, Some(&user.password)),
            Kind::AuthWrongPassword => {
                let wrong = match variant % 5 {
                    0 => None,
                    1 => Some(String::new()),
                    2 => Some(format!("{}\0", user.password)),
                    3 => Some(user.password.chars().take(1).collect()),
                    _ => Some(format!("{}!", self.text())),
                };
                self.auth(kind, home, login, wrong.as_deref())
            }
            Kind::AuthUnknown => {
                let nobody = self.new_login();
                self.auth(kind, home, &nobody, Some(&user.password))
            }
            Kind::AuthOtherCountry => {
                let address = self.abroad(&user.country);
                self.auth(kind, address, login, Some(&user.password))
            }
            Kind::AuthBadBody => {
                let right = self.auth(kind, home, login, Some(&user.password));
                self.spoilt(right, Call::Auth(None))
            }
            Kind::PutBadBody => self.bad_put(kind, bare, variant),
            Kind::PutTaken => {
                let members = self.newcomer(user.login.clone(), user.country.clone());
                self.write(kind, "PUT", Sender::at(home), &members)
            }
            Kind::PutOtherCountry => {
                let login = self.new_login();
                let members = self.newcomer(login, user.country.clone());
                let address = self.abroad(&user.country);
                self.write(kind, "PUT", Sender::at(address), &members)
            }
            Kind::PatchBadBody => {
                let sender = Sender::at(home).proving(self, login);
                let members = Members { name: Some(self.text()), ..Members::default() };
                let right = self.write(kind, "PATCH", sender, &members);
                self.spoilt(right, Call::Patch(None))
            }
            Kind::PatchRefused => {
                let other = self.pool.admin(&mut self.chance).login;
                let key = self.tokens.forged(&mut self.chance, login, &other);
                let members = Members { name: Some(self.text()), ..Members::default() };
                self.write(kind, "PATCH", Sender::at(home).with_bad(vec![key]), &members)
            }
            Kind::NotAdmin => {
                let sender = Sender::at(home).proving(self, login);
                let victim = self.pool.user(&mut self.chance).login;
                match variant % 4 {
                    0 => self.about_user(kind, true, sender, &victim),
                    1 => self.about_user(kind, false, sender, &victim),
                    2 => self.about_subnet(kind, true, sender, (home, 24)),
                    _ => self.about_subnet(kind, false, sender, (home, 24)),
                }
            }
            Kind::BadSubnet => {
                let sender = self.as_admin();
                let (ip, mask) = *self.chance.pick(BAD_SUBNETS);
                let path = format!("/blacklist/subnet/{ip}/{mask}");
                let (method, call) = match variant % 2 {
                    0 => ("PUT", Call::Shut(None)),
                    _ => ("DELETE", Call::Open(None)),
                };
                ask(kind, call, method, &path, sender, None)
            }
            Kind::Absent => {
                let sender = self.as_admin();
                match variant % 4 {
                    0 => {
                        let nobody = self.new_login();
                        self.about_user(kind, true, sender, &nobody)
                    }
                    1 => {
                        let nobody = self.new_login();
                        self.about_user(kind, false, sender, &nobody)
                    }
                    2 => self.about_user(kind, false, sender, login),
                    _ => {
                        let length = self.chance.between(8, 32) as u8;
                        self.about_subnet(kind, false, sender, (home, length))
                    }
                }
            }
            Kind::Nowhere => {
                let sender = Sender::at(home).proving(self, login);
                let path = *self.chance.pick(PATHS);
                let method = *self.chance.pick(&["GET", "PUT", "POST", "DELETE"]);
                ask(kind, Call::Nowhere, method, path, sender, None)
            }
            Kind::BadMethod => {
                let sender = Sender::at(home).proving(self, login);
                let (path, allowed, methods) = match variant % 4 {
                    0 => ("/auth", ALLOW[0], ["GET", "PUT", "HEAD", "post"]),
                    1 => ("/user", ALLOW[1], ["POST", "DELETE", "OPTIONS", "get"]),
                    2 => ("/blacklist/user/x", ALLOW[2], ["GET", "POST", "PATCH", "put"]),
                    _ => ("/blacklist/subnet/1.2.3.4/x", ALLOW[2], ["GET", "POST", "TRACE", "BREW"]),
                };
                let method = *self.chance.pick(&methods);
                ask(kind, Call::Method(allowed), method, path, sender, None)
            }
            Kind::Life | Kind::Block | Kind::Subnet | Kind::Moving => unreachable!("{kind:?} is a chain"),
        }
    }

    fn spoilt(&mut self, mut right: Ask, call: Call) -> Ask {
        let text = String::from_utf8(right.body.take().unwrap_or_default()).expect("spelled as text");
        right.body = Some(self.breaker.spoil(&mut self.chance, &text));
        right.meaning.call = call;
        right
    }

    fn bad_put(&mut self, kind: Kind, address: u32, variant: u8) -> Ask {
        let login = self.new_login();
        let country = self.text();
        let members = self.newcomer(login, country);
        match variant % 4 {
            0 => {
                let right = self.write(kind, "PUT", Sender::at(address), &members);
                self.spoilt(right, Call::Put(None))
            }
            1 => {
                let empty = Members { login: Some(String::new()), ..members };
                self.write(kind, "PUT", Sender::at(address), &empty)
            }
            2 => {
                let mut less = members;
                let gone = self.chance.below(5);
                let places = [&mut less.login, &mut less.password, &mut less.name, &mut less.phone, &mut less.country];
                *places.into_iter().nth(gone).expect("five places") = None;
                self.write(kind, "PUT", Sender::at(address), &less)
            }
            _ => {
                let mut values = vec![];
                for (key, text) in [
                    ("login", members.login),
                    ("password", members.password),
                    ("name", members.name),
                    ("phone", members.phone),
                ] {
                    values.push((key, Value::Text(text.expect("a newcomer has all"))));
                }
                values.push(("country", wrong_type(&mut self.chance)));
                let body = self.speller.object(&mut self.chance, &values, false);
                ask(kind, Call::Put(None), "PUT", "/user", Sender::at(address), Some(body.into_bytes()))
            }
        }
    }

    fn bad_address(&mut self, home: u32) -> Vec<String> {
        let home = Ipv4Addr::from(home).to_string();
        match self.bad_addresses.deal(&mut self.chance) {
            0 => vec![],
            1 => vec![home.clone(), home],
            2 => vec![format!("{home}, {home}")],
            other => vec![BAD_ADDRESSES[other - 3].replace('A', &home)],
        }
    }
}

/// `A` stands for a good address.
pub const BAD_ADDRESSES: &[&str] = &[
    "",
    "::1",
    "::ffff:A",
    "A:80",
    "A.1",
    "0A.",
    "1.2.3",
    "1.2.3.256",
    "01.2.3.4",
    "1.2.3.0004",
    "A,",
    "+A",
    "\"A\"",
    "1.2.3.4a",
];

const BAD_SUBNETS: &[(&str, &str)] = &[
    ("77.99.0.0", "33"),
    ("77.99.0.0", "99"),
    ("77.99.0.0", "256"),
    ("77.99.0.0", "4294967304"),
    ("77.99.0.0", "-1"),
    ("77.99.0.0", "+8"),
    ("77.99.0.0", "08"),
    ("77.99.0.0", "8x"),
    ("77.99.0.0", "8.0"),
    ("77.99.0", "16"),
    ("77.099.0.0", "16"),
    ("77.99.0.256", "16"),
    ("x", "8"),
    ("2001:db8::", "32"),
    ("%20", "8"),
];

const PATHS: &[&str] = &[
    "/",
    "/USER",
    "/user/",
    "//user",
    "/./user",
    "/%75ser",
    "/auth/x",
    "/blacklist",
    "/blacklist/user",
    "/blacklist/user/",
    "/blacklist/subnet/1.2.3.4",
    "/blacklist/subnet/1.2.3.4/8/",
    "/blacklist/subnet//8",
    "/users",
    "/usr",
    "/user/../user",
];
