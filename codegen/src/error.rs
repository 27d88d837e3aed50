//! What went wrong, said so that a person can mend it.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Why nothing was generated.
///
/// Its text is meant to be read in the output of `cargo build`: what is wrong, the file with line and column,
/// the line itself, and what to do next where that is known. `Debug` prints the same text, so that
/// `fn main() -> Result<(), pintle_build::Error>` and `.unwrap()` in a build script are both readable.
///
/// ```text
/// name 'HelloRequst' is not defined
///  --> proto/greeter.proto:7:16
///   |
/// 7 |   rpc SayHello(HelloRequst) returns (HelloReply);
///   |                ^^^^^^^^^^^ found here
///   |
///   = help: a type with a similar name exists: `HelloRequest`
/// ```
pub struct Error {
    problems: Vec<Problem>,
}

impl Error {
    /// The file of the first problem, as a path from the directory in which the build script runs.
    /// `None`: the problem is not in a file (a wrong option, no `OUT_DIR`).
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.problems.first()?.source.as_ref().map(|source| source.path.as_path())
    }

    /// Line (from 1) and column (from 1, in characters) of the first problem, where it has a place in a .proto.
    #[must_use]
    pub fn line_column(&self) -> Option<(usize, usize)> {
        let problem = self.problems.first()?;
        let place = problem.source.as_ref()?.place(problem.marks.first()?);
        Some((place.line, place.column))
    }

    pub(crate) fn new(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }

    pub(crate) fn message(message: impl Into<String>) -> Self {
        Self::new(Problem::new(message))
    }

    pub(crate) fn many(problems: Vec<Problem>) -> Self {
        Self { problems }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// One thing that is wrong.
pub(crate) struct Problem {
    message: String,
    source: Option<Arc<Source>>,
    /// The first one is where the problem is, the others explain it.
    marks: Vec<Mark>,
    help: Vec<String>,
}

/// A file that was read.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A stretch of a file, in octets, and what to say about it.
pub(crate) struct Mark {
    pub(crate) offset: usize,
    pub(crate) len: usize,
    pub(crate) label: String,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, marks: Vec::new(), help: Vec::new() }
    }

    pub(crate) fn at(mut self, source: Arc<Source>, marks: Vec<Mark>) -> Self {
        self.source = Some(source);
        self.marks = marks;
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        let mut gutter = 1;
        if let Some(source) = &self.source {
            let places: Vec<Place<'_>> = self.marks.iter().map(|mark| source.place(mark)).collect();
            gutter = places.iter().map(|place| place.line.to_string().len()).max().unwrap_or(1);
            if places.is_empty() {
                writeln!(f, "{:gutter$}--> {}", "", source.path.display())?;
            }
            for (index, (place, mark)) in places.iter().zip(&self.marks).enumerate() {
                let (arrow, caret) = if index == 0 { ("-->", '^') } else { (":::", '-') };
                if index > 0 {
                    writeln!(f, "{:gutter$} |", "")?;
                }
                writeln!(f, "{:gutter$}{arrow} {}:{}:{}", "", source.path.display(), place.line, place.column)?;
                place.snippet(f, gutter, caret, &mark.label)?;
            }
        }
        if !self.marks.is_empty() && !self.help.is_empty() {
            writeln!(f, "{:gutter$} |", "")?;
        }
        for help in &self.help {
            let mut lines = help.lines();
            writeln!(f, "{:gutter$} = help: {}", "", lines.next().unwrap_or_default())?;
            for line in lines {
                writeln!(f, "{:gutter$}         {line}", "")?;
            }
        }
        Ok(())
    }
}

/// A mark, found in the text.
struct Place<'a> {
    line: usize,
    column: usize,
    text: &'a str,
    width: usize,
}

