//! Marks of packets as they come, by the time that they will wait: bytes ahead over the rate at which the bearer has been
//! sending.
//!
//! A discipline that looks at packets as they leave tells their senders a queue later than it could. Behind a radio bearer
//! the rate changes meanwhile; its own books know what waits and what has been delivered. Source: the idea of L4Span
//! (arXiv 2510.02682), with a step in place of its marking curves.
//!
//! The rate is that of the bytes which left the buffer in the last `window` of the time in which something was in it; before
//! anything has left, the nominal rate. A packet that can be marked is, if what waits in front of it and has not been
//! begun would take longer than `threshold`; others enter. With a link layer in acknowledged mode bytes leave when they
//! are acknowledged: the mean is the same.
//!
//! Left out: drops of what cannot be marked; `packets` and `bytes` bound the buffer.

use super::droptail::{self, Droptail};
use super::{Aqm, Component, Departed, Discipline, Place, Target, Verdict};
use crate::element::Bearer;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use std::collections::VecDeque;

const THRESHOLD: Duration = Duration::from_millis(10);

parameters! {
    /// Marks what comes and would wait too long at the rate of late: predicted sojourn, as L4Span.
    pub struct Config {
        /// At most this many packets, those in transmission included; unlimited if absent.
        pub packets: Option<u32>,
        /// At most this many bytes likewise; unlimited if absent.
        pub bytes: Option<Bytes>,
        /// A packet that would wait longer is marked; "auto": at least 10 ms, and 1.5 times an MTU's time and a TTI.
        pub threshold: Target = Target::Auto,
        /// Over which time the rate is measured.
        pub window: Duration = Duration::from_millis(200),
        /// Size of a large packet, for threshold = "auto".
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
        Discipline::Other(Box::new(PredictedSojourn {
            limit: self.limit().in_use(),
            threshold: self.threshold.at(place, THRESHOLD, self.mtu).as_secs_f64(),
            window: self.window,
            departed: VecDeque::new(),
            departed_bytes: 0,
            busy: Duration::ZERO,
            since: None,
        }))
    }

    fn byte_limit(&self) -> Option<Bytes> {
        self.bytes
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.window.is_zero() {
            let hint = "write a time such as \"200 ms\"";
            return Err(ScenarioError::new("window", "no rate can be measured", hint));
        }
        self.limit().validate()
    }

    /// It hears of departures one by one.
    fn needs_line(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        true
    }
}

struct PredictedSojourn {
    limit: Droptail,
    /// Seconds.
    threshold: f64,
    window: Duration,
    /// What left within the window, and when on the clock of `busy`.
    departed: VecDeque<(Duration, u32)>,
    departed_bytes: u64,
    /// Time in which something was in the buffer, until `since`.
    busy: Duration,
    /// When the buffer became busy, or `busy` was last brought up to date; `None` while it is empty.
    since: Option<Instant>,
}

impl PredictedSojourn {
    fn pass(&mut self, now: Instant) {
        if let Some(since) = &mut self.since {
            self.busy += now.since(*since);
            *since = now;
        }
        while let Some((at, len)) = self.departed.front().copied() {
            if at + self.window > self.busy {
                break;
            }
            self.departed.pop_front();
            self.departed_bytes -= u64::from(len);
        }
    }

    /// Bytes a second.
    fn rate(&self, buffer: &Bearer) -> f64 {
        let nominal = buffer.rate().as_bps() as f64 / 8.0;
        if self.busy < self.window && self.departed_bytes == 0 {
            return nominal;
        }
        self.departed_bytes as f64 / self.busy.min(self.window).as_secs_f64()
    }
}

impl Aqm for PredictedSojourn {
    fn admit(&mut self, now: Instant, packet: &Packet, buffer: &Bearer) -> Verdict {
        self.pass(now);
        let verdict = self.limit.admit(now, packet, buffer);
        if verdict != Verdict::Enter {
            return verdict;
        }
        self.since.get_or_insert(now);
        let ahead = buffer.untransmitted_bytes() as f64;
        let is_late = ahead > self.threshold * self.rate(buffer);
        if is_late && packet.can_be_marked() { Verdict::Mark } else { Verdict::Enter }
    }

    fn handle_departure(&mut self, now: Instant, gone: Departed, buffer: &Bearer) {
        self.pass(now);
        if gone.delivered {
            self.departed.push_back((self.busy, gone.len));
            self.departed_bytes += u64::from(gone.len);
        }
        if buffer.sdus() == 0 {
            self.since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bitrate;

    /// 1500 bytes in 10 ms.
    const RATE: Bitrate = Bitrate::from_bps(1_200_000);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A bearer on which a packet of 1500 bytes is sent in `ms`, until `end`; how many come to be ahead of a packet that
    /// is marked first then.
    fn marked_behind(sends_ms: &[u64]) -> u32 {
        let config = Config { threshold: Target::Time(Duration::from_millis(50)), ..Config::default() };
        let place = Place { run_seed: 1, name: "queue", rate: RATE, tti: Duration::ZERO };
        let mut discipline = config.build(&place);
        let mut books = Bearer::new(RATE, false);
        let packet = Packet { len: 1500, ecn: Packet::ECT_1, ..Packet::default() };
        let mut now = 0;
        for ms in sends_ms {
            assert_eq!(discipline.admit(at(now), &packet, &books), Verdict::Enter);
            books.enter(&packet);
            books.start(0, 1500);
            now += ms;
            books.leave(0, 1500);
            let gone = Departed { len: 1500, delivered: true };
            discipline.handle_departure(at(now), gone, &books);
            // Idle times do not count.
            now += 1000;
        }
        let mut ahead = 0;
        while discipline.admit(at(now), &packet, &books) == Verdict::Enter {
            books.enter(&packet);
            ahead += 1;
        }
        ahead
    }

    /// By hand, a threshold of 50 ms: at the nominal rate five packets last as long, at 25 ms a packet two, and after a
    /// window of 200 ms at 5 ms a packet, ten.
    #[test]
    fn what_is_ahead_counts_at_the_rate_of_late() {
        assert_eq!(marked_behind(&[]), 6);
        assert_eq!(marked_behind(&[25; 20]), 3);
        let changes: Vec<u64> = [25; 20].into_iter().chain([5; 40]).collect();
        assert_eq!(marked_behind(&changes), 11);
    }

    #[test]
    fn what_cannot_be_marked_enters() {
        let place = Place { run_seed: 1, name: "queue", rate: RATE, tti: Duration::ZERO };
        let mut discipline = Config::default().build(&place);
        let mut books = Bearer::new(RATE, false);
        let packet = Packet { len: 1500, ..Packet::default() };
        for _ in 0..100 {
            assert_eq!(discipline.admit(Instant::ZERO, &packet, &books), Verdict::Enter);
            books.enter(&packet);
        }
    }
}
