//! Packets of a datagram and their frames as octets, RFC 9000 (16), (19), without the data of streams and of TLS, which a
//! simulated packet does not carry.

use crate::packet::Packet;
use crate::rlc::SnRange;
use crate::time::Duration;
use serde::Serialize;

/// Packet number spaces, RFC 9000 (12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Initial packets.
    Initial = 0,
    /// Handshake packets.
    Handshake = 1,
    /// 0-RTT and 1-RTT packets.
    Data = 2,
}

impl Space {
    /// All, in the order in which they are used.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Data];
}

/// Units of the ACK delay: 2^3 µs, the default of `ack_delay_exponent`, RFC 9000 (18.2).
const ACK_DELAY_EXPONENT: u32 = 3;

const PING: u64 = 0x01;
const ACK: u64 = 0x02;
const ACK_ECN: u64 = 0x03;
const CRYPTO: u64 = 0x06;
const STREAM: u64 = 0x08;
const OFF: u64 = 0x04;
const LEN: u64 = 0x02;
const FIN: u64 = 0x01;
const MAX_DATA: u64 = 0x10;
const MAX_STREAM_DATA: u64 = 0x11;
const HANDSHAKE_DONE: u64 = 0x1e;

/// Data of a stream: RFC 9000 (19.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFrame {
    /// Index of the stream among the bidirectional streams that the client opens.
    pub stream: u32,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// Whether the stream ends with them.
    pub fin: bool,
}

impl StreamFrame {
    /// The longest header that a stream below 1 GB has, bytes.
    pub const HEADER: u64 = 1 + 2 + 4 + 2;

    /// The bytes as a range of the stream.
    pub fn range(&self) -> SnRange {
        SnRange::new(self.offset, self.offset + self.len)
    }
}

/// Packets that have arrived, by ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// With ECT(0).
    pub ect0: u64,
    /// With ECT(1).
    pub ect1: u64,
    /// With CE.
    pub ce: u64,
}

impl Counts {
    /// A packet arrived with ECN field `ecn`.
    pub fn count(&mut self, ecn: u8) {
        match ecn {
            Packet::ECT_0 => self.ect0 += 1,
            Packet::ECT_1 => self.ect1 += 1,
            Packet::CE => self.ce += 1,
            _ => {}
        }
    }

    /// With this code point of packets that can be marked.
    pub fn of(&self, ect: u8) -> u64 {
        if ect == Packet::ECT_1 { self.ect1 } else { self.ect0 }
    }
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Only elicits an ACK.
    Ping,
    /// Packets that have arrived, highest first.
    Ack {
        /// How long the ACK of the highest one was delayed.
        delay: Duration,
        /// Their numbers.
        ranges: Vec<SnRange>,
        /// How many have arrived with each ECN field, if any with one but Not-ECT.
        ecn: Option<Counts>,
    },
    /// Data of the TLS handshake.
    Crypto(SnRange),
    /// Data of a stream.
    Stream(StreamFrame),
    /// Limit of the data of all streams.
    MaxData(u64),
    /// Limit of the data of a stream.
    MaxStreamData {
        /// Index of the stream.
        stream: u32,
        /// Offset that its data may not exceed.
        limit: u64,
    },
    /// The handshake is confirmed.
    HandshakeDone,
}

impl Frame {
    /// Whether the peer must acknowledge a packet with it: RFC 9000 (13.2.1).
    pub fn elicits_ack(&self) -> bool {
        !matches!(self, Self::Ack { .. })
    }

    /// Bytes of data that follow the octets of the frame on the wire.
    pub fn data_len(&self) -> u64 {
        match self {
            Self::Crypto(range) => range.len(),
            Self::Stream(stream) => stream.len,
            _ => 0,
        }
    }

