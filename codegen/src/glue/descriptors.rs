//! Names, paths and shapes: what a program on `pintle-core` alone needs of a service.

use super::fill;
use crate::service::{Method, Service};

/// `shape` is the path of the `Shape` type.
pub(crate) fn service(service: &Service, shape: &str) -> String {
    let list = |line: &dyn Fn(&Method) -> String| service.methods.iter().map(line).collect::<Vec<_>>().join("\n");
    let count = service.methods.len().to_string();
    fill(
        TEMPLATE,
        &[
            ("Service", &service.name),
            ("full_name", &service.full_name),
            ("shape", shape),
            ("count", &count),
            ("variants", &list(&|m| format!("{}{},", super::doc(&m.docs), m.variant))),
            ("all", &list(&|m| format!("Self::{},", m.variant))),
            ("names", &list(&|m| format!("Self::{} => {:?},", m.variant, m.proto_name))),
            ("paths", &list(&|m| format!("Self::{} => {:?},", m.variant, m.path))),
            ("shapes", &list(&|m| format!("Self::{} => {shape}::{},", m.variant, m.shape.name()))),
        ],
    )
}

const TEMPLATE: &str = r#"
/// The methods of `$full_name`, in the order of the .proto.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ${Service}Method {
    $variants
}

impl ${Service}Method {
    /// The service's full name.
    pub const SERVICE: &'static str = "$full_name";

    /// Every method. A method's place here is its index where routes are counted.
    pub const ALL: [Self; $count] = [
        $all
    ];

    /// The name in the .proto.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            $names
        }
    }

    /// The path of its requests: `/package.Service/Method`.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            $paths
        }
    }

    /// How many messages go each way.
    #[must_use]
    pub const fn shape(self) -> $shape {
        match self {
            $shapes
        }
    }
}
"#;
