//! RLC Acknowledged Mode (TS 25.322): the entities of a UE's bearers.
//!
//! An [`Entity`] stands at either end of a UE's bearers. It has a [`Sender`] for its own direction and a
//! [`Receiver`] for the other, whose STATUS PDUs share the TTIs with the sender's data. All three are pure logic:
//! SDUs, PDUs and STATUS PDUs go in with the time, and the owner asks at each TTI what goes on the air. They
//! carry no octets. An SDU is a number that the sender gives out and a length; PDUs are runs of sequence
//! numbers ([`Run`](super::Run)). These are counted without wrapping; on the wire they are taken modulo 4096,
//! and no window is larger than 2048, so that this loses nothing.
//!
//! Here are: segmentation and concatenation with the octets of length indicators (§9.2.2.8), the window,
//! all poll triggers and poll timers (§9.5, §9.7.1), status reports with their timers (§9.7.2),
//! retransmission, in- and out-of-sequence delivery (§11.3).
//!
//! Left out: `MaxDAT` with RESET (§11.4) and the discard of SDUs with MRW (§11.6), so that the sender repeats a
//! PDU as often as it takes; the WINDOW, RLIST and POLL super-fields, piggybacked STATUS, the special value
//! of the HE field, suspending, ciphering.

mod config;
mod entity;
mod receiver;
mod segmentation;
mod sender;

use super::ranges::Ranges;
pub use config::{Config, Delivery};
pub use entity::Entity;
pub use receiver::Receiver;
pub use sender::{Erroneous, Sender};

/// Super-fields that name missing PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// LIST: pairs of a sequence number and how many after it are missing too.
    List,
    /// BITMAP: a bit for each PDU.
    Bitmap,
}

/// A STATUS PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// PDUs reported missing.
    pub missing: Ranges,
    /// How they are written.
    pub form: Form,
    /// The ACK super-field: PDUs below this one that are not reported missing have arrived.
    pub lsn: u64,
}

/// A control PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// STATUS.
    Status(Status),
}
