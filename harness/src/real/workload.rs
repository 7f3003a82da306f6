//! The workload of one measurement: a run's, with figures changed by hand.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use loadgen::workload::Workload;
use serde_json::{Map, Value};

use crate::data::definition;

/// The workload with these settings laid over it, in order. A setting is `KEY=VALUE` (`connections=16`, `mix.get=1`), or
/// the path of a JSON file with such keys.
///
/// # Errors
/// Names the setting, the key at fault, and those there are.
pub fn changed(workload: &Workload, settings: &[String]) -> Result<Workload> {
    let mut workload = workload.clone();
    for setting in settings {
        let change = match setting.split_once('=') {
            Some((key, text)) => nested(key, text),
            None => file(Path::new(setting))?,
        };
        let mut value = serde_json::to_value(&workload).context("the workload as JSON")?;
        merge(&mut value, change);
        workload = serde_json::from_value(value)
            .map_err(|error| anyhow!("{setting}: {}", definition::explain(&error.to_string())))?;
    }
    Ok(workload)
}

/// `a.b=1` as `{"a":{"b":1}}`; what is no JSON is a string, so that `schedule=closed-loop` needs no quotes.
fn nested(key: &str, text: &str) -> Value {
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    key.rsplit('.').fold(value, |inner, name| Value::Object(Map::from_iter([(name.to_owned(), inner)])))
}

fn file(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} is neither KEY=VALUE nor a file that can be read", path.display()))?;
    let value: Value = serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
    if !value.is_object() {
        bail!("{} is no workload: write an object such as {{\"connections\":16}}", path.display());
    }
    Ok(value)
}

fn merge(into: &mut Value, change: Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (key, value) in change {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change,
    }
}

#[cfg(test)]
mod tests {
    use loadgen::workload::Schedule;

    use super::*;

    fn with(settings: &[&str]) -> Result<Workload, String> {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        changed(&Workload::default(), &settings).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_setting_changes_its_figure_only_and_a_later_one_wins() {
        let default = Workload::default();
        assert_eq!(with(&[]).unwrap(), default);
        let changed = with(&["connections=8", "schedule=closed-loop", "mix.get=7", "connections=16"]).unwrap();
        let mut mix = default.mix.clone();
        mix.get = 7;
        assert_eq!(changed, Workload { connections: 16, schedule: Schedule::ClosedLoop, mix, ..default });
    }

    #[test]
    fn a_file_changes_what_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("load.json");
        std::fs::write(&path, r#"{"pipelining":1,"mix":{"head":0}}"#).unwrap();
        let changed = with(&[path.to_str().unwrap(), "users=500"]).unwrap();
        assert_eq!((changed.pipelining, changed.mix.head, changed.users), (1, 0, 500));
        assert_eq!(changed.connections, Workload::default().connections);
        std::fs::write(&path, "[1]").unwrap();
        assert!(with(&[path.to_str().unwrap()]).unwrap_err().contains("an object such as"));
    }

    #[test]
    fn a_wrong_setting_is_named_with_what_would_do() {
        let unknown = with(&["conections=8"]).unwrap_err();
        assert!(unknown.starts_with("conections=8: ") && unknown.contains("did you mean `connections`?"), "{unknown}");
        assert!(with(&["mix.gett=8"]).unwrap_err().contains("did you mean `get`?"));
        assert!(with(&["connections=many"]).unwrap_err().starts_with("connections=many: invalid type"));
        assert!(with(&["no-such-file"]).unwrap_err().contains("neither KEY=VALUE nor a file"));
    }
}
