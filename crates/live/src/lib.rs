//! Real packets through airpath's bearers.
//!
//! The path, its elements and their randomness are those of `airpath-core`; this crate adds what the operating
//! system provides: a clock, two network namespaces with a TUN device each, processes in them, and the kernel's TCP
//! state. The core does not depend on this crate.
//!
//! * [`driver`], `meter`, [`port`], [`rebinding`], [`endpoint`], [`lateness`], [`segments`]: pure; also the tests' drivers use them.
//! * The others are Linux.

pub mod driver;
pub mod endpoint;
pub mod fragments;
pub mod lateness;
mod meter;
pub mod port;
pub mod rebinding;
pub mod segments;

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
#[doc(hidden)]
pub use linux::message;
#[cfg(target_os = "linux")]
pub use linux::{Obstacle, serve};
