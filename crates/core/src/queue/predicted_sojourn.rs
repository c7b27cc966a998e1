//! Marks packets on arrival by their predicted sojourn time: bytes ahead divided by the bearer's recent egress rate.
//!
//! A discipline that examines packets at departure signals their senders one queueing delay later than it could, and on
//! a radio bearer the rate changes meanwhile. The bearer's own accounting has the bytes queued and sent. Source: L4Span
//! (arXiv 2510.02682, and `mark_entity_impl.h` of its published code).
//!
//! The egress rate covers the packets that started transmission within the last `window` of busy time, that is, time in
//! which further packets were queued: `bytes started / time until the next packets started`. L4Span measures at the
//! same place, by RLC's reports of *transmitted* data (TS 38.425 §5.5.2.2). The time of acknowledgement does not count,
//! nor does idle time of the transmitter. Until two transmissions have followed each other the rate is the nominal one.
//!
//! The rate is not the same in each stretch of busy time as long as `threshold`: `spread` is the standard deviation over
//! the stretches of the last `window`. A packet needs the rate `needed = bytes ahead / threshold` to leave in time, and
//!
//! ```text
//! ECT(1):  marked with probability (needed - (rate - spread)) / (2 spread), with `threshold` (10 ms in L4Span)
//! ECT(0):  marked with probability ((needed - rate) / spread)^2, with `classic_threshold` (100 ms in L4Span)
//! ```
//!
//! each from 0 to 1, and a step at the rate if it does not vary. Senders of ECT(1) respond to marks in proportion.
//! Senders of ECT(0) reduce the window by a fixed part at a single mark, so they need a queue of about one RTT, and are not
//! marked below it; the square is the rule of RFC 9332 (2.1) for both kinds to see equal congestion.
//!
//! DEVIATION: L4Span takes `spread` over the last 50 reports, each at least 1 ms long; a TDD pattern alone makes these
//! differ. Its published code marks ECT(0) with `(7 MSS / queue)^2` above 225 kB per UE, rarer the longer the queue is;
//! the law here is a ramp as for ECT(1), which that code has in a comment, from the threshold on.
//! It also writes the marks into ACKs on the uplink; here, as in the paper's variant for UDP and QUIC, packets are marked.
//!
//! Left out: dropping packets that are not ECN-capable; `packets` and `bytes` bound the buffer.

use super::droptail::{self, Droptail};
use super::{Aqm, Component, Discipline, Place, Target, Verdict};
use crate::element::Bearer;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::rng::{self, Stream};
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use std::collections::VecDeque;

const THRESHOLD: Duration = Duration::from_millis(10);
const CLASSIC_THRESHOLD: Duration = Duration::from_millis(100);

/// The most stretches that are compared, as in L4Span.
const MOST_STRETCHES: u64 = 50;

parameters! {
    /// Marks arriving packets whose predicted sojourn time at the recent egress rate is too long, as L4Span does.
    pub struct Config {
        /// At most this many packets, including packets in transmission; unlimited if absent.
        pub packets: Option<u32>,
        /// At most this many bytes, including packets in transmission; unlimited if absent.
        pub bytes: Option<Bytes>,
        /// An ECT(1) packet that would wait longer is marked, at random where the rate varies; "auto": at least 10 ms, and
        /// 1.5 times an MTU's time and a TTI.
        pub threshold: Target = Target::Auto,
        /// An ECT(0) packet that would wait longer is marked, at random where the rate varies; "auto": at least 100 ms, and
        /// 1.5 times an MTU's time and a TTI.
        pub classic_threshold: Target = Target::Auto,
        /// Over which time of sending the rate is measured.
        pub window: Duration = Duration::from_millis(200),
        /// Size of a large packet, for "auto".
        pub mtu: Bytes = Bytes::from_bytes(1500),
    }
}

impl Config {
    fn limit(&self) -> droptail::Config {
        droptail::Config { packets: self.packets, bytes: self.bytes, ..Default::default() }
    }
}

impl Component for Config {
    fn build(&self, place: &Place<'_>) -> Discipline {
        let threshold = self.threshold.at(place, THRESHOLD, self.mtu);
        Discipline::Other(Box::new(PredictedSojourn {
            limit: self.limit().in_use(),
            threshold,
            classic_threshold: self.classic_threshold.at(place, CLASSIC_THRESHOLD, self.mtu),
            excused: Duration::ZERO,
            egress: Egress::new(self.window, threshold),
            stream: rng::stream(place.run_seed, place.name),
        }))
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        (self.packets, self.bytes)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.window.is_zero() {
            let hint = "write a time such as \"200 ms\"";
            return Err(ScenarioError::new("window", "no rate can be measured", hint));
        }
        self.limit().validate()
    }

