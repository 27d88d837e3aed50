//! From files to a descriptor set: protox, with our own look-up of files and our own words for what it finds wrong.

use crate::{
    advice,
    error::{Error, Mark, Problem, Source},
};
use miette::Diagnostic;
use protox::file::{File, FileResolver, GoogleFileResolver};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

/// What was read.
pub(crate) struct Parsed {
    /// An encoded `FileDescriptorSet`: the files and all that they import, with comments and custom options.
    pub(crate) set: Vec<u8>,
    /// Every file that was read from disk.
    pub(crate) inputs: Vec<PathBuf>,
}

/// Reads `protos` and what they import. An empty list of includes stands for the folders of the files themselves.
pub(crate) fn parse(protos: &[PathBuf], includes: &[PathBuf]) -> Result<Parsed, Error> {
    if protos.is_empty() {
        return Err(Error::message("no .proto file was given"));
    }
    let includes = if includes.is_empty() { folders(protos) } else { includes.to_vec() };
    check_includes(&includes)?;
    let disk = Disk { includes, seen: Rc::default() };
    let mut compiler = protox::Compiler::with_file_resolver(disk.clone());
    compiler.include_imports(true).include_source_info(true);
    for proto in protos {
        let name = disk.name(proto)?;
        compiler.open_file(&name).map_err(|error| disk.explain(&error))?;
        disk.check_shadowed(proto, &name)?;
    }
    // With imports and source info this is the octets as parsed, not a re-encoding by prost, which would drop custom options.
    let set = compiler.encode_file_descriptor_set();
    let inputs = disk.seen.borrow().files.values().map(|source| source.path.clone()).collect();
    Ok(Parsed { set, inputs })
}

/// The folder of each file, outer ones first, so that a file has one name however it is reached.
fn folders(protos: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for proto in protos {
        let folder = proto.parent().unwrap_or(Path::new("")).to_path_buf();
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.sort_by_key(|folder| folder.components().count());
    folders
}

fn check_includes(includes: &[PathBuf]) -> Result<(), Error> {
    for include in includes {
        if !include.as_os_str().is_empty() && !include.is_dir() {
            let problem = Problem::new(format!("the include directory `{}` does not exist", include.display()));
            return Err(Error::new(problem.help(format!("the build script runs in {}", current_dir()))));
        }
    }
    Ok(())
}

/// The include directories, and what has been read from them.
#[derive(Clone)]
struct Disk {
    includes: Vec<PathBuf>,
    seen: Rc<RefCell<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// By the name that imports use.
    files: BTreeMap<String, Arc<Source>>,
    /// The last name that was nowhere.
    missing: Option<String>,
    /// The last file that could not be read.
    unreadable: Option<(PathBuf, String)>,
}

impl FileResolver for Disk {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        for include in &self.includes {
            let path = include.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => {
                    let file = File::from_source(name, &text);
                    self.seen.borrow_mut().files.insert(name.to_owned(), Arc::new(Source { path, text }));
                    return file;
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => {
                    let why = match error.kind() {
                        io::ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
                        _ => error.to_string(),
                    };
                    self.seen.borrow_mut().unreadable = Some((path, why));
                    return Err(protox::Error::new(error));
                }
            }
        }
        GoogleFileResolver::new().open_file(name).inspect_err(|_| self.seen.borrow_mut().missing = Some(name.to_owned()))
    }
}

impl Disk {
    /// The name under which others import a file that the user named by its path.
    fn name(&self, proto: &Path) -> Result<String, Error> {
        if !proto.exists() {
            // protoc also takes names that are relative to an include directory.
            return match self.includes.iter().any(|include| include.join(proto).exists()) {
                true => Ok(slashes(proto)),
                false => Err(self.no_such_file(proto)),
            };
        }
        let inside = |file: &Path, resolve: &dyn Fn(&Path) -> PathBuf| {
            self.includes.iter().find_map(|include| file.strip_prefix(resolve(include)).ok().map(slashes))
        };
        // By the paths as they are written, so that links inside an include directory stay inside; then by what they lead to.
        let written = inside(&plain(proto), &plain);
        let found = written.or_else(|| inside(&real(proto), &real));
        found.ok_or_else(|| {
            let problem = Problem::new(format!("`{}` is in none of the include directories", proto.display()));
            Error::new(problem.help(self.searched("they are:")).help("add `.include(\"...\")` with a directory above the file"))
        })
    }

    fn no_such_file(&self, proto: &Path) -> Error {
        let mut problem = Problem::new(format!("there is no file `{}`", proto.display()));
        let folder = proto.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut others: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        others.retain(|name| name.ends_with(".proto"));
        others.sort();
        if !others.is_empty() {
            problem = problem.help(format!("`{}` holds: {}", folder.display(), others.join(", ")));
        }
        Error::new(problem.help(format!("paths are relative to the package; the build script runs in {}", current_dir())))
    }

    /// Another file of that name that comes first would silently be compiled instead.
    fn check_shadowed(&self, proto: &Path, name: &str) -> Result<(), Error> {
        let seen = self.seen.borrow();
        let Some(source) = seen.files.get(name) else { return Ok(()) };
        if !proto.exists() || real(proto) == real(&source.path) {
            return Ok(());
        }
        let problem =
            Problem::new(format!("`{}` is hidden by `{}`, which is imported as \"{name}\" too", proto.display(), source.path.display()));
        Err(Error::new(
            problem
                .help(self.searched("directories are searched in this order:"))
                .help("rename one, or change the order of `.include(...)`"),
        ))
    }

