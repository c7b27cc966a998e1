//! Queue disciplines: which packets may be in a buffer, which of them is sent next, and which are marked.
//!
//! There are two kinds. An [`Aqm`] decides at the arrival of a packet; the buffer itself belongs to the link or bearer,
//! and packets leave it in their order. A [`Queue`] holds the packets that wait: it hands them out one by one when the
//! transmitter can take one, and judges them then. A transmitter of whole packets takes the next one when it is free, a
//! link layer as many as fill its next TTI.
//!
//! A queue, as the owner of the buffer drives it:
//!
//! ```text
//! queue.admit(now, &packet)             // Verdict::Enter: the packet enters the accounting
//! queue.push(waiting, &mut evicted);    // packets dropped to make room leave it again
//! queue.pop(now, &mut evicted)          // the next packet to send, and whether to mark it
//! ```
//!
//! A discipline has no timer. State that changes in time steps (the probability of PIE) is updated for all elapsed
//! steps when a packet arrives or leaves: between two calls the queue does not change, so the result is the same, and
//! an idle queue costs nothing.

mod control;
mod fifo;
mod line;
mod target;

pub mod codel;
pub mod drophead;
pub mod droptail;
pub mod dualpi2;
pub mod fq_codel;
pub mod pdpc;
pub mod pie;
pub mod predicted_sojourn;
pub mod red;

pub use fifo::Waiting;
pub(crate) use line::Line;
pub use target::Target;

use crate::element::{Adopt, Bearer, adopt};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::queue as scratch;
use crate::rng::{self, Stream};
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use crate::units::{Bitrate, Bytes};

/// A queue discipline that decides when a packet comes.
pub trait Aqm: Send + Sync {
    /// Decides on `packet`, which arrives at `buffer`, settled to `now`. After [`Verdict::DropWaiting`] has been
    /// carried out, the discipline is called again.
    fn admit(&mut self, now: Instant, packet: &Packet, buffer: &Bearer) -> Verdict;

    /// Called when the first octet of a packet of `len` bytes is sent; `buffer` is the state after that. Not called if
    /// packets are sent whole with ends of transmission computed ahead.
    fn handle_start(&mut self, now: Instant, len: u32, buffer: &Bearer) {
        let _ = (now, len, buffer);
    }

    /// Called after a packet has left the buffer; `buffer` is the state without it. Not called for packets that the
    /// discipline itself dropped, nor for transmissions whose end was computed in advance (see `Bearer` for when the
    /// last one ends).
    fn handle_departure(&mut self, now: Instant, gone: Departed, buffer: &Bearer) {
        let _ = (now, gone, buffer);
    }

    /// See [`Queue::excuse`].
    fn excuse(&mut self, wait: Duration) {
        let _ = wait;
    }

    /// How many packets may wait in addition to the one in transmission, if only their number decides.
    fn limit_sdus(&self) -> Option<u32> {
        None
    }

    /// Amount still to be delivered before it may drop again, if it counts that; otherwise 0.
    fn discard_counter(&self) -> u64 {
        0
    }

    /// The random stream that it draws from, if any.
    fn stream(&mut self) -> Option<&mut Stream> {
        None
    }
}

/// A queue discipline that holds the packets which wait.
pub trait Queue: Send + Sync {
    /// Decides on `packet`, which arrives. Never [`Verdict::DropWaiting`].
    fn admit(&mut self, now: Instant, packet: &Packet) -> Verdict;

    /// An admitted packet starts to wait. Packets dropped for it are put into `evicted`; it may be among them.
    fn push(&mut self, waiting: Waiting, evicted: &mut Evicted);

    /// The next packet to be sent. Packets dropped before it are appended to `evicted`.
    fn pop(&mut self, now: Instant, evicted: &mut Evicted) -> Option<Next>;

    /// From now on, `wait` of each packet's sojourn time does not count as queueing: the transmitter had no opportunity
    /// to send, not even a packet alone. Not called by transmitters that may always send.
    fn excuse(&mut self, wait: Duration);

    /// Bytes of the packets that wait; 0 if none does.
    fn bytes(&self) -> u64;

    /// The random stream that it draws from, if any.
    fn stream(&mut self) -> Option<&mut Stream> {
        None
    }
}

/// Packets that a queue has dropped. Boxed, since boxes return to the pool.
#[allow(clippy::vec_box)]
pub type Evicted = Vec<Box<Packet>>;

/// A packet that leaves a queue.
#[derive(Debug)]
pub struct Next {
    /// The packet, and since when it has waited.
    pub waiting: Waiting,
    /// Whether it is to be marked ([`Packet::mark`]); only for an ECN-capable packet.
    pub marks: bool,
}

/// Decision on a packet that arrives at a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is admitted.
    Enter,
    /// The packet is admitted and marked ([`Packet::mark`]); it is ECN-capable.
    Mark,
    /// The packet is dropped.
    Drop(Reason),
    /// The first unsent packet is dropped; if there is none, the arriving one.
    DropWaiting,
}

/// A packet that has left a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Its length, bytes.
    pub len: u32,
    /// Whether it was sent or, with a link layer, delivered, and not discarded.
    pub delivered: bool,
}

/// A discipline in use. Drop-tail is the common case and is called for every packet, so it is the only one stored
/// inline.
pub enum Discipline {
    /// Drop-tail.
    Droptail(droptail::Droptail),
    /// Any other that decides when a packet comes.
    Other(Box<dyn Aqm>),
    /// A discipline that holds the packets.
    Queue(Box<dyn Queue>),
}

