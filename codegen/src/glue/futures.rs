//! The async style of pintle-tokio and pintle-smol: traits with `async fn`s, a server that serves them, a client.

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
    let trait_name = &service.name;
    let mut docs = service.docs.clone();
    if docs.is_empty() {
        docs.push(format!("The service `{}`.", service.full_name));
    }
    fill(
        SERVER,
        &[
            ("crate", options.krate),
            ("Service", trait_name),
            ("full_name", &service.full_name),
            ("docs", &doc(&docs)),
            ("take", if service.methods.is_empty() { "" } else { "let service = ::std::sync::Arc::clone(&self.service);" }),
            ("methods_send", &each(&|_, m| doc(&m.docs) + &signature(m, options, " + ::core::marker::Send;"))),
            ("methods_local", &each(&|_, m| doc(&m.docs) + &signature(m, options, ";"))),
            ("forwards", &each(&|_, m| signature(m, options, " {") + &format!("    <T as {trait_name}>::{}\n}}\n", call(m)))),
            ("table", &each(&|_, m| entry(m, options))),
            ("arms_send", &each(&|index, m| arm(index, m, trait_name, options))),
            ("arms_local", &each(&|index, m| arm(index, m, &format!("Local{trait_name}"), options))),
        ],
    )
}

/// `fn name(&self, cx, ..) -> impl Future<Output = ..>` and what follows it.
fn signature(method: &Method, options: &Options<'_>, end: &str) -> String {
    let Method { name, input, output, .. } = method;
    let krate = options.krate;
    let (arguments, output) = match method.shape {
        Shape::Unary => (format!("request: {input}"), output.as_str()),
        Shape::ServerStreaming => (format!("request: {input},\n    out: &mut {krate}::Sender<{output}>"), "()"),
        Shape::ClientStreaming => (format!("input: &mut {krate}::Streaming<{input}>"), output.as_str()),
        Shape::Bidi => (format!("input: &mut {krate}::Streaming<{input}>,\n    out: &mut {krate}::Sender<{output}>"), "()"),
    };
    format!(
        "fn {name}(\n    &self,\n    cx: &{krate}::Context,\n    {arguments},\n) -> \
         impl ::core::future::Future<Output = ::core::result::Result<{output}, {krate}::Status>>{end}\n"
    )
}

/// `name(self, cx, ..)`.
fn call(method: &Method) -> String {
    let arguments = match method.shape {
        Shape::Unary => "request",
        Shape::ServerStreaming => "request, out",
        Shape::ClientStreaming => "input",
        Shape::Bidi => "input, out",
    };
    format!("{}(self, cx, {arguments})", method.name)
}

fn entry(method: &Method, options: &Options<'_>) -> String {
    format!("{0}::glue::Method::new({1:?}, {0}::glue::Shape::{2}),\n", options.krate, method.path, method.shape.name())
}

/// One arm of `dispatch`.
fn arm(index: usize, method: &Method, trait_name: &str, options: &Options<'_>) -> String {
    let Method { name, .. } = method;
    let (parameters, arguments) = match method.shape {
        Shape::Unary => ("request", "request"),
        Shape::ServerStreaming => ("request, mut out", "request, &mut out"),
        Shape::ClientStreaming => ("mut input", "&mut input"),
        Shape::Bidi => ("mut input, mut out", "&mut input, &mut out"),
    };
    format!(
        "{index} => call.{shape}::<{codecs}, _, _>(\n    \
         move |cx, {parameters}| async move {{ <T as {trait_name}>::{name}(&service, &cx, {arguments}).await }},\n),\n",
        shape = method.shape.snake(),
        codecs = codecs(method, options),
    )
}

fn codecs(method: &Method, options: &Options<'_>) -> String {
    format!("{0}::glue::Prost<{1}>, {0}::glue::Prost<{2}>", options.krate, method.input, method.output)
}

fn client(service: &Service, options: &Options<'_>) -> String {
    let mut docs = vec![format!("A client of `{}`.", service.full_name)];
    if !service.docs.is_empty() {
        docs.push(String::new());
        docs.extend(service.docs.iter().cloned());
    }
    let methods: Vec<String> = service.methods.iter().map(|method| client_method(service, method, options)).collect();
    fill(CLIENT, &[("crate", options.krate), ("Service", &service.name), ("docs", &doc(&docs)), ("methods", &methods.join("\n"))])
}

