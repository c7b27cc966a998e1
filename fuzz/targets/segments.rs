//! Segmentation offload: any header in front of any octets is segmented into valid packets, and segmenting a merged
//! packet restores the original ones.
#![no_main]

use airpath_core::packet::{Flags, Form, IpVersion, Packet};
use airpath_core::wire::{Endpoints, encode_segment};
use airpath_live::segments::{Large, MOST_BYTES, Run};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// As read from a device with offloads: a header of ten octets, and a packet.
    read: &'a [u8],
    packets: Vec<Written<'a>>,
    is_ipv6: bool,
}

#[derive(Arbitrary, Debug)]
enum Written<'a> {
    Octets(&'a [u8]),
    /// The next segment of a flow, or not quite.
    Segment {
        length: u16,
        flags: u8,
        skip: bool,
        ecn: u8,
        id: Option<u16>,
        damage: Option<u16>,
    },
}

/// Cuts what a device hands over, and returns the packets.
fn cut(read: &[u8]) -> Vec<Vec<u8>> {
    let mut large = Large::new(true);
    let length = read.len().min(large.buffer().len());
    large.buffer()[..length].copy_from_slice(&read[..length]);
    large.fill(length);
    let mut packets = Vec::new();
    while !large.is_empty() {
        let mut packet = Vec::new();
        large.take(&mut packet);
        assert!(packet.len() <= MOST_BYTES && packets.len() <= MOST_BYTES);
        packets.push(packet);
    }
    packets
}

fn check_run(run: &mut Run, joined: &mut Vec<Vec<u8>>) {
    if !joined.is_empty() {
        assert_eq!(usize::from(run.packets()), joined.len());
        assert_eq!(cut(run.take()), *joined);
        joined.clear();
    }
}

fuzz_target!(|input: Input<'_>| {
    cut(input.read);
    let (ip, ends) = if input.is_ipv6 {
        (IpVersion::Ipv6, ["[fd00::1]:80", "[fd00::2]:4000"])
    } else {
        (IpVersion::Ipv4, ["10.0.0.1:80", "10.0.0.2:4000"])
    };
    let [src, dst] = ends.map(|end| end.parse().unwrap());
    let (mut seq, mut next_id) = (u32::MAX - 5000, u16::MAX - 2);
    let (mut run, mut joined) = (Run::new(true), Vec::new());
    for written in input.packets.into_iter().take(100) {
        let packet = match written {
            Written::Octets(octets) => octets[..octets.len().min(MOST_BYTES)].to_vec(),
            Written::Segment { length, flags, skip, ecn, id, damage } => {
                seq = seq.wrapping_add(skip.into());
                let payload = u32::from(length % 1449);
                let flags = Flags(u16::from(flags)) | Flags::ACK;
                let packet = Packet {
                    seq,
                    payload,
                    flags,
                    form: Form::TCP.with_ip(ip).with_ecn(ecn),
                    ..Packet::default()
                };
                let mut octets = Vec::new();
                let id = id.unwrap_or(next_id);
                encode_segment(&packet, Endpoints { src, dst }, id, &vec![9; payload as usize], &mut octets);
                if let Some(octet) = damage.and_then(|at| octets.get_mut(usize::from(at))) {
                    *octet ^= 1;
                }
                (seq, next_id) = (seq.wrapping_add(payload), id.wrapping_add(1));
                octets
            }
        };
        if packet.is_empty() {
            continue;
        }
        if !run.add(&packet) {
            check_run(&mut run, &mut joined);
            assert!(run.add(&packet), "the first packet of a run is taken");
        }
        joined.push(packet);
    }
    check_run(&mut run, &mut joined);
});
