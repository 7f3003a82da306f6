//! The load generator against servers that misbehave in known ways, over real sockets, and its command line.

mod cases;
mod checker;
mod command;
mod native;
mod replay;
