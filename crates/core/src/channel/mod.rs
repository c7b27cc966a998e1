//! Radio channels: losses, rates and delays.
//!
//! There are three kinds ([`Kind`]), and a cell takes some of them: a channel of blocks says which blocks are
//! lost, a channel of opportunities when how much may be sent, a channel of packets what becomes of a packet
//! that is sent whole.

mod bursts;
mod piecewise;

pub mod bernoulli;
pub mod distribution;
pub mod markov_fading;
pub mod process;
pub mod rayleigh;
pub mod series;
pub mod switching;
pub mod trace_file;

use crate::element::Adopt;
use crate::error::ScenarioError;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::channel as scratch;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// A channel of one bearer and direction.
pub trait Channel: Any + Send + Sync {
    /// Whether a block whose transmission ends at `now` is destroyed. Called in order of time, once
    /// for each block.
    fn block_lost(&mut self, now: Instant) -> bool {
        let _ = now;
        false
    }

    /// Takes the first opportunity at or after `from` that was not taken before; `None` if there is none. Called in
    /// order of time, and only while packets are queued: opportunities in between are lost, without any cost.
    fn next_opportunity(&mut self, from: Instant) -> Option<Opportunity> {
        let _ = from;
        None
    }

    /// What a packet of `len` bytes takes of an opportunity's bytes.
    fn packet_bytes(&self, len: u32) -> u32 {
        len
    }

    /// What becomes of a packet of `len` bytes whose transmission begins at `start`. Called in order of time,
    /// once for each packet, perhaps ahead of it.
    fn serve(&mut self, start: Instant, len: u32) -> Service {
        let _ = len;
        Service { end: start, delay: Duration::ZERO, lost: false }
    }

    /// Takes over the parameters or the random streams of a channel of the same kind from `now` on. Returns whether the
    /// parameters differ, or whether the channel draws at random.
    fn adopt(&mut self, now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        let _ = (now, fresh, how);
        false
    }

    /// The opportunities up to `now`, that instant included, taken or not.
    fn offered(&self, now: Instant) -> Offered {
        let _ = now;
        Offered::default()
    }
}

/// A chance to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// When.
    pub at: Instant,
    /// At most how many bytes.
    pub bytes: u32,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// When its last bit is sent; `NEVER` where the link has died.
    pub end: Instant,
    /// Delay between the end of transmission and arrival.
    pub delay: Duration,
    /// It does not arrive.
    pub lost: bool,
}

/// What may become of the order of packets when the delay of a link falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// None overtakes another: it arrives with the one before it, or later.
    #[default]
    Kept,
    /// Each arrives after its own delay.
    Free,
}

/// A kind of channel, after what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Which blocks are lost: [`Channel::block_lost`].
    Blocks,
    /// When how much may be sent: [`Channel::next_opportunity`].
    Opportunities,
    /// How long a packet takes, and whether it arrives: [`Channel::serve`].
    Packets,
}

/// What a channel has offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Number of opportunities.
    pub opportunities: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Interface of a channel's parameters.
pub trait Component {
    /// Makes the channel; what it draws from is named after it.
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel>;

    /// What kind of channel it is.
    fn kind(&self) -> Kind;

    /// Refuses what a channel cannot do, whatever cell it is in.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Whether no block is ever lost.
    fn is_error_free(&self) -> bool {
        self.kind() != Kind::Blocks
    }

    /// Whether every block is lost for certain: then only a limit of transmissions ends the wait.
    fn loses_everything(&self) -> bool {
        false
    }

    /// Whether packets that were sent may be lost: of a channel of packets.
    fn loses_packets(&self) -> bool {
        false
    }

    /// Whether packets may overtake each other: of a channel of packets.
    fn order(&self) -> Order {
        Order::Kept
    }

    /// The mean rate of a channel; `None` for one of blocks, which has no rate.
    fn mean_rate(&self) -> Option<Bitrate> {
        None
    }

    /// When a channel that ends has done so.
    fn ends(&self) -> Option<Instant> {
        None
    }
}

/// The channel with new parameters as the type of the one in use; `None` if they are of different kinds.
fn as_same<T: Channel>(fresh: Box<dyn Channel>) -> Option<Box<T>> {
    (fresh as Box<dyn Any>).downcast().ok()
}

/// The UE in the name of a channel, as in `ue0.downlink.channel`.
fn ue_of(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

registry! {
    /// A channel and its parameters.
    pub enum Config: Component, default Bernoulli, validate() {
        Bernoulli = bernoulli,
        Distribution = distribution,
        MarkovFading = markov_fading,
        Process = process,
        Rayleigh = rayleigh,
        Series = series,
        Switching = switching,
        TraceFile = trace_file,
        #[cfg(test)]
        Scratch = scratch,
    }
}
