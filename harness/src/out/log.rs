//! `harness log`: one row an attempt.

use comfy_table::{CellAlignment, Table, presets};

use super::format::{clip, count, duration, effect, mean_per_request, short};
use crate::judge::record::Record;

/// The records as a table, oldest first.
pub fn table(records: &[Record]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["#", "outcome", "gain", "interval", "instr/req", "time", "commit", "change"]);
    for record in records {
        let (gain, interval) = effect(&record.outcome);
        let per_request = mean_per_request(record.deciding_pairs(), |pair| &pair.challenger)
            .map_or("-".to_owned(), |(user, kernel)| count(user + kernel));
        table.add_row([
            record.attempt.to_string(),
            record.outcome.word().to_owned(),
            gain,
            interval,
            per_request,
            duration(record.seconds()),
            record.commit.as_deref().map_or("-", short).to_owned(),
            clip(&record.changed.to_string(), 70),
        ]);
    }
    for column in [0, 2, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
