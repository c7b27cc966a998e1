//! Writes changed header fields back into the bytes of a packet that came from a device.
//!
//! Only fields that a box may change are written: TCP's sequence and acknowledgment number, flags, window and
//! timestamps, the ECN field of the IP header; removed SACK blocks become NOPs. All other bytes stay unchanged.
//! Checksums are updated, not recomputed (RFC 1624, equation 3): a wrong checksum stays wrong, so the receiver still
//! detects it.

use super::ip::{END, NOP, SACK, TIMESTAMPS, tcp_offset};
use crate::packet::{Flags, IpVersion, Packet};
use std::ops::Range;

/// Writes the fields of `packet` into the `bytes` that it was parsed from. For packets other than TCP only the ECN
/// field is written.
pub fn rewrite(bytes: &mut [u8], packet: &Packet) {
    let tcp = tcp_offset(bytes).filter(|_| packet.is_tcp());
    match packet.ip() {
        IpVersion::Ipv4 => change(bytes, 0..20, IPV4_CHECKSUM, |header| {
            header[1] = header[1] & !3 | packet.ecn() & 3;
        }),
        IpVersion::Ipv6 => {
            if let Some(byte) = bytes.get_mut(1) {
                *byte = *byte & !0x30 | (packet.ecn() & 3) << 4;
            }
        }
    }
    let Some(start) = tcp else { return };
    let header_bytes = bytes.get(start + 12).map_or(0, |offset| usize::from(offset >> 4) * 4);
    change(bytes, start..start + header_bytes, TCP_CHECKSUM, |header| {
        header[4..8].copy_from_slice(&packet.seq.to_be_bytes());
        header[8..12].copy_from_slice(&packet.ack.to_be_bytes());
        header[12] = header[12] & !1 | (packet.flags.0 >> 8) as u8 & 1;
        header[13] = packet.flags.0 as u8;
        header[14..16].copy_from_slice(&packet.window.to_be_bytes());
        if !packet.has_blocks() && !packet.flags.has(Flags::SYN) {
            blank_blocks(&mut header[20..]);
        }
        if packet.has_timestamps
            && let Some(at) = timestamps(&header[20..])
        {
            let (val, ecr) = (packet.ts_val.to_be_bytes(), packet.ts_ecr.to_be_bytes());
            header[20 + at..24 + at].copy_from_slice(&val);
            header[24 + at..28 + at].copy_from_slice(&ecr);
        }
    });
}

/// Applies `write` to the header in `range` and updates its checksum, two bytes at `checksum`.
fn change(bytes: &mut [u8], range: Range<usize>, checksum: usize, write: impl FnOnce(&mut [u8])) {
    let Some(header) = bytes.get_mut(range).filter(|header| header.len() >= 20) else { return };
    let before = sum(header);
    write(header);
    let after = sum(header);
    if after == before {
        // Keeps the present one of the two zeros of one's complement.
        return;
    }
    let old = u32::from(u16::from_be_bytes([header[checksum], header[checksum + 1]]));
    // HC' = ~(~HC + ~m + m'), over the whole header instead of single words.
    let new = !fold((!old & 0xffff) + (!before & 0xffff) + after) as u16;
    header[checksum..checksum + 2].copy_from_slice(&new.to_be_bytes());
}

/// One's complement sum of 16-bit words.
fn sum(bytes: &[u8]) -> u32 {
    fold(bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum())
}

fn fold(mut sum: u32) -> u32 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Position of TSval in `options`.
fn timestamps(options: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *options.get(at..)? {
            [NOP, ..] => at += 1,
            [TIMESTAMPS, 10, ..] if options.len() >= at + 10 => return Some(at + 2),
            [END, ..] | [] | [_] => return None,
            [_, len, ..] => at += usize::from(len.max(2)),
        }
    }
}

/// Overwrites readable SACK options with NOPs.
fn blank_blocks(options: &mut [u8]) {
    let mut at = 0;
    while let Some(&kind) = options.get(at) {
        let len = match (kind, options.get(at + 1)) {
            (NOP, _) => 1,
            (END, _) | (_, None) => return,
            (_, Some(len)) => usize::from((*len).max(2)),
        };
        let Some(option) = options.get_mut(at..at + len) else { return };
        if kind == SACK && len > 2 && len % 8 == 2 {
            option.fill(NOP);
        }
        at += len;
    }
}

