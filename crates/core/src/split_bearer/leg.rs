//! A leg in one direction, and its flow control.
//!
//! In the downlink the node of the cell reports to PDCP periodically while it has data: up to which PDU it has
//! transmitted, and its desired buffer size (TS 38.425). PDCP sends so much beyond the reported PDU at most. The standard
//! leaves the size to implementations. ASSUMED: it is what the leg transmits in the target of its queueing delay, in the
//! period of reports, and in the way of a PDU and of a report. So a queue of the target remains when a report takes effect,
//! and a leg that PDCP keeps short asks for more with every report.
//!
//! In the uplink PDCP and the legs are in the UE, and the same happens with reports that take no time: PDCP should give a leg as
//! few PDUs as possible before the leg requests them, for the sake of the receiver's order (TS 38.323 §5.2.1).

use crate::element::Cx;
use crate::packet::Dir;
use crate::time::{Duration, Instant};
use serde::Serialize;
use std::collections::VecDeque;

/// Least desired buffer size, bytes: ten packets, with which a leg begins.
pub(super) const LEAST_DESIRED: u64 = 15_000;

/// A leg of one direction.
#[derive(Debug)]
pub(super) struct Leg {
    /// Number of the interface.
    pub ue: u16,
    dir: Dir,
    /// Whether the leg is there: neither released nor to be added.
    pub is_up: bool,
    /// Time of a PDU from PDCP to the cell, and of a report back; zero in the UE.
    delays: [Duration; 2],
    /// Queueing delay that it requests, and time between two reports; `None` without flow control.
    control: Option<(Duration, Duration)>,
    /// Bytes that PDCP has given to the leg.
    sent: u64,
    /// Bytes of these that have come to the cell, or were lost before it.
    arrived: u64,
    /// Bytes that the cell had transmitted at the latest report.
    transmitted: u64,
    /// Bytes per second that the cell transmits, as it has measured; 0 before the first measurement.
    rate: f64,
    had_backlog: bool,
    is_sampling: bool,
    /// Reports on their way to PDCP, with their arrivals.
    reports: VecDeque<(Instant, Status)>,
    /// The latest report at PDCP.
    known: Status,
    pub counts: Counts,
}

/// A downlink data delivery status.
#[derive(Clone, Copy, Debug, Default)]
struct Status {
    /// Bytes up to the highest transmitted PDCP sequence number.
    transmitted: u64,
    /// Desired buffer size, bytes.
    desired: u64,
    /// Desired data rate, bytes per second; 0 if unknown.
    rate: f64,
}

/// What a leg counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// PDUs given to it, and their bytes without headers.
    pub pdus: u64,
    pub bytes: u64,
    /// PDUs of these that the other leg had been given before.
    pub recovered_pdus: u64,
    /// PDUs that it had not delivered when it was released.
    pub returned_pdus: u64,
    /// PDUs that were the first to arrive with their SDU.
    pub first_pdus: u64,
    /// Reports to PDCP.
    pub reports: u64,
}

impl Leg {
    pub fn new((ue, dir): (u16, Dir), delays: [Duration; 2], control: Option<(Duration, Duration)>) -> Self {
        Self {
            ue,
            dir,
            is_up: true,
            delays,
            control,
            sent: 0,
            arrived: 0,
            transmitted: 0,
            rate: 0.0,
            had_backlog: false,
            is_sampling: false,
            reports: VecDeque::new(),
            known: Status { desired: LEAST_DESIRED, ..Status::default() },
            counts: Counts::default(),
        }
    }

    /// The leg is released, or added again.
    pub fn reset(&mut self, is_up: bool) {
        (self.is_up, self.arrived, self.transmitted) = (is_up, self.sent, self.sent);
        (self.rate, self.had_backlog, self.is_sampling) = (0.0, false, false);
        self.known = Status { transmitted: self.sent, desired: LEAST_DESIRED, rate: 0.0 };
        self.reports.clear();
    }

    /// Bytes in the buffer of the cell whose transmission has not started, now.
    pub fn waiting(&self, cx: &mut Cx<'_>) -> u64 {
        cx.radio(self.ue, self.dir).untransmitted_bytes
    }

    /// Bytes that PDCP has given to the leg, and does not know to be transmitted.
    fn outstanding(&self) -> u64 {
        self.sent.saturating_sub(self.known.transmitted)
    }

    /// Whether the leg takes a PDU.
    pub fn has_room(&self) -> bool {
        self.is_up && (self.control.is_none() || self.outstanding() < self.known.desired)
    }

