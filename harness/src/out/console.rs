//! The search on a terminal: one row an attempt, and below them a line with what is happening now.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Watch;
use super::format::{clip, count, duration, effect, gain, mean_per_request};
use crate::judge::budget::{Budget, Progress};
use crate::judge::outcome::Phase;
use crate::judge::record::Record;

/// Rows and progress on stderr.
pub struct Console {
    bar: ProgressBar,
    terminal: bool,
    budget: Budget,
    started: Instant,
    progress: Progress,
    hypothesis: String,
    header: bool,
}

impl Console {
    /// A console for a run with this budget. Without a terminal on stderr there are rows and no moving line.
    pub fn new(budget: Budget) -> Self {
        let terminal = console_is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            // `wide_msg` is cut where the terminal ends; a line that wraps could not be taken away again.
            ProgressStyle::with_template("{spinner} {elapsed:>3} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Console {
            bar,
            terminal,
            budget,
            started: Instant::now(),
            progress: Progress::default(),
            hypothesis: String::new(),
            header: false,
        }
    }

    /// Say what is going on before the first attempt (fetching, building); replaced by the next.
    pub fn stage(&self, line: &str) {
        if self.terminal {
            self.bar.set_message(line.to_owned());
            self.bar.reset_elapsed();
        } else {
            eprintln!("{line}");
        }
    }

    /// Take the moving line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn print(&self, line: &str) {
        if self.terminal {
            self.bar.suspend(|| eprintln!("{line}"));
        } else {
            eprintln!("{line}");
        }
    }

    fn left(&self) -> String {
        let mut parts = Vec::new();
        if let Some(limit) = self.budget.attempts {
            let left = limit.saturating_sub(self.progress.attempts);
            parts.push(format!("{left} attempt{} left", if left == 1 { "" } else { "s" }));
        }
        if let Some(limit) = self.budget.plateau {
            parts.push(format!("plateau {}/{limit}", self.progress.since_promotion));
        }
        if let Some(limit) = self.budget.seconds {
            parts.push(format!("{} left", duration(limit - self.started.elapsed().as_secs_f64())));
        }
        parts.join(", ")
    }
}

impl Watch for Console {
    fn note(&mut self, line: &str) {
        self.print(line);
    }

    fn opened(&mut self, _number: u32, hypothesis: &str, progress: &Progress) {
        hypothesis.clone_into(&mut self.hypothesis);
        self.progress = *progress;
    }

    fn phase(&mut self, number: u32, phase: Phase) {
        if self.terminal {
            let best = if self.progress.promoted == 0 { "none yet".to_owned() } else { gain(self.progress.gain) };
            self.bar.reset_elapsed();
            self.bar.set_message(format!("#{number} {phase} | best {best} | {} | {}", self.left(), self.hypothesis));
        }
    }

    fn ended(&mut self, record: &Record, progress: &Progress) {
        self.progress = *progress;
        if !self.header {
            self.header = true;
            self.print("   #  outcome       gain      interval             instr/req   time  change");
        }
        let (gain, interval) = effect(&record.outcome);
        let per_request = mean_per_request(record.deciding_pairs(), |pair| &pair.challenger)
            .map_or("-".to_owned(), |(user, kernel)| count(user + kernel));
        self.print(&format!(
            "{:>4}  {:<12} {:>8}  {:<20} {:>9}  {:>5}  {}",
            record.attempt,
            record.outcome.word(),
            gain,
            interval,
            per_request,
            duration(record.seconds()),
            clip(&record.changed.to_string(), 60),
        ));
        if record.outcome.decision().is_none() {
            self.print(&format!("      {}", clip(&record.outcome.reason(), 110)));
        }
    }
}

fn console_is_terminal() -> bool {
    use std::io::IsTerminal as _;
    std::io::stderr().is_terminal()
}
