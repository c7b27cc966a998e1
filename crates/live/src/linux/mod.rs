//! What Linux has to give: namespaces, TUN devices, processes, clocks, and its knowledge of TCP.
//!
//! Three processes run a link (see `docs/architecture.md`). This crate is in the second, the *driver*,
//! which is started with a socket to the process that asked for the link, and has one thread at that moment. The
//! third, *init*, is forked from it: the first process of a PID namespace, in which everything runs that
//! is started for the user. Each ends with the one before it, and with init the kernel ends all.

pub mod doctor;
mod init;
mod kernel;
// For a fuzz target.
#[doc(hidden)]
pub mod message;
mod namespaces;
mod netfilter;
mod netlink;
mod obstacle;
mod ours;
mod pace;
mod results;
mod sampler;
mod serve;
mod session;
mod steering;
#[allow(unsafe_code)]
mod sys;
mod tuns;
mod writer;

pub use obstacle::Obstacle;
pub use serve::serve;
