//! CoDel: drops or marks packets while the sojourn time of departing packets stays above a target for an interval.
//!
//! The law is RFC 8289's, see [`control`](super::control). A packet's sojourn time ends when its transmission begins,
//! or when it is handed to a link layer for its next TTI. With `target = "auto"` target and interval follow CAKE's rule
//! for the rate of the transmitter, with a TTI added to the target (RFC 8290 5.2.2: a target below the transmission
//! time of an MTU drops without end).
//!
//! If the waiting packets exceed `packets` or `bytes`, an arriving packet is dropped.

use super::control::{Control, LEAST_TARGET, Law};
use super::fifo::{Fifo, Limit, Waiting};
use super::{Component, Discipline, Evicted, Next, Place, Queue, Target, Verdict};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use crate::units::Bytes;

parameters! {
    /// Drops or marks while packets have waited too long for an interval: CoDel, RFC 8289.
    pub struct Config {
        /// At most this many packets wait; unlimited if absent.
        pub packets: Option<u32>,
        /// At most this many bytes wait; unlimited if absent.
        pub bytes: Option<Bytes>,
        /// Target sojourn time; "auto": at least 5 ms, and 1.5 times an MTU's time and a TTI.
        pub target: Target = Target::Time(LEAST_TARGET),
        /// Time for which they may wait longer than the target: an RTT. With target = "auto" it grows with the target.
        pub interval: Duration = Duration::from_millis(100),
        /// While no more than this waits, nothing is dropped.
        pub mtu: Bytes = Bytes::from_bytes(1500),
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool,
    }
}

impl Component for Config {
    fn build(&self, place: &Place<'_>) -> Discipline {
        let limit = Limit::new(self.packets, self.bytes);
        let law = law((self.target, self.interval), self.mtu, self.ecn, place);
        Discipline::Queue(Box::new(Codel { limit, law, fifo: Fifo::default(), control: Control::default() }))
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        (self.packets, self.bytes)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        validate_law(self.target, self.interval, self.mtu)?;
        Limit::validate(self.packets, self.bytes)
    }

    fn needs_line(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

/// The law of these parameters at a place.
pub(super) fn law((target, interval): (Target, Duration), mtu: Bytes, ecn: bool, place: &Place<'_>) -> Law {
    let time = target.at(place, LEAST_TARGET, mtu);
    match target {
        Target::Auto => Law::fitted(interval, time, mtu.as_u64(), ecn),
        Target::Time(target) => Law { target, interval, mtu: mtu.as_u64(), ecn, excused: Duration::ZERO },
    }
}

/// Refuses a law that drops everything.
pub(super) fn validate_law(target: Target, interval: Duration, mtu: Bytes) -> Result<(), ScenarioError> {
    let error = |key: &str, message: &str, hint: &str| Err(ScenarioError::new(key, message, hint));
    if target.is_zero() {
        return error("target", "every packet waits longer", "write a time such as \"5 ms\", or \"auto\"");
    }
    if interval.is_zero() {
        return error("interval", "a packet would go at each departure", "write a time such as \"100 ms\"");
    }
    if mtu.as_u64() == 0 {
        return error("mtu", "a packet of no size", "write a size such as \"1500 B\"");
    }
    Ok(())
}

struct Codel {
    limit: Limit,
    law: Law,
    fifo: Fifo,
    control: Control,
}

impl Queue for Codel {
    fn admit(&mut self, _now: Instant, packet: &Packet) -> Verdict {
        let fits = self.limit.fits(self.fifo.packets(), self.fifo.bytes(), packet.len);
        if fits { Verdict::Enter } else { Verdict::Drop(Reason::QueueFull) }
    }

    fn push(&mut self, waiting: Waiting, _evicted: &mut Evicted) {
        self.fifo.push(waiting);
    }

    fn pop(&mut self, now: Instant, evicted: &mut Evicted) -> Option<Next> {
        self.control.pop(&self.law, now, &mut self.fifo, evicted)
    }

    fn excuse(&mut self, wait: Duration) {
        self.law.excused = wait;
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
