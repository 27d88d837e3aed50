//! Services as the templates need them: every name, path and type worked out.

use crate::docs::{self, Docs};
use heck::ToUpperCamelCase;

/// One service of a package.
#[derive(Clone)]
pub(crate) struct Service {
    /// The Rust name: of the trait, and the stem of the others.
    pub(crate) name: String,
    /// `package.Service`.
    pub(crate) full_name: String,
    pub(crate) docs: Vec<String>,
    pub(crate) deprecated: bool,
    pub(crate) methods: Vec<Method>,
}

/// One method of a service.
#[derive(Clone)]
pub(crate) struct Method {
    /// The Rust name, raw where it must be: `say_hello`, `r#type`.
    pub(crate) name: String,
    /// The name of an enum variant: `SayHello`.
    pub(crate) variant: String,
    /// `SayHello`, as in the .proto.
    pub(crate) proto_name: String,
    /// `/package.Service/SayHello`.
    pub(crate) path: String,
    pub(crate) shape: Shape,
    /// Rust types, as seen from the module of the package.
    pub(crate) input: String,
    pub(crate) output: String,
    /// The comment, or the path.
    pub(crate) docs: Vec<String>,
    pub(crate) deprecated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Unary,
    ServerStreaming,
    ClientStreaming,
    Bidi,
}

impl Service {
    pub(crate) fn new(service: &prost_build::Service, docs: &Docs) -> Self {
        let full_name = docs::join(&service.package, &service.proto_name);
        let methods = service.methods.iter().map(|method| Method::new(method, &full_name, docs)).collect();
        Self {
            name: type_name(&service.proto_name),
            docs: docs.text(&service.comments.leading),
            deprecated: service.options.deprecated(),
            full_name,
            methods,
        }
    }

    /// Types as seen from a module inside the package's module.
    pub(crate) fn inside_module(&self) -> Self {
        let mut service = self.clone();
        for method in &mut service.methods {
            method.input = from_inside(&method.input);
            method.output = from_inside(&method.output);
        }
        service
    }
}

impl Method {
    fn new(method: &prost_build::Method, service: &str, docs: &Docs) -> Self {
        let path = format!("/{service}/{}", method.proto_name);
        let mut text = docs.text(&method.comments.leading);
        if text.is_empty() {
            text.push(format!("`{path}`"));
        }
        Self {
            name: method.name.clone(),
            variant: type_name(&method.proto_name),
            proto_name: method.proto_name.clone(),
            path,
            shape: match (method.client_streaming, method.server_streaming) {
                (false, false) => Shape::Unary,
                (false, true) => Shape::ServerStreaming,
                (true, false) => Shape::ClientStreaming,
                (true, true) => Shape::Bidi,
            },
            input: method.input_type.clone(),
            output: method.output_type.clone(),
            docs: text,
            deprecated: method.options.deprecated(),
        }
    }

    /// The name and docs of the client's function, which must not hide what every client has.
    pub(crate) fn in_client(&self, taken: &[&str]) -> (String, Vec<String>) {
        if !taken.contains(&self.name.as_str()) {
            return (self.name.clone(), self.docs.clone());
        }
        let mut docs = self.docs.clone();
        docs.extend([String::new(), format!("Named `{0}_` because every client has a `{0}`.", self.name)]);
        (format!("{}_", self.name), docs)
    }
}

impl Shape {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unary => "Unary",
            Self::ServerStreaming => "ServerStreaming",
            Self::ClientStreaming => "ClientStreaming",
            Self::Bidi => "Bidi",
        }
    }

    /// The name of what starts such a call.
    pub(crate) fn snake(self) -> &'static str {
        match self {
            Self::Unary => "unary",
            Self::ServerStreaming => "server_streaming",
            Self::ClientStreaming => "client_streaming",
            Self::Bidi => "bidi",
        }
    }
}

/// As prost-build names types: `Self` is the one that cannot be written even as a raw identifier.
pub(crate) fn type_name(proto_name: &str) -> String {
    let name = proto_name.to_upper_camel_case();
    match name.as_str() {
        "Self" => "Self_".to_owned(),
        "" => "_".to_owned(),
        _ if name.starts_with(|c: char| c.is_ascii_digit()) => format!("_{name}"),
        _ => name,
    }
}

fn from_inside(ty: &str) -> String {
    const PRIMITIVE: [&str; 8] = ["()", "bool", "f32", "f64", "i32", "i64", "u32", "u64"];
    if PRIMITIVE.contains(&ty) || ty.starts_with("::") || ty.starts_with("crate::") { ty.to_owned() } else { format!("super::{ty}") }
}
