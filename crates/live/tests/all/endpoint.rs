//! airpath's endpoint on a live link without a kernel: its services, its refusals, and that no input exhausts its
//! memory or stops it.

use airpath_core::packet::{Dir, Flags, Packet};
use airpath_core::path::Path;
use airpath_core::tcp::connection::{Limits, State};
use airpath_core::tcp::ecn::Ecn;
use airpath_core::tcp::{Config, Connection};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::ProbeMask;
use airpath_core::wire::{Endpoints, checked_payload, encode_segment, parse};
use airpath_live::endpoint::service::{Service, octet};
use airpath_live::endpoint::{Endpoint, Plan};
use airpath_live::port::Port;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
const THEIRS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));

fn plan(size: u64, seed: u64) -> Plan {
    Plan {
        dir: Dir::Downlink,
        addresses: vec![OURS, IpAddr::V6(Ipv6Addr::LOCALHOST)],
        tcp: Arc::new(Config::default()),
        size,
        pause: Duration::ZERO,
        opens: Vec::new(),
        opens_over: 0,
        opens_for: Service::Data,
        is_silent: false,
        opens_at: Instant::ZERO,
        run_seed: seed,
    }
}

fn end(size: u64, seed: u64) -> Path {
    end_of(plan(size, seed))
}

fn end_of(plan: Plan) -> Path {
    Path::new(vec![Box::new(Endpoint::new(Port::new(Dir::Downlink, 128), plan))], ProbeMask::ALL)
}

fn ours(path: &Path) -> &Endpoint {
    path.element(0).unwrap()
}

fn summary(path: &Path) -> Value {
    ours(path).summary()
}

fn count(path: &Path, name: &str) -> u64 {
    summary(path)[name].as_u64().unwrap()
}

/// Addresses from a port of the other end to a port of the endpoint.
fn endpoints(from: u16, to: u16) -> Endpoints {
    Endpoints { src: SocketAddr::new(THEIRS, from), dst: SocketAddr::new(OURS, to) }
}

fn bytes_of(packet: &Packet, addresses: Endpoints, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_segment(packet, addresses, 1, payload, &mut bytes);
    bytes
}

/// Passes incoming bytes to the endpoint; returns its answers.
fn exchange(path: &mut Path, at: Instant, flow: u16, bytes: Vec<u8>) -> Vec<(Packet, Vec<u8>)> {
    let mut packet = path.packet();
    parse(&bytes, &mut packet);
    (packet.ue, packet.flow) = (0, flow);
    packet.body = Some(Box::new(airpath_core::packet::Body::new(bytes)));
    path.handle_packet(at, Dir::Uplink, packet);
    answers(path)
}

fn answers(path: &mut Path) -> Vec<(Packet, Vec<u8>)> {
    let out = std::iter::from_fn(|| path.poll_output());
    out.map(|(_, dir, mut packet)| {
        assert_eq!(dir, Dir::Downlink);
        let bytes = packet.body.take().unwrap().bytes;
        assert_eq!(bytes.len(), packet.len as usize);
        let payload = bytes[checked_payload(&bytes).unwrap()].to_vec();
        (*packet, payload)
    })
    .collect()
}

fn syn() -> Packet {
    Packet { flags: Flags::SYN, seq: 1000, window: 5000, len: 40, ..Packet::default() }
}

/// Sends all pending segments of a client, changed by `on_the_way`; returns the flags of the answers, or `None` if
/// there was nothing to send.
fn turn(
    path: &mut Path,
    client: &mut Connection,
    now: Instant,
    (from, to): (u16, u16),
    on_the_way: impl Fn(&mut Packet),
) -> Option<Flags> {
    let (mut packet, mut payload, mut flags) = (Packet::default(), Vec::new(), None);
    while client.poll_transmit(now, &mut packet, &mut payload).is_some() {
        on_the_way(&mut packet);
        let came = flags.get_or_insert_with(Flags::default);
        for (answer, octets) in exchange(path, now, from, bytes_of(&packet, endpoints(from, to), &payload)) {
            *came = *came | answer.flags;
            client.handle_segment(now, &answer, &octets);
        }
        (packet, payload) = (Packet::default(), Vec::new());
    }
    flags
}

