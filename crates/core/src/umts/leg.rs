//! A leg of the core network: a queue per direction with computed ends of transmission.

use crate::element::FAR;
use crate::error::ScenarioError;
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A leg of the core network, the same in both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Leg {
    /// Rate at the level of the outer IP; infinite if absent.
    pub rate: Option<Bitrate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Limit of the queue in octets, including the packet in transmission and the tunnel headers; further packets are
    /// dropped. Unlimited if absent.
    pub buffer: Option<Bytes>,
}

impl Leg {
    /// Refuses a leg that never sends or has no room.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        if self.rate.is_some_and(|rate| rate.as_bps() == 0) {
            let hint = "write a positive rate such as \"2 Mbit/s\", or remove the key for no limit";
            return Err(ScenarioError::new("rate", "a leg of rate zero never sends", hint));
        }
        if self.buffer.is_some_and(|buffer| buffer.as_u64() == 0) {
            let hint = "write a size such as \"64 kB\", or remove the key for no limit";
            return Err(ScenarioError::new("buffer", "a buffer without room drops everything", hint));
        }
        if self.buffer.is_some() && self.rate.is_none() {
            let hint = "set the rate, or remove the buffer";
            return Err(ScenarioError::new("buffer", "nothing waits for a leg of infinite rate", hint));
        }
        Ok(())
    }
}

/// One direction of a leg.
pub(super) struct Line {
    rate: Option<Bitrate>,
    delay: Duration,
    buffer: Option<u64>,
    /// End of the last transmission.
    free_at: Instant,
    /// Octets and transmission time of the last datagram: there are few sizes.
    last: (u32, Duration),
}

impl Line {
    pub fn new(leg: &Leg) -> Self {
        Self {
            rate: leg.rate,
            delay: leg.delay,
            buffer: leg.buffer.map(Bytes::as_u64),
            free_at: Instant::ZERO,
            last: (0, Duration::ZERO),
        }
    }

    /// A datagram of `octets` octets reaches the queue at `at`, not before the previous one. Returns its arrival time
    /// if there is room for it.
    #[inline(always)]
    pub fn pass(&mut self, at: Instant, octets: u32) -> Option<Instant> {
        let Some(rate) = self.rate else { return Some(at + self.delay) };
        if self.last.0 != octets {
            let time = rate.time_to_send(u64::from(octets));
            self.last = (octets, time.min(FAR.since(Instant::ZERO)));
        }
        let begins = self.free_at.max(at);
        if self.buffer.is_some_and(|room| waiting(rate, begins.since(at)) + u64::from(octets) > room) {
            return None;
        }
        self.free_at = (begins + self.last.1).min(FAR);
        Some(self.free_at + self.delay)
    }

    /// When a datagram of this many octets would arrive if nothing else were sent.
    pub fn unloaded(&self, at: Instant, octets: u64) -> Instant {
        at + self.rate.map_or(Duration::ZERO, |rate| rate.time_to_send(octets)) + self.delay
    }
}

/// Whole octets that are sent in `time`.
#[cold]
fn waiting(rate: Bitrate, time: Duration) -> u64 {
    rate.bytes_in(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(buffer: Option<u64>) -> Line {
        let delay = Duration::from_millis(5);
        Line::new(&Leg {
            rate: Some(Bitrate::from_bps(8_000_000)),
            delay,
            buffer: buffer.map(Bytes::from_bytes),
        })
    }

    fn micros(at: Instant) -> u64 {
        at.as_nanos() / 1000
    }

    /// A microsecond an octet.
    #[test]
    fn datagrams_follow_each_other() {
        let mut line = line(None);
        let at = Instant::from_nanos(1_000_000);
        let arrivals = [1000, 500, 500].map(|octets| micros(line.pass(at, octets).unwrap()));
        assert_eq!(arrivals, [7000, 7500, 8000]);
        assert_eq!(micros(line.pass(Instant::from_nanos(9_000_000), 1000).unwrap()), 15_000);
        assert_eq!(micros(line.unloaded(at, 1000)), 7000);
    }

    #[test]
    fn what_finds_no_room_is_dropped_and_takes_none() {
        let mut short = line(Some(1500));
        let pass =
            |line: &mut Line, us: u64, octets| line.pass(Instant::from_nanos(us * 1000), octets).map(micros);
        assert_eq!(pass(&mut short, 0, 1000), Some(6000));
        assert_eq!(pass(&mut short, 0, 501), None);
        assert_eq!(pass(&mut short, 0, 500), Some(6500));
        // 1300 octets are left of both.
        assert_eq!(pass(&mut short, 200, 201), None);
        assert_eq!(pass(&mut short, 200, 200), Some(6700));
        assert_eq!(pass(&mut short, 0, 1501), None);
    }
}
