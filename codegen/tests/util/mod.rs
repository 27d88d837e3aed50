//! A directory with files, gone after the test.

use pintle_build::{Builder, Error, Generated};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("pintle-build-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&dir.0).expect("the temporary directory can be written");
        for (name, text) in files {
            let path = dir.path(name);
            fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("the temporary directory can be written");
            fs::write(path, text).expect("the temporary directory can be written");
        }
        dir
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What comes of the files `protos` of this directory.
    pub(crate) fn generate(&self, builder: Builder, protos: &[&str]) -> Result<Generated, Error> {
        let protos: Vec<PathBuf> = protos.iter().map(|proto| self.path(proto)).collect();
        builder.generate(&protos)
    }

    /// A path of this directory, as the test wrote it.
    #[allow(dead_code)] // not every test that shares this file asks
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.0).unwrap_or(path).display().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The text of one generated file.
#[allow(dead_code)] // not every test that shares this file asks
pub(crate) fn text(generated: &Generated, name: &str) -> String {
    let found = generated.files.iter().find(|(file, _)| file == name);
    let names: Vec<&String> = generated.files.iter().map(|(name, _)| name).collect();
    let (_, octets) = found.unwrap_or_else(|| panic!("no {name} among {names:?}"));
    String::from_utf8(octets.clone()).expect("code is UTF-8")
}
