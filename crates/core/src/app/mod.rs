//! Applications: what a flow has to carry, over TCP or in datagrams of its own.

pub mod adaptive_video;
pub mod arrivals;
pub mod bulk;
pub mod call;
pub mod cbr;
pub mod datagram;
pub mod datagrams;
pub mod distribution;
pub mod file;
pub mod media;
pub mod messages;
pub mod on_off;
pub mod ping;
pub mod transfers;
pub mod video;
pub mod web;

use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::app as scratch;
use crate::rng::Stream;
use crate::time::Instant;
use crate::units::{Bitrate, Bytes};

/// What an application puts on the path.
pub enum Traffic {
    /// Bytes over TCP in the direction of the flow.
    Stream(Box<dyn App>),
    /// Packets of its own, without TCP.
    Datagrams(datagrams::Ends),
    /// Requests and responses over one or more TCP connections.
    Page(web::Page),
    /// Files, each over a TCP connection of its own in the direction of the flow.
    Arrivals(arrivals::Arrivals),
}

/// An application at the sending host of a TCP connection, without I/O. The host calls `poll_supply` when the flow
/// starts, at each `deadline`, and after each call of `handle_acked`; then it reads the other methods again.
pub trait App: Send + Sync {
    /// Bytes that the application supplies now, 0 for none; `u64::MAX` without end.
    fn poll_supply(&mut self, now: Instant) -> u64;

    /// When `poll_supply` has more, if nothing is acknowledged before.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// `handle_acked` is wanted once so many bytes in all have been acknowledged.
    fn awaits_acked(&self) -> Option<u64> {
        None
    }

    /// The first `acked` bytes have been acknowledged: at least the awaited ones.
    fn handle_acked(&mut self, now: Instant, acked: u64) {
        let _ = (now, acked);
    }

    /// The segment of video that the last call of `handle_acked` completed.
    fn take_segment(&mut self) -> Option<adaptive_video::Segment> {
        None
    }

    /// Whether it supplies nothing more: the transfer is then complete once all that it supplied is acknowledged.
    fn is_done(&self) -> bool {
        true
    }

    /// Reports on the data supplied so far, at `now`.
    fn report(&self, now: Instant) -> StreamReport {
        let _ = now;
        StreamReport::default()
    }
}

/// Report of an application over TCP on its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamReport {
    /// Report of an application that makes several transfers.
    pub transfers: Option<transfers::Report>,
    /// Report of a video player.
    pub video: Option<adaptive_video::Report>,
}

/// Interface of an application's parameters.
pub trait Component {
    /// Makes the application.
    fn build(&self, stream: Stream) -> Traffic;

    /// Refuses what cannot be sent.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Refuses a direction in which its data does not go.
    fn check_direction(&self, direction: Dir) -> Result<(), ScenarioError> {
        let _ = direction;
        Ok(())
    }

    /// What carries its data.
    fn carrier(&self) -> Carrier;

    /// Bytes of a file; what a page's connections carry is known to its server.
    fn size(&self) -> Option<u64> {
        None
    }

    /// IP bytes of its datagrams, in the direction of the flow and back; zero where it sends none.
    fn datagram_bytes(&self) -> [Bytes; 2] {
        Default::default()
    }

    /// At how many hosts a transfer of this connection that ends by itself is found complete: a file
    /// at the sender and at the receiver, which a middlebox may part; a page, which none can, at its server.
    fn ends(&self, connection: u16) -> u32 {
        let _ = connection;
        0
    }

    /// Whether one of its connections follows another under the same number.
    fn reuses_connections(&self) -> bool {
        false
    }

    /// How many connections it takes, each a flow of its own.
    fn connections(&self) -> u16 {
        1
    }
}

/// What carries an application's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// TCP, with all data in the direction of the flow.
    Tcp,
    /// TCP, with all data in the direction of the flow and a connection for each transfer.
    TcpEach,
    /// TCP, with data in both directions.
    TcpBothWays,
    /// Datagrams.
    Datagrams,
}

registry! {
    /// An application and its parameters.
    pub enum Config: Component, default Bulk, validate() {
        AdaptiveVideo = adaptive_video,
        Arrivals = arrivals,
        Bulk = bulk,
        Call = call,
        Cbr = cbr,
        File = file,
        Messages = messages,
        OnOff = on_off,
        Ping = ping,
        Video = video,
        Web = web,
        #[cfg(test)]
        Scratch = scratch,
    }
}

impl Config {
    /// Whether the transfer ends by itself.
    pub fn is_finite(&self) -> bool {
        self.ends(0) > 0
    }
}

/// Longest header of a datagram, UDP's or ICMP's over IPv6, and longest packet.
const PACKET_BYTES: std::ops::RangeInclusive<u64> = 48..=65_535;

/// Refuses a packet that cannot be.
fn validate_packet(key: &str, size: Bytes) -> Result<(), ScenarioError> {
    if PACKET_BYTES.contains(&size.as_u64()) {
        return Ok(());
    }
    let hint = "write a size from 48 B to 65535 B, headers included";
    Err(ScenarioError::new(key, format!("packets of {size} cannot be sent"), hint))
}

/// Refuses a rate too low for any packet to be sent.
fn validate_rate(key: &str, rate: Bitrate) -> Result<(), ScenarioError> {
    if rate.as_bps() == 0 {
        let hint = "write a positive rate such as \"64 kbit/s\"";
        return Err(ScenarioError::new(key, "nothing would be sent", hint));
    }
    Ok(())
}

/// Refuses a flow of no packets.
fn validate_count(key: &str, count: Option<u32>) -> Result<(), ScenarioError> {
    if count == Some(0) {
        let hint = "write at least 1, or remove the key for no end";
        return Err(ScenarioError::new(key, "nothing would be sent", hint));
    }
    Ok(())
}
