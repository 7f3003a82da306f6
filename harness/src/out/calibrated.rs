//! `harness calibrate`: what inert rebuilds showed, and what can be proven in spite of it.

use std::fmt::Write as _;

use super::format::gain;
use crate::judge::provable::Provable;
use crate::judge::statistics::Noise;

/// A row a rebuild, a column a seed: the gain over the original, which is none.
pub fn rebuilds(d: &[Vec<f64>]) -> String {
    let mut out = String::new();
    for (index, row) in d.iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|d| format!("{:+.4}%", d.exp_m1() * 100.0)).collect();
        let _ = writeln!(out, "  rebuild {:<2} {}", index + 1, cells.join("  "));
    }
    out
}

/// The spread in a line.
pub fn spread(noise: &Noise) -> String {
    format!("  spread (1 sd) {:.4}%, largest mean {:.4}%\n", noise.sigma_aa * 100.0, noise.relink * 100.0)
}

/// What each look can prove; `threshold` is the score gain that promotes, as a fraction.
pub fn provable(looks: &[Provable], threshold: f64) -> String {
    let mut out = String::new();
    for look in looks {
        let _ = writeln!(
            out,
            "  smallest provable gain here: {} with {} seeds; promoted (threshold {:+.0}%) from {}",
            gain(look.real),
            look.seeds,
            threshold * 100.0,
            gain(look.promoted)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::decide::Rule;
    use crate::judge::provable::looks;

    #[test]
    fn each_look_has_its_line_with_the_smallest_gain_it_can_prove() {
        let text = provable(&looks(&Rule::default(), &Noise::new(0.0005, 0.0005)), 0.03);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        // 0.001 + 4.437 * 0.0005 / sqrt(12) is 0.00164.
        assert_eq!(
            lines[2],
            "  smallest provable gain here: +0.16% with 12 seeds; promoted (threshold +3%) from +3.07%"
        );
        assert_eq!(spread(&Noise::new(0.0005, 0.0006)), "  spread (1 sd) 0.0500%, largest mean 0.0600%\n");
    }
}
