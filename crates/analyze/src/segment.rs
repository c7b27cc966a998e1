//! The captured headers of an IP packet with TCP or UDP.
//!
//! Checksums are not verified: hosts offload them to network cards, which compute them after the place of the capture.
//! Source: RFC 791, RFC 8200, RFC 9293 (3.1), options of RFC 7323 and RFC 2018.

use std::net::IpAddr;

use etherparse::{
    IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice, TcpHeaderSlice, ip_number,
};

use crate::datagram::{self, Datagram, Mark};
use crate::gtp;
use crate::link::Packet;

/// Fields of a TCP segment.
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
    /// Number of SACK blocks.
    pub sack_blocks: u8,
    /// Options of a SYN.
    pub offer: Offer,
    /// Options could not be read: they were cut off or make no sense.
    pub lacks_options: bool,
    pub mark: Mark,
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

/// Transport header of an IP packet.
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

/// Parts of a packet that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    pub from: Endpoint,
    pub to: Endpoint,
    pub transport: Transport,
    /// Captured part of a segment's payload.
    pub payload: &'a [u8],
    /// Content of a G-PDU, if this is one.
    pub opened: Option<gtp::Opened<'a>>,
    /// IP claims more octets than the frame had: the frame's count.
    pub exceeds_frame: bool,
}

