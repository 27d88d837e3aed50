//! The rules of the house that a compiler does not keep: what the protocol crates may import, and how long their files are.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Longest source file, its tests apart.
const LONGEST: usize = 600;

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a source directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every source file of the two protocol crates: its path, and its text without unit tests and comments.
fn core_files() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for directory in [root.join("src"), root.join("../h2-frame/src")] {
        sources(&directory, &mut paths);
    }
    assert!(paths.len() > 60, "only {} files were found", paths.len());
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a readable file");
    paths.iter().map(|path| (path.clone(), without_tests(&text(path)))).collect()
}

fn without_tests(text: &str) -> String {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"))
}

#[test]
fn no_core_file_is_too_long() {
    let long: Vec<_> =
        core_files().into_iter().map(|(path, text)| (path, text.lines().count())).filter(|(_, lines)| *lines > LONGEST).collect();
    assert!(long.is_empty(), "more than {LONGEST} lines without tests: {long:?}");
}

/// No clock, no socket, no thread, no lock, no waker, no random order. `no_std` keeps most of it out; this says it by name.
#[test]
fn the_core_imports_nothing_impure() {
    let banned = [
        "std::",
        "extern crate std",
        "Instant",
        "SystemTime",
        "Mutex",
        "RwLock",
        "RefCell",
        "thread_local",
        "Waker",
        "async fn",
        ".await;",
        ".await?",
        ".await.",
        ".await)",
        "HashMap",
        "rand::",
    ];
    for (path, text) in core_files() {
        // Planted faults, which no ordinary build has, are named by the environment.
        if path.ends_with("src/fault.rs") {
            continue;
        }
        for line in code(&text) {
            let found = banned.iter().find(|word| line.contains(*word));
            assert!(found.is_none(), "{}: {line:?} uses {found:?}", path.display());
        }
    }
}

/// Dependencies point one way: the protocol crates know nothing of what stands on them.
#[test]
fn dependencies_point_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dependencies = |manifest: PathBuf| -> Vec<String> {
        let text = fs::read_to_string(manifest).expect("a manifest");
        let section = text.split("[dependencies]\n").nth(1).unwrap_or_default();
        let lines = section.lines().take_while(|line| !line.starts_with('['));
        lines
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|name| !name.is_empty() && !name.starts_with('#'))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(dependencies(root.join("../h2-frame/Cargo.toml")), [""; 0]);
    let allowed = ["h2-frame", "bytes", "base64", "prost"];
    for name in dependencies(root.join("Cargo.toml")) {
        assert!(allowed.contains(&name.as_str()), "the core must not depend on {name}");
    }
}

/// Unsafe code: none in h2-frame, denied in the core but for one reviewed place.
#[test]
fn unsafe_code_has_one_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lib = |path: &str| fs::read_to_string(root.join(path)).expect("a crate root");
    assert!(lib("../h2-frame/src/lib.rs").contains("#![forbid(unsafe_code)]"));
    assert!(lib("src/lib.rs").contains("#![deny(unsafe_code)]"));
    let allowed: Vec<_> =
        core_files().into_iter().filter(|(_, text)| code(text).any(|line| line.contains("allow(unsafe_code"))).map(|file| file.0).collect();
    assert!(allowed.len() <= 1, "{allowed:?}");
}

/// The testing module reaches into no private field: what it shows, an application could see, but for the probe.
#[test]
fn the_test_service_uses_the_public_api() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let echo = fs::read_to_string(root.join("src/testing/echo.rs")).expect("the echo service");
    for line in code(&echo).filter(|line| line.starts_with("use crate::") || line.starts_with("use super::super")) {
        assert!(!line.contains("conn::") && !line.contains("call::") && !line.contains("stream::"), "{line}");
    }
}
