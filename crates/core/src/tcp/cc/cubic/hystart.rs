//! Ends slow start before a loss: HyStart as in Linux, and HyStart++ (RFC 9406).
//!
//! S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55 (9), 2011. Both evaluate each round
//! of ACKs; a round ends when all data sent before it started is acknowledged.
//!
//! **Linux**: slow start ends in a round in which the minimum of more than eight samples exceeds the connection's
//! minimum RTT by an eighth, bounded to 4 to 16 ms (delay increase); or in which ACKs spaced by at most 2 ms have
//! arrived for as long as the minimum RTT and 1 ms, or for half of that if the sender does not pace: pacing alone
//! spreads a window over half of a round trip (ACK train). Slow start never ends with a window below 16 segments,
//! although rounds are counted there too (since Linux 6.14). Each ACK with a round-trip time counts, whether the window
//! is used or not, duplicates included.
//!
//! **HyStart++**: a round whose RTT exceeds that of the previous round by an eighth, bounded to 4 to 16 ms, starts
//! conservative slow start, which grows a quarter as fast. Five such rounds end slow start; a decreasing RTT resumes
//! it. ACK trains are ignored. Only the first slow start uses it.

use crate::time::{Duration, Instant};

/// Samples that make a round count: RFC 9406 (4.3), N_RTT_SAMPLE; `HYSTART_MIN_SAMPLES`.
const SAMPLES: u32 = 8;
/// Window below which Linux looks at nothing, segments: its `hystart_low_window`.
const LOW_WINDOW: f64 = 16.0;
/// ACKs this close are a train: Linux's `hystart_ack_delta_us`.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Aggregated segments may delay ACKs by this: the time of 262 kB at the sending rate, but 1 ms at most (Linux). Below
/// 2 Gbit/s that is 1 ms.
const TRAIN_SLACK: Duration = Duration::from_millis(1);
/// Rounds of conservative slow start: RFC 9406 (4.3), CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;
/// RFC 9406 (4.3), CSS_GROWTH_DIVISOR.
const CSS_DIVISOR: f64 = 4.0;

/// A rise of the round-trip time that counts: an eighth of `rtt`, 4 to 16 ms.
fn threshold(rtt: Duration) -> Duration {
    let eighth = Duration::from_nanos(rtt.as_nanos() / 8);
    eighth.clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// An ACK during slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub now: Instant,
    pub una: u64,
    /// End offset (exclusive) of the data sent.
    pub max: u64,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// A pacer spaces the segments.
    pub is_paced: bool,
}

/// Rounds as Linux looks at them.
#[derive(Clone, Debug, Default)]
pub(super) struct Linux {
    round: Option<Round>,
    /// Slow start was ended.
    found: bool,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    began: Instant,
    /// The latest ACK of the train that began with the round.
    train: Instant,
    end: u64,
    rtt: Option<Duration>,
    samples: u32,
}

impl Round {
    fn new(ack: &Ack) -> Self {
        Self { began: ack.now, train: ack.now, end: ack.max, rtt: None, samples: 0 }
    }
}

impl Linux {
    /// Whether slow start ends with this ACK, whose round-trip time is `rtt`, the shortest of the connection being
    /// `rtt_min`.
    pub fn on_ack(&mut self, ack: &Ack, rtt: Duration, rtt_min: Duration) -> bool {
        if self.found {
            return false;
        }
        let round = self.round.get_or_insert_with(|| Round::new(ack));
        if ack.una > round.end {
            *round = Round::new(ack);
        }
        if ack.cwnd < LOW_WINDOW {
            return false;
        }
        if ack.now.since(round.train) <= TRAIN_GAP {
            round.train = ack.now;
            let whole = (rtt_min + TRAIN_SLACK).as_nanos();
            let longest = if ack.is_paced { whole } else { whole / 2 };
            self.found = ack.now.since(round.began).as_nanos() > longest;
        }
        let shortest = round.rtt.map_or(rtt, |shortest| shortest.min(rtt));
        round.rtt = Some(shortest);
        if round.samples < SAMPLES {
            round.samples += 1;
        } else {
            self.found |= shortest > rtt_min + threshold(rtt_min);
        }
        self.found
    }

    /// The retransmission timer expired: slow start restarts.
    pub fn on_timeout(&mut self) {
        (self.round, self.found) = (None, false);
    }
}

/// HyStart++.
#[derive(Clone, Debug, Default)]
pub(super) struct PlusPlus {
    phase: Phase,
    end: Option<u64>,
    /// Shortest of the round before, and of the present one.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    #[default]
    SlowStart,
    /// Conservative slow start: RTT at its start, and rounds since.
    Conservative { baseline: Duration, rounds: u32 },
    /// The first slow start is over.
    Done,
}

