//! What is generated, without compiling it: equal from files and from descriptor sets, complete, and written with care.

mod util;

use pintle_build::{Builder, Generated};
use protox::prost_reflect::{DescriptorPool, Value};
use std::{fs, path::Path, process::Command};
use util::{Dir, text};

const GREETER: &str = r#"
syntax = "proto3";
package helloworld;
service Greeter {
  rpc SayHello(Hello) returns (Hello);
  rpc Chat(stream Hello) returns (stream Hello);
}
message Hello { string name = 1; bytes data = 2; }
"#;

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new("tests/fixtures").join(name)).expect("the fixture is in the repository")
}

fn names(generated: &Generated) -> Vec<&str> {
    generated.files.iter().map(|(name, _)| name.as_str()).collect()
}

fn octets<'a>(generated: &'a Generated, name: &str) -> &'a [u8] {
    &generated.files.iter().find(|(file, _)| file == name).expect("the file is generated").1
}

fn greeter(builder: Builder) -> String {
    let dir = Dir::new(&[("greeter.proto", GREETER)]);
    text(&dir.generate(builder, &["greeter.proto"]).expect("the file is good"), "helloworld.rs")
}

/// protoc's view of the same files, comments and all, gives the same code to the letter.
#[test]
fn a_set_made_by_protoc_gives_the_same_code() {
    let protos = ["generated/proto/shapes.proto", "generated/proto/acme/v1/orders.proto"];
    let ours = pintle_build::tokio().and_mio().include("generated/proto").generate(&protos).expect("the files are good");
    let theirs = pintle_build::tokio().and_mio().generate_fds(&fixture("shapes.fds")).expect("the set is good");
    assert_eq!(names(&ours), ["pintle.rs", "acme.common.rs", "acme.type.v1.rs", "helloworld.rs", "pintle.fds"]);
    assert_eq!(names(&ours), names(&theirs));
    for name in names(&ours).into_iter().filter(|name| name.ends_with(".rs")) {
        assert_eq!(text(&ours, name), text(&theirs, name), "{name}");
    }
}

/// The set is protoc's own: nothing is dropped that prost does not know, and no comment is in it.
#[test]
fn descriptors_keep_custom_options_and_no_comments() {
    let ours = pintle_build::core().generate(&["tests/fixtures/options.proto"]).expect("the file is good");
    let pool = DescriptorPool::decode(octets(&ours, "pintle.fds")).expect("it is a descriptor set");
    let open = pool.get_service_by_name("fixture.options.Vault").expect("the service is in it").methods().next().expect("it has a method");
    let audience = pool.get_extension_by_name("fixture.options.audience").expect("the option is defined");
    assert_eq!(open.options().get_extension(&audience).as_str(), Some("insiders"));
    let teeth = pool.get_message_by_name("fixture.options.Key").and_then(|key| key.get_field(1)).expect("the field is in it");
    let secrecy = pool.get_extension_by_name("fixture.options.secrecy").expect("the option is defined");
    let options = teeth.options();
    let Value::Message(level) = &*options.get_extension(&secrecy) else { panic!("a message is set") };
    assert_eq!(level.get_field_by_name("level").and_then(|level| level.as_str().map(str::to_owned)).as_deref(), Some("top"));

    let text = String::from_utf8_lossy(octets(&ours, "pintle.fds")).into_owned();
    assert!(!text.contains("How secret") && !text.contains("The shape of it"), "comments are left out");
    assert!(pool.files().all(|file| file.file_descriptor_proto().source_code_info.is_none()));

    // protoc --include_imports writes the same file; its descriptor.proto is of another version.
    let theirs = DescriptorPool::decode(&*fixture("options.fds")).expect("it is a descriptor set");
    let file = |pool: &DescriptorPool| pool.get_file_by_name("options.proto").expect("it is in the set").encode_to_vec();
    assert_eq!(file(&pool), file(&theirs));
}

