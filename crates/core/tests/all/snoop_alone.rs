//! Snoop alone: output of the box for given input, at exact instants.

use airpath_core::middlebox::{self, Plan, snoop::Config};
use airpath_core::packet::{Body, Dir, Flags, Packet, SackBlocks};
use airpath_core::path::Path;
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::ProbeMask;
use airpath_core::wire::{self, Endpoints, encode_header, parse};
use proptest::prelude::*;

/// A single box with its output.
struct Alone {
    path: Path,
    now: Instant,
}

impl Alone {
    fn new(config: &Config) -> Self {
        let config = middlebox::Config::Snoop(config.clone());
        let path = Path::new(vec![config.build(&Plan::of(1, &[]))], ProbeMask::NONE);
        Self { path, now: Instant::ZERO }
    }

    /// Passes it a packet after `after_ms` milliseconds; returns the output until then, and at that time.
    fn put(&mut self, after_ms: u64, dir: Dir, packet: &Packet) -> Vec<(Dir, Packet)> {
        self.now += Duration::from_millis(after_ms);
        let mut given = self.path.packet();
        (*given).clone_from(packet);
        self.path.handle_packet(self.now, dir, given);
        self.left()
    }

    fn wait(&mut self, millis: u64) -> Vec<(Dir, Packet)> {
        self.now += Duration::from_millis(millis);
        self.path.handle_timeout(self.now);
        self.left()
    }

    /// What has left, without the numbers of the packets: copies have their own.
    fn left(&mut self) -> Vec<(Dir, Packet)> {
        let left = std::iter::from_fn(|| self.path.poll_output());
        left.map(|(_, dir, packet)| (dir, Packet { id: 0, ..*packet })).collect()
    }

    fn count(&mut self, key: &str) -> u64 {
        let report = self.path.reports()[0].clone();
        report.pointer(&format!("/{key}")).and_then(serde_json::Value::as_u64).unwrap()
    }

    /// Segments of 1000 octets from the server; each is forwarded, and nothing else.
    fn send(&mut self, first: u32, numbers: std::ops::Range<u32>) {
        for n in numbers {
            let packet = data(first.wrapping_add(n * 1000), 1000);
            assert_eq!(self.put(1, Dir::Downlink, &packet), [(Dir::Downlink, packet)]);
        }
    }

    /// The sequence numbers retransmitted to the UE in response to its ACK, and whether the ACK is forwarded.
    fn ack(&mut self, after_ms: u64, packet: &Packet) -> (Vec<u32>, bool) {
        let left = self.put(after_ms, Dir::Uplink, packet);
        let copies = left.iter().filter(|(dir, _)| *dir == Dir::Downlink).map(|(_, copy)| copy.seq).collect();
        (copies, left.iter().any(|(dir, _)| *dir == Dir::Uplink))
    }
}

fn data(seq: u32, payload: u32) -> Packet {
    Packet { flags: Flags::ACK, seq, payload, len: 40 + payload, ack: 7, window: 500, ..Packet::default() }
}

fn ack(number: u32) -> Packet {
    Packet { flags: Flags::ACK, ack: number, len: 40, window: 900, ..Packet::default() }
}

fn with_blocks(mut packet: Packet, blocks: &[(u32, u32)]) -> Packet {
    let mut sack = SackBlocks::default();
    for (left, right) in blocks {
        sack.push(*left, *right);
    }
    packet.options_mut().sack = sack;
    packet.len += 4 + 8 * blocks.len() as u32;
    packet
}

fn with(packet: Packet, flags: Flags) -> Packet {
    Packet { flags: packet.flags | flags, ..packet }
}

/// Also where the numbers wrap between the second and the third segment.
#[test]
fn a_loss_of_the_radio_is_repaired_at_the_first_duplicate_and_none_reaches_the_sender() {
    for first in [1, u32::MAX - 2500] {
        let at = |n: u32| first.wrapping_add(n * 1000);
        let mut snoop = Alone::new(&Config::default());
        snoop.send(first, 0..6);
        assert_eq!(snoop.ack(50, &ack(at(1))), (vec![], true));
        // The second is lost: four duplicates, for the four that went after it.
        assert_eq!(snoop.ack(10, &ack(at(1))), (vec![at(1)], false));
        assert_eq!([0; 3].map(|_| snoop.ack(10, &ack(at(1)))), [(); 3].map(|()| (vec![], false)));
        // One more than expected: the copy is lost as well.
        assert_eq!(snoop.ack(10, &ack(at(1))), (vec![at(1)], false));
        assert_eq!(snoop.ack(10, &ack(at(6))), (vec![], true));
        let counts =
            ["local_retransmissions/dupack", "dupacks_suppressed", "peak_cached_packets", "cached_at_end"];
        assert_eq!(counts.map(|key| snoop.count(key)), [2, 5, 6, 0]);
        // Nothing is outstanding: a reply to a keep-alive.
        assert_eq!(snoop.ack(10, &ack(at(6))), (vec![], true));
    }
}

