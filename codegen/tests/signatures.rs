//! The signatures in the crate's documentation are those of the generated code.

mod util;

use util::{Dir, text};

const GREETER: &str = "syntax = \"proto3\"; message Q {} message R {} service Greeter {\
    rpc SayHello(Q) returns (R); rpc LotsOfReplies(Q) returns (stream R);\
    rpc LotsOfGreetings(stream Q) returns (R); rpc Chat(stream Q) returns (stream R); }";

/// The lines of the code blocks in the crate's documentation that are signatures.
fn documented() -> Vec<&'static str> {
    let lines = include_str!("../src/lib.rs").lines().filter_map(|line| line.strip_prefix("//! "));
    lines.filter(|line| (line.starts_with("fn ") || line.starts_with("async fn ")) && line.ends_with(';')).collect()
}

/// Code without the paths that generated code writes out, on one line.
fn plain(code: &str) -> String {
    let mut plain = code.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(", )", ")");
    for path in ["core::future", "core::result", "core::marker", "std::boxed", "pintle_tokio", "pintle_mio"] {
        plain = plain.replace(&format!("::{path}::"), "");
    }
    plain
}

#[test]
fn the_documentation_shows_what_is_generated() {
    let dir = Dir::new(&[("a.proto", GREETER)]);
    let of = |builder| plain(&text(&dir.generate(builder, &["a.proto"]).expect("the file is good"), "_.rs"));
    let (futures, callbacks) = (of(pintle_build::tokio()), of(pintle_build::mio()));
    let mut shown = 0;
    for line in documented() {
        // What is generated says the same at length, so that it can promise `Send`.
        let at_length = line.strip_prefix("async ").map(|rest| rest.replace(" -> ", " -> impl Future<Output = ").replace(";", "> + Send;"));
        let found = match at_length {
            Some(line) => futures.contains(&line),
            None => callbacks.contains(line),
        };
        assert!(found, "{line}\nis not in\n{futures}\n\n{callbacks}");
        shown += 1;
    }
    assert_eq!(shown, 8, "four shapes in two styles");
    for name in ["trait Greeter:", "trait LocalGreeter:", "struct GreeterServer<", "struct GreeterClient ", "enum GreeterMethod "] {
        assert!(futures.contains(name), "{name}");
    }
    for name in
        ["trait GreeterService:", "struct GreeterServer<", "struct GreeterClient<", "enum GreeterMethod ", "pub fn connect(address: &str)"]
    {
        assert!(callbacks.contains(name), "{name}");
    }
}
