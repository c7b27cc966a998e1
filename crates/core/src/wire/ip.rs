//! IPv4, IPv6 and TCP headers: bytes to [`Packet`] and back; UDP datagrams.
//!
//! Reading: RFC 791 (3.1), RFC 8200 (3, 4), RFC 9293 (3.1); options of RFC 9293 (3.2), RFC 7323 (2, 3),
//! RFC 2018 (2, 3) and RFC 9768 (3.2.3). IPv6 hop-by-hop, routing and destination headers are skipped. Checksums are
//! not verified: bytes come from a kernel or a capture that did, or that left them to hardware; but endpoints
//! take their octets from [`checked_payload`] or [`checked_datagram`].
//! Left out: jumbograms, the urgent pointer, and every other TCP option, which is skipped.
//!
//! Writing is for packets whose payload exists only as a length. It makes plain headers: no IP
//! options, no extension headers, only the TCP options that `Packet` has fields for, and a TCP
//! checksum as if all payload bytes were zero. A packet read from a device that had more than that
//! cannot be made again from its `Packet` alone: [`rewrite`](super::rewrite()) changes its bytes in place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

use etherparse::checksum::Sum16BitWords;
use etherparse::{
    IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeader, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice, TcpHeaderSlice,
    ip_number,
};

use crate::packet::{EcnBytes, EcnOrder, Flags, Form, IpVersion, Kind, Opaque, Packet};

/// Reads the IP packet in `bytes` into every field of `packet` but `id`, `ue`, `flow` and `body`.
///
/// Whatever is no readable TCP becomes [`Kind::Opaque`] with the reason and TCP fields at their
/// defaults. `len` is the length the IP header claims if `bytes` has as many, else that of `bytes`.
pub fn parse(bytes: &[u8], packet: &mut Packet) {
    let mut read = Packet { len: bytes.len() as u32, ..Packet::default() };
    if let Err(why) = read_ip(bytes, &mut read) {
        let (len, form) = (read.len, read.form.with_kind(Kind::Opaque(why)));
        read = Packet { len, form, ..Packet::default() };
    }
    read.body = packet.body.take();
    (read.id, read.ue, read.flow) = (packet.id, packet.ue, packet.flow);
    *packet = read;
}

/// Protocol, addresses and, of TCP and UDP, ports of the IP packet in `bytes`; of anything else ports are
/// zero, of fragments too, since only the first has any. `None` if the IP header cannot be read.
pub fn endpoints(bytes: &[u8]) -> Option<(u8, Endpoints)> {
    let mut header = Packet::default();
    let (protocol, payload) = match read_network(bytes, &mut header) {
        Ok((protocol, payload)) => (protocol, payload),
        Err(Opaque::Fragment) => (ip_number::IPV6_FRAG, &[][..]),
        Err(_) => return None,
    };
    let (src, dst): (IpAddr, IpAddr) = match header.ip() {
        IpVersion::Ipv4 => (
            Ipv4Addr::from(*bytes.get(12..16)?.first_chunk::<4>()?).into(),
            Ipv4Addr::from(*bytes.get(16..20)?.first_chunk::<4>()?).into(),
        ),
        IpVersion::Ipv6 => (
            Ipv6Addr::from(*bytes.get(8..24)?.first_chunk::<16>()?).into(),
            Ipv6Addr::from(*bytes.get(24..40)?.first_chunk::<16>()?).into(),
        ),
    };
    let ports = match (protocol, payload) {
        (ip_number::TCP | ip_number::UDP, &[a, b, c, d, ..]) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    };
    let endpoints = Endpoints { src: SocketAddr::new(src, ports.0), dst: SocketAddr::new(dst, ports.1) };
    Some((protocol.0, endpoints))
}

/// The octets of a TCP segment, where in `bytes` they are; `None` if this is no TCP, or if its checksum or that of its
/// IP header is wrong.
pub fn checked_payload(bytes: &[u8]) -> Option<Range<usize>> {
    let mut header = Packet::default();
    let (protocol, segment) = read_network(bytes, &mut header).ok()?;
    let offset = usize::from(segment.get(12)? >> 4) * 4;
    if protocol != ip_number::TCP || offset < 20 || segment.len() < offset {
        return None;
    }
    let end = header.len as usize;
    is_intact(bytes, header.ip(), protocol, segment)?.then(|| end - segment.len() + offset..end)
}

/// Position in `bytes` of the octets of a UDP datagram (RFC 768); `None` if this is no UDP, or if its checksum or that
/// of its IP header is wrong. A datagram over IPv4 may have no checksum, one over IPv6 must have one (RFC 8200, 8.1).
pub fn checked_datagram(bytes: &[u8]) -> Option<Range<usize>> {
    let mut header = Packet::default();
    let (protocol, rest) = read_network(bytes, &mut header).ok()?;
    let length = usize::from(u16::from_be_bytes(*rest.get(4..6)?.first_chunk()?));
    if protocol != ip_number::UDP || length < UDP_HEADER_BYTES as usize {
        return None;
    }
    let datagram = rest.get(..length)?;
    let start = header.len as usize - rest.len();
    let unchecked = datagram[6..8] == [0; 2];
    let right = match header.ip() {
        IpVersion::Ipv4 if unchecked => is_intact(bytes, header.ip(), protocol, &[])?,
        IpVersion::Ipv6 if unchecked => false,
        _ => is_intact(bytes, header.ip(), protocol, datagram)?,
    };
    right.then(|| start + UDP_HEADER_BYTES as usize..start + length)
}

