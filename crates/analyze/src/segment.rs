//! The headers of an IP packet with TCP or UDP, as far as they were captured.
//!
//! Checksums are not verified: machines leave them to their network cards, behind the place of the capture.
//! Source: RFC 791, RFC 8200, RFC 9293 (3.1), options of RFC 7323 and RFC 2018.

use std::net::IpAddr;

use etherparse::{
    IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice, TcpHeaderSlice, ip_number,
};

use crate::datagram::{self, Datagram};

/// What a TCP segment says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number; means something with the flag.
    pub ack: u32,
    /// Flags, as in the header's byte 13.
    pub flags: u8,
    pub window: u16,
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, left and right edges.
    pub sack: [(u32, u32); 4],
    /// How many of them there are.
    pub sack_blocks: u8,
    /// What a SYN offers.
    pub offer: Offer,
    /// Options could not be read: they were cut off or make no sense.
    pub lacks_options: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Offer {
    /// Maximum segment size, bytes.
    pub mss: Option<u16>,
    /// Shift of the windows to come, at most 14: RFC 7323 (2.3).
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: bool,
}

/// FIN in [`Segment::flags`].
pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;

impl Segment {
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    pub fn sack(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_blocks)]
    }
}

pub type Endpoint = (IpAddr, u16);

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp(Segment),
    Udp(Datagram),
}

/// Why a packet is neither segment nor datagram that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    OtherProtocol,
    Fragment,
    /// Lengths that contradict each other, or no IP at all.
    BadLength,
    /// The headers were cut off.
    Truncated,
}

/// Reads the segment or datagram in an IP packet, whose frame had `missing` bytes more than were captured.
///
/// # Errors
///
/// Why there is none.
pub fn read(packet: &[u8], missing: u32) -> Result<(Endpoint, Endpoint, Transport), Unread> {
    let (src, dst, claimed, rest, protocol) = match packet.first().map(|first| first >> 4) {
        Some(4) => ipv4(packet)?,
        Some(6) => ipv6(packet)?,
        Some(_) => return Err(Unread::BadLength),
        None => return Err(Unread::Truncated),
    };
    if protocol != ip_number::TCP && protocol != ip_number::UDP {
        return Err(Unread::OtherProtocol);
    }
    let header_bytes = packet.len() - rest.len();
    let len = match claimed {
        // Segmentation is left to the card: the length is that of the frame.
        0 => packet.len() + missing as usize,
        claimed => claimed,
    };
    let behind = len.checked_sub(header_bytes).ok_or(Unread::BadLength)?;
    // Frames are padded to their shortest length.
    let rest = &rest[..rest.len().min(behind)];
    let &[a, b, c, d, ..] = rest else { return Err(Unread::Truncated) };
    let transport = if protocol == ip_number::UDP {
        let payload = behind.checked_sub(datagram::HEADER_BYTES).ok_or(Unread::BadLength)?;
        let captured = rest.get(datagram::HEADER_BYTES..).ok_or(Unread::Truncated)?;
        Transport::Udp(Datagram::new(captured, payload as u32, identification(packet)))
    } else {
        let mut segment = tcp(rest).ok_or(Unread::Truncated)?;
        let offset = 4 * usize::from(rest[12] >> 4);
        if offset < 20 {
            return Err(Unread::BadLength);
        }
        segment.payload = behind.checked_sub(offset).ok_or(Unread::BadLength)? as u32;
        Transport::Tcp(segment)
    };
    let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Ok(((src, ports.0), (dst, ports.1), transport))
}

/// Of IPv4; 0 with IPv6, which has none.
fn identification(packet: &[u8]) -> u16 {
    match packet {
        &[first, _, _, _, high, low, ..] if first >> 4 == 4 => u16::from_be_bytes([high, low]),
        _ => 0,
    }
}

/// Source, destination, length claimed for the whole packet, payload behind the headers, and its protocol.
type Network<'a> = (IpAddr, IpAddr, usize, &'a [u8], IpNumber);