/// The ACK that the box has let through is lost on its way to the sender, and the UE repeats it with the blocks of a
/// gap that the box repairs.
#[test]
fn who_sends_again_what_the_ue_has_acknowledged_hears_of_it() {
    let mut snoop = Alone::new(&Config { max_local_retransmissions: 1, ..Config::default() });
    snoop.send(1, 0..4);
    let shows = |number: u32| with_blocks(ack(number), &[(3001, 4001)]);
    assert_eq!(snoop.ack(50, &with_blocks(ack(2001), &[(3001, 4001)])), (vec![2001], true));
    // The copy is lost, too. What the UE repeats is the box's business, until the sender shows that it knows nothing.
    assert_eq!(snoop.ack(10, &shows(2001)), (vec![], false));
    let again = data(1001, 1000);
    assert_eq!(snoop.put(3000, Dir::Downlink, &again), [(Dir::Downlink, again)]);
    let left = snoop.put(50, Dir::Uplink, &shows(2001));
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].1.ack, left[0].1.has_blocks()), (2001, false));
    assert_eq!(snoop.ack(10, &shows(2001)), (vec![], false));
}

/// The uplink has turned two ACKs round.
#[test]
fn an_ack_older_than_the_latest_passes_or_ends_here() {
    for drops in [false, true] {
        let mut snoop = Alone::new(&Config { drop_stale_acks: drops, ..Config::default() });
        snoop.send(1, 0..4);
        assert_eq!(snoop.ack(50, &ack(3001)), (vec![], true));
        assert_eq!(snoop.ack(10, &ack(2001)), (vec![], !drops));
        // Data is forwarded, and so are segments of another connection; neither is a duplicate of the latest ACK.
        assert_eq!(snoop.ack(10, &Packet { payload: 100, len: 140, ..ack(2001) }), (vec![], true));
        assert_eq!(snoop.ack(10, &ack(2001 + (1 << 31))), (vec![], true));
        assert_eq!(snoop.ack(10, &ack(4001)), (vec![], true));
        assert_eq!(["stale_acks", "dupacks_passed"].map(|key| snoop.count(key)), [1, 0]);
    }
}

#[test]
fn what_never_came_as_far_as_the_radio_is_the_senders_business() {
    let mut snoop = Alone::new(&Config::default());
    snoop.send(1, 0..1);
    snoop.send(1, 2..5);
    snoop.ack(50, &ack(1001));
    assert_eq!([0; 3].map(|_| snoop.ack(10, &ack(1001))), [(); 3].map(|()| (vec![], true)));
    // It is out of order: the sender has retransmitted it, and counts its duplicates.
    snoop.send(1, 1..2);
    assert_eq!(snoop.ack(10, &ack(1001)), (vec![], true));
    assert_eq!([snoop.count("dupacks_passed"), snoop.count("sender_retransmissions")], [4, 1]);
    assert_eq!(snoop.ack(10, &ack(5001)), (vec![], true));
}

#[test]
fn after_so_many_tries_the_sender_has_to_do_it() {
    let config = Config { max_local_retransmissions: 1, ..Config::default() };
    let mut snoop = Alone::new(&config);
    snoop.send(1, 0..3);
    snoop.ack(50, &ack(1));
    assert_eq!(snoop.ack(10, &ack(1)), (vec![1], false));
    assert_eq!(snoop.ack(10, &ack(1)), (vec![], false));
    assert_eq!(snoop.ack(10, &ack(1)), (vec![], true));
    // With none allowed the box watches, and no more.
    let mut watching = Alone::new(&Config { max_local_retransmissions: 0, ..Config::default() });
    watching.send(1, 0..3);
    assert_eq!([50, 10, 10].map(|after| watching.ack(after, &ack(1))), [(); 3].map(|()| (vec![], true)));
    assert!(watching.wait(60_000).is_empty());
}

