//! Comments of a .proto as rustdoc sees them: what they become, and that nothing in them is run, linked or taken for HTML.

mod util;

use std::{fmt::Write, process::Command};
use util::{Dir, text};

/// The doc comment that a message gets whose comment in the .proto has these lines.
fn docs(comment: &[&str]) -> Vec<String> {
    let source: String = comment.iter().map(|line| format!("//{line}\n")).collect();
    documented(&format!("{source}message M {{}}"))
}

/// The doc comment of message `M` in a file that goes on like this.
fn documented(source: &str) -> Vec<String> {
    let dir = Dir::new(&[("a.proto", &format!("syntax = \"proto3\";\n\n{source}"))]);
    let code = text(&dir.generate(pintle_build::core(), &["a.proto"]).expect(source), "_.rs");
    let code = code.split("#[derive").next().expect("split gives one part at least");
    code.lines().filter_map(|line| line.strip_prefix("///")).map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect()
}

#[test]
fn comments_become_docs() {
    let cases: &[(&[&str], &[&str])] = &[
        (&[" One line."], &["One line."]),
        (&["No space.", "None here."], &["No space.", "None here."]),
        (&[" A paragraph", " of two lines.", "", "", " Another."], &["A paragraph", "of two lines.", "", "Another."]),
        // Lists keep their indentation.
        (&[" - one", "   more of it", " - two", "   1. inner"], &["- one", "  more of it", "- two", "  1. inner"]),
        // Code is shown, not run.
        (
            &[" Use it:", "", "     let x = 1;", "", "     x", "", " Done."],
            &["Use it:", "", "```text", "let x = 1;", "", "x", "```", "", "Done."],
        ),
        (&[" ```", " x();", " ```"], &["```text", "x();", "```"]),
        (&[" ```rust", " x();", " ```", " After."], &["```text", "x();", "```", "", "After."]),
        (&[" ```json", " {\"a\": [1]}", " ```"], &["```json", "{\"a\": [1]}", "```"]),
        (&[" ~~~ should_panic", " never closed"], &["```text", "never closed", "```"]),
        (&[" ```text", " ````", " inside", " ````"], &["```text", "```", "", "inside", "", "```text", "```"]),
        (&[" - item", "   ```edition2021", "   x();", "   ```"], &["- item", "", "```text", "x();", "```"]),
        // What is a link or a tag in Markdown only by accident.
        (&[" See [Other] and [a][b]."], &["See \\[Other\\] and \\[a\\]\\[b\\]."]),
        (&[" A Vec<u8> or <name>."], &["A Vec\\<u8> or \\<name>."]),
        (&[" `Vec<u8>` and `[x]` stay."], &["`Vec<u8>` and `[x]` stay."]),
        (&[" A lone ` tick and back\\slash."], &["A lone \\` tick and back\\\\slash."]),
        (&[" > quoted"], &["\\> quoted"]),
        (&[" Escaped already: \\[x\\] \\`"], &["Escaped already: \\[x\\] \\`"]),
        // Web addresses are links.
        (&[" See https://a.example/b?c=d#e."], &["See <https://a.example/b?c=d#e>."]),
        (&[" (http://a.example), <http://b.example>"], &["(<http://a.example>), <http://b.example>"]),
        (&[" The [guide](https://a.example/b) and [x](y)."], &["The [guide](https://a.example/b) and \\[x\\](y)."]),
        // What rustc refuses in a comment.
        (&[" Trojan \u{202e}source\u{2066}.", " Bell \u{7}."], &["Trojan (U+202E)source(U+2066).", "Bell \u{fffd}."]),
        (&["\tTabbed.", "\t\tMore."], &["Tabbed.", "   More."]),
    ];
    for (comment, expected) in cases {
        assert_eq!(docs(comment), *expected, "{comment:?}");
    }
}

#[test]
fn every_kind_of_comment_is_found() {
    let cases: &[(&str, &[&str])] = &[
        ("// Leading.\nmessage M {}", &["Leading."]),
        ("// Leading.\nmessage M { // Trailing.\n}", &["Leading.", "", "Trailing."]),
        ("/* Block. */\nmessage M {}", &["Block."]),
        ("/*\n * Starred.\n *\n *   - list\n */\nmessage M {}", &["Starred.", "", "  - list"]),
        ("// Detached.\n\nmessage M {}", &["Message `M`."]),
        ("// Detached.\n\n// Leading.\nmessage M {}", &["Leading."]),
    ];
    for (source, expected) in cases {
        assert_eq!(documented(source), *expected, "{source:?}");
    }
}

/// Every item says something, with or without a comment of its own.
#[test]
fn docs_reach_every_item() {
    let source = "syntax = \"proto3\"; package p;\n\
        // C-message.\nmessage M {\n // C-field.\n string a = 1;\n string b = 2;\n // C-oneof.\n oneof o { string c = 3; string d = 4; }\n\
        // C-nested.\n message N {}\n // C-enum.\n enum E {\n ZERO = 0;\n // C-value.\n ONE = 1; } }\n\
        // C-service.\nservice S {\n // C-method.\n rpc A(M) returns (M);\n rpc B(M) returns (stream M); }";
    let dir = Dir::new(&[("a.proto", source)]);
    for (builder, trait_name) in [(pintle_build::tokio(), "pub trait S"), (pintle_build::mio(), "pub trait SService")] {
        let code = text(&dir.generate(builder, &["a.proto"]).expect("the file is good"), "p.rs");
        let before = |item: &str| -> Vec<String> {
            let at = code.find(item).unwrap_or_else(|| panic!("{item:?} is not in\n{code}"));
            let lines = code[..at].lines().rev().skip(usize::from(!code[..at].ends_with('\n')));
            let docs = lines.map(str::trim).take_while(|line| !line.is_empty() && !line.ends_with([',', ';', '{', '}']));
            docs.filter_map(|line| line.strip_prefix("///")).map(|line| line.trim().to_owned()).collect()
        };
        let found = [
            ("pub struct M", "C-message."),
            ("pub a:", "C-field."),
            ("pub b:", "Field `b`, number 2."),
            ("pub o:", "C-oneof."),
            ("pub struct N", "C-nested."),
            ("pub enum E ", "C-enum."),
            ("One = 1", "C-value."),
            ("Zero = 0", "Value `ZERO`, number 0."),
            (trait_name, "C-service."),
            ("fn a(", "C-method."),
            ("fn b(", "`/p.S/B`"),
            ("pub struct SClient", "C-service."),
            ("pub fn a(", "C-method."),
            ("pub fn b(", "`/p.S/B`"),
        ];
        for (item, doc) in found {
            assert!(before(item).iter().any(|line| line == doc), "{item}: {:?}\n{code}", before(item));
        }
    }
}

