//! The request to end. It is a socket that becomes readable and stays so, because every worker waits for sockets anyway.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// Where a worker sees the request: readable once it is made, or once nobody is left to make it. Nobody reads it.
#[derive(Clone, Debug)]
pub struct Stop(Arc<UnixStream>);

/// Makes the request.
#[derive(Debug)]
pub struct Stopper(UnixStream);

/// A request not yet made, and where it is seen.
pub fn pair() -> io::Result<(Stopper, Stop)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((Stopper(ours), Stop(Arc::new(theirs))))
}

impl Stopper {
    /// Asks all workers to end.
    pub fn stop(mut self) -> io::Result<()> {
        self.0.write_all(&[0])
    }

    /// Lets SIGTERM and SIGINT ask. The second of them ends the process at once, as if nobody had caught it.
    pub fn on_signals(self) -> io::Result<()> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            flag::register_conditional_default(signal, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
            pipe::register(signal, self.0.try_clone()?)?;
        }
        Ok(())
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
