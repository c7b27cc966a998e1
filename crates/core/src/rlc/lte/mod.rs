//! What the two modes of LTE's RLC (TS 36.322) share.

mod pdus;

pub use pdus::{End, Nack, Part, Pdu, Pdus, Status};