#[test]
fn sets_lose_their_comments_too() {
    let with = fixture("shapes.fds");
    assert!(String::from_utf8_lossy(&with).contains("Says hello."));
    let generated = pintle_build::core().generate_fds(&with).expect("the set is good");
    let without = octets(&generated, "pintle.fds");
    assert!(!String::from_utf8_lossy(without).contains("Says hello."));
    let pool = |set: &[u8]| DescriptorPool::decode(set).expect("it is a descriptor set");
    let names = |pool: &DescriptorPool| pool.all_messages().map(|message| message.full_name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&pool(without)), names(&pool(&with)));
}

#[test]
fn a_set_that_lacks_an_import_is_refused() {
    let uses = [
        "message A { b.B b = 1; }",
        "service S { rpc C(b.B) returns (A); } message A {}",
        "service S { rpc C(A) returns (b.B); } message A {}",
    ];
    for uses in uses {
        let a = format!("syntax = \"proto3\"; import \"b.proto\"; {uses}");
        let dir = Dir::new(&[("a.proto", &a), ("b.proto", "syntax = \"proto3\"; package b; message B {}")]);
        let set = protox::compile([dir.path("a.proto")], [dir.path("")]).expect("the files are good");
        let alone = set.file.iter().filter(|file| file.name() == "a.proto").cloned().collect();
        let octets = prost::Message::encode_to_vec(&prost_types::FileDescriptorSet { file: alone });
        let shown = pintle_build::core().generate_fds(&octets).expect_err("b.proto is missing").to_string();
        assert!(shown.contains("`a.proto` uses the type `.b.B`") && shown.contains("--include_imports"), "{shown}");
    }
}

#[test]
fn editions_of_the_future_are_refused() {
    let mut set = fixture("editions.fds");
    // FileDescriptorProto.edition, field 14: 1000 is edition 2023.
    let at = set.windows(3).position(|octets| octets == [0x70, 0xe8, 0x07]).expect("the edition is in the set");
    set[at + 2] = 0x0f;
    let shown = pintle_build::core().generate_fds(&set).expect_err("an edition that is not known").to_string();
    assert!(shown.contains("editions.proto`") && shown.contains("2023 and 2024"), "{shown}");
}

#[test]
fn every_file_that_was_read_is_reported() {
    let protos = ["generated/proto/acme/v1/orders.proto"];
    let generated = pintle_build::core().include("generated/proto").generate(&protos).expect("the file is good");
    let inputs: Vec<String> = generated.inputs.iter().map(|path| path.display().to_string()).collect();
    assert_eq!(
        inputs,
        ["generated/proto/acme/v1/common.proto", "generated/proto/acme/v1/orders.proto", "generated/proto/shapes.proto"],
        "imports too, but not those that are built in"
    );
}

#[test]
fn one_file_has_one_name_however_it_is_reached() {
    let files = [
        ("p/a.proto", "syntax = \"proto3\"; package a; import \"sub/b.proto\"; message A { b.B b = 1; }"),
        ("p/sub/b.proto", "syntax = \"proto3\"; package b; message B {}"),
    ];
    let dir = Dir::new(&files);
    for protos in [["p/a.proto", "p/sub/b.proto"], ["p/sub/b.proto", "p/a.proto"]] {
        let generated = dir.generate(pintle_build::core(), &protos).expect("b.proto is read once");
        assert_eq!(names(&generated), ["pintle.rs", "a.rs", "b.rs", "pintle.fds"]);
    }
    // As protoc takes them: relative to the include directory.
    let generated = pintle_build::core().include(dir.path("p")).generate(&["a.proto", "sub/b.proto"]).expect("both are there");
    assert_eq!(generated.inputs.len(), 2);
}