/// Whether the checksum of an IPv4 header is correct, and the checksum of its payload with the pseudo header, unless
/// that is empty.
fn is_intact(bytes: &[u8], ip: IpVersion, protocol: IpNumber, carried: &[u8]) -> Option<bool> {
    let addresses = match ip {
        IpVersion::Ipv4 => {
            let ip_header = bytes.get(..usize::from(bytes[0] & 15) * 4)?;
            if Sum16BitWords::new().add_slice(ip_header).ones_complement() != 0 {
                return Some(false);
            }
            bytes.get(12..20)?
        }
        IpVersion::Ipv6 => bytes.get(8..40)?,
    };
    let mut pseudo = Sum16BitWords::new().add_slice(addresses).add_2bytes([0, protocol.0]);
    let sum = pseudo.add_4bytes((carried.len() as u32).to_be_bytes()).add_slice(carried).ones_complement();
    Some(carried.is_empty() || sum == 0)
}

/// Offset of the TCP header of a packet that [`parse`] reads as TCP.
pub(super) fn tcp_offset(bytes: &[u8]) -> Option<usize> {
    let mut header = Packet::default();
    let (protocol, segment) = read_network(bytes, &mut header).ok()?;
    (protocol == ip_number::TCP).then(|| header.len as usize - segment.len())
}

/// Reads the IP header and returns the protocol above it with its bytes.
fn read_network<'a>(bytes: &'a [u8], packet: &mut Packet) -> Result<(IpNumber, &'a [u8]), Opaque> {
    // Even where the rest cannot be read: it is written back.
    packet.set_ecn(match bytes {
        [first, second, ..] if first >> 4 == 6 => second >> 4,
        [_, second, ..] => *second,
        _ => 0,
    });
    match bytes.first().map(|first| first >> 4) {
        Some(4) => read_ipv4(bytes, packet),
        Some(6) => read_ipv6(bytes, packet),
        _ => Err(Opaque::Malformed),
    }
}

fn read_ip(bytes: &[u8], packet: &mut Packet) -> Result<(), Opaque> {
    let (protocol, segment) = read_network(bytes, packet)?;
    match protocol {
        ip_number::TCP => read_tcp(segment, packet),
        ip_number::ENCAPSULATING_SECURITY_PAYLOAD | ip_number::AUTHENTICATION_HEADER => {
            Err(Opaque::Encrypted)
        }
        _ => Err(Opaque::OtherProtocol),
    }
}

/// Reads the header and returns the protocol above it with its bytes.
fn read_ipv4<'a>(bytes: &'a [u8], packet: &mut Packet) -> Result<(IpNumber, &'a [u8]), Opaque> {
    let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| Opaque::Malformed)?;
    let total = header.total_len();
    let payload = bytes.get(header.slice().len()..usize::from(total)).ok_or(Opaque::Malformed)?;
    packet.len = u32::from(total);
    packet.set_ecn(header.ecn().value());
    if header.is_fragmenting_payload() {
        return Err(Opaque::Fragment);
    }
    Ok((header.protocol(), payload))
}

/// Reads the header and the extension headers and returns the protocol above them with its bytes.
fn read_ipv6<'a>(bytes: &'a [u8], packet: &mut Packet) -> Result<(IpNumber, &'a [u8]), Opaque> {
    packet.set_ip(IpVersion::Ipv6);
    let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|_| Opaque::Malformed)?;
    let total = header.slice().len() + usize::from(header.payload_length());
    let mut rest = bytes.get(header.slice().len()..total).ok_or(Opaque::Malformed)?;
    packet.len = total as u32;
    packet.set_ecn(header.ecn().value());
    let mut next = header.next_header();
    loop {
        match next {
            ip_number::IPV6_HOP_BY_HOP | ip_number::IPV6_ROUTE | ip_number::IPV6_DEST_OPTIONS => {
                let extension = Ipv6RawExtHeaderSlice::from_slice(rest).map_err(|_| Opaque::Malformed)?;
                rest = &rest[extension.slice().len()..];
                next = extension.next_header();
            }
            ip_number::IPV6_FRAG if rest.len() < Ipv6FragmentHeader::LEN => return Err(Opaque::Malformed),
            // Even where the only fragment is the whole packet: rare, and left alone like the others.
            ip_number::IPV6_FRAG => return Err(Opaque::Fragment),
            _ => return Ok((next, rest)),
        }
    }
}

fn read_tcp(segment: &[u8], packet: &mut Packet) -> Result<(), Opaque> {
    let header = TcpHeaderSlice::from_slice(segment).map_err(|_| Opaque::Malformed)?;
    packet.seq = header.sequence_number();
    packet.ack = header.acknowledgment_number();
    packet.flags = Flags(u16::from(header.slice()[12] & 1) << 8 | u16::from(header.slice()[13]));
    packet.window = header.window_size();
    packet.payload = (segment.len() - header.slice().len()) as u32;
    read_tcp_options(header.options(), packet)
}

