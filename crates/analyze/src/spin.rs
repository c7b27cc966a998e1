//! The spin bit of QUIC: once in a round trip the client inverts it, and the server reflects it.
//!
//! An edge counts if the latest one that counted came from the other end: a reordered packet makes two edges of one
//! end. Some ends do not spin (RFC 9000, 17.4): they set the bits at random or constant, so their edges do not
//! alternate. The measured RTT includes the ends' response times and pauses in which the client has nothing to send
//! (RFC 9312, 3.8.2).

use airpath_core::time::Instant;
use serde::Serialize;

use crate::series::{Curve, Series};
use crate::sketch::{Distribution, Sketch};
use crate::view::Side;

/// Minimum number of edges to recognise a spin bit, and the share of them that must alternate.
const ENOUGH: u64 = 4;
const IN_TURN: f64 = 0.9;

/// Spin bits of both ends at one place.
#[derive(Clone, Debug, Default)]
pub struct Spin {
    bits: [Option<bool>; 2],
    latest: Option<Side>,
    edges: u64,
    counted: u64,
    edge_at: [Option<Instant>; 2],
    round_trips: Sketch,
    over_time: Series,
    bytes: [u64; 2],
    in_round_trip: [Sketch; 2],
}

/// Round trips between the ends, by the spin bit.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub rtt_ms: Distribution,
    /// Over time, ms.
    pub over_time: Curve,
}

impl Spin {
    /// A packet of one end passes.
    pub fn on_packet(&mut self, now: Instant, side: Side, bit: bool, bytes: u32) {
        self.bytes[side] += u64::from(bytes);
        if self.bits[side].replace(bit).is_none_or(|before| before == bit) {
            return;
        }
        self.edges += 1;
        if self.latest == Some(side) {
            return;
        }
        self.latest = Some(side);
        self.counted += 1;
        let sent = std::mem::take(&mut self.bytes[side]);
        if let Some(before) = self.edge_at[side].replace(now) {
            let seconds = now.since(before).as_secs_f64();
            self.round_trips.add(seconds);
            self.over_time.add(now, seconds);
            self.in_round_trip[side].add(sent as f64);
        }
    }

    fn is_in_use(&self) -> bool {
        self.counted >= ENOUGH && self.counted as f64 >= IN_TURN * self.edges as f64
    }

    /// The report, times in seconds since `start`; `None` if the ends do not spin.
    pub fn report(&self, start: Instant) -> Option<Report> {
        let rtt_ms = self.round_trips.distribution(1e3).filter(|_| self.is_in_use())?;
        Some(Report { rtt_ms, over_time: self.over_time.curve(start, 1e3) })
    }

    /// Bytes that an end sends in a round trip: approximately its flight.
    pub fn in_round_trip(&self, side: Side) -> Option<Distribution> {
        self.in_round_trip[side].distribution(1.0).filter(|_| self.is_in_use())
    }

    pub fn bytes(&self) -> usize {
        self.round_trips.bytes()
            + self.over_time.bytes()
            + self.in_round_trip.iter().map(Sketch::bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A client that inverts each 100 ms, and a server whose packets pass 60 ms later; ten packets between.
    fn exchange(late: bool) -> Spin {
        let mut spin = Spin::default();
        for at in 0..1000_u64 {
            let client = at / 10 % 2 == 1;
            // One of the client's packets in a hundred arrives after the first of the next round.
            let is_late = late && at % 100 == 1 && at > 1;
            spin.on_packet(ms(10 * at), 0, client != is_late, 100);
            spin.on_packet(ms(10 * at + 5), 1, at.saturating_sub(6) / 10 % 2 == 1, 1000);
        }
        spin
    }

    #[test]
    fn a_round_trip_is_from_edge_to_edge() {
        for late in [false, true] {
            let spin = exchange(late);
            let rtt = spin.report(Instant::ZERO).expect("spins").rtt_ms;
            assert!((rtt.median - 100.0).abs() < 1.0, "{}", rtt.median);
            let server = spin.in_round_trip(1).expect("spins").median;
            assert!((server - 10_000.0).abs() < 100.0, "{server}");
        }
    }

    #[test]
    fn bits_at_random_are_no_spin_bit() {
        let mut spin = Spin::default();
        let mut state = 1_u64;
        for at in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            spin.on_packet(ms(at), (state >> 40 & 1) as Side, state >> 50 & 1 == 1, 100);
        }
        assert!(spin.report(Instant::ZERO).is_none() && spin.in_round_trip(0).is_none());
    }
}