impl Discipline {
    /// Fast path: whether a packet is admitted without a further decision, as most are. If false, [`Aqm::admit`]
    /// decides.
    #[inline(always)]
    pub fn has_room(&self, packet: &Packet, buffer: &Bearer) -> bool {
        matches!(self, Self::Droptail(droptail) if droptail.has_room(packet, buffer))
    }

    /// The queue in which packets wait; `None` if they wait elsewhere.
    #[inline]
    pub fn queue(&mut self) -> Option<&mut dyn Queue> {
        match self {
            Self::Queue(queue) => Some(queue.as_mut()),
            Self::Droptail(_) | Self::Other(_) => None,
        }
    }

    /// Passes an admitted packet to a queue; `accounting` already includes it. If it is the only packet there, the
    /// queue has been empty since the last departure: FQ-CoDel's flows count as new again.
    pub fn push(&mut self, waiting: Waiting, accounting: &Bearer, evicted: &mut Evicted) {
        let Some(queue) = self.queue() else { return };
        if accounting.sdus() == 1 {
            queue.pop(waiting.entered, evicted);
        }
        queue.push(waiting, evicted);
    }

    /// Takes over the limits, or the random stream, of a fresh discipline; returns whether the limits differ, or whether it
    /// draws at random.
    pub fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        if how == Adopt::Streams {
            let mut fresh = fresh;
            return match (self.stream(), fresh.stream()) {
                (Some(own), Some(fresh)) => rng::renew([own], [fresh.clone()]),
                _ => false,
            };
        }
        match (self, fresh) {
            (Self::Droptail(own), Self::Droptail(fresh)) => adopt(own, fresh),
            _ => false,
        }
    }

    /// See [`Queue::excuse`].
    #[inline]
    pub fn excuse(&mut self, wait: Duration) {
        match self {
            Self::Droptail(_) => {}
            Self::Other(aqm) => aqm.excuse(wait),
            Self::Queue(queue) => queue.excuse(wait),
        }
    }

    /// Bytes that wait in its queue; 0 if packets wait elsewhere.
    #[inline]
    pub fn held_bytes(&self) -> u64 {
        match self {
            Self::Queue(queue) => queue.bytes(),
            Self::Droptail(_) | Self::Other(_) => 0,
        }
    }
}

impl Aqm for Discipline {
    fn stream(&mut self) -> Option<&mut Stream> {
        match self {
            Self::Droptail(_) => None,
            Self::Other(aqm) => aqm.stream(),
            Self::Queue(queue) => queue.stream(),
        }
    }

    #[inline]
    fn admit(&mut self, now: Instant, packet: &Packet, buffer: &Bearer) -> Verdict {
        match self {
            Self::Droptail(droptail) => droptail.admit(now, packet, buffer),
            Self::Other(aqm) => aqm.admit(now, packet, buffer),
            Self::Queue(queue) => queue.admit(now, packet),
        }
    }

    #[inline]
    fn handle_start(&mut self, now: Instant, len: u32, buffer: &Bearer) {
        if let Self::Other(aqm) = self {
            aqm.handle_start(now, len, buffer);
        }
    }

    #[inline]
    fn handle_departure(&mut self, now: Instant, gone: Departed, buffer: &Bearer) {
        if let Self::Other(aqm) = self {
            aqm.handle_departure(now, gone, buffer);
        }
    }

    fn limit_sdus(&self) -> Option<u32> {
        match self {
            Self::Droptail(droptail) => droptail.limit_sdus(),
            Self::Other(aqm) => aqm.limit_sdus(),
            Self::Queue(_) => None,
        }
    }

    #[inline]
    fn discard_counter(&self) -> u64 {
        match self {
            Self::Droptail(_) | Self::Queue(_) => 0,
            Self::Other(aqm) => aqm.discard_counter(),
        }
    }
}

/// Location of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Seed of the run.
    pub run_seed: u64,
    /// Name of its random stream.
    pub name: &'a str,
    /// Rate of the transmitter it feeds; its mean if it varies.
    pub rate: Bitrate,
    /// Maximum time until the next opportunity to send, if the transmitter has a grid of TTIs or slots.
    pub tti: Duration,
}

/// Properties of a discipline's parameters.
pub trait Component {
    /// Makes the discipline.
    fn build(&self, place: &Place<'_>) -> Discipline;

    /// Refuses a buffer that lets nothing pass.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Whether packets must wait one by one because the discipline holds them or may drop a waiting one. Their
    /// departure times then cannot be computed on arrival.
    fn needs_line(&self) -> bool {
        false
    }

    /// Whether it may mark packets.
    fn marks(&self) -> bool {
        false
    }

    /// Whether it counts the amount to be delivered before it drops again.
    fn has_discard_counter(&self) -> bool {
        false
    }

    /// How many packets may wait in addition to the one in transmission, if only their number decides.
    fn limit_sdus(&self) -> Option<u32> {
        None
    }

    /// The largest number of packets, and the bytes into which each packet must fit even if none waits; `None` without
    /// such a limit.
    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        (None, None)
    }

    /// Whether the queue can grow without bound: it has neither a limit nor a control of delay.
    fn is_unlimited(&self) -> bool {
        false
    }
}

registry! {
    /// A queue discipline and its parameters.
    pub enum Config: Component, default Droptail, validate() {
        Droptail = droptail,
        Drophead = drophead,
        Codel = codel,
        FqCodel = fq_codel,
        Pie = pie,
        Dualpi2 = dualpi2,
        PredictedSojourn = predicted_sojourn,
        Pdpc = pdpc,
        Red = red,
        #[cfg(test)]
        Scratch = scratch,
    }
}
