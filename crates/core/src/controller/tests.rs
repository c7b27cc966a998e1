//! Every controller over a link with a queue, driven by hand: packets of 1000 B at the paced rate.

use super::*;
use std::collections::VecDeque;

/// A link of varying capacity with a queue, and feedback after the controller's interval.
struct Path {
    controller: Box<dyn RateController>,
    interval: Duration,
    /// When the link is free.
    free_at: Instant,
    now: Instant,
    number: u32,
    in_transit: VecDeque<Outcome>,
    in_flight: u64,
}

const LEN: u32 = 1000;
/// One-way delay, each way.
const DELAY: Duration = Duration::from_millis(25);
/// The queue holds 300 ms.
const QUEUE: Duration = Duration::from_millis(300);

impl Path {
    fn new(name: &str) -> Self {
        let config = Config::defaults().into_iter().find(|config| config.name() == name).unwrap();
        let limits = Limits { start: 300e3, min: 50e3, max: 2.5e6 };
        Self {
            controller: config.build(limits, Instant::ZERO),
            interval: config.feedback_interval(),
            free_at: Instant::ZERO,
            now: Instant::ZERO,
            number: 0,
            in_transit: VecDeque::new(),
            in_flight: 0,
        }
    }

    /// Runs until `until` over a link of this capacity; marks above `mark` of queueing delay. Returns mean target rate, its
    /// largest value and the mean queueing delay in ms, of the last two thirds.
    fn run(&mut self, until_s: f64, capacity: f64, mark: Option<Duration>) -> (f64, f64, f64) {
        let (begin, end) = (self.now, Instant::from_nanos((until_s * 1e9) as u64));
        let counted_from = Instant::from_nanos(begin.as_nanos() + end.since(begin).as_nanos() / 3);
        let mut next_feedback = self.now + self.interval;
        let mut next_send = self.now;
        let (mut sum, mut most, mut queue_ms, mut count) = (0.0, 0.0_f64, 0.0, 0.0);
        while self.now < end {
            self.now = next_send.min(next_feedback);
            let permit = self.controller.permit();
            if next_feedback <= next_send {
                next_feedback = self.now + self.interval;
                self.feed_back();
                continue;
            }
            let rate = permit.target_bps;
            next_send = self.now + Duration::from_nanos((f64::from(LEN) * 8e9 / rate) as u64);
            if self.in_flight + u64::from(LEN) > permit.window_bytes {
                continue;
            }
            let queue = self.free_at.since(self.now);
            if self.now >= counted_from {
                (sum, most, count) = (sum + rate, most.max(rate), count + 1.0);
                queue_ms += queue.as_secs_f64() * 1e3;
            }
            let takes = Duration::from_nanos((f64::from(LEN) * 8e9 / capacity) as u64);
            let is_dropped = queue > QUEUE;
            if !is_dropped {
                self.free_at = self.free_at.max(self.now) + takes;
            }
            self.in_flight += u64::from(LEN);
            self.in_transit.push_back(Outcome {
                number: self.number,
                len: LEN,
                sent_at: self.now,
                arrived_at: (!is_dropped).then_some(self.free_at + DELAY),
                ce: mark.is_some_and(|mark| queue > mark),
                probe: None,
            });
            self.number += 1;
        }
        (sum / count, most, queue_ms / count)
    }

    /// Reports what has arrived half a round trip ago.
    fn feed_back(&mut self) {
        let by = Instant::from_nanos(self.now.as_nanos().saturating_sub(DELAY.as_nanos()));
        let is_known = |outcome: &Outcome| outcome.arrived_at.unwrap_or(outcome.sent_at + DELAY) <= by;
        let known = self.in_transit.iter().take_while(|outcome| is_known(outcome)).count();
        let packets: Vec<Outcome> = self.in_transit.drain(..known).collect();
        let Some(last) =
            packets.iter().rev().find_map(|packet| packet.arrived_at.map(|at| (at, packet.sent_at)))
        else {
            return;
        };
        let rtt = Some(last.0.since(last.1) + DELAY);
        let in_flight = self.in_flight;
        self.in_flight -= u64::from(LEN) * packets.len() as u64;
        self.controller.handle_feedback(self.now, Feedback { packets: &packets, rtt, in_flight });
    }
}

