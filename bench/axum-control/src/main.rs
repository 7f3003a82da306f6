//! The control as axum serves it.

use axum_control::Flush;

fn main() -> std::process::ExitCode {
    axum_control::run(Flush::Each)
}
