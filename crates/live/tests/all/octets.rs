//! Packets as octets: correct ones, and such as are spoiled in every way that comes to mind; and devices to feed them
//! from.

use airpath_core::packet::{Dir, Flags, Form, IpVersion, Kind, Opaque, Packet};
use airpath_core::time::Instant;
use airpath_core::wire::{Endpoints, encode_header};
use airpath_live::driver::{Driver, World};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Number of the interface over which all packets go.
pub const UE: u16 = 0;

/// Devices with packets in them, and a clock that is moved by hand.
#[derive(Default)]
pub struct Devices {
    pub now: Instant,
    /// Packets not yet read, in order of arrival time.
    pub coming: VecDeque<(Instant, Dir, Vec<u8>)>,
    /// Read, and written, by direction.
    pub read: [Vec<Vec<u8>>; 2],
    pub written: [Vec<Vec<u8>>; 2],
    last_due: Instant,
}

impl World for Devices {
    fn now(&mut self) -> Instant {
        self.now
    }

    /// As a TUN device does: a packet arrives when it is read.
    fn receive(&mut self, _due: Option<Instant>, bytes: &mut Vec<u8>) -> Option<(Instant, Dir, u16)> {
        self.coming.front().filter(|(at, ..)| *at <= self.now)?;
        let (_, dir, packet) = self.coming.pop_front()?;
        bytes.clone_from(&packet);
        self.read[dir.index()].push(packet);
        Some((self.now, dir, UE))
    }

    fn send(&mut self, at: Instant, dir: Dir, _interface: u16, bytes: &[u8]) {
        assert!(at <= self.now && at >= self.last_due, "left at {at:?}, now {:?}", self.now);
        self.last_due = at;
        self.written[dir.index()].push(bytes.to_vec());
    }
}

/// Turns until nothing is left to do now.
pub fn settle(driver: &mut Driver, devices: &mut Devices) -> Option<Instant> {
    for _ in 0..10_000 {
        let waiting = devices.coming.front().is_some_and(|(at, ..)| *at <= devices.now);
        let due = driver.turn(devices);
        if !waiting && due.is_none_or(|at| at > devices.now) {
            return due;
        }
    }
    panic!("the driver does not come to an end at {:?}", devices.now);
}

