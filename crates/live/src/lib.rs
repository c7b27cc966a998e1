//! Real packets through airpath's bearers.
//!
//! The path, its elements and their randomness are those of `airpath-core`; this crate adds what the
//! operating system has to give: a clock, two network namespaces with a TUN device each, processes in
//! them, and what the kernel knows of its TCP. Nothing in the core knows of this crate.
//!
//! * [`driver`], `meter`, [`port`], [`rebinding`], [`endpoint`], [`lateness`], [`segments`]: pure; also the tests' drivers use them.
//! * The others are Linux.

pub mod driver;
pub mod endpoint;
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
