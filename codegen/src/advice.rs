//! What to write instead: help for the mistakes in .proto files that people make, where protox only says what it did not expect.

use crate::error::{Mark, Problem, Source};
use std::sync::Arc;

/// How a method is written, for whoever puts a word of it in the wrong place.
const METHOD: &str = "a method is written `rpc Name(Request) returns (Reply);`\n\
                      with `stream` inside the parentheses where there are many messages: `rpc Chat(stream Note) returns (stream Note);`";

/// google.protobuf.*, and the file in which each is.
const WELL_KNOWN: &[(&str, &str)] = &[
    ("Any", "any"),
    ("Duration", "duration"),
    ("Empty", "empty"),
    ("FieldMask", "field_mask"),
    ("ListValue", "struct"),
    ("Struct", "struct"),
    ("Timestamp", "timestamp"),
    ("Value", "struct"),
    ("BoolValue", "wrappers"),
    ("BytesValue", "wrappers"),
    ("DoubleValue", "wrappers"),
    ("FloatValue", "wrappers"),
    ("Int32Value", "wrappers"),
    ("Int64Value", "wrappers"),
    ("StringValue", "wrappers"),
    ("UInt32Value", "wrappers"),
    ("UInt64Value", "wrappers"),
];

const SCALARS: &[&str] = &[
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool",
    "string", "bytes",
];

/// What scalars are called in other languages.
const FOREIGN: &[(&str, &str)] = &[
    ("int", "int32` or `int64"),
    ("integer", "int32` or `int64"),
    ("long", "int64"),
    ("uint", "uint32` or `uint64"),
    ("i32", "int32"),
    ("i64", "int64"),
    ("u32", "uint32"),
    ("u64", "uint64"),
    ("f32", "float"),
    ("f64", "double"),
    ("float32", "float"),
    ("float64", "double"),
    ("number", "double"),
    ("boolean", "bool"),
    ("str", "string"),
    ("text", "string"),
    ("byte", "bytes"),
];

/// Help for an error of protox with this text, first marked there; `sources` is all that was read.
pub(crate) fn advice<'a>(
    message: &str,
    source: Option<&Arc<Source>>,
    mark: Option<&Mark>,
    sources: impl Iterator<Item = &'a Arc<Source>>,
) -> Option<String> {
    let statement = source.zip(mark).map(|(source, mark)| statement(&source.text, mark.offset)).unwrap_or_default();
    if let Some(name) = message.strip_prefix("name '").and_then(|rest| rest.strip_suffix("' is not defined")) {
        return undefined(name, statement, sources);
    }
    if message.starts_with("expected ';'") || message.starts_with("expected '[' or ';'") {
        let before = source.zip(mark).and_then(|(source, mark)| source.text.get(..mark.offset)).unwrap_or_default();
        let ends = before.len() - before.trim_end().len();
        return before[before.len() - ends..].contains('\n').then(|| "the line before does not end with `;`".to_owned());
    }
    match message.strip_prefix("expected ") {
        Some(expected) if statement.starts_with("rpc ") && statement.trim_end().ends_with('(') && expected.ends_with("found ')'") => {
            Some("a method without a message has `google.protobuf.Empty`, of `import \"google/protobuf/empty.proto\";`".to_owned())
        }
        Some(expected) if statement.starts_with("rpc ") || expected.starts_with("'rpc'") => Some(METHOD.to_owned()),
        Some(_) if statement.starts_with("stream ") => {
            Some(format!("many values in a field are `repeated`; `stream` is for methods:\n{METHOD}"))
        }
        _ => None,
    }
}

/// A file without `syntax` is proto2, where protox complains of every field: said once, where the line is missing.
pub(crate) fn no_syntax(message: &str, source: Option<&Arc<Source>>, marks: Vec<Mark>) -> Option<Problem> {
    let source = source.filter(|source| !has_syntax(&source.text))?;
    message.strip_prefix("fields must have a label with proto2 syntax")?;
    let here = Mark { offset: 0, len: 0, label: "it belongs here".into() };
    let field = marks.into_iter().next().map(|mark| Mark { label: "the first field without a label".into(), ..mark });
    let problem = Problem::new("the file has no `syntax` line, and so counts as proto2, where every field needs a label");
    let problem = problem.at(Arc::clone(source), [here].into_iter().chain(field).collect());
    Some(problem.help("add `syntax = \"proto3\";` as the first line"))
}

/// The part of the statement that is before the offset.
fn statement(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or_default();
    let start = before.rfind(['{', '}', ';']).map_or(0, |at| at + 1);
    skip_comments(&before[start..])
}

/// For a name that is not defined: the type that was probably meant.
fn undefined<'a>(name: &str, statement: &str, sources: impl Iterator<Item = &'a Arc<Source>>) -> Option<String> {
    let last = name.rsplit('.').next()?;
    if statement.starts_with("rpc ") && SCALARS.contains(&name) {
        return Some(format!("a method takes and returns messages: put the value into one, `message Value {{ {name} value = 1; }}`"));
    }
    if let Some((_, file)) =
        WELL_KNOWN.iter().find(|(known, _)| last == *known && [last, &format!("google.protobuf.{last}")].contains(&name))
    {
        return Some(format!("`google.protobuf.{last}` is in `import \"google/protobuf/{file}.proto\";`"));
    }
    if let Some((_, ours)) = FOREIGN.iter().find(|(theirs, _)| name == *theirs) {
        return Some(format!("the type is called `{ours}` here"));
    }
    let similar = similar_type(last, sources)?;
    Some(format!("a type with a similar name exists: `{similar}`"))
}

fn similar_type<'a>(wrong: &str, sources: impl Iterator<Item = &'a Arc<Source>>) -> Option<&'a str> {
    let words = |source: &'a Arc<Source>| source.text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let types =
        sources.flat_map(|source| words(source).zip(words(source).skip(1))).filter(|(keyword, _)| matches!(*keyword, "message" | "enum"));
    let names = types.map(|(_, name)| name).chain(SCALARS.iter().copied());
    let near = names.map(|name| (distance(wrong, name), name)).filter(|(distance, name)| *distance <= wrong.len().max(name.len()) / 3);
    near.min().map(|(_, name)| name)
}

/// How many characters must be put in, taken out or changed to make one word of the other; case does not count.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, a) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (at, b) in b.iter().enumerate() {
            let best = (diagonal + usize::from(a != *b)).min(row[at] + 1).min(row[at + 1] + 1);
            diagonal = std::mem::replace(&mut row[at + 1], best);
        }
    }
    row[b.len()]
}

/// Whether the first statement says which language it is.
fn has_syntax(text: &str) -> bool {
    let first = skip_comments(text.trim_start_matches('\u{feff}'));
    first.starts_with("syntax") || first.starts_with("edition")
}

fn skip_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        text = if let Some(comment) = text.strip_prefix("//") {
            comment.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = text.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return text;
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{distance, has_syntax};

    #[test]
    fn distances() {
        let cases =
            [("", "", 0), ("", "abc", 3), ("HelloRequst", "HelloRequest", 1), ("kitten", "sitting", 3), ("Foo", "foo", 0), ("abc", "", 3)];
        for (a, b, expected) in cases {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn syntax_is_found_behind_comments() {
        for text in ["syntax = \"proto3\";", "// a\n/* b\n */ syntax=\"proto2\";", "\u{feff}\nedition = \"2023\";"] {
            assert!(has_syntax(text), "{text}");
        }
        for text in ["", "// syntax = \"proto3\";", "message syntax {}", "/* syntax"] {
            assert!(!has_syntax(text), "{text}");
        }
    }
}
