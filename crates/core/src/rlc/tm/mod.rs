//! RLC Transparent Mode (TS 25.322 §4.2.1.1, §9.2.1.2, §11.1): the entities of one direction of a bearer.
//!
//! The [`Sender`] adds nothing to SDUs. Without segmentation each is a PDU, and a TTI carries SDUs of one length; with
//! it a TTI carries one SDU. No SDU may be larger than a TTI. The receiver is that of UM
//! ([`Reassembly`](super::Reassembly)): what a TTI does not bring whole is lost.
//!
//! DEVIATION: with segmentation, IP packets are no multiples of a PDU, as §4.2.1.1.1 demands of SDUs; the last PDU is
//! filled up. Left out: delivery of erroneous SDUs (§11.1.3).

mod config;
mod encoder;
mod sender;

pub use config::Config;
pub use encoder::Encoder;
pub use sender::Sender;
