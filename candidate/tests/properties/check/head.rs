//! Request heads, their fields and targets.

use candidate::choices::{FieldLookup, HeadParser, HeaderSlots, Routing};
use candidate::http::head::{Head, Progress, read_by};
use candidate::http::target::{Route, route_by};
use candidate::http::{Fault, Span, fields::parse_by};

use super::arrivals;
use crate::oracle;
use crate::oracle::head::Outcome;

/// Whatever has come of a head, all parsers make of it what the oracle does, in the given cuts and at once.
pub fn head(bytes: &[u8], cuts: &[usize]) {
    for parser in [HeadParser::Httparse, HeadParser::OnePass, HeadParser::Blocks] {
        for cuts in [&[][..], cuts] {
            let mut progress = Progress::default();
            for end in arrivals(bytes.len(), cuts) {
                let come = &bytes[..end];
                let got = read_by(parser, come, &mut progress);
                let outcome = oracle::head::read(come);
                assert!(
                    fits(come, &got, &outcome),
                    "{parser:?}: {got:?}, not {outcome:?}, of {:?} cut after {cuts:?}",
                    String::from_utf8_lossy(come)
                );
                if got != Ok(None) {
                    break;
                }
            }
        }
    }
}

fn fits(bytes: &[u8], got: &Result<Option<Head>, Fault>, outcome: &Outcome) -> bool {
    match (got, outcome) {
        (Ok(None), Outcome::Waiting) => true,
        (Ok(None), Outcome::WrongAlready { now, .. }) => !now,
        (Ok(Some(got)), Outcome::Head(wanted)) => {
            let text = |span: Option<Span>| span.map(|span| span.of(bytes).to_vec());
            *wanted.as_ref()
                == oracle::head::Head {
                    len: got.len,
                    method: got.method,
                    route: named(bytes, got.route),
                    address: text(got.address),
                    key: text(got.key),
                    length: got.framing.length,
                    expects_continue: got.framing.expects_continue,
                    ending: got.framing.ending,
                }
        }
        (Err(fault), Outcome::Wrong(faults) | Outcome::WrongAlready { faults, .. }) => faults.contains(fault),
        _ => false,
    }
}

/// Both ways of routing find the oracle's route.
pub fn route(target: &[u8]) {
    let wanted = oracle::route::route(target).ok_or(Fault::BadRequest);
    for routing in [Routing::Segments, Routing::WholeFirst] {
        let got = route_by(routing, target, Span::new(0, target.len()));
        assert_eq!(
            got.map(|route| named(target, route)),
            wanted,
            "{routing:?} of {:?}",
            String::from_utf8_lossy(target)
        );
    }
}

fn named(bytes: &[u8], route: Route) -> oracle::route::Route {
    let text = |span: Span| String::from_utf8(span.of(bytes).to_vec()).expect("targets are ASCII");
    match route {
        Route::Auth => oracle::route::Route::Auth,
        Route::User => oracle::route::Route::User,
        Route::BlockedSubnet { ip, mask } => oracle::route::Route::Subnet(text(ip), text(mask)),
        Route::BlockedUser { login } => oracle::route::Route::Login(text(login)),
        Route::Unknown => oracle::route::Route::Unknown,
    }
}

/// All ways of finding the wanted fields of a head agree; `lines` is what follows the request line.
pub fn fields(lines: &[u8]) {
    let plain = parse_by(FieldLookup::ByName, HeaderSlots::All, lines, 0);
    for lookup in [FieldLookup::ByName, FieldLookup::OneWalk] {
        for slots in [HeaderSlots::All, HeaderSlots::FewFirst] {
            let got = parse_by(lookup, slots, lines, 0);
            assert_eq!(got, plain, "{lookup:?}, {slots:?} of {:?}", String::from_utf8_lossy(lines));
        }
    }
}