fn read_tcp_options(mut options: &[u8], packet: &mut Packet) -> Result<(), Opaque> {
    let is_syn = packet.flags.has(Flags::SYN);
    loop {
        let (kind, value) = match options {
            [] | [END, ..] => return Ok(()),
            [NOP, rest @ ..] => {
                options = rest;
                continue;
            }
            &[kind, len, ..] => {
                let (option, rest) = options.split_at_checked(usize::from(len)).ok_or(Opaque::Malformed)?;
                options = rest;
                (kind, option.get(2..).ok_or(Opaque::Malformed)?)
            }
            [_] => return Err(Opaque::Malformed),
        };
        // A known option of another length than its own is skipped like an unknown one.
        match (kind, value) {
            (MSS, &[high, low]) if is_syn => packet.options_mut().mss = u16::from_be_bytes([high, low]),
            (WINDOW_SCALE, &[shift]) if is_syn => {
                packet.options_mut().window_scale_plus_1 = shift.min(MAX_WINDOW_SHIFT) + 1
            }
            (SACK_PERMITTED, []) if is_syn => packet.options_mut().sack_permitted = true,
            // The first of several counts: `rewrite` changes that one.
            (TIMESTAMPS, value) if value.len() == 8 && !packet.has_timestamps => {
                packet.has_timestamps = true;
                (packet.ts_val, packet.ts_ecr) = two_words(value);
            }
            (SACK, value) if !is_syn && value.len() % 8 == 0 => {
                for block in value.chunks_exact(8) {
                    let (left, right) = two_words(block);
                    packet.options_mut().sack.push(left, right);
                }
            }
            (ACCURATE_ECN_0 | ACCURATE_ECN_1, counters) if packet.options().ecn.order().is_none() => {
                let order = if kind == ACCURATE_ECN_0 { EcnOrder::Ect0First } else { EcnOrder::Ect1First };
                // RFC 9768 (3.2.3): of another length, as many as are whole.
                let counters = counters.chunks_exact(3).map(|bytes| number(bytes).into());
                packet.options_mut().ecn = EcnBytes::new(order, counters);
            }
            _ => {}
        }
    }
}

/// A number of up to four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// The two 32-bit numbers in the first eight bytes.
fn two_words(bytes: &[u8]) -> (u32, u32) {
    (number(&bytes[..4]), number(&bytes[4..8]))
}

/// Addresses and ports for [`encode_header`], of the packet's IP version. In an IPv6 packet an IPv4
/// address becomes an IPv4-mapped one; in an IPv4 packet an IPv6 address that is none becomes 0.0.0.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Source of the packet.
    pub src: SocketAddr,
    /// Destination of the packet.
    pub dst: SocketAddr,
}

/// Bytes of the TCP header that [`encode_header`] writes for `packet`, options included.
pub fn tcp_header_bytes(packet: &Packet) -> u32 {
    let others = bytes_beside_ecn(packet);
    others + ecn_bytes(packet, others)
}

/// The option of accurate ECN. In a packet that was read it may have stood where padding leaves no room for it.
fn ecn_bytes(packet: &Packet, others: u32) -> u32 {
    let bytes = packet.options().ecn.padded_bytes();
    if others + bytes <= MOST_TCP_HEADER_BYTES { bytes } else { 0 }
}

