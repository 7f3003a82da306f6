//! The contract, tested from outside: the program is started on the fixture and spoken to in raw bytes.
//! The full suite of cases belongs to the load generator; this is what a change of the server is tried against first.

mod address;
mod blacklists;
mod client;
mod connection;
mod http;
mod json;
mod program;
mod server;
mod token;
mod users;

/// What the servers of these tests run with. `contract_uring` has the same tests with the other engine.
const ENGINE: &str = "epoll";