impl Source {
    /// Any offset is answered: one that is past the end, or inside a character, means the nearest place before it.
    fn place(&self, mark: &Mark) -> Place<'_> {
        let offset = floor(&self.text, mark.offset);
        let end = floor(&self.text, mark.offset.saturating_add(mark.len)).max(offset);
        let start = self.text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let stop = self.text[start..].find('\n').map_or(self.text.len(), |newline| start + newline);
        Place {
            line: self.text[..offset].matches('\n').count() + 1,
            column: self.text[start..offset].chars().count() + 1,
            text: self.text[start..stop].trim_end_matches('\r'),
            width: self.text[offset..end.min(stop).max(offset)].chars().count().max(1),
        }
    }

    /// The end of the last line that says something: where an unexpected end of file is shown.
    pub(crate) fn end(&self) -> usize {
        self.text.trim_end().len()
    }
}

impl Place<'_> {
    fn snippet(&self, f: &mut fmt::Formatter<'_>, gutter: usize, caret: char, label: &str) -> fmt::Result {
        // Tabs become spaces, so that the carets stand under what they mean on any terminal.
        let untab = |text: &str| text.replace('\t', "    ");
        let before: String = self.text.chars().take(self.column - 1).collect();
        let (skip, line) = window(&untab(self.text), untab(&before).chars().count());
        let indent = untab(&before).chars().count() - skip;
        let carets: String = core::iter::repeat_n(caret, self.width.min(MAX_LINE)).collect();
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{:>gutter$} | {line}", self.line)?;
        writeln!(f, "{:gutter$} | {:indent$}{}", "", "", format!("{carets} {label}").trim_end())
    }
}

/// Characters of a .proto's line that are shown.
const MAX_LINE: usize = 140;

/// The part of a long line in which the column is: how many characters are left out before it, and the part.
fn window(line: &str, column: usize) -> (usize, String) {
    if line.chars().count() <= MAX_LINE {
        return (0, line.to_owned());
    }
    let skip = column.saturating_sub(MAX_LINE / 2);
    (skip, line.chars().skip(skip).take(MAX_LINE).collect())
}

fn floor(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str, marks: Vec<Mark>) -> String {
        let source = Arc::new(Source { path: "a/b.proto".into(), text: text.into() });
        Error::new(Problem::new("it is wrong").at(source, marks).help("mend it\nso")).to_string()
    }

    fn mark(offset: usize, len: usize, label: &str) -> Mark {
        Mark { offset, len, label: label.into() }
    }

    #[test]
    fn looks_like_rustc() {
        let text = "syntax = \"proto3\";\nmessage A {}\nmessage A {}\n";
        let expected = "\
it is wrong
 --> a/b.proto:3:9
  |
3 | message A {}
  |         ^ again
  |
 ::: a/b.proto:2:9
  |
2 | message A {}
  |         - first
  |
  = help: mend it
          so
";
        assert_eq!(problem(text, vec![mark(40, 1, "again"), mark(27, 1, "first")]), expected);
    }

    #[test]
    fn columns_count_characters_and_tabs_are_widened() {
        let shown = problem("/* é */\tfoo bar\r\n", vec![mark(9, 3, "")]);
        assert!(shown.contains("a/b.proto:1:9\n"), "{shown}");
        assert!(shown.contains("\n1 | /* é */    foo bar\n  |            ^^^\n"), "{shown}");
    }

    #[test]
    fn every_offset_has_a_place() {
        let text = "é\n\nüb";
        for offset in 0..20 {
            for len in 0..20 {
                let shown = problem(text, vec![mark(offset, len, "x")]);
                assert!(shown.contains("^ x"), "{shown}");
            }
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_column() {
        let text = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let shown = problem(&text, vec![mark(500, 4, "x")]);
        assert!(shown.contains(":1:501\n"), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        let at = lines[3].find("HERE").expect("the marked text is shown");
        assert_eq!(lines[4].find("^^^^"), Some(at));
        assert!(lines.iter().all(|line| line.len() < 200));
    }
}
