//! Senders whose limit is known by construction, seen at the sender, half-way and at the receiver. The empty path takes
//! 30 ms each way.

use super::super::Flow;
use super::*;
use crate::segment::{ACK, PSH, Segment};

const MSS: u32 = 1000;
const ONE_WAY_US: u64 = 30_000;
const PLACES: [f64; 3] = [0.0, 0.5, 1.0];

/// Segments of a connection with their departure and arrival times, microseconds.
#[derive(Default)]
struct Path {
    segments: Vec<(u64, u64, bool, Segment)>,
    /// Offered by the receiver, if known.
    offered_mss: Option<u16>,
}

impl Path {
    /// Whole segments `from` to `to`, the last excluded, leave together and arrive `spacing_us` apart.
    fn data(&mut self, left_us: u64, from: u32, to: u32, spacing_us: u64, echo_us: u64) -> &mut Self {
        for number in from..to {
            let segment = Segment {
                seq: number * MSS,
                payload: MSS,
                flags: if number + 1 == to { ACK | PSH } else { ACK },
                timestamps: Some(((left_us / 1000) as u32 + 1, (echo_us / 1000) as u32 + 1)),
                ..Segment::default()
            };
            let came_us = left_us + ONE_WAY_US + u64::from(number - from) * spacing_us;
            self.segments.push((left_us + u64::from(number - from), came_us, true, segment));
        }
        self
    }

    /// The receiver acknowledges all segments below `next`, with a window in bytes and its own data.
    fn ack(&mut self, left_us: u64, next: u32, window: u16, echo_us: u64, payload: u32) -> &mut Self {
        let segment = Segment {
            ack: next * MSS,
            flags: ACK,
            window,
            payload,
            timestamps: Some(((left_us / 1000) as u32 + 1, (echo_us / 1000) as u32 + 1)),
            ..Segment::default()
        };
        self.segments.push((left_us, left_us + ONE_WAY_US, false, segment));
        self
    }

    /// Segments through a link that takes 4 ms per segment; 40 are in flight: an RTT of 160 ms, 60 ms of which is the
    /// empty path.
    fn fill_queue(&mut self, from_us: u64, segments: std::ops::Range<u32>) {
        for number in segments.clone() {
            let place = u64::from(number - segments.start);
            let came = from_us + 2 * ONE_WAY_US + place * 4000;
            let left = from_us
                + ONE_WAY_US
                + place.checked_sub(40).map_or(0, |before| 2 * ONE_WAY_US + before * 4000);
            self.data(left, number, number + 1, 0, left - ONE_WAY_US);
            if let Some(last) = self.segments.last_mut() {
                last.1 = came;
            }
            self.ack(came, number + 1, 60_000, left, 0);
        }
    }

    /// Shares as found at a place between sender (0) and receiver (1).
    fn shares(&self, place: f64) -> Shares {
        let mut seen: Vec<_> = self
            .segments
            .iter()
            .map(|&(left, came, is_data, segment)| {
                let share = if is_data { place } else { 1.0 - place };
                (left + ((came - left) as f64 * share) as u64, is_data, segment)
            })
            .collect();
        seen.sort_by_key(|(at, ..)| *at);
        let us = |us: f64| Duration::from_nanos((us * 1e3) as u64);
        let mut flow = Flow::default();
        flow.on_syn(u32::MAX);
        flow.window_shift = Some(0);
        flow.offered_mss = self.offered_mss;
        flow.answer = us(2.0 * ONE_WAY_US as f64 * place);
        flow.rtt.add_shortest(us(2.0 * ONE_WAY_US as f64 * (1.0 - place)));
        for (at, is_data, segment) in seen {
            let now = Instant::from_nanos(at * 1000);
            if is_data {
                flow.handle_data(now, &segment);
            } else {
                flow.handle_ack(now, &segment, false);
            }
        }
        let Spending { shares, parts, .. } = flow.spending().expect("data and ACKs");
        let sum: f64 = shares.parts().iter().map(|(_, part)| part).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{shares:?}");
        // The stretches of time agree.
        let whole_s: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
        let share_of = |own: &[Part]| {
            let of = parts.iter().filter(|(part, _)| own.contains(part));
            of.map(|(_, seconds)| seconds / whole_s).sum::<f64>()
        };
        let expected = [
            (shares.application, &[Part::Waiting, Part::Idle, Part::Pause][..]),
            (shares.receive_window, &[Part::ReceiveWindow]),
            (shares.congestion_window, &[Part::CongestionWindow]),
            (shares.slow_start, &[Part::SlowStart]),
            (shares.loss, &[Part::Loss]),
            (shares.timeouts, &[Part::Timeouts]),
            (shares.link, &[Part::Link]),
            (shares.unknown, &[Part::Unknown]),
        ];
        for (share, own) in expected {
            assert!((share_of(own) - share).abs() < 1e-9, "{own:?}: {share}, {parts:?}");
        }
        shares
    }
}

