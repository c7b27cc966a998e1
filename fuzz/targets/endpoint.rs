//! The airpath endpoint of a live link, driven as by the driver: for any input from the peer's device, the replies are
//! whole packets with correct checksums, connections are bounded, and time advances.
#![no_main]

use airpath_core::element::Element;
use airpath_core::packet::{Dir, Flags, Form, Packet, SackBlocks};
use airpath_core::path::Path;
use airpath_core::scenario::{Scenario, bundled};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::ProbeMask;
use airpath_core::wire::{Endpoints, checked_payload, encode_segment, endpoints, parse};
use airpath_live::driver::{Driver, World};
use airpath_live::endpoint::service::Service;
use airpath_live::endpoint::{Endpoint, Plan};
use airpath_live::port::Port;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

/// Turns within one stretch of time.
const MOST_TURNS: u32 = 1_000_000;
/// Ports of the endpoint: echo, discard, generate, serve, data, and a closed one.
const PORTS: [u16; 6] = [7, 9, 19, 80, 5001, 23];
const THEIR_PORT: u16 = 5000;

/// Links with our TCPs at one end; boxes make packets that have no octets.
static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    [
        "[]",
        "[{split = {buffer = \"20 kB\"}}]",
        "[{snoop = {}}, {ack_rate_control = {}}]",
        "[{rnc_feedback = {}}]",
        "[{disturb = {downlink = {loss = \"10 %\", duplicate = \"10 %\", reorder = \"10 %\"}}}]",
    ]
    .iter()
    .flat_map(|boxes| ["linux", "plain"].map(|tcp| (*boxes, tcp)))
    .map(|(boxes, tcp)| {
        let mut set = vec![("middlebox".to_owned(), boxes.to_owned())];
        if tcp == "linux" {
            set.push(("tcp.profile".to_owned(), "\"linux\"".to_owned()));
        }
        let text = bundled("umts-384").expect("it is bundled");
        Scenario::parse(text, &set).unwrap_or_else(|error| panic!("{boxes} {tcp}: {error}"))
    })
    .collect()
});

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    scenario: u8,
    is_ue: bool,
    is_ipv6: bool,
    opens: u8,
    size: Option<u16>,
    pause_ms: u8,
    seed: u8,
    ops: Vec<Op<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    Octets(&'a [u8]),
    Segment(Segment),
    /// The last segment again, with an octet changed.
    Again {
        at: u8,
        octet: u8,
    },
    Wait {
        ms: u16,
    },
}

/// A segment to one of the endpoint's ports. Numbers are relative to the next one that the endpoint expects, and to the
/// last one it sent.
#[derive(Arbitrary, Debug)]
struct Segment {
    from: u8,
    to: u8,
    flags: u16,
    seq: i8,
    ack: i8,
    len: u16,
    window: u16,
    ecn: u8,
    timestamps: bool,
    sack: Option<(u8, u8)>,
    syn: (u16, u8, bool),
}

/// The peer's device, and the endpoint's last segment per pair of ports.
struct Device {
    now: Instant,
    ours: Dir,
    coming: Option<Vec<u8>>,
    last_left: Instant,
    said: HashMap<(u16, u16), Packet>,
}

impl World for Device {
    fn now(&mut self) -> Instant {
        self.now
    }

    fn receive(&mut self, _due: Option<Instant>, bytes: &mut Vec<u8>) -> Option<(Instant, Dir, u16)> {
        *bytes = self.coming.take()?;
        Some((self.now, self.ours.reverse(), 0))
    }

    fn send(&mut self, at: Instant, dir: Dir, _interface: u16, bytes: &[u8]) {
        assert!(at >= self.last_left && at <= self.now);
        assert_eq!(dir, self.ours, "the endpoint answers all packets itself");
        self.last_left = at;
        checked_payload(bytes).expect("the endpoint sends whole TCP segments");
        let mut packet = Packet::default();
        parse(bytes, &mut packet);
        let (_, ends) = endpoints(bytes).expect("TCP has ports");
        self.said.insert((ends.dst.port(), ends.src.port()), packet);
    }
}