    /// Seconds until a PDU given to the leg now would be transmitted, as PDCP estimates it: with flow control by the
    /// reports, else by the buffer itself.
    pub fn wait_s(&self, cx: &mut Cx<'_>) -> f64 {
        let view = cx.radio(self.ue, self.dir);
        let (bytes, rate) = match self.control {
            Some(_) => (self.outstanding(), self.known.rate),
            None => (view.untransmitted_bytes, 0.0),
        };
        let rate = if rate > 0.0 { rate } else { view.rate.as_bps() as f64 / 8.0 };
        bytes as f64 / rate.max(1.0) + self.delays[0].as_secs_f64()
    }

    /// PDCP gives a PDU to the leg. Returns the bytes given to it up to the end of that PDU.
    pub fn send(&mut self, len: u32, is_recovered: bool) -> u64 {
        self.sent += u64::from(len);
        self.counts.pdus += 1;
        self.counts.bytes += u64::from(len);
        self.counts.recovered_pdus += u64::from(is_recovered);
        self.sent
    }

    /// A PDU has come to the cell.
    pub fn note_arrival(&mut self, len: u32) {
        self.arrived = (self.arrived + u64::from(len)).min(self.sent);
    }

    /// A PDU has passed the leg, which ends at this byte: what was given to the leg before it has come to the cell, or was lost on
    /// the way there, as the cell knows by its number.
    pub fn note_passage(&mut self, end: u64) {
        self.arrived = self.arrived.max(end);
    }

    /// When the next report is made, if one has to be arranged for.
    pub fn poll_sample(&mut self, now: Instant) -> Option<Instant> {
        let (_, period) = self.control.filter(|_| !self.is_sampling && self.outstanding() > 0)?;
        self.is_sampling = true;
        Some(next_of(now, period))
    }

    /// The cell makes a report. Returns when the next one is made, if there is one.
    pub fn sample(&mut self, cx: &mut Cx<'_>) -> Option<Instant> {
        let (target, period) = self.control.filter(|_| self.is_sampling)?;
        let waiting = self.waiting(cx);
        let transmitted = self.arrived.saturating_sub(waiting);
        let rate = transmitted.saturating_sub(self.transmitted) as f64 / period.as_secs_f64();
        if rate > self.rate {
            // A leg that PDCP keeps short has transmitted all that it got: the rate is no less.
            self.rate = if self.had_backlog { (self.rate + rate) / 2.0 } else { rate };
        } else if self.had_backlog {
            self.rate += (rate - self.rate) / 4.0;
        }
        (self.transmitted, self.had_backlog) = (transmitted, waiting > 0);
        let time = target + period + self.delays[0] + self.delays[1];
        let desired = ((self.rate * time.as_secs_f64()) as u64).max(LEAST_DESIRED);
        let at = cx.now + self.delays[1];
        self.reports.push_back((at, Status { transmitted, desired, rate: self.rate }));
        self.counts.reports += 1;
        self.is_sampling = self.sent > transmitted;
        self.is_sampling.then(|| cx.now + period)
    }

    /// Reports that have arrived take effect. Returns when the next one arrives.
    pub fn handle_reports(&mut self, now: Instant) -> Option<Instant> {
        while let Some((at, status)) = self.reports.front() {
            if *at > now {
                return Some(*at);
            }
            self.known = *status;
            self.reports.pop_front();
        }
        None
    }
}

/// The first multiple of `period` after `now`.
fn next_of(now: Instant, period: Duration) -> Instant {
    let period = period.as_nanos();
    Instant::from_nanos((now.as_nanos() / period + 1) * period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_made_at_multiples_of_their_period() {
        let period = Duration::from_millis(5);
        let at = |us: u64| next_of(Instant::ZERO + Duration::from_nanos(1000 * us), period).as_nanos() / 1000;
        assert_eq!([0, 4999, 5000, 7000].map(at), [5000, 5000, 10_000, 10_000]);
    }

    #[test]
    fn a_leg_takes_what_its_desired_buffer_size_allows() {
        let control = Some((Duration::from_millis(10), Duration::from_millis(5)));
        let mut leg = Leg::new((1, Dir::Downlink), [Duration::ZERO; 2], control);
        assert_eq!((1..=9).map(|_| leg.send(1500, false)).last(), Some(13_500));
        assert!(leg.has_room());
        leg.send(1500, false);
        assert!(!leg.has_room());
        let at = Instant::ZERO + Duration::from_millis(7);
        leg.reports.push_back((at, Status { transmitted: 3000, desired: 15_000, rate: 1e6 }));
        assert_eq!((leg.handle_reports(Instant::ZERO), leg.has_room()), (Some(at), false));
        assert_eq!((leg.handle_reports(at), leg.has_room()), (None, true));
        leg.reset(false);
        assert!(!leg.has_room());
        leg.reset(true);
        (0..9).for_each(|_| _ = leg.send(1500, false));
        assert!(leg.has_room());
        let mut free = Leg::new((1, Dir::Downlink), [Duration::ZERO; 2], None);
        free.send(u32::MAX, false);
        assert!(free.has_room());
    }
}