    /// It must be notified of each transmission.
    fn needs_line(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        true
    }
}

struct PredictedSojourn {
    limit: Droptail,
    threshold: Duration,
    classic_threshold: Duration,
    /// So much of a packet's wait is no queue.
    excused: Duration,
    egress: Egress,
    stream: Stream,
}

impl PredictedSojourn {
    /// Whether the draw for a packet that is late with this probability marks it. Certain cases draw nothing.
    fn draws(&mut self, probability: f64) -> bool {
        probability > 0.0 && (probability >= 1.0 || self.stream.uniform() < probability)
    }
}

impl Aqm for PredictedSojourn {
    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.stream)
    }

    fn admit(&mut self, now: Instant, packet: &Packet, buffer: &Bearer) -> Verdict {
        let verdict = self.limit.admit(now, packet, buffer);
        if verdict != Verdict::Enter || !packet.can_be_marked() {
            return verdict;
        }
        let is_scalable = packet.ecn() == Packet::ECT_1;
        let threshold = if is_scalable { self.threshold } else { self.classic_threshold };
        let nominal = buffer.rate().as_bps() as f64 / 8.0;
        let rate = self.egress.rate(now).unwrap_or(nominal);
        let needed = buffer.untransmitted_bytes() as f64 / (threshold + self.excused).as_secs_f64();
        let spread = self.egress.spread;
        let probability = match is_scalable {
            true => ramp(needed - (rate - spread), 2.0 * spread),
            false => ramp(needed - rate, spread) * ramp(needed - rate, spread),
        };
        if self.draws(probability) { Verdict::Mark } else { Verdict::Enter }
    }

    fn handle_start(&mut self, now: Instant, len: u32, buffer: &Bearer) {
        self.egress.start(now, len, buffer.untransmitted_sdus() > 0);
    }

    fn excuse(&mut self, wait: Duration) {
        self.excused = wait;
    }
}

/// Rises from 0 to 1 over a width; a step if that is zero.
fn ramp(above: f64, width: f64) -> f64 {
    if width <= 0.0 {
        return if above > 0.0 { 1.0 } else { 0.0 };
    }
    (above / width).clamp(0.0, 1.0)
}

/// Egress rate of a transmitter while packets are queued, and how much it varies.
struct Egress {
    window: Duration,
    /// Length of the stretches of busy time over which the rate is compared.
    stretch: Duration,
    /// Rates of the last stretches, bytes per second, and time and bytes of the one in progress.
    rates: VecDeque<f64>,
    current: (Duration, u64),
    /// Standard deviation of the rates, bytes per second; 0 before the second.
    spread: f64,
    /// Bytes begun, and the time until the next ones began; over at least `window` if there was as much.
    sent: VecDeque<(Duration, u64)>,
    time: Duration,
    bytes: u64,
    /// Last start of transmission: time, bytes, and whether further packets were queued.
    last: Option<(Instant, u64, bool)>,
}

impl Egress {
    /// `threshold`: the time for which the rate is to be predicted.
    fn new(window: Duration, threshold: Duration) -> Self {
        Self {
            window,
            stretch: threshold.max(Duration::from_nanos(1)),
            rates: VecDeque::new(),
            current: (Duration::ZERO, 0),
            spread: 0.0,
            sent: VecDeque::new(),
            time: Duration::ZERO,
            bytes: 0,
            last: None,
        }
    }

    /// Transmission of `len` bytes starts; `others_wait` says whether further packets are queued.
    fn start(&mut self, now: Instant, len: u32, others_wait: bool) {
        let len = u64::from(len);
        match self.last {
            // Same TTI as the last start.
            Some((at, bytes, _)) if at == now => self.last = Some((now, bytes + len, others_wait)),
            Some((at, bytes, true)) => {
                self.note(now.since(at), bytes);
                self.last = Some((now, len, others_wait));
            }
            _ => self.last = Some((now, len, others_wait)),
        }
    }

    fn note(&mut self, time: Duration, bytes: u64) {
        self.sent.push_back((time, bytes));
        self.time += time;
        self.bytes += bytes;
        while let Some(&(oldest, sent)) = self.sent.front()
            && self.time.saturating_sub(oldest) >= self.window
        {
            self.sent.pop_front();
            self.time = self.time.saturating_sub(oldest);
            self.bytes -= sent;
        }
        let (spent, started) = &mut self.current;
        (*spent, *started) = (*spent + time, *started + bytes);
        if *spent >= self.stretch {
            let rate = *started as f64 / spent.as_secs_f64();
            self.current = (Duration::ZERO, 0);
            self.compare(rate);
        }
    }

