//! Broken files: the place that the error names, and what it says.

mod util;

use util::Dir;

/// A broken file `a.proto`, its place of fault, and what must be said.
struct Case {
    source: &'static str,
    line: usize,
    column: usize,
    says: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        source: "syntax = \"proto3\";\nmessage A {\n  string name = ;\n}\n",
        line: 3,
        column: 17,
        says: &["expected an integer", "3 |   string name = ;", "  |                 ^ found here"],
    },
    Case { source: "syntax = \"proto3\";\nmessage A {\n  string name = 1\n}\n", line: 4, column: 1, says: &["but found '}'", "4 | }"] },
    Case {
        source: "syntax = \"proto3\";\nmessage A {\n  string name = 1;\n",
        line: 3,
        column: 19,
        says: &["reached end of file", "the file ends here"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {\n  Missing m = 1;\n}\n",
        line: 3,
        column: 3,
        says: &["name 'Missing' is not defined", "3 |   Missing m = 1;", "  |   ^^^^^^^ found here"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage Request {}\nservice S { rpc Call(Requst) returns (Request); }\n",
        line: 3,
        column: 22,
        says: &["name 'Requst' is not defined", "help: a type with a similar name exists: `Request`"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {\n  string a = 1;\n  string b = 1;\n}\n",
        line: 4,
        column: 14,
        says: &["field number '1' is already used", "4 |   string b = 1;", "3 |   string a = 1;", ":::"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {}\nmessage B {}\nmessage A {}\n",
        line: 4,
        column: 9,
        says: &["name 'A' is defined twice", "4 | message A {}", "2 | message A {}", "first defined here"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A { reserved 2 to 5; int32 x = 3; }\n",
        line: 2,
        column: 40,
        says: &["conflicts with reserved range '2 to 5'"],
    },
    Case {
        source: "syntax = \"proto3\";\nenum E { ONE = 1; }\n",
        line: 2,
        column: 16,
        says: &["the first value for proto3 enums must be 0"],
    },
    Case {
        source: "syntax = \"proto3\";\nservice S {\n  rpc Call(A) returns (B);\n}\nmessage A {}\nenum B { ZERO = 0; }\n",
        line: 3,
        column: 24,
        says: &["'B' is not a message type"],
    },
    Case { source: "syntax = \"proto3\";\n/* é ü */ mesage A {}\n", line: 2, column: 11, says: &["found 'mesage'"] },
    Case {
        source: "syntax = \"proto3\";\r\n\tmessage A {\r\n\t\tstrin g = 1;\r\n}\r\n",
        line: 3,
        column: 3,
        says: &["        strin g = 1;"],
    },
    Case {
        source: "syntax = \"proto4\";\n",
        line: 1,
        column: 10,
        says: &["unknown syntax 'proto4'", "help: possible values are 'proto2' and 'proto3'"],
    },
    Case {
        source: "// A comment.\nedition = \"2023\";\nmessage A {}\n",
        line: 2,
        column: 1,
        says: &["editions are not parsed here", "protoc --include_imports", "compile_fds"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A { string s = 1 [deprecatd = true]; }\n",
        line: 2,
        column: 27,
        says: &["option field 'deprecatd' is not defined"],
    },
    Case {
        source: "syntax = \"proto3\";\nimport \"b.proto\";\nimport \"c.proto\";\n",
        line: 3,
        column: 8,
        says: &["import \"c.proto\" was not found", "3 | import \"c.proto\";", "it was searched in:", "google/protobuf/*.proto"],
    },
    Case {
        source: "syntax = \"proto3\";\nimport \"google/api/http.proto\";\n",
        line: 2,
        column: 8,
        says: &["import \"google/api/http.proto\" was not found", "only google/protobuf/*.proto is built in"],
    },
    Case {
        source: "// No syntax.\nmessage A {\n  string a = 1;\n  string b = 2;\n}\n",
        line: 1,
        column: 1,
        says: &["no `syntax` line", "::: ", "3 |   string a = 1;", "help: add `syntax = \"proto3\";` as the first line"],
    },
    Case {
        source: "syntax = \"proto3\"\nmessage A {}\n",
        line: 2,
        column: 1,
        says: &["expected ';'", "help: the line before does not end with `;`"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {}\nservice S {\n  rpc Call(A) returns stream (A);\n}\n",
        line: 4,
        column: 23,
        says: &["found 'stream'", "4 |   rpc Call(A) returns stream (A);", "`rpc Chat(stream Note) returns (stream Note);`"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {}\nservice S {\n  rpc Call(streams A) returns (A);\n}\n",
        line: 4,
        column: 20,
        says: &["found 'A'", "with `stream` inside the parentheses"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {}\nservice S {\n  stream Call(A) returns (A);\n}\n",
        line: 4,
        column: 3,
        says: &["expected 'rpc'", "a method is written `rpc Name(Request) returns (Reply);`"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {}\nservice S {\n  rpc Call() returns (A);\n}\n",
        line: 4,
        column: 12,
        says: &["found ')'", "google.protobuf.Empty", "import \"google/protobuf/empty.proto\";"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {}\nservice S {\n  rpc Call(A) returns (stream string);\n}\n",
        line: 4,
        column: 31,
        says: &["name 'string' is not defined", "a method takes and returns messages"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {\n  stream A a = 1;\n}\n",
        line: 3,
        column: 12,
        says: &["`repeated`", "`stream` is for methods"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {\n  google.protobuf.Timestamp at = 1;\n}\n",
        line: 3,
        column: 3,
        says: &["is not defined", "import \"google/protobuf/timestamp.proto\";"],
    },
    Case {
        source: "syntax = \"proto3\";\nmessage A {\n  int a = 1;\n}\n",
        line: 3,
        column: 3,
        says: &["'int' is not defined", "the type is called `int32` or `int64` here"],
    },
    Case { source: "syntax = \"proto3\";\nmessage A {\n  sting a = 1;\n}\n", line: 3, column: 3, says: &["similar name exists: `string`"] },
];

/// What is said of a file that lacks its first line is said once, and what else is wrong with it too.
#[test]
fn a_missing_syntax_line_is_said_once() {
    let dir = Dir::new(&[("a.proto", "message A {\n  string a = 1;\n  string b = 2;\n  int32 b = 3;\n}\n")]);
    let shown = dir.generate(pintle_build::core(), &["a.proto"]).expect_err("no syntax").to_string();
    assert_eq!(shown.matches("syntax").count(), 2, "the problem and its help:\n{shown}");
    assert!(!shown.contains("proto2 syntax"), "{shown}");
    // In a file that says proto2, each field is pointed out.
    let dir = Dir::new(&[("a.proto", "syntax = \"proto2\";\nmessage A {\n  string a = 1;\n  string b = 2;\n}\n")]);
    let shown = dir.generate(pintle_build::core(), &["a.proto"]).expect_err("no labels").to_string();
    assert!(shown.contains("a.proto:3:3") && shown.contains("a.proto:4:3"), "{shown}");
}

#[test]
fn broken_files_name_the_place() {
    for Case { source, line, column, says } in CASES {
        let dir = Dir::new(&[("a.proto", source), ("b.proto", "syntax = \"proto3\";")]);
        let error = dir.generate(pintle_build::core(), &["a.proto"]).expect_err(source);
        let shown = error.to_string();
        assert_eq!(error.file().map(|file| dir.relative(file)).as_deref(), Some("a.proto"), "{shown}");
        assert_eq!(error.line_column(), Some((*line, *column)), "{shown}");
        let place = format!("{}:{line}:{column}\n", dir.path("a.proto").display());
        for words in says.iter().copied().chain([place.as_str()]) {
            assert!(shown.contains(words), "{words:?} is missing in:\n{shown}");
        }
        assert_eq!(format!("{error:?}"), shown, "unwrap() shows the same text");
    }
}

#[test]
fn every_mistake_of_a_file_is_shown() {
    let dir = Dir::new(&[("a.proto", "syntax = \"proto3\";\nmessage A {\n  One one = 1;\n  Two two = 2;\n}\n")]);
    let shown = dir.generate(pintle_build::core(), &["a.proto"]).expect_err("two names are not defined").to_string();
    assert!(shown.contains("'One'") && shown.contains("a.proto:3:3\n"), "{shown}");
    assert!(shown.contains("'Two'") && shown.contains("a.proto:4:3\n"), "{shown}");
}

#[test]
fn a_fault_in_an_import_is_shown_there() {
    let files = [("p/a.proto", "syntax = \"proto3\";\nimport \"sub/b.proto\";\n"), ("p/sub/b.proto", "syntax = \"proto3\";\nmessage {}\n")];
    let dir = Dir::new(&files);
    let error = dir.generate(pintle_build::core(), &["p/a.proto"]).expect_err("b.proto is broken");
    assert_eq!(error.file().map(|file| dir.relative(file)).as_deref(), Some("p/sub/b.proto"), "{error}");
    assert_eq!(error.line_column(), Some((2, 9)), "{error}");
}

#[test]
fn an_import_that_is_elsewhere_is_pointed_out() {
    let files = [("p/q/a.proto", "syntax = \"proto3\";\nimport \"common/b.proto\";\n"), ("p/common/b.proto", "syntax = \"proto3\";\n")];
    let dir = Dir::new(&files);
    let shown = dir.generate(pintle_build::core(), &["p/q/a.proto"]).expect_err("b.proto is not beside a.proto").to_string();
    let p = dir.path("p");
    assert!(shown.contains(&format!("add `.include(\"{}\")`", p.display())), "{shown}");
    let mended = dir.generate(pintle_build::core().include(dir.path("p/q")).include(p), &["p/q/a.proto"]);
    assert!(mended.is_ok(), "{mended:?}");
}

#[test]
fn cycles_are_refused() {
    let dir = Dir::new(&[("a.proto", "syntax = \"proto3\"; import \"b.proto\";"), ("b.proto", "syntax = \"proto3\"; import \"a.proto\";")]);
    let shown = dir.generate(pintle_build::core(), &["a.proto"]).expect_err("a imports b imports a").to_string();
    assert!(shown.contains("a.proto -> b.proto -> a.proto"), "{shown}");
}

#[test]
fn missing_files_and_directories_say_what_was_there() {
    let dir = Dir::new(&[("proto/greeter.proto", "syntax = \"proto3\";"), ("proto/note.txt", "")]);
    let missing = dir.path("proto/greter.proto");
    let shown = dir.generate(pintle_build::core(), &["proto/greter.proto"]).expect_err("a misspelt name").to_string();
    assert!(shown.contains(&format!("there is no file `{}`", missing.display())), "{shown}");
    assert!(shown.contains("holds: greeter.proto\n"), "{shown}");
    assert!(shown.contains("the build script runs in"), "{shown}");

    let include = dir.path("protos");
    let shown =
        dir.generate(pintle_build::core().include(&include), &["proto/greeter.proto"]).expect_err("a misspelt directory").to_string();
    assert!(shown.contains(&format!("the include directory `{}` does not exist", include.display())), "{shown}");

    let shown = dir.generate(pintle_build::core(), &["proto"]).expect_err("a directory").to_string();
    assert!(shown.contains(&format!("cannot read `{}`: ", dir.path("proto").display())), "{shown}");
    let shown = dir.generate(pintle_build::core(), &[]).expect_err("nothing").to_string();
    assert!(shown.contains("no .proto file was given"), "{shown}");

    let dir = Dir::new(&[("a/x.proto", "syntax = \"proto3\";"), ("b/y.proto", "")]);
    let shown = dir.generate(pintle_build::core().include(dir.path("b")), &["a/x.proto"]).expect_err("a is not included").to_string();
    assert!(shown.contains("is in none of the include directories"), "{shown}");
    assert!(shown.contains(&dir.path("b").display().to_string()), "{shown}");
}

#[test]
fn a_file_that_another_hides_is_refused() {
    let dir = Dir::new(&[("a/x.proto", "syntax = \"proto3\"; package a;"), ("b/x.proto", "syntax = \"proto3\"; package b;")]);
    let builder = pintle_build::core().include(dir.path("a")).include(dir.path("b"));
    let shown = dir.generate(builder, &["b/x.proto"]).expect_err("a/x.proto comes first").to_string();
    assert!(shown.contains("is hidden by") && shown.contains("\"x.proto\""), "{shown}");
}

#[test]
fn files_that_are_not_text_are_named() {
    let dir = Dir::new(&[]);
    std::fs::write(dir.path("a.proto"), b"syntax = \"proto3\"; // \xff").expect("the temporary directory can be written");
    let shown = dir.generate(pintle_build::core(), &["a.proto"]).expect_err("a.proto is not UTF-8").to_string();
    assert!(shown.contains("a.proto`: it is not UTF-8"), "{shown}");
}

#[test]
fn names_that_collide_in_rust_are_refused() {
    let cases: &[(&str, &[&str])] = &[
        ("service S { rpc GetIt(M) returns (M); rpc get_it(M) returns (M); } message M {}", &["`GetIt` and `get_it`", "called `get_it`"]),
        (
            "service S { rpc Call(SClient) returns (SClient); } message SClient {}",
            &["the type `SClient`", "service `S`", ".separate_glue(true)"],
        ),
        ("message FooBar {} message Foo_Bar {}", &["`FooBar`", "`Foo_Bar`"]),
        ("enum Color { COLOR_RED = 0; RED = 1; }", &["`COLOR_RED` and `RED`", ".enum_prefix(true)"]),
    ];
    for (source, says) in cases {
        let dir = Dir::new(&[("a.proto", &format!("syntax = \"proto3\"; {source}"))]);
        let shown = dir.generate(pintle_build::tokio(), &["a.proto"]).expect_err(source).to_string();
        for words in *says {
            assert!(shown.contains(words), "{words:?} is missing in:\n{shown}");
        }
    }
    let files = [
        ("a.proto", "syntax = \"proto3\"; package a; message B { message C {} }"),
        ("b.proto", "syntax = \"proto3\"; package a.b.c; message D {}"),
    ];
    let shown = Dir::new(&files).generate(pintle_build::core(), &["a.proto", "b.proto"]).expect_err("two modules `a::b`").to_string();
    assert!(shown.contains("the package `a.b.c` and what is nested in message `a.B`"), "{shown}");

    let mended =
        "syntax = \"proto3\"; service S { rpc Call(SClient) returns (SClient); } message SClient {} enum Color { COLOR_RED = 0; RED = 1; }";
    let dir = Dir::new(&[("a.proto", mended)]);
    let generated = dir.generate(pintle_build::tokio().separate_glue(true).enum_prefix(true), &["a.proto"]);
    assert!(generated.is_ok(), "{generated:?}");
}

#[test]
fn an_earlier_compilation_is_not_overwritten() {
    let dir = Dir::new(&[
        ("a.proto", "syntax = \"proto3\"; package a; message A {}"),
        ("b.proto", "syntax = \"proto3\"; package b; message B {}"),
    ]);
    let compile =
        |file: &str, include: &str| pintle_build::core().out_dir(dir.path("out")).include_file(include).compile(&[dir.path(file)]);
    compile("a.proto", "pintle.rs").expect("the first one writes");
    let shown = compile("b.proto", "pintle.rs").expect_err("pintle.rs is there").to_string();
    assert!(shown.contains("pintle.rs` was written by an earlier `compile`"), "{shown}");
    compile("b.proto", "other.rs").expect("another name is free");
    let a = std::fs::read_to_string(dir.path("out/pintle.rs")).expect("it is still there");
    assert!(a.contains("pub mod a") && !a.contains("pub mod b"), "{a}");
}

#[test]
fn octets_that_are_no_descriptor_set_are_refused() {
    for octets in [&b"\x0a\x05abc"[..], b"\xff\xff\xff", b"syntax = \"proto3\";"] {
        let shown = pintle_build::core().generate_fds(octets).expect_err("no descriptor set").to_string();
        assert!(shown.contains("no FileDescriptorSet"), "{shown}");
    }
}
