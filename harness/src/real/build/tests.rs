//! Small workspaces built with the real cargo: the same sources give the same bytes, other sources never do.

use std::time::{Instant, SystemTime};

use tempfile::TempDir;

use super::*;

const ONE: &str = "//! p\nfn main() { inner::say(1); panic!(\"at {}\", file!()) }\n";
const TWO: &str = "//! p\nfn main() { inner::say(2); panic!(\"at {}\", file!()) }\n";

/// A workspace with a program and a library of its own.
fn workspace(folder: &Path, main: &str) {
    let files = [
        (
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"p\", \"inner\"]\n[profile.release]\ncodegen-units = 1\npanic = \"abort\"\n",
        ),
        (
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"inner\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"p\"\nversion = \"0.1.0\"\ndependencies = [\n \"inner\",\n]\n",
        ),
        (
            "p/Cargo.toml",
            "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\ninner = { path = \"../inner\" }\n",
        ),
        ("p/src/main.rs", main),
        ("inner/Cargo.toml", "[package]\nname = \"inner\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
        ("inner/src/lib.rs", "//! inner\npub fn say(n: u32) { println!(\"{n} {}\", line!()) }\n"),
    ];
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn setup() -> (TempDir, Builder) {
    let folder = tempfile::tempdir().unwrap();
    let builder = Builder::new(&folder.path().join("cache")).unwrap();
    (folder, builder)
}

fn go(builder: &Builder, worktree: &Path) -> Build {
    builder.build(worktree, "p", &worktree.with_extension("log"), &AtomicBool::new(false)).unwrap()
}

fn built(builder: &Builder, worktree: &Path) -> Binary {
    match go(builder, worktree) {
        Build::Built(binary) => binary,
        other => panic!("{other:?}\n{}", fs::read_to_string(worktree.with_extension("log")).unwrap_or_default()),
    }
}

/// Whether an ELF file has a PT_INTERP segment, by its program headers.
fn has_interpreter(elf: &[u8]) -> bool {
    let number =
        |at: usize, bytes: usize| elf[at..at + bytes].iter().rev().fold(0usize, |n, &b| n << 8 | usize::from(b));
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    assert!(count > 0);
    (0..count).any(|n| number(table + n * size, 4) == 3)
}

#[test]
fn the_same_sources_give_the_same_bytes_from_another_path_and_target_folder() {
    let (folder, builder) = setup();
    let (near, far) = (folder.path().join("near"), folder.path().join("some where/else/entirely"));
    workspace(&near, ONE);
    workspace(&far, ONE);
    for path in [&near, &far] {
        // As the candidate is built.
        let manifest = path.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap() + "lto = true\n";
        fs::write(&manifest, text).unwrap();
    }
    let other = Builder::new(&folder.path().join("another cache")).unwrap();
    let (a, b) = (built(&builder, &near), built(&other, &far));
    assert_eq!(a.sha256, b.sha256);
    assert_ne!(a.path, b.path);
    assert!(a.seconds > 0.0);
    let program = fs::read(&a.path).unwrap();
    // Statically linked, so that it runs in a machine without libraries.
    assert!(!has_interpreter(&program));
    let run = Spawn::new(&a.path).capture(100).run(Duration::from_secs(5), &AtomicBool::new(false)).unwrap();
    assert_eq!(run.stdout, b"1 2\n");
}

#[test]
fn going_back_to_older_sources_gives_the_older_binary_whatever_the_times_say() {
    let (folder, builder) = setup();
    let path = folder.path().join("work");
    workspace(&path, ONE);
    let first = built(&builder, &path);
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let put = |text: &str| {
        fs::write(path.join("p/src/main.rs"), text).unwrap();
        fs::File::options().write(true).open(path.join("p/src/main.rs")).unwrap().set_modified(long_ago).unwrap();
    };
    put(TWO);
    let second = built(&builder, &path);
    assert_ne!(second.sha256, first.sha256);
    put(ONE);
    assert_eq!(built(&builder, &path).sha256, first.sha256);
    // A library of the workspace, too.
    let lib = path.join("inner/src/lib.rs");
    fs::write(&lib, "//! inner\npub fn say(n: u32) { println!(\"{} {}\", n + 1, line!()) }\n").unwrap();
    fs::File::options().write(true).open(&lib).unwrap().set_modified(long_ago).unwrap();
    assert_ne!(built(&builder, &path).sha256, first.sha256);
}

#[test]
fn two_worktrees_that_share_a_target_folder_do_not_get_each_others_binary() {
    let (folder, builder) = setup();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    workspace(&a, ONE);
    workspace(&b, TWO);
    let (one, two) = (built(&builder, &a), built(&builder, &b));
    assert_ne!(one.sha256, two.sha256);
    assert_eq!(built(&builder, &a).sha256, one.sha256);
    assert_eq!(built(&builder, &b).sha256, two.sha256);
}

#[test]
fn what_does_not_compile_fails_with_the_compilers_first_error() {
    let (folder, builder) = setup();
    let path = folder.path().join("work");
    workspace(&path, "//! p\nfn main() { nowhere() }\n");
    let Build::Failed(reason) = go(&builder, &path) else { panic!("it was built") };
    assert!(reason.starts_with("error[E0425]") && reason.contains("p/src/main.rs:2"), "{reason}");
}

#[test]
fn a_program_that_contains_its_own_path_is_refused() {
    let (folder, builder) = setup();
    let path = folder.path().join("work");
    workspace(&path, "//! p\nfn main() { println!(\"{}\", env!(\"CARGO_MANIFEST_DIR\")) }\n");
    let Build::Failed(reason) = go(&builder, &path) else { panic!("it was built") };
    assert!(reason.contains("path of its build"), "{reason}");
}

#[test]
fn a_build_that_never_ends_is_ended_and_so_is_one_that_is_interrupted() {
    let (folder, mut builder) = setup();
    let path = folder.path().join("work");
    workspace(&path, ONE);
    fs::write(path.join("p/build.rs"), "fn main() { loop { std::thread::sleep(std::time::Duration::from_secs(1)) } }")
        .unwrap();
    builder.limit = Duration::from_secs(3);
    let begin = Instant::now();
    assert!(matches!(go(&builder, &path), Build::TimedOut(_)));
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    let stop = AtomicBool::new(true);
    assert_eq!(builder.build(&path, "p", &path.with_extension("log"), &stop).unwrap(), Build::Interrupted);
}

#[test]
fn a_stored_binary_that_was_tampered_with_is_written_anew() {
    let (folder, builder) = setup();
    let path = folder.path().join("work");
    workspace(&path, ONE);
    let binary = built(&builder, &path);
    fs::remove_file(&binary.path).unwrap();
    fs::write(&binary.path, "forged").unwrap();
    assert_eq!(built(&builder, &path).sha256, binary.sha256);
    assert!(fs::read(&binary.path).unwrap().starts_with(b"\x7fELF"));
}

#[test]
fn a_lock_file_that_lacks_a_crate_is_told_with_the_remedy() {
    let (folder, builder) = setup();
    let path = folder.path().join("work");
    workspace(&path, ONE);
    let (log, stop) = (path.with_extension("log"), AtomicBool::new(false));
    builder.fetch(&path, &log, &stop).unwrap();
    fs::write(path.join("Cargo.lock"), "version = 4\n").unwrap();
    let error = builder.fetch(&path, &log, &stop).unwrap_err().to_string();
    assert!(error.contains("cargo fetch --locked") && error.contains("while online"), "{error}");
}

#[test]
fn local_packages_are_those_without_a_source() {
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1\"\n\n[[package]]\nname = \"b\"\nversion = \"1\"\nsource = \"registry\"\n";
    assert_eq!(local_packages(lock), ["a"]);
}
