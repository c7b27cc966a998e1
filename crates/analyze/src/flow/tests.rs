//! Each rule on a few segments by hand. Times are milliseconds; the round trip is 100 ms.

use super::*;

const MSS: u32 = 1000;

/// A flow seen at its sender, fed segment by segment.
struct Script {
    flow: Flow,
    timestamps: bool,
    window: u16,
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

impl Script {
    /// Sequence numbers begin at 0.
    fn new() -> Self {
        let mut flow = Flow::default();
        flow.on_syn(u32::MAX);
        flow.window_shift = Some(0);
        Self { flow, timestamps: false, window: 60_000 }
    }

    fn with_timestamps() -> Self {
        Self { timestamps: true, ..Self::new() }
    }

    /// Whole segments number `from` to `to`, both included, are sent at once; TSval is the time.
    fn data(&mut self, ms: u64, from: u32, to: u32) -> &mut Self {
        for number in from..=to {
            self.send(ms, number * MSS, MSS, ms as u32);
        }
        self
    }

    fn send(&mut self, ms: u64, seq: u32, payload: u32, tsval: u32) {
        let timestamps = self.timestamps.then_some((tsval, 0));
        let segment = Segment { seq, payload, flags: ACK, timestamps, ..Segment::default() };
        self.flow.handle_data(at(ms), &segment);
    }

    /// Everything below segment number `next` is acknowledged.
    fn ack(&mut self, ms: u64, next: u32) -> &mut Self {
        self.ack_with(ms, next, &[], 0)
    }

    fn acks(&mut self, times: &[u64], next: u32) -> &mut Self {
        for &ms in times {
            self.ack(ms, next);
        }
        self
    }

    /// With SACK blocks of whole segments, the last excluded, and an echoed timestamp.
    fn ack_with(&mut self, ms: u64, next: u32, blocks: &[(u32, u32)], echo: u32) -> &mut Self {
        let mut segment = Segment {
            ack: next * MSS,
            flags: ACK,
            window: self.window,
            timestamps: self.timestamps.then_some((ms as u32, echo)),
            sack_blocks: blocks.len() as u8,
            ..Segment::default()
        };
        for (place, block) in segment.sack.iter_mut().zip(blocks) {
            *place = (block.0 * MSS, block.1 * MSS);
        }
        self.flow.handle_ack(at(ms), &segment, false);
        self
    }

    /// Retransmissions: all, fast, partial, by SACK, timeouts, going back, tail probes, others.
    fn causes(&self) -> [u64; 8] {
        let counts = self.flow.causes().counts();
        [
            self.flow.counters.retransmissions,
            counts.fast_retransmit,
            counts.partial_ack,
            counts.sack,
            counts.timeout,
            counts.go_back_n,
            counts.tail_probe,
            counts.other,
        ]
    }

