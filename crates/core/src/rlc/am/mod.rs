//! RLC Acknowledged Mode (TS 25.322): the entities of a UE's bearers.
//!
//! An [`Entity`] stands at either end of a UE's bearers. It has a [`Sender`] for its own direction and a
//! [`Receiver`] for the other, whose STATUS PDUs share the TTIs with the sender's data. All three are pure logic:
//! SDUs, PDUs and STATUS PDUs go in with the time, and the owner asks at each TTI what goes on the air. They
//! carry no octets. An SDU is a number that the sender gives out and a length; PDUs are runs of sequence
//! numbers ([`Run`](super::Run)). These are counted without wrapping; on the wire they are taken modulo 4096,
//! and no window is larger than 2048, so that this loses nothing.
//!
//! Here is all of the standard that a bearer of one fixed PDU size needs: segmentation and concatenation, windows,
//! polls, status reports, retransmission, delivery in and out of sequence, `MaxDAT` with the reset of the link,
//! and the discard of SDUs. `docs/models/rlc-am.md` lists clause by clause what is implemented, by which
//! test that shows, and what is left out.

mod config;
mod control;
mod discard;
mod encoder;
mod entity;
mod on_wire;
mod polling;
mod receiver;
mod reset;
mod segmentation;
mod sender;
mod status_report;
mod vt_dat;

pub use config::{Config, Delivery, SduDiscard};
pub use control::{Control, Form, Mrw, MrwAck, Reset, Status};
pub use encoder::Encoder;
pub use entity::{Counts, Entity};
pub use receiver::Receiver;
pub use sender::{Erroneous, Sender};