/// The header without it.
fn bytes_beside_ecn(packet: &Packet) -> u32 {
    let timestamps = if packet.has_timestamps { 12 } else { 0 };
    let options = packet.options();
    if packet.flags.has(Flags::SYN) {
        let mss = if options.mss != 0 { 4 } else { 0 };
        // With timestamps it replaces their two bytes of padding.
        let sack_permitted = if options.sack_permitted && !packet.has_timestamps { 4 } else { 0 };
        let window_scale = if options.window_scale_plus_1 != 0 { 4 } else { 0 };
        return 20 + mss + sack_permitted + timestamps + window_scale;
    }
    let blocks = options.sack.as_slice().len() as u32;
    20 + timestamps + u32::from(options.nops) + if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

/// Appends the IP and TCP headers of `packet`, as if its payload were all zeros.
///
/// The IP header claims `packet.len` bytes, or more if the headers and the payload take more: a packet that was read
/// may have had its options without padding. An opaque packet becomes UDP of that length.
pub fn encode_header(packet: &Packet, endpoints: Endpoints, ip_id: u16, out: &mut Vec<u8>) {
    encode_over(packet, endpoints, ip_id, &[], out);
}

/// Appends the whole IP packet: the headers of `packet`, a TCP segment, and its octets.
pub fn encode_segment(packet: &Packet, endpoints: Endpoints, ip_id: u16, payload: &[u8], out: &mut Vec<u8>) {
    debug_assert_eq!(packet.payload as usize, payload.len());
    encode_over(packet, endpoints, ip_id, payload, out);
    out.extend_from_slice(payload);
}

/// Appends the whole IP packet of a UDP datagram (RFC 768), with DF over IPv4; at most 65,535 octets.
pub fn encode_datagram(
    ip: IpVersion,
    ecn: u8,
    endpoints: Endpoints,
    ip_id: u16,
    payload: &[u8],
    out: &mut Vec<u8>,
) {
    let len = ip.header_bytes() + UDP_HEADER_BYTES + payload.len() as u32;
    let form = Form::TCP.with_kind(Kind::Opaque(Opaque::OtherProtocol)).with_ip(ip).with_ecn(ecn);
    encode_over(&Packet { len, form, ..Packet::default() }, endpoints, ip_id, payload, out);
    out.extend_from_slice(payload);
}

/// Appends the headers; `payload` goes into the checksum, and missing octets count as zeros.
fn encode_over(packet: &Packet, endpoints: Endpoints, ip_id: u16, payload: &[u8], out: &mut Vec<u8>) {
    let ip_bytes = packet.ip().header_bytes();
    let (protocol, transport_bytes, total) = match packet.kind() {
        Kind::Tcp => {
            let segment = tcp_header_bytes(packet) + packet.payload;
            (ip_number::TCP, segment, packet.len.max(ip_bytes + segment))
        }
        Kind::Opaque(_) => {
            let datagram = packet.len.saturating_sub(ip_bytes).max(UDP_HEADER_BYTES);
            (ip_number::UDP, datagram, ip_bytes + datagram)
        }
    };
    let mut addresses = match packet.ip() {
        IpVersion::Ipv4 => write_ipv4(packet.ecn(), endpoints, ip_id, protocol, total, out),
        IpVersion::Ipv6 => write_ipv6(packet.ecn(), endpoints, protocol, total, out),
    };
    // The pseudo header sums up alike for both IP versions; zero payload bytes add nothing to it.
    let pseudo = addresses.add_4bytes(transport_bytes.to_be_bytes()).add_2bytes([0, protocol.0]);
    let start = out.len();
    let ports = [endpoints.src.port().to_be_bytes(), endpoints.dst.port().to_be_bytes()];
    out.extend_from_slice(ports.as_flattened());
    // Either header is a whole number of words, so that the payload may be added for itself.
    match packet.kind() {
        Kind::Tcp => {
            write_tcp(packet, out);
            let sum = pseudo.add_slice(&out[start..]).add_slice(payload).ones_complement();
            put(out, start + 16, sum);
        }
        Kind::Opaque(_) => {
            out.extend_from_slice(&saturate(transport_bytes).to_be_bytes());
            out.extend_from_slice(&[0, 0]);
            let sum = pseudo.add_slice(&out[start..]).add_slice(payload).to_ones_complement_with_no_zero();
            put(out, start + 6, sum);
        }
    }
}

/// Appends the header and returns the sum of its addresses.
fn write_ipv4(
    ecn: u8,
    endpoints: Endpoints,
    ip_id: u16,
    protocol: IpNumber,
    total: u32,
    out: &mut Vec<u8>,
) -> Sum16BitWords {
    let start = out.len();
    let fields = [
        [0x45, ecn & 3],
        saturate(total).to_be_bytes(),
        ip_id.to_be_bytes(),
        DONT_FRAGMENT.to_be_bytes(),
        [HOP_LIMIT, protocol.0],
        [0; 2],
    ];
    let addresses = [ipv4(endpoints.src).octets(), ipv4(endpoints.dst).octets()];
    out.extend_from_slice(fields.as_flattened());
    out.extend_from_slice(addresses.as_flattened());
    let sum = Sum16BitWords::new().add_slice(&out[start..]).ones_complement();
    put(out, start + 10, sum);
    Sum16BitWords::new().add_slice(addresses.as_flattened())
}

/// Appends the header and returns the sum of its addresses.
fn write_ipv6(
    ecn: u8,
    endpoints: Endpoints,
    protocol: IpNumber,
    total: u32,
    out: &mut Vec<u8>,
) -> Sum16BitWords {
    out.extend_from_slice(&[0x60, (ecn & 3) << 4, 0, 0]);
    out.extend_from_slice(&saturate(total.saturating_sub(40)).to_be_bytes());
    out.extend_from_slice(&[protocol.0, HOP_LIMIT]);
    let addresses = [ipv6(endpoints.src).octets(), ipv6(endpoints.dst).octets()];
    out.extend_from_slice(addresses.as_flattened());
    Sum16BitWords::new().add_slice(addresses.as_flattened())
}

/// Appends the TCP header from the sequence number on, the checksum field zero.
fn write_tcp(packet: &Packet, out: &mut Vec<u8>) {
    let (data_offset, window) = ((tcp_header_bytes(packet) / 4) as u8, packet.window.to_be_bytes());
    let fields = [
        packet.seq.to_be_bytes(),
        packet.ack.to_be_bytes(),
        [data_offset << 4 | (packet.flags.0 >> 8) as u8 & 1, packet.flags.0 as u8, window[0], window[1]],
        [0; 4],
    ];
    out.extend_from_slice(fields.as_flattened());
    let is_syn = packet.flags.has(Flags::SYN);
    let options = packet.options();
    if is_syn && options.mss != 0 {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&options.mss.to_be_bytes());
    }
    if is_syn && options.sack_permitted {
        let padding: &[u8] = if packet.has_timestamps { &[] } else { &[NOP, NOP] };
        out.extend_from_slice(padding);
        out.extend_from_slice(&[SACK_PERMITTED, 2]);
    }
    if packet.has_timestamps {
        let padding: &[u8] = if is_syn && options.sack_permitted { &[] } else { &[NOP, NOP] };
        out.extend_from_slice(padding);
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice([packet.ts_val.to_be_bytes(), packet.ts_ecr.to_be_bytes()].as_flattened());
    }
    if is_syn && options.window_scale_plus_1 != 0 {
        out.extend_from_slice(&[NOP, WINDOW_SCALE, 3, options.window_scale_plus_1 - 1]);
    }
    if !is_syn {
        out.extend(std::iter::repeat_n(NOP, usize::from(options.nops)));
    }
    let blocks = options.sack.as_slice();
    if !is_syn && !blocks.is_empty() {
        out.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for &(left, right) in blocks {
            out.extend_from_slice([left.to_be_bytes(), right.to_be_bytes()].as_flattened());
        }
    }
    let ecn_bytes = ecn_bytes(packet, bytes_beside_ecn(packet));
    if let Some(order) = options.ecn.order().filter(|_| ecn_bytes > 0) {
        let counters = options.ecn.as_slice();
        let len = 2 + 3 * counters.len() as u8;
        out.extend(std::iter::repeat_n(NOP, ecn_bytes as usize - usize::from(len)));
        let kind = if order == EcnOrder::Ect0First { ACCURATE_ECN_0 } else { ACCURATE_ECN_1 };
        out.extend_from_slice(&[kind, len]);
        counters.iter().for_each(|counter| out.extend_from_slice(&counter.to_be_bytes()[1..]));
    }
}

/// Puts a checksum, which etherparse sums in native byte order, at `at`.
fn put(out: &mut [u8], at: usize, sum: u16) {
    out[at..at + 2].copy_from_slice(&sum.to_ne_bytes());
}