    /// Single, double, with timeout.
    fn episodes(&self) -> [u64; 3] {
        let report = self.flow.causes().episodes();
        [report.single, report.double, report.timeout]
    }
}

#[test]
fn the_third_duplicate_ack_brings_a_fast_retransmit() {
    let mut script = Script::new();
    script.data(0, 0, 9).ack(100, 1).acks(&[110, 120, 130], 1).data(130, 1, 1).ack(230, 10);
    assert_eq!(script.causes(), [1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(script.episodes(), [1, 0, 0]);
    assert_eq!((script.flow.counted().dupacks, script.flow.bytes_acked()), (Some(3), 10_000));
}

#[test]
fn partial_acks_belong_to_the_recovery_and_a_second_fast_retransmit_makes_it_double() {
    let mut script = Script::new();
    script.data(0, 0, 9).ack(100, 1).acks(&[110, 120, 130], 1).data(130, 1, 1);
    script.ack(230, 4).data(230, 4, 4);
    assert_eq!(script.causes(), [2, 1, 1, 0, 0, 0, 0, 0]);
    // Reno: the partial ACK triggers no retransmission, and three duplicates follow it.
    script.ack(330, 6).acks(&[340, 350, 360], 6).data(360, 6, 6).ack(460, 10);
    assert_eq!(script.causes(), [3, 2, 1, 0, 0, 0, 0, 0]);
    assert_eq!(script.episodes(), [0, 1, 0]);
}

#[test]
fn silence_brings_a_timeout_and_what_follows_goes_back() {
    let mut script = Script::new();
    script.data(0, 0, 4).ack(100, 1).data(1100, 1, 1).data(3100, 1, 1);
    script.ack(3200, 2).data(3200, 2, 3).ack(3300, 4).data(3300, 4, 4).ack(3400, 5);
    assert_eq!(script.causes(), [5, 0, 0, 0, 2, 3, 0, 0]);
    assert_eq!(script.episodes(), [0, 0, 1]);
    // From the ACK that started the timer.
    assert_eq!(script.flow.causes().episodes().mean_timeout_s, Some(1.0));
}

#[test]
fn duplicate_acks_before_a_timeout_make_no_fast_retransmit_of_it() {
    let mut script = Script::new();
    script.data(0, 0, 4).ack(100, 1).acks(&[110, 120], 1).data(1100, 1, 1).ack(1200, 5);
    assert_eq!(script.causes(), [1, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn sack_blocks_begin_a_recovery_and_more_is_sent_by_them() {
    let mut script = Script::new();
    script.data(0, 0, 9).ack(100, 1);
    script.ack_with(110, 1, &[(4, 5)], 0).ack_with(120, 1, &[(4, 6)], 0).ack_with(130, 1, &[(4, 7)], 0);
    script.data(130, 1, 1).ack_with(140, 1, &[(4, 8)], 0).data(140, 2, 2).ack(230, 10);
    assert_eq!(script.causes(), [2, 1, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn a_sender_that_fills_holes_goes_by_sack_blocks_at_the_left_edge_too() {
    let mut script = Script::new();
    script.data(0, 0, 9).ack(100, 1).ack_with(110, 1, &[(2, 3)], 0);
    script.ack_with(120, 1, &[(4, 5), (2, 3)], 0).ack_with(130, 1, &[(4, 6), (2, 3)], 0).data(130, 1, 1);
    script.ack_with(140, 1, &[(7, 8), (4, 6), (2, 3)], 0).data(140, 3, 3);
    script.ack_with(240, 6, &[(7, 10)], 0).data(240, 6, 6).ack(340, 10);
    assert_eq!(script.causes(), [3, 1, 0, 2, 0, 0, 0, 0]);
}

#[test]
fn a_retransmission_that_was_lost_is_retransmitted_when_something_behind_it_arrives() {
    let recovering = || {
        let mut script = Script::new();
        script.data(0, 0, 9).ack(100, 1);
        script.ack_with(110, 1, &[(2, 3)], 0).ack_with(120, 1, &[(2, 4)], 0).ack_with(130, 1, &[(2, 5)], 0);
        script.data(130, 1, 1).data(135, 10, 10);
        script
    };
    let mut by_rack = recovering();
    by_rack.ack_with(235, 1, &[(10, 11), (2, 5)], 0).data(235, 1, 1).ack(335, 11);
    assert_eq!(by_rack.causes(), [2, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(by_rack.episodes(), [1, 0, 0]);
    // The delivered data was sent before it: the timer expired just then.
    let mut by_timer = recovering();
    by_timer.ack_with(1130, 1, &[(2, 6)], 0).data(1130, 1, 1).ack(1230, 11);
    assert_eq!(by_timer.causes(), [2, 1, 0, 0, 1, 0, 0, 0]);
    // Later data has arrived, and no ACK since then could trigger the retransmission.
    let mut late = recovering();
    late.ack_with(235, 1, &[(10, 11), (2, 5)], 0).data(1130, 1, 1).ack(1230, 11);
    assert_eq!(late.causes(), [2, 1, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn an_ack_a_little_sooner_than_the_shortest_round_trip_tells_of_the_retransmission() {
    let mut script = Script::new();
    script.data(0, 0, 9).ack(100, 1).ack_with(110, 1, &[(2, 3)], 0).ack_with(120, 1, &[(2, 4)], 0);
    script.ack_with(130, 1, &[(2, 5)], 0).data(130, 1, 1);
    script.ack_with(140, 1, &[(6, 7), (2, 5)], 0).data(140, 5, 5);
    // The fifth arrives in 98 ms: the first, retransmitted before it, is lost again.
    script.ack_with(238, 1, &[(2, 7)], 0).data(238, 1, 1).ack(338, 10);
    assert_eq!(script.causes(), [3, 1, 0, 2, 0, 0, 0, 0]);
}

#[test]
fn a_timer_counts_from_when_the_segment_was_sent() {
    let retransmitted = |ms| {
        let mut script = Script::new();
        script.data(0, 0, 9).ack(100, 1).ack_with(130, 1, &[(2, 3), (4, 6)], 0).data(130, 1, 1);
        script.data(130, 3, 3).ack(240, 10);
        script.data(350, 10, 12).ack(450, 11).ack_with(460, 11, &[(12, 13)], 0).data(ms, 11, 11);
        script.causes()
    };
    // 200 ms plus one RTT after it, minus the slack of timers.
    assert_eq!(retransmitted(637), [3, 2, 0, 1, 0, 0, 0, 0]);
    assert_eq!(retransmitted(638), [3, 1, 0, 1, 1, 0, 0, 0]);
}

#[test]
fn who_repeats_a_lost_retransmission_sends_tail_probes_too() {
    let mut script = Script::new();
    script.data(0, 0, 9).ack(100, 1).ack_with(130, 1, &[(2, 3), (4, 6)], 0).data(130, 1, 1).data(130, 3, 3);
    script.data(135, 10, 10).ack_with(230, 3, &[(4, 10)], 0);
    script.ack_with(235, 3, &[(4, 11)], 0).data(235, 3, 3).ack(335, 11);
    assert_eq!(script.causes(), [3, 1, 0, 2, 0, 0, 0, 0]);
    script.data(340, 11, 12).ack(440, 12).data(740, 12, 12).ack(840, 13);
    assert_eq!(script.causes(), [4, 1, 0, 2, 0, 0, 1, 0]);
}

#[test]
fn what_is_lost_again_after_a_timeout_begins_a_recovery() {
    let mut script = Script::new();
    script.data(0, 0, 4).ack(100, 1).data(1100, 1, 1).ack(1200, 2).data(1200, 2, 3);
    script.ack_with(1300, 2, &[(3, 4)], 0).data(1300, 2, 2).ack(1400, 5);
    assert_eq!(script.causes(), [4, 1, 0, 0, 1, 2, 0, 0]);
}

#[test]
fn before_any_timeout_can_expire_sack_blocks_are_the_reason() {
    let first_loss = |ms| {
        let mut script = Script::new();
        script.data(0, 0, 0).ack(100, 1).data(100, 1, 8).ack_with(300, 2, &[(3, 4)], 0).data(ms, 2, 2);
        script.causes()
    };
    // 200 ms and more than an RTT after the segment was sent, and more than half an RTT after the block.
    assert_eq!(first_loss(370), [1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(first_loss(1000), [1, 0, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn fast_retransmit_after_a_timeout_ends_with_the_next_ack() {
    let mut script = Script::new();
    script.data(0, 0, 9).ack(100, 1).data(1300, 1, 1).ack(1400, 2).data(1400, 2, 4);
    // 2 is lost again.
    script.acks(&[1500, 1510, 1520], 2).data(1520, 2, 2).ack(1620, 6).data(1620, 6, 7);
    assert_eq!(script.causes(), [7, 1, 0, 0, 1, 5, 0, 0]);
    // And so is 6.
    script.acks(&[1720, 1730, 1740], 6).data(1740, 6, 6).ack(1840, 10);
    assert_eq!(script.causes(), [8, 2, 0, 0, 1, 5, 0, 0]);
}

#[test]
fn the_last_segment_alone_is_a_tail_probe() {
    let mut script = Script::new();
    script.data(0, 0, 4).ack(100, 2).data(320, 4, 4).ack(420, 5);
    assert_eq!(script.causes(), [1, 0, 0, 0, 0, 0, 1, 0]);
}

#[test]
fn an_older_echo_shows_that_the_original_arrived() {
    let mut script = Script::with_timestamps();
    script.data(0, 0, 4).ack_with(100, 1, &[], 0).data(1100, 1, 1).ack_with(1300, 2, &[], 0);
    let spurious = script.flow.spurious();
    assert_eq!((spurious.total, spurious.timestamps, spurious.timeouts), (1, 1, 1));
    // The echo of a retransmission proves nothing.
    let mut needed = Script::with_timestamps();
    needed.data(0, 0, 4).ack_with(100, 1, &[], 0).data(1100, 1, 1).ack_with(1300, 5, &[], 1100);
    assert_eq!(needed.flow.spurious().total, 0);
}

#[test]
fn a_dsack_names_what_was_spurious_and_all_of_a_cut_make_the_cut_so() {
    let mut script = Script::new();
    script.data(0, 0, 9).ack(100, 1).data(1100, 1, 1).ack(1250, 2).data(1250, 2, 2).ack(1251, 10);
    script.ack_with(1300, 10, &[(1, 2)], 0);
    assert_eq!((script.flow.spurious().dsack, script.flow.spurious().timeouts), (1, 0));
    script.ack_with(1350, 10, &[(2, 3)], 0);
    let spurious = script.flow.spurious();
    assert_eq!((spurious.total, spurious.timeouts, script.flow.counters.dsacks), (2, 1, 2));
}

#[test]
fn an_ack_sooner_than_the_shortest_round_trip_is_for_the_original() {
    let mut script = Script::new();
    script.data(0, 0, 4).ack(100, 1).data(1100, 1, 1).ack(1174, 2);
    assert_eq!((script.flow.spurious().too_soon, script.flow.spurious().timeouts), (1, 1));
    let mut late = Script::new();
    late.data(0, 0, 4).ack(100, 1).data(1100, 1, 1).ack(1175, 2);
    assert_eq!(late.flow.spurious().total, 0);
}

#[test]
fn what_was_acknowledged_before_is_sent_in_vain() {
    let mut script = Script::new();
    script.data(0, 0, 4).ack(100, 5).data(101, 2, 2);
    assert_eq!((script.flow.spurious().acknowledged, script.causes()[0]), (1, 1));
}

#[test]
fn round_trips_follow_karn_or_timestamps() {
    let mut script = Script::new();
    script.data(0, 0, 1).ack(100, 1).data(1100, 1, 1).ack(1200, 2).data(1300, 2, 3).ack(1450, 4);
    // The second was sent twice; of the last two the first counts.
    let forward = script.flow.rtt.forward.distribution(1e3).expect("samples");
    assert_eq!((forward.samples, forward.min, forward.max), (2, 100.0, 150.0));
    let mut stamped = Script::with_timestamps();
    stamped.data(0, 0, 1).ack_with(100, 1, &[], 0).data(1100, 1, 1).ack_with(1220, 2, &[], 1100);
    let by_echo = stamped.flow.rtt.forward.distribution(1e3).expect("samples");
    assert_eq!((by_echo.samples, by_echo.max), (2, 120.0));
}

#[test]
fn a_late_segment_is_told_from_one_retransmitted_before_the_capture() {
    let mut script = Script::with_timestamps();
    script.data(0, 0, 1).ack_with(100, 2, &[], 0).data(200, 3, 4);
    // Sent before the third and fourth, and overtaken by both.
    script.send(210, 2 * MSS, MSS, 199);
    let late = script.flow.late();
    assert_eq!((late.late_segments, late.max_extent, late.max_lateness_ms), (1, 2, 10.0));
    assert_eq!(script.causes()[0], 0);
    // Sent after the data above the gap: it was lost before the place of the capture.
    script.data(300, 6, 6).data(700, 5, 5);
    assert_eq!((script.flow.late().late_segments, script.causes()[0]), (1, 1));
    assert_eq!(script.flow.counters.seen_before, 0);
}

#[test]
fn without_timestamps_lateness_decides() {
    let mut script = Script::new();
    script.data(0, 0, 0).ack(100, 1).data(200, 2, 2).data(249, 1, 1);
    assert_eq!((script.flow.late().late_segments, script.causes()[0]), (1, 0));
    script.data(300, 4, 4).data(351, 3, 3);
    assert_eq!((script.flow.late().late_segments, script.causes()[0]), (1, 1));
    // Soon, but three duplicate ACKs had asked for it.
    script.ack(400, 5).data(500, 6, 9).acks(&[501, 502, 503, 504], 5).data(510, 5, 5);
    assert_eq!((script.flow.late().late_segments, script.causes()[0]), (1, 2));
}

#[test]
fn sack_shows_reordering_behind_the_capture() {
    let mut script = Script::new();
    script.data(0, 0, 4).ack(100, 1).ack_with(110, 1, &[(2, 4)], 0).ack(115, 4);
    assert_eq!(script.flow.late().late_bytes_by_sack, 1000);
}

#[test]
fn the_time_with_a_full_window_and_with_nothing_in_flight_is_measured() {
    let mut script = Script::new();
    script.window = 4500;
    script.ack(0, 0).data(0, 0, 3).ack(100, 4).data(300, 4, 5).ack(400, 6);
    let report = script.flow.flight.report(at(0));
    // 100 of 400 ms with less than a segment left of 4500 bytes, 200 with nothing in flight.
    assert_eq!((report.window_limited_share, report.idle_share), (Some(0.25), Some(0.5)));
    assert_eq!((report.max_bytes, report.mean_bytes), (Some(4000), Some(1500.0)));
    script.window = 0;
    script.ack(500, 6);
    script.send(800, 6 * MSS, 1, 0);
    script.send(1800, 6 * MSS, 1, 0);
    assert_eq!(script.flow.flight.report(at(0)).zero_windows, 1);
    assert_eq!((script.flow.counters.window_probes, script.causes()[0]), (2, 0));
}

#[test]
fn a_keepalive_is_no_retransmission() {
    let mut script = Script::new();
    script.data(0, 0, 0).ack(100, 1);
    script.send(60_000, MSS - 1, 1, 0);
    assert_eq!((script.flow.counters.keepalives, script.causes()[0]), (1, 0));
}

#[test]
fn probe_without_data_of_a_closed_window_is_counted() {
    let bare = |seq| Segment { seq, flags: ACK, ..Segment::default() };
    let mut script = Script::new();
    script.ack(0, 0).data(0, 0, 19).ack(100, 20);
    script.window = 0;
    script.ack(101, 20);
    // Linux: `tcp_xmit_probe_skb`.
    for ms in [300, 700, 1500] {
        script.flow.handle_data(at(ms), &bare(20 * MSS - 1));
        script.ack(ms + 100, 20);
    }
    script.window = 60_000;
    script.ack(3100, 20).data(3100, 20, 39).ack(3200, 40);
    let counters = &script.flow.counters;
    assert_eq!((counters.window_probes, counters.keepalives, counters.retransmissions), (3, 0, 0));
    let report = script.flow.flight.report(at(0));
    // From 101 to 3100 ms of 3200.
    assert!((report.window_limited_share.expect("a window") - 2.999 / 3.2).abs() < 1e-6, "{report:?}");
    let shares = script.flow.spending().expect("data and ACKs").shares;
    assert!(shares.receive_window > 0.93, "{shares:?}");
}

#[test]
fn octet_of_a_probe_that_comes_again_is_no_timeout() {
    for answer in [Duration::ZERO, Duration::from_millis(100)] {
        let mut script = Script::with_timestamps();
        script.flow.answer = answer;
        script.ack(0, 0).data(0, 0, 19).ack(100, 20);
        script.window = 0;
        script.ack(101, 20);
        for ms in [300, 700, 1500] {
            script.send(ms, 20 * MSS, 1, ms as u32);
            script.ack(ms + 100, 20);
        }
        script.window = 60_000;
        script.ack(3100, 20).data(3200, 20, 39).ack(3300, 40);
        let shares = script.flow.spending().expect("data and ACKs").shares;
        assert_eq!(script.flow.counters.window_probes, 3);
        assert!(shares.receive_window > 0.85 && shares.timeouts == 0.0, "{answer:?} {shares:?}");
    }
}

#[test]
fn keepalive_without_data_is_counted() {
    let mut script = Script::new();
    script.ack(0, 0).data(0, 0, 0).ack(100, 1);
    for ms in [10_000, 20_000] {
        let probe = Segment { seq: MSS - 1, flags: ACK, ..Segment::default() };
        script.flow.handle_data(at(ms), &probe);
        script.ack(ms + 100, 1);
    }
    let counters = &script.flow.counters;
    assert_eq!((counters.window_probes, counters.keepalives, counters.segments), (0, 2, 1));
}

#[test]
fn keepalive_byte_at_the_start_of_a_capture_is_no_data() {
    let mut flow = Flow::default();
    for minute in 0..4 {
        let probe = Segment { seq: 5000, payload: 1, flags: ACK, ..Segment::default() };
        flow.handle_data(at(minute * 60_000), &probe);
        let answer = Segment { ack: 5001, flags: ACK, window: 1000, ..Segment::default() };
        flow.handle_ack(at(minute * 60_000 + 50), &answer, false);
    }
    assert_eq!((flow.counters.keepalives, flow.counters.segments, flow.counters.bytes), (4, 0, 0));
}

#[test]
fn in_the_middle_of_a_connection_and_with_one_side_only_what_can_be_is_counted() {
    let mut data_only = Flow::default();
    let send = |flow: &mut Flow, ms, seq| {
        flow.handle_data(at(ms), &Segment { seq, payload: MSS, flags: ACK, ..Segment::default() });
    };
    for (ms, seq) in [(0, 5000), (10, 6000), (500, 5000), (510, 7000)] {
        send(&mut data_only, ms, seq);
    }
    assert_eq!((data_only.counters.retransmissions, data_only.bytes_known()), (1, 3000));
    assert_eq!((data_only.bytes_acked(), data_only.duration()), (0, Some(Duration::from_millis(510))));
    let mut acks_only = Flow::default();
    for (ms, ack) in [(0, 5000), (10, 6000), (20, 6000), (30, 9000)] {
        acks_only.handle_ack(at(ms), &Segment { ack, flags: ACK, ..Segment::default() }, false);
    }
    assert_eq!((acks_only.bytes_acked(), acks_only.counters.unseen_bytes), (4000, 4000));
    assert_eq!(acks_only.acks.report().between_ms.map(|between| between.samples), Some(3));
}

#[test]
fn fin_takes_a_sequence_number_and_no_byte() {
    let mut script = Script::new();
    script.data(0, 0, 0);
    let fin = Segment { seq: MSS, flags: ACK | FIN, ..Segment::default() };
    script.flow.handle_data(at(1), &fin);
    let last = Segment { ack: MSS + 1, flags: ACK, ..Segment::default() };
    script.flow.handle_ack(at(100), &last, false);
    assert_eq!((script.flow.bytes_acked(), script.flow.counters.unseen_bytes), (1000, 0));
}

#[test]
fn an_ack_without_data_tells_how_far_was_sent() {
    let own = |seq| Segment { seq, flags: ACK, ..Segment::default() };
    let mut script = Script::new();
    script.data(0, 0, 0).ack(100, 1);
    // Two segments were lost before the place of the capture; the first is retransmitted after a timeout.
    script.flow.handle_data(at(150), &own(3 * MSS));
    script.data(500, 1, 1).ack(600, 2).data(601, 2, 3).ack(700, 4);
    let counters = &script.flow.counters;
    assert_eq!((counters.retransmissions, counters.seen_before, counters.unseen_bytes), (2, 0, 0));
    assert_eq!((counters.segments, script.flow.late().late_segments), (4, 0));
    // Beyond the window it belongs to another connection.
    script.flow.handle_data(at(800), &own(3 * MSS + 100_000));
    script.data(801, 4, 4);
    assert_eq!(script.flow.counters.retransmissions, 2);
    // An unseen FIN counts as an octet of data until it is retransmitted.
    script.flow.handle_data(at(802), &own(5 * MSS + 1));
    script.flow.handle_data(at(900), &Segment { seq: 5 * MSS, flags: ACK | FIN, ..Segment::default() });
    script.flow.handle_ack(at(1000), &Segment { ack: 5 * MSS + 1, flags: ACK, ..Segment::default() }, false);
    assert_eq!((script.flow.bytes_acked(), script.flow.counters.unseen_bytes), (5000, 0));
}

#[test]
fn what_a_capture_lacks_is_no_loss() {
    let mut script = Script::new();
    script.data(0, 0, 1).data(1, 3, 4).ack(100, 5).data(101, 5, 5);
    script.flow.handle_data(at(102), &Segment { seq: 8 * MSS, flags: ACK, ..Segment::default() });
    script.ack(200, 8);
    let counters = &script.flow.counters;
    assert_eq!((counters.unseen_bytes, counters.retransmissions), (3000, 0));
    assert_eq!((script.flow.bytes_acked(), script.episodes()), (8000, [0; 3]));
}

#[test]
fn a_fin_behind_lost_data_leaves_a_gap() {
    let mut script = Script::new();
    script.data(0, 0, 0).ack(100, 1);
    script.flow.handle_data(at(200), &Segment { seq: 3 * MSS, flags: ACK | FIN, ..Segment::default() });
    script.ack(201, 1).data(400, 1, 2);
    assert_eq!((script.flow.counted().dupacks, script.causes()[0]), (Some(1), 2));
    assert_eq!((script.flow.late().late_segments, script.flow.bytes_known()), (0, 3000));
}

/// RFC 2883 (4): the D-SACK of a FIN that came twice is about nothing in flight, so the ACK that brings it is no duplicate ACK.
#[test]
fn the_report_of_a_fin_that_came_twice_is_no_duplicate_ack() {
    let mut script = Script::new();
    script.data(0, 0, 2);
    let fin = Segment { seq: 3 * MSS, flags: ACK | FIN, ..Segment::default() };
    for ms in [0, 30] {
        script.flow.handle_data(at(ms), &fin);
    }
    let mut ack =
        Segment { ack: 3 * MSS + 1, flags: ACK, window: script.window, sack_blocks: 0, ..Segment::default() };
    script.flow.handle_ack(at(60), &ack, false);
    (ack.sack[0], ack.sack_blocks) = ((3 * MSS, 3 * MSS + 1), 1);
    script.flow.handle_ack(at(90), &ack, false);
    assert_eq!(script.flow.counted().dupacks, Some(0));
}

/// RFC 5681 (2): a duplicate ACK needs data in flight. A FIN that was reported by SACK and acknowledged leaves none.
#[test]
fn nothing_is_in_flight_behind_a_fin_that_was_reported() {
    let mut script = Script::new();
    script.data(0, 0, 2);
    script.flow.handle_data(at(0), &Segment { seq: 3 * MSS, flags: ACK | FIN, ..Segment::default() });
    let mut ack =
        Segment { ack: MSS, flags: ACK, window: script.window, sack_blocks: 1, ..Segment::default() };
    ack.sack[0] = (3 * MSS, 3 * MSS + 1);
    script.flow.handle_ack(at(50), &ack, false);
    script.data(60, 1, 2);
    for (ms, block) in [(110, None), (111, Some((MSS, 2 * MSS)))] {
        ack.ack = 3 * MSS + 1;
        ack.sack_blocks = u8::from(block.is_some());
        ack.sack[0] = block.unwrap_or_default();
        script.flow.handle_ack(at(ms), &ack, false);
    }
    assert_eq!((script.flow.counted().dupacks, script.flow.counters.dsacks), (Some(0), 1));
}
