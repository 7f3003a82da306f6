//! Cases 34 to 47: the client's address and its country.

use crate::client::*;
use crate::server::Server;

#[test]
fn a_client_that_cannot_be_placed_is_refused_everywhere() {
    let server = Server::start();
    let without = |request: String| request.replace("X-Forwarded-For: 10.1.0.1\r\n", "");
    let put = r#"{"login":"new","password":"p","name":"N","phone":"1","country":"France"}"#;
    server.check([
        ("none", without(get("10.1.0.1", TA)), empty(403)),
        ("none on /auth", without(log_in("[")), empty(403)),
        ("none on PUT", without(request("PUT", "/user", "10.1.0.1", "", put)), empty(403)),
        ("twice", get("10.1.0.1\r\nX-Forwarded-For: 10.1.0.1", TA), empty(403)),
    ]);
    for address in
        ["", "::1", "::ffff:10.1.0.1", "10.1.0.1, 10.1.0.1", "10.1.0.1:80", "010.1.0.1", "10.1.0", "10.1.0.256", "x"]
    {
        server.gives(&get(address, TA), &empty(403));
    }
}

#[test]
fn the_longest_prefix_decides_and_no_record_fits_everybody() {
    let server = Server::start();
    for (address, ann, bob) in [
        (" \t 10.1.0.1 \t\t    ", true, false),
        ("99.9.9.9", true, true),
        ("10.4.0.1", false, false),
        ("10.5.0.1", true, true),
        ("10.7.0.1", true, true),
        ("10.6.8.1", true, false),
        ("10.6.7.9", false, true),
        ("10.1.0.0", true, false),
        ("10.1.255.255", true, false),
        ("10.0.255.255", true, true),
    ] {
        server.gives(&get(address, TA), &if ann { ok(UA) } else { empty(403) });
        server.gives(&get(address, TB), &if bob { ok(UB) } else { empty(403) });
    }
    let odd = get("10.1.0.1", TA).replace("X-Forwarded-For", "x-FORWARDED-for").replace("X-API-Key", "x-api-KEY");
    server.gives(&odd, &ok(UA));
}
