//! Schedulers: select the next user of a shared channel.
//!
//! Time is counted in slots. The cell calls the scheduler when its channel is free, with the current rate of each user,
//! and reports every slot that passes. If several users share a slot, it calls again without the users already chosen.

pub mod max_ci;
pub mod proportional_fair;
pub mod round_robin;

use crate::error::ScenarioError;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::scheduler as scratch;

/// A scheduler.
pub trait Scheduler: Send + Sync {
    /// Selects the next user; `None` if no user can be served. `rates` has the current rate of each user in bit/s, zero
    /// if nothing waits for it or no rate is usable.
    fn choose(&mut self, rates: &[f64]) -> Option<usize>;

    /// `slots` slots have passed, in which these users were served, each once and at a rate in bit/s, or none was.
    fn handle_slots(&mut self, slots: u64, served: &[(usize, f64)]) {
        let _ = (slots, served);
    }
}

/// Properties of a scheduler's parameters.
pub trait Component {
    /// Makes the scheduler. `window`: over how many slots it averages what users had, where its parameters do not say.
    fn build(&self, users: usize, window: u32) -> Box<dyn Scheduler>;

    /// Refuses what no scheduler can do.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }
}

registry! {
    /// A scheduler and its parameters.
    pub enum Config: Component, default ProportionalFair, validate() {
        MaxCi = max_ci,
        ProportionalFair = proportional_fair,
        RoundRobin = round_robin,
        #[cfg(test)]
        Scratch = scratch,
    }
}

/// The users in turn, starting after `last`.
fn in_turn(last: usize, users: usize) -> impl Iterator<Item = usize> {
    (0..users).map(move |step| (last + 1 + step) % users)
}
