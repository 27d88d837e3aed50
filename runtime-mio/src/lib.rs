//! Pintle on a hand-rolled epoll loop (mio): no async anywhere.
