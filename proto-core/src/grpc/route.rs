//! [`Routes`]: which methods a server has.

use crate::Shape;
use alloc::{boxed::Box, format, string::String, sync::Arc, vec::Vec};
use core::{cmp::Ordering, fmt};

/// One of a server's routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteId(pub(crate) u32);

impl RouteId {
    /// Position in the list that [`Routes::new`] was given.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A server's methods; cheap to clone.
///
/// A request is routed by its whole path, octet by octet: nothing is decoded, trimmed or folded, so whoever decides by
/// [`Routes::path`] decides by what was routed.
///
/// ```
/// use pintle_core::{Routes, Shape};
/// let routes = Routes::new([("/helloworld.Greeter/SayHello", Shape::Unary)])?;
/// let id = routes.find(b"/helloworld.Greeter/SayHello").unwrap();
/// assert_eq!(routes.get(id), ("/helloworld.Greeter/SayHello", Shape::Unary));
/// assert_eq!(routes.find(b"helloworld.Greeter/SayHello"), None);
/// # Ok::<(), pintle_core::grpc::InvalidRoute>(())
/// ```
#[derive(Debug, Clone)]
pub struct Routes {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// As given.
    list: Box<[(Box<str>, Shape)]>,
    /// Indices into `list`, in the order of [`compare`].
    sorted: Box<[u32]>,
}

/// By length first: most of a search is over without touching the octets.
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Routes {
    /// The most routes that one server may have.
    pub const MAX: usize = 1 << 20;

    /// No method at all: a client's.
    pub(crate) fn none() -> Self {
        Self { inner: Arc::new(Inner { list: Box::new([]), sorted: Box::new([]) }) }
    }

    /// From paths (`/package.Service/Method`) and shapes, in the order that [`RouteId::index`] gives back.
    ///
    /// # Errors
    /// A path that is there twice, or that is not `/service/method` in letters, digits and the punctuation of URIs; more
    /// than [`Routes::MAX`] paths.
    pub fn new<'a>(methods: impl IntoIterator<Item = (&'a str, Shape)>) -> Result<Self, InvalidRoute> {
        let list: Box<[(Box<str>, Shape)]> = methods.into_iter().map(|(path, shape)| (path.into(), shape)).collect();
        if list.len() > Self::MAX {
            return Err(InvalidRoute(format!("{} methods are more than the {} that a server may have", list.len(), Self::MAX)));
        }
        for (path, _) in &list {
            check(path).map_err(|why| InvalidRoute(format!("{path:?} is not a method's path: {why}")))?;
        }
        let mut sorted: Vec<u32> = (0..list.len() as u32).collect();
        let octets = |index: &u32| list[*index as usize].0.as_bytes();
        sorted.sort_unstable_by(|a, b| compare(octets(a), octets(b)));
        if let Some(pair) = sorted.windows(2).find(|pair| octets(&pair[0]) == octets(&pair[1])) {
            return Err(InvalidRoute(format!("{:?} is there twice", list[pair[0] as usize].0)));
        }
        Ok(Self { inner: Arc::new(Inner { sorted: sorted.into(), list }) })
    }

    /// The route with exactly this path.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<RouteId> {
        let Inner { list, sorted } = &*self.inner;
        let at = sorted.binary_search_by(|&index| compare(list[index as usize].0.as_bytes(), path)).ok()?;
        Some(RouteId(sorted[at]))
    }

    /// The path and shape of a route.
    ///
    /// # Panics
    /// The id is from another, longer list.
    #[must_use]
    pub fn get(&self, id: RouteId) -> (&str, Shape) {
        let (path, shape) = &self.inner.list[id.index()];
        (path, *shape)
    }

    /// The path of a route. Panics as [`get`](Self::get) does.
    #[must_use]
    pub fn path(&self, id: RouteId) -> &str {
        self.get(id).0
    }

    /// The shape of a route. Panics as [`get`](Self::get) does.
    #[must_use]
    pub fn shape(&self, id: RouteId) -> Shape {
        self.get(id).1
    }

    /// Every path and shape, in the order of [`RouteId::index`].
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, Shape)> {
        self.inner.list.iter().map(|(path, shape)| (&**path, *shape))
    }

    /// Methods.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.list.len()
    }

    /// No method.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.list.is_empty()
    }
}

/// Exactly `/service/method` (PH2 "Path"); neither part may hold what a URI would have to escape, so that there is one
/// spelling of each route.
fn check(path: &str) -> Result<(), &'static str> {
    let parts = path.strip_prefix('/').ok_or("it does not begin with '/'")?;
    let (service, method) = parts.split_once('/').ok_or("there is no '/' between service and method")?;
    if service.is_empty() {
        return Err("the service is empty");
    }
    if method.is_empty() {
        return Err("the method is empty");
    }
    if method.contains('/') {
        return Err("there are more than two parts");
    }
    // RFC 3986 §3.3: pchar without percent-encoding.
    let pchar = |c: u8| c.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&c);
    if service.bytes().chain(method.bytes()).all(pchar) { Ok(()) } else { Err("it has characters that a path cannot have unescaped") }
}

/// A route that cannot be served: which, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRoute(pub String);

impl fmt::Display for InvalidRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl core::error::Error for InvalidRoute {}
