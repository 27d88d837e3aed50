//! From services to Rust code: one template per style, filled by [`fill`].

pub(crate) mod callbacks;
pub(crate) mod descriptors;
pub(crate) mod futures;

/// What the templates have in common.
pub(crate) struct Options<'a> {
    /// The crate that generated code names, with leading `::` or `crate::`.
    pub(crate) krate: &'a str,
    pub(crate) client: bool,
    pub(crate) server: bool,
    /// The crate can connect: it has sockets.
    pub(crate) connects: bool,
}

/// Puts values into a template. `$name` is a place, `${name}` where a letter follows; one that stands alone in its line is replaced by as many lines as the
/// value has, each indented like it (none at all for an empty value).
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len() * 2);
    for line in template.trim_start_matches('\n').lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        match line.trim().strip_prefix('$').and_then(|name| value(values, name)) {
            Some(value) => {
                for line in value.lines() {
                    out.push_str(format!("{indent}{line}").trim_end());
                    out.push('\n');
                }
            }
            None => {
                fill_line(&mut out, line, values);
                out.push('\n');
            }
        }
    }
    out
}

fn fill_line(out: &mut String, line: &str, values: &[(&str, &str)]) {
    let mut pieces = line.split('$');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (name, rest) = match piece.strip_prefix('{').and_then(|piece| piece.split_once('}')) {
            Some(braced) => braced,
            None => piece.split_at(piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len())),
        };
        out.push_str(value(values, name).expect("a template names only values that it is given"));
        out.push_str(rest);
    }
}

fn value<'a>(values: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    values.iter().find(|(key, _)| *key == name).map(|&(_, value)| value)
}

/// Text as the lines of a doc comment.
pub(crate) fn doc(text: &[String]) -> String {
    let mut out = String::new();
    crate::docs::push(&mut out, "", text);
    out
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn places_are_filled_in_one_pass() {
        let template = "\nfn ${name}_b() -> $crate::X {\n    $body\n    $nothing\n}\n";
        let filled = fill(template, &[("name", "a"), ("crate", "::k"), ("body", "// $name costs $5\n\nb()"), ("nothing", "")]);
        assert_eq!(filled, "fn a_b() -> ::k::X {\n    // $name costs $5\n\n    b()\n}\n");
    }
}
