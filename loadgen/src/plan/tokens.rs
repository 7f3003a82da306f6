//! Tokens that must be accepted and tokens that must not. Which request carries which is decided elsewhere.

use crate::chance::{Chance, Deck};
use crate::model::token::{HEADER, issued, mac256, mac384, mac512, payload, sealed, segment, signed};
use crate::spell::{Speller, Value};

/// Lengths of nonces.
pub const NONCE_LENGTHS: [usize; 8] = [8, 12, 16, 16, 20, 24, 32, 48];

/// Makes tokens; the kinds of each come in fixed proportions.
#[derive(Debug)]
pub struct Tokens {
    nonces: Deck<usize>,
    good: Deck<u8>,
    forged: Deck<u8>,
    algorithms: Deck<u8>,
    times: Deck<u8>,
    speller: Speller,
}

impl Default for Tokens {
    fn default() -> Tokens {
        let mut good = vec![0u8; 12];
        good.extend([1, 2, 3, 4]);
        Tokens {
            nonces: Deck::new(NONCE_LENGTHS),
            good: Deck::new(good),
            forged: Deck::new((0..10).collect::<Vec<_>>()),
            algorithms: Deck::new((0..8).collect::<Vec<_>>()),
            times: Deck::new((0..8).collect::<Vec<_>>()),
            speller: Speller::default(),
        }
    }
}

impl Tokens {
    /// A nonce no one has seen.
    pub fn nonce(&mut self, chance: &mut Chance) -> String {
        let length = self.nonces.deal(chance);
        chance.word(length)
    }

    /// A token that proves `login`: mostly as the server issues them, some as others may write them.
    pub fn good(&mut self, chance: &mut Chance, login: &str) -> String {
        let nonce = self.nonce(chance);
        let text = |text: &str| Value::Text(text.to_string());
        let number = |number: u64| Value::Raw(number.to_string());
        match self.good.deal(chance) {
            0 => issued(login, &nonce),
            1 => {
                let header = *chance.pick(&[
                    r#"{"typ":"JWT","alg":"HS256"}"#,
                    r#"{ "alg" : "HS256" }"#,
                    r#"{"alg":"HS256","typ":5,"kid":"a"}"#,
                ]);
                signed(header, payload(login, &nonce))
            }
            2 => {
                let members = [("login", text(login)), ("is_admin", Value::Raw("true".into())), ("iat", number(1))];
                signed(HEADER, self.speller.object(chance, &members, false))
            }
            3 => {
                let later = 4_000_000_000 + chance.below(90_000_000) as u64;
                let members = [("login", text(login)), ("exp", number(later)), ("nbf", number(1_000_000_000))];
                signed(HEADER, self.speller.object(chance, &members, false))
            }
            _ => {
                let members = [("nonce", text(&nonce)), ("login", text(login))];
                signed(HEADER, self.speller.object(chance, &members, true))
            }
        }
    }

    /// A token that looks like one of `login` and whose signature, or its text, is not right.
    pub fn forged(&mut self, chance: &mut Chance, login: &str, other: &str) -> String {
        let nonce = self.nonce(chance);
        let token = issued(login, &nonce);
        let (text, mac) = token.rsplit_once('.').expect("a token has dots");
        match self.forged.deal(chance) {
            0 | 1 => {
                let at = chance.below(mac.len() - 1);
                format!("{text}.{}", with_other_letter(chance, mac, at))
            }
            2 => {
                let wrong: Vec<u8> = (0..32).map(|_| chance.bits() as u8).collect();
                format!("{text}.{}", segment(mac256(&wrong, text)))
            }
            // Another's payload under this one's signature.
            3 => format!("{}.{}.{mac}", segment(HEADER), segment(payload(other, &nonce))),
            4 => {
                let at = chance.between(40, text.len() - 1);
                format!("{}.{mac}", with_other_letter(chance, text, at))
            }
            // The same 32 bytes, written with spare bits set.
            5 => format!("{text}.{}", with_spare_bits(chance, mac)),
            6 => format!("{text}.{}", &mac[..mac.len() - 1]),
            7 => format!("{text}.{mac}{}", chance.word(1)),
            8 => format!("{text}.{mac}="),
            _ => format!("{token}.{}", segment("{}")),
        }
    }

    /// A token signed rightly by what its header says, or by HS256 under a header that says otherwise.
    pub fn other_algorithm(&mut self, chance: &mut Chance, login: &str) -> String {
        let nonce = self.nonce(chance);
        let text = |header: &str| format!("{}.{}", segment(header), segment(payload(login, &nonce)));
        match self.algorithms.deal(chance) {
            0 => {
                let text = text(r#"{"alg":"HS384","typ":"JWT"}"#);
                format!("{text}.{}", segment(mac384(&text)))
            }
            1 => {
                let text = text(r#"{"alg":"HS512","typ":"JWT"}"#);
                format!("{text}.{}", segment(mac512(&text)))
            }
            2 => format!("{}.", text(r#"{"alg":"none","typ":"JWT"}"#)),
            3 => sealed(&text(r#"{"alg":"none","typ":"JWT"}"#)),
            4 => sealed(&text(r#"{"alg":"hs256","typ":"JWT"}"#)),
            5 => sealed(&text(r#"{"typ":"JWT"}"#)),
            6 => sealed(&text(r#"{"alg":"HS256","crit":["exp"]}"#)),
            _ => sealed(&text(r#"{"alg":5,"typ":"HS256"}"#)),
        }
    }

    /// A token whose time is over, has not come, or cannot be read. No clock is needed: the times are far off.
    pub fn out_of_time(&mut self, chance: &mut Chance, login: &str) -> String {
        let past = 1_000_000_000 + chance.below(600_000_000);
        let future = 4_000_000_000_u64 + chance.below(90_000_000) as u64;
        let (key, value) = match self.times.deal(chance) {
            0 | 1 => ("exp", past.to_string()),
            2 => ("exp", format!("{past}.5")),
            3 => ("exp", "-1".to_string()),
            4 => ("exp", format!("\"{future}\"")),
            5 => ("nbf", future.to_string()),
            6 => ("nbf", format!("{}e1", future / 10)),
            _ => ("exp", "true".to_string()),
        };
        let members = [("login", Value::Text(login.into())), (key, Value::Raw(value))];
        signed(HEADER, self.speller.object(chance, &members, false))
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn with_other_letter(chance: &mut Chance, text: &str, at: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if bytes[at] == b'.' {
        bytes[at] = b'_';
    } else {
        let old = bytes[at];
        while bytes[at] == old {
            bytes[at] = *chance.pick(LETTERS);
        }
    }
    String::from_utf8(bytes).expect("letters are ASCII")
}

fn with_spare_bits(chance: &mut Chance, mac: &str) -> String {
    let (start, last) = mac.split_at(mac.len() - 1);
    let value = LETTERS.iter().position(|letter| *letter == last.as_bytes()[0]).expect("a letter of base64url");
    // 43 letters hold 258 bits: the last two are spare and must be 0.
    let spoilt = LETTERS[value + chance.between(1, 3)];
    format!("{start}{}", char::from(spoilt))
}
