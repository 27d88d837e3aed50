//! No snippet is forgotten: every Rust block of the book is a test, every command names what exists, every link leads somewhere.

use pintle_book::page::{Block, Page, Step, repository};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

/// What runs without ever coming back, so that its snippet can only be compiled.
const ENDLESS: [&str; 2] = [".serve()", ".run()"];
/// Programs that a reader has, or gets where the page says so.
const PROGRAMS: [&str; 9] = ["cargo", "cd", "mkdir", "git", "rustup", "mdbook", "interop/run", "benches/peers/run", ".ci/run"];

fn blocks(pages: &[Page]) -> impl Iterator<Item = (&Page, &Block)> {
    pages.iter().flat_map(|page| page.blocks.iter().map(move |block| (page, block)))
}

fn read(path: &str) -> String {
    let path = repository().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let files = fs::read_dir(repository().join("docs")).expect("docs").flatten();
    let files = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let files: BTreeSet<String> = files.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect();
    let named: BTreeSet<String> = Page::all().into_iter().map(|page| page.name).collect();
    assert_eq!(named, files);
}

#[test]
fn every_rust_block_is_a_test() {
    let pages = Page::all();
    let tested = read("examples/book/src/pages.rs");
    let tested: BTreeSet<&str> = tested.split('"').filter(|name| name.ends_with(".md")).collect();
    let with_rust: BTreeSet<&str> =
        blocks(&pages).filter(|(_, block)| block.info.starts_with("rust")).map(|(page, _)| &*page.name).collect();
    assert_eq!(with_rust, tested, "src/pages.rs has the pages with Rust");

    let mut count = 0;
    for (page, block) in blocks(&pages) {
        let place = format!("{}:{}", page.name, block.line);
        match &*block.info {
            "rust" => count += 1,
            "rust,no_run" => {
                count += 1;
                assert!(ENDLESS.iter().any(|end| block.text.contains(end)), "{place}: it can end, so run it");
            }
            "rs" => assert!(is_compiled_elsewhere(block), "{place}: a block of rs is a file of a get-started page, or one include"),
            "toml" | "proto" | "sh" | "text" => {}
            other => panic!("{place}: a block of {other:?}"),
        }
    }
    assert!(count > 35, "only {count} snippets");
}

/// A file that `get-started` compiles, or a program of the examples.
fn is_compiled_elsewhere(block: &Block) -> bool {
    if matches!(block.step(), Some(Step::Write { .. })) {
        return true;
    }
    let path = block.text.trim().strip_prefix("{{#include ../examples/").and_then(|rest| rest.strip_suffix("}}"));
    path.is_some_and(|path| repository().join("examples").join(path).is_file())
}

#[test]
fn the_pages_to_get_started_are_whole() {
    let pages = Page::all();
    let starts: Vec<&Page> = pages.iter().filter(|page| page.name.starts_with("start-")).collect();
    assert_eq!(starts.len(), 5, "tokio, smol, mio, your own loop, without std");
    for page in starts {
        let steps: Vec<Step<'_>> = page.blocks.iter().filter_map(Block::step).collect();
        for wanted in ["Cargo.toml", "build.rs", "proto/hello.proto", "src/main.rs"] {
            let found = steps.iter().any(|step| matches!(step, Step::Write { path, .. } if *path == wanted));
            assert!(found, "{} does not write {wanted}", page.name);
        }
        assert!(steps.iter().any(|step| matches!(step, Step::Run(text) if text.contains("cargo run"))), "{} does not run it", page.name);
        assert!(steps.iter().any(|step| matches!(step, Step::See(_))), "{} does not say what it prints", page.name);
        for step in steps {
            if let Step::Write { path, source: Some(source), text } = step {
                let original = read(source);
                let original = original.split_once("\n\n").map_or(&*original, |(_, below_the_comment)| below_the_comment);
                assert!(text == original, "{}: {path} is no longer {source}: copy it over", page.name);
            }
        }
    }
}

/// Every binary of the workspace.
fn binaries() -> BTreeSet<String> {
    let mut binaries = BTreeSet::new();
    for (directory, manifest) in members() {
        let names = manifest.split("[[bin]]").skip(1).filter_map(|part| part.split("name = \"").nth(1)?.split('"').next());
        binaries.extend(names.map(str::to_owned));
        for entry in fs::read_dir(directory.join("src/bin")).into_iter().flatten().flatten() {
            binaries.insert(entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned());
        }
    }
    binaries
}

/// Directory and manifest of each member of the workspace.
fn members() -> Vec<(PathBuf, String)> {
    let manifest = read("Cargo.toml");
    let line = manifest.lines().find(|line| line.starts_with("members = [")).expect("a list of members");
    let names = line.split('"').skip(1).step_by(2);
    names.map(|name| (repository().join(name), read(&format!("{name}/Cargo.toml")))).collect()
}

fn packages() -> BTreeSet<String> {
    let name = |manifest: &str| manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"').map(str::to_owned));
    members().iter().filter_map(|(_, manifest)| name(manifest)).collect()
}