#[test]
fn parts_can_be_left_out() {
    let has = |code: &str, names: &[&str]| names.iter().map(|name| code.contains(name)).collect::<Vec<_>>();
    let parts =
        ["pub struct Hello ", "FILE_DESCRIPTOR_SET", "pub enum GreeterMethod", "pub struct GreeterClient", "pub struct GreeterServer"];
    let cases = [
        (pintle_build::tokio(), [true, true, true, true, true]),
        (pintle_build::mio(), [true, true, true, true, true]),
        (pintle_build::smol(), [true, true, true, true, true]),
        (pintle_build::core(), [true, true, true, false, false]),
        (pintle_build::core().descriptors(false), [true, false, false, false, false]),
        (pintle_build::tokio().client(false), [true, true, true, false, true]),
        (pintle_build::mio().server(false), [true, true, true, true, false]),
        (pintle_build::tokio().descriptors(false), [true, false, false, true, true]),
        (pintle_build::mio().messages_at("::other"), [false, true, true, true, true]),
    ];
    for (index, (builder, expected)) in cases.into_iter().enumerate() {
        let code = greeter(builder);
        assert_eq!(has(&code, &parts), expected, "case {index}:\n{code}");
    }
    let messages_only = greeter(pintle_build::core().descriptors(false));
    assert!(!messages_only.contains("pintle_"), "messages need no crate of ours:\n{messages_only}");
}

#[test]
fn crates_are_named_by_the_paths_that_were_given() {
    let cases = [
        (pintle_build::tokio(), "::pintle_tokio::"),
        (pintle_build::smol(), "::pintle_smol::"),
        (pintle_build::mio(), "::pintle_mio::"),
        (pintle_build::callback(), "::pintle_callback::"),
        (pintle_build::core(), "::pintle_core::"),
        (pintle_build::tokio().crate_path("crate::deps::rt"), "crate::deps::rt::"),
        (pintle_build::core().crate_path("crate::deps::core"), "crate::deps::core::"),
    ];
    for (builder, path) in cases {
        let code = greeter(builder.prost_path("crate::deps::p"));
        assert!(code.contains(path) && code.contains("crate::deps::p::Message"), "{code}");
        assert!(!code.replace(path, "").contains("pintle_"), "nothing but {path}:\n{code}");
        assert!(!code.contains("::prost::"), "{code}");
    }
    let both = greeter(pintle_build::tokio().crate_path("crate::a").and_mio().crate_path("crate::b").descriptors(false));
    assert!(both.contains("pub mod on_tokio") && both.contains("pub mod on_mio"), "{both}");
    assert!(both.contains("crate::a::Sender<super::Hello>") && both.contains("crate::b::Replies<super::Hello>"), "{both}");
}

#[test]
fn only_crates_with_sockets_connect() {
    let of = |builder: Builder| greeter(builder).contains("fn connect(address");
    assert!(of(pintle_build::mio()) && of(pintle_build::tokio().and_mio()) && !of(pintle_build::callback()));
}

/// What rustc says first of a crate that is not there shows what to add to Cargo.toml.
#[test]
fn a_missing_crate_is_explained_by_the_first_error() {
    let rustc = |builder: Builder| {
        let dir = Dir::new(&[("greeter.proto", GREETER)]);
        for (name, content) in dir.generate(builder, &["greeter.proto"]).expect("the file is good").files {
            fs::write(dir.path(&name), content).expect("the temporary directory can be written");
        }
        let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        command
            .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir"])
            .arg(dir.path(""))
            .arg(dir.path("pintle.rs"));
        let output = command.output().expect("rustc comes with Rust");
        assert!(!output.status.success(), "there are no crates");
        String::from_utf8(output.stderr).expect("rustc writes UTF-8")
    };
    for (builder, krate) in [
        (pintle_build::tokio(), "pintle-tokio"),
        (pintle_build::smol(), "pintle-smol"),
        (pintle_build::mio(), "pintle-mio"),
        (pintle_build::core(), "pintle-core"),
    ] {
        let shown = rustc(builder);
        let errors: Vec<&str> = shown.split("error").filter(|part| !part.is_empty()).collect();
        let needed = [(krate.replace('-', "_"), krate), ("prost".to_owned(), "prost = { version = \"0.14\"")];
        for (error, (name, dependency)) in errors.iter().zip(&needed) {
            assert!(error.contains(&format!("can't find crate for `{name}`")), "{shown}");
            assert!(error.contains("Add it to [dependencies] in Cargo.toml:"), "{shown}");
            assert!(error.contains(&format!("{name} as _; // {dependency}")), "{shown}");
        }
    }
}

