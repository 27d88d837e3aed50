//! Comments of a .proto on their way to rustdoc.
//!
//! prost-build writes comments as it finds them. So every comment is replaced by a token before prost-build sees it,
//! and the tokens by the finished text afterwards; items without a comment get a line that names them, so that the
//! generated code passes `missing_docs`.

use crate::markdown;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto, SourceCodeInfo, source_code_info::Location};
use std::collections::BTreeMap;

/// Around the number of a token: private-use characters, which no comment holds by chance.
const OPEN: char = '\u{F8E0}';
const CLOSE: char = '\u{F8E1}';

/// The texts that tokens stand for.
#[derive(Default)]
pub(crate) struct Docs {
    texts: Vec<Vec<String>>,
}

impl Docs {
    /// Puts a token in the place of each comment of the file.
    pub(crate) fn replace_comments(&mut self, file: &mut FileDescriptorProto) {
        let info = file.source_code_info.take().unwrap_or_default();
        let comments = info.location.iter().map(|location| (location.path.as_slice(), location)).collect();
        let package = file.package().to_owned();
        let mut walk = Walk { docs: self, comments, locations: Vec::new() };
        for (index, message) in (0..).zip(&file.message_type) {
            walk.message(message, &package, vec![4, index]);
        }
        for (index, desc) in (0..).zip(&file.enum_type) {
            walk.enumeration(desc, &package, vec![5, index]);
        }
        for (index, service) in (0..).zip(&file.service) {
            walk.item(vec![6, index], String::new());
            for (method_index, _) in (0..).zip(&service.method) {
                walk.item(vec![6, index, 2, method_index], String::new());
            }
        }
        file.source_code_info = Some(SourceCodeInfo { location: walk.locations });
    }

    /// The text of the token in the comment that prost-build hands over; empty when there was no comment.
    pub(crate) fn text(&self, comment: &[String]) -> Vec<String> {
        comment.iter().find_map(|line| self.resolve(line)).map(<[String]>::to_vec).unwrap_or_default()
    }

    /// Puts the texts into generated code.
    pub(crate) fn insert(&self, code: &str) -> String {
        let mut out = String::with_capacity(code.len() * 2);
        for line in code.lines() {
            match self.resolve(line) {
                Some(text) => push(&mut out, &line[..line.len() - line.trim_start().len()], text),
                None => {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out
    }

    fn resolve(&self, line: &str) -> Option<&[String]> {
        let token = line.trim().trim_start_matches('/').trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
        self.texts.get(token.parse::<usize>().ok()?).map(Vec::as_slice)
    }
}

/// Appends `text` as doc comment.
pub(crate) fn push(out: &mut String, indent: &str, text: &[String]) {
    for line in text {
        out.push_str(format!("{indent}/// {line}").trim_end());
        out.push('\n');
    }
}

struct Walk<'a> {
    docs: &'a mut Docs,
    comments: BTreeMap<&'a [i32], &'a Location>,
    locations: Vec<Location>,
}

impl Walk<'_> {
    fn message(&mut self, message: &DescriptorProto, scope: &str, path: Vec<i32>) {
        let name = join(scope, message.name());
        self.item(path.clone(), format!("Message `{name}`."));
        for (index, field) in (0..).zip(&message.field) {
            self.item(under(&path, 2, index), format!("Field `{}`, number {}.", field.name(), field.number()));
        }
        for (index, oneof) in (0..).zip(&message.oneof_decl) {
            let members = message.field.iter().filter(|field| field.oneof_index == Some(index));
            let members: Vec<String> = members.map(|field| format!("`{}`", field.name())).collect();
            self.item(under(&path, 8, index), format!("At most one of {}: oneof `{}`.", members.join(", "), oneof.name()));
        }
        for (index, nested) in (0..).zip(&message.nested_type) {
            self.message(nested, &name, under(&path, 3, index));
        }
        for (index, nested) in (0..).zip(&message.enum_type) {
            self.enumeration(nested, &name, under(&path, 4, index));
        }
    }

    fn enumeration(&mut self, desc: &EnumDescriptorProto, scope: &str, path: Vec<i32>) {
        self.item(path.clone(), format!("Enum `{}`.", join(scope, desc.name())));
        for (index, value) in (0..).zip(&desc.value) {
            self.item(under(&path, 2, index), format!("Value `{}`, number {}.", value.name(), value.number()));
        }
    }

    /// prost-build wants a location for every item as soon as a file has any.
    fn item(&mut self, path: Vec<i32>, default: String) {
        let comment = self.comments.get(path.as_slice());
        let leading = comment.map_or("", |location| location.leading_comments());
        let trailing = comment.map_or("", |location| location.trailing_comments());
        let mut text = markdown::lines(leading);
        let trailing = markdown::lines(trailing);
        if !text.is_empty() && !trailing.is_empty() {
            text.push(String::new());
        }
        text.extend(trailing);
        if text.is_empty() && !default.is_empty() {
            text.push(default);
        }
        let token = format!("{OPEN}{}{CLOSE}", self.docs.texts.len());
        self.docs.texts.push(text);
        self.locations.push(Location { path, leading_comments: Some(token), ..Location::default() });
    }
}

fn under(path: &[i32], field: i32, index: i32) -> Vec<i32> {
    [path, &[field, index]].concat()
}

pub(crate) fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
}
