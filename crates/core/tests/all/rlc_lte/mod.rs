//! Timelines and properties of the entities of `rlc::am_lte` and `rlc::um_lte`.
//!
//! TTIs of 1 ms in both directions, 4 ms from the start of a TTI to its arrival; see [`link`].

mod am;
mod link;
mod properties;
mod retransmission;
mod scenarios;
mod status;
mod um;
