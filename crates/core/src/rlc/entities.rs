//! Link layers with PDUs in transit: the entities at both ends of a UE's bearers.
//!
//! There is an [`End`] at the network and another at the UE; each sends SDUs in one direction and receives SDUs of the
//! other. The cell grants TTIs to either, carries the content of a [`Tti`] to the other end, and decides which PDUs
//! arrive. SDUs are identified by their index in the order of arrival at an end, from 0; the cell keeps the packets.
//! The outcome of SDUs is returned in a [`Report`].

use super::pdus::{Run, Tti};
use super::ranges::SnRange;
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Bytes};
use std::ops::{Range, RangeInclusive};

/// One end of the link layer of a UE's bearers.
pub trait End: Transmit + Receive {
    /// Re-establishes this end after a change of cell (TS 36.322 §5.4); the peer does the same. PDUs in flight are lost
    /// and sequence numbers restart at 0. An acknowledged-mode sender retransmits all unconfirmed SDUs from their first
    /// octet, in order; an unacknowledged-mode sender discards the partly transmitted SDU and continues with the next
    /// one. The receiver discards incomplete SDUs. SDUs already delivered may be delivered a second time; the cell
    /// recognises them by index.
    fn re_establish(&mut self, now: Instant, report: &mut Report);
}

impl<E: Transmit + Receive> End for E {
    fn re_establish(&mut self, now: Instant, report: &mut Report) {
        self.re_establish_sender(now, report);
        self.re_establish_receiver(now, report);
    }
}

/// An end as the sender of its direction.
pub trait Transmit: Send + Sync {
    /// Starts to load what the entity points to: see [`Element::prefetch`](crate::element::Element::prefetch).
    fn prefetch_inner(&self) {}

    /// Takes an SDU of `octets` into the buffer of the direction in which this end sends.
    fn handle_sdu(&mut self, now: Instant, octets: u32);

    /// Removes an SDU that has not started: the one at `place` in the queue, 0 for the oldest. Returns its index; it is
    /// never delivered.
    fn take_waiting(&mut self, place: usize) -> Option<u64>;

    /// Whether the end neither sends nor receives any more.
    fn is_dead(&self) -> bool {
        false
    }

    /// When the end needs a TTI next if nothing else happens: at once if this has passed, never if it is
    /// `Instant::NEVER`.
    fn deadline(&self) -> Instant;

    /// Amount of data to send at `now` without a limit on room, in the unit of a TTI's room; 0 if there is none. An
    /// estimate, never less than the first PDU takes.
    fn backlog(&self, now: Instant) -> u64 {
        u64::from(self.deadline() <= now)
    }

    /// Whether [`backlog`](Self::backlog) is more than 0.
    fn has_backlog(&self, now: Instant) -> bool {
        self.backlog(now) > 0
    }

    /// Fills a TTI that starts at `now`. It has room for `room` PDUs, or, where PDUs have no size of their own
    /// (`Ttis::payload` is 1), for `room` octets. `tti` is empty.
    fn build_tti(&mut self, now: Instant, room: u64, tti: &mut Tti, report: &mut Report);

    /// The sending side's part of [`End::re_establish`].
    fn re_establish_sender(&mut self, now: Instant, report: &mut Report) {
        let _ = (now, report);
    }

    /// Counters of the end.
    fn report(&self) -> serde_json::Value;
}

/// An end as the receiver of the other direction.
pub trait Receive: Send + Sync {
    /// A TTI of the other end arrives, without the PDUs that were lost. TTIs may arrive in another order than they
    /// were sent in where the link layer is LTE's. Whether this concerns the sending side of this end: its deadline may
    /// be another one, and there may be something to report of SDUs that it sends.
    fn handle_tti(&mut self, now: Instant, tti: &Tti, report: &mut Report) -> bool;

    /// When a timer ends that hands SDUs up, or gives them up, without a TTI.
    fn expiry(&self) -> Instant {
        Instant::NEVER
    }

    /// Handles the expiry of that timer.
    fn handle_expiry(&mut self, now: Instant, report: &mut Report) {
        let _ = (now, report);
    }

