//! QUIC as a transport of simulated flows: RFC 9000, loss recovery and congestion control by RFC 9002, handshake by RFC 9001.
//!
//! A [`Connection`] is one endpoint, without I/O: `handle_datagram` and `handle_deadline`, then `poll_transmit` until
//! nothing is left, and `deadline` again. The application implements [`Streams`]: it decides which stream's data goes into
//! a packet, and is notified of data that arrives, is acknowledged, or is lost. Streams are independent: a lost packet
//! delays only the streams whose data it had. A datagram carries the octets of its frames ([`frame`]); the data itself
//! only counts.
//!
//! Of RFC 9002: three packet number spaces whose numbers are never reused (3), ACK ranges, losses by packet and time threshold
//! (6.1), probe timeouts with backoff (6.2), also against the deadlock of a server that may not send (6.2.2.1), round-trip
//! times with the ACK delay (5), persistent congestion (7.6), pacing (7.7). Of RFC 9000: coalesced packets (12.2), Initial
//! datagrams of 1200 bytes (14.1), three times the received bytes before the address is validated (8.1), delayed ACKs (13.2),
//! flow control (4, [`flow`]), ECN (13.4, [`ecn`]). Of RFC 9001: the handshake in one round trip, 0-RTT data, keys that are discarded (4.9).
//!
//! Congestion control is TCP's ([`crate::tcp::cc`]), with controls that model the path.
//!
//! Left out: migration, Retry, key updates, path MTU discovery, closing. ASSUMED: connection IDs of 8 bytes, packet
//! numbers of 2.

mod congestion;
mod connection;
pub mod ecn;
pub mod flow;
pub mod frame;
mod loss;
mod measured;
mod model;
mod rtt;
mod space;

pub use connection::{Connection, Datagram, Report, Role};
pub use flow::{Config, Credit};
pub use frame::StreamFrame;

use crate::time::Instant;

/// The smallest maximum datagram size, and the size of datagrams with Initial packets: RFC 9000 (14).
pub const LEAST_DATAGRAM: u64 = 1200;

/// Data of streams at one end of a connection.
pub trait Streams {
    /// Whether data waits to be sent, be it within the limits of flow control or not.
    fn is_waiting(&self) -> bool;

    /// Whether [`poll`](Self::poll) has data.
    fn has_data(&self, credit: &Credit) -> bool;

    /// The next data to be sent, at most `room` bytes of one stream. New data stays within `credit` and spends it.
    fn poll(&mut self, room: u64, credit: &mut Credit) -> Option<StreamFrame>;

    /// Data is lost, or must be retransmitted as a probe: it is retransmitted unless it is acknowledged.
    fn handle_lost(&mut self, data: &StreamFrame);

    /// Data was acknowledged.
    fn handle_acked(&mut self, now: Instant, data: &StreamFrame);

    /// Data arrived, perhaps not for the first time. Returns the bytes of the stream that are in order since then, and read.
    fn handle_received(&mut self, now: Instant, data: &StreamFrame) -> u64;
}

/// TLS of a connection: the sizes of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tls {
    /// ClientHello, bytes.
    pub client_hello: u64,
    /// ServerHello to Finished, bytes.
    pub server_flight: u64,
    /// Whether the client sends data in its first flight: 0-RTT.
    pub early_data: bool,
}