    /// Appends its octets, without data.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ping => put(PING, out),
            Self::HandshakeDone => put(HANDSHAKE_DONE, out),
            Self::MaxData(limit) => [MAX_DATA, *limit].into_iter().for_each(|n| put(n, out)),
            Self::MaxStreamData { stream, limit } => {
                [MAX_STREAM_DATA, u64::from(*stream) * 4, *limit].into_iter().for_each(|n| put(n, out));
            }
            Self::Crypto(range) => [CRYPTO, range.first, range.len()].into_iter().for_each(|n| put(n, out)),
            Self::Stream(frame) => {
                let off = if frame.offset > 0 { OFF } else { 0 };
                put(STREAM | off | LEN | u64::from(frame.fin), out);
                put(u64::from(frame.stream) * 4, out);
                if frame.offset > 0 {
                    put(frame.offset, out);
                }
                put(frame.len, out);
            }
            Self::Ack { delay, ranges, ecn } => {
                let Some((first, others)) = ranges.split_first() else { return };
                put(if ecn.is_some() { ACK_ECN } else { ACK }, out);
                put(first.end - 1, out);
                put(delay.as_micros() >> ACK_DELAY_EXPONENT, out);
                put(others.len() as u64, out);
                put(first.len() - 1, out);
                let mut smallest = first.first;
                for range in others {
                    put(smallest - range.end - 1, out);
                    put(range.len() - 1, out);
                    smallest = range.first;
                }
                if let Some(ecn) = ecn {
                    [ecn.ect0, ecn.ect1, ecn.ce].into_iter().for_each(|n| put(n, out));
                }
            }
        }
    }

    /// Reads a frame, and moves `octets` beyond it; `None` if it is malformed.
    fn read(octets: &mut &[u8]) -> Option<Self> {
        match take(octets)? {
            PING => Some(Self::Ping),
            HANDSHAKE_DONE => Some(Self::HandshakeDone),
            MAX_DATA => Some(Self::MaxData(take(octets)?)),
            MAX_STREAM_DATA => {
                let stream = u32::try_from(take(octets)? / 4).ok()?;
                Some(Self::MaxStreamData { stream, limit: take(octets)? })
            }
            CRYPTO => {
                let first = take(octets)?;
                Some(Self::Crypto(SnRange::new(first, first.checked_add(take(octets)?)?)))
            }
            kind if kind & !(OFF | LEN | FIN) == STREAM && kind & LEN != 0 => {
                let stream = u32::try_from(take(octets)? / 4).ok()?;
                let offset = if kind & OFF != 0 { take(octets)? } else { 0 };
                let len = take(octets)?;
                Some(Self::Stream(StreamFrame { stream, offset, len, fin: kind & FIN != 0 }))
            }
            kind @ (ACK | ACK_ECN) => {
                let largest = take(octets)?;
                let delay = Duration::from_nanos((take(octets)? << ACK_DELAY_EXPONENT) * 1000);
                let others = take(octets)?;
                let mut smallest = largest.checked_sub(take(octets)?)?;
                let mut ranges = vec![SnRange::new(smallest, largest + 1)];
                for _ in 0..others {
                    let end = smallest.checked_sub(take(octets)? + 1)?;
                    smallest = end.checked_sub(take(octets)? + 1)?;
                    ranges.push(SnRange::new(smallest, end));
                }
                let mut counts =
                    || Some(Counts { ect0: take(octets)?, ect1: take(octets)?, ce: take(octets)? });
                let ecn = if kind == ACK_ECN { Some(counts()?) } else { None };
                Some(Self::Ack { delay, ranges, ecn })
            }
            _ => None,
        }
    }
}

/// A packet as it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number space.
    pub space: Space,
    /// Whether it is protected with 0-RTT keys.
    pub is_early: bool,
    /// Its number.
    pub number: u64,
    /// Its frames.
    pub frames: Vec<Frame>,
}

impl Received {
    /// Appends its octets, without headers and data.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut frames = Vec::new();
        self.frames.iter().for_each(|frame| frame.write(&mut frames));
        out.push(self.space as u8 | u8::from(self.is_early) << 7);
        put(self.number, out);
        put(frames.len() as u64, out);
        out.append(&mut frames);
    }

    /// Reads all packets of a datagram; stops at the first malformed one.
    pub fn read_all(mut octets: &[u8]) -> Vec<Self> {
        let mut packets = Vec::new();
        while let Some(packet) = Self::read(&mut octets) {
            packets.push(packet);
        }
        packets
    }

    fn read(octets: &mut &[u8]) -> Option<Self> {
        let (first, rest) = octets.split_first()?;
        *octets = rest;
        let number = take(octets)?;
        let len = usize::try_from(take(octets)?).ok()?;
        let (mut body, next) = octets.split_at_checked(len)?;
        *octets = next;
        let mut frames = Vec::new();
        while !body.is_empty() {
            frames.push(Frame::read(&mut body)?);
        }
        let space = *Space::ALL.get(usize::from(first & 0x7f))?;
        Some(Self { space, is_early: first >> 7 == 1, number, frames })
    }
}