/// Text made of pieces that mean something to Markdown or to rustdoc.
fn random_comment(seed: &mut u64) -> Vec<String> {
    const PIECES: &[&str] = &[
        "",
        " ",
        "  ",
        "   ",
        "    ",
        "     ",
        "         ",
        "\t",
        "- ",
        "* ",
        "+ ",
        "1. ",
        "2. ",
        "10) ",
        "> ",
        "# ",
        "```",
        "````",
        "~~~",
        "```rust",
        "``` ignore",
        "```E0308",
        "```edition2018,no_run",
        "```{.rust}",
        "```should-panic",
        "`",
        "``",
        "[a]",
        "[b]: https://c.example",
        "[",
        "]",
        "(x)",
        "[d](https://e.example)",
        "<",
        ">",
        "<div>",
        "<!--",
        "https://f.example/g.",
        "\\",
        "fail!();",
        "|a|b|",
        "---",
        "===",
        "word",
        "let x: u8 = ();",
        "&lt;",
        "$",
        "_",
        "**",
        "!",
        ":",
        "\u{202e}",
        "/// x",
        "//",
        "* * *",
        "-",
        "1.",
        "- [ ] ",
    ];
    let mut next = |limit: usize| {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        usize::try_from(*seed >> 33).expect("31 bits") % limit
    };
    (0..1 + next(9)).map(|_| (0..next(5)).map(|_| PIECES[next(PIECES.len())]).collect()).collect()
}

/// Comments that look like deep lists, and are paragraphs with code behind them.
const TRICKY: &[&[&str]] = &[
    &["word", "2. a", "      3. b", "", "         fail!();"],
    &["- a", "  # b", "c", "", "     fail!();"],
    &["-", "", "    fail!();"],
    &["1. a", "2. b", "", "       fail!();"],
    &["- ```", "  fail!();", "", "    fail!();"],
];

/// How many tests rustdoc finds in a file of these doc comments; it must have nothing else to say if `strict`.
fn rustdoc(comments: &[Vec<String>], strict: bool) -> usize {
    let lints = if strict { "deny(rustdoc::all)" } else { "allow(rustdoc::all)" };
    let mut source = format!("#![{lints}]\n#![allow(rustdoc::missing_crate_level_docs)]\n");
    for (index, comment) in comments.iter().enumerate() {
        for line in comment {
            writeln!(source, "/// {line}").expect("a string takes everything");
        }
        writeln!(source, "pub struct M{index};").expect("a string takes everything");
    }
    let dir = Dir::new(&[("doc.rs", &source)]);
    let run = |arguments: &[&str]| {
        let program = std::env::var("RUSTDOC").unwrap_or_else(|_| "rustdoc".to_owned());
        let output = Command::new(program)
            .args(["--edition", "2024"])
            .args(arguments)
            .arg(dir.path("doc.rs"))
            .arg("-o")
            .arg(dir.path("html"))
            .output();
        let output = output.expect("rustdoc comes with Rust");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        said
    };
    if strict {
        assert_eq!(run(&[]), "");
    }
    let said = run(&["--test", "--test-args=--list"]);
    said.lines().filter(|line| line.ends_with(": test")).count()
}

/// rustdoc itself is the judge: among thousands of comments it finds no test, no broken link and no HTML.
#[test]
fn rustdoc_finds_nothing_to_run_or_to_complain_of() {
    let count: usize = std::env::var("PINTLE_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(2000);
    let mut seed = 0x5eed_u64;
    let mut proto = "syntax = \"proto3\";\n\n".to_owned();
    let mut raw = Vec::new();
    for index in 0..count {
        let comment = match TRICKY.get(index) {
            Some(tricky) => tricky.iter().map(|line| format!(" {line}")).collect(),
            None => random_comment(&mut seed),
        };
        for line in &comment {
            writeln!(proto, "//{line}").expect("a string takes everything");
        }
        writeln!(proto, "message M{index} {{}}\n").expect("a string takes everything");
        raw.push(comment.iter().map(|line| line.replace('\u{202e}', "")).collect());
    }
    let dir = Dir::new(&[("a.proto", &proto)]);
    let code = text(&dir.generate(pintle_build::core().descriptors(false), &["a.proto"]).expect("comments cannot be wrong"), "_.rs");
    let docs = code.split("\n}\n").map(|item| item.lines().filter_map(|line| line.strip_prefix("///").map(str::to_owned)).collect());
    let docs: Vec<Vec<String>> = docs.filter(|doc: &Vec<String>| !doc.is_empty()).collect();
    assert_eq!(docs.len(), count);
    assert!(rustdoc(&raw, false) > count / 20, "the comments as they are would be run");
    assert_eq!(rustdoc(&docs, true), 0);
}
