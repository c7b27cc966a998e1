//! Fragments, put together again by another implementation.

use crate::octets::ones_complement;
use airpath_live::fragments::fragments;
use etherparse::SlicedPacket;
use etherparse::defrag::IpDefragPool;
use proptest::prelude::*;

const UDP: u8 = 17;
const DESTINATION_OPTIONS: u8 = 60;

fn ipv4(options: &[u8], place: u16, data: &[u8]) -> Vec<u8> {
    let words = (20 + options.len()) / 4;
    let length = ((20 + options.len() + data.len()) as u16).to_be_bytes();
    let place = place.to_be_bytes();
    let mut header =
        vec![0x40 | words as u8, 0, length[0], length[1], 7, 7, place[0], place[1], 64, UDP, 0, 0];
    header.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    header.extend(options);
    let checksum = (!ones_complement(&[&header])).to_be_bytes();
    header[10..12].copy_from_slice(&checksum);
    [&header, data].concat()
}

fn ipv6(extension: bool, data: &[u8]) -> Vec<u8> {
    let options: &[u8] = if extension { &[UDP, 0, 1, 4, 0, 0, 0, 0] } else { &[] };
    let length = ((options.len() + data.len()) as u16).to_be_bytes();
    let next = if extension { DESTINATION_OPTIONS } else { UDP };
    let mut packet = vec![0x60, 0, 0, 0, length[0], length[1], next, 64];
    packet.extend([[1; 16], [2; 16]].concat());
    [&packet, options, data].concat()
}

/// The data of a packet that was fragmented.
fn put_together(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut pool = IpDefragPool::<(), ()>::new();
    let mut whole = None;
    for part in parts {
        assert!(whole.is_none());
        let part = SlicedPacket::from_ip(part).unwrap();
        whole = pool.process_sliced_packet(&part, (), ()).unwrap();
    }
    whole.unwrap().payload
}

proptest! {
    #[test]
    fn fragments_are_short_and_become_the_packet_again(
        data in prop::collection::vec(any::<u8>(), 1..9000),
        mtu in 576_usize..1500,
        with_options: bool,
    ) {
        // A timestamp, which is in the first fragment alone, and a router alert, which is in all.
        let options: &[u8] = if with_options { &[68, 4, 5, 0, 148, 4, 0, 0] } else { &[] };
        for (packet, header) in [(ipv4(options, 0, &data), 20 + options.len()), (ipv6(with_options, &data), 40)] {
            let parts = fragments(&packet, mtu, 9);
            if packet.len() <= mtu {
                prop_assert_eq!(parts, vec![packet]);
                continue;
            }
            let least = (packet.len() - header).div_ceil(mtu - header);
            prop_assert!((least..=least + 1).contains(&parts.len()));
            prop_assert!(parts.iter().all(|part| part.len() <= mtu));
            prop_assert_eq!(put_together(&parts), data.clone());
        }
    }
}

#[test]
fn options_that_are_not_copied_are_in_the_first_fragment_alone() {
    let parts = fragments(&ipv4(&[68, 4, 5, 0, 148, 4, 0, 0], 0, &[0; 1000]), 576, 0);
    assert_eq!(parts[0][20..28], [68, 4, 5, 0, 148, 4, 0, 0]);
    assert_eq!(parts[1][20..28], [1, 1, 1, 1, 148, 4, 0, 0]);
    assert!(parts.iter().all(|part| ones_complement(&[&part[..28]]) == 0xffff));
}

#[test]
fn a_fragment_is_fragmented_in_its_place() {
    let parts = fragments(&ipv4(&[], 0x2000 | 100, &[0; 1200]), 620, 0);
    let places: Vec<_> = parts.iter().map(|part| u16::from_be_bytes([part[6], part[7]])).collect();
    assert_eq!(places, [0x2000 | 100, 0x2000 | 175]);
}

#[test]
fn what_may_not_or_cannot_be_fragmented_is_left_as_it_is() {
    let mut fragment = ipv6(false, &[0; 2000]);
    fragment[6] = 44;
    let short_header = [&[0x41], &ipv4(&[], 0, &[0; 2000])[1..]].concat();
    for packet in
        [ipv4(&[], 0x4000, &[0; 2000]), ipv4(&[], 8190, &[0; 2000]), fragment, short_header, vec![0; 2000]]
    {
        assert!(fragments(&packet, 1280, 0) == [packet]);
    }
    assert_eq!(fragments(&[], 0, 0), [[0; 0]]);
    assert_eq!(fragments(&[0x45; 30], 24, 0).len(), 1);
}
