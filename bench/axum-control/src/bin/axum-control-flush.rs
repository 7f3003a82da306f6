//! The control with hyper's `pipeline_flush`, which gathers the answers of a pipeline into one write.

use axum_control::Flush;

fn main() -> std::process::ExitCode {
    axum_control::run(Flush::Pipeline)
}