fn ipv4(packet: &[u8]) -> Result<Network<'_>, Unread> {
    if packet.len() < 20 {
        return Err(Unread::Truncated);
    }
    let header_bytes = 4 * usize::from(packet[0] & 15);
    if header_bytes > packet.len() {
        return Err(Unread::Truncated);
    }
    let header = Ipv4HeaderSlice::from_slice(packet).map_err(|_| Unread::BadLength)?;
    if header.is_fragmenting_payload() {
        return Err(Unread::Fragment);
    }
    let (src, dst) = (header.source_addr().into(), header.destination_addr().into());
    Ok((src, dst, usize::from(header.total_len()), &packet[header_bytes..], header.protocol()))
}

fn ipv6(packet: &[u8]) -> Result<Network<'_>, Unread> {
    let header = Ipv6HeaderSlice::from_slice(packet).map_err(|_| Unread::Truncated)?;
    let (src, dst) = (header.source_addr().into(), header.destination_addr().into());
    let claimed = match header.payload_length() {
        0 => 0,
        payload => 40 + usize::from(payload),
    };
    let (mut next, mut rest) = (header.next_header(), &packet[40..]);
    loop {
        match next {
            ip_number::IPV6_HOP_BY_HOP | ip_number::IPV6_ROUTE | ip_number::IPV6_DEST_OPTIONS => {
                let extension = Ipv6RawExtHeaderSlice::from_slice(rest).map_err(|_| Unread::Truncated)?;
                next = extension.next_header();
                rest = &rest[extension.slice().len()..];
            }
            ip_number::IPV6_FRAG => return Err(Unread::Fragment),
            _ => return Ok((src, dst, claimed, rest, next)),
        }
    }
}

/// What there is of the header, at least up to the window.
fn tcp(bytes: &[u8]) -> Option<Segment> {
    let fixed = bytes.first_chunk::<16>()?;
    let mut segment = Segment {
        seq: word(fixed, 4),
        ack: word(fixed, 8),
        flags: fixed[13],
        window: u16::from_be_bytes([fixed[14], fixed[15]]),
        ..Segment::default()
    };
    match TcpHeaderSlice::from_slice(bytes) {
        Ok(header) => segment.lacks_options = options(header.options(), &mut segment).is_none(),
        Err(_) => segment.lacks_options = true,
    }
    Some(segment)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// RFC 7323 (2.3).
const MAX_WINDOW_SCALE: u8 = 14;

/// Reads options; `None` if they end in the middle of one.
fn options(mut options: &[u8], segment: &mut Segment) -> Option<()> {
    let is_syn = segment.has(SYN);
    loop {
        let (kind, value) = match options {
            [] | [END, ..] => return Some(()),
            [NOP, rest @ ..] => {
                options = rest;
                continue;
            }
            &[kind, len, ..] => {
                let (option, rest) = options.split_at_checked(usize::from(len))?;
                options = rest;
                (kind, option.get(2..)?)
            }
            [_] => return None,
        };
        match (kind, value) {
            (MSS, &[high, low]) if is_syn => segment.offer.mss = Some(u16::from_be_bytes([high, low])),
            (WINDOW_SCALE, &[shift]) if is_syn => {
                segment.offer.window_scale = Some(shift.min(MAX_WINDOW_SCALE))
            }
            (SACK_PERMITTED, []) if is_syn => segment.offer.sack_permitted = true,
            (TIMESTAMPS, times) if times.len() == 8 => {
                segment.offer.timestamps = is_syn;
                segment.timestamps = Some((word(times, 0), word(times, 4)));
            }
            (SACK, blocks) => {
                for block in blocks.chunks_exact(8).take(4) {
                    segment.sack[usize::from(segment.sack_blocks.min(3))] = (word(block, 0), word(block, 4));
                    segment.sack_blocks = (segment.sack_blocks + 1).min(4);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
