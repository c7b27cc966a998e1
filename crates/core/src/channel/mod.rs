//! What the radio channel does to what is sent over it.
//!
//! There are two kinds, and a cell takes one of them: a channel of blocks says which blocks are lost, a
//! channel of opportunities says when how much may be sent.

pub mod bernoulli;
pub mod trace_file;

use crate::registry::registry;
use crate::rng::Stream;
use crate::time::Instant;
use crate::units::Bitrate;

/// A channel of one bearer and direction.
pub trait Channel: Send + Sync {
    /// Whether a block whose transmission ends at `now` is destroyed. Called in order of time, once
    /// for each block.
    fn block_lost(&mut self, now: Instant) -> bool {
        let _ = now;
        false
    }

    /// Takes the first opportunity at or after `from` that was not taken before; `None` if there is none
    /// any more, or never is. Asked in order of time, and only while something waits: opportunities that
    /// nobody asked for are lost, and cost nothing.
    fn next_opportunity(&mut self, from: Instant) -> Option<Opportunity> {
        let _ = from;
        None
    }

    /// What a packet of `len` bytes takes of an opportunity's bytes.
    fn packet_bytes(&self, len: u32) -> u32 {
        len
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

/// What a channel has offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Number of opportunities.
    pub opportunities: u64,
    /// Their bytes.
    pub bytes: u64,
}

registry! {
    /// A channel and its parameters.
    pub enum Config: build(stream: Stream) -> Box<dyn Channel> {
        Bernoulli = bernoulli,
        TraceFile = trace_file,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::Bernoulli(bernoulli::Config::default())
    }
}

impl Config {
    /// Whether no block is ever lost.
    pub fn is_error_free(&self) -> bool {
        match self {
            Self::Bernoulli(config) => config.bler.as_f64() <= 0.0,
            Self::TraceFile(_) => true,
        }
    }

    /// Whether every block is lost for certain: then only a limit of transmissions ends the wait.
    pub fn loses_everything(&self) -> bool {
        match self {
            Self::Bernoulli(config) => config.bler.as_f64() >= 1.0,
            Self::TraceFile(_) => false,
        }
    }

    /// The mean rate of a channel of opportunities; `None` for one of blocks, which has no rate.
    pub fn mean_rate(&self) -> Option<Bitrate> {
        match self {
            Self::Bernoulli(_) => None,
            Self::TraceFile(config) => Some(config.trace.mean_rate()),
        }
    }

    /// When the last opportunity of a channel has passed that has a last one.
    pub fn ends(&self) -> Option<Instant> {
        match self {
            Self::Bernoulli(_) => None,
            Self::TraceFile(config) => config.ends(),
        }
    }
}
