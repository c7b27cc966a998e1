//! Captures as real machines, mirror ports and cores record them, made by hand: each contains one feature that was once
//! misread. The expected result follows from how each was made.

use airpath_analyze::{Options, Report, analyze};
use serde_json::Value;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
const CLIENT: usize = 0;
const SERVER: usize = 1;
/// Offset of each end's numbers.
const ISN: [u32; 2] = [1000, 5000];
/// MSS 1460 and a window scale of 7.
const OFFER: [u8; 8] = [2, 4, 5, 0xB4, 1, 3, 3, 7];

/// A segment; numbers count from the byte after the SYN.
#[derive(Clone)]
struct Sent {
    us: u64,
    side: usize,
    flags: u8,
    seq: i64,
    ack: i64,
    window: u16,
    options: Vec<u8>,
    payload: usize,
    id: u16,
    ttl: u8,
}

fn sent(us: u64, side: usize, seq: i64, ack: i64, payload: usize) -> Sent {
    Sent { us, side, flags: ACK, seq, ack, window: 1000, options: vec![], payload, id: 0, ttl: 64 }
}

impl Sent {
    fn with(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    fn window(self, window: u16) -> Self {
        Self { window, ..self }
    }

    fn stamped(mut self, value: u32, echo: u32) -> Self {
        self.options.extend([1, 1, 8, 10]);
        self.options.extend(value.to_be_bytes());
        self.options.extend(echo.to_be_bytes());
        self
    }

    fn tcp(&self) -> Vec<u8> {
        let number = |side: usize, offset: i64| (i64::from(ISN[side]) + 1 + offset) as u32;
        let mut bytes = if self.side == CLIENT { vec![0x9C, 0x40, 0, 80] } else { vec![0, 80, 0x9C, 0x40] };
        bytes.extend(number(self.side, self.seq).to_be_bytes());
        let has_ack = self.flags & ACK != 0;
        bytes.extend(if has_ack { number(1 - self.side, self.ack) } else { 0 }.to_be_bytes());
        bytes.extend([((20 + self.options.len()) as u8 / 4) << 4, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(&self.options);
        bytes.extend(vec![7; self.payload]);
        bytes
    }

    fn ipv4(&self) -> Vec<u8> {
        ipv4(self.side, 6, self.id, self.ttl, &self.tcp())
    }

    fn ipv6(&self) -> Vec<u8> {
        let tcp = self.tcp();
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((tcp.len() as u16).to_be_bytes());
        bytes.extend([6, self.ttl]);
        for last in [1 + self.side as u8, 2 - self.side as u8] {
            bytes.extend([0; 15]);
            bytes.push(last);
        }
        bytes.extend(tcp);
        bytes
    }
}

fn ipv4(side: usize, protocol: u8, id: u16, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + payload.len() as u16).to_be_bytes());
    bytes.extend(id.to_be_bytes());
    bytes.extend([0x40, 0, ttl, protocol, 0, 0, 10, 0, 0, 1 + side as u8, 10, 0, 0, 2 - side as u8]);
    bytes.extend(payload);
    bytes
}

/// Records of frames: microseconds, octets of the frame, and of how many.
fn pcap(link_type: u32, records: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, link_type] {
        file.extend(word.to_le_bytes());
    }
    for (us, frame) in records {
        let len = frame.len() as u32;
        for word in [1_700_000_000 + (us / 1_000_000) as u32, (us % 1_000_000) as u32, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// Raw IPv4, each packet with an identification of its own.
fn numbered(sent: &[Sent]) -> Vec<Sent> {
    (1..).zip(sent).map(|(id, one)| Sent { id, ..one.clone() }).collect()
}

fn records(sent: &[Sent]) -> Vec<(u64, Vec<u8>)> {
    sent.iter().map(|one| (one.us, one.ipv4())).collect()
}

fn read(file: &[u8]) -> Report {
    analyze(file, Options::default()).expect("a capture")
}

/// The report of the connection in raw IPv4, as JSON.
fn one(sent: &[Sent]) -> Value {
    let report = read(&pcap(101, &records(&numbered(sent))));
    assert_eq!(report.connections_seen, 1);
    serde_json::to_value(&report).expect("JSON")["connections"][0].clone()
}

fn flow<'a>(connection: &'a Value, sender: &str) -> &'a Value {
    let flows = connection["flows"].as_array().expect("flows");
    flows.iter().find(|flow| flow["sender"] == sender).expect("a flow")
}

fn handshake(us: u64) -> Vec<Sent> {
    let syn = |at, side, flags| {
        let mut syn = sent(at, side, -1, 0, 0).with(flags);
        syn.options = OFFER.to_vec();
        syn
    };
    vec![syn(us, CLIENT, SYN), syn(us + 50_000, SERVER, SYN | ACK), sent(us + 50_100, CLIENT, 0, 0, 0)]
}

/// A request, and `count` segments of 1000 bytes every 2 ms, each acknowledged 50 ms later.
fn download(count: i64) -> Vec<Sent> {
    let mut all = handshake(0);
    all.push(sent(100_000, CLIENT, 0, 0, 100));
    for at in 0..count {
        let us = 101_000 + 2000 * at as u64;
        all.push(sent(us, SERVER, 1000 * at, 100, 1000));
        all.push(sent(us + 50_000, CLIENT, 100, 1000 * (at + 1), 0));
    }
    all.sort_by_key(|one| one.us);
    all
}

/// Segments one by one, 73 ms apart, over a path of 50 ms, by a clock of so many microseconds per tick. Every fifth is
/// lost and retransmitted 20 ms later.
fn by_clock(tick_us: u64) -> Value {
    let stamp = |us: u64| us.checked_div(tick_us).unwrap_or(0) as u32 + 700;
    let mut all = handshake(0);
    // Seen at the server.
    all[1].us = 100;
    for (at, sent) in all.iter_mut().enumerate() {
        *sent = sent.clone().stamped(stamp(sent.us), if at == 0 { 0 } else { 700 });
    }
    for at in 0..40 {
        let (us, seq) = (100_000 + 73_000 * at as u64, 1000 * at);
        all.push(sent(us, SERVER, seq, 0, 1000).stamped(stamp(us), 700));
        let last_sent = if at % 5 == 4 {
            all.push(sent(us + 20_000, SERVER, seq, 0, 1000).stamped(stamp(us + 20_000), 700));
            us + 20_000
        } else {
            us
        };
        let echo = stamp(last_sent);
        all.push(sent(last_sent + 50_000, CLIENT, 0, seq + 1000, 0).stamped(stamp(last_sent + 50_000), echo));
    }
    one(&all)
}

#[test]
fn a_coarse_or_standing_clock_tells_the_round_trip_of_its_segments() {
    for tick_us in [0, 1000, 10_000, 100_000, 1_000_000] {
        let found = by_clock(tick_us);
        let rtt = &flow(&found, "server")["rtt"];
        let median = rtt["forward_ms"]["median"].as_f64().expect("samples");
        assert!((median - 50.0).abs() < 0.3, "{tick_us}: {median}");
        let longest = rtt["forward_ms"]["max"].as_f64().expect("samples");
        assert!((longest - 50.0).abs() < 0.3, "{tick_us}: {longest}");
        assert_eq!(rtt["queueing_ms"]["median"].as_f64().expect("queueing").round(), 0.0, "{tick_us}");
        // Transmissions with the same timestamp give no sample (Karn); others do.
        let samples = rtt["forward_ms"]["samples"].as_u64().expect("samples");
        assert_eq!(samples, if (1000..=10_000).contains(&tick_us) { 40 } else { samples }, "{tick_us}");
        assert!((32..=40).contains(&samples) && (tick_us > 0 || samples == 32), "{tick_us}: {samples}");
        assert_eq!(flow(&found, "server")["retransmissions"]["total"], 8, "{tick_us}");
    }
}

#[test]
fn a_standing_clock_does_not_make_a_lost_segment_an_overtaken_one() {
    // Captured at the receiver: the third of ten is lost, and retransmitted 200 ms later.
    let mut all = handshake(0);
    for (at, sent) in all.iter_mut().enumerate() {
        *sent = sent.clone().stamped(7, if at == 0 { 0 } else { 7 });
    }
    for at in (0..10).filter(|at| *at != 2) {
        all.push(sent(200_000 + 1000 * at as u64, SERVER, 1000 * at, 0, 1000).stamped(7, 7));
    }
    all.push(sent(400_000, SERVER, 2000, 0, 1000).stamped(7, 7));
    let found = one(&all);
    let server = flow(&found, "server");
    assert_eq!(
        (&server["retransmissions"]["total"], &server["reordering"]["late_segments"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn a_stray_ack_in_front_of_the_answer_to_the_syn_says_nothing() {
    for (stray_seq, stray_ack) in [(77, 860_577_524), (77, -400_000_000), (2_000_000_000, 500_000)] {
        let mut all = handshake(0);
        let (mut syn, answer) = (all[0].clone(), all.split_off(1));
        all.push(sent(30_000, SERVER, stray_seq, stray_ack, 0));
        all.push(sent(30_200, CLIENT, stray_ack, 0, 0).with(RST));
        syn.us = 1_000_000;
        all.push(syn);
        all.extend(answer.into_iter().map(|one| Sent { us: one.us + 1_000_000, ..one }));
        let data = download(20).split_off(3);
        all.extend(data.into_iter().map(|one| Sent { us: one.us + 1_000_000, ..one }));
        let found = one(&all);
        let server = flow(&found, "server");
        let (counters, again) = (&server["counters"], &server["retransmissions"]);
        assert_eq!(
            (&counters["segments"], &counters["bytes"], &again["total"]),
            (&20.into(), &20_000.into(), &0.into())
        );
        assert_eq!((&server["bytes_acked"], &found["strays"]), (&20_000.into(), &2.into()));
        assert_eq!((&found["opening"], &found["closing"]), (&"whole".into(), &"open".into()));
    }
}

#[test]
fn a_connection_whose_answer_was_not_captured_is_read_all_the_same() {
    let mut all = download(20);
    all.remove(1);
    let found = one(&all);
    assert_eq!((&flow(&found, "server")["counters"]["segments"], &found["strays"]), (&20.into(), &0.into()));
}

#[test]
fn data_recorded_behind_their_ack_are_no_repetition() {
    let mut all = download(40);
    // Every fifth segment from the tenth on arrives 2 us after its ACK.
    for at in (10..40).step_by(5) {
        let ack = all.iter().find(|one| one.side == CLIENT && one.ack == 1000 * (at + 1)).map(|one| one.us);
        let data = all.iter_mut().find(|one| one.side == SERVER && one.payload > 0 && one.seq == 1000 * at);
        data.expect("a segment").us = ack.expect("an ACK") + 2;
    }
    all.sort_by_key(|one| one.us);
    let found = one(&all);
    let server = flow(&found, "server");
    assert_eq!(
        (&server["retransmissions"]["total"], &server["loss_episodes"]["events"]),
        (&0.into(), &0.into())
    );
    let counters = &server["counters"];
    assert_eq!(
        (&counters["segments"], &counters["unseen_bytes"], &counters["after_their_ack"]),
        (&40.into(), &0.into(), &6.into())
    );
    // The same octets again are.
    let mut again = all.clone();
    again.push(sent(900_000, SERVER, 10_000, 100, 1000));
    assert_eq!(flow(&one(&again), "server")["retransmissions"]["total"], 1);
}

/// The part of a report that must not depend on how often frames were recorded.
fn essence(report: &Report) -> Value {
    let mut found = serde_json::to_value(&report.connections).expect("JSON");
    for connection in found.as_array_mut().expect("connections") {
        connection["copies"] = 0.into();
        connection["not_known"] = Value::Null;
    }
    found
}

#[test]
fn frames_recorded_twice_are_one_packet() {
    let sent = numbered(&download(60));
    let once = read(&pcap(101, &records(&sent)));
    // At once, and interleaved: as they came in, and as they went out.
    for later in [0, 2, 10, 300, 3000, 9000] {
        let mut twice = records(&sent);
        twice.extend(sent.iter().map(|one| (one.us + later, one.ipv4())));
        twice.sort_by_key(|record| record.0);
        let found = read(&pcap(101, &twice));
        assert_eq!(
            (found.packets.tcp, found.packets.copies),
            (once.packets.tcp, once.packets.tcp),
            "{later}"
        );
        assert_eq!(essence(&found), essence(&once), "{later}");
    }
    // With and without the tag of a VLAN.
    let framed = |types: &[u8], packet: Vec<u8>| [&[0; 12][..], types, &packet].concat();
    let tagged: Vec<_> = sent
        .iter()
        .flat_map(|one| {
            [&[8, 0][..], &[0x81, 0, 0, 5, 8, 0]].map(|types| (one.us, framed(types, one.ipv4())))
        })
        .collect();
    let of_vlan = read(&pcap(1, &tagged));
    assert_eq!((of_vlan.packets.copies, essence(&of_vlan)), (once.packets.tcp, essence(&once)));
    // Before and after a router, with 5 ms in its queue.
    let mut routed = records(&sent);
    routed.extend(sent.iter().map(|one| (one.us + 5000, Sent { ttl: 63, ..one.clone() }.ipv4())));
    routed.sort_by_key(|record| record.0);
    let of_router = read(&pcap(101, &routed));
    assert_eq!((of_router.packets.copies, essence(&of_router)), (once.packets.tcp, essence(&once)));
}

#[test]
fn ipv6_recorded_twice_is_told_without_identification() {
    let mut sent = download(60);
    // Three duplicate ACKs within 20 us, which are three.
    sent.extend((1..4).map(|at| self::sent(111_000 + 10 * at, CLIENT, 100, 0, 0)));
    sent.sort_by_key(|one| one.us);
    let of = |times: usize| {
        let all: Vec<_> = sent.iter().flat_map(|one| vec![(one.us, one.ipv6()); times]).collect();
        read(&pcap(101, &all))
    };
    let (once, twice) = (of(1), of(2));
    assert_eq!(twice.packets.copies, once.packets.tcp);
    assert_eq!(essence(&twice), essence(&once));
    assert_eq!(once.connections[0].flows[1].counters.dupacks, Some(3));
}

#[test]
fn a_refused_octet_that_comes_again_is_new() {
    let mut all = handshake(0);
    all.push(sent(100_000, CLIENT, 0, 0, 100));
    let mut us = 150_000;
    for round in 0..3 {
        for at in 0..10 {
            let seq = 10_000 * round + 1000 * at;
            all.push(sent(us, SERVER, seq, 100, 1000));
            let is_last = at == 9;
            all.push(sent(us + 100, CLIENT, 100, seq + 1000, 0).window(if is_last { 0 } else { 100 }));
            us += 1000;
        }
        let edge = 10_000 * (round + 1);
        for wait in [300_000, 600_000, 1_200_000] {
            us += wait;
            all.push(sent(us, SERVER, edge, 100, 1));
            all.push(sent(us + 100, CLIENT, 100, edge, 0).window(0));
        }
        us += 100_000;
        all.push(sent(us, CLIENT, 100, edge, 0).window(100));
        us += 50_000;
    }
    let found = one(&all);
    let server = flow(&found, "server");
    assert_eq!(
        (&server["retransmissions"]["total"], &server["loss_episodes"]["events"]),
        (&0.into(), &0.into())
    );
    assert_eq!(
        (&server["counters"]["window_probes"], &server["counters"]["unseen_bytes"]),
        (&9.into(), &0.into())
    );
    assert_eq!(server["bytes_acked"], 30_000);
    // A probe that is taken is data.
    let mut taken = all;
    let edge = 30_000;
    taken.push(sent(us + 100_000, SERVER, edge, 100, 1));
    taken.push(sent(us + 100_100, CLIENT, 100, edge + 1, 0));
    let accepted = one(&taken);
    let taker = flow(&accepted, "server");
    assert_eq!((&taker["bytes_acked"], &taker["counters"]["unseen_bytes"]), (&30_001.into(), &0.into()));
}

#[test]
fn of_acks_alone_duplicates_are_known_where_they_report_blocks() {
    let of = |has_blocks: bool| {
        let mut all = download(20);
        for at in 0..10_u32 {
            let mut dupack = sent(300_000 + 2000 * u64::from(at), CLIENT, 100, 20_000, 0);
            if has_blocks {
                let edges = [26_001 + ISN[SERVER] - 5000, 27_001 + 1000 * at].map(|edge| edge + 5000);
                dupack.options =
                    [&[1, 1, 5, 10][..], &edges[0].to_be_bytes(), &edges[1].to_be_bytes()].concat();
            }
            all.push(dupack);
        }
        all.push(sent(400_000, CLIENT, 100, 40_000, 0));
        all.retain(|one| one.side == CLIENT);
        let found = one(&all);
        flow(&found, "server")["counters"]["dupacks"].clone()
    };
    assert_eq!((of(true), of(false)), (10.into(), Value::Null));
    // Nothing came twice.
    let mut plain = download(20);
    plain.retain(|one| one.side == CLIENT);
    assert_eq!(flow(&one(&plain), "server")["counters"]["dupacks"], 0);
}

#[test]
fn a_length_beyond_the_frame_makes_no_data() {
    let mut all = records(&numbered(&download(20)));
    let acks: Vec<_> = (0..all.len()).filter(|at| all[*at].1.len() == 40 && all[*at].0 > 100_000).collect();
    for at in acks.iter().step_by(3) {
        all[*at].1[3] += 83;
    }
    let report = read(&pcap(101, &all));
    assert_eq!(report.packets.lengths_beyond_frame, acks.len().div_ceil(3) as u64);
    let client = &report.connections[0].flows[0];
    assert_eq!((client.sender, client.counters.bytes, client.counters.unseen_bytes), ("client", 100, 0));
}

#[test]
fn data_of_a_syn_are_data() {
    let mut all = handshake(0);
    all[0].payload = 100;
    all[1].ack = 100;
    all[2].seq = 100;
    all.push(sent(51_000, SERVER, 0, 100, 1000));
    all.push(sent(51_200, CLIENT, 100, 1000, 0));
    all.push(sent(200_000, CLIENT, 100, 1000, 80));
    all.push(sent(250_000, SERVER, 1000, 180, 0));
    let found = one(&all);
    let client = flow(&found, "client");
    let counters = &client["counters"];
    assert_eq!(
        (&counters["bytes"], &counters["unseen_bytes"], &counters["segments"]),
        (&180.into(), &0.into(), &2.into())
    );
    assert_eq!((&client["bytes_acked"], &client["retransmissions"]["total"]), (&180.into(), &0.into()));
}

/// A packet in a G-PDU with a PDU session container, from the RAN to the core or back.
fn tunneled(teid: u32, side: usize, packet: &[u8]) -> Vec<u8> {
    let mut gtp = vec![0x34, 255];
    gtp.extend((8 + packet.len() as u16).to_be_bytes());
    gtp.extend(teid.to_be_bytes());
    gtp.extend([0, 0, 0, 0x85, 1, if side == CLIENT { 0x10 } else { 0 }, 9, 0]);
    gtp.extend(packet);
    let mut udp = vec![0x08, 0x68, 0x08, 0x68];
    udp.extend((8 + gtp.len() as u16).to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(gtp);
    let mut outer = ipv4(side, 17, teid as u16, 60, &udp);
    outer[12] = 172;
    outer[16] = 172;
    outer
}

#[test]
fn packets_in_tunnels_are_connections_and_each_subscriber_has_its_own() {
    let sent = numbered(&download(40));
    let plain = read(&pcap(101, &records(&sent)));
    // Two subscribers of different networks with the same address and ports, 700 us apart, as IPv4 and IPv6.
    for is_six in [false, true] {
        let packet = |one: &Sent| if is_six { one.ipv6() } else { one.ipv4() };
        let mut all = Vec::new();
        for (subscriber, later) in [(1, 0), (2, 700)] {
            for one in &sent {
                let mut other = one.clone();
                other.seq += 300_000_000 * i64::from(subscriber - 1);
                other.ack += 300_000_000 * i64::from(subscriber - 1);
                let teid = subscriber + 16 * (one.side as u32 + 1);
                all.push((one.us + later, tunneled(teid, one.side, &packet(&other))));
            }
        }
        all.sort_by_key(|record: &(u64, Vec<u8>)| record.0);
        let report = read(&pcap(101, &all));
        let packets = sent.len() as u64;
        assert_eq!((report.packets.udp, report.packets.tcp, report.conversations_seen), (2 * packets, 0, 1));
        assert_eq!((report.tunneled.tcp, report.connections_seen, report.tunnels_seen), (2 * packets, 2, 4));
        for (connection, subscriber) in report.connections.iter().zip([1, 2]) {
            let teids: Vec<_> = connection.tunnels.iter().map(|one| (one.sender, one.teid)).collect();
            assert_eq!(teids, [("client", 16 + subscriber), ("server", 32 + subscriber)]);
            let (own, other) = (&connection.flows[1], &plain.connections[0].flows[1]);
            assert_eq!(
                (own.counters.segments, own.bytes_acked),
                (other.counters.segments, other.bytes_acked)
            );
            assert_eq!((own.retransmissions.total, own.interface.in_tunnel), (0, true));
        }
        let of = report.tunnels.iter().map(|one| (one.teid, one.tcp)).collect::<Vec<_>>();
        assert_eq!(of.iter().map(|(_, tcp)| tcp).sum::<u64>(), 2 * packets);
        assert_eq!(report.tunnels[0].to, "172.0.0.2");
    }
}

#[test]
fn a_handover_goes_on_in_another_tunnel_and_the_first_fragment_is_opened() {
    let sent = numbered(&download(40));
    let mut all = Vec::new();
    for one in &sent {
        let teid = if one.side == SERVER && one.us > 140_000 { 99 } else { 7 + one.side as u32 };
        let mut outer = tunneled(teid, one.side, &one.ipv4());
        if outer.len() > 500 {
            // Further fragments; this is the first.
            outer.truncate(500);
            outer[2..4].copy_from_slice(&500_u16.to_be_bytes());
            outer[6] = 0x20;
        }
        all.push((one.us, outer));
    }
    let report = read(&pcap(101, &all));
    assert_eq!((report.connections_seen, report.packets.fragments, report.tunnels_seen), (1, 40, 3));
    let server = &report.connections[0].flows[1];
    assert_eq!((server.counters.bytes, server.retransmissions.total), (40_000, 0));
}

#[test]
fn one_interface_may_see_a_packet_inside_and_outside_its_tunnel() {
    let sent = numbered(&download(40));
    // At the core's node: the client's packets leave their tunnel, the server's enter it.
    let (inside, outside) = ([0, 30], [30, 0]);
    let mut all: Vec<_> = sent.iter().map(|one| (one.us + outside[one.side], one.ipv4())).collect();
    all.extend(
        sent.iter()
            .map(|one| (one.us + inside[one.side], tunneled(7 + one.side as u32, one.side, &one.ipv4()))),
    );
    all.sort_by_key(|record| record.0);
    let report = read(&pcap(101, &all));
    assert_eq!((report.connections_seen, report.packets.copies), (1, 0));
    let views: Vec<_> = report.connections[0].views.iter().map(|view| view.interface.in_tunnel).collect();
    assert_eq!(views.len(), 2);
    let path =
        report.connections[0].flows[1].path.as_ref().and_then(|path| path.data.as_ref()).expect("a path");
    assert_eq!((path.lost, path.added), (0, 0));
}

#[test]
fn captures_appended_have_times_of_their_own() {
    let sent = numbered(&download(20));
    let mut all: Vec<_> = records(&sent).into_iter().map(|(us, packet)| (us + 100_000_000, packet)).collect();
    all.extend(sent.iter().map(|one| {
        let mut packet = one.ipv4();
        packet[if one.side == CLIENT { 21 } else { 23 }] = 0x41;
        (one.us, packet)
    }));
    let report = read(&pcap(101, &all));
    let starts: Vec<_> = report.connections.iter().map(|one| (one.start_s, one.views[0].start_s)).collect();
    assert_eq!((starts, report.start_unix_s), (vec![(100.0, 100.0), (0.0, 0.0)], Some(1.7e9)));
    assert!((report.duration_s - 100.189).abs() < 1e-6, "{}", report.duration_s);
    assert!(report.connections.iter().all(|one| (one.duration_s - 0.189).abs() < 1e-6));
}

#[test]
fn an_unknown_link_is_named_by_its_number() {
    let report = read(&pcap(147, &[(0, vec![0; 40])]));
    assert_eq!((report.packets.unknown_link, report.unknown_link_types), (1, vec![147]));
}

#[test]
fn a_fin_that_is_recorded_behind_its_ack_is_no_missing_byte() {
    let mut all = download(20);
    all.push(sent(300_000, CLIENT, 100, 20_001, 0));
    all.push(sent(300_002, SERVER, 20_000, 100, 0).with(FIN | ACK));
    let found = one(&all);
    assert_eq!(flow(&found, "server")["counters"]["unseen_bytes"], 0);
}

#[test]
fn syn_that_is_not_accepted_does_not_end_the_connection_before_it() {
    // RFC 5961 (4.2): the server answers a SYN in an open connection with an ACK of that connection, and continues.
    let mut all = download(40);
    let mut syn = all[0].clone();
    (syn.us, syn.seq, syn.id) = (130_500, 700_000_000, 0);
    all.extend([syn, sent(130_700, SERVER, 15_000, 100, 0)]);
    all.sort_by_key(|one| one.us);
    let found = read(&pcap(101, &records(&numbered(&all))));
    let expected = read(&pcap(101, &records(&numbered(&download(40)))));
    assert_eq!(found.connections_seen, 2);
    let [own, other] = [&found, &expected].map(|report| &report.connections[0].flows[1]);
    assert_eq!((own.counters.segments, own.bytes_acked), (40, 40_000));
    assert_eq!((own.counters.segments, own.bytes_acked), (other.counters.segments, other.bytes_acked));
    assert_eq!((own.retransmissions.total, found.connections[0].strays), (0, 0));
}

#[test]
fn ends_that_open_at_the_same_time_repeat_nothing() {
    // RFC 9293 (3.5), figure 7.
    let mut all = download(20);
    let (syn, answer) = (all[0].clone(), all[1].clone());
    let early = Sent { us: 10, flags: SYN, ..answer };
    let late = Sent { us: 50_000, flags: SYN | ACK, ..syn };
    all.extend([early, late]);
    all.sort_by_key(|one| one.us);
    assert_eq!(one(&all)["syn_retransmissions"], 0);
    all.insert(1, Sent { us: 5, ..all[0].clone() });
    assert_eq!(one(&all)["syn_retransmissions"], 1);
}

#[test]
fn data_of_a_syn_that_the_answer_refuses_wait_for_no_timer() {
    for accepted in [0, 40] {
        let mut all = handshake(0);
        all[0].payload = 100;
        (all[1].ack, all[2].seq, all[2].ack, all[2].payload) =
            (accepted, accepted, 0, 100 - accepted as usize);
        all.push(sent(100_200, SERVER, 0, 100, 0));
        let found = one(&all);
        let causes = &flow(&found, "client")["retransmissions"]["by_cause"];
        assert_eq!((&causes["timeout"], &causes["other"]), (&0.into(), &1.into()), "{accepted}");
        assert_eq!(flow(&found, "client")["bytes_acked"], 100);
    }
}

#[test]
fn retransmissions_into_a_closed_window_are_the_receivers() {
    // Linux retransmits the first segment by its timer while the window is closed (`tcp_retransmit_timer`).
    let mut all = download(40);
    let last = all.iter().map(|one| one.us).max().expect("segments");
    let end = all.iter().rposition(|one| one.side == CLIENT).expect("an ACK");
    all[end].window = 0;
    let mut us = last;
    for wait in [300_000, 600_000, 1_200_000, 2_400_000] {
        us += wait;
        all.push(sent(us, SERVER, 40_000, 100, 1000));
        all.push(sent(us + 50_000, CLIENT, 100, 40_000, 0).window(0));
    }
    all.push(sent(us + 100_000, CLIENT, 100, 40_000, 0));
    all.push(sent(us + 100_100, SERVER, 40_000, 100, 1000));
    all.push(sent(us + 150_100, CLIENT, 100, 41_000, 0));
    let shares = flow(&one(&all), "server")["verdict"]["shares"].clone();
    assert!(shares["receive_window"].as_f64() > Some(0.9), "{shares}");
}

#[test]
fn subscribers_with_the_same_address_and_close_numbers_are_told_by_their_tunnels() {
    let sent = numbered(&download(40));
    let mut all = Vec::new();
    for (subscriber, later) in [(1, 0), (2, 700)] {
        for one in &sent {
            let mut other = one.clone();
            other.seq += 2000 * i64::from(subscriber - 1);
            other.ack += 2000 * i64::from(subscriber - 1);
            let teid = subscriber + 16 * (one.side as u32 + 1);
            all.push((one.us + later, tunneled(teid, one.side, &other.ipv4())));
        }
    }
    all.sort_by_key(|record: &(u64, Vec<u8>)| record.0);
    let report = read(&pcap(101, &all));
    for connection in &report.connections {
        let flow = &connection.flows[1];
        assert_eq!((flow.counters.segments, flow.retransmissions.total, flow.bytes_acked), (40, 0, 40_000));
    }
    assert_eq!(report.connections.len(), 2);
}
