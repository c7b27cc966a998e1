//! A whole endpoint, `tcp::Connection`: every transition of RFC 9293 (3.3.2), what a stranger may send, and any
//! network.

mod any_network;
mod bench;
mod closing;
mod opening;
mod strangers;
mod windows;