/// A correct packet: TCP if it has flags, else UDP; with checksums for the payload it has.
pub fn real(v6: bool, ports: (u16, u16), seed: &Packet, payload: &[u8]) -> Vec<u8> {
    let ip = if v6 { IpVersion::Ipv6 } else { IpVersion::Ipv4 };
    let mut packet = Packet { form: seed.form.with_ip(ip), payload: payload.len() as u32, ..seed.clone() };
    let transport = if packet.is_tcp() { airpath_core::wire::tcp_header_bytes(&packet) } else { 8 };
    packet.len = ip.header_bytes() + transport + packet.payload;
    let address = |host: u8, port| {
        let text = if v6 { format!("[fd00::{host}]:{port}") } else { format!("10.77.0.{host}:{port}") };
        text.parse::<SocketAddr>().unwrap()
    };
    let endpoints = Endpoints { src: address(1, ports.0), dst: address(2, ports.1) };
    let mut bytes = Vec::new();
    encode_header(&packet, endpoints, 1, &mut bytes);
    bytes.extend_from_slice(payload);
    let at = ip.header_bytes() as usize + if packet.is_tcp() { 16 } else { 6 };
    bytes[at..at + 2].fill(0);
    let sum = !transport_sum(&bytes);
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// RFC 1071 over pseudo header and segment, by hand: 0xffff if the checksum in it is right.
pub fn transport_sum(bytes: &[u8]) -> u16 {
    let (addresses, start, protocol) =
        if bytes[0] >> 4 == 4 { (12..20, 20, bytes[9]) } else { (8..40, 40, bytes[6]) };
    let length = (bytes.len() - start) as u32;
    let pseudo = [&bytes[addresses], &length.to_be_bytes(), &[0, 0, 0, protocol]].concat();
    ones_complement(&[&pseudo, &bytes[start..]])
}

pub fn ones_complement(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u64 =
        words.map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// What is done to a correct packet.
#[derive(Clone, Debug)]
pub enum Spoil {
    Nothing,
    Flip(Vec<(prop::sample::Index, u8)>),
    Cut(prop::sample::Index),
    Trail(Vec<u8>),
    /// The IP header's length.
    Lie(u16),
    /// IPv4: flags and offset; IPv6: a fragment header in front.
    Fragment(u16),
    /// Protocol, or IPv6 extension headers of these types and lengths.
    Extensions(Vec<(u8, u8)>),
    /// First byte: version and IHL.
    First(u8),
    DataOffset(u8),
    Checksum,
}

impl Spoil {
    pub fn apply(self, bytes: &mut Vec<u8>) {
        let v6 = bytes[0] >> 4 == 6;
        let (length, protocol, transport) = if v6 { (4, 6, 40) } else { (2, 9, 20) };
        match self {
            Self::Nothing => {}
            Self::Flip(flips) => {
                for (at, with) in flips {
                    let at = at.index(bytes.len());
                    bytes[at] ^= with;
                }
            }
            Self::Cut(at) => bytes.truncate(1 + at.index(bytes.len())),
            Self::Trail(more) => bytes.extend(more),
            Self::Lie(claimed) => bytes[length..length + 2].copy_from_slice(&claimed.to_be_bytes()),
            Self::Fragment(word) if v6 => {
                let mut header = vec![bytes[protocol], 0];
                header.extend(word.to_be_bytes());
                header.extend([1, 2, 3, 4]);
                bytes[protocol] = 44;
                bytes.splice(transport..transport, header);
                let claimed = (bytes.len() - 40) as u16;
                bytes[4..6].copy_from_slice(&claimed.to_be_bytes());
            }
            Self::Fragment(word) => bytes[6..8].copy_from_slice(&word.to_be_bytes()),
            Self::Extensions(chain) => {
                for (kind, len) in chain {
                    let mut header = vec![0; 8 + 8 * usize::from(len % 3)];
                    (header[0], header[1]) = (bytes[protocol], len);
                    bytes[protocol] = kind;
                    if v6 {
                        bytes.splice(transport..transport, header);
                    }
                }
            }
            Self::First(byte) => bytes[0] = byte,
            // UDP has them too, if its payload is long enough: as payload.
            Self::DataOffset(byte) => bytes.get_mut(transport + 12).into_iter().for_each(|at| *at = byte),
            Self::Checksum => bytes.get_mut(transport + 16).into_iter().for_each(|at| *at ^= 0x55),
        }
    }
}

pub fn spoil() -> impl Strategy<Value = Spoil> {
    let header =
        prop_oneof![Just(0_u8), Just(43), Just(44), Just(50), Just(51), Just(60), Just(135), any::<u8>()];
    prop_oneof![
        Just(Spoil::Nothing),
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9).prop_map(Spoil::Flip),
        any::<prop::sample::Index>().prop_map(Spoil::Cut),
        prop::collection::vec(any::<u8>(), 1..40).prop_map(Spoil::Trail),
        prop_oneof![0..90_u16, Just(0), Just(u16::MAX), any::<u16>()].prop_map(Spoil::Lie),
        any::<u16>().prop_map(Spoil::Fragment),
        prop::collection::vec((header, any::<u8>()), 1..12).prop_map(Spoil::Extensions),
        any::<u8>().prop_map(Spoil::First),
        any::<u8>().prop_map(Spoil::DataOffset),
        Just(Spoil::Checksum),
    ]
}

/// Sequence numbers around each other, around zero, and anywhere: all of them on few connections.
pub fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0..4000_u32, (u32::MAX - 4000)..=u32::MAX, any::<u32>()]
}

pub fn segment() -> impl Strategy<Value = Packet> {
    (number(), number(), 0..0x200_u16, any::<u16>(), any::<(bool, bool)>(), number()).prop_map(
        |(seq, ack, flags, window, (has_timestamps, is_tcp), ts_val)| {
            let kind = if is_tcp { Kind::Tcp } else { Kind::Opaque(Opaque::OtherProtocol) };
            Packet {
                seq,
                ack,
                flags: Flags(flags),
                window,
                has_timestamps,
                ts_val,
                form: Form::TCP.with_kind(kind),
                ..Packet::default()
            }
        },
    )
}

pub fn packet() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![20 => 0..60_usize, 10 => 0..1460_usize, 1 => Just(65_475_usize)];
    let spoiled = (any::<bool>(), (0..3_u16, 0..3_u16), segment(), size, spoil()).prop_map(
        |(v6, ports, segment, size, spoil)| {
            let mut bytes = real(v6, ports, &segment, &vec![7; size]);
            spoil.apply(&mut bytes);
            bytes
        },
    );
    let arbitrary = prop::collection::vec(any::<u8>(), 1..120);
    // What looks like IP for at least four bits.
    let likely = (arbitrary.clone(), prop_oneof![Just(0x45_u8), Just(0x60), 0x40..0x50_u8]).prop_map(
        |(mut bytes, first)| {
            bytes[0] = first;
            bytes
        },
    );
    let longest = prop_oneof![Just(0x45_u8), Just(0x60), Just(0)].prop_map(|first| {
        let mut bytes = vec![first; 65_535];
        bytes[0] = first;
        bytes
    });
    prop_oneof![16 => spoiled, 4 => arbitrary, 4 => likely, 1 => longest]
}

pub fn dir() -> impl Strategy<Value = Dir> {
    any::<bool>().prop_map(|up| if up { Dir::Uplink } else { Dir::Downlink })
}

/// Microseconds: bursts, and gaps longer than every queue's patience.
pub fn gap() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(0), 4 => 0..2000_u32, 1 => 0..400_000_u32]
}
