//! Timelines and properties of the entities of `rlc::am`.
//!
//! A pair of bearers of 12 PDUs in each TTI of 10 ms, 25 ms from the start of a TTI to its arrival, in both
//! directions; see [`link`].

mod by_the_clauses;
mod data;
mod discard;
mod link;
mod on_wire;
mod options;
mod properties;
mod reset;