    /// PDCP's counters as the receiver; `None` without PDCP.
    fn received(&self) -> Option<serde_json::Value> {
        None
    }

    /// The receiving side's part of [`End::re_establish`].
    fn re_establish_receiver(&mut self, now: Instant, report: &mut Report) {
        let _ = (now, report);
    }
}

/// Outcome of SDUs; the cell clears it.
#[derive(Debug, Default)]
pub struct Report {
    /// Sent by this end: SDUs whose transmission has started, except SDUs in this range that were taken out of the
    /// buffer.
    pub started: Range<u64>,
    /// Sent by this end: SDUs that left its buffer, delivered according to its feedback.
    pub confirmed: Vec<u64>,
    /// Sent by this end: SDUs that left its buffer, given up. The other end reports whether they arrive anyway.
    pub discarded: Vec<u64>,
    /// Sent by this end: SDUs that left its buffer, discarded before any octet was sent.
    pub unsent: Vec<u64>,
    /// What this end has given up does not arrive any more, though the other end may not report so.
    pub is_final: bool,
    /// This end's sequence numbers restart: its next PDU is new, and number 0.
    pub began_anew: bool,
    /// Received by this end: delivered SDUs, in this order.
    pub up: Vec<u64>,
    /// Received by this end: will never be handed up. Those may be named too that left the other end's buffer
    /// before any octet was sent.
    pub lost: Vec<u64>,
}

/// An end with independent directions.
pub struct Halves {
    /// Sends.
    pub tx: Box<dyn Transmit>,
    /// Receives.
    pub rx: Box<dyn Receive>,
}

impl Transmit for Halves {
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.tx.handle_sdu(now, octets);
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.tx.take_waiting(place)
    }

    fn deadline(&self) -> Instant {
        self.tx.deadline()
    }

    fn backlog(&self, now: Instant) -> u64 {
        self.tx.backlog(now)
    }

    fn has_backlog(&self, now: Instant) -> bool {
        self.tx.has_backlog(now)
    }

    fn build_tti(&mut self, now: Instant, room: u64, tti: &mut Tti, report: &mut Report) {
        self.tx.build_tti(now, room, tti, report);
    }

    fn re_establish_sender(&mut self, now: Instant, report: &mut Report) {
        self.tx.re_establish_sender(now, report);
    }

    fn report(&self) -> serde_json::Value {
        self.tx.report()
    }
}

impl Receive for Halves {
    fn handle_tti(&mut self, now: Instant, tti: &Tti, report: &mut Report) -> bool {
        self.rx.handle_tti(now, tti, report)
    }

    fn expiry(&self) -> Instant {
        self.rx.expiry()
    }

    fn handle_expiry(&mut self, now: Instant, report: &mut Report) {
        self.rx.handle_expiry(now, report);
    }

    fn received(&self) -> Option<serde_json::Value> {
        self.rx.received()
    }

    fn re_establish_receiver(&mut self, now: Instant, report: &mut Report) {
        self.rx.re_establish_receiver(now, report);
    }
}

/// Counters of a sender without retransmission.
#[derive(Debug, Default)]
pub struct Counts {
    /// PDUs sent.
    pub data_pdus: u64,
    /// SDUs that were not sent, or not to their end.
    pub discarded_sdus: u64,
}

impl Counts {
    /// As an end reports it.
    pub fn report(&self) -> serde_json::Value {
        serde_json::json!({ "data_pdus": self.data_pdus, "discarded_sdus": self.discarded_sdus })
    }

    /// The PDUs from `first` up to `next`, that one not included, fill a TTI.
    pub fn send(&mut self, first: u64, next: u64, tti: &mut Tti) {
        if next > first {
            tti.data.runs.push(Run { sns: SnRange::new(first, next), poll: false });
            self.data_pdus += next - first;
        }
    }
}

