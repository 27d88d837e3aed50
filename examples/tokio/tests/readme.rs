//! The example that the README shows is the one that is compiled here.

#[test]
fn the_readme_shows_this_program() {
    let program = include_str!("../src/bin/tokio-hello.rs");
    let shown = program.split_once("\n\n").map(|(_, after_the_comment)| after_the_comment).expect("a comment, an empty line, a program");
    assert!(
        include_str!("../../../README.md").contains(shown),
        "README.md shows another program than src/bin/tokio-hello.rs: copy it over"
    );
}