#[test]
fn every_controller_uses_a_constant_link_without_filling_its_queue() {
    for name in ["gcc", "nada", "scream"] {
        let mut path = Path::new(name);
        path.run(60.0, 2e6, None);
        let (mean, _, queue_ms) = path.run(120.0, 2e6, None);
        assert!((1.3e6..2.1e6).contains(&mean), "{name}: {mean} bit/s, {queue_ms} ms");
        assert!(queue_ms < 100.0, "{name}: {queue_ms} ms");
    }
}

/// Real senders of libwebrtc keep within a tenth of 1 Mbit/s; the draft oscillates with a segment of 7 % of the window.
#[test]
fn scream_of_libwebrtc_is_steadier_than_that_of_the_draft() {
    let used = |variant| {
        let config = scream::Config { variant, ..scream::Config::default() };
        let limits = Limits { start: 300e3, min: 50e3, max: 2.5e6 };
        let controller = Config::Scream(config).build(limits, Instant::ZERO);
        let mut path = Path { controller, ..Path::new("scream") };
        path.run(30.0, 1e6, None);
        path.run(90.0, 1e6, None).0 / 1e6
    };
    let (libwebrtc, draft) = (used(scream::Variant::Libwebrtc), used(scream::Variant::Draft));
    assert!((0.9..1.02).contains(&libwebrtc) && draft < libwebrtc - 0.05, "{libwebrtc} {draft}");
}

#[test]
fn every_controller_follows_a_link_that_gets_slower_and_faster_again() {
    for name in ["gcc", "nada", "scream"] {
        let mut path = Path::new(name);
        path.run(60.0, 2e6, None);
        let (slow, most, _) = path.run(90.0, 0.5e6, None);
        assert!((0.25e6..0.55e6).contains(&slow) && most < 0.9e6, "{name}: {slow} {most}");
        path.run(150.0, 2e6, None);
        let (fast, ..) = path.run(180.0, 2e6, None);
        assert!(fast > 1.2e6, "{name}: {fast}");
    }
}

#[test]
fn controllers_that_read_marks_keep_a_short_queue() {
    for name in ["nada", "scream"] {
        let mark = Some(Duration::from_millis(5));
        let (unmarked, marked) = (Path::new(name).run(90.0, 2e6, None), Path::new(name).run(90.0, 2e6, mark));
        assert!(marked.2 < unmarked.2 && marked.2 < 12.0, "{name}: {marked:?} {unmarked:?}");
    }
}

/// RFC 8698, 4.3 by hand: at rest the offset is zero: x = XREF RMAX / r, so 15 ms of queue at 1 Mbit/s of at most 1.5.
#[test]
fn nada_keeps_the_queue_of_its_equilibrium() {
    let limits = Limits { start: 300e3, min: 150e3, max: 1.5e6 };
    let nada = Config::Nada(nada::Config::default()).build(limits, Instant::ZERO);
    let mut path = Path { controller: nada, ..Path::new("nada") };
    path.run(60.0, 1e6, None);
    let (mean, _, queue_ms) = path.run(120.0, 1e6, None);
    assert!((mean - 1e6).abs() < 20e3 && (queue_ms - 15.0).abs() < 4.0, "{mean} {queue_ms}");
}

#[test]
fn without_control_nothing_changes() {
    let (mean, most, queue_ms) = Path::new("fixed").run(30.0, 0.2e6, None);
    assert_eq!((mean, most), (300e3, 300e3));
    assert!(queue_ms > 250.0, "{queue_ms}");
}
