//! Flow control (RFC 9113 §5.2, §6.9): what we may send, what the peer may send, and who holds received octets.

pub(crate) mod recv;
pub(crate) mod window;

pub(crate) use recv::{Credit, RecvBudget};
pub(crate) use window::{MAX as MAX_WINDOW, Window};
