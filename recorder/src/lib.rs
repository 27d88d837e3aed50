//! A flight recorder for Pintle's connections, with files: [`Tapes`] writes one tape per connection, `pintle-replay` shows and
//! plays it. What a tape holds, and how it plays, is [`pintle_core::tape`]'s.
//!
#![doc = include_str!("../README.md")]

mod timeline;

pub use pintle_core::tape::{Detail, Recorder, Replay, ReplayError, Sink, SinkFailed, replay};
pub use timeline::{Options, Verdict, rust_test, timeline};

use pintle_core::{Connection, Endpoint};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A [`Sink`] that is a file, or any other `io::Write`.
#[derive(Debug)]
pub struct Writer<W> {
    to: Result<W, io::Error>,
    left: u64,
}

impl<W: Write> Writer<W> {
    /// Writes each piece of a tape as it comes. A `BufWriter` saves system calls, and loses what it holds when the process crashes.
    #[must_use]
    pub const fn new(to: W) -> Self {
        Self { to: Ok(to), left: u64::MAX }
    }

    /// Takes at most so many octets. The tape then ends with its last whole piece; default: no limit.
    #[must_use]
    pub fn limit(mut self, octets: u64) -> Self {
        self.left = octets;
        self
    }

    /// What went wrong, if something did: then the tape is shorter than the connection.
    #[must_use]
    pub fn error(&self) -> Option<&io::Error> {
        self.to.as_ref().err()
    }

    /// The file.
    ///
    /// # Errors
    /// What went wrong with it.
    pub fn into_inner(self) -> io::Result<W> {
        self.to
    }
}

impl<W: Write> Sink for Writer<W> {
    fn put(&mut self, octets: &[u8]) -> Result<(), SinkFailed> {
        let Ok(to) = &mut self.to else { return Err(SinkFailed) };
        let Some(left) = self.left.checked_sub(octets.len() as u64) else {
            self.to = Err(io::Error::new(io::ErrorKind::StorageFull, "the tape is as long as it may be"));
            return Err(SinkFailed);
        };
        self.left = left;
        to.write_all(octets).and_then(|()| to.flush()).map_err(|error| {
            self.to = Err(error);
            SinkFailed
        })
    }
}

/// A directory of tapes, one per connection: `PROCESS-NUMBER.tape`. Clones are the same directory.
#[derive(Debug, Clone)]
pub struct Tapes {
    directory: PathBuf,
    next: Arc<AtomicU64>,
    limit: u64,
    detail: Detail,
}

impl Tapes {
    /// Makes the directory if it is not there (readable by its owner only, on Unix).
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(directory: impl AsRef<Path>) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&directory)?;
        Ok(Self { directory: directory.as_ref().to_owned(), next: Arc::default(), limit: 1 << 30, detail: Detail::Octets })
    }

    /// Octets that one tape may have; a connection is recorded no longer. Default 1 GiB.
    #[must_use]
    pub fn limit(mut self, octets: u64) -> Self {
        self.limit = octets;
        self
    }

    /// What is kept of the octets that leave. Default: all of them.
    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    /// Records a connection that was made just now, in the next file. If that cannot be had, the connection works and is not
    /// recorded: [`Recorder::sink`] says why.
    #[must_use]
    pub fn record<E: Endpoint>(&self, endpoint: E) -> Recorder<E, Writer<File>> {
        let sink = Writer { to: self.open(), left: self.limit };
        Recorder::with_detail(endpoint, sink, self.detail)
    }

    /// The same for every connection of a server or a client: `Server::layer` and `Connect::layer` of any runtime take it.
    pub fn layer(&self) -> impl Fn(Connection) -> Recorder<Connection, Writer<File>> + Send + Sync + use<> {
        let tapes = self.clone();
        move |connection| tapes.record(connection)
    }

    /// The tapes in the directory, oldest first by their names.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "tape") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// A new file: never one that is there, which may be somebody's evidence.
    fn open(&self) -> io::Result<File> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self.directory.join(format!("{}-{number:06}.tape", std::process::id()));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => return opened,
            }
        }
    }
}