/// Bursts of ten segments; the next leaves `gap_us` after the ACK for all of the last came, with a window of `window`.
fn bursts(count: u32, gap_us: u64, window: u16, request: u32) -> Path {
    spaced_bursts(count, gap_us, window, request, 500)
}

/// [`bursts`] over a link that needs `spacing_us` per segment.
fn spaced_bursts(count: u32, gap_us: u64, window: u16, request: u32, spacing_us: u64) -> Path {
    let mut path = Path::default();
    let (mut at, mut echo) = (0, 0);
    path.ack(0, 0, window, 0, request);
    at += ONE_WAY_US + gap_us;
    for burst in 0..count {
        let from = burst * 10;
        path.data(at, from, from + 10, spacing_us, echo);
        for pair in 1..5 {
            let came = at + ONE_WAY_US + (2 * u64::from(pair) - 1) * spacing_us;
            path.ack(came, from + 2 * pair, window, at, 0);
        }
        let last = at + ONE_WAY_US + 9 * spacing_us;
        path.ack(last, from + 10, window, at, request);
        echo = last;
        at = last + ONE_WAY_US + gap_us;
    }
    path
}

#[test]
fn a_request_for_each_response_is_the_applications() {
    for place in PLACES {
        let shares = bursts(60, 0, 60_000, 300).shares(place);
        assert!(shares.between_turns > 0.85 && shares.turns == 60, "{place}: {shares:?}");
        // Five milliseconds of 64 in which a response comes.
        assert!(shares.link < 0.1, "{place}: {shares:?}");
    }
}

#[test]
fn a_server_that_thinks_is_the_application() {
    for place in PLACES {
        let shares = bursts(5, 1_000_000, 60_000, 300).shares(place);
        assert!(shares.between_turns > 0.98, "{place}: {shares:?}");
    }
}

#[test]
fn a_stream_that_pauses_is_the_application() {
    for place in PLACES {
        let shares = bursts(60, 100_000, 60_000, 0).shares(place);
        assert!(shares.application > 0.95 && shares.between_turns < 0.02, "{place}: {shares:?}");
    }
}

#[test]
fn a_stream_whose_pauses_are_short_does_not_start_slowly_again_and_again() {
    // 10 and 14 ms of a round trip of 60 ms: too short to be seen as pauses at once.
    for gap_us in [10_000, 14_000] {
        for place in PLACES {
            let shares = bursts(60, gap_us, 60_000, 0).shares(place);
            assert!(shares.slow_start < 0.1, "{place}, {gap_us} us: {shares:?}");
            assert!(shares.application + shares.unknown > 0.8, "{place}, {gap_us} us: {shares:?}");
        }
    }
}

/// Writes of `payload` octets, by their number, at irregular times. Those above the MSS leave as one segment, which the
/// network card divides.
fn writes(payload: impl Fn(u32) -> u32) -> Path {
    let mut path = Path { offered_mss: Some(1012), ..Path::default() };
    let (mut left_us, mut seq) = (0, 0);
    for number in 0..300 {
        left_us += [5_000, 70_000, 12_000, 33_000, 90_000, 8_000, 21_000][number % 7];
        let at = |us: u64| (us / 1000) as u32 + 1;
        let payload = payload(number as u32);
        let sent_at = Some((at(left_us), 1));
        let segment = Segment { seq, payload, flags: ACK | PSH, timestamps: sent_at, ..Segment::default() };
        seq += payload;
        let came_us = left_us + ONE_WAY_US;
        path.segments.push((left_us, came_us, true, segment));
        let acked_at = Some((at(came_us), at(left_us)));
        let ack =
            Segment { ack: seq, flags: ACK, window: 60_000, timestamps: acked_at, ..Segment::default() };
        path.segments.push((came_us, came_us + ONE_WAY_US, false, ack));
    }
    path
}

#[test]
fn writes_at_irregular_times_are_the_applications_with_offloading_too() {
    for payload in [|_| 500, |number| 2500 + 1000 * (number * 7 / 3 % 3)] {
        let shares = writes(payload).shares(0.0);
        assert!(shares.application > 0.95, "{shares:?}");
    }
}

