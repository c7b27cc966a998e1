//! Feedback messages as octets: RTCP of RFC 8888 (congestion control feedback), RFC 4585 (NACK and PLI).
//!
//! ASSUMED: one report block holds the transport-wide numbers of all packets, as if they were of one SSRC.

use crate::time::{Duration, Instant};

/// Octets of IP, UDP and of SRTCP's index and authentication tag around a message: RFC 3711 (3.4).
pub const OVERHEAD: u32 = 20 + 8 + 4 + 10;

const RTPFB: u8 = 205;
const PSFB: u8 = 206;
const FMT_NACK: u8 = 1;
const FMT_PLI: u8 = 1;
const FMT_CCFB: u8 = 11;
/// Offsets of this many 1/1024 s and more: RFC 8888 (3.1).
const OVER_RANGE: u16 = 0x1ffe;
/// Packets of one report at most: RFC 8888 (3.1).
pub const MOST_REPORTED: usize = 16_384;

/// What a report says about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the packet arrived, by the receiver's clock.
    pub at: Instant,
    /// ECN field with which it arrived.
    pub ecn: u8,
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Reports on successive packets.
    Congestion {
        /// Number of the first one, modulo 2^16.
        begin: u16,
        /// Each packet; `None` if it has not arrived.
        packets: Vec<Option<Arrival>>,
        /// When the report was made.
        made_at: Instant,
    },
    /// Requests packets with these sequence numbers, modulo 2^16.
    Nack(Vec<u16>),
    /// Requests a key frame.
    PictureLoss,
}

/// The middle 32 bits of the time in NTP format: units of 1/65536 s.
fn ntp_middle(at: Instant) -> u32 {
    (u128::from(at.as_nanos()) * 65_536 / 1_000_000_000) as u32
}

/// The instant nearest to `near` that has these middle bits.
fn from_ntp_middle(bits: u32, near: Instant) -> Instant {
    let apart = i64::from(bits.wrapping_sub(ntp_middle(near)) as i32);
    let units = (u128::from(near.as_nanos()) * 65_536 / 1_000_000_000) as i64 + apart;
    Instant::from_nanos((units.max(0) as u128 * 1_000_000_000).div_ceil(65_536) as u64)
}

fn header(count: u8, kind: u8, octets: usize, out: &mut Vec<u8>) {
    out.extend([0x80 | count, kind]);
    out.extend(((octets / 4 - 1) as u16).to_be_bytes());
    // SSRC of the sender; only one per direction.
    out.extend(1_u32.to_be_bytes());
}

impl Message {
    /// The message as RTCP.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Congestion { begin, packets, made_at } => {
                let padded = packets.len().next_multiple_of(2);
                header(FMT_CCFB, RTPFB, 8 + 8 + 2 * padded + 4, &mut out);
                out.extend(1_u32.to_be_bytes());
                out.extend(begin.to_be_bytes());
                out.extend((packets.len() as u16).to_be_bytes());
                for packet in packets {
                    let block = packet.map_or(0, |arrival| {
                        let before = made_at.since(arrival.at).as_nanos();
                        let units = (u128::from(before) * 1024 + 500_000_000) / 1_000_000_000;
                        let offset = u16::try_from(units).unwrap_or(OVER_RANGE).min(OVER_RANGE);
                        0x8000 | u16::from(arrival.ecn & 3) << 13 | offset
                    });
                    out.extend(block.to_be_bytes());
                }
                out.resize(out.len() + 2 * (padded - packets.len()), 0);
                out.extend(ntp_middle(*made_at).to_be_bytes());
            }
            Self::Nack(sequences) => {
                let fields = nack_fields(sequences);
                header(FMT_NACK, RTPFB, 12 + 4 * fields.len(), &mut out);
                out.extend(1_u32.to_be_bytes());
                for (first, following) in fields {
                    out.extend(first.to_be_bytes());
                    out.extend(following.to_be_bytes());
                }
            }
            Self::PictureLoss => {
                header(FMT_PLI, PSFB, 12, &mut out);
                out.extend(1_u32.to_be_bytes());
            }
        }
        out
    }

    /// Reads a message that arrives at `now`; `None` of anything else.
    pub fn decode(octets: &[u8], now: Instant) -> Option<Self> {
        let (head, body) = octets.split_at_checked(12)?;
        let [format, kind] = [head[0] & 0x1f, head[1]];
        match (format, kind) {
            (FMT_CCFB, RTPFB) => {
                let begin = u16::from_be_bytes(body.get(..2)?.try_into().ok()?);
                let count = usize::from(u16::from_be_bytes(body.get(2..4)?.try_into().ok()?));
                let blocks = body.get(4..4 + 2 * count)?;
                let stamp = u32::from_be_bytes(body.get(body.len().checked_sub(4)?..)?.try_into().ok()?);
                let made_at = from_ntp_middle(stamp, now);
                let packets = blocks.chunks_exact(2).map(|block| {
                    let block = u16::from_be_bytes([block[0], block[1]]);
                    let offset = Duration::from_nanos(u64::from(block & 0x1fff) * 1_000_000_000 / 1024);
                    let at = Instant::from_nanos(made_at.as_nanos().saturating_sub(offset.as_nanos()));
                    (block & 0x8000 != 0).then_some(Arrival { at, ecn: (block >> 13 & 3) as u8 })
                });
                Some(Self::Congestion { begin, packets: packets.collect(), made_at })
            }
            (FMT_NACK, RTPFB) => {
                let mut sequences = Vec::new();
                for field in body.chunks_exact(4) {
                    let first = u16::from_be_bytes([field[0], field[1]]);
                    let following = u16::from_be_bytes([field[2], field[3]]);
                    sequences.push(first);
                    let others = (0..16).filter(|bit| following >> bit & 1 == 1);
                    sequences.extend(others.map(|bit| first.wrapping_add(1 + bit)));
                }
                Some(Self::Nack(sequences))
            }
            (FMT_PLI, PSFB) => Some(Self::PictureLoss),
            _ => None,
        }
    }
}