/// Appends a variable-length integer: RFC 9000 (16).
fn put(number: u64, out: &mut Vec<u8>) {
    match number {
        0..0x40 => out.push(number as u8),
        0x40..0x4000 => out.extend((number as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend((number as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend((number | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Reads a variable-length integer.
fn take(octets: &mut &[u8]) -> Option<u64> {
    let len = 1 << (octets.first()? >> 6);
    let (number, rest) = octets.split_at_checked(len)?;
    *octets = rest;
    let bits = number.iter().fold(0_u64, |bits, octet| bits << 8 | u64::from(*octet));
    Some(bits & (u64::MAX >> (64 - 8 * len + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_rfc_9000_a_1() {
        let examples: [(u64, &[u8]); 4] = [
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (15_293, &[0x7b, 0xbd]),
            (37, &[0x25]),
        ];
        for (number, octets) in examples {
            let mut out = Vec::new();
            put(number, &mut out);
            assert_eq!(out, octets);
            assert_eq!(take(&mut &octets[..]), Some(number));
        }
    }

    #[test]
    fn an_ack_has_the_octets_of_rfc_9000_19_3_1() {
        // Packets 10 to 12, 7, and 0 to 4: 9 and 8 are missing, and 6 and 5. Gaps are one less than the missing numbers.
        let ranges = [(10, 13), (7, 8), (0, 5)].map(|(first, end)| SnRange::new(first, end)).to_vec();
        let mut out = Vec::new();
        Frame::Ack { delay: Duration::from_nanos(800_000), ranges: ranges.clone(), ecn: None }
            .write(&mut out);
        assert_eq!(out, [0x02, 12, 0x40, 100, 2, 2, 1, 0, 1, 4]);
        // (19.3.2): counts of ECT(0), ECT(1) and CE follow.
        let ecn = Some(Counts { ect0: 7, ect1: 0, ce: 70 });
        let mut with_counts = Vec::new();
        Frame::Ack { delay: Duration::from_nanos(800_000), ranges, ecn }.write(&mut with_counts);
        assert_eq!(with_counts[..10], [0x03, 12, 0x40, 100, 2, 2, 1, 0, 1, 4]);
        assert_eq!(with_counts[10..], [7, 0, 0x40, 70]);
    }

    #[test]
    fn a_datagram_is_read_as_it_was_written() {
        let stream = StreamFrame { stream: 3, offset: 70_000, len: 1200, fin: true };
        let frames = vec![
            Frame::Ping,
            Frame::Crypto(SnRange::new(5, 905)),
            Frame::Ack {
                delay: Duration::from_nanos(8000),
                ranges: vec![SnRange::new(4, 9), SnRange::new(0, 2)],
                ecn: None,
            },
            Frame::Ack {
                delay: Duration::ZERO,
                ranges: vec![SnRange::new(4, 9)],
                ecn: Some(Counts { ect0: 4, ect1: 0, ce: 1 }),
            },
            Frame::Stream(stream),
            Frame::Stream(StreamFrame { offset: 0, fin: false, ..stream }),
            Frame::MaxData(15_728_640),
            Frame::MaxStreamData { stream: 3, limit: 6_291_456 },
            Frame::HandshakeDone,
        ];
        let packets: Vec<_> = (0..3)
            .map(|n| Received {
                space: Space::ALL[n],
                is_early: n == 2,
                number: 1 << (10 * n),
                frames: frames.clone(),
            })
            .collect();
        let mut octets = Vec::new();
        packets.iter().for_each(|packet| packet.write(&mut octets));
        assert_eq!(Received::read_all(&octets), packets);
        for end in 0..octets.len() {
            assert!(Received::read_all(&octets[..end]).len() < 3, "a part is not the whole");
        }
    }
}