#[test]
fn a_window_of_ten_segments_that_is_always_full_is_the_receive_window() {
    for place in PLACES {
        let mut path = Path::default();
        path.ack(0, 0, 10_000, 0, 0);
        // Ten segments in each round trip, each released by the ACK for the segment ten before it.
        for number in 0..1000_u32 {
            let slot = u64::from(number % 10) * 500;
            let left = ONE_WAY_US + u64::from(number / 10) * 2 * ONE_WAY_US + slot;
            path.data(left, number, number + 1, 0, left - ONE_WAY_US);
            path.ack(left + ONE_WAY_US, number + 1, 10_000, left, 0);
        }
        let shares = path.shares(place);
        assert!(shares.receive_window > 0.85, "{place}: {shares:?}");
    }
}

#[test]
fn a_reader_that_is_slow_is_the_receive_window() {
    for place in PLACES {
        let mut path = Path::default();
        path.ack(0, 0, 10_000, 0, 0);
        let mut echo = 0;
        for round in 0..40_u32 {
            let (from, left) = (round * 10, u64::from(round) * 500_000 + ONE_WAY_US);
            path.data(left, from, from + 10, 500, echo);
            let last = left + ONE_WAY_US + 9 * 500;
            path.ack(last, from + 10, 0, left, 0);
            // The window opens by an update.
            echo = u64::from(round + 1) * 500_000;
            path.ack(echo, from + 10, 10_000, left, 0);
        }
        let shares = path.shares(place);
        assert!(shares.receive_window > 0.85, "{place}: {shares:?}");
    }
}

#[test]
fn a_window_that_grows_by_a_segment_in_each_round_trip_is_the_congestion_window() {
    for place in PLACES {
        let mut path = Path::default();
        path.ack(0, 0, 60_000, 0, 0);
        let (mut next, mut left) = (0, ONE_WAY_US);
        for window in 4..50_u32 {
            for number in next..next + window {
                let at = left + u64::from(number - next) * 200;
                path.data(at, number, number + 1, 0, at - ONE_WAY_US);
                path.ack(at + ONE_WAY_US, number + 1, 60_000, at, 0);
            }
            (next, left) = (next + window, left + 2 * ONE_WAY_US);
        }
        let shares = path.shares(place);
        assert!(shares.congestion_window > 0.8, "{place}: {shares:?}");
    }
}

#[test]
fn responses_over_a_slow_link_are_the_links() {
    // At the receiver a response of one window looks like slow start.
    for place in [0.0, 0.5] {
        // 270 ms for a response, and 60 ms between two.
        let shares = spaced_bursts(40, 0, 60_000, 300, 30_000).shares(place);
        assert!(shares.link > 0.6 && shares.application > 0.1, "{place}: {shares:?}");
    }
}

#[test]
fn a_stream_of_chunks_is_no_queue() {
    for place in PLACES {
        let mut path = Path::default();
        path.ack(0, 0, 60_000, 0, 0);
        // Two segments every 20 ms; the timestamp they echo is 19.5 ms old.
        for chunk in 0..500_u32 {
            let left = ONE_WAY_US + 20_000 * u64::from(chunk);
            let echo = (left + 500).saturating_sub(80_000 - ONE_WAY_US);
            path.data(left, 2 * chunk, 2 * chunk + 2, 500, echo);
            path.ack(left + ONE_WAY_US + 500, 2 * chunk + 2, 60_000, left, 0);
        }
        let shares = path.shares(place);
        assert!(shares.link < 0.1, "{place}: {shares:?}");
        assert!(shares.application + shares.unknown > 0.8, "{place}: {shares:?}");
    }
}

#[test]
fn a_window_in_a_standing_queue_is_the_links() {
    for place in PLACES {
        let mut path = Path::default();
        path.ack(0, 0, 60_000, 0, 0);
        path.fill_queue(0, 0..2000);
        let shares = path.shares(place);
        assert!(shares.link > 0.85, "{place}: {shares:?}");
    }
}

#[test]
fn a_pause_behind_a_queue_is_no_timeout() {
    for place in PLACES {
        let mut path = Path::default();
        path.ack(0, 0, 60_000, 0, 0);
        // Chunks of a film: 2 s each, and 3 s until the next.
        for chunk in 0..5_u32 {
            path.fill_queue(5_000_000 * u64::from(chunk), 500 * chunk..500 * (chunk + 1));
        }
        let shares = path.shares(place);
        assert!(shares.application > 0.5 && shares.timeouts < 0.01, "{place}: {shares:?}");
    }
}
