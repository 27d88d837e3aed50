use crate::{
    check, editions,
    error::Error,
    glue::{self, Options},
    messages::{self, Package},
    output::{self, Tree},
    parse,
    service::Service,
    wire,
};
use prost::Message;
use prost_build::Module;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use std::{
    env,
    path::{Path, PathBuf},
};

/// Messages, async clients and service traits on tokio: the crate `pintle-tokio`.
pub fn tokio() -> Builder {
    core().and_tokio()
}

/// Messages, async clients and service traits on smol: the crate `pintle-smol`.
pub fn smol() -> Builder {
    core().and_smol()
}

/// Messages, blocking and callback clients, and callback service traits on an epoll loop: the crate `pintle-mio`. Nothing async.
pub fn mio() -> Builder {
    core().and_mio()
}

/// Messages, callback clients and callback service traits for a loop of one's own: the crate `pintle-callback`. The traits are those of
/// [`mio()`]; its clients have no `connect`, for what connects is the loop.
pub fn callback() -> Builder {
    core().and_callback()
}

/// Messages, paths and shapes, for loops of one's own that want nothing more: the crate `pintle-core`.
///
/// With `.descriptors(false)` only the messages are left, which need no crate of Pintle.
pub fn core() -> Builder {
    let mut prost = prost_build::Config::new();
    prost.bytes(["."]);
    Builder {
        prost,
        glue: Vec::new(),
        core: "::pintle_core".to_owned(),
        includes: Vec::new(),
        out_dir: None,
        include_file: "pintle.rs".to_owned(),
        client: true,
        server: true,
        descriptors: true,
        separate_glue: false,
        enum_prefix: false,
        messages_at: None,
    }
}

/// What to generate, and how. Begins with [`tokio()`], [`smol()`], [`mio()`], [`callback()`] or [`core()`], ends with [`compile`](Self::compile).
#[must_use = "nothing is generated before `compile`"]
pub struct Builder {
    prost: prost_build::Config,
    glue: Vec<Glue>,
    core: String,
    includes: Vec<PathBuf>,
    out_dir: Option<PathBuf>,
    include_file: String,
    client: bool,
    server: bool,
    descriptors: bool,
    separate_glue: bool,
    enum_prefix: bool,
    messages_at: Option<String>,
}

/// Glue for one runtime.
struct Glue {
    style: Style,
    krate: String,
    /// The module it is put into when there are several.
    module: &'static str,
}

/// The module of the only glue whose crate has no sockets.
const ON_CALLBACK: &str = "on_callback";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Futures,
    Callbacks,
}

/// Several runtimes over one set of messages.
impl Builder {
    /// Glue for tokio too, in the module `on_tokio` of each package.
    pub fn and_tokio(self) -> Self {
        self.and(Style::Futures, "::pintle_tokio", "on_tokio")
    }

    /// Glue for smol too, in the module `on_smol` of each package.
    pub fn and_smol(self) -> Self {
        self.and(Style::Futures, "::pintle_smol", "on_smol")
    }

    /// Glue for mio too, in the module `on_mio` of each package.
    pub fn and_mio(self) -> Self {
        self.and(Style::Callbacks, "::pintle_mio", "on_mio")
    }

    /// Glue for a loop of one's own too, in the module `on_callback` of each package.
    pub fn and_callback(self) -> Self {
        self.and(Style::Callbacks, "::pintle_callback", ON_CALLBACK)
    }

    fn and(mut self, style: Style, krate: &str, module: &'static str) -> Self {
        if self.glue.iter().all(|glue| glue.module != module) {
            self.glue.push(Glue { style, krate: krate.to_owned(), module });
        }
        self
    }
}

/// Where files come from and go to.
impl Builder {
    /// A directory in which files and imports are searched, after those added before. Without any, the directories of the files
    /// that are given to [`compile`](Self::compile) are searched. `google/protobuf/*.proto` is built in.
    pub fn include(mut self, directory: impl Into<PathBuf>) -> Self {
        self.includes.push(directory.into());
        self
    }

