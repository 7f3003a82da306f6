//! Who may import whom. A layer is a folder or a page of `harness/src`; arrows point only downwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Layer to the layers of ours it may name. `main` and `cmd` see everything.
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    BTreeMap::from([
        ("judge", vec![]),
        ("os", vec![]),
        ("exit", vec![]),
        ("cli", vec!["exit"]),
        ("data", vec!["judge"]),
        ("propose", vec!["judge"]),
        ("out", vec!["judge"]),
        ("lab", vec!["judge", "propose"]),
        ("attempt", vec!["judge", "lab", "propose", "out"]),
        ("search", vec!["attempt", "judge", "lab", "propose", "out"]),
        ("sim", vec!["judge", "lab", "propose", "out", "search"]),
        ("real", vec!["judge", "os", "data", "lab", "propose"]),
    ])
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("the source folder is readable").map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn layer_of(src: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(src).unwrap();
    let first = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Every `crate::<layer>` that a file names outside comments, `use crate::{a, b}` included.
fn named(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + "crate::".len()..];
            let list = rest.strip_prefix('{').and_then(|list| list.split('}').next());
            for part in list.unwrap_or(rest).split(',') {
                let name: String = part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !name.is_empty() {
                    found.push((index + 1, name));
                }
                if list.is_none() {
                    break;
                }
            }
        }
    }
    found
}

fn arrows_up(layer: &str, text: &str) -> Vec<(usize, String)> {
    let allowed = allowed();
    let Some(may) = allowed.get(layer) else { return Vec::new() };
    named(text).into_iter().filter(|(_, name)| name != layer && !may.contains(&name.as_str())).collect()
}

#[test]
fn arrows_point_only_downwards() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 20, "only {} source files found", files.len());
    let mut wrong = Vec::new();
    for path in &files {
        let layer = layer_of(&src, path);
        let known = allowed().contains_key(layer.as_str()) || ["main", "cmd"].contains(&layer.as_str());
        assert!(known, "{} is in no layer: add `{layer}` to the map in this test", path.display());
        for (line, name) in arrows_up(&layer, &fs::read_to_string(path).unwrap()) {
            wrong.push(format!("{}:{line}: {layer} imports {name}", path.strip_prefix(&src).unwrap().display()));
        }
    }
    assert!(wrong.is_empty(), "arrows that point up:\n{}", wrong.join("\n"));
}

#[test]
fn an_arrow_up_would_be_found() {
    assert_eq!(arrows_up("judge", "use crate::data::ledger;\n"), [(1, "data".to_owned())]);
    assert_eq!(arrows_up("search", "fn f() {}\nlet x = crate::os::git::head();\n"), [(2, "os".to_owned())]);
    assert_eq!(arrows_up("data", "use crate::{judge::sample, real};\n"), [(1, "real".to_owned())]);
    assert_eq!(arrows_up("judge", "// crate::data is named in words only\nuse crate::judge::sample;\n"), []);
}

#[test]
fn nobody_depends_on_the_candidate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for manifest in
        ["harness/Cargo.toml", "harness/guest/Cargo.toml", "harness/plugin/Cargo.toml", "loadgen/Cargo.toml"]
    {
        let text = fs::read_to_string(root.join(manifest)).unwrap();
        let depends = text.lines().any(|line| line.trim_start().starts_with("candidate"));
        assert!(!depends, "{manifest} depends on the candidate");
    }
    let candidate = fs::read_to_string(root.join("candidate/Cargo.toml")).unwrap();
    assert!(!candidate.contains("path ="), "the candidate depends on a path");
}
