//! Windows and sequence space of a sender, its segments in flight, and how much of the window it uses.

pub mod loss_episodes;
pub mod scoreboard;
pub mod state;
pub mod validation;