    /// The directory to write to, instead of `OUT_DIR`; for code that is checked in.
    pub fn out_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(directory.into());
        self
    }

    /// The name of the file that declares the modules and includes all others, instead of `pintle.rs`. Needed where one build script
    /// compiles twice; `mod.rs` is handy with [`out_dir`](Self::out_dir).
    pub fn include_file(mut self, name: impl Into<String>) -> Self {
        self.include_file = name.into();
        self
    }
}

/// Which parts are made.
impl Builder {
    /// Whether clients are made (they are by default).
    pub fn client(mut self, yes: bool) -> Self {
        self.client = yes;
        self
    }

    /// Whether service traits and servers are made (they are by default).
    pub fn server(mut self, yes: bool) -> Self {
        self.server = yes;
        self
    }

    /// Whether `FILE_DESCRIPTOR_SET` and the enums of methods are made (they are by default).
    pub fn descriptors(mut self, yes: bool) -> Self {
        self.descriptors = yes;
        self
    }

    /// Whether glue goes into modules of its own (`on_tokio` ...) also where there is only one kind. For packages in which a message has
    /// the name of a client or server.
    pub fn separate_glue(mut self, yes: bool) -> Self {
        self.separate_glue = yes;
        self
    }

    /// Makes no messages: they are in another crate or module, where they were made with [`core()`] from the same files.
    ///
    /// `path` is the module that includes them: `::my_messages`, `crate::messages`.
    pub fn messages_at(mut self, path: impl Into<String>) -> Self {
        self.messages_at = Some(path.into());
        self
    }
}

/// How generated code names things, and what it carries.
impl Builder {
    /// The path of the runtime's crate (of the one named last), where it is renamed or re-exported: `crate::reexports::pintle_tokio`.
    /// With [`core()`], the path of `pintle-core`.
    pub fn crate_path(mut self, path: impl Into<String>) -> Self {
        match self.glue.last_mut() {
            Some(glue) => glue.krate = path.into(),
            None => self.core = path.into(),
        }
        self
    }

    /// The path of the `prost` crate, where it is renamed or re-exported. `::prost` by default.
    pub fn prost_path(mut self, path: impl Into<String>) -> Self {
        self.prost.prost_path(path);
        self
    }

    /// The Rust path of a package or message that is made elsewhere: `.extern_path(".acme.types", "::acme_types")`.
    pub fn extern_path(mut self, proto: impl Into<String>, rust: impl Into<String>) -> Self {
        self.prost.extern_path(proto, rust);
        self
    }

    /// An attribute for messages, enums and oneofs: `.type_attribute(".", "#[derive(serde::Serialize)]")`. The path names a package, a type,
    /// or (`.`) everything.
    pub fn type_attribute(mut self, path: impl AsRef<str>, attribute: impl AsRef<str>) -> Self {
        self.prost.type_attribute(path, attribute);
        self
    }

    /// An attribute for fields: `.field_attribute(".acme.Order.id", "#[serde(default)]")`.
    pub fn field_attribute(mut self, path: impl AsRef<str>, attribute: impl AsRef<str>) -> Self {
        self.prost.field_attribute(path, attribute);
        self
    }

    /// Whether values of enums keep the enum's name in front: `ColorRed` rather than `Red` for `COLOR_RED` of `Color`.
    pub fn enum_prefix(mut self, yes: bool) -> Self {
        self.enum_prefix = yes;
        self
    }

    /// All else that prost-build can do to messages: maps as `BTreeMap`, boxed fields, `prost::Name`. What it offers for input, output and
    /// services has no effect here.
    pub fn prost(mut self, configure: impl FnOnce(&mut prost_build::Config)) -> Self {
        configure(&mut self.prost);
        self
    }
}

/// Code that was generated and not yet written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Name and content of each file. The first is the one that includes the others.
    pub files: Vec<(String, Vec<u8>)>,
    /// The .proto files that were read. Empty for descriptor sets.
    pub inputs: Vec<PathBuf>,
}

