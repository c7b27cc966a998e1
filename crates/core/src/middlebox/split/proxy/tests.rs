use super::super::super::Component as _;
use super::*;
use crate::path::Path;
use crate::time::Duration;
use crate::trace::ProbeMask;
use crate::units::Probability;
use crate::wire::parse;
use proptest::prelude::*;

/// Behaviour of a host.
#[derive(Clone, Debug, Default)]
struct Doings {
    /// Octets that it sends.
    octets: Vec<u8>,
    /// Whether it closes its direction after its data, or only after the other end has closed.
    closes_first: bool,
    /// It reads nothing before this time.
    reads_from: Instant,
    /// It does not listen.
    is_deaf: bool,
}

struct Host {
    plan: Doings,
    connection: Option<Connection>,
    written: usize,
    got: Vec<u8>,
}

/// Two hosts with the box between them: 20 ms to the server, 10 ms to the UE, where packets are lost.
struct World {
    path: Path,
    now: Instant,
    /// Hosts by the direction in which they send: the server, the UE.
    hosts: [Host; 2],
    /// On the wires: when it arrives, its number, whether at the box, and its direction.
    wires: BTreeMap<(Instant, u64), (bool, Dir, Vec<u8>)>,
    packets: u64,
    loss: (Stream, rng::Threshold),
    /// From this time on nothing is lost.
    clear_from: Instant,
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn endpoints_of(dir: Dir) -> Endpoints {
    let (server, ue) = (address("10.77.0.1:80"), address("10.77.0.2:4000"));
    match dir {
        Dir::Downlink => Endpoints { src: server, dst: ue },
        Dir::Uplink => Endpoints { src: ue, dst: server },
    }
}

fn tcp_config() -> tcp::Config {
    tcp::Config { sack: true, mss: Bytes::from_bytes(1000), ..tcp::Config::default() }
}

const WIRES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(10)];

impl World {
    fn new(config: &Config, plans: [Doings; 2], loss: f64, seed: u64) -> Self {
        let plan = Plan { run_seed: 1, number: 0, flows: &[], session: Some(&tcp_config()) };
        let hosts = plans.map(|does| Host { plan: does, connection: None, written: 0, got: Vec::new() });
        let threshold = rng::Threshold::from(Probability::new(loss).unwrap());
        let mut world = Self {
            path: Path::new(vec![config.build(&plan)], ProbeMask::NONE),
            now: Instant::ZERO,
            hosts,
            wires: BTreeMap::new(),
            packets: 0,
            loss: (rng::stream(seed, "loss"), threshold),
            clear_from: Instant::ZERO + Duration::from_secs(86_400),
        };
        let connection = Connection::connect(&tcp_config(), Limits::default(), 77, Instant::ZERO);
        world.hosts[1].connection = Some(connection);
        world.work(Dir::Uplink);
        world
    }

    fn put(&mut self, at: Instant, is_to_box: bool, dir: Dir, bytes: Vec<u8>) {
        self.packets += 1;
        // The side of the radio loses packets, both ways.
        let is_radio = is_to_box == (dir == Dir::Uplink);
        if is_radio && at < self.clear_from && self.loss.0.chance(self.loss.1) {
            return;
        }
        let wire = WIRES[usize::from(is_radio)];
        self.wires.insert((at + wire, self.packets), (is_to_box, dir, bytes));
    }

    /// Runs a host's application, and sends its segments.
    fn work(&mut self, sends: Dir) {
        let (now, mut left) = (self.now, Vec::new());
        let Host { plan, connection, written, got } = &mut self.hosts[sends.index()];
        let Some(connection) = connection else { return };
        *written += connection.write(now, &plan.octets[*written..]);
        if now >= plan.reads_from {
            connection.read(now, u64::MAX, got);
        }
        if *written == plan.octets.len() && (plan.closes_first || connection.is_read_out()) {
            connection.shutdown(now);
        }
        loop {
            let (mut packet, mut payload, mut bytes) = (Packet::default(), Vec::new(), Vec::new());
            if connection.poll_transmit(now, &mut packet, &mut payload).is_none() {
                break;
            }
            encode_segment(&packet, endpoints_of(sends), 0, &payload, &mut bytes);
            left.push(bytes);
        }
        left.into_iter().for_each(|bytes| self.put(now, true, sends, bytes));
    }