/// Runs a client that reads everything and then closes; returns the data.
fn fetch(path: &mut Path, now: Instant, from: u16, to: u16) -> Vec<u8> {
    let mut client = Connection::connect(&Config::default(), Limits::default(), u32::from(from) * 999, now);
    let mut read = Vec::new();
    while turn(path, &mut client, now, (from, to), |_| {}).is_some() {
        client.read(now, u64::MAX, &mut read);
        if client.is_read_out() {
            client.close(now);
        }
    }
    read
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn a_flood_of_syns_is_bounded_and_passes() {
    let mut path = end(1000, 1);
    let mut answered = 0;
    for port in 1..=5000 {
        answered +=
            exchange(&mut path, Instant::ZERO, port, bytes_of(&syn(), endpoints(port, 80), &[])).len();
    }
    assert_eq!(answered, 128);
    assert_eq!((count(&path, "syns_dropped"), count(&path, "open")), (5000 - 128, 128));
    path.handle_timeout(Instant::ZERO + Duration::from_secs(400));
    answers(&mut path);
    assert_eq!((count(&path, "open"), count(&path, "timed_out")), (0, 128));
    let now = path.now();
    assert_eq!(fetch(&mut path, now, 6000, 5001).len(), 1000);
}

#[test]
fn time_wait_makes_room() {
    let mut path = end(300, 1);
    let expected: Vec<u8> = (0..300).map(octet).collect();
    for port in 1..=1100 {
        assert!(fetch(&mut path, Instant::ZERO, port, 5001) == expected, "{port}");
    }
    let states = &summary(&path)["states"];
    assert_eq!(states["TimeWait"].as_u64(), Some(1024), "{states}");
    assert_eq!((count(&path, "made_room"), count(&path, "accepted"), count(&path, "open")), (76, 1100, 0));
    // The same ports again: a later SYN takes the place of the connection.
    let mut again = Connection::connect(&Config::default(), Limits::default(), u32::MAX / 2, Instant::ZERO);
    let (mut packet, mut payload) = (Packet::default(), Vec::new());
    again.poll_transmit(Instant::ZERO, &mut packet, &mut payload);
    let bytes = bytes_of(&packet, endpoints(1100, 5001), &[]);
    let answer = exchange(&mut path, Instant::ZERO, 1100, bytes);
    assert_eq!(answer[0].0.flags, Flags::SYN | Flags::ACK);
}

#[test]
fn closed_ports_and_strays_are_reset_and_resets_are_not() {
    let mut path = end(1000, 1);
    let refused = exchange(&mut path, Instant::ZERO, 0, bytes_of(&syn(), endpoints(5000, 22), &[]));
    assert_eq!(refused[0].0.flags, Flags::RST | Flags::ACK);
    let stray = Packet { flags: Flags::ACK, ack: 77, len: 40, ..Packet::default() };
    let answer = exchange(&mut path, Instant::ZERO, 0, bytes_of(&stray, endpoints(5000, 80), &[]));
    assert_eq!((answer[0].0.flags, answer[0].0.seq), (Flags::RST, 77));
    let reset = Packet { flags: Flags::RST, len: 40, ..Packet::default() };
    assert_eq!(exchange(&mut path, Instant::ZERO, 0, bytes_of(&reset, endpoints(5000, 80), &[])).len(), 0);
    assert_eq!((count(&path, "strays_reset"), count(&path, "accepted")), (2, 0));
}

#[test]
fn what_is_damaged_or_not_for_us_is_counted_and_nothing_else() {
    let mut path = end(1000, 1);
    let mut damaged = bytes_of(&syn(), endpoints(5000, 80), &[]);
    damaged[38] ^= 1;
    assert_eq!(exchange(&mut path, Instant::ZERO, 0, damaged).len(), 0);
    let elsewhere = Endpoints { dst: "10.77.0.9:80".parse().unwrap(), ..endpoints(5000, 80) };
    assert_eq!(exchange(&mut path, Instant::ZERO, 0, bytes_of(&syn(), elsewhere, &[])).len(), 0);
    assert_eq!(exchange(&mut path, Instant::ZERO, 0, vec![0x45; 60]).len(), 0);
    assert_eq!((count(&path, "bad_checksums"), count(&path, "not_served")), (1, 2));
    // A packet created by a middlebox for a connection that no longer exists.
    path.handle_packet(Instant::ZERO, Dir::Uplink, Box::new(syn()));
    // Only the endpoint sends in its direction.
    path.handle_packet(Instant::ZERO, Dir::Downlink, Box::new(syn()));
    assert_eq!((answers(&mut path).len(), count(&path, "not_served")), (0, 3));
}

#[test]
fn status_and_port_tell_of_a_transfer_that_the_other_end_leaves() {
    let mut path = end(100_000, 1);
    assert!(ours(&path).is_idle());
    let answer = exchange(&mut path, ms(0), 1, bytes_of(&syn(), endpoints(5000, 80), &[]));
    let mut ack = Packet { flags: Flags::ACK, seq: 1001, ack: answer[0].0.seq + 1, len: 40, ..syn() };
    let data = exchange(&mut path, ms(10), 1, bytes_of(&ack, endpoints(5000, 80), &[]));
    ack.ack += data.iter().map(|(packet, _)| packet.payload).sum::<u32>();
    let more = exchange(&mut path, ms(60), 1, bytes_of(&ack, endpoints(5000, 80), &[]));
    assert!(!data.is_empty() && !more.is_empty());
    path.handle_timeout(ms(2000));
    let again = answers(&mut path);
    // The ACK covers the first unacknowledged segment; two more are retransmitted.
    ack.ack += again[0].0.payload;
    exchange(&mut path, ms(2100), 1, bytes_of(&ack, endpoints(5000, 80), &[]));
    let (end, port) = (ours(&path), ours(&path).port());
    let flow = port.flow(1).unwrap();
    assert!(!end.is_idle());
    let (timeouts, retransmissions) = (again.len(), again.len() + 2);
    let expected = json!({ "open": 1, "retransmissions": retransmissions, "timeouts": timeouts });
    assert_eq!(end.status(), expected);
    assert_eq!((flow.received, flow.outgoing.retransmissions), ((4, 160), retransmissions as u64));
    assert_eq!(port.last_rtt(), Some((ms(2100), Duration::from_millis(50))));
    assert_eq!((port.active_flows(ms(2100)), port.active_flows(ms(2101))), (1, 0));
    assert!(port.flow(0).is_none() && port.flow(2).is_none());
}

#[test]
fn a_refused_connection_is_tried_again_when_its_ports_are_free() {
    let there = Endpoints { src: SocketAddr::new(OURS, 40_000), dst: SocketAddr::new(THEIRS, 80) };
    let mut path = end_of(Plan { opens: vec![(3, there)], ..plan(100, 1) });
    let from_them =
        |to: &mut Path, at, packet| exchange(to, at, 3, bytes_of(&packet, endpoints(80, 40_000), &[]));
    let sent_at = |by: &mut Path, at| {
        by.handle_timeout(ms(at));
        answers(by).pop().map(|(packet, _)| packet)
    };
    for (opens, refused) in [(0, 10), (110, 120)] {
        assert!(opens == 0 || sent_at(&mut path, opens - 1).is_none());
        let asked = sent_at(&mut path, opens).unwrap();
        assert_eq!(asked.flags, Flags::SYN);
        let (flags, ack) = (Flags::RST | Flags::ACK, asked.seq + 1);
        from_them(&mut path, ms(refused), Packet { flags, ack, len: 40, ..Packet::default() });
    }
    let answer = from_them(&mut path, ms(130), syn());
    let ack = answer[0].0.seq + 1;
    from_them(&mut path, ms(140), Packet { flags: Flags::ACK, seq: 1001, ack, len: 40, ..syn() });
    assert!(sent_at(&mut path, 220).is_none());
    from_them(&mut path, ms(230), Packet { flags: Flags::RST, seq: 1001, len: 40, ..Packet::default() });
    assert_eq!(sent_at(&mut path, 320).unwrap().flags, Flags::SYN);
    let counts = ["opened", "refused", "accepted", "reset"].map(|name| count(&path, name));
    assert_eq!(counts, [3, 2, 1, 1]);
}

#[test]
fn the_report_of_a_flow_has_the_marks_that_arrived() {
    let config = Config { ecn: Ecn::Accurate, ..Config::default() };
    let mut path = end_of(Plan { tcp: Arc::new(config.clone()), ..plan(0, 1) });
    let mut client = Connection::connect(&config, Limits::default(), 5, Instant::ZERO);
    let mark =
        |packet: &mut Packet| packet.set_ecn(if packet.payload > 0 { Packet::CE } else { packet.ecn() });
    for octets in [&[][..], &[1; 500]] {
        client.write(Instant::ZERO, octets);
        turn(&mut path, &mut client, Instant::ZERO, (7000, 9), mark);
    }
    let told = ours(&path).flow(7000).unwrap();
    assert_eq!((told["service"].as_str(), told["ecn"]["marks"].as_u64()), (Some("discard"), Some(1)));
    let receiver = json!({ "ce_packets": 1, "ce_bytes": 500, "ect0_bytes": 0, "ect1_bytes": 0 });
    assert_eq!(told["ecn"]["accurate"]["receiver"], receiver);
}

#[test]
fn echo_and_chargen_close_behind_the_other_end() {
    for port in [7, 19] {
        let mut path = end(0, 1);
        let mut client = Connection::connect(&Config::default(), Limits::default(), 5, Instant::ZERO);
        client.write(Instant::ZERO, &[9; 50]);
        client.shutdown(Instant::ZERO);
        let mut read = Vec::new();
        while turn(&mut path, &mut client, Instant::ZERO, (6000, port), |_| {}).is_some() {
            client.read(Instant::ZERO, u64::MAX, &mut read);
        }
        assert_eq!(client.state(), State::TimeWait, "port {port}");
        let expected = if port == 7 { vec![9; 50] } else { (0..read.len() as u64).map(octet).collect() };
        assert!(!read.is_empty() && read == expected, "port {port}: {} octets", read.len());
    }
}

#[test]
fn port_80_closes_both_directions_and_others_linger() {
    for (port, resets) in [(80, true), (5001, false)] {
        let mut path = end(100, 1);
        let mut client = Connection::connect(&Config::default(), Limits::default(), 5, Instant::ZERO);
        let mut flags = Flags::default();
        for round in 0..10 {
            if round == 5 {
                client.write(Instant::ZERO, &[0; 50]);
            }
            let came = turn(&mut path, &mut client, Instant::ZERO, (9999, port), |_| {});
            flags = flags | came.unwrap_or_default();
        }
        assert_eq!(flags.has(Flags::RST), resets, "port {port}");
        assert_eq!(client.state() == State::CloseWait, !resets, "port {port}");
    }
}

#[test]
fn same_seed_same_bytes() {
    let answer = |seed| {
        let mut path = end(100, seed);
        exchange(&mut path, Instant::ZERO, 0, bytes_of(&syn(), endpoints(5000, 80), &[]))[0].0.seq
    };
    assert_eq!(answer(1), answer(1));
    assert_ne!(answer(1), answer(2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_arrives_stops_it(
        packets in prop::collection::vec(
            (any::<u16>(), 0..4_u16, 0..3_usize, any::<[u32; 2]>(), 0..600_usize, any::<u16>(), 0..2_000_000_000_u64),
            0..120),
        garbage in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..10),
    ) {
        let mut path = end(50_000, 3);
        let mut now = Instant::ZERO;
        let mut last = Packet::default();
        for (flags, from, to, [seq, ack], len, window, after) in packets {
            now += Duration::from_nanos(after);
            path.handle_timeout(now);
            answers(&mut path);
            // Often a segment that fits the endpoint's last one.
            let (seq, ack) = if seq % 3 == 0 { (seq, ack) } else { (last.ack, last.seq.wrapping_add(last.payload + ack % 3)) };
            let mut packet = Packet { flags: Flags(flags & 0x1ff), seq, ack, window, payload: len as u32, ..Packet::default() };
            packet.len = 40 + packet.payload;
            let bytes = bytes_of(&packet, endpoints(5000 + from, [7, 9, 5001][to]), &vec![1; len]);
            if let Some((answer, _)) = exchange(&mut path, now, from, bytes).pop() {
                last = answer;
            }
        }
        for bytes in garbage {
            exchange(&mut path, now, 9, bytes);
        }
        prop_assert!(count(&path, "open") <= 12);
    }
}