/// Doing it.
impl Builder {
    /// Compiles .proto files in a build script: writes the code to `OUT_DIR` (or [`out_dir`](Self::out_dir)) and tells cargo to run the
    /// script again when one of the files, or of those they import, changes. Include the code by
    /// `include!(concat!(env!("OUT_DIR"), "/pintle.rs"));`.
    ///
    /// Paths are relative to the package's directory.
    ///
    /// # Errors
    /// A file cannot be found or read, or is no valid .proto; names collide in Rust; the code cannot be written. Return the error from `main`, or unwrap
    /// it: its text is for people.
    pub fn compile(self, protos: &[impl AsRef<Path>]) -> Result<(), Error> {
        let out_dir = self.target()?;
        let generated = self.generate(protos)?;
        for input in &generated.inputs {
            println!("cargo:rerun-if-changed={}", input.display());
        }
        output::write(&out_dir, &generated.files)
    }

    /// Compiles an encoded `FileDescriptorSet` that was made elsewhere: by `protoc --include_imports --include_source_info -o`, by buf, or
    /// by protox. For files in editions this is the way.
    ///
    /// If the set is read from a file, tell cargo so: `println!("cargo:rerun-if-changed=greeter.fds")`.
    ///
    /// # Errors
    /// The octets are no such set; a file of it imports what is not in it; names collide in Rust; the code cannot be written.
    pub fn compile_fds(self, descriptor_set: &[u8]) -> Result<(), Error> {
        let out_dir = self.target()?;
        output::write(&out_dir, &self.generate_fds(descriptor_set)?.files)
    }

    /// Like [`compile`](Self::compile), but writes nothing and tells cargo nothing.
    ///
    /// # Errors
    /// As those of `compile`, less those of writing.
    pub fn generate(self, protos: &[impl AsRef<Path>]) -> Result<Generated, Error> {
        let protos: Vec<PathBuf> = protos.iter().map(|proto| proto.as_ref().to_path_buf()).collect();
        let parsed = parse::parse(&protos, &self.includes)?;
        let files = self.generate_fds(&parsed.set)?.files;
        Ok(Generated { files, inputs: parsed.inputs })
    }

    /// Like [`compile_fds`](Self::compile_fds), but writes nothing.
    ///
    /// # Errors
    /// As those of `compile_fds`, less those of writing.
    pub fn generate_fds(mut self, descriptor_set: &[u8]) -> Result<Generated, Error> {
        let mut set = FileDescriptorSet::decode(descriptor_set)
            .map_err(|error| Error::message(format!("these octets are no FileDescriptorSet: {error}")))?;
        editions::lower(&mut set, descriptor_set)?;
        let files = set.file;
        check::descriptors(&files, self.enum_prefix)?;
        check::modules(&files)?;
        self.configure(&files);
        let prost = std::mem::take(&mut self.prost);
        let packages = messages::generate(prost, files.clone())?;
        for package in packages.values() {
            check::names(package, &files, &|service| self.glue_names(service))?;
        }

        let mut tree = Tree::new(&self.include_file)?;
        for (module, package) in &packages {
            tree.add(module, &package.name, self.package(module, package, &files))?;
        }
        if self.descriptors {
            tree.add_octets(self.set_file(), wire::without_source_info(descriptor_set)?);
        }
        let crates: Vec<&str> = self.glue.iter().map(|glue| glue.krate.as_str()).chain([&*self.core, "::prost", "::prost_types"]).collect();
        Ok(Generated { files: tree.files(&crates), inputs: Vec::new() })
    }

    fn target(&self) -> Result<PathBuf, Error> {
        let out_dir = self.out_dir.clone().or_else(|| env::var_os("OUT_DIR").map(PathBuf::from));
        out_dir.ok_or_else(|| {
            Error::message("OUT_DIR is not set: call this from a build script, or say where to write with `.out_dir(\"...\")`")
        })
    }

