//! The hook of the [flight recorder](crate::tape): nothing without the feature `record`, one branch with it.
//!
//! - `tap!(conn, record)` writes a record where the connection is recorded; the names of records and operations are in scope.
//! - `tap!(conn => call)` calls a method of the connection there.
//! - `tap!(conn => return call)` returns what the call returns: for operations whose answer is on the tape, so that the
//!   answer of the others stays where it is.

#[cfg(feature = "record")]
macro_rules! tap {
    ($conn:expr => return $call:expr) => {
        if $conn.tap.is_some() {
            crate::tap::cold();
            return $call;
        }
    };
    ($conn:expr => $($call:tt)*) => {
        if $conn.tap.is_some() {
            crate::tap::cold();
            $conn.$($call)*;
        }
    };
    ($conn:expr, $record:expr) => {
        if $conn.tap.is_some() {
            crate::tap::cold();
            #[allow(unused_imports)]
            use crate::tape::{CallOp, Record, StreamOp};
            let record = $record;
            $conn.tape(&record);
        }
    };
}

#[cfg(not(feature = "record"))]
macro_rules! tap {
    ($($anything:tt)*) => {};
}

/// Tells the compiler that a branch is not the ordinary one.
#[cfg(feature = "record")]
#[cold]
#[inline]
pub(crate) const fn cold() {}
