//! Flows of datagrams: packets without TCP, numbered from zero, at instants that the application fixes.
//!
//! An application makes both ends of such a flow. A packet carries its number and when it was sent, an answer those of
//! its request, as RTP's and ping's do; the clocks of both ends agree. Delay variation is the estimate of RFC 3550
//! (6.4.1): J += (|D| - J) / 16, where D is the difference of two successive delays. Left out: bytes of the payload,
//! checksums, ports.

use super::datagram::Datagram;
use super::media;
use crate::delays::{DelayReport, Delays};
use crate::steering::Steering;
use crate::time::{Duration, Instant};
use serde::Serialize;
use std::collections::{BTreeSet, VecDeque};

/// One endpoint of a flow of datagrams, without I/O. After every call drain `poll_transmit` and read `deadline` again.
pub trait Datagrams: Send + Sync {
    /// The flow starts at `start`; called once, before.
    fn open(&mut self, _start: Instant) {}

    /// When `poll_transmit` has something to send, if nothing arrives before.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The next packet to be sent now.
    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram>;

    /// A packet arrived; the sender of a flow that goes one way gets none.
    fn handle_packet(&mut self, now: Instant, datagram: Datagram) {
        let _ = (now, datagram);
    }

    /// Video frames that could be decoded when the last packet arrived.
    fn decoded(&self) -> &[media::Frame] {
        &[]
    }

    /// Adds what this end has counted.
    fn report(&self, report: &mut Report);

    /// Settings from outside and measurements, if a program can steer it.
    fn steering(&mut self) -> Option<&mut Steering> {
        None
    }
}

/// Both ends of a flow.
pub struct Ends {
    /// Sends in the direction of the flow.
    pub sender: Box<dyn Datagrams>,
    /// The other end.
    pub receiver: Box<dyn Datagrams>,
}

/// Report on a flow of datagrams at the end of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Packets sent in the direction of the flow.
    pub sent: u64,
    /// Packets sent that arrived, each counted once.
    pub received: u64,
    /// Packets sent that will not arrive: sent = received + lost, except for packets in transit when the run ends.
    pub lost: u64,
    /// Packets received after a packet that was sent later.
    pub out_of_order: u64,
    /// Further copies of packets received; neither in `received` nor in the flow's bytes.
    pub duplicates: u64,
    /// Requests that were answered, each counted once; `None` where nothing is answered.
    pub answers: Option<u64>,
    /// From the sending to the receiving end, milliseconds.
    pub delay_ms: Spans,
    /// Delay variation of RFC 3550 (6.4.1), milliseconds; `None` before the second arrival.
    pub jitter_ms: Option<f64>,
    /// Media in the direction of the flow and against it, of a call; in the flow's `call`.
    #[serde(skip)]
    pub media: [Option<media::Report>; 2],
    /// The delays with their percentiles; in the flow's `one_way_delay_ms`.
    #[serde(skip)]
    pub one_way_delay_ms: DelayReport,
    /// Round-trip times; in the flow's `rtt_ms`.
    #[serde(skip)]
    pub rtt_ms: DelayReport,
    /// Bytes of the IP packets received, without duplicates; in the flow's `bytes_received`, without headers.
    #[serde(skip)]
    pub bytes: u64,
}

/// Mean and range of some spans of time in milliseconds; `None` without any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spans {
    /// Mean.
    pub mean: Option<f64>,
    /// The shortest.
    pub min: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

/// A sending end whose packets, all of one length, leave at instants known ahead: packet n at `offset(n)` from the start.
pub(super) struct Timed<F> {
    start: Instant,
    len: u32,
    packets: u32,
    next: u32,
    offset: F,
}

impl<F: Fn(u32) -> Duration> Timed<F> {
    /// Packets of `len` bytes, without end if their number is not given.
    pub fn new(len: u32, packets: Option<u32>, offset: F) -> Self {
        Self { start: Instant::ZERO, len, packets: packets.unwrap_or(u32::MAX), next: 0, offset }
    }
}

impl<F: Fn(u32) -> Duration + Send + Sync> Datagrams for Timed<F> {
    fn open(&mut self, start: Instant) {
        self.start = start;
    }

    fn deadline(&self) -> Option<Instant> {
        let at = || self.start.as_nanos().saturating_add((self.offset)(self.next).as_nanos());
        (self.next < self.packets).then(|| Instant::from_nanos(at()))
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.deadline().filter(|at| *at <= now)?;
        let number = self.next;
        self.next += 1;
        Some(Datagram::new(number, self.len, now))
    }

    fn report(&self, report: &mut Report) {
        report.sent = self.next.into();
    }
}

