//! Reading a page of the book: its code blocks, and what the comment before a block says about it.
//!
//! | comment | the block is |
//! | --- | --- |
//! | `<!-- file: PATH -->` | the content of that file of the reader's own crate |
//! | `<!-- file: PATH = SOURCE -->` | the same, and equal to that file of this repository (below its first comment) |
//! | `<!-- output -->` | what the commands so far print |
//! | `<!-- not run: WHY -->` | a command that a test does not run |

use std::{fs, path::PathBuf};

/// The repository.
#[must_use]
pub fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The line that it begins in, from 1.
    pub line: usize,
    /// What is behind the opening fence: `rust,no_run`.
    pub info: String,
    /// Its lines, as they are in the page.
    pub text: String,
    /// What the comment on the line before says.
    pub says: String,
}

/// A page.
#[derive(Debug)]
pub struct Page {
    /// `clients.md`.
    pub name: String,
    /// All of it.
    pub text: String,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

impl Page {
    /// Reads a page of `docs/`.
    ///
    /// # Panics
    /// There is none of this name, or a block has no end.
    #[must_use]
    pub fn read(name: &str) -> Self {
        let path = repository().join("docs").join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut blocks = Vec::new();
        let (mut before, mut lines) = ("", text.lines().enumerate());
        while let Some((number, line)) = lines.next() {
            if let Some(info) = line.strip_prefix("```") {
                let body: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
                let says = before.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")).unwrap_or_default();
                let text = body.iter().flat_map(|line| [line, "\n"]).collect();
                blocks.push(Block { line: number + 1, info: info.to_owned(), text, says: says.to_owned() });
            }
            before = line;
        }
        assert!(text.lines().filter(|line| line.starts_with("```")).count() % 2 == 0, "{name}: a block without an end");
        Self { name: name.to_owned(), text, blocks }
    }

    /// Every page that `SUMMARY.md` names, in its order.
    ///
    /// # Panics
    /// One is not there.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let summary = Self::read("SUMMARY.md").text;
        let names = summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
        names.map(Self::read).collect()
    }

    /// The text without its blocks: line number, line.
    pub fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut inside = false;
        self.text.lines().enumerate().filter_map(move |(number, line)| {
            let fence = line.starts_with("```");
            inside ^= fence;
            (!inside && !fence).then_some((number + 1, line))
        })
    }
}

/// What a reader of a get-started page does.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'p> {
    /// Writes a file.
    Write {
        /// Relative to where the commands have led to.
        path: &'p str,
        /// The file of this repository that it is equal to.
        source: Option<&'p str>,
        /// Its content.
        text: &'p str,
    },
    /// Enters commands.
    Run(&'p str),
    /// Expects this to be printed.
    See(&'p str),
}

impl Block {
    /// What a reader does with this block; `None`: he looks at it.
    #[must_use]
    pub fn step(&self) -> Option<Step<'_>> {
        if let Some(path) = self.says.strip_prefix("file: ") {
            let (path, source) = path.split_once(" = ").map_or((path, None), |(path, source)| (path, Some(source)));
            return Some(Step::Write { path, source, text: &self.text });
        }
        match (self.info.as_str(), self.says.as_str()) {
            (_, "output") => Some(Step::See(&self.text)),
            ("sh", says) if !says.starts_with("not run: ") => Some(Step::Run(&self.text)),
            _ => None,
        }
    }
}
