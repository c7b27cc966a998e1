use super::super::validate_alone;
use super::table::{Noted, Table};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn segment(seq: u32, payload: u32) -> Packet {
    Packet { flags: Flags::ACK, seq, payload, len: 40 + payload, ..Packet::default() }
}

fn ack(number: u32) -> Packet {
    Packet { flags: Flags::ACK, ack: number, len: 40, ..Packet::default() }
}

fn caching(cache_segments: u32, connections: u32) -> RncFeedback {
    RncFeedback { config: Config { cache_segments, connections }, ..RncFeedback::default() }
}

/// Ten segments of 1000 octets from `first` on; segment `missing` does not reach the box.
fn sent_except(table: &mut Table, first: u32, missing: u32) {
    for n in (0..10).filter(|n| *n != missing) {
        table.insert(first.wrapping_add(n * 1000), 1000, 100);
    }
}

/// Also where the numbers wrap between the third and the fourth segment.
#[test]
fn from_the_second_duplicate_on_what_reached_the_radio_is_flagged() {
    for first in [1, u32::MAX - 3499] {
        let at = |n: u32| first.wrapping_add(n * 1000);
        let mut table = Table::new(first);
        sent_except(&mut table, first, 99);
        assert!(!table.on_ack(at(2), true));
        assert_eq!(table.len(), 8);
        assert_eq!([1, 2, 3].map(|_| table.on_ack(at(2), true)), [false, true, true]);
        // An old ACK, and one with data, change nothing.
        assert!(!table.on_ack(at(1), true) && !table.on_ack(at(2), false));
        assert!(table.on_ack(at(2), true));
        // The count restarts with a new ACK; an ACK within a segment keeps that segment.
        assert!(!table.on_ack(at(4) + 500, true));
        assert_eq!(table.len(), 6);
        assert_eq!([1, 2].map(|_| table.on_ack(at(4) + 500, true)), [false, true]);
        assert!(!table.on_ack(at(10), true));
        assert_eq!(table.len(), 0);
        assert_eq!([1, 2, 3].map(|_| table.on_ack(at(10), true)), [false; 3]);
    }
}

#[test]
fn what_was_lost_before_the_box_is_not_flagged_until_it_has_come() {
    let mut table = Table::new(1);
    sent_except(&mut table, 1, 3);
    table.on_ack(3001, true);
    assert_eq!([1, 2, 3].map(|_| table.on_ack(3001, true)), [false; 3]);
    // Retransmitted: in the table, at its place in sequence.
    assert_eq!(table.insert(3001, 1000, 100), Noted { is_new: true, has_evicted: false });
    assert!(table.on_ack(3001, true));
    assert_eq!(table.insert(3001, 1000, 100), Noted::default());
    assert!(!table.on_ack(10_001, true));
    // Acknowledged: no entry.
    assert_eq!((table.insert(3001, 1000, 100), table.len()), (Noted::default(), 0));
}

#[test]
fn the_oldest_goes_where_no_more_fit() {
    let mut table = Table::new(1);
    for n in 0..5 {
        let noted = table.insert(1 + n * 1000, 1000, 3);
        assert_eq!(noted, Noted { is_new: true, has_evicted: n >= 3 });
    }
    assert_eq!([1, 2].map(|_| table.on_ack(1, true)), [false, false]);
    // A segment that was evicted and arrives again replaces the next one.
    assert_eq!(table.insert(1, 1000, 3), Noted { is_new: true, has_evicted: true });
    assert!(table.on_ack(1, true));
    table.on_ack(2001, true);
    assert_eq!([1, 2].map(|_| table.on_ack(2001, true)), [false, false]);
}