    /// Takes the rate of another stretch.
    fn compare(&mut self, rate: f64) {
        let most = (self.window.as_nanos() / self.stretch.as_nanos()).clamp(2, MOST_STRETCHES);
        while self.rates.len() as u64 >= most {
            self.rates.pop_front();
        }
        self.rates.push_back(rate);
        let count = self.rates.len() as f64;
        let mean = self.rates.iter().sum::<f64>() / count;
        let squares = self.rates.iter().map(|other| (other - mean) * (other - mean)).sum::<f64>();
        self.spread = libm::sqrt(squares / count);
    }

    /// Bytes per second; `None` before the first measurement. The transmission in progress counts once it takes longer
    /// than expected.
    fn rate(&self, now: Instant) -> Option<f64> {
        let measured = (!self.time.is_zero()).then(|| self.bytes as f64 / self.time.as_secs_f64());
        match self.last {
            Some((at, bytes, true)) if now > at => {
                let slower = (self.bytes + bytes) as f64 / (self.time + now.since(at)).as_secs_f64();
                measured.map(|rate| rate.min(slower))
            }
            _ => measured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;
    use crate::queue::Departed;
    use crate::units::Bitrate;

    /// 1500 bytes in 10 ms.
    const RATE: Bitrate = Bitrate::from_bps(1_200_000);
    const LEN: u32 = 1500;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A discipline and the accounting of its bearer.
    struct Buffer {
        discipline: Discipline,
        accounting: Bearer,
        now: u64,
    }

    impl Buffer {
        /// With a threshold of 50 ms for ECT(1).
        fn new() -> Self {
            Self::of_run(1)
        }

        fn of_run(run_seed: u64) -> Self {
            let config = Config { threshold: Target::Time(Duration::from_millis(50)), ..Config::default() };
            let place = Place { run_seed, name: "queue", rate: RATE, tti: Duration::ZERO };
            Self { discipline: config.build(&place), accounting: Bearer::new(RATE, false), now: 0 }
        }

        fn admit(&mut self, ecn: u8) -> Verdict {
            let packet = Packet { len: LEN, form: Form::TCP.with_ecn(ecn), ..Packet::default() };
            let verdict = self.discipline.admit(at(self.now), &packet, &self.accounting);
            self.accounting.enter(&packet);
            verdict
        }

        /// Packets start after the given intervals, while `behind` packets wait all the time.
        fn send(&mut self, after_ms: &[u64], behind: u32) {
            for _ in 0..behind {
                self.admit(Packet::NOT_ECT);
            }
            for ms in after_ms {
                self.now += ms;
                self.admit(Packet::NOT_ECT);
                self.accounting.start(0, LEN);
                self.discipline.handle_start(at(self.now), LEN, &self.accounting);
            }
            for _ in 0..behind {
                self.accounting.start(0, LEN);
            }
        }

        /// Number of packets ahead of the first one that is marked.
        fn ahead_of_mark(&mut self, ecn: u8) -> u32 {
            (0..1000).take_while(|_| self.admit(ecn) == Verdict::Enter).count() as u32
        }
    }

    /// Packets ahead of the first mark after such transmissions.
    fn ahead(after_ms: &[u64], behind: u32, ecn: u8) -> u32 {
        let mut buffer = Buffer::new();
        buffer.send(after_ms, behind);
        buffer.ahead_of_mark(ecn)
    }

    /// By hand, a threshold of 50 ms: at the nominal rate five packets last as long, at 25 ms per packet two, and after
    /// a window of 200 ms at 5 ms per packet, ten. One more is not late.
    #[test]
    fn what_is_ahead_counts_at_the_rate_of_late() {
        assert_eq!(ahead(&[], 0, Packet::ECT_1), 6);
        assert_eq!(ahead(&[25; 20], 1, Packet::ECT_1), 3);
        let changes: Vec<u64> = [25; 20].into_iter().chain([5; 81]).collect();
        assert_eq!(ahead(&changes, 1, Packet::ECT_1), 11);
    }

    /// Share of the runs in which a packet is marked behind so many others, where stretches of 50 ms with a packet each 25
    /// and each 5 ms alternate.
    fn marked_where_the_rate_varies(ahead: u32, ecn: u8) -> f64 {
        let stretches = std::iter::repeat_n([25, 25, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5], 8).flatten();
        let after_ms: Vec<u64> = [1].into_iter().chain(stretches).collect();
        let is_marked = |seed: &u64| {
            let mut buffer = Buffer::of_run(*seed);
            buffer.send(&after_ms, 1);
            (0..ahead).for_each(|_| _ = buffer.admit(Packet::NOT_ECT));
            buffer.admit(ecn) == Verdict::Mark
        };
        (0..1000).filter(is_marked).count() as f64 / 1000.0
    }

    /// By hand: 60 and 300 kB/s have the mean 180 kB/s and the standard deviation 120 kB/s. A packet behind n others has to
    /// be sent at 30 n kB/s to leave within 50 ms: ECT(1) is marked with probability (n - 2) / 8. Behind 2 n others it has
    /// to be sent at that rate to leave within 100 ms: ECT(0) with ((n - 6) / 4)^2.
    #[test]
    fn marks_are_rarer_the_more_likely_a_packet_leaves_in_time() {
        let near = |own: f64, expected: f64| {
            // Four standard deviations of a binomial law.
            (own - expected).abs() <= 4.0 * (expected * (1.0 - expected) / 1000.0).sqrt()
        };
        for (ahead, scalable, classic) in [
            (2, 0.0, 0.0),
            (4, 0.25, 0.0),
            (6, 0.5, 0.0),
            (7, 0.625, 0.0625),
            (8, 0.75, 0.25),
            (10, 1.0, 1.0),
        ] {
            let own = marked_where_the_rate_varies(ahead, Packet::ECT_1);
            assert!(near(own, scalable), "{ahead} ahead: {own}, not {scalable}");
            let twice = marked_where_the_rate_varies(2 * ahead, Packet::ECT_0);
            assert!(near(twice, classic), "{ahead} ahead: {twice}, not {classic}");
        }
    }

    /// L4Span has 100 ms for classic senders: by hand 10 packets at the nominal rate, 4 at 25 ms per packet.
    #[test]
    fn senders_that_halve_their_windows_have_a_threshold_of_their_own() {
        assert_eq!(ahead(&[], 0, Packet::ECT_0), 11);
        assert_eq!(ahead(&[25; 20], 1, Packet::ECT_0), 5);
    }

    /// Several packets start in one TTI: two per 20 ms are 10 ms per packet.
    #[test]
    fn packets_of_one_tti_count_until_the_next() {
        let ttis: Vec<u64> = [20, 0].into_iter().cycle().take(40).collect();
        assert_eq!(ahead(&ttis, 1, Packet::ECT_1), 6);
    }

    /// Packets one by one, each acknowledged 40 ms after it was sent, as by a link layer: neither their time in flight
    /// nor the idle time until the next one affects the rate.
    #[test]
    fn time_in_which_nothing_waits_to_be_sent_is_not_measured() {
        let mut buffer = Buffer::new();
        for _ in 0..20 {
            buffer.send(&[1000], 0);
            buffer.now += 40;
            buffer.accounting.leave(0, LEN);
            let gone = Departed { len: LEN, delivered: true };
            buffer.discipline.handle_departure(at(buffer.now), gone, &buffer.accounting);
        }
        assert_eq!(buffer.ahead_of_mark(Packet::ECT_1), 6);
    }

    /// Five packets are 50 ms; a transmission that has begun 200 ms ago makes them 250 ms and more.
    #[test]
    fn a_transmitter_that_stops_is_slower_before_it_goes_on() {
        let mut buffer = Buffer::new();
        buffer.send(&[10; 21], 1);
        buffer.accounting.enter(&Packet { len: LEN, ..Packet::default() });
        buffer.discipline.handle_start(at(buffer.now), 0, &buffer.accounting);
        buffer.now += 200;
        assert!(buffer.ahead_of_mark(Packet::ECT_1) < 3);
    }

    /// By hand: 30 ms more are three packets.
    #[test]
    fn an_excused_wait_is_no_queue() {
        let mut buffer = Buffer::new();
        buffer.discipline.excuse(Duration::from_millis(30));
        assert_eq!(buffer.ahead_of_mark(Packet::ECT_1), 9);
    }

    #[test]
    fn what_cannot_be_marked_enters() {
        let mut buffer = Buffer::new();
        assert!((0..100).all(|_| buffer.admit(Packet::NOT_ECT) == Verdict::Enter));
    }
}
