//! The pages whose Rust snippets are tests.

macro_rules! pages {
    ($($module:ident $page:literal)*) => {$(
        #[doc = include_str!(concat!("../../../docs/", $page))]
        mod $module {}
    )*};
}

pages! {
    introduction "introduction.md"
    services "services.md"
    clients "clients.md"
    deadlines "deadlines.md"
    unix_sockets "unix-sockets.md"
    virtual_clock "virtual-clock.md"
    in_process "in-process.md"
    flight_recorder "flight-recorder.md"
    errors_client "errors-client.md"
}