/// A length for a 16-bit field; no link carries packets longer than that.
fn saturate(len: u32) -> u16 {
    len.min(u32::from(u16::MAX)) as u16
}

fn ipv4(endpoint: SocketAddr) -> Ipv4Addr {
    match endpoint.ip() {
        IpAddr::V4(addr) => addr,
        IpAddr::V6(addr) => addr.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED),
    }
}

fn ipv6(endpoint: SocketAddr) -> Ipv6Addr {
    match endpoint.ip() {
        IpAddr::V4(addr) => addr.to_ipv6_mapped(),
        IpAddr::V6(addr) => addr,
    }
}

const UDP_HEADER_BYTES: u32 = 8;
/// RFC 9293 (3.1): a data offset of 15 words.
const MOST_TCP_HEADER_BYTES: u32 = 60;
const HOP_LIMIT: u8 = 64;
/// Flags and fragment offset of the IPv4 header with only DF set.
const DONT_FRAGMENT: u16 = 0x4000;
/// RFC 7323 (2.3): a larger shift count must be taken for this one.
const MAX_WINDOW_SHIFT: u8 = 14;

// Kinds of TCP options.
pub(super) const END: u8 = 0;
pub(super) const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
pub(super) const SACK: u8 = 5;
pub(super) const TIMESTAMPS: u8 = 8;
const ACCURATE_ECN_0: u8 = 172;
const ACCURATE_ECN_1: u8 = 174;

#[cfg(test)]
mod tests {
    use etherparse::{Ipv4Header, NetSlice, SlicedPacket, TcpHeader, TransportSlice};
    use proptest::prelude::*;

    use super::*;
    use crate::packet::{Body, Options, SackBlocks};