#[test]
fn blocks_show_every_gap_and_are_hidden_where_they_would_show_one_under_repair() {
    let mut snoop = Alone::new(&Config::default());
    snoop.send(1, 0..8);
    snoop.ack(50, &ack(1));
    // The first, the third and the fourth are missing.
    let shown = with_blocks(ack(1), &[(4001, 5001), (1001, 2001)]);
    assert_eq!(snoop.ack(10, &shown), (vec![1, 2001, 3001], false));
    // The forwarded ACK shows no gap: it is under repair.
    let partial = with_blocks(ack(2001), &[(4001, 6001)]);
    let left = snoop.put(10, Dir::Uplink, &partial);
    assert_eq!(
        left,
        [(Dir::Uplink, Packet { options: left[0].1.options.clone(), len: partial.len, ..ack(2001) })]
    );
    assert!(!left[0].1.has_blocks());
    // NOPs take their place, so that the header is as long as before.
    assert_eq!(wire::tcp_header_bytes(&left[0].1), 32);
    // Segments sent before the copy give no information about it; later ones do.
    assert_eq!(snoop.ack(10, &with_blocks(ack(2001), &[(4001, 8001)])), (vec![], false));
    snoop.send(1, 8..9);
    assert_eq!(snoop.ack(10, &with_blocks(ack(2001), &[(4001, 9001)])), (vec![2001], false));
    // A gap that is the sender's business stays to be seen.
    snoop.send(1, 2..3);
    let to_be_seen = with_blocks(ack(2001), &[(4001, 9001)]);
    assert_eq!(snoop.put(10, Dir::Uplink, &to_be_seen), [(Dir::Uplink, to_be_seen)]);
}

#[test]
fn the_timer_runs_from_the_first_round_trip_on_backs_off_and_gives_up() {
    let config = Config { max_local_retransmissions: 3, ..Config::default() };
    let mut snoop = Alone::new(&config);
    snoop.send(1, 0..2);
    assert!(snoop.wait(100_000).is_empty(), "no round trip is known");
    let mut knowing = Alone::new(&config);
    knowing.send(1, 0..1);
    assert_eq!(knowing.ack(40, &ack(1001)), (vec![], true));
    knowing.send(1, 1..2);
    // 40 ms + 4 * 20 ms are below the minimum of 200 ms.
    assert!(knowing.wait(199).is_empty());
    let times = [1, 399, 1, 799, 1, 60_000].map(|wait| knowing.wait(wait).len());
    assert_eq!(times, [1, 0, 1, 0, 1, 0]);
    assert_eq!(knowing.count("local_retransmissions/timer"), 3);
    // Its window is closed: what lies in the cache is not wanted now.
    let mut waiting = Alone::new(&config);
    waiting.send(1, 0..1);
    waiting.ack(40, &ack(1001));
    waiting.send(1, 1..2);
    let closed = Packet { window: 0, ..ack(1001) };
    assert_eq!([0; 4].map(|_| waiting.ack(10, &closed)), [(); 4].map(|()| (vec![], true)));
    assert!(waiting.wait(60_000).is_empty());
}

#[test]
fn a_spurious_copy_is_known_by_a_report_or_by_an_ack_that_comes_too_soon() {
    let mut snoop = Alone::new(&Config::default());
    snoop.send(1, 0..1);
    snoop.ack(100, &ack(1001));
    snoop.send(1, 1..3);
    // 100 ms + 4 * 50 ms after it was sent. The minimum RTT is 100 ms.
    assert_eq!(snoop.wait(299).len(), 1);
    snoop.ack(20, &ack(3001));
    assert_eq!(snoop.count("local_retransmissions/spurious"), 1);
    snoop.send(1, 3..4);
    assert_eq!(snoop.wait(1000).len(), 1);
    snoop.ack(300, &ack(4001));
    assert_eq!(snoop.count("local_retransmissions/spurious"), 1);
    assert_eq!(snoop.ack(10, &with_blocks(ack(4001), &[(3001, 4001)])), (vec![], true));
    assert_eq!(snoop.count("local_retransmissions/spurious"), 2);
}

#[test]
fn what_the_ue_has_is_answered_with_its_own_ack() {
    let mut snoop = Alone::new(&Config::default());
    snoop.send(1, 0..3);
    let latest = Packet { ts_val: 9, has_timestamps: true, len: 52, ..ack(2001) };
    snoop.ack(50, &latest);
    assert_eq!(snoop.put(10, Dir::Downlink, &data(1, 1000)), [(Dir::Uplink, latest)]);
    // A keep-alive probes the UE; a new part is forwarded.
    for packet in [data(2000, 1), data(2000, 0), data(1001, 1001)] {
        assert_eq!(snoop.put(10, Dir::Downlink, &packet), [(Dir::Downlink, packet)]);
    }
    assert_eq!(snoop.count("answered"), 1);
}