    fn explain(&self, error: &protox::Error) -> Error {
        let seen = self.seen.borrow();
        if let Some((path, why)) = &seen.unreadable {
            return Error::message(format!("cannot read `{}`: {why}", path.display()));
        }
        let source = error.file().and_then(|name| seen.files.get(name));
        if error.is_file_not_found()
            && let Some(missing) = &seen.missing
        {
            return Error::new(self.import_not_found(missing, source, error));
        }
        let mut proto2 = false;
        let explain = |diagnostic: &dyn Diagnostic| {
            let (message, marks) = (diagnostic.to_string(), marks(diagnostic));
            let help = advice::advice(&message, source, marks.first(), seen.files.values());
            if let Some(problem) = advice::no_syntax(&message, source, marks) {
                return (!std::mem::replace(&mut proto2, true)).then_some(problem);
            }
            let problem = explain_one(diagnostic, source);
            Some(match help {
                Some(help) => problem.help(help),
                None => problem,
            })
        };
        let first: &dyn Diagnostic = error;
        Error::many([first].into_iter().chain(error.related().into_iter().flatten()).filter_map(explain).collect())
    }

    fn import_not_found(&self, name: &str, source: Option<&Arc<Source>>, error: &protox::Error) -> Problem {
        let mut problem = Problem::new(format!("import \"{name}\" was not found"));
        if let Some(source) = source {
            // protox marks the whole statement.
            let statement = marks(error).first().map_or(0, |mark| mark.offset);
            let quoted = source.text.get(statement..).and_then(|rest| rest.find(name)).map(|at| statement + at - 1);
            let mark = quoted.map(|offset| Mark { offset, len: name.len() + 2, label: "imported here".into() });
            problem = problem.at(Arc::clone(source), mark.into_iter().collect());
        }
        problem = problem.help(self.searched("it was searched in:"));
        match self.elsewhere(name) {
            Some(folder) => problem.help(format!("there is one in `{0}`: add `.include(\"{0}\")`", folder.display())),
            None if name.starts_with("google/") => {
                problem.help("only google/protobuf/*.proto is built in: put a copy of this file into an include directory")
            }
            None => problem,
        }
    }

    /// A directory above the include directories in which the name would be found.
    fn elsewhere(&self, name: &str) -> Option<PathBuf> {
        let above = self.includes.iter().flat_map(|include| include.ancestors().skip(1));
        let found = above.filter(|folder| folder.join(name).is_file()).map(Path::to_path_buf).next()?;
        Some(if found.as_os_str().is_empty() { PathBuf::from(".") } else { found })
    }

    fn searched(&self, lead: &str) -> String {
        let mut text = lead.to_owned();
        for include in &self.includes {
            text.push_str("\n  ");
            text.push_str(if include.as_os_str().is_empty() { "." } else { include.to_str().unwrap_or("(a path that is not UTF-8)") });
        }
        text + "\n  the files that are built in: google/protobuf/*.proto"
    }
}

fn explain_one(diagnostic: &dyn Diagnostic, source: Option<&Arc<Source>>) -> Problem {
    let message = diagnostic.to_string();
    let mut problem = Problem::new(&*message);
    if let Some(source) = source {
        let mut marks = marks(diagnostic);
        if marks.is_empty() && message.ends_with("reached end of file") {
            marks.push(Mark { offset: source.end(), len: 0, label: "the file ends here".into() });
        }
        // "enums" and so on are explained by protox; that editions are another language is not.
        if marks.first().is_some_and(|mark| source.text[mark.offset.min(source.text.len())..].starts_with("edition")) {
            problem = problem.help(
                "editions are not parsed here: let protoc make a descriptor set\n\
                 (`protoc --include_imports --include_source_info -o greeter.fds greeter.proto`) and give it to `compile_fds`",
            );
        }
        problem = problem.at(Arc::clone(source), marks);
    }
    match diagnostic.help() {
        Some(help) => problem.help(help.to_string()),
        None => problem,
    }
}

/// protox's labels, the one that names the culprit first.
fn marks(diagnostic: &dyn Diagnostic) -> Vec<Mark> {
    let labels = diagnostic.labels().into_iter().flatten();
    let mut marks: Vec<Mark> = labels
        .map(|label| Mark { offset: label.offset(), len: label.len(), label: label.label().unwrap_or_default().replace('…', "") })
        .collect();
    // Definitions come before what conflicts with them, except where the culprit is said to be "found here".
    let culprit = marks.iter().position(|mark| mark.label.starts_with("found") || mark.label.starts_with("used"));
    let culprit = culprit.or(marks.len().checked_sub(1)).unwrap_or(0);
    if !marks.is_empty() {
        marks[..=culprit].rotate_right(1);
    }
    marks
}

/// An absolute path without `.` and `..`, links not followed.
fn plain(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(if path.as_os_str().is_empty() { Path::new(".") } else { path }).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(if path.as_os_str().is_empty() { Path::new(".") } else { path }).unwrap_or_else(|_| path.to_owned())
}

fn slashes(path: &Path) -> String {
    let parts = path.components().filter(|part| !matches!(part, Component::CurDir));
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn current_dir() -> String {
    std::env::current_dir().map_or_else(|_| "a directory that is gone".to_owned(), |dir| dir.display().to_string())
}