    fn endpoints(ip: IpVersion) -> Endpoints {
        match ip {
            IpVersion::Ipv4 => Endpoints {
                src: SocketAddr::from(([10, 0, 0, 1], 5001)),
                dst: SocketAddr::from(([192, 168, 1, 77], 40_000)),
            },
            IpVersion::Ipv6 => Endpoints {
                src: SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, 1], 5001)),
                dst: SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0xffff, 2], 40_000)),
            },
        }
    }

    /// The whole packet: header and a payload of zeros.
    fn encode(packet: &Packet) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_header(packet, endpoints(packet.ip()), 7, &mut bytes);
        bytes.resize(packet.len as usize, 0);
        bytes
    }

    fn parsed(bytes: &[u8]) -> Packet {
        let mut packet = Packet::default();
        parse(bytes, &mut packet);
        packet
    }

    fn why(bytes: &[u8]) -> Opaque {
        match parsed(bytes).kind() {
            Kind::Opaque(why) => why,
            Kind::Tcp => panic!("read as TCP"),
        }
    }

    fn data(ip: IpVersion, payload: u32) -> Packet {
        let mut packet = Packet {
            seq: 1000,
            ack: 2000,
            flags: Flags::ACK | Flags::PSH,
            window: 512,
            has_timestamps: true,
            ts_val: 11,
            ts_ecr: 12,
            payload,
            form: Form::TCP.with_ip(ip),
            ..Packet::default()
        };
        packet.len = ip.header_bytes() + tcp_header_bytes(&packet) + payload;
        packet
    }

    /// Timestamps and a SACK block without padding take 20 bytes, written 24: found by the fuzz target `ip_packet`.
    #[test]
    fn options_that_came_without_padding_do_not_outgrow_the_length_of_the_packet() {
        let bytes = [
            0x6c, 0x00, 0x00, 0x00, 0x00, 0x28, 0x06, 0x00, 0xff, 0x2a, 0x00, 0xff, 0x6c, 0x00, 0xfe, 0x01,
            0x48, 0x00, 0x5b, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00, 0xfe, 0x9b, 0x9b, 0x9b, 0x9b, 0x9b, 0x00,
            0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x9b, 0x9b, 0x9b, 0x00, 0x8c, 0x9b, 0x82, 0xab, 0xab,
            0xab, 0xab, 0x9b, 0xab, 0xab, 0x00, 0x56, 0x9b, 0x9b, 0x9b, 0xfb, 0x61, 0x08, 0x0a, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x01, 0x05, 0x9b, 0x05, 0x0a, 0x00, 0x57, 0x00, 0x00, 0x57, 0x05, 0x57, 0x01,
        ];
        for payload in [0, 2] {
            let mut bytes = bytes.to_vec();
            bytes[5] += payload as u8;
            bytes.resize(bytes.len() + payload, 0);
            let packet = parsed(&bytes);
            assert_eq!((packet.len, packet.options().sack.as_slice().len()), (80 + payload as u32, 1));
            let mut header = Vec::new();
            encode_header(&packet, endpoints(packet.ip()), 7, &mut header);
            assert_eq!((header.len(), header[5]), (84, 44 + payload as u8));
            header.resize(84 + payload, 0);
            assert_eq!(parsed(&header), Packet { len: 84 + payload as u32, ..packet });
        }
    }

    /// A data packet whose TCP options are `options`, a multiple of four bytes.
    fn with_options(flags: Flags, options: &[u8]) -> Packet {
        let mut bytes = encode(&Packet { flags, has_timestamps: false, ..data(IpVersion::Ipv4, 0) });
        bytes.truncate(40);
        bytes.extend_from_slice(options);
        bytes[3] = bytes.len() as u8;
        bytes[32] = (((20 + options.len()) / 4) << 4) as u8;
        parsed(&bytes)
    }

    #[test]
    fn a_datagram_may_lack_a_checksum_over_ipv4_alone() {
        for (ip, allowed) in [(IpVersion::Ipv4, true), (IpVersion::Ipv6, false)] {
            let mut bytes = Vec::new();
            encode_datagram(ip, Packet::ECT_0, endpoints(ip), 7, b"abc", &mut bytes);
            let sum = bytes.len() - 5..bytes.len() - 3;
            bytes[sum].fill(0);
            assert_eq!(checked_datagram(&bytes).is_some(), allowed, "{ip:?}");
        }
    }

    prop_compose! {
        fn tcp_fields()(
            numbers: (u32, u32, u32, u32, u16), flags in 0..0x200_u16, ecn in 0..4_u8, v6: bool,
            mss: u16, window_scale_plus_1 in 0..=15_u8, has_timestamps: bool, sack_permitted: bool,
            blocks in prop::collection::vec(any::<(u32, u32)>(), 0..=3), payload in 0..9000_u32,
            counters in prop::collection::vec(0..1_u64 << 24, 0..=3), order in 0..3_u8,
        ) -> Packet {
            let (seq, ack, ts_val, ts_ecr, window) = numbers;
            let mut packet = Packet { seq, ack, window, flags: Flags(flags), form: Form::TCP.with_ecn(ecn), payload, ..Packet::default() };
            packet.set_ip(if v6 { IpVersion::Ipv6 } else { IpVersion::Ipv4 });
            if packet.flags.has(Flags::SYN) {
                let options = Options { mss, window_scale_plus_1, sack_permitted, ..Options::default() };
                packet.options = (options != Options::default()).then(|| Box::new(options));
            } else {
                for (left, right) in blocks {
                    packet.options_mut().sack.push(left, right);
                }
            }
            if has_timestamps {
                (packet.has_timestamps, packet.ts_val, packet.ts_ecr) = (true, ts_val, ts_ecr);
            }
            let order = [None, Some(EcnOrder::Ect0First), Some(EcnOrder::Ect1First)][usize::from(order)];
            if let Some(order) = order {
                let option = EcnBytes::new(order, counters);
                if tcp_header_bytes(&packet) + option.padded_bytes() <= 60 {
                    packet.options_mut().ecn = option;
                }
            }
            packet.len = packet.ip().header_bytes() + tcp_header_bytes(&packet) + payload;
            packet
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(packet in tcp_fields()) {
            let mut header = Vec::new();
            encode_header(&packet, endpoints(packet.ip()), 7, &mut header);
            prop_assert_eq!(header.len() as u32, packet.ip().header_bytes() + tcp_header_bytes(&packet));
            prop_assert_eq!(parsed(&encode(&packet)), packet);
        }

        #[test]
        fn a_segment_with_its_octets_is_checked_and_no_bit_of_it_may_change(
            packet in tcp_fields(), seed: u64, flip: prop::sample::Index,
        ) {
            let payload: Vec<u8> = (0..packet.payload).map(|n| (seed >> (n % 57)) as u8).collect();
            let mut bytes = Vec::new();
            encode_segment(&packet, endpoints(packet.ip()), 7, &payload, &mut bytes);
            let range = checked_payload(&bytes);
            prop_assert_eq!(range.map(|range| bytes[range].to_vec()), Some(payload));
            // Bits that a checksum covers: not the first four octets of an IPv6 header, nor its hop limit.
            let from = if packet.ip() == IpVersion::Ipv6 { 8 } else { 0 };
            let at = from + flip.index(bytes.len() - from);
            bytes[at] ^= 1 << (seed % 8);
            prop_assert_eq!(checked_payload(&bytes), None);
        }

        #[test]
        fn a_datagram_is_read_by_another_implementation_and_checked(
            payload in prop::collection::vec(any::<u8>(), 0..300), ecn in 0..4_u8, v6: bool,
            flip: prop::sample::Index, bit in 0..8_u8,
        ) {
            let ip = if v6 { IpVersion::Ipv6 } else { IpVersion::Ipv4 };
            let mut bytes = Vec::new();
            encode_datagram(ip, ecn, endpoints(ip), 7, &payload, &mut bytes);
            let same = bytes.clone();
            let read = SlicedPacket::from_ip(&same).unwrap();
            let Some(TransportSlice::Udp(udp)) = read.transport else { panic!("no UDP") };
            prop_assert_eq!(udp.payload(), &payload[..]);
            let (start, header) = (bytes.len() - payload.len(), udp.to_header());
            let sum = match &read.net {
                Some(NetSlice::Ipv4(net)) => header.calc_checksum_ipv4(&net.header().to_header(), &payload),
                Some(NetSlice::Ipv6(net)) => header.calc_checksum_ipv6(&net.header().to_header(), &payload),
                _ => panic!("no IP"),
            };
            prop_assert_eq!(header.checksum, sum.unwrap());
            prop_assert_eq!(checked_datagram(&bytes), Some(start..bytes.len()));
            let packet = parsed(&bytes);
            prop_assert_eq!((packet.kind(), packet.ecn()), (Kind::Opaque(Opaque::OtherProtocol), ecn));
            // Bits that a checksum covers: not the first four octets of an IPv6 header, nor its hop limit.
            let from = if v6 { 8 } else { 0 };
            bytes[from + flip.index(start + payload.len() - from)] ^= 1 << bit;
            prop_assume!(bytes[start - 2..start] != [0; 2]);
            prop_assert_eq!(checked_datagram(&bytes), None);
        }

        #[test]
        fn checksums_agree_with_another_implementation(packet in tcp_fields()) {
            let bytes = encode(&packet);
            let at = packet.ip().header_bytes() as usize;
            let (tcp, payload) = TcpHeader::from_slice(&bytes[at..]).unwrap();
            let wanted = match packet.ip() {
                IpVersion::Ipv4 => {
                    let ip = Ipv4Header::from_slice(&bytes).unwrap().0;
                    prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
                    tcp.calc_checksum_ipv4_raw(ip.source, ip.destination, payload)
                }
                IpVersion::Ipv6 => {
                    let ip = Ipv6HeaderSlice::from_slice(&bytes).unwrap();
                    tcp.calc_checksum_ipv6_raw(ip.source(), ip.destination(), payload)
                }
            };
            prop_assert_eq!(tcp.checksum, wanted.unwrap());
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..200), version in prop::option::of(0x40..0x70_u8)
        ) {
            if let (Some(first), Some(version)) = (bytes.first_mut(), version) {
                *first = version;
            }
            parsed(&bytes);
            checked_payload(&bytes);
            checked_datagram(&bytes);
        }

        #[test]
        fn mutated_packets_never_panic_and_keep_consistent(
            packet in tcp_fields(), changes in prop::collection::vec((0..100_usize, any::<u8>()), 1..6), cut: u16
        ) {
            let mut bytes = encode(&packet);
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            bytes.truncate(bytes.len() - usize::from(cut) % 100 % bytes.len());
            let read = parsed(&bytes);
            prop_assert!(read.len as usize <= bytes.len());
            if read.is_tcp() {
                prop_assert!(read.ip().header_bytes() + 20 + read.payload <= read.len);
            }
        }
    }

    #[test]
    fn ue_flow_and_body_are_left_alone() {
        let body = Some(Box::new(Body { touched: true, ..Body::new(vec![1]) }));
        let mut packet = Packet { ue: 3, flow: 4, body: body.clone(), ..Packet::default() };
        packet.options_mut().mss = 5;
        parse(&encode(&data(IpVersion::Ipv4, 10)), &mut packet);
        assert_eq!(packet, Packet { ue: 3, flow: 4, body, ..data(IpVersion::Ipv4, 10) });
    }

    #[test]
    fn a_syn_is_encoded_byte_for_byte() {
        let mut syn = data(IpVersion::Ipv4, 0);
        syn.flags = Flags::SYN;
        *syn.options_mut() =
            Options { mss: 1460, window_scale_plus_1: 8, sack_permitted: true, ..Options::default() };
        syn.len = 60;
        let options = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 11, 0, 0, 0, 12, 1, 3, 3, 7];
        assert_eq!(encode(&syn)[40..], options);
        syn.has_timestamps = false;
        syn.len = 52;
        assert_eq!(encode(&syn)[40..], [2, 4, 5, 180, 1, 1, 4, 2, 1, 3, 3, 7]);
    }

    #[test]
    fn an_acknowledgment_is_encoded_byte_for_byte() {
        let mut ack = data(IpVersion::Ipv4, 0);
        ack.options_mut().sack.push(1, 2);
        ack.len += 12;
        let options = [1, 1, 8, 10, 0, 0, 0, 11, 0, 0, 0, 12, 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(encode(&ack)[40..], options);
    }

    #[test]
    fn the_counters_of_accurate_ecn_are_encoded_byte_for_byte() {
        let encoded = |order, counters: &[u64]| {
            let mut ack = Packet { has_timestamps: false, ..data(IpVersion::Ipv4, 0) };
            ack.options_mut().ecn = EcnBytes::new(order, counters.iter().copied());
            ack.len = 20 + tcp_header_bytes(&ack);
            encode(&ack)[40..].to_vec()
        };
        let all = encoded(EcnOrder::Ect0First, &[0x1_000_102, 3, 0xff_ffff]);
        assert_eq!(all, [1, 172, 11, 0, 1, 2, 0, 0, 3, 255, 255, 255]);
        assert_eq!(encoded(EcnOrder::Ect1First, &[258, 3]), [174, 8, 0, 1, 2, 0, 0, 3]);
        assert_eq!(encoded(EcnOrder::Ect0First, &[]), [1, 1, 172, 2]);
    }

    #[test]
    fn counters_of_accurate_ecn_have_their_order_and_as_many_as_are_whole_are_read() {
        let read = |options: &[u8]| with_options(Flags::ACK, options).options().ecn.by_mark();
        assert_eq!(read(&[174, 8, 0, 0, 7, 0, 0, 9]), [None, Some(9), Some(7)]);
        assert_eq!(read(&[1, 172, 11, 0, 0, 7, 0, 0, 9, 0, 1, 0]), [Some(7), Some(9), Some(256)]);
        // Of seven and of twelve octets.
        assert_eq!(read(&[1, 172, 7, 0, 0, 7, 5, 5]), [Some(7), None, None]);
        assert_eq!(read(&[172, 12, 0, 0, 7, 0, 0, 9, 0, 1, 0, 5]), [Some(7), Some(9), Some(256)]);
    }

    /// Timestamps, two SACK blocks and three counters take 39 octets, with padding between them 44.
    #[test]
    fn counters_without_room_for_padding_are_read_and_not_written() {
        let (stamps, counters) = ([8, 10, 0, 0, 0, 1, 0, 0, 0, 2], [172, 11, 0, 0, 1, 0, 0, 2, 0, 0, 3]);
        let mut sack = vec![5, 18];
        (1..=4_u32).for_each(|edge| sack.extend(edge.to_be_bytes()));
        let packet = with_options(Flags::ACK, &[&stamps[..], &sack, &counters, &[1]].concat());
        assert_eq!(packet.options().ecn.by_mark(), [Some(1), Some(2), Some(3)]);
        let header = encode(&packet);
        assert_eq!((tcp_header_bytes(&packet), header[32] >> 4), (52, 13));
        assert_eq!(parsed(&header).options().ecn.order(), None);
    }

    #[test]
    fn options_that_are_unknown_or_out_of_place_are_skipped() {
        // Kind 253 is for experiments; MSS outside a SYN; MSS of a wrong length; window shift 15.
        let packet =
            with_options(Flags::ACK, &[253, 4, 1, 2, 2, 4, 5, 180, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0]);
        assert!(packet.is_tcp());
        assert_eq!((packet.options().mss, packet.options().sack.as_slice()), (0, &[(1, 2)][..]));
        let syn = with_options(Flags::SYN, &[2, 5, 5, 180, 1, 3, 3, 15]);
        assert_eq!((syn.options().mss, syn.options().window_scale_plus_1), (0, 15));
    }

    #[test]
    fn a_fourth_sack_block_is_dropped() {
        let mut options = vec![1, 1, 5, 34];
        for edge in 1..=8_u32 {
            options.extend_from_slice(&edge.to_be_bytes());
        }
        let mut three = SackBlocks::default();
        assert!(three.push(1, 2) && three.push(3, 4) && three.push(5, 6));
        assert_eq!(with_options(Flags::ACK, &options).options().sack, three);
    }

    #[test]
    fn options_with_lying_lengths_are_malformed() {
        for options in [[2, 0, 0, 0], [1, 1, 1, 8], [8, 10, 0, 0], [2, 1, 0, 0]] {
            assert_eq!(
                with_options(Flags::SYN, &options).kind(),
                Kind::Opaque(Opaque::Malformed),
                "{options:?}"
            );
        }
    }

    #[test]
    fn lengths_that_lie_are_malformed_and_the_true_length_stays() {
        for ip in [IpVersion::Ipv4, IpVersion::Ipv6] {
            let good = encode(&data(ip, 100));
            for len in 0..good.len() {
                let packet = parsed(&good[..len]);
                assert_eq!((packet.kind(), packet.len), (Kind::Opaque(Opaque::Malformed), len as u32));
            }
            // Ethernet padding after the packet does not count.
            let padded = parsed(&[&good[..], &[0; 6]].concat());
            assert_eq!(padded, data(ip, 100));
            let mut bad_offset = good;
            bad_offset[ip.header_bytes() as usize + 12] = 0x40;
            assert_eq!(why(&bad_offset), Opaque::Malformed);
        }
        let mut short = encode(&data(IpVersion::Ipv4, 0));
        short[3] = 19;
        assert_eq!(why(&short), Opaque::Malformed);
        short[0] = 0x55;
        assert_eq!(why(&short), Opaque::Malformed);
    }

    #[test]
    fn what_is_no_readable_tcp_says_why() {
        let good = encode(&data(IpVersion::Ipv4, 100));
        let changed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            bytes
        };
        assert_eq!(why(&changed(9, 17)), Opaque::OtherProtocol);
        assert_eq!(why(&changed(9, 50)), Opaque::Encrypted);
        assert_eq!(why(&changed(9, 51)), Opaque::Encrypted);
        assert_eq!(why(&changed(6, 0x20)), Opaque::Fragment);
        assert_eq!(why(&changed(7, 1)), Opaque::Fragment);
        let fragment = parsed(&changed(7, 1));
        assert_eq!(
            fragment,
            Packet {
                len: 152,
                form: Form::TCP.with_kind(Kind::Opaque(Opaque::Fragment)),
                ..Packet::default()
            }
        );
    }

    #[test]
    fn ipv6_extension_headers_are_skipped_but_for_fragments() {
        let plain = data(IpVersion::Ipv6, 100);
        let extended = |header: u8| {
            let mut bytes = encode(&plain);
            let next = std::mem::replace(&mut bytes[6], header);
            bytes.splice(40..40, [next, 0, 1, 4, 0, 0, 0, 0]);
            bytes[5] += 8;
            bytes
        };
        for header in [0, 43, 60] {
            assert_eq!(parsed(&extended(header)), Packet { len: plain.len + 8, ..plain.clone() });
        }
        assert_eq!(why(&extended(44)), Opaque::Fragment);
        assert_eq!(why(&extended(50)), Opaque::Encrypted);
        assert_eq!(why(&extended(51)), Opaque::Encrypted);
        assert_eq!(why(&extended(59)), Opaque::OtherProtocol);
    }

    #[test]
    fn an_opaque_packet_becomes_udp_of_its_length() {
        for ip in [IpVersion::Ipv4, IpVersion::Ipv6] {
            let opaque = Packet {
                len: 300,
                form: Form::TCP.with_ip(ip).with_kind(Kind::Opaque(Opaque::OtherProtocol)),
                ..Packet::default()
            };
            assert_eq!(parsed(&encode(&opaque)), opaque);
            let mut header = Vec::new();
            encode_header(&Packet { len: 5, ..opaque }, endpoints(ip), 0, &mut header);
            assert_eq!(header.len() as u32, ip.header_bytes() + UDP_HEADER_BYTES);
        }
    }

    #[test]
    fn addresses_of_the_other_ip_version_are_mapped() {
        let mut bytes = Vec::new();
        encode_header(&data(IpVersion::Ipv6, 0), endpoints(IpVersion::Ipv4), 0, &mut bytes);
        assert_eq!(bytes[8..24], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]);
        bytes.clear();
        encode_header(&data(IpVersion::Ipv4, 0), endpoints(IpVersion::Ipv6), 0, &mut bytes);
        assert_eq!(bytes[12..20], [0; 8]);
    }
}