    /// Delivers a packet to its host.
    fn deliver(&mut self, dir: Dir, bytes: &[u8]) {
        let mut packet = Packet::default();
        parse(bytes, &mut packet);
        let payload = checked_payload(bytes).unwrap();
        let (now, host) = (self.now, &mut self.hosts[dir.reverse().index()]);
        if host.connection.is_none() && (host.plan.is_deaf || !packet.flags.has(Flags::SYN)) {
            let (mut answer, mut answered) = (Packet::default(), Vec::new());
            if let Some(reset) = Reset::answering(&packet) {
                reset.write(packet.ip(), &mut answer);
                encode_segment(&answer, endpoints_of(dir.reverse()), 0, &[], &mut answered);
                self.put(now, true, dir.reverse(), answered);
            }
            return;
        }
        match &mut host.connection {
            Some(connection) => connection.handle_segment(now, &packet, &bytes[payload]),
            None => {
                host.connection =
                    Some(Connection::accept(&tcp_config(), Limits::default(), 99, now, &packet));
            }
        }
        self.work(dir.reverse());
    }

    fn empty_box(&mut self) {
        while let Some((at, dir, packet)) = self.path.poll_output() {
            let bytes = packet.body.as_ref().unwrap().bytes.clone();
            self.put(at, false, dir, bytes);
        }
    }

    /// Lets things happen until nothing happens any more, or for so long.
    fn run(&mut self, seconds: u64) {
        self.run_for(Duration::from_secs(seconds));
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let of_hosts = self.hosts.iter().filter_map(|host| host.connection.as_ref()?.deadline());
            let wakes = self.hosts.iter().map(|host| host.plan.reads_from).filter(|at| *at > self.now);
            let next = of_hosts.chain(wakes).chain(self.path.poll_timeout());
            let next = next.chain(self.wires.keys().next().map(|key| key.0)).min();
            let Some(next) = next.filter(|at| *at <= end) else { break };
            self.now = next.max(self.now);
            if let Some(((_, _), (is_to_box, dir, bytes))) =
                self.wires.first_entry().filter(|entry| entry.key().0 <= self.now).map(|e| e.remove_entry())
            {
                if is_to_box {
                    let mut packet = self.path.packet();
                    parse(&bytes, &mut packet);
                    packet.body = Some(Box::new(Body::new(bytes)));
                    self.path.handle_packet(self.now, dir, packet);
                } else {
                    self.deliver(dir, &bytes);
                }
            } else {
                for dir in Dir::BOTH {
                    if let Some(connection) = &mut self.hosts[dir.index()].connection
                        && connection.deadline().is_some_and(|at| at <= self.now)
                    {
                        connection.handle_deadline(self.now);
                    }
                    self.work(dir);
                }
                self.path.handle_timeout(self.now);
            }
            self.empty_box();
        }
        self.now = end;
    }

    fn report(&mut self) -> Value {
        self.path.reports()[0].clone()
    }
}

fn octets(len: usize, seed: u64) -> Vec<u8> {
    let mut stream = rng::stream(seed, "octets");
    (0..len).map(|_| stream.next_u64() as u8).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Both directions, with either end closing first, over a radio that loses packets: nothing is missing, and nothing
    /// remains.
    ///
    /// After 20 s the radio loses no packets, so no end aborts after its 100 s. The end that closes last may still send
    /// its FIN without a reply: if its timer has backed off, the other's TIME-WAIT can be over before it expires.
    #[test]
    fn every_octet_arrives_and_both_connections_end(
        sizes in (0..60_000_usize, 0..60_000_usize),
        server_closes_first: bool,
        loss in prop_oneof![Just(0.0), 0.0..0.3_f64],
        buffer in 4_000..40_000_u64,
        delay in 0..20_u64,
        processing in 0..3_u64,
        seed in 0..1000_u64,
    ) {
        let plans = [
            Doings { octets: octets(sizes.0, 1), closes_first: server_closes_first, ..Doings::default() },
            Doings { octets: octets(sizes.1, 2), closes_first: !server_closes_first, ..Doings::default() },
        ];
        let config = Config {
            buffer: Bytes::from_bytes(buffer),
            delay: Duration::from_millis(delay),
            processing: Duration::from_millis(processing),
            ..Config::default()
        };
        let mut world = World::new(&config, plans.clone(), loss, seed);
        world.clear_from = Instant::ZERO + Duration::from_secs(20);
        world.run(1200);
        for (receiver, sender) in [(0, 1), (1, 0)] {
            let Host { got, connection, .. } = &world.hosts[receiver];
            prop_assert!(*got == plans[sender].octets, "{} octets", got.len());
            let ended = connection.as_ref().unwrap().ended().map(|ended| format!("{ended:?}"));
            let closes_last_by_radio = receiver == Dir::Uplink.index() && server_closes_first;
            prop_assert!(may_end(ended.as_deref(), loss, closes_last_by_radio), "{:?}", ended);
        }
        let report = world.report();
        for (side, is_radio) in [("towards_ue", true), ("towards_server", false)] {
            let side = &report["connections"][0][side];
            let closes_last_by_radio = is_radio && !server_closes_first;
            prop_assert!(may_end(side["ended"].as_str(), loss, closes_last_by_radio), "{}", report);
            prop_assert!(side["held_bytes"]["peak"].as_u64().unwrap() <= buffer);
        }
    }
}

