//! RLC of UMTS (TS 25.322): PDUs of one size in a TTI, in acknowledged, unacknowledged and transparent mode.

pub mod am;
mod cutter;
mod reassembly;
mod sdu_queue;
mod segmentation;
pub mod tm;
pub mod um;

pub use reassembly::Reassembly;
