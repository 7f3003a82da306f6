//! Ctrl-C and SIGTERM: the first sets a flag that every wait watches, the second exits at once. What to save on the
//! way out is the caller's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit code of the second Ctrl-C: 128 + SIGINT, as a shell reports it.
pub const EXIT_INTERRUPTED: i32 = 130;

/// Installs the handlers and returns the flag. The second signal leaves through `_exit`: nothing is saved, and the
/// wardens (see `process`) still kill every process, because they notice that the harness is gone.
pub fn install() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        watch(signal, &stop)?;
    }
    Ok(stop)
}

/// The order of the two registrations matters: the exit is armed by the flag, so it must be asked before it is set.
fn watch(signal: i32, stop: &Arc<AtomicBool>) -> io::Result<()> {
    flag::register_conditional_shutdown(signal, EXIT_INTERRUPTED, Arc::clone(stop))?;
    flag::register(signal, Arc::clone(stop))?;
    Ok(())
}

/// True once a stop was asked for.
pub fn stopped(stop: &AtomicBool) -> bool {
    stop.load(Ordering::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_sets_the_flag_and_the_second_exits_with_130() {
        // SIGUSR1 in a forked copy, so that the exit is not the test runner's.
        // SAFETY: the child only installs handlers and raises signals, then leaves through _exit.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "fork failed");
        if child == 0 {
            let stop = Arc::new(AtomicBool::new(false));
            let code = match watch(libc::SIGUSR1, &stop) {
                Err(_) => 90,
                Ok(()) => {
                    // SAFETY: raising a signal in this process, whose handler was just installed.
                    unsafe { libc::raise(libc::SIGUSR1) };
                    if stopped(&stop) {
                        // SAFETY: as above; this one must not come back.
                        unsafe { libc::raise(libc::SIGUSR1) };
                        91
                    } else {
                        92
                    }
                }
            };
            // SAFETY: leaves the forked copy without running the test runner's destructors.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: `child` is our own child and `status` outlives the call.
        let reaped = unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(reaped, child);
        assert!(libc::WIFEXITED(status), "killed instead of exiting: {status}");
        assert_eq!(libc::WEXITSTATUS(status), EXIT_INTERRUPTED);
    }
}