/// Offsets of the checksums within their headers.
const IPV4_CHECKSUM: usize = 10;
const TCP_CHECKSUM: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;
    use crate::wire::{Endpoints, encode_header, parse};
    use etherparse::{Ipv4Header, PacketHeaders, TransportHeader};
    use proptest::prelude::*;
    use std::net::SocketAddr;

    /// Headers that end too early, of another version, or whose checksum is the other zero.
    #[test]
    fn what_was_not_changed_is_written_back_as_it_was() {
        let mut whole = bytes(IpVersion::Ipv4, true);
        whole[IPV4_CHECKSUM..IPV4_CHECKSUM + 2].fill(0xff);
        whole[20 + TCP_CHECKSUM..20 + TCP_CHECKSUM + 2].fill(0xff);
        let too_long = [&[0x45, 3, 0xff, 0xff], &whole[4..]].concat();
        let other = [&[0x75], &whole[1..]].concat();
        let stamps = |value: u8| [NOP, NOP, TIMESTAMPS, 10, value, 0, 0, 0, 0, 0, 0, 0];
        let mut twice = [&whole[..40], &stamps(1), &stamps(2)].concat();
        (twice[3], twice[20 + 12]) = (64, 11 << 4);
        for octets in [whole, too_long, other, twice, vec![0x6a, 0x7f, 1], vec![0x60; 39], vec![0x45], vec![]]
        {
            let (mut packet, mut same) = (Packet::default(), octets.clone());
            parse(&octets, &mut packet);
            rewrite(&mut same, &packet);
            assert_eq!(same, octets);
        }
    }

    /// A packet with payload, and with options in front of the timestamps that `Packet` has no field for.
    fn bytes(ip: IpVersion, odd: bool) -> Vec<u8> {
        let mut packet = Packet {
            seq: 1,
            ack: 2,
            flags: Flags::ACK,
            window: 3,
            form: Form::TCP.with_ip(ip),
            payload: 9,
            ..Packet::default()
        };
        packet.len = ip.header_bytes() + 20 + 9;
        let v6: SocketAddr = "[fd00::1]:80".parse().unwrap();
        let endpoints = match ip {
            IpVersion::Ipv4 => {
                Endpoints { src: "10.0.0.1:80".parse().unwrap(), dst: "10.0.0.2:99".parse().unwrap() }
            }
            IpVersion::Ipv6 => Endpoints { src: v6, dst: v6 },
        };
        let mut bytes = Vec::new();
        encode_header(&packet, endpoints, 7, &mut bytes);
        // An experimental option, then timestamps at an odd or even place.
        let mut options = vec![253, 4 + u8::from(odd), 1, 2];
        options.extend(if odd { &[3][..] } else { &[] });
        options.extend([8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        options.resize(16, 1);
        bytes.extend_from_slice(&options);
        bytes.extend_from_slice(b"a payload");
        let (total, tcp) = (bytes.len(), ip.header_bytes() as usize);
        bytes[tcp + 12] = 9 << 4;
        bytes[tcp + 12] |= 0x0e; // Reserved bits, which must stay.
        let length = if ip == IpVersion::Ipv4 { 2 } else { 4 };
        let value = if ip == IpVersion::Ipv4 { total } else { total - 40 };
        bytes[length..length + 2].copy_from_slice(&(value as u16).to_be_bytes());
        checksums(&mut bytes, true);
        bytes
    }

    #[test]
    fn blocks_that_were_taken_out_become_nops_and_all_others_stay() {
        for ip in [IpVersion::Ipv4, IpVersion::Ipv6] {
            let mut bytes = bytes(ip, false);
            let at = ip.header_bytes() as usize;
            // 12 octets of options, 10 of them a SACK block; the timestamps of `bytes` make room.
            bytes[at + 20..at + 36].copy_from_slice(&[1, 253, 2, 5, 10, 0, 0, 0, 9, 0, 0, 0, 10, 253, 2, 1]);
            checksums(&mut bytes, true);
            let mut packet = Packet::default();
            parse(&bytes, &mut packet);
            assert_eq!(packet.options().sack.as_slice(), [(9, 10)]);
            let mut same = bytes.clone();
            rewrite(&mut same, &packet);
            assert_eq!(same, bytes);
            packet.hide_blocks();
            rewrite(&mut bytes, &packet);
            assert_eq!(bytes[at + 20..at + 36], [1, 253, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 253, 2, 1]);
            assert!(checksums(&mut bytes, false));
            assert_eq!(bytes[at + 36..], same[at + 36..]);
        }
    }

    /// Whether the checksums are correct, by another implementation; sets them if `set`.
    fn checksums(bytes: &mut [u8], set: bool) -> bool {
        let is_v4 = bytes[0] >> 4 == 4;
        let at = if is_v4 { 20 } else { 40 };
        let mut right = true;
        if is_v4 {
            let header = Ipv4Header::from_slice(bytes).unwrap().0;
            right &= header.header_checksum == header.calc_header_checksum();
            if set {
                let sum = header.calc_header_checksum().to_be_bytes();
                bytes[10..12].copy_from_slice(&sum);
            }
        }
        // etherparse forgets reserved bits: sum up by hand over pseudo header and segment.
        let mut whole = bytes[if is_v4 { 12 } else { 8 }..at].to_vec();
        whole.extend_from_slice(&((bytes.len() - at) as u32).to_be_bytes());
        whole.extend_from_slice(&[0, 0, 0, 6]);
        whole.extend_from_slice(&bytes[at..]);
        if set {
            let place = whole.len() - (bytes.len() - at) + 16;
            whole[place..place + 2].fill(0);
            let value = (!sum(&whole) as u16).to_be_bytes();
            bytes[at + 16..at + 18].copy_from_slice(&value);
            return true;
        }
        right && sum(&whole) == 0xffff
    }

    proptest! {
        #[test]
        fn what_was_changed_reads_back_and_nothing_else_moved(
            v6: bool, odd: bool, numbers: (u32, u32, u32, u32, u16), flags in 0..0x200_u16, ecn in 0..4_u8,
        ) {
            let ip = if v6 { IpVersion::Ipv6 } else { IpVersion::Ipv4 };
            let before = bytes(ip, odd);
            let mut packet = Packet::default();
            parse(&before, &mut packet);
            prop_assert!(packet.is_tcp() && packet.has_timestamps);
            (packet.seq, packet.ack, packet.ts_val, packet.ts_ecr, packet.window) = numbers;
            packet.flags = Flags(flags);
            packet.set_ecn(ecn);
            let mut after = before.clone();
            rewrite(&mut after, &packet);
            let mut read = Packet::default();
            parse(&after, &mut read);
            // A SYN flag makes options of the header readable that were not before; there are none here.
            prop_assert_eq!(&read, &packet);
            prop_assert!(checksums(&mut after, false));
            let at = ip.header_bytes() as usize;
            prop_assert_eq!(&after[at + 36..], &before[at + 36..]);
            prop_assert_eq!(after[at + 12] & 0xfe, before[at + 12] & 0xfe);
            prop_assert_eq!(&after[at + 20..at + 24], &before[at + 20..at + 24]);
        }

        #[test]
        fn a_wrong_checksum_stays_wrong(at in 40..61_usize, v6: bool) {
            let mut bytes = bytes(if v6 { IpVersion::Ipv6 } else { IpVersion::Ipv4 }, false);
            let last = bytes.len() - 1;
            bytes[at.min(last).max(last - 8)] ^= 0x40;
            let mut packet = Packet::default();
            parse(&bytes, &mut packet);
            packet.window ^= 77;
            rewrite(&mut bytes, &packet);
            prop_assert!(!checksums(&mut bytes, false));
        }

        #[test]
        fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..90), v in 0x40..0x70_u8) {
            if let Some(first) = bytes.first_mut() {
                *first = v;
            }
            let mut packet = Packet::default();
            parse(&bytes, &mut packet);
            packet.ts_val = 9;
            rewrite(&mut bytes, &packet);
            // Also with a packet that does not belong to these bytes.
            rewrite(&mut bytes, &Packet { has_timestamps: true, ..Packet::default() });
        }
    }

    #[test]
    fn unchanged_fields_leave_the_bytes_alone() {
        for (ip, odd) in [(IpVersion::Ipv4, false), (IpVersion::Ipv4, true), (IpVersion::Ipv6, true)] {
            let mut written = bytes(ip, odd);
            let mut packet = Packet::default();
            parse(&written, &mut packet);
            rewrite(&mut written, &packet);
            assert_eq!(written, bytes(ip, odd));
            // The bytes are a TCP packet to others too.
            let read = PacketHeaders::from_ip_slice(&written).unwrap();
            assert!(matches!(read.transport, Some(TransportHeader::Tcp(_))));
        }
    }
}
