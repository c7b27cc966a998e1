//! What may be in a buffer: queue disciplines.
//!
//! The buffer itself belongs to the link or bearer; a discipline ([`Aqm`]) decides what is admitted.

pub mod droptail;

use crate::element::Bearer;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::registry;
use crate::time::Instant;
use crate::trace::Reason;

/// A queue discipline.
pub trait Aqm: Send + Sync {
    /// Whether `packet` may enter the buffer with these books, settled to `now`; if not, why.
    fn admit(&mut self, now: Instant, packet: &Packet, buffer: &Bearer) -> Result<(), Reason>;

    /// How many packets may wait beside the one in transmission, if their number alone decides.
    fn limit_sdus(&self) -> Option<u32> {
        None
    }
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
    fn admit(&mut self, now: Instant, packet: &Packet, buffer: &Bearer) -> Result<(), Reason> {
        match self {
            Self::Droptail(droptail) => droptail.admit(now, packet, buffer),
            Self::Other(aqm) => aqm.admit(now, packet, buffer),
        }
    }

    fn limit_sdus(&self) -> Option<u32> {
        match self {
            Self::Droptail(droptail) => droptail.limit_sdus(),
            Self::Other(aqm) => aqm.limit_sdus(),
        }
    }
}

registry! {
    /// A queue discipline and its parameters.
    pub enum Config: build() -> Discipline {
        Droptail = droptail,
    }
}

impl Config {
    /// Refuses a buffer that lets nothing pass.
    ///
    /// # Errors
    /// Names the key below `queue`, what is wrong, and what would be right.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        match self {
            Self::Droptail(config) => config.validate().map_err(|error| error.under("droptail")),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::Droptail(droptail::Config::default())
    }
}
