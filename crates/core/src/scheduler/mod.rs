//! Who is served next on a channel that users share: schedulers.
//!
//! Time is counted in slots. The cell asks when its channel is free, with the rate at which each user could
//! be served now, and tells of every slot that passes.

pub mod max_ci;
pub mod proportional_fair;
pub mod round_robin;

use crate::error::ScenarioError;
use crate::registry::registry;

/// A scheduler.
pub trait Scheduler: Send + Sync {
    /// Who is served next, if anybody can be. `rates` has for each user the rate in bit/s at which it could
    /// be served now; zero if nothing waits for it or no rate would do.
    fn choose(&mut self, rates: &[f64]) -> Option<usize>;

    /// So many slots have passed, in which one user was served at a rate in bit/s, or nobody.
    fn handle_slots(&mut self, slots: u64, served: Option<(usize, f64)>) {
        let _ = (slots, served);
    }
}

registry! {
    /// A scheduler and its parameters.
    pub enum Config: build(users: usize) -> Box<dyn Scheduler> {
        MaxCi = max_ci,
        ProportionalFair = proportional_fair,
        RoundRobin = round_robin,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::ProportionalFair(proportional_fair::Config::default())
    }
}

impl Config {
    /// Refuses what no scheduler can do.
    ///
    /// # Errors
    /// Names the key below `scheduler`, what is wrong, and what would be right.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        match self {
            Self::ProportionalFair(config) => config.validate(),
            Self::MaxCi(_) | Self::RoundRobin(_) => Ok(()),
        }
        .map_err(|error| error.under(self.name()))
    }
}

/// The users in turn, the one behind `last` first.
fn in_turn(last: usize, users: usize) -> impl Iterator<Item = usize> {
    (0..users).map(move |step| (last + 1 + step) % users)
}
