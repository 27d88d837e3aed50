//! [`Config`] on a tape. A field more or less does not compile here: then it is written and read below, and
//! [`VERSION`](super::VERSION) goes up.

use super::{
    TapeError,
    code::{Body, Fields},
};
use crate::Config;

/// Names every field of `Config` by its type, once for both directions.
macro_rules! fields {
    (numbers: $($number:ident)*; wide: $($wide:ident)*; flags: $($flag:ident)*; texts: $($text:ident)*; times: $($time:ident)*;) => {
        pub(super) fn put(config: &Config, body: &mut Body) {
            let Config { $($number,)* $($wide,)* $($flag,)* $($text,)* $($time,)* } = config;
            $(body.number(u64::from(*$number));)*
            $(body.number(*$wide);)*
            $(body.number(u64::from(*$flag));)*
            $(body.text($text.as_bytes());)*
            $(body.duration(*$time);)*
        }

        pub(super) fn get(fields: &mut Fields<'_>) -> Result<Config, TapeError> {
            Ok(Config {
                $($number: fields.number_u32()?,)*
                $($wide: fields.number()?,)*
                $($flag: fields.flag()?,)*
                $($text: fields.string()?,)*
                $($time: fields.duration()?,)*
            })
        }
    };
}

fields! {
    numbers: max_concurrent_streams initial_window connection_window max_recv_message max_send_message max_header_list
        max_header_fields header_table encoder_table max_frame send_buffer connection_send_buffer max_queued_calls max_ping_strikes;
    wide: recv_budget;
    flags: accept_http accept_unknown_methods secure;
    texts: authority user_agent;
    times: handshake_timeout settings_timeout header_block_timeout write_timeout drain_ping_timeout permit_keepalive_time;
}