#[test]
fn only_crates_that_are_used_are_asked_for() {
    let asked = |builder: Builder, source: &str| {
        let dir = Dir::new(&[("a.proto", source)]);
        let code = text(&dir.generate(builder, &["a.proto"]).expect("the file is good"), "pintle.rs");
        code.lines().filter_map(|line| line.trim().split_once(" as _;")).map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(asked(pintle_build::tokio(), GREETER), ["pintle_tokio", "prost"]);
    assert_eq!(asked(pintle_build::tokio().and_mio(), GREETER), ["pintle_tokio", "pintle_mio", "prost"]);
    assert_eq!(asked(pintle_build::core(), GREETER), ["pintle_core", "prost"]);
    assert_eq!(asked(pintle_build::core().descriptors(false), GREETER), ["prost"]);
    assert_eq!(asked(pintle_build::tokio().crate_path("crate::pintle_tokio").prost_path("crate::prost"), GREETER), [""; 0]);
    // What a comment names is not used.
    let time = "syntax = \"proto3\"; import \"google/protobuf/timestamp.proto\";\n";
    let other = format!("{time}// Not a ::pintle_core::Code.\nmessage A {{ google.protobuf.Timestamp at = 1; }}");
    assert_eq!(asked(pintle_build::core(), &other), ["prost", "prost_types"]);
}

#[test]
fn messages_can_be_adorned() {
    let code = greeter(
        pintle_build::core().type_attribute(".", "#[derive(Marked)]").field_attribute(".helloworld.Hello.name", "#[marked]").prost(
            |config| {
                config.enable_type_names();
            },
        ),
    );
    assert!(code.contains("#[derive(Marked)]\n") && code.contains("    #[marked]\n    pub name:"), "{code}");
    assert!(code.contains("pub data: ::prost::bytes::Bytes"), "`bytes` fields are not copied:\n{code}");
    assert!(code.contains("impl ::prost::Name for Hello"), "{code}");
    let code = greeter(pintle_build::tokio().extern_path(".helloworld.Hello", "::other::Hello"));
    assert!(!code.contains("pub struct Hello ") && code.contains("request: ::other::Hello"), "{code}");
}

#[test]
fn what_stays_the_same_is_not_written_again() {
    let dir = Dir::new(&[]);
    let compile = |name: &str| {
        let stem = name.trim_end_matches(".proto");
        pintle_build::core().out_dir(dir.path("out")).include_file(format!("{stem}.rs")).compile(&[Path::new("tests/fixtures").join(name)])
    };
    fs::create_dir(dir.path("out")).expect("the temporary directory can be written");
    let first = pintle_build::core().include_file("options.rs").generate(&["tests/fixtures/options.proto"]).expect("the file is good");
    fs::write(dir.path("out/options.rs"), octets(&first, "options.rs")).expect("the temporary directory can be written");
    fs::write(dir.path("out/fixture.options.rs"), "old").expect("the temporary directory can be written");
    let before = fs::metadata(dir.path("out/options.rs")).and_then(|data| data.modified()).expect("it is there");
    compile("options.proto").expect("the file is good");
    assert_eq!(fs::metadata(dir.path("out/options.rs")).and_then(|data| data.modified()).expect("it is there"), before);
    assert_eq!(fs::read(dir.path("out/fixture.options.rs")).expect("it is there"), octets(&first, "fixture.options.rs"));
}

#[test]
fn a_package_cannot_take_the_place_of_the_including_file() {
    let dir = Dir::new(&[("a.proto", "syntax = \"proto3\"; package pintle; message A {}")]);
    let shown = dir.generate(pintle_build::core(), &["a.proto"]).expect_err("pintle.rs is taken").to_string();
    assert!(shown.contains("`.include_file(\"all.rs\")`"), "{shown}");
    assert!(dir.generate(pintle_build::core().include_file("all.rs"), &["a.proto"]).is_ok());
}