/// When a direction has TTIs, and what fits into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttis {
    /// Length of a TTI.
    pub tti: Duration,
    /// Start of the first one; the others follow without gap.
    pub offset: Duration,
    /// Octets of a PDU that the rate of the bearer counts, without the header. 1 where a PDU fills the room of a TTI,
    /// which is counted in octets then.
    pub payload: u64,
    /// Octets that the largest PDU needs which cannot be cut: with less room in a TTI it is never sent. 0 where PDUs have a size
    /// of their own: at a low rate a PDU takes several TTIs.
    pub least: u64,
    /// Correlation of losses within a TTI.
    pub errors: Errors,
    /// Size of the sequence number space.
    pub sequence_numbers: u64,
    /// Whether lost PDUs are retransmitted. If not, the ends of SDUs in them reach the other end anyway, which reports
    /// the losses.
    pub retransmits: bool,
}

impl Ttis {
    /// The first TTI that starts at `from` or later.
    pub fn next(&self, from: Instant) -> Instant {
        let (tti, offset) = (self.tti.as_nanos(), self.offset.as_nanos());
        let number = from.as_nanos().saturating_sub(offset).div_ceil(tti);
        Instant::from_nanos(offset + number * tti)
    }

    /// Refuses a TTI that is no whole number of PDUs.
    pub(super) fn check(&self, rate: Bitrate) -> Result<(), ScenarioError> {
        let Self { tti, payload, .. } = *self;
        if tti.is_zero() {
            return Err(ScenarioError::new("tti", "is zero", "write a TTI such as \"10 ms\""));
        }
        let octets = rate.bytes_in(tti);
        if octets != 0 && octets.is_multiple_of(payload) {
            return self.check_room(rate);
        }
        let message = format!(
            "a TTI of {tti} at {rate} carries {octets} B, which is no whole number of PDUs with {payload} B of payload"
        );
        Err(ScenarioError::new("pdu", message, "change the PDU's size, the TTI or the rate of the bearer"))
    }

    /// Refuses a TTI without room for a PDU that cannot be cut. A cell that grants rooms has no rate.
    pub(crate) fn check_room(&self, rate: Bitrate) -> Result<(), ScenarioError> {
        let Self { tti, least, .. } = *self;
        let octets = rate.bytes_in(tti);
        if octets >= least {
            return Ok(());
        }
        let message = format!("a TTI of {tti} at {rate} carries {octets} B, less than a PDU may need");
        let hint = format!("lengthen it, or raise the rate of the bearer: {least} B or more");
        Err(ScenarioError::new("tti", message, hint))
    }
}

/// A PDU with length indicators needs room for two of them and data; above, 15 bits hold no length.
const PDU_OCTETS: RangeInclusive<u64> = 10..=4096;

/// Refuses a size that no PDU with length indicators has.
pub(super) fn check_pdu(pdu: Bytes) -> Result<(), ScenarioError> {
    if PDU_OCTETS.contains(&pdu.as_u64()) {
        return Ok(());
    }
    let hint = format!("write {} to {} bytes", PDU_OCTETS.start(), PDU_OCTETS.end());
    Err(ScenarioError::new("pdu", "is no size of a PDU", hint))
}

/// Refuses a timer that has expired when it starts.
pub(super) fn check_timer(key: &str, timer: Option<Duration>) -> Result<(), ScenarioError> {
    if timer.is_some_and(Duration::is_zero) {
        return Err(ScenarioError::new(key, "is zero", "write a time, or leave it out"));
    }
    Ok(())
}

/// Octets of a length indicator with its E bit: 7 bits, or 15 in PDUs larger than `largest_with_short` octets.
pub(super) fn li_octets(pdu: Bytes, largest_with_short: u64) -> u64 {
    if pdu.as_u64() <= largest_with_short { 1 } else { 2 }
}

parameters! {
    /// Correlation of losses within a TTI.
    pub enum Errors {
        /// Each PDU is lost independently.
        #[default]
        PerPdu,
        /// All PDUs of a TTI are lost or received together.
        PerTti,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttis_lie_on_their_grid() {
        let (tti, offset) = (Duration::from_millis(10), Duration::from_millis(3));
        let ttis = Ttis {
            tti,
            offset,
            payload: 40,
            least: 1,
            errors: Errors::PerTti,
            sequence_numbers: 4096,
            retransmits: true,
        };
        let next = |ms| ttis.next(Instant::ZERO + Duration::from_millis(ms));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert_eq!([0, 3, 4, 13, 14].map(next), [3, 3, 13, 13, 23].map(at));
    }
}
