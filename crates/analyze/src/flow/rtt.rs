//! Round trips as seen from the place of the capture, and the time in which ends answer.
//!
//! *Forward* is the time from data to the ACK for it: the RTT between here and the receiver. With timestamps it starts at
//! the first segment that an ACK acknowledges and whose TSval it echoes (RFC 7323 (4.1)). Two transmissions of a segment
//! with the same TSval give no sample: clocks may be coarse, or stand still. If the ACK echoes another segment, that one
//! gives the sample, unless others had the same TSval. Without timestamps forward starts at the first segment that an ACK
//! acknowledges, unless any of these was retransmitted (Karn). Both contain the delay of a delayed ACK, as they do at the
//! sender.
//!
//! *Back* is the time from an ACK to the first data that echoes its TSval: the RTT between here and the sender, and the
//! sender's time to answer. If the sender always has data this is too long by the time of a few segments at most. ACKs
//! with the same TSval that are more than [`SAME_TICK`] apart give no sample.

use std::collections::VecDeque;

use airpath_core::tcp::rto::{Config, Rto, Timer};
use airpath_core::time::{Duration, Instant};

use super::causes::SMALLEST_TIMEOUT;
use super::pieces::Acked;
use crate::series::Series;
use crate::sketch::Sketch;

/// Timestamps remembered at a time.
const MOST: usize = 2048;
/// The tick of most clocks: RFC 7323 (4.2.2) has between 1 ms and 1 s.
const SAME_TICK: Duration = Duration::from_millis(1);

/// Round trips of one direction of data.
#[derive(Clone, Debug, Default)]
pub struct Rtt {
    sent: Echoes,
    acks: Echoes,
    /// Forward, seconds.
    pub forward: Sketch,
    pub over_time: Series,
    /// Back, seconds.
    pub back: Sketch,
    /// The shortest forward, the handshake's too.
    pub shortest: Option<Duration>,
    /// Linux's timer, fed with these round trips.
    timer: Option<Box<Rto>>,
    /// Samples come from timestamps.
    pub by_timestamps: bool,
}

/// Timestamps that passed and were not echoed, oldest first.
#[derive(Clone, Debug, Default)]
struct Echoes {
    passed: VecDeque<(u32, Instant)>,
    /// The newest, and when it passed first.
    newest: Option<(u32, Instant)>,
}

impl Echoes {
    fn push(&mut self, tsval: u32, now: Instant) {
        match self.newest {
            Some((newest, _)) if (tsval.wrapping_sub(newest) as i32) < 0 => {}
            Some((newest, at)) if newest == tsval => {
                // Its echo may be of any of them.
                if now.since(at) > SAME_TICK && self.passed.back().is_some_and(|(last, _)| *last == tsval) {
                    self.passed.pop_back();
                }
            }
            _ => {
                self.newest = Some((tsval, now));
                self.passed.push_back((tsval, now));
                if self.passed.len() > MOST {
                    self.passed.pop_front();
                }
            }
        }
    }

    /// Time when the first segment with this timestamp passed. Older segments are forgotten.
    fn find(&mut self, echo: u32) -> Option<Instant> {
        while let Some(&(tsval, at)) = self.passed.front() {
            let age = echo.wrapping_sub(tsval) as i32;
            if age <= 0 {
                return (age == 0).then_some(at);
            }
            self.passed.pop_front();
        }
        None
    }

    /// Like `find`, for the segment that echoes it first.
    fn take(&mut self, echo: u32) -> Option<Instant> {
        let found = self.find(echo);
        if found.is_some() {
            self.passed.pop_front();
        }
        found
    }
}

fn linux_timer() -> Box<Rto> {
    Box::new(Rto::new(&Config { timer: Timer::Linux, min: SMALLEST_TIMEOUT, ..Config::default() }))
}

impl Rtt {
    /// Data passes; returns the time since the ACK that it is the first to echo.
    pub fn on_data(&mut self, now: Instant, timestamps: Option<(u32, u32)>) -> Option<Duration> {
        let (tsval, echo) = timestamps?;
        self.sent.push(tsval, now);
        let back = now.since(self.acks.take(echo)?);
        self.back.add(back.as_secs_f64());
        Some(back)
    }

    /// An ACK passes that moves the left edge over `acked`. `edges` are the new left edge and the end of the data sent.
    /// Returns the sample, if there is one.
    pub fn on_new_ack(
        &mut self,
        now: Instant,
        timestamps: Option<(u32, u32)>,
        acked: &Acked,
        edges: (u64, u64),
    ) -> Option<Duration> {
        let from = match timestamps {
            Some((tsval, echo)) => {
                self.acks.push(tsval, now);
                self.by_timestamps = true;
                let other = self.sent.find(echo);
                if acked.has_echoed { acked.echoed_at } else { other }
            }
            None => acked.first_at.filter(|_| !acked.is_ambiguous),
        };
        let sample = now.since(from?);
        let timer = self.timer.get_or_insert_with(linux_timer);
        timer.set_sent(edges.0, edges.1);
        timer.on_echoed_sample(sample);
        self.add(now, sample);
        Some(sample)
    }

    fn add(&mut self, now: Instant, rtt: Duration) {
        self.forward.add(rtt.as_secs_f64());
        self.over_time.add(now, rtt.as_secs_f64());
        self.add_shortest(rtt);
    }

    /// A round trip that is no sample of data: the handshake's.
    pub fn add_shortest(&mut self, rtt: Duration) {
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    /// Minimum time after a transmission before Linux's timer retransmits a segment.
    pub fn timeout(&self) -> Option<Duration> {
        self.timer.as_ref().map(|timer| timer.value())
    }

    pub fn bytes(&self) -> usize {
        let passed = self.sent.passed.capacity() + self.acks.passed.capacity();
        let echoes = size_of::<(u32, Instant)>() * passed;
        let timer = self.timer.as_ref().map_or(0, |_| size_of::<Rto>());
        echoes + timer + self.forward.bytes() + self.back.bytes() + self.over_time.bytes()
    }
}