#[test]
fn what_is_not_cached_passes_and_memory_is_bounded() {
    let config = Config { cache_packets: 2, connections: 2, ..Config::default() };
    let mut snoop = Alone::new(&config);
    snoop.send(1, 0..5);
    snoop.ack(50, &ack(2001));
    assert_eq!(snoop.ack(10, &ack(2001)), (vec![], true));
    assert_eq!([snoop.count("segments_cached"), snoop.count("segments_not_cached")], [2, 3]);
    for flow in 1..4 {
        let packet = Packet { flow, ..data(1, 1000) };
        snoop.put(1, Dir::Downlink, &packet);
    }
    let counts = ["peak_connections", "connections_evicted", "cached_at_end"];
    assert_eq!(counts.map(|key| snoop.count(key)), [2, 2, 2]);
}

#[test]
fn connections_end_with_rst_and_fin_and_begin_with_syn() {
    let mut snoop = Alone::new(&Config::default());
    for end in [with(data(0, 0), Flags::RST), with(data(70_000, 0), Flags::SYN)] {
        snoop.send(1, 0..3);
        assert_eq!(snoop.count("cached_at_end"), 3);
        snoop.put(1, Dir::Downlink, &end);
        assert_eq!(snoop.count("cached_at_end"), 0);
        assert_eq!(snoop.ack(10, &ack(1)), (vec![], true));
        snoop.put(1, Dir::Uplink, &with(ack(0), Flags::RST));
    }
    // A FIN is repaired like data.
    snoop.send(1, 0..2);
    snoop.ack(50, &ack(1001));
    snoop.put(1, Dir::Downlink, &with(data(2001, 0), Flags::FIN));
    assert_eq!(snoop.ack(10, &ack(2001)), (vec![], true));
    assert_eq!(snoop.wait(1000)[0].1.seq, 2001);
    assert_eq!(snoop.ack(10, &with(ack(2002), Flags::FIN)), (vec![], true));
    assert_eq!(snoop.count("cached_at_end"), 0);
    // Numbers of another connection, whose opening was not seen.
    snoop.send(1, 0..3);
    snoop.send(1 << 31, 0..1);
    assert_eq!(snoop.count("cached_at_end"), 1);
}

/// A handshake that permits SACK, and five segments from the UE, two of which are lost.
fn upload(permits: bool, syn: Flags) -> (Alone, Vec<(Dir, Packet)>) {
    let mut snoop = Alone::new(&Config::default());
    let mut open = Packet { flags: Flags::SYN | syn, seq: 0, len: 40, ..Packet::default() };
    open.options_mut().sack_permitted = permits;
    snoop.put(1, Dir::Uplink, &open);
    let answer = Packet { flags: Flags::SYN | Flags::ACK, seq: 99, ack: 1, ..open.clone() };
    snoop.put(1, Dir::Downlink, &answer);
    for n in [0, 2, 4] {
        let packet = Packet { ack: 100, ..data(1 + n * 1000, 1000) };
        let left = snoop.put(10, Dir::Uplink, &packet);
        if n == 4 {
            return (snoop, left);
        }
    }
    unreachable!()
}

#[test]
fn a_nack_names_what_the_radio_has_lost_and_says_nothing_for_the_server() {
    let (mut snoop, left) = upload(true, Flags::default());
    assert_eq!(left[0].0, Dir::Uplink);
    let (dir, nack) = &left[1];
    assert_eq!((*dir, nack.ack, nack.seq, nack.payload, nack.len), (Dir::Downlink, 1, 100, 0, 68));
    assert_eq!(nack.flags, Flags::ACK | Flags::RNF | Flags::PSH);
    assert_eq!(nack.options().sack.as_slice(), [(2, 1001), (2001, 3001), (4001, 5001)]);
    // One for each gap, and again when there was time to fill it: a second, as long as no round trip is known.
    assert_eq!(snoop.count("nacks"), 2);
    assert!(snoop.wait(980).is_empty());
    assert_eq!(snoop.wait(20).len(), 1);
    // The server has the first octets, the first gap is filled; three more segments come, and no new gap.
    snoop.put(1, Dir::Downlink, &Packet { ack: 1001, ..ack(0) });
    assert_eq!(snoop.put(5, Dir::Uplink, &Packet { ack: 100, ..data(1001, 1000) }).len(), 1);
    assert_eq!(snoop.put(5, Dir::Uplink, &Packet { ack: 100, ..data(5001, 1000) }).len(), 1);
    let again = snoop.wait(60_000);
    assert_eq!(again[0].1.options().sack.as_slice(), [(1002, 3001), (4001, 6001)]);
    assert_eq!(snoop.put(1, Dir::Uplink, &Packet { ack: 100, ..data(3001, 1000) }).len(), 1);
    assert!(snoop.wait(600_000).is_empty());
}

