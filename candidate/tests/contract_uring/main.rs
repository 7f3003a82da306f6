//! The tests of `contract` once more, with io_uring: both engines give the same bytes.

#[path = "../contract/address.rs"]
mod address;
#[path = "../contract/blacklists.rs"]
mod blacklists;
#[path = "../contract/client.rs"]
mod client;
#[path = "../contract/connection.rs"]
mod connection;
#[path = "../contract/http.rs"]
mod http;
#[path = "../contract/json.rs"]
mod json;
#[path = "../contract/program.rs"]
mod program;
#[path = "../contract/server.rs"]
mod server;
#[path = "../contract/token.rs"]
mod token;
#[path = "../contract/users.rs"]
mod users;

/// What the servers of these tests run with, where the kernel allows it.
const ENGINE: &str = "uring";
