//! Comments of a .proto as rustdoc text that is safe: nothing in it is compiled as a doc-test, nothing is taken for a
//! link or an HTML tag. Lists, headings, emphasis, code spans, fenced blocks and web links stay what they are.

/// The lines of a comment, as they may stand after `/// `.
pub(crate) fn lines(comment: &str) -> Vec<String> {
    let text = clean(comment);
    let indent = text.iter().filter(|line| !line.is_empty()).map(|line| indent_of(line)).min().unwrap_or(0);
    let text: Vec<&str> = text.iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    let mut writer = Writer::default();
    let mut rest = &text[..];
    while let Some((line, after)) = rest.split_first() {
        rest = if let Some(fence) = Fence::open(line) {
            let len = after.iter().position(|line| fence.closes(line)).unwrap_or(after.len());
            writer.block(fence.info, &after[..len], indent_of(line));
            after.get(len + 1..).unwrap_or(&[])
        } else if writer.is_indented_code(line) {
            let len = rest.iter().position(|line| !line.is_empty() && indent_of(line) < CODE).unwrap_or(rest.len());
            writer.block("text", &rest[..len], CODE);
            &rest[len..]
        } else {
            writer.line(line);
            after
        };
    }
    writer.finish()
}

/// CommonMark §4.4: so many spaces make a line code.
const CODE: usize = 4;

/// Lines without what rustc refuses in a doc comment (bare CR, characters that change the reading direction), tabs
/// widened, ends trimmed, empty lines around the text gone.
fn clean(comment: &str) -> Vec<String> {
    let mut lines: Vec<String> = comment.lines().map(clean_line).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    lines.split_off(first)
}

fn clean_line(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => clean.push_str(&" ".repeat(4 - clean.chars().count() % 4)),
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => clean.push_str(&format!("(U+{:04X})", u32::from(c))),
            '\r' => clean.push(' '),
            c if c.is_control() => clean.push(char::REPLACEMENT_CHARACTER),
            c => clean.push(c),
        }
    }
    clean.truncate(clean.trim_end().len());
    clean
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The first line of a fenced block.
struct Fence<'a> {
    mark: char,
    len: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn open(line: &'a str) -> Option<Self> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let len = line.len() - info.len();
        // "```x``` is good" is a code span.
        (len >= 3 && !(mark == '`' && info.contains('`'))).then(|| Self { mark, len, info: info.trim() })
    }

    fn closes(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.len && line.chars().all(|c| c == self.mark)
    }
}

#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    /// Where the text of the innermost list item begins, or less; 0 outside of lists.
    item: usize,
}

impl Writer {
    /// A block of code, as `text` or in the language that was named unless rustdoc would take it for Rust and run it.
    /// It starts at the margin also inside a list, so that no line in it can end it.
    fn block(&mut self, info: &str, code: &[&str], indent: usize) {
        let end = code.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        let longest = code.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.blank();
        self.lines.push(format!("{fence}{}", language(info)));
        for line in &code[..end] {
            self.lines.push(line[indent_of(line).min(indent)..].to_owned());
        }
        self.lines.push(fence);
        self.blank();
        self.item = 0;
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn is_indented_code(&self, line: &str) -> bool {
        let after_blank = self.lines.last().is_none_or(String::is_empty);
        !line.is_empty() && self.item == 0 && after_blank && indent_of(line) >= CODE
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            return self.blank();
        }
        let (marker, content) = split_marker(line.trim_start());
        // Deeper than this would be code inside the list item.
        let indent = indent_of(line).min(self.item + CODE - 1);
        if self.begins_item(marker, content) {
            self.item = indent + marker.len() + 1;
        } else if indent < self.item {
            self.item = 0;
        }
        let space = if marker.is_empty() || content.is_empty() { "" } else { " " };
        self.lines.push(format!("{:indent$}{marker}{space}{}", "", inline(content)));
    }

    /// Whether CommonMark surely begins a list item here (§5.2: an empty one, or one whose number is not 1, cannot interrupt
    /// a paragraph). Where it is in doubt the answer is no: `item` must never be more than the real one.
    fn begins_item(&self, marker: &str, content: &str) -> bool {
        let after_blank = self.lines.last().is_none_or(String::is_empty);
        let may_interrupt = matches!(marker, "-" | "*" | "+" | "1." | "1)");
        !marker.is_empty() && !content.is_empty() && (after_blank || may_interrupt)
    }

