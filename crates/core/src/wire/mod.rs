//! Bytes on the wire and in capture files.
//!
//! [`ip`] reads IPv4, IPv6 and TCP headers into a [`Packet`](crate::packet::Packet) and writes them
//! again; [`rewrite()`] puts changed fields back into the bytes that a packet was read from; [`pcapng`]
//! writes capture files. Readers take whatever bytes the network hands them: they never panic, and what
//! they cannot read becomes an opaque packet with the reason.

pub mod ip;
pub mod pcapng;
pub mod rewrite;

pub use ip::{Endpoints, encode_header, endpoints, parse, tcp_header_bytes};
pub use pcapng::PcapngWriter;
pub use rewrite::rewrite;
