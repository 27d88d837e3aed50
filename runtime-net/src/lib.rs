//! What every std adapter of Pintle needs of sockets: addresses, listeners, accept errors.
