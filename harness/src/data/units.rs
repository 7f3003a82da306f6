//! Durations, percentages and sizes as people write them in runs.toml. A figure without its unit is refused with the
//! line to write instead: `30` could be seconds or minutes, and the run would go on for the wrong night.

use std::fmt;
use std::time::Duration;

use serde::Deserializer;
use serde::de::{Error, Visitor};

const DURATIONS: [(&str, f64); 4] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
const SIZES: [(&str, f64); 4] = [("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0)];

/// `"90s"`, `"5m"`, `"1.5h"`, `"250ms"`.
pub fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let seconds = from.deserialize_any(Quantity { what: "a duration", units: &DURATIONS, example: "s" })?;
    Duration::try_from_secs_f64(seconds).map_err(|_| D::Error::custom("this duration is too long"))
}

/// `"8h"`, or left out.
pub fn maybe_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    duration(from).map(Some)
}

/// `"3%"`, as a fraction: 0.03.
pub fn percent<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    from.deserialize_any(Quantity { what: "a percentage", units: &[("%", 0.01)], example: "%" })
}

/// `"512KiB"`, `"1MiB"`, `"2GiB"`, in bytes.
pub fn size<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let bytes = from.deserialize_any(Quantity { what: "a size", units: &SIZES, example: "MiB" })?;
    if bytes > 2f64.powi(53) {
        return Err(D::Error::custom("this size is too large"));
    }
    Ok(bytes.round() as u64)
}

struct Quantity {
    what: &'static str,
    units: &'static [(&'static str, f64)],
    example: &'static str,
}

impl Quantity {
    fn parse(&self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
        let (figure, unit) = (&text[..end], text[end..].trim());
        let Ok(value) = figure.parse::<f64>() else {
            return Err(format!(
                "{text:?} is not {}: write a figure and its unit, e.g. \"30{}\"",
                self.what, self.example
            ));
        };
        if let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) {
            return Ok(value * factor);
        }
        let known: Vec<String> = self.units.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let wrong = if unit.is_empty() { "has no unit".to_owned() } else { format!("has the unknown unit {unit:?}") };
        let guess =
            self.units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map_or(self.example, |(name, _)| name);
        Err(format!("{text:?} {wrong}: write \"{figure}{guess}\" (units of {}: {})", self.what, known.join(", ")))
    }

    fn bare<E: Error>(&self, figure: impl fmt::Display) -> E {
        E::custom(format!("{} needs its unit: write \"{figure}{}\"", self.what, self.example))
    }
}

impl Visitor<'_> for Quantity {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} such as \"30{}\"", self.what, self.example)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        self.parse(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, figure: i64) -> Result<f64, E> {
        Err(self.bare(figure))
    }

    fn visit_u64<E: Error>(self, figure: u64) -> Result<f64, E> {
        Err(self.bare(figure))
    }

    fn visit_f64<E: Error>(self, figure: f64) -> Result<f64, E> {
        Err(self.bare(figure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURATION: Quantity = Quantity { what: "a duration", units: &DURATIONS, example: "s" };
    const SIZE: Quantity = Quantity { what: "a size", units: &SIZES, example: "MiB" };

    #[test]
    fn figures_with_units_are_read() {
        for (text, seconds) in [("90s", 90.0), ("5m", 300.0), ("8h", 28_800.0), ("1.5 h", 5_400.0), ("250ms", 0.25)] {
            assert_eq!(DURATION.parse(text), Ok(seconds), "{text}");
        }
        assert_eq!(SIZE.parse("2GiB"), Ok(2_147_483_648.0));
    }

    #[test]
    fn a_missing_or_wrong_unit_is_answered_with_what_to_write() {
        assert!(DURATION.parse("30").unwrap_err().contains("write \"30s\""));
        assert!(DURATION.parse("30 sec").unwrap_err().contains("unknown unit \"sec\": write \"30s\""));
        assert!(SIZE.parse("2gib").unwrap_err().contains("write \"2GiB\""));
        assert!(SIZE.parse("2GB").unwrap_err().contains("\"KiB\", \"MiB\", \"GiB\""));
        for text in ["", "s", "-5s", "1.2.3s", "ünits"] {
            assert!(DURATION.parse(text).unwrap_err().contains("is not a duration"), "{text}");
        }
    }
}