#[test]
fn connections_are_apart_and_end_with_fin_rst_and_syn() {
    let other = |packet: Packet| Packet { flow: 1, ..packet };
    let with = |packet: Packet, flag: Flags| Packet { flags: packet.flags | flag, ..packet };
    let mut rnc = caching(100, 100);
    let fill = |table_of: &mut RncFeedback| {
        assert_eq!(table_of.note(&segment(1, 1000)), Some(1));
        assert_eq!(table_of.judge(&ack(1)), Some((1, false)));
    };
    fill(&mut rnc);
    // The second duplicate of this flow, and the first of the other.
    rnc.note(&other(segment(1, 1000)));
    assert_eq!(rnc.judge(&other(ack(1))), Some((1, false)));
    assert_eq!(rnc.judge(&ack(1)), Some((1, true)));
    for flag in [Flags::FIN, Flags::RST, Flags::SYN] {
        assert_eq!(rnc.judge(&with(ack(1), flag)), Some((0, false)));
        assert_eq!((rnc.counters.segments, rnc.judge(&ack(1))), (1, None));
        fill(&mut rnc);
    }
    for flag in [Flags::RST, Flags::SYN] {
        rnc.note(&with(segment(1, 0), flag));
        assert_eq!((rnc.counters.segments, rnc.judge(&ack(1))), (1, None));
        fill(&mut rnc);
    }
    // Numbers of another connection, whose opening was not seen.
    assert_eq!(rnc.note(&segment(1 << 31, 1000)), Some(1));
    assert_eq!(rnc.judge(&ack(1 << 31)), Some((1, false)));
    // Data in a SYN starts after it.
    rnc.note(&with(segment(0, 10), Flags::SYN));
    assert_eq!([1, 2].map(|_| rnc.judge(&ack(1))), [Some((1, false)), Some((1, true))]);
}

#[test]
fn the_connection_used_least_recently_goes() {
    let of = |flow: u16, packet: Packet| Packet { flow, ..packet };
    let mut rnc = caching(100, 2);
    rnc.note(&of(0, segment(1, 10)));
    rnc.note(&of(1, segment(1, 10)));
    rnc.judge(&of(0, ack(1)));
    rnc.note(&of(2, segment(1, 10)));
    assert_eq!(rnc.connections.keys().copied().collect::<Vec<_>>(), [(0, 0), (0, 2)]);
    assert_eq!(
        (rnc.counters.segments, rnc.counters.connections_evicted, rnc.counters.peak_cached_segments),
        (2, 1, 2)
    );
}

#[test]
fn a_box_that_could_remember_nothing_is_refused() {
    for (key, config) in [
        ("cache_segments", Config { cache_segments: 0, ..Config::default() }),
        ("connections", Config { connections: 0, ..Config::default() }),
    ] {
        let error = validate_alone(&config).expect_err("refused").to_string();
        assert!(error.contains(key) && error.contains("write at least 1"), "{error}");
    }
}

#[test]
fn what_the_buffer_behind_the_box_drops_is_congestion() {
    let mut rnc = caching(100, 100);
    for n in 0..4 {
        rnc.note(&segment(1 + n * 1000, 1000));
    }
    assert_eq!(rnc.forget_dropped((0, 0), 1), Some(3));
    assert_eq!((rnc.counters.segments, rnc.counters.forgotten_drops), (3, 1));
    assert_eq!([1, 2, 3].map(|_| rnc.judge(&ack(1))), [Some((3, false)); 3]);
    // Not known any more, within a segment, of another flow.
    assert_eq!([1, 1500].map(|seq| rnc.forget_dropped((0, 0), seq)), [None; 2]);
    assert_eq!(rnc.forget_dropped((0, 1), 1001), None);
    // It arrives again, and now is lost on the radio.
    rnc.note(&segment(1, 1000));
    assert_eq!(rnc.judge(&ack(1)), Some((4, true)));
}

/// Issue 7: at most 32 octets a cached segment, the room that a table keeps for further ones included.
#[test]
fn a_cached_segment_takes_32_octets_at_most_while_the_table_fills() {
    for limit in [1_usize, 3, 4, 5, 100, 1000, 1025] {
        let mut table = Table::new(0);
        for n in 0..3 * limit as u32 {
            table.insert(n * 10, 10, limit);
            assert!(table.octets() <= 32 * table.len(), "{} B for {}", table.octets(), table.len());
        }
        assert_eq!(table.len(), limit);
    }
}

/// Reference model of the box's state: segments by connection, with start and end.
#[derive(Default)]
struct Seen(Vec<(u16, u32, u32)>);

impl Seen {
    fn add(&mut self, flow: u16, start: u32, len: u32) {
        let longest = self.0.iter().filter(|one| (one.0, one.1) == (flow, start)).map(|one| one.2).max();
        self.remove(flow, start);
        self.0.push((flow, start, len.max(longest.unwrap_or(0))));
    }

