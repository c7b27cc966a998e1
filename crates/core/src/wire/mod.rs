//! Bytes on the wire and in capture files.
//!
//! [`ip`] reads IPv4, IPv6 and TCP headers into a [`Packet`](crate::packet::Packet) and writes them
//! again, and those of UDP; [`rewrite()`] puts changed fields back into the bytes that a packet was read from; [`octets_of`] makes
//! all octets of a simulated packet; [`rlc`], [`rlc_lte`] and [`rlc_nr`] are the codecs of the link layers' PDUs, [`pdcp`],
//! [`mac_nr`] and [`mac_lte`] those of the layers above and below them, [`gtp`] that of the tunnels in
//! the core network; [`pcapng`] writes capture files. Readers take whatever bytes the network hands them: they
//! never panic; a packet that they cannot read becomes an opaque one with the reason.

mod datagram;
mod error;
pub mod gtp;
pub mod ip;
pub mod mac_lte;
pub mod mac_nr;
pub mod pcapng;
pub mod pdcp;
pub mod rewrite;
pub mod rlc;
pub mod rlc_lte;
pub mod rlc_nr;
mod whole;

pub use error::EncodeError;
pub use ip::{Endpoints, checked_datagram, checked_payload, encode_datagram, encode_header, encode_segment};
pub use ip::{endpoints, parse, tcp_header_bytes};
pub use pcapng::PcapngWriter;
pub use rewrite::rewrite;
pub use whole::{endpoints_of, ipv4_of, ipv6_of, octets_of};
