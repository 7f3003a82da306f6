//! The declared tunables of a candidate, read from the text of its `tunables.rs` and written back into it.
//!
//! A knob is three kinds of lines, in this order:
//! ```text
//! /// What it means, in one line.
//! /// choices: Expression | Expression | Expression
//! pub const NAME: Type = Expression;
//! ```
//! Only the text between `=` and `;` is ever changed, and only to one of the listed choices.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// One declared knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Name of the constant.
    pub name: String,
    /// What it means, in one line.
    pub meaning: String,
    /// Rust expressions it may be set to, in declared order.
    pub choices: Vec<String>,
    /// The one it is set to.
    pub value: String,
}

/// Knob to value, for every declared knob.
pub type Assignment = BTreeMap<String, String>;

/// Read every knob.
///
/// # Errors
/// A `choices:` line without a constant behind it, fewer than two choices, or a value that is not one of them: with
/// the line.
pub fn parse(text: &str) -> Result<Vec<Knob>> {
    let mut knobs: Vec<Knob> = Vec::new();
    let mut meaning = String::new();
    let mut choices: Option<Vec<String>> = None;
    for (index, line) in text.lines().enumerate() {
        let (at, line) = (index + 1, line.trim());
        if let Some(list) = line.strip_prefix("/// choices:") {
            choices = Some(list.split('|').map(|choice| choice.trim().to_owned()).collect());
        } else if let Some(comment) = line.strip_prefix("///") {
            if choices.is_none() && meaning.is_empty() {
                comment.trim().clone_into(&mut meaning);
            }
        } else if line.starts_with("#[") {
            // Attributes may stand between a knob's comment and its constant.
        } else {
            if let Some(choices) = choices.take() {
                let Some((name, value)) = constant(line) else {
                    bail!("line {at}: `choices:` must be followed by `pub const NAME: Type = value;`, found `{line}`");
                };
                if choices.len() < 2 {
                    bail!("line {at}: {name} has {} choice, a knob needs two or more", choices.len());
                }
                if !choices.contains(&value) {
                    bail!(
                        "line {at}: {name} is set to `{value}`, which is not one of its choices: {}",
                        choices.join(" | ")
                    );
                }
                if knobs.iter().any(|knob| knob.name == name) {
                    bail!("line {at}: {name} is declared twice");
                }
                knobs.push(Knob { name, meaning: std::mem::take(&mut meaning), choices, value });
            }
            meaning.clear();
        }
    }
    if choices.is_some() {
        bail!(
            "line {}: `choices:` must be followed by `pub const NAME: Type = value;`, found the end of the file",
            text.lines().count()
        );
    }
    Ok(knobs)
}

fn constant(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("pub const ")?;
    let (head, value) = rest.split_once('=')?;
    let (name, _) = head.split_once(':')?;
    let value = value.split_once(';')?.0;
    Some((name.trim().to_owned(), value.trim().to_owned()))
}

/// The values of all knobs.
pub fn assignment(knobs: &[Knob]) -> Assignment {
    knobs.iter().map(|knob| (knob.name.clone(), knob.value.clone())).collect()
}

/// The text with these knobs set and every other byte as it was.
pub fn set(text: &str, values: &Assignment) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let new = constant(line.trim_start()).and_then(|(name, old)| {
            let value = values.get(&name).filter(|value| **value != old)?;
            let (head, tail) = line.split_once('=')?;
            let (_, tail) = tail.split_once(';')?;
            Some(format!("{head}= {value};{tail}"))
        });
        out.push_str(new.as_deref().unwrap_or(line));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! knobs\n\n/// Bytes of a read buffer.\n/// choices: 2048 | 4096\npub const READ: usize = 4096;\n\n/// How answers are written.\n/// choices: Writes::One | Writes::Batch\n#[rustfmt::skip]\npub const WRITES: Writes = Writes::One; // plain\n\npub const OTHER: u8 = 1;\n";

    #[test]
    fn knobs_are_read_with_meaning_choices_and_value() {
        let knobs = parse(TEXT).unwrap();
        assert_eq!(knobs.len(), 2);
        assert_eq!(
            knobs[0],
            Knob {
                name: "READ".into(),
                meaning: "Bytes of a read buffer.".into(),
                choices: vec!["2048".into(), "4096".into()],
                value: "4096".into()
            }
        );
        assert_eq!((knobs[1].meaning.as_str(), knobs[1].value.as_str()), ("How answers are written.", "Writes::One"));
    }

    #[test]
    fn setting_a_knob_changes_only_its_value() {
        let values = Assignment::from([("WRITES".to_owned(), "Writes::Batch".to_owned())]);
        let changed = set(TEXT, &values);
        assert_eq!(changed, TEXT.replace("= Writes::One;", "= Writes::Batch;"));
        assert_eq!(set(&changed, &assignment(&parse(TEXT).unwrap())), TEXT);
    }

    #[test]
    fn a_malformed_knob_is_named_with_its_line() {
        let value = parse("/// choices: 1 | 2\npub const A: u8 = 3;\n").unwrap_err().to_string();
        assert!(value.contains("line 2") && value.contains("`3`"), "{value}");
        assert!(parse("/// choices: 1 | 2\nfn x() {}\n").unwrap_err().to_string().contains("line 2"));
        assert!(parse("/// choices: 1\npub const A: u8 = 1;\n").unwrap_err().to_string().contains("two or more"));
        assert!(parse("/// choices: 1 | 2").is_err());
    }
}