    fn remove(&mut self, flow: u16, start: u32) {
        self.0.retain(|one| (one.0, one.1) != (flow, start));
    }

    fn holds(&self, flow: u16, octet: u32) -> bool {
        self.0.iter().any(|(of, start, len)| *of == flow && octet.wrapping_sub(*start) < *len)
    }
}

proptest! {
    /// For any input: no octet is flagged that has not passed since the connection began, or that the buffer after the
    /// box has dropped since, nor by a first duplicate; and no table grows beyond its bound.
    #[test]
    fn only_what_was_seen_is_flagged_and_memory_is_bounded(
        first in prop_oneof![any::<u32>(), u32::MAX - 1200..u32::MAX], limit in 1..6_u32, connections in 1..3_u32,
        steps in prop::collection::vec((0..10_u32, 0..3_u16, 0..12_u32, 1..3_u32), 1..200),
    ) {
        let mut rnc = caching(limit, connections);
        let mut seen = Seen::default();
        let mut acked = BTreeSet::new();
        for (what, flow, n, segments) in steps {
            let octet = first.wrapping_add(n * 100);
            let with = match (what, n) {
                (0 | 7, 0) => Flags::SYN,
                (1 | 6, 0) => Flags::FIN,
                (2 | 5, 0) => Flags::RST,
                _ => Flags::ACK,
            };
            let flags = Flags::ACK | with;
            if flags.has(Flags::SYN) || flags.has(Flags::RST) {
                seen.0.retain(|one| one.0 != flow);
                acked.retain(|(of, _)| *of != flow);
            }
            match what {
                0..4 => {
                    rnc.note(&Packet { flow, flags, ..segment(octet, 100 * segments) });
                    if !flags.has(Flags::RST) {
                        seen.add(flow, octet.wrapping_add(u32::from(flags.has(Flags::SYN))), 100 * segments);
                    }
                }
                4..8 => {
                    let judged = rnc.judge(&Packet { flow, flags, ..ack(octet) });
                    let flagged = judged.is_some_and(|(_, flagged)| flagged);
                    prop_assert!(!flagged || seen.holds(flow, octet));
                    prop_assert!(!flagged || acked.contains(&(flow, octet)), "a first duplicate");
                    acked.insert((flow, octet));
                }
                _ => {
                    rnc.forget_dropped((0, flow), octet);
                    seen.remove(flow, octet);
                }
            }
            prop_assert!(rnc.connections.len() <= connections as usize);
            prop_assert!(rnc.connections.values().all(|one| one.table.len() <= limit as usize));
            prop_assert_eq!(rnc.counters.segments, rnc.connections.values().map(|one| one.table.len()).sum::<usize>());
        }
    }
}

/// With accurate ECN (RFC 9768 (3.1.1)) the bit is part of a count: such connections are not flagged.
#[test]
fn nothing_is_flagged_where_the_bit_is_accurate_ecns() {
    let accurate = Flags::AE | Flags::CWR | Flags::ECE;
    for (flags, is_flagged) in
        [(Flags::SYN, true), (Flags::SYN | Flags::CWR | Flags::ECE, true), (Flags::SYN | accurate, false)]
    {
        let mut feedback = caching(100, 2);
        feedback.judge(&Packet { flags, ..ack(0) });
        feedback.note(&Packet { flags: Flags::SYN | Flags::ACK, ..segment(0, 0) });
        for n in 0..5 {
            feedback.note(&segment(1 + n * 1000, 1000));
        }
        feedback.judge(&ack(1001));
        feedback.judge(&ack(1001));
        assert_eq!(feedback.judge(&ack(1001)).is_some_and(|(_, flagged)| flagged), is_flagged, "{flags:?}");
    }
    // Ports are reused, and the memory of connections is bounded.
    let mut feedback = caching(100, 2);
    for flow in 0..3 {
        feedback.judge(&Packet { flow, flags: Flags::SYN | accurate, ..ack(0) });
    }
    assert_eq!(feedback.accurate_ecn, BTreeSet::from([(0, 1), (0, 2)]));
    feedback.judge(&Packet { flow: 1, flags: Flags::SYN, ..ack(0) });
    assert_eq!(feedback.accurate_ecn, BTreeSet::from([(0, 2)]));
}