#[test]
fn no_nack_without_sack_or_with_accurate_ecn() {
    for (permits, syn) in [(false, Flags::default()), (true, Flags::AE | Flags::ECE | Flags::CWR)] {
        let (mut snoop, left) = upload(permits, syn);
        assert_eq!((left.len(), snoop.count("nacks")), (1, 0));
        assert!(snoop.wait(600_000).is_empty());
    }
    assert_eq!(upload(true, Flags::ECE | Flags::CWR).0.count("nacks"), 2);
}

/// A real packet: copies have its octets, and NACKs the octets of a header with the server's address.
#[test]
fn real_packets_come_back_with_their_octets() {
    let server = "10.0.0.1:80".parse().unwrap();
    let ue = "10.0.0.2:4242".parse().unwrap();
    let real = |mut packet: Packet, dir: Dir| {
        let endpoints = match dir {
            Dir::Downlink => Endpoints { src: server, dst: ue },
            Dir::Uplink => Endpoints { src: ue, dst: server },
        };
        let mut bytes = Vec::new();
        encode_header(&packet, endpoints, 5, &mut bytes);
        bytes.extend((0..packet.payload).map(|n| n as u8));
        packet.body = Some(Box::new(Body::new(bytes)));
        packet
    };
    let mut snoop = Alone::new(&Config::default());
    let first = real(data(1, 100), Dir::Downlink);
    snoop.put(1, Dir::Downlink, &first);
    snoop.put(1, Dir::Downlink, &real(data(101, 100), Dir::Downlink));
    snoop.put(9, Dir::Uplink, &real(ack(1), Dir::Uplink));
    assert_eq!(snoop.put(9, Dir::Uplink, &real(ack(1), Dir::Uplink)), [(Dir::Downlink, first)]);
    // The blocks of a forwarded ACK are to be overwritten.
    let shown = real(with_blocks(ack(1), &[(101, 201)]), Dir::Uplink);
    assert!(snoop.put(9, Dir::Uplink, &shown).is_empty());
    let (mut uplink_box, mut syn) =
        (Alone::new(&Config::default()), Packet { len: 44, ..with(ack(0), Flags::SYN) });
    syn.flags = Flags::SYN;
    syn.options_mut().sack_permitted = true;
    uplink_box.put(1, Dir::Uplink, &real(Packet { seq: 6, ..syn.clone() }, Dir::Uplink));
    syn.flags = Flags::SYN | Flags::ACK;
    uplink_box.put(1, Dir::Downlink, &real(Packet { seq: 99, ack: 7, ..syn }, Dir::Downlink));
    uplink_box.put(1, Dir::Uplink, &real(Packet { ack: 100, ..data(7, 100) }, Dir::Uplink));
    let left = uplink_box.put(1, Dir::Uplink, &real(Packet { ack: 100, ..data(207, 100) }, Dir::Uplink));
    let bytes = &left[1].1.body.as_ref().unwrap().bytes;
    let mut read = Packet::default();
    parse(bytes, &mut read);
    assert_eq!((read.ack, read.len, read.options().sack.as_slice()), (7, 60, &[(8, 107), (207, 307)][..]));
    let (_, endpoints) = wire::endpoints(bytes).unwrap();
    assert_eq!(endpoints, Endpoints { src: server, dst: ue });
}