fn may_end(ended: Option<&str>, loss: f64, closes_last_by_radio: bool) -> bool {
    ended == Some("Closed") || ended == Some("TimedOut") && loss > 0.0 && closes_last_by_radio
}

fn sends(len: usize) -> Doings {
    Doings { octets: octets(len, 3), closes_first: true, ..Doings::default() }
}

/// An end that does not read stops the other: the data held by the box is bounded.
#[test]
fn an_end_that_does_not_read_closes_the_window_of_the_other() {
    let config = Config { buffer: Bytes::from_bytes(20_000), ..Config::default() };
    let reads_late = Doings { reads_from: Instant::ZERO + Duration::from_secs(30), ..Doings::default() };
    let mut world = World::new(&config, [reads_late, sends(300_000)], 0.0, 1);
    world.run(20);
    let taken = world.hosts[1].connection.as_ref().unwrap().duplex().unwrap().sender().state().una;
    let most = 2 * 20_000 + tcp_config().receive_buffer.as_u64();
    assert!((20_000..=most).contains(&taken), "{taken} octets acknowledged");
    world.run(200);
    assert_eq!(world.hosts[0].got, world.hosts[1].plan.octets);
}

/// A hundred segments and their ACKs on either side, 5 ms each: the data alone takes half a second.
#[test]
fn packets_take_the_processor_one_after_another() {
    let takes_ms = |processing: u64| {
        let config = Config {
            processing: Duration::from_millis(processing),
            buffer: Bytes::from_bytes(200_000),
            ..Config::default()
        };
        let mut world = World::new(&config, [Doings::default(), sends(100_000)], 0.0, 1);
        let mut millis = 0;
        while world.hosts[0].got.len() < 100_000 && millis < 10_000 {
            world.run_for(Duration::from_millis(1));
            millis += 1;
        }
        (millis, world.report()["peak_in_processor"].as_u64().unwrap())
    };
    let (at_once, none) = takes_ms(0);
    let (slowly, most) = takes_ms(5);
    assert!(at_once < 400 && none == 0, "{at_once} ms, {none}");
    assert!(slowly >= 500 && slowly > at_once + 300 && most > 3, "{slowly} ms, {most}");
}

#[test]
fn a_reset_and_a_refusal_go_on_to_the_other_end() {
    let mut world = World::new(&Config::default(), [sends(2_000_000), Doings::default()], 0.0, 1);
    world.run_for(Duration::from_millis(300));
    let ue = world.hosts[1].connection.as_mut().unwrap();
    assert!(ue.ended().is_none());
    ue.abort();
    world.work(Dir::Uplink);
    world.run(5);
    assert_eq!(world.hosts[0].connection.as_ref().unwrap().ended(), Some(Ended::Reset));
    assert_eq!(world.report()["connections"][0]["towards_ue"]["ended"], "Reset");

    let deaf = Doings { is_deaf: true, ..Doings::default() };
    let mut refused = World::new(&Config::default(), [deaf, sends(10)], 0.0, 1);
    refused.run(5);
    assert_eq!(refused.hosts[1].connection.as_ref().unwrap().ended(), Some(Ended::Reset));
    assert_eq!(refused.report()["connections"][0]["towards_server"]["ended"], "Refused");
}

/// The box's ACKs arrive before the UE's, which is its purpose.
#[test]
fn the_sender_hears_of_its_octets_before_the_ue_has_them() {
    // The UE is farther away than the server.
    let config = Config { delay: Duration::from_millis(200), ..Config::default() };
    let mut world = World::new(&config, [sends(1_000_000), Doings::default()], 0.0, 1);
    let mut is_ahead = false;
    for _ in 0..1000 {
        world.run_for(Duration::from_millis(1));
        let sender = world.hosts[0].connection.as_ref();
        let una = sender.and_then(Connection::duplex).map_or(0, |duplex| duplex.sender().state().una);
        is_ahead |= una > world.hosts[1].got.len() as u64;
    }
    assert!(is_ahead);
}

