//! Packets towards the address that received most bytes: a recording of the link in front of it.
//!
//! Copies of a packet on several interfaces are not distinguished; a capture of one interface has none.

use crate::file::{FileError, Source};
use crate::link::{Carries, ip_packet};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Packets towards one address.
#[derive(Debug)]
pub struct Arrivals {
    /// The address.
    pub to: IpAddr,
    /// Time of each, nanoseconds since 1970, and its length at IP level in bytes.
    pub packets: Vec<(u64, u32)>,
}

/// Reads the packets of a capture towards the address that received most bytes; `None` if it has no IP packets.
///
/// # Errors
/// As [`crate::analyze_file`].
pub fn arrivals(path: &Path) -> Result<Option<Arrivals>, FileError> {
    let mut source = Source::open(BufReader::new(File::open(path)?))?;
    let mut by_address: BTreeMap<IpAddr, (u64, Vec<(u64, u32)>)> = BTreeMap::new();
    while let Some(record) = source.next_record()? {
        let missing =
            record.original_len.saturating_sub(u32::try_from(record.data.len()).unwrap_or(u32::MAX));
        let Carries::Ip(packet) = ip_packet(record.link_type, record.data, missing) else { continue };
        let Some((to, bytes)) = destination(packet.captured) else { continue };
        let (sum, packets) = by_address.entry(to).or_default();
        *sum += u64::from(bytes);
        packets.push((record.at_nanos, bytes));
    }
    let most = by_address.into_iter().max_by_key(|(_, (bytes, _))| *bytes);
    Ok(most.map(|(to, (_, packets))| Arrivals { to, packets }))
}

/// Destination and length of an IP packet, by its header.
fn destination(header: &[u8]) -> Option<(IpAddr, u32)> {
    let length = |at: usize| Some(u32::from(u16::from_be_bytes(*header.get(at..)?.first_chunk::<2>()?)));
    match header.first()? >> 4 {
        4 => Some((Ipv4Addr::from(*header.get(16..)?.first_chunk::<4>()?).into(), length(2)?)),
        6 => Some((Ipv6Addr::from(*header.get(24..)?.first_chunk::<16>()?).into(), 40 + length(4)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destination_and_length_are_those_of_the_header() {
        let mut packet = [0_u8; 40];
        (packet[0], packet[2], packet[3]) = (0x45, 0x05, 0xdc);
        packet[16..20].copy_from_slice(&[10, 0, 0, 2]);
        assert_eq!(destination(&packet), Some(("10.0.0.2".parse().unwrap(), 1500)));
        (packet[0], packet[4], packet[5]) = (0x60, 0x00, 0x64);
        packet[24..40].copy_from_slice(&[0, 1].repeat(8));
        assert_eq!(destination(&packet), Some(("1:1:1:1:1:1:1:1".parse().unwrap(), 140)));
        assert_eq!(destination(&packet[..20]), None);
        assert_eq!(destination(&[0x10; 40]), None);
    }
}