    fn finish(mut self) -> Vec<String> {
        while self.lines.last().is_some_and(String::is_empty) {
            self.lines.pop();
        }
        self.lines
    }
}

/// A list marker and what follows it. Spaces between them are dropped: five or more would make what follows code.
fn split_marker(text: &str) -> (&str, &str) {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let marker = match text[digits..].chars().next() {
        Some('-' | '*' | '+') if digits == 0 => 1,
        Some('.' | ')') if (1..=9).contains(&digits) => digits + 1,
        _ => return ("", text),
    };
    let rest = &text[marker..];
    if rest.is_empty() || rest.starts_with(' ') { (&text[..marker], rest.trim_start()) } else { ("", text) }
}

/// What may be written after a fence: rustdoc compiles blocks that name no language, Rust, or only its own attributes.
fn language(info: &str) -> &str {
    const RUST: [&str; 9] =
        ["rust", "ignore", "no_run", "should_panic", "compile_fail", "test_harness", "standalone_crate", "allow_fail", "custom"];
    let word = info.split([' ', ',', '{', '\t']).next().unwrap_or_default();
    let plain =
        word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(|c| c.is_ascii_alphanumeric() || "_+-.#".contains(c));
    let lower = word.to_ascii_lowercase().replace('-', "_");
    let error_code = lower.len() == 5 && lower.starts_with('e') && lower[1..].bytes().all(|b| b.is_ascii_digit());
    let runs = RUST.contains(&lower.as_str()) || lower.starts_with("ignore_") || lower.starts_with("edition") || error_code;
    if plain && !runs { word } else { "text" }
}

/// One line outside of code.
fn inline(mut rest: &str) -> String {
    let mut out = String::with_capacity(rest.len() + 8);
    // A line that would begin a quotation, inside of which code would have to be looked for again, or a block of code.
    if rest.starts_with('>') || rest.starts_with("~~~") {
        out.push('\\');
    }
    let (marker, content) = split_marker(rest);
    if !marker.is_empty() {
        // A list in a list item: "- - x".
        out.push_str(marker.trim_end_matches(['-', '*', '+', '.', ')']));
        out.push('\\');
        out.push_str(&marker[marker.len() - 1..]);
        out.push(' ');
        rest = content;
    }
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '`' => code_span(rest),
            '[' => web_link(rest),
            '<' => auto_link(rest),
            'h' => match url(rest) {
                Some(url) if !out.ends_with(|c: char| c.is_alphanumeric()) => {
                    out.push_str(&format!("<{url}>"));
                    rest = &rest[url.len()..];
                    continue;
                }
                _ => None,
            },
            '\\' => rest.chars().nth(1).filter(char::is_ascii_punctuation).map(|next| &rest[..1 + next.len_utf8()]),
            _ => None,
        };
        let taken = taken.unwrap_or_else(|| {
            if matches!(c, '[' | ']' | '<' | '`') || c == '\\' {
                out.push('\\');
            }
            &rest[..c.len_utf8()]
        });
        out.push_str(taken);
        rest = &rest[taken.len()..];
    }
    out
}

/// A code span that ends on the same line.
fn code_span(text: &str) -> Option<&str> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let mut at = ticks;
    while let Some(next) = text[at..].find('`') {
        let start = at + next;
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        at = start + run;
        if run == ticks {
            return Some(&text[..at]);
        }
    }
    None
}

/// `[text](https://...)`. Other links of Markdown would be searched among Rust items.
fn web_link(text: &str) -> Option<&str> {
    let close = text.find(']')?;
    let plain = !text[1..close].contains(['[', '`', '<', '\\', '!']) && close > 1;
    let target = text[close + 1..].strip_prefix('(')?;
    let end = target.find(')')?;
    (plain && url(target).is_some_and(|url| url.len() == end)).then(|| &text[..close + 1 + 1 + end + 1])
}

/// `<https://...>`.
fn auto_link(text: &str) -> Option<&str> {
    let end = text.find('>')?;
    (url(&text[1..]).is_some_and(|url| url.len() == end - 1)).then(|| &text[..=end])
}

/// A web address, without the punctuation of the sentence around it.
fn url(text: &str) -> Option<&str> {
    let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme))?;
    let end = text.find(|c: char| c.is_whitespace() || c.is_control() || "<>()[]{}\"`\\|^".contains(c)).unwrap_or(text.len());
    let url = text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
    (url.len() > scheme.len()).then_some(url)
}
