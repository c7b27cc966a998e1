//! The models of airpath and the event loop that runs them.
//!
//! A packet from a server to a UE, and its ACK in the reverse direction, pass through a straight line of elements.
//! Simulator and live driver run the same objects; nothing in this crate reads a clock, opens a socket or a file,
//! or prints, and only [`windows`] starts threads, with the feature `threads`.
//!
//! The modules, lower to higher; each uses only the modules listed before it (`tests/all/layers.rs`):
//!
//! * [`error`], [`time`], [`delays`], `csv`, `parsed`, [`units`], [`each`], [`rng`], [`distribution`], [`recording`], [`packet`], [`wire`], [`flows`],
//!   [`gtp`], [`trace`]: the vocabulary;
//! * `agenda`, [`element`], `registry`: the seam. Start reading at [`element`];
//! * [`queue`], [`fading`], [`channel`], [`sinr`], [`rlc`], [`scheduler`]: the parts of a cell;
//! * [`umts`], [`handover`], [`mobility`], [`activity`], [`radio`]: the core network around a cell, outages, what
//!   UEs measure, silent UEs, and the cell;
//! * [`tcp`], [`quic`], [`controller`], [`app`], [`host`]: the simulator's endpoints;
//! * [`middlebox`], [`fork`], [`split_bearer`], [`link`], [`path`]: everything between the ends;
//! * [`scenario`], [`windows`], [`sim`]: a run from a text.

// Who reads this documentation reads the source too: modules lead to their private parts.
#![allow(rustdoc::private_intra_doc_links)]

pub mod error;
pub mod time;
pub mod delays;
mod csv;
mod parsed;
pub mod units;
pub mod each;
pub mod rng;
pub mod distribution;
pub mod recording;
pub mod packet;
mod port;
pub mod wire;
pub mod flows;
pub mod gtp;
pub mod trace;

mod agenda;
pub mod element;
mod registry;

pub mod queue;
pub mod fading;
pub mod channel;
pub mod sinr;
mod reordering;
pub mod pdcp;
pub mod rlc;
pub mod scheduler;
pub mod umts;
pub mod handover;
pub mod mobility;
pub mod activity;
pub mod radio;

pub mod steering;
pub mod tcp;
pub mod quic;
pub mod controller;
pub mod app;
pub mod host;

pub mod middlebox;
pub mod fork;
pub mod split_bearer;
pub mod link;
pub mod path;

pub mod scenario;
pub mod windows;
pub mod sim;

#[cfg(feature = "testing")]
pub mod testing;