/// Checks `cargo … -p PACKAGE --bin BINARY`.
fn check_cargo(place: &str, words: &[&str], binaries: &BTreeSet<String>, packages: &BTreeSet<String>) {
    for pair in words.windows(2) {
        match pair {
            ["--bin", name] => assert!(binaries.contains(*name), "{place}: there is no binary {name}"),
            ["-p", name] => assert!(packages.contains(*name), "{place}: there is no package {name}"),
            _ => {}
        }
    }
}

#[test]
fn commands_name_what_exists() {
    let (pages, binaries, packages) = (Page::all(), binaries(), packages());
    assert!(binaries.contains("tour") && packages.contains("pintle-tokio"), "they were found");
    let mut count = 0;
    for (page, block) in blocks(&pages).filter(|(_, block)| block.info == "sh") {
        for line in block.text.lines() {
            let place = format!("{}:{} {line}", page.name, block.line);
            let words: Vec<&str> = line.split_whitespace().collect();
            let program = words.first().copied().unwrap_or_default();
            assert!(PROGRAMS.contains(&program), "{place}: who has {program}?");
            if program.contains('/') {
                assert!(repository().join(program).is_file(), "{place}: there is no {program}");
            }
            check_cargo(&place, &words, &binaries, &packages);
            count += 1;
        }
    }
    for (page, number, code) in pages.iter().flat_map(spans) {
        if code.starts_with("cargo ") {
            check_cargo(&format!("{}:{number}", page.name), &code.split_whitespace().collect::<Vec<_>>(), &binaries, &packages);
            count += 1;
        }
    }
    assert!(count > 30, "only {count} commands");
}

/// Code in the prose.
fn spans(page: &Page) -> impl Iterator<Item = (&Page, usize, &str)> {
    page.prose().flat_map(move |(number, line)| line.split('`').skip(1).step_by(2).map(move |code| (page, number, code)))
}

#[test]
fn paths_in_the_prose_exist() {
    let top: Vec<String> = fs::read_dir(repository())
        .expect("the repository")
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let mut count = 0;
    for (page, number, code) in Page::all().iter().flat_map(spans) {
        let (first, _) = code.split_once('/').unwrap_or((code, ""));
        if !top.iter().any(|name| name == first) || !code.contains('/') || code.contains([' ', '*']) {
            continue;
        }
        count += 1;
        assert!(repository().join(code).exists(), "{}:{number}: there is no {code}", page.name);
    }
    assert!(count > 15, "only {count} paths");
}

#[test]
fn links_lead_somewhere() {
    let pages: BTreeMap<String, Page> = Page::all().into_iter().map(|page| (page.name.clone(), page)).collect();
    let mut count = 0;
    for page in pages.values() {
        for target in page.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.starts_with("https://") {
                continue;
            }
            count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { &page.name } else { file };
            assert!(repository().join("docs").join(file).is_file(), "{}: no {file}", page.name);
            if !anchor.is_empty() {
                let headings = pages[file].prose().filter(|(_, line)| line.starts_with('#')).map(|(_, line)| slug(line));
                assert!(headings.into_iter().any(|heading| heading == anchor), "{}: no heading {target}", page.name);
            }
        }
    }
    assert!(count > 40, "only {count} links");
}

/// A heading as mdBook names it in links.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars().filter_map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { Some(c) } else { (c == ' ').then_some('-') }).collect()
}

#[test]
fn dependencies_of_a_strangers_crate_lie_where_the_pages_say() {
    let pages = Page::all();
    let mut count = 0;
    for (page, block) in blocks(&pages).filter(|(_, block)| block.info == "toml") {
        for line in block.text.lines() {
            let Some((name, rest)) = line.split_once(" = { path = \"../pintle/") else { continue };
            let directory = rest.split('"').next().unwrap_or_default();
            let manifest = read(&format!("{directory}/Cargo.toml"));
            assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{}:{}: {directory} is not {name}", page.name, block.line);
            count += 1;
        }
    }
    assert!(count > 10, "only {count} dependencies");
}

#[test]
fn every_feature_is_listed() {
    let page = Page::read("features.md");
    let listed: BTreeSet<(String, String, bool)> = page
        .text
        .lines()
        .filter(|line| line.starts_with("| pintle-") || line.starts_with("| h2-frame"))
        .map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            let mut next = || cells.next().unwrap_or_default().to_owned();
            (next(), next().trim_matches('`').to_owned(), next() == "yes")
        })
        .collect();
    let mut features = BTreeSet::new();
    let mut without = Vec::new();
    for (directory, manifest) in members() {
        if manifest.contains("publish = false") || directory.starts_with(repository().join("benches")) {
            continue;
        }
        let name = manifest.split("name = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a name").to_owned();
        let Some(section) = manifest.split("[features]\n").nth(1) else {
            without.push(name);
            continue;
        };
        let lines: Vec<&str> = section.lines().take_while(|line| !line.starts_with('[')).filter(|line| line.contains(" = ")).collect();
        let default = lines.iter().find(|line| line.starts_with("default")).copied().unwrap_or_default();
        for line in lines.iter().filter(|line| !line.starts_with("default")) {
            let feature = line.split(' ').next().unwrap_or_default();
            features.insert((name.clone(), feature.to_owned(), default.contains(&format!("\"{feature}\""))));
        }
    }
    assert_eq!(listed, features);
    for name in without {
        assert!(page.prose().any(|(_, line)| line.contains(&name) && !line.starts_with('|')), "{name} has no feature: say so");
    }
}