impl PlusPlus {
    /// Whether slow start ends with this ACK.
    pub fn on_ack(&mut self, ack: &Ack, rtt: Option<Duration>) -> bool {
        if matches!(self.phase, Phase::Done) {
            return false;
        }
        let mut ends = false;
        if ack.una > *self.end.get_or_insert(ack.max) {
            self.end = Some(ack.max);
            self.last = self.current.take().or(self.last);
            self.samples = 0;
            if let Phase::Conservative { rounds, .. } = &mut self.phase {
                *rounds += 1;
                ends = *rounds >= CSS_ROUNDS;
            }
        }
        if let Some(rtt) = rtt {
            self.current = Some(self.current.map_or(rtt, |current| current.min(rtt)));
            self.samples += 1;
        }
        let current = self.current.filter(|_| self.samples >= SAMPLES);
        match (self.phase, current) {
            (Phase::SlowStart, Some(current))
                if self.last.is_some_and(|last| current >= last + threshold(last)) =>
            {
                self.phase = Phase::Conservative { baseline: current, rounds: 0 };
            }
            (Phase::Conservative { baseline, .. }, Some(current)) if current < baseline => {
                self.phase = Phase::SlowStart;
                ends = false;
            }
            _ => {}
        }
        if ends {
            self.phase = Phase::Done;
        }
        ends
    }

    /// Divisor of the growth.
    pub fn divisor(&self) -> f64 {
        if matches!(self.phase, Phase::Conservative { .. }) { CSS_DIVISOR } else { 1.0 }
    }

    /// A loss: the first slow start is over.
    pub fn on_loss(&mut self) {
        self.phase = Phase::Done;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn ack(now_ms: u64, una: u64, max: u64) -> Ack {
        Ack { now: Instant::ZERO + ms(now_ms), una, max, cwnd: 20.0, is_paced: false }
    }

    /// Whether and with which ACK of a round, 10 ms apart, slow start ends.
    fn ends(hystart: &mut Linux, round: u64, rtt_ms: u64) -> Option<u64> {
        (1..=20).find(|n| {
            hystart.on_ack(
                &ack(round * 1000 + n * 10, round * 100 + n, (round + 1) * 100),
                ms(rtt_ms),
                ms(80),
            )
        })
    }

    #[test]
    fn linux_ends_slow_start_when_eight_samples_and_one_are_longer() {
        let mut hystart = Linux::default();
        assert_eq!(ends(&mut hystart, 0, 80), None);
        // A rise of an eighth is not more than an eighth.
        assert_eq!(ends(&mut hystart, 1, 90), None);
        assert_eq!(ends(&mut hystart, 2, 91), Some(9));
        assert_eq!(ends(&mut hystart, 3, 200), None, "once");
    }

    #[test]
    fn an_ack_train_of_half_of_the_round_trip_time_ends_it_too() {
        let mut hystart = Linux::default();
        let first = (0..50).find(|n| hystart.on_ack(&ack(2 * n, n + 1, 1000), ms(40), ms(39)));
        assert_eq!(first, Some(11), "20 ms after the round began is not beyond half of 39 ms and 1 ms");
        let mut paced = Linux::default();
        let ack_of_paced = |n: u64| Ack { is_paced: true, ..ack(2 * n, n + 1, 1000) };
        let of_paced = (0..50).find(|n| paced.on_ack(&ack_of_paced(*n), ms(40), ms(39)));
        assert_eq!(of_paced, Some(21), "with pacing 40 ms are not beyond 39 ms and 1 ms");
        let mut apart = Linux::default();
        assert!(!(0..50).any(|n| apart.on_ack(&ack(3 * n, n + 1, 1000), ms(40), ms(40))));
    }

    #[test]
    fn linux_looks_at_no_window_below_sixteen() {
        let mut hystart = Linux::default();
        let small = |n: u64| Ack { cwnd: 15.0, ..ack(n, n, 1000) };
        assert!(!(0..100).any(|n| hystart.on_ack(&small(n), ms(100), ms(40))));
    }

    fn round(hystart: &mut PlusPlus, number: u64, rtt_ms: u64) -> bool {
        let ack = |n| ack(number * 100 + n, number * 100 + n, number * 100 + 100);
        (1..=10).any(|n| hystart.on_ack(&ack(n), Some(ms(rtt_ms))))
    }

    #[test]
    fn plus_plus_grows_slowly_for_five_rounds_and_then_ends_slow_start() {
        let mut hystart = PlusPlus::default();
        assert!(!round(&mut hystart, 0, 80) && hystart.divisor() == 1.0);
        assert!(!round(&mut hystart, 1, 89) && hystart.divisor() == 1.0);
        assert!(!round(&mut hystart, 2, 101) && hystart.divisor() == 4.0);
        for number in 3..7 {
            assert!(!round(&mut hystart, number, 120), "{number}");
        }
        assert!(round(&mut hystart, 7, 120));
        assert!(hystart.divisor() == 1.0 && !round(&mut hystart, 8, 500));
    }

    #[test]
    fn plus_plus_goes_on_when_the_rise_was_passing() {
        let mut hystart = PlusPlus::default();
        round(&mut hystart, 0, 80);
        round(&mut hystart, 1, 100);
        assert!(hystart.divisor() == 4.0);
        round(&mut hystart, 2, 99);
        assert!(hystart.divisor() == 1.0);
    }
}
