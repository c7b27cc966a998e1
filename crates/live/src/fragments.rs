//! Fragmentation of packets that are longer than the MTU of the device that they leave by: RFC 791 (3.2), RFC 8200 (4.5).

use super::segments::{fold, sum};

/// IPv4: this packet may not be fragmented, and there are more fragments.
const DONT_FRAGMENT: u16 = 0x4000;
const MORE: u16 = 0x2000;
/// Place of a fragment, in eight octets.
const OFFSET: u16 = 0x1fff;
const NO_OPERATION: u8 = 1;
/// IPv6 headers that are repeated in every fragment: hop-by-hop options, routing, destination options.
const REPEATED: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;
const FRAGMENT_BYTES: usize = 8;

/// Splits an IP packet into fragments of at most `mtu` octets, in order; `identification` is used by IPv6 alone.
///
/// A packet is returned as it is if it is short enough, may not be fragmented or cannot be read.
pub fn fragments(packet: &[u8], mtu: usize, identification: u32) -> Vec<Vec<u8>> {
    let fragments = match packet.first().map(|first| first >> 4) {
        _ if packet.len() <= mtu => None,
        Some(4) => fragments_v4(packet, mtu),
        Some(6) => fragments_v6(packet, mtu, identification),
        _ => None,
    };
    fragments.unwrap_or_else(|| vec![packet.to_vec()])
}

fn fragments_v4(packet: &[u8], mtu: usize) -> Option<Vec<Vec<u8>>> {
    let length = usize::from(packet[0] & 15) * 4;
    let (header, data) = packet.split_at_checked(length).filter(|(header, _)| header.len() >= 20)?;
    let place = u16::from_be_bytes([header[6], header[7]]);
    let ends_beyond = usize::from(place & OFFSET) * 8 + data.len() > usize::from(u16::MAX);
    if place & DONT_FRAGMENT != 0 || ends_beyond {
        return None;
    }
    let mut header = header.to_vec();
    let fragment = |(at, part, is_last): (usize, &[u8], bool)| {
        let more = if is_last { 0 } else { MORE };
        let place = (place + (at / 8) as u16) | more;
        let octets = (header.len() + part.len()) as u16;
        header[2..4].copy_from_slice(&octets.to_be_bytes());
        header[6..8].copy_from_slice(&place.to_be_bytes());
        header[10..12].fill(0);
        let checksum = !fold(sum(&header));
        header[10..12].copy_from_slice(&checksum.to_ne_bytes());
        let whole = [&header, part].concat();
        // Only the first fragment has all options.
        drop_options(&mut header[20..]);
        whole
    };
    Some(parts(data, mtu.checked_sub(length)?)?.map(fragment).collect())
}

/// Overwrites options without the copied flag: RFC 791 (3.1).
fn drop_options(mut options: &mut [u8]) {
    while let [kind, rest @ ..] = options {
        let length = match *kind {
            0 => return,
            NO_OPERATION => 1,
            _ => rest.first().map_or(2, |length| usize::from(*length).max(2)),
        };
        let length = length.min(options.len());
        let (option, behind) = options.split_at_mut(length);
        if option[0] & 0x80 == 0 {
            option.fill(NO_OPERATION);
        }
        options = behind;
    }
}

fn fragments_v6(packet: &[u8], mtu: usize, identification: u32) -> Option<Vec<Vec<u8>>> {
    let (mut names_next, mut length) = (6, 40);
    while REPEATED.contains(packet.get(names_next)?) {
        names_next = length;
        length += (usize::from(*packet.get(length + 1)?) + 1) * 8;
    }
    let (repeated, data) = packet.split_at_checked(length)?;
    let next = repeated[names_next];
    if next == FRAGMENT {
        return None;
    }
    let mut header = [repeated, &[next, 0, 0, 0], &identification.to_be_bytes()].concat();
    header[names_next] = FRAGMENT;
    let fragment = |(at, part, is_last): (usize, &[u8], bool)| {
        let octets = (header.len() - 40 + part.len()) as u16;
        header[4..6].copy_from_slice(&octets.to_be_bytes());
        header[length + 2..length + 4].copy_from_slice(&(at as u16 | u16::from(!is_last)).to_be_bytes());
        [&header, part].concat()
    };
    Some(parts(data, mtu.checked_sub(length + FRAGMENT_BYTES)?)?.map(fragment).collect())
}

/// Parts of data that begin at a multiple of eight octets and have at most `room`: where each begins, its octets, and
/// whether it is the last.
fn parts(data: &[u8], room: usize) -> Option<impl Iterator<Item = (usize, &[u8], bool)>> {
    let room = room & !7;
    let chunks = (room > 0).then(|| data.chunks(room))?;
    Some((0..).step_by(room).zip(chunks).map(|(at, part)| (at, part, at + part.len() == data.len())))
}