    fn configure(&mut self, files: &[FileDescriptorProto]) {
        if self.enum_prefix {
            self.prost.retain_enum_prefix();
        }
        let Some(path) = &self.messages_at else { return };
        let path = path.trim_end_matches("::");
        let mut packages: Vec<&str> =
            files.iter().map(FileDescriptorProto::package).filter(|package| *package != "google.protobuf").collect();
        packages.sort_unstable();
        packages.dedup();
        for package in packages.iter().filter(|package| !package.is_empty()) {
            self.prost.extern_path(format!(".{package}"), format!("{path}::{}", package.replace('.', "::")));
        }
        for file in files.iter().filter(|file| file.package().is_empty()) {
            let names = file.message_type.iter().map(|m| m.name()).chain(file.enum_type.iter().map(|e| e.name()));
            for name in names {
                self.prost.extern_path(format!(".{name}"), format!("{path}::{}", crate::service::type_name(name)));
            }
        }
    }

    fn separate(&self) -> bool {
        self.separate_glue || self.glue.len() > 1
    }

    /// The names that a service takes in the module of its package.
    fn glue_names(&self, service: &str) -> Vec<String> {
        let mut names = Vec::new();
        if self.descriptors {
            names.push(format!("{service}Method"));
        }
        if !self.separate() {
            for glue in &self.glue {
                if self.client {
                    names.push(format!("{service}Client"));
                }
                match glue.style {
                    Style::Futures if self.server => {
                        names.extend([service.to_owned(), format!("Local{service}"), format!("{service}Server")])
                    }
                    Style::Callbacks if self.server => names.extend([format!("{service}Service"), format!("{service}Server")]),
                    _ => {}
                }
            }
        }
        names
    }

    /// The path of `Shape`, by the first runtime's crate, so that no other dependency is needed.
    fn shape(&self) -> String {
        match self.glue.first() {
            Some(Glue { style: Style::Futures, krate, .. }) => format!("{krate}::glue::Shape"),
            Some(Glue { style: Style::Callbacks, krate, .. }) => format!("{krate}::Shape"),
            None => format!("{}::Shape", self.core),
        }
    }

    /// The name of the file that holds the descriptor set.
    fn set_file(&self) -> String {
        format!("{}.fds", self.include_file.trim_end_matches(".rs"))
    }

    /// The code of one package.
    fn package(&self, module: &Module, package: &Package, files: &[FileDescriptorProto]) -> String {
        let sources = files.iter().filter(|file| Module::from_protobuf_package_name(file.package()) == *module);
        let sources: Vec<&str> = sources.map(FileDescriptorProto::name).collect();
        let mut out = format!("// Generated by pintle-build from {}. Changes will be lost.\n\n", sources.join(", "));
        out.push_str(&package.messages);
        if self.descriptors {
            out.push_str(&format!(
                "\n/// The descriptors of all files that were compiled together: an encoded `google.protobuf.FileDescriptorSet`.\n\
                 pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!({:?});\n",
                self.set_file()
            ));
            for service in &package.services {
                out.push('\n');
                out.push_str(&glue::descriptors::service(service, &self.shape()));
            }
        }
        for glue in &self.glue {
            self.package_glue(glue, &package.services, &mut out);
        }
        out
    }

    fn package_glue(&self, glue: &Glue, services: &[Service], out: &mut String) {
        if services.is_empty() || !(self.client || self.server) {
            return;
        }
        let options = Options { krate: &glue.krate, client: self.client, server: self.server, connects: glue.module != ON_CALLBACK };
        let render = match glue.style {
            Style::Futures => glue::futures::service,
            Style::Callbacks => glue::callbacks::service,
        };
        if !self.separate() {
            for service in services {
                out.push('\n');
                out.push_str(&render(service, &options));
            }
            return;
        }
        let code: Vec<String> = services.iter().map(|service| render(&service.inside_module(), &options)).collect();
        let runtime = glue.krate.rsplit("::").next().unwrap_or_default();
        out.push_str(&format!(
            "\n/// Clients and servers by `{runtime}`.\npub mod {} {{\n{}}}\n",
            glue.module,
            output::indented(&code.join("\n"))
        ));
    }
}
