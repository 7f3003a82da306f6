//! The auth server, in layers: `engine` moves bytes between sockets and `conn`, which finds requests with `http`, has them
//! answered by `api` out of `state`, and writes what `reply` renders. `json` and `token` serve `api`; `load` fills `state`.
//! What can be tuned is in `tunables`. Nothing here knows of the harness that measures it.

pub mod api;
pub mod args;
pub mod choices;
pub mod conn;
pub mod engine;
pub mod health;
pub mod http;
pub mod json;
pub mod load;
pub mod reply;
pub mod state;
pub mod token;
pub mod tunables;