/// First number and mask of the 16 that follow, RFC 4585 (6.2.1), of ascending numbers.
fn nack_fields(sequences: &[u16]) -> Vec<(u16, u16)> {
    let mut fields: Vec<(u16, u16)> = Vec::new();
    for &sequence in sequences {
        if let Some((first, following)) = fields.last_mut()
            && let after @ 1..=16 = sequence.wrapping_sub(*first)
        {
            *following |= 1 << (after - 1);
        } else {
            fields.push((sequence, 0));
        }
    }
    fields
}

/// The number nearest to `near` whose lowest 16 bits are `low`.
pub fn extend(low: u16, near: u32) -> u32 {
    near.wrapping_add_signed(i32::from(low.wrapping_sub(near as u16) as i16))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8888 (3.1), laid out by hand: three packets from 65535 on; the second is lost.
    #[test]
    fn a_congestion_report_is_encoded_octet_for_octet_and_reads_back() {
        let made_at = Instant::ZERO + Duration::from_secs(2);
        let arrival = |ms: u64, ecn| Some(Arrival { at: Instant::from_nanos(ms * 1_000_000), ecn });
        let message = Message::Congestion {
            begin: 65_535,
            packets: vec![arrival(1_500, 1), None, arrival(2_000, 3)],
            made_at,
        };
        let octets = message.encode();
        #[rustfmt::skip]
        let expected = [
            0x8b, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 3,
            // 512/1024 s before the report, ECT(1); lost; at the report, CE; padding.
            0x80 | 0x20 | 0x02, 0x00, 0, 0, 0x80 | 0x60, 0x00, 0, 0,
            0, 2, 0, 0,
        ];
        assert_eq!(octets, expected);
        assert_eq!(Message::decode(&octets, made_at + Duration::from_millis(80)), Some(message));
    }

    #[test]
    fn arrivals_before_the_range_are_at_its_end() {
        let made_at = Instant::ZERO + Duration::from_secs(20);
        let early = vec![Some(Arrival { at: Instant::ZERO, ecn: 0 })];
        let octets = Message::Congestion { begin: 1, packets: early, made_at }.encode();
        let Some(Message::Congestion { packets, .. }) = Message::decode(&octets, made_at) else { panic!() };
        // 0x1ffe / 1024 s.
        assert!((packets[0].unwrap().at.as_secs_f64() - (20.0 - 8190.0 / 1024.0)).abs() < 1e-6);
    }

    #[test]
    fn nacks_read_back_and_share_fields() {
        let sequences = vec![65_530, 65_535, 3, 500];
        let octets = Message::Nack(sequences.clone()).encode();
        // 65530 with 65535 and 3 within the next 16, and 500.
        assert_eq!(octets.len(), 12 + 2 * 4);
        assert_eq!(Message::decode(&octets, Instant::ZERO), Some(Message::Nack(sequences)));
        let pli = Message::PictureLoss.encode();
        assert_eq!(Message::decode(&pli, Instant::ZERO), Some(Message::PictureLoss));
        assert_eq!(Message::decode(&pli[..8], Instant::ZERO), None);
    }

    #[test]
    fn numbers_are_extended_to_the_nearest() {
        assert_eq!(extend(2, 65_530), 65_538);
        assert_eq!(extend(65_530, 65_538), 65_530);
        assert_eq!(extend(7, 7), 7);
    }
}
