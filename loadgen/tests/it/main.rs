//! The load generator against servers that misbehave in known ways, over real sockets.

mod checker;
mod replay;
