//! [`Config`] on a tape. A field more or less does not compile here: then it is written and read below, and
//! [`VERSION`](super::VERSION) goes up.

use super::{
    TapeError,
    code::{Body, Fields},
};
use crate::{Config, Limits};

/// Names every field of `Config` by its type, once for both directions.
macro_rules! fields {
    (numbers: $($number:ident)*; limits: $($limit:ident)*; wide: $($wide:ident)*; flags: $($flag:ident)*; texts: $($text:ident)*; times: $($time:ident)*;) => {
        pub(super) fn put(config: &Config, body: &mut Body) {
            let Config { $($number,)* limits, $($wide,)* $($flag,)* $($text,)* $($time,)* } = config;
            let Limits { $($limit,)* } = limits;
            $(body.number(u64::from(*$number));)*
            $(body.number(u64::from(*$limit));)*
            $(body.number(*$wide);)*
            $(body.number(u64::from(*$flag));)*
            $(body.text($text.as_bytes());)*
            $(body.duration(*$time);)*
        }

        pub(super) fn get(fields: &mut Fields<'_>) -> Result<Config, TapeError> {
            Ok(Config {
                $($number: fields.number_u32()?,)*
                limits: Limits { $($limit: fields.number_u32()?,)* },
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
    limits: reset_burst resets_per_second useless_burst useless_per_second settings_burst settings_per_second short_data empty_data
        window_updates window_updates_per_frame unread_answers max_unread_answers continuations header_list_excess;
    wide: recv_budget;
    flags: accept_http accept_unknown_methods secure;
    texts: authority user_agent;
    times: handshake_timeout settings_timeout header_block_timeout write_timeout stall_timeout held_stall_timeout drain_ping_timeout permit_keepalive_time;
}
