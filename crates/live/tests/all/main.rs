//! The integration tests of live runs without a kernel, in one program that is linked once.
#![allow(clippy::unwrap_used)]

mod boxes;
mod endpoint;
mod fragments;
mod garbage;
mod octets;
mod parity;
mod segments;