/// Reads the segment or datagram in an IP packet.
///
/// # Errors
///
/// Why there is none.
pub fn read(packet: Packet<'_>) -> Result<Found<'_>, Unread> {
    let network = network(packet.captured)?;
    if network.is_fragment {
        return Err(Unread::Fragment);
    }
    let Network { src, dst, claimed, header_bytes, protocol, .. } = network;
    if protocol != ip_number::TCP && protocol != ip_number::UDP {
        return Err(Unread::OtherProtocol);
    }
    let len = match claimed {
        // Segmentation is left to the card: the length is that of the frame.
        0 => packet.len(),
        claimed => claimed.min(packet.len()),
    };
    let exceeds_frame = claimed > packet.len();
    // Frames are padded to their shortest length.
    let rest = packet.within(len).behind(header_bytes).ok_or(Unread::BadLength)?;
    let &[a, b, c, d, ..] = rest.captured else { return Err(Unread::Truncated) };
    let (from_port, to_port) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let (mut opened, mut payload): (_, &[u8]) = (None, &[]);
    let transport = if protocol == ip_number::UDP {
        let datagram = udp_payload(rest)?;
        if to_port == gtp::PORT {
            opened = gtp::open(datagram, src, dst, false);
        }
        Transport::Udp(Datagram::new(datagram.captured, datagram.len() as u32, network.mark))
    } else {
        let mut segment = tcp(rest.captured).ok_or(Unread::Truncated)?;
        let offset = 4 * usize::from(rest.captured[12] >> 4);
        if offset < 20 {
            return Err(Unread::BadLength);
        }
        segment.payload = rest.len().checked_sub(offset).ok_or(Unread::BadLength)? as u32;
        segment.mark = network.mark;
        payload = rest.captured.get(offset..).unwrap_or_default();
        Transport::Tcp(segment)
    };
    Ok(Found { from: (src, from_port), to: (dst, to_port), transport, payload, opened, exceeds_frame })
}

/// The payload of a datagram, no longer than its header says; without a length (offloaded, jumbograms) all.
fn udp_payload(rest: Packet<'_>) -> Result<Packet<'_>, Unread> {
    if rest.len() < datagram::HEADER_BYTES {
        return Err(Unread::BadLength);
    }
    let payload = rest.behind(datagram::HEADER_BYTES).ok_or(Unread::Truncated)?;
    let len = usize::from(u16::from_be_bytes([rest.captured[4], rest.captured[5]]));
    Ok(len.checked_sub(datagram::HEADER_BYTES).map_or(payload, |len| payload.within(len)))
}

/// Opens the G-PDU whose first fragment this is: tunnels lengthen packets beyond what a link carries.
pub fn opened_fragment(packet: Packet<'_>) -> Option<gtp::Opened<'_>> {
    let network = network(packet.captured).ok()?;
    let is_first = network.is_fragment && network.is_first && network.protocol == ip_number::UDP;
    let rest = packet.behind(network.header_bytes).filter(|_| is_first)?;
    let &[_, _, high, low, ..] = rest.captured else { return None };
    let payload = rest.behind(datagram::HEADER_BYTES)?;
    if u16::from_be_bytes([high, low]) != gtp::PORT {
        return None;
    }
    gtp::open(payload, network.src, network.dst, true)
}

/// Fields of the IP headers.
struct Network {
    src: IpAddr,
    dst: IpAddr,
    /// Length claimed for the whole packet; 0 if none is.
    claimed: usize,
    /// Octets in front of the payload.
    header_bytes: usize,
    protocol: IpNumber,
    mark: Mark,
    is_fragment: bool,
    /// Whether the fragment has the payload's first octets.
    is_first: bool,
}

fn network(packet: &[u8]) -> Result<Network, Unread> {
    match packet.first().map(|first| first >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        Some(_) => Err(Unread::BadLength),
        None => Err(Unread::Truncated),
    }
}

fn ipv4(packet: &[u8]) -> Result<Network, Unread> {
    if packet.len() < 20 {
        return Err(Unread::Truncated);
    }
    let header_bytes = 4 * usize::from(packet[0] & 15);
    if header_bytes > packet.len() {
        return Err(Unread::Truncated);
    }
    let header = Ipv4HeaderSlice::from_slice(packet).map_err(|_| Unread::BadLength)?;
    let network = Network {
        src: header.source_addr().into(),
        dst: header.destination_addr().into(),
        claimed: usize::from(header.total_len()),
        header_bytes,
        protocol: header.protocol(),
        mark: Mark { identification: header.identification(), hops: header.ttl() },
        is_fragment: header.is_fragmenting_payload(),
        is_first: header.fragments_offset().value() == 0,
    };
    if network.is_first { behind_extensions(network, packet) } else { Ok(network) }
}

fn ipv6(packet: &[u8]) -> Result<Network, Unread> {
    let header = Ipv6HeaderSlice::from_slice(packet).map_err(|_| Unread::Truncated)?;
    let claimed = match header.payload_length() {
        0 => 0,
        payload => 40 + usize::from(payload),
    };
    let network = Network {
        src: header.source_addr().into(),
        dst: header.destination_addr().into(),
        claimed,
        header_bytes: 40,
        protocol: header.next_header(),
        mark: Mark { identification: 0, hops: header.hop_limit() },
        is_fragment: false,
        is_first: true,
    };
    behind_extensions(network, packet)
}

/// Passes over extension headers. IPv4 has only the authentication header.
fn behind_extensions(mut network: Network, packet: &[u8]) -> Result<Network, Unread> {
    loop {
        let rest = &packet[network.header_bytes..];
        match network.protocol {
            ip_number::AUTH => {
                // RFC 4302 (2.2): its length in units of four bytes, minus two.
                let &[next, units, ..] = rest else { return Err(Unread::Truncated) };
                let octets = 4 * (usize::from(units) + 2);
                rest.get(octets..).ok_or(Unread::Truncated)?;
                network.protocol = IpNumber(next);
                network.header_bytes += octets;
            }
            ip_number::IPV6_HOP_BY_HOP | ip_number::IPV6_ROUTE | ip_number::IPV6_DEST_OPTIONS => {
                let extension = Ipv6RawExtHeaderSlice::from_slice(rest).map_err(|_| Unread::Truncated)?;
                network.protocol = extension.next_header();
                network.header_bytes += extension.slice().len();
            }
            ip_number::IPV6_FRAG if !network.is_fragment => {
                // RFC 8200 (4.5): next header, reserved, offset of 13 bits, two reserved, whether more follow. With
                // neither offset nor more it is whole: RFC 6946.
                let &[next, _, high, low, _, _, _, _, ..] = rest else { return Err(Unread::Truncated) };
                let offset = u16::from_be_bytes([high, low]);
                network.protocol = IpNumber(next);
                network.header_bytes += 8;
                network.is_fragment = offset & 0xFFF9 != 0;
                network.is_first = offset >> 3 == 0;
            }
            _ => return Ok(network),
        }
    }
}

/// Reads the captured header, at least up to the window.
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