#[test]
fn what_the_box_cannot_know_passes_as_it_came_and_what_is_spoiled_ends_here() {
    let mut world = World::new(&Config::default(), [Doings::default(), sends(10)], 0.0, 1);
    world.wires.clear();
    let segment = |flags: Flags, port: u16, spoil: u8| {
        let packet = Packet { flags, seq: 5, payload: 3, len: 43, ..Packet::default() };
        let mut bytes = Vec::new();
        let mut endpoints = endpoints_of(Dir::Uplink);
        endpoints.src.set_port(port);
        encode_segment(&packet, endpoints, 7, b"abc", &mut bytes);
        *bytes.last_mut().unwrap() ^= spoil;
        bytes
    };
    let mut udp = segment(Flags::ACK, 1, 0);
    udp[9] = 17;
    for (bytes, passes) in [
        (segment(Flags::ACK, 1, 0), true),
        (segment(Flags::ACK, 1, 9), true),
        (segment(Flags::SYN, 2, 9), false),
        (udp, true),
    ] {
        let mut packet = world.path.packet();
        parse(&bytes, &mut packet);
        packet.body = Some(Box::new(Body::new(bytes.clone())));
        world.path.handle_packet(Instant::ZERO, Dir::Uplink, packet);
        let left: Vec<_> = std::iter::from_fn(|| world.path.poll_output())
            .map(|(_, dir, out)| (dir, out.body.unwrap().bytes))
            .collect();
        assert_eq!(left, if passes { vec![(Dir::Uplink, bytes)] } else { vec![] });
    }
    let report = world.report();
    let counted = [
        &report["uplink"]["passed_unknown_flow"],
        &report["uplink"]["passed_unread"],
        &report["bad_checksums"],
    ];
    assert_eq!(counted.map(|count| count.as_u64().unwrap()), [2, 1, 1]);
}

/// In a session there are no flows of the scenario, and segments have the smaller MSS.
#[test]
fn both_sides_negotiate_for_themselves() {
    let mut world = World::new(&Config::default(), [Doings::default(), sends(10)], 0.0, 1);
    world.wires.clear();
    let mut syn = Packet { flags: Flags::SYN, seq: 9, window: 1000, ..Packet::default() };
    syn.options_mut().mss = 700;
    syn.len = 20 + crate::wire::tcp_header_bytes(&syn);
    let mut bytes = Vec::new();
    let mut endpoints = endpoints_of(Dir::Uplink);
    endpoints.src.set_port(5);
    encode_segment(&syn, endpoints, 0, &[], &mut bytes);
    let mut packet = world.path.packet();
    parse(&bytes, &mut packet);
    packet.body = Some(Box::new(Body::new(bytes)));
    world.path.handle_packet(Instant::ZERO, Dir::Uplink, packet);
    let mut left: Vec<_> = std::iter::from_fn(|| world.path.poll_output()).collect();
    left.sort_by_key(|(_, dir, _)| *dir);
    let told: Vec<_> = left
        .iter()
        .map(|(_, dir, out)| {
            let options = out.options();
            (*dir, out.flags, options.mss, options.sack_permitted, out.has_timestamps)
        })
        .collect();
    let stamps = tcp_config().timestamps;
    // The SYN permits neither SACK nor timestamps; towards the server the box offers its own options.
    assert_eq!(
        told,
        [
            (Dir::Downlink, Flags::SYN | Flags::ACK, 700, false, false),
            (Dir::Uplink, Flags::SYN, 700, true, stamps)
        ]
    );
    assert!(left.iter().all(|(_, _, out)| out.seq != 9));
}

/// The UE has closed and falls silent before it has acknowledged the box's FIN: that is no news for the server, which
/// has closed.
#[test]
fn an_end_that_is_silent_in_the_end_leaves_the_other_as_it_is() {
    let mut world = World::new(&Config::default(), [Doings::default(), sends(1000)], 0.0, 1);
    world.run_for(Duration::from_millis(95));
    assert!(world.hosts[0].connection.as_ref().is_some_and(Connection::is_shut));
    world.loss.1 = rng::Threshold::from(Probability::new(1.0).unwrap());
    world.run(600);
    let report = world.report();
    let ends = ["towards_ue", "towards_server"].map(|side| report["connections"][0][side]["ended"].clone());
    assert_eq!(ends, ["TimedOut", "Closed"]);
    assert_eq!(world.hosts[0].connection.as_ref().unwrap().ended(), Some(Ended::Closed));
    assert_eq!(world.hosts[0].got, world.hosts[1].plan.octets);
}