/// A receiving end that answers nothing, or every packet at once.
pub(super) struct Sink {
    arrivals: Arrivals,
    /// Length of an answer, bytes.
    answer: Option<u32>,
    /// Answers to be sent.
    waiting: VecDeque<Datagram>,
}

impl Sink {
    pub fn new(answer: Option<u32>) -> Self {
        Self { arrivals: Arrivals::default(), answer, waiting: VecDeque::new() }
    }
}

impl Datagrams for Sink {
    fn poll_transmit(&mut self, _now: Instant) -> Option<Datagram> {
        self.waiting.pop_front()
    }

    fn handle_packet(&mut self, now: Instant, datagram: Datagram) {
        self.arrivals.add(now, &datagram);
        self.waiting.extend(self.answer.map(|len| Datagram { len, ..datagram }));
    }

    fn report(&self, report: &mut Report) {
        self.arrivals.report(report);
    }
}

impl Report {
    /// Removes packets in transit from `lost`: `dropped` packets of the flow were dropped on the path.
    pub fn settle(&mut self, dropped: u64) {
        self.lost = self.lost.min(dropped);
    }
}

/// Which numbers have arrived.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// One more than the highest number.
    expected: u32,
    /// Numbers below `expected` that have not arrived.
    missing: BTreeSet<u32>,
}

/// How a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Before all later packets.
    InOrder,
    /// For the first time, and after a later one.
    Overtaken,
    /// Not for the first time.
    Duplicate,
}

impl Seen {
    /// Adds the packet of this number.
    pub fn add(&mut self, number: u32) -> Arrival {
        if number >= self.expected {
            self.missing.extend(self.expected..number);
            self.expected = number.saturating_add(1);
            return Arrival::InOrder;
        }
        if self.missing.remove(&number) { Arrival::Overtaken } else { Arrival::Duplicate }
    }
}

/// Packets that arrived at the receiving end of a flow.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    received: u64,
    bytes: u64,
    seen: Seen,
    out_of_order: u64,
    duplicates: u64,
    delays: Delays,
    last_delay: Option<Duration>,
    /// Nanoseconds; `None` before the second arrival.
    jitter_ns: Option<f64>,
}

impl Arrivals {
    /// Counts a packet. Returns whether it arrived for the first time.
    pub fn add(&mut self, now: Instant, datagram: &Datagram) -> bool {
        match self.seen.add(datagram.number) {
            Arrival::InOrder => {}
            Arrival::Overtaken => self.out_of_order += 1,
            Arrival::Duplicate => {
                self.duplicates += 1;
                return false;
            }
        }
        let delay = now.since(datagram.stamp);
        self.received += 1;
        self.bytes += u64::from(datagram.len);
        self.delays.add(delay);
        if let Some(last) = self.last_delay.replace(delay) {
            let difference = delay.as_nanos().abs_diff(last.as_nanos()) as f64;
            let jitter = self.jitter_ns.unwrap_or(0.0);
            self.jitter_ns = Some(jitter + (difference - jitter) / 16.0);
        }
        true
    }

    /// Adds what it has counted.
    pub fn report(&self, report: &mut Report) {
        report.received = self.received;
        report.bytes = self.bytes;
        report.out_of_order = self.out_of_order;
        report.duplicates = self.duplicates;
        let delays = self.delays.report();
        report.delay_ms = Spans { mean: delays.mean, min: delays.min, max: delays.max };
        report.one_way_delay_ms = delays;
        report.jitter_ms = self.jitter_ns.map(|nanos| nanos / 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_order_delay_and_jitter_are_those_computed_by_hand() {
        let mut arrivals = Arrivals::default();
        // The second copy of packet 1 changes only the count of duplicates.
        for (number, delay_ms) in [(0, 10), (1, 26), (1, 500), (4, 26), (3, 10)] {
            let stamp = Instant::ZERO + Duration::from_secs(number.into());
            arrivals.add(stamp + Duration::from_millis(delay_ms), &Datagram::new(number, 100, stamp));
        }
        let mut report = Report::default();
        arrivals.report(&mut report);
        assert_eq!((report.received, report.duplicates, report.out_of_order, report.bytes), (4, 1, 1, 400));
        assert_eq!(report.delay_ms, Spans { mean: Some(18.0), min: Some(10.0), max: Some(26.0) });
        // 16/16 = 1; 1 - 1/16 = 15/16; 15/16 + (16 - 15/16) / 16 = 481/256.
        assert_eq!(report.jitter_ms, Some(481.0 / 256.0));
    }

    #[test]
    fn nothing_is_said_of_what_never_arrived() {
        let mut report = Report::default();
        Arrivals::default().report(&mut report);
        assert_eq!(report, Report::default());
    }
}
