//! Counters of the endpoint: connections, strays, and its senders.

use airpath_core::tcp::Connection;
use airpath_core::tcp::connection::Ended;
use serde::Serialize;

/// Counters of the endpoint's connections and of the packets without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Connections that the other end has opened.
    pub accepted: u64,
    /// Connections that this end has opened, or tried to.
    pub opened: u64,
    /// Connections that both ends have closed.
    pub closed: u64,
    /// Connection attempts of this end that were refused, and handshakes that the other end aborted.
    pub refused: u64,
    /// Connections that the other end has reset.
    pub reset: u64,
    /// Connections whose other end did not answer any more.
    pub timed_out: u64,
    /// Connections that this end has given up.
    pub aborted: u64,
    /// Connections in TIME-WAIT that had to make room.
    pub made_room: u64,
    /// SYNs dropped because too many connections were half open, or open.
    pub syns_dropped: u64,
    /// Resets sent for what met no connection, SYNs for closed ports among them.
    pub strays_reset: u64,
    /// Packets with a wrong checksum.
    pub bad_checksums: u64,
    /// Packets that were not TCP, or had no endpoint here.
    pub not_served: u64,
}

impl Counts {
    /// A connection has ended.
    pub(super) fn add(&mut self, ended: Ended) {
        let count = match ended {
            Ended::Closed => &mut self.closed,
            Ended::Refused => &mut self.refused,
            Ended::Reset => &mut self.reset,
            Ended::TimedOut => &mut self.timed_out,
            Ended::Aborted => &mut self.aborted,
        };
        *count += 1;
    }
}

/// Sender counters, summed over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Segments with data sent.
    pub segments_sent: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Timeouts found to be spurious.
    pub spurious_timeouts: u64,
    /// Fast retransmits found to be spurious.
    pub spurious_fast_retransmits: u64,
}

impl Totals {
    /// Adds what a connection's sender has counted.
    pub(super) fn add(&mut self, connection: &Connection) {
        let Some(duplex) = connection.duplex() else { return };
        let counters = duplex.sender().counters();
        self.segments_sent += counters.segments_sent;
        self.retransmissions += counters.retransmissions();
        self.timeouts += counters.timeouts;
        self.spurious_timeouts += counters.spurious_timeouts;
        self.spurious_fast_retransmits += counters.spurious_fast_retransmits;
    }
}