proptest! {
    /// For any input: the cache keeps its bound; no ACK goes to the server that the UE has not sent; packets to the UE
    /// come from the server or are NACKs of its latest number; and the box falls silent.
    #[test]
    fn any_packets_in_any_order(
        first in prop_oneof![any::<u32>(), u32::MAX - 1200..u32::MAX], limit in 1..6_u32, connections in 1..3_u32,
        tries in 0..4_u32,
        steps in prop::collection::vec((0..20_u32, 0..3_u16, 0..12_u32, 0..3_u32, 0..300_u64), 1..150),
    ) {
        let config = Config {
            cache_packets: limit, connections, max_local_retransmissions: tries, ..Config::default()
        };
        let mut snoop = Alone::new(&config);
        let (mut from_server, mut from_ue) = (Vec::new(), Vec::new());
        let mut left = Vec::new();
        for (what, flow, n, segments, after) in steps {
            let number = first.wrapping_add(n * 100);
            let flags = Flags::ACK | match (what, n) {
                (0 | 10, 0) => Flags::SYN,
                (1 | 11, 1) => Flags::FIN,
                (2 | 12, 0) => Flags::RST,
                _ => Flags::default(),
            };
            let dir = if what < 10 { Dir::Downlink } else { Dir::Uplink };
            // Mostly data from the server and pure ACKs from the UE.
            let payload = if dir == Dir::Downlink || what > 16 { 100 * segments } else { 0 };
            let mut packet = Packet { flow, flags, window: 9, ack: number, ..data(number, payload) };
            packet.options_mut().sack_permitted = flags.has(Flags::SYN);
            if what % 10 > 6 && !flags.has(Flags::SYN) {
                packet = with_blocks(packet, &[(number.wrapping_add(100), number.wrapping_add(100 * (1 + segments)))]);
            }
            if dir == Dir::Downlink { &mut from_server } else { &mut from_ue }.push(packet.clone());
            left.extend(snoop.put(after, dir, &packet));
            prop_assert!(snoop.count("cached_at_end") <= u64::from(limit * connections));
        }
        left.extend(snoop.wait(3_600_000));
        prop_assert!(snoop.wait(3_600_000_000).is_empty());
        for (dir, packet) in &left {
            let same = |one: &&Packet| one.flow == packet.flow && one.ack == packet.ack;
            if *dir == Dir::Uplink {
                prop_assert!(from_ue.iter().any(|one| same(&one) && one.payload == packet.payload));
            } else if packet.flags.has(Flags::NACK) {
                prop_assert!(from_server.iter().any(|one| same(&one)) && packet.payload == 0);
            } else {
                prop_assert!(from_server.contains(packet));
            }
        }
    }
}

/// Kernels move the window with every segment that comes: with SACK it is the blocks that make a duplicate (RFC 6675
/// (2)).
#[test]
fn a_duplicate_with_blocks_is_one_whatever_its_window() {
    let mut snoop = Alone::new(&Config::default());
    snoop.send(1, 0..6);
    snoop.ack(50, &ack(1001));
    let duplicate = |window: u16, end: u32| Packet { window, ..with_blocks(ack(1001), &[(2001, end)]) };
    // The sender learns of the larger window, and of no gap.
    let left = snoop.put(10, Dir::Uplink, &duplicate(950, 3001));
    let told: Vec<_> = left.iter().map(|(dir, packet)| (*dir, packet.window, packet.has_blocks())).collect();
    assert_eq!(told, [(Dir::Uplink, 950, false), (Dir::Downlink, 500, false)]);
    assert_eq!(left[1].1.seq, 1001);
    assert_eq!(snoop.ack(10, &duplicate(940, 4001)), (vec![], false), "smaller");
    assert_eq!(snoop.ack(10, &duplicate(940, 5001)), (vec![], false), "the same");
    assert_eq!(["dupacks_suppressed", "dupacks_passed"].map(|key| snoop.count(key)), [2, 1]);
    // Without blocks a window that moves is news: RFC 5681 (2).
    assert_eq!(snoop.ack(10, &Packet { window: 960, ..ack(1001) }), (vec![], true));
}

/// Its block lies below the ACK: something came twice (RFC 2883), and nothing is missing.
#[test]
fn a_duplicate_report_alone_is_no_gap() {
    let mut snoop = Alone::new(&Config::default());
    snoop.send(1, 0..3);
    snoop.ack(50, &ack(1001));
    assert_eq!(snoop.ack(10, &with_blocks(ack(1001), &[(1, 1001)])), (vec![], true));
    assert_eq!(snoop.count("local_retransmissions/total"), 0);
    // A closed window opens: the box does not hold that ACK.
    snoop.ack(10, &Packet { window: 0, ..ack(1001) });
    assert_eq!(snoop.ack(10, &with_blocks(ack(1001), &[(2001, 3001)])), (vec![], true));
}
