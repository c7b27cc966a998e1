//! Segments without a connection: a reset, and the reply to a segment that matches no connection.

use crate::packet::{Flags, IpVersion, Packet};
use crate::tcp::TCP_HEADER_BYTES;

/// A segment without data or options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number, if the ACK bit is set.
    pub ack: Option<u32>,
}

impl Reset {
    /// The reset that answers a segment without a connection: RFC 9293 (3.10.7.1). `None` if the segment is a reset.
    pub fn answering(packet: &Packet) -> Option<Self> {
        let [rst, ack, syn, fin] =
            [Flags::RST, Flags::ACK, Flags::SYN, Flags::FIN].map(|flag| packet.flags.has(flag));
        if rst {
            return None;
        }
        if ack {
            return Some(Self { seq: packet.ack, ack: None });
        }
        let len = packet.payload + u32::from(syn) + u32::from(fin);
        Some(Self { seq: 0, ack: Some(packet.seq.wrapping_add(len)) })
    }

    /// Fills in a header.
    pub fn write(&self, ip: IpVersion, packet: &mut Packet) {
        packet.set_ip(ip);
        packet.seq = self.seq;
        packet.ack = self.ack.unwrap_or(0);
        packet.flags = if self.ack.is_some() { Flags::RST | Flags::ACK } else { Flags::RST };
        packet.payload = 0;
        packet.window = 0;
        packet.len = ip.header_bytes() + TCP_HEADER_BYTES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_such_that_whoever_sent_the_segment_takes_it() {
        let packet = |flags, payload| Packet { seq: 100, ack: 700, flags, payload, ..Packet::default() };
        assert_eq!(Reset::answering(&packet(Flags::ACK, 9)), Some(Reset { seq: 700, ack: None }));
        assert_eq!(Reset::answering(&packet(Flags::SYN, 0)), Some(Reset { seq: 0, ack: Some(101) }));
        assert_eq!(Reset::answering(&packet(Flags::FIN, 9)), Some(Reset { seq: 0, ack: Some(110) }));
        assert_eq!(Reset::answering(&packet(Flags::RST | Flags::ACK, 0)), None);
    }
}
