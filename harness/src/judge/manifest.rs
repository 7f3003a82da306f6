//! What a proposal may change in the candidate's Cargo.toml: which locked crates it uses, with which features. Anything
//! that makes cargo run other code, or take code from elsewhere, is refused. Pure: two texts in, a refusal or none out.

use toml::{Table, Value};

use super::fence::Refusal;

/// Sections that may differ: plain dependencies and features. All others (package, lib, bin, build-dependencies,
/// target, patch, profile, lints) stay as they are.
const FREE: [&str; 2] = ["dependencies", "features"];

/// What a dependency's table may say. `path`, `git`, `registry` and the like would take code from elsewhere.
const PLAIN: [&str; 5] = ["version", "features", "default-features", "optional", "workspace"];

/// Refuse or let through a change of the candidate's manifest.
///
/// # Errors
/// The refusal names the section or dependency.
pub fn check(before: &str, after: &str) -> Result<(), Refusal> {
    let (before, after) = (parse(before)?, parse(after)?);
    for section in before.keys().chain(after.keys()) {
        if !FREE.contains(&section.as_str()) && before.get(section) != after.get(section) {
            return refuse(format!("[{section}] may not change, only [dependencies] and [features] may"));
        }
    }
    let empty = Table::new();
    let section =
        |table: &Table| table.get("dependencies").and_then(Value::as_table).cloned().unwrap_or_else(|| empty.clone());
    let old = section(&before);
    for (name, value) in &section(&after) {
        if old.get(name) == Some(value) {
            continue;
        }
        let Value::Table(table) = value else { continue };
        if let Some(key) = table.keys().find(|key| !PLAIN.contains(&key.as_str())) {
            return refuse(format!(
                "dependency {name:?} may not say {key:?}: code comes from the locked registry only"
            ));
        }
    }
    Ok(())
}

fn parse(text: &str) -> Result<Table, Refusal> {
    text.parse().map_err(|error: toml::de::Error| Refusal::Manifest(format!("not TOML: {}", error.message())))
}

fn refuse(why: String) -> Result<(), Refusal> {
    Err(Refusal::Manifest(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "[package]\nname = \"candidate\"\nversion = \"0.1.0\"\n\n[dependencies]\nmio = \"1\"\nkept = { path = \"../kept\" }\n";

    fn with(more: &str) -> Result<(), Refusal> {
        check(BEFORE, &format!("{BEFORE}{more}"))
    }

    #[test]
    fn locked_crates_and_features_may_come_and_go() {
        assert_eq!(with("slab = \"0.4\"\n"), Ok(()));
        assert_eq!(
            with("slab = { version = \"0.4\", default-features = false, features = [\"std\"] }\n[features]\nx = []\n"),
            Ok(())
        );
        assert_eq!(check(BEFORE, &BEFORE.replace("mio = \"1\"\n", "")), Ok(()));
    }

    #[test]
    fn code_from_elsewhere_and_code_that_cargo_runs_are_refused() {
        for more in [
            "x = { path = \"../../elsewhere\" }\n",
            "x = { git = \"file:///elsewhere\" }\n",
            "x = { version = \"1\", registry = \"mine\" }\n",
            "x = { version = \"1\", package = \"y\" }\n",
            "[build-dependencies]\ncc = \"1\"\n",
            "[target.'cfg(unix)'.dependencies]\nx = { path = \"/\" }\n",
            "[patch.crates-io]\nmio = { path = \"/\" }\n",
            "[lib]\nproc-macro = true\n",
            "[profile.release]\nopt-level = 0\n",
            "[[bin]]\nname = \"other\"\npath = \"src/other.rs\"\n",
        ] {
            assert!(with(more).is_err(), "{more}");
        }
        assert!(
            check(BEFORE, &BEFORE.replace("version", "build = \"src/main.rs\"\nversion"))
                .unwrap_err()
                .to_string()
                .contains("[package]")
        );
        assert!(check(BEFORE, &BEFORE.replace("../kept", "../other")).is_err());
        assert!(check(BEFORE, "not = toml = at all").unwrap_err().to_string().contains("not TOML"));
    }
}