impl Segment {
    fn octets(&self, device: &Device, [theirs, ours]: [SocketAddr; 2]) -> Vec<u8> {
        // The highest port numbers belong to connections that the endpoint opens.
        let opened = [5001, 40_000, 40_001, 40_002];
        let our_port = PORTS.iter().chain(&opened).nth(usize::from(self.to) % 10).copied().unwrap_or(7);
        let their_port = if our_port >= 40_000 { THEIR_PORT } else { THEIR_PORT + u16::from(self.from % 4) };
        let known = device.said.get(&(their_port, our_port)).cloned().unwrap_or_default();
        let taken = u32::from(known.flags.has(Flags::SYN)) + u32::from(known.flags.has(Flags::FIN));
        let mut packet = Packet {
            seq: known.ack.wrapping_add_signed(self.seq.into()),
            ack: known.seq.wrapping_add(known.payload + taken).wrapping_add_signed(self.ack.into()),
            flags: Flags(self.flags & 0x1ff),
            window: self.window,
            payload: u32::from(self.len % 1400),
            form: Form::TCP.with_ecn(self.ecn),
            has_timestamps: self.timestamps,
            ts_val: (device.now.as_nanos() / 1_000_000) as u32,
            ts_ecr: known.ts_val,
            ..Packet::default()
        };
        if packet.flags.has(Flags::SYN) {
            let (mss, scale, permits) = self.syn;
            let options = packet.options_mut();
            (options.mss, options.window_scale_plus_1, options.sack_permitted) = (mss, scale % 16, permits);
        } else if let Some((start, len)) = self.sack {
            let start = packet.ack.wrapping_add(u32::from(start) * 100);
            let mut blocks = SackBlocks::default();
            blocks.push(start, start.wrapping_add(u32::from(len) * 100));
            packet.options_mut().sack = blocks;
        }
        let ends = Endpoints {
            src: SocketAddr::new(theirs.ip(), their_port),
            dst: SocketAddr::new(ours.ip(), our_port),
        };
        let mut octets = Vec::new();
        encode_segment(&packet, ends, 1, &vec![7; packet.payload as usize], &mut octets);
        octets
    }
}

fn run(driver: &mut Driver, device: &mut Device, until: Instant) {
    for _ in 0..MOST_TURNS {
        let next = driver.turn(device);
        match next.filter(|at| *at <= until) {
            Some(at) => device.now = device.now.max(at),
            None if device.coming.is_none() => {
                device.now = until;
                return;
            }
            None => {}
        }
    }
    panic!("the driver does not come to an end at {:?}", device.now);
}

fuzz_target!(|input: Input<'_>| {
    let scenario = &SCENARIOS[usize::from(input.scenario) % SCENARIOS.len()];
    let dir = if input.is_ue { Dir::Uplink } else { Dir::Downlink };
    let (ours, theirs) =
        if input.is_ipv6 { ("[fd00::1]:1", "[fd00::2]:1") } else { ("10.0.0.1:1", "10.0.0.2:1") };
    let [ours, theirs]: [SocketAddr; 2] = [ours, theirs].map(|end| end.parse().expect("an address"));
    let mut driver = Driver::new(Path::new(Vec::new(), ProbeMask::NONE));
    let opens = (0..u16::from(input.opens % 4)).map(|number| {
        let src = SocketAddr::new(ours.ip(), 40_000 + number);
        let dst = SocketAddr::new(theirs.ip(), THEIR_PORT);
        let [down, up] = dir.pick([src, dst], [dst, src]);
        (driver.flows.reserve(down, up, 0), Endpoints { src, dst })
    });
    let plan = Plan {
        dir,
        addresses: vec![ours.ip()],
        tcp: Arc::new(scenario.tcp.clone()),
        size: input.size.map_or(u64::MAX, u64::from),
        pause: Duration::from_millis(u64::from(input.pause_ms) * 10),
        opens: opens.collect(),
        opens_over: 0,
        opens_for: Service::Data,
        is_silent: false,
        opens_at: Instant::ZERO,
        run_seed: input.seed.into(),
    };
    let end: Box<dyn Element> = Box::new(Endpoint::new(Port::new(dir, 96), plan));
    let other: Box<dyn Element> = Box::new(Port::new(dir.reverse(), 96));
    let (server, ue) = if input.is_ue { (other, end) } else { (end, other) };
    let mut elements = vec![server];
    elements.extend(scenario.network(input.seed.into()));
    elements.push(ue);
    let place = dir.pick(0, elements.len() - 1);
    driver.path = Path::new(elements, ProbeMask::ALL);
    let (now, said) = (Instant::ZERO, HashMap::new());
    let mut device = Device { now, ours: dir, coming: None, last_left: now, said };
    let mut last = Vec::new();
    for op in input.ops.into_iter().take(60) {
        match op {
            Op::Octets(octets) => last = octets.to_vec(),
            Op::Segment(segment) => last = segment.octets(&device, [theirs, ours]),
            Op::Again { at, octet } => {
                if let Some(there) = last.get_mut(usize::from(at)) {
                    *there = octet;
                }
            }
            Op::Wait { ms } => {
                let until = device.now + Duration::from_millis(u64::from(ms % 8192));
                run(&mut driver, &mut device, until);
                continue;
            }
        }
        device.coming = Some(last.clone());
        let now = device.now;
        run(&mut driver, &mut device, now);
    }
    let until = device.now + Duration::from_secs(5);
    run(&mut driver, &mut device, until);
    driver.path.take_trace();
    let end = driver.path.element::<Endpoint>(place).expect("the endpoint");
    // At most as many as there are pairs of ports, and the octets may name some.
    assert!(end.summary()["open"].as_u64().expect("a count") <= 60);
    assert!((0..64).filter_map(|flow| end.flow(flow)).all(|flow| flow["service"].is_string()));
});
