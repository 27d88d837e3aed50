//! The callback style of pintle-mio: a trait whose methods answer now or later, a server that calls them, a client without
//! futures.

use super::{Options, doc, fill};
use crate::service::{Method, Service, Shape};

pub(crate) fn service(service: &Service, options: &Options<'_>) -> String {
    let mut out = String::new();
    if options.server {
        out.push_str(&server(service, options));
    }
    if options.client {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&client(service, options));
    }
    out
}

fn server(service: &Service, options: &Options<'_>) -> String {
    let each = |line: &dyn Fn(usize, &Method) -> String| -> String {
        service.methods.iter().enumerate().map(|(index, method)| line(index, method)).collect()
    };
    let mut docs = service.docs.clone();
    if docs.is_empty() {
        docs.push(format!("The service `{}`.", service.full_name));
    }
    fill(
        SERVER,
        &[
            ("crate", options.krate),
            ("Service", &service.name),
            ("full_name", &service.full_name),
            ("docs", &doc(&docs)),
            ("methods", &each(&|_, m| doc(&m.docs) + &signature(m, options))),
            ("table", &each(&|_, m| format!("{0}::Method::new({1:?}, {0}::Shape::{2}),\n", options.krate, m.path, m.shape.name()))),
            ("arms", &each(&|index, m| arm(index, m, service, options))),
        ],
    )
}

/// The method of the trait.
fn signature(method: &Method, options: &Options<'_>) -> String {
    let Method { name, input, output, .. } = method;
    let krate = options.krate;
    let receiver = format!("::std::boxed::Box<dyn {krate}::Receiver<{input}>>");
    match method.shape {
        Shape::Unary => format!("fn {name}(&mut self, request: {input}, call: {krate}::Unary<{output}>);\n"),
        Shape::ServerStreaming => format!("fn {name}(&mut self, request: {input}, out: {krate}::Replies<{output}>);\n"),
        Shape::ClientStreaming => format!("fn {name}(&mut self, call: {krate}::Unary<{output}>) -> {receiver};\n"),
        Shape::Bidi => format!("fn {name}(&mut self, out: {krate}::Replies<{output}>) -> {receiver};\n"),
    }
}

/// One arm of `call`.
fn arm(index: usize, method: &Method, service: &Service, options: &Options<'_>) -> String {
    let parameters = match method.shape {
        Shape::Unary => "request, call",
        Shape::ServerStreaming => "request, out",
        Shape::ClientStreaming => "call",
        Shape::Bidi => "out",
    };
    format!(
        "{index} => call.{shape}::<{codecs}>(|{parameters}| <T as {service}Service>::{name}(&mut self.0, {parameters})),\n",
        shape = method.shape.snake(),
        codecs = codecs(method, options),
        service = service.name,
        name = method.name,
    )
}

fn codecs(method: &Method, options: &Options<'_>) -> String {
    format!("{0}::codec::Prost<{1}>, {0}::codec::Prost<{2}>", options.krate, method.input, method.output)
}

fn client(service: &Service, options: &Options<'_>) -> String {
    let mut docs = vec![format!("Calls `{}`, over a `Client` (from any thread) or a `LocalClient` (on this one).", service.full_name)];
    if !service.docs.is_empty() {
        docs.push(String::new());
        docs.extend(service.docs.iter().cloned());
    }
    let methods: Vec<String> = service.methods.iter().map(|method| client_method(service, method, options)).collect();
    let names = [("crate", options.krate), ("Service", service.name.as_str())];
    let connect = if options.connects { fill(CONNECT, &names) } else { String::new() };
    fill(CLIENT, &[names.as_slice(), &[("docs", &doc(&docs)), ("connect", &connect), ("methods", &methods.join("\n"))]].concat())
}

fn client_method(service: &Service, method: &Method, options: &Options<'_>) -> String {
    let Method { input, path, .. } = method;
    let (name, docs) = method.in_client(&["connect", "new", "clone"]);
    let krate = options.krate;
    let (parameter, argument) = match method.shape {
        Shape::Unary | Shape::ServerStreaming => (format!(", request: {input}"), ", request"),
        Shape::ClientStreaming | Shape::Bidi => (String::new(), ""),
    };
    format!(
        "{docs}{deprecated}pub fn {name}(&self{parameter}) -> {krate}::{variant}Request<'_, C, {codecs}> {{\n    \
         {krate}::Request::{shape}(&self.0, {path:?}{argument})\n}}\n",
        docs = doc(&docs),
        deprecated = if method.deprecated || service.deprecated { "#[deprecated]\n" } else { "" },
        variant = method.shape.name(),
        shape = method.shape.snake(),
        codecs = codecs(method, options),
    )
}

const SERVER: &str = r#"
$docs
///
/// Callbacks on the loop's thread, which answer now, or keep the handle and answer later from any thread.
pub trait ${Service}Service: 'static {
    $methods
}

/// Serves a [`${Service}Service`]: give it to `Server::add`.
#[derive(Debug)]
pub struct ${Service}Server<T>(T);

impl<T: ${Service}Service> ${Service}Server<T> {
    /// The service's full name.
    pub const NAME: &'static str = "$full_name";

    /// Serves `service`.
    #[must_use]
    pub fn new(service: T) -> Self {
        Self(service)
    }
}

impl<T: ${Service}Service> $crate::Service for ${Service}Server<T> {
    fn methods(&self) -> &'static [$crate::Method] {
        const METHODS: &[$crate::Method] = &[
            $table
        ];
        METHODS
    }

    fn call(&mut self, method: usize, call: $crate::Incoming) {
        match method {
            $arms
            _ => call.unimplemented(),
        }
    }
}
"#;

const CLIENT: &str = r#"
$docs
#[derive(Debug, Clone)]
pub struct ${Service}Client<C = $crate::Client>(C);

$connect
impl<C: $crate::Caller> ${Service}Client<C> {
    /// Makes its calls on `caller`.
    #[must_use]
    pub fn new(caller: C) -> Self {
        Self(caller)
    }

    $methods
}
"#;

const CONNECT: &str = r#"
impl ${Service}Client {
    /// Connects to `host:port` or `unix:/path`, with a background thread that all clones share. For a client that the calling thread
    /// drives: `${Service}Client::new(connect_local(address)?)`.
    ///
    /// # Errors
    /// The address cannot be understood, or nobody answers there within 10 s.
    pub fn connect(address: &str) -> ::core::result::Result<Self, $crate::ConnectError> {
        ::core::result::Result::Ok(Self::new($crate::connect(address)?))
    }
}

"#;
