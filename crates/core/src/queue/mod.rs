//! Queue disciplines: which packets may be in a buffer.
//!
//! The buffer itself belongs to the link or bearer; a discipline ([`Aqm`]) decides which packets are admitted, and which
//! go if not all can stay.

pub mod droptail;
pub mod pdpc;
pub mod red;

use crate::element::Bearer;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::queue as scratch;
use crate::time::Instant;
use crate::trace::Reason;

/// A queue discipline.
pub trait Aqm: Send + Sync {
    /// What becomes of `packet`, which comes to the buffer with these books, settled to `now`. A discipline that says
    /// [`Verdict::DropWaiting`] is asked again when that has been done.
    fn admit(&mut self, now: Instant, packet: &mut Packet, buffer: &Bearer) -> Verdict;

    /// A packet has left the buffer, which has these books from now on. Not told of what the discipline itself
    /// dropped, nor of packets that are sent whole with ends computed ahead: the books say when the last one ends.
    fn handle_departure(&mut self, now: Instant, gone: Departed, buffer: &Bearer) {
        let _ = (now, gone, buffer);
    }

    /// How many packets may wait beside the one in transmission, if their number alone decides.
    fn limit_sdus(&self) -> Option<u32> {
        None
    }

    /// What has still to be delivered until it may choose a packet to drop again, if it counts that; else 0.
    fn discard_counter(&self) -> u64 {
        0
    }
}

/// What becomes of a packet that comes to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It enters.
    Enter,
    /// It is dropped.
    Drop(Reason),
    /// The first packet of which no octet has been sent is dropped; if there is none, this one.
    DropWaiting,
}

/// A packet that has left a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Its length, bytes.
    pub len: u32,
    /// It was sent or, with a link layer, delivered; not given up.
    pub delivered: bool,
}

/// A discipline in use. Drop-tail stands in front of nearly every link and is asked for every packet:
/// it alone is not behind a pointer.
pub enum Discipline {
    /// Drop-tail.
    Droptail(droptail::Droptail),
    /// Any other.
    Other(Box<dyn Aqm>),
}

impl Aqm for Discipline {
    #[inline]
    fn admit(&mut self, now: Instant, packet: &mut Packet, buffer: &Bearer) -> Verdict {
        match self {
            Self::Droptail(droptail) => droptail.admit(now, packet, buffer),
            Self::Other(aqm) => aqm.admit(now, packet, buffer),
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
        }
    }

    #[inline]
    fn discard_counter(&self) -> u64 {
        match self {
            Self::Droptail(_) => 0,
            Self::Other(aqm) => aqm.discard_counter(),
        }
    }
}

/// What is asked of a discipline's parameters.
pub trait Component {
    /// Makes the discipline; what it draws from is named after it.
    fn build(&self, run_seed: u64, name: &str) -> Discipline;

    /// Refuses a buffer that lets nothing pass.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Whether it may drop a packet that waits already: the owner of the buffer must then be able to take it out.
    fn drops_waiting(&self) -> bool {
        false
    }

    /// Whether it counts what has to be delivered until it drops again.
    fn has_discard_counter(&self) -> bool {
        false
    }

    /// How many packets may wait beside the one in transmission, if their number alone decides.
    fn limit_sdus(&self) -> Option<u32> {
        None
    }
}

registry! {
    /// A queue discipline and its parameters.
    pub enum Config: Component, default Droptail, validate() {
        Droptail = droptail,
        Pdpc = pdpc,
        Red = red,
        #[cfg(test)]
        Scratch = scratch,
    }
}

impl Config {
    /// Refuses a discipline that drops packets which wait, where packets are sent whole and nothing waits for the
    /// moment at which it is sent.
    pub(crate) fn check_sent_whole(&self, hint: &str) -> Result<(), ScenarioError> {
        if !self.drops_waiting() {
            return Ok(());
        }
        let message = "it drops packets that wait, and here the time of each is fixed when it comes";
        Err(ScenarioError::new(self.name(), message, hint))
    }
}
