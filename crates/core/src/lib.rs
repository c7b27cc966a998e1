//! The models of airpath and the event loop that runs them.
//!
//! A packet's way from a server to a UE and its ACK's way back lead through a straight line of
//! elements. Simulator and live driver run the same objects; nothing in this crate reads a clock,
//! opens a socket or a file, starts a thread or prints.
//!
//! The modules, lower to higher; each uses only those above it (`tests/layers.rs`):
//!
//! * [`error`], [`time`], [`units`], [`rng`], [`packet`], [`wire`], [`trace`]: the vocabulary;
//! * `agenda`, [`element`], `registry`: the seam. Start reading at [`element`];
//! * [`queue`], [`channel`], [`rlc`], [`radio`]: a cell and what is in it;
//! * [`tcp`], [`app`], [`host`]: what the simulator puts at both ends;
//! * [`middlebox`], [`link`], [`path`]: what is between;
//! * [`scenario`], [`sim`]: a run from a text.

mod agenda;
pub mod app;
pub mod channel;
pub mod element;
pub mod error;
pub mod host;
pub mod link;
pub mod middlebox;
pub mod packet;
pub mod path;
pub mod queue;
pub mod radio;
mod registry;
pub mod rlc;
pub mod rng;
pub mod scenario;
pub mod sim;
pub mod tcp;
#[cfg(feature = "testing")]
pub mod testing;
pub mod time;
pub mod trace;
pub mod units;
pub mod wire;
