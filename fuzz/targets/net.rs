//! A link under hostile packets: through every middlebox, on bearers and in cells, at any time and from both sides, no
//! packet stops it, and time advances.
#![no_main]

use airpath::{Duration, End, Instant, Net, Scenario, Sent};
use airpath_core::packet::{Flags, Form, Packet, SackBlocks};
use airpath_core::wire::{Endpoints, encode_segment};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use std::sync::LazyLock;

/// Boxes alone and together.
const BOXES: [&str; 10] = [
    "[{freeze = {}}, {packet_loss = {downlink = {loss = \"10 %\"}}}]",
    "[{ack_filter = {}}, {ack_pacing = {}}]",
    "[{ack_rate_control = {}}]",
    "[{ack_regulator = {}}]",
    "[{ack_regulator = {reset = \"departure\", window = \"outstanding\", loss_signal = \"ecn\"}}]",
    "[{disturb = {downlink = {loss = \"10 %\", duplicate = \"10 %\", reorder = \"10 %\"}}}]",
    "[{rnc_feedback = {}}]",
    "[{snoop = {}}]",
    "[{split = {buffer = \"20 kB\"}}]",
    "[{ack_filter = {}}, {snoop = {}}, {ack_rate_control = {at = \"ue\"}}]",
];
const LINKS: [&str; 7] = [
    "umts-384",
    "umts-384-simple",
    "chan-variable-rate",
    "hsdpa-7.2",
    "lte-10mhz-still",
    "hdr-single",
    "umts-handover",
];

static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let mut scenarios: Vec<Scenario> =
        LINKS.map(|link| Scenario::bundled(link).unwrap_or_else(|| panic!("no scenario {link}"))).into();
    for boxes in BOXES {
        // Not all boxes go with all links.
        let with: Vec<_> =
            scenarios[..LINKS.len()].iter().filter_map(|link| link.with("middlebox", boxes).ok()).collect();
        assert!(!with.is_empty(), "no link takes {boxes}");
        scenarios.extend(with);
    }
    scenarios
});

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    scenario: u16,
    seed: u8,
    ops: Vec<Op<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    Octets {
        of_server: bool,
        packet: &'a [u8],
    },
    Segment {
        of_server: bool,
        segment: Segment,
    },
    /// The last packet again, with some octets replaced.
    Again {
        of_server: bool,
        octets: Vec<(u8, u8)>,
    },
    Wait {
        micros: u32,
    },
}

/// TCP that can be read.
#[derive(Arbitrary, Debug)]
struct Segment {
    flow: u8,
    flags: u16,
    seq: u16,
    ack: u16,
    window: u16,
    payload: u16,
    ecn: u8,
    timestamps: Option<(u16, u16)>,
    sack: Option<(u16, u16)>,
}

impl Segment {
    fn octets(&self, of_server: bool) -> Vec<u8> {
        let mut packet = Packet {
            seq: u32::from(self.seq) * 64,
            ack: u32::from(self.ack) * 64,
            flags: Flags(self.flags & 0x1ff),
            window: self.window,
            payload: u32::from(self.payload % 1400),
            form: Form::TCP.with_ecn(self.ecn),
            ..Packet::default()
        };
        if let Some((val, ecr)) = self.timestamps {
            (packet.has_timestamps, packet.ts_val, packet.ts_ecr) = (true, val.into(), ecr.into());
        }
        if let Some((start, length)) = self.sack {
            let start = u32::from(start) * 64;
            let mut blocks = SackBlocks::default();
            blocks.push(start, start.wrapping_add(length.into()));
            packet.options_mut().sack = blocks;
        }
        let server = SocketAddr::from(([10, 0, 0, 1], 80));
        let ue = SocketAddr::from(([10, 64, 0, 1], 1000 + u16::from(self.flow % 3)));
        let ends =
            if of_server { Endpoints { src: server, dst: ue } } else { Endpoints { src: ue, dst: server } };
        let mut octets = Vec::new();
        encode_segment(&packet, ends, 1, &vec![7; packet.payload as usize], &mut octets);
        octets
    }
}

fuzz_target!(|input: Input<'_>| {
    let scenario = &SCENARIOS[usize::from(input.scenario) % SCENARIOS.len()];
    let mut net = Net::new(scenario, input.seed.into());
    let mut last = Vec::new();
    let mut now = Instant::ZERO;
    for op in input.ops.into_iter().take(100) {
        let of_server = match op {
            Op::Octets { of_server, packet } => {
                last = packet.to_vec();
                of_server
            }
            Op::Segment { of_server, segment } => {
                last = segment.octets(of_server);
                of_server
            }
            Op::Again { of_server, octets } => {
                for (at, octet) in octets {
                    if let Some(there) = last.get_mut(usize::from(at)) {
                        *there = octet;
                    }
                }
                of_server
            }
            Op::Wait { micros } => {
                let until = now + Duration::from_nanos(u64::from(micros % 2_000_000) * 1000);
                while let Some(arrival) = net.advance(until) {
                    assert!(arrival.at >= now && arrival.at <= until);
                    now = arrival.at;
                }
                now = net.now();
                assert_eq!(now, until);
                continue;
            }
        };
        let from = if of_server { End::Server } else { End::Ue(0) };
        let sent = net.send_ip(now, from, &last);
        assert!(sent != Sent::TooBig || last.len() > 1500);
    }
    // What is left arrives or is given up.
    while let Some(arrival) = net.advance(now + Duration::from_secs(20)) {
        assert!(arrival.at >= now);
    }
    net.stats();
});