fn client_method(service: &Service, method: &Method, options: &Options<'_>) -> String {
    let Method { input, output, path, .. } = method;
    let (name, docs) = method.in_client(&["connect", "new", "clone"]);
    let krate = options.krate;
    let (parameter, answer, argument) = match method.shape {
        Shape::Unary => (format!(", request: {input}"), format!("UnaryCall<{output}>"), ", &request"),
        Shape::ServerStreaming => (format!(", request: {input}"), format!("ServerStreamingCall<{output}>"), ", &request"),
        Shape::ClientStreaming => (String::new(), format!("ClientStreamingCall<{input}, {output}>"), ""),
        Shape::Bidi => (String::new(), format!("BidiCall<{input}, {output}>"), ""),
    };
    format!(
        "{docs}{deprecated}pub fn {name}(&self{parameter}) -> {krate}::{answer} {{\n    \
         self.channel.{shape}::<{codecs}>({path:?}{argument})\n}}\n",
        docs = doc(&docs),
        deprecated = if method.deprecated || service.deprecated { "#[deprecated]\n" } else { "" },
        shape = method.shape.snake(),
        codecs = codecs(method, options),
    )
}

const SERVER: &str = r#"
$docs
///
/// Implement it with plain `async fn`s. Futures are `Send`: handlers run as tasks of their own.
/// For handlers that are not `Send`, implement [`Local$Service`] and serve it inline.
pub trait $Service: ::core::marker::Send + ::core::marker::Sync + 'static {
    $methods_send
}

/// [`$Service`] without `Send`: for the inline executor, where handlers run in the task of their connection.
/// Every `$Service` is one.
pub trait Local$Service: 'static {
    $methods_local
}

impl<T: $Service> Local$Service for T {
    $forwards
}

/// Serves a [`$Service`] (or, inline, a [`Local$Service`]): give it to `Server::add`.
#[derive(Debug)]
pub struct ${Service}Server<T> {
    service: ::std::sync::Arc<T>,
}

impl<T> ${Service}Server<T> {
    /// The service's full name.
    pub const NAME: &'static str = "$full_name";

    /// Serves `service`.
    #[must_use]
    pub fn new(service: T) -> Self {
        Self::from_arc(::std::sync::Arc::new(service))
    }

    /// Serves a service that others hold too.
    #[must_use]
    pub fn from_arc(service: ::std::sync::Arc<T>) -> Self {
        Self { service }
    }
}

impl<T> ::core::clone::Clone for ${Service}Server<T> {
    fn clone(&self) -> Self {
        Self { service: ::std::sync::Arc::clone(&self.service) }
    }
}

impl<T: 'static> $crate::glue::Methods for ${Service}Server<T> {
    fn methods(&self) -> &'static [$crate::glue::Method] {
        const METHODS: &[$crate::glue::Method] = &[
            $table
        ];
        METHODS
    }
}

impl<R: $crate::glue::Runtime, T: $Service> $crate::glue::Service<R> for ${Service}Server<T> {
    fn dispatch(&self, method: usize, call: $crate::glue::SpawnCall<'_, R>) {
        $take
        match method {
            $arms_send
            _ => call.unimplemented(),
        }
    }
}

impl<T: Local$Service> $crate::glue::LocalService for ${Service}Server<T> {
    fn dispatch(&self, method: usize, call: $crate::glue::InlineCall<'_>) {
        $take
        match method {
            $arms_local
            _ => call.unimplemented(),
        }
    }
}
"#;

const CLIENT: &str = r#"
$docs
///
/// Cheap to clone; clones share one connection.
#[derive(Debug, Clone)]
pub struct ${Service}Client {
    channel: $crate::Channel,
}

impl ${Service}Client {
    /// Connects to `host:port` or `unix:/path`.
    ///
    /// # Errors
    /// The address cannot be understood, or nobody answers there.
    pub async fn connect(address: &str) -> ::core::result::Result<Self, $crate::ConnectError> {
        ::core::result::Result::Ok(Self::new($crate::connect(address).await?))
    }

    /// Makes its calls on `channel`.
    #[must_use]
    pub fn new(channel: $crate::Channel) -> Self {
        Self { channel }
    }

    $methods
}
"#;
