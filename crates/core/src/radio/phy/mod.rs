//! Physical layers: how many bits fit in a slot at which SINR, and how probably a block is lost.

pub mod air;
pub mod evdo;
pub(in crate::radio) mod hsdpa;
pub(in crate::radio) mod lte;
pub(in crate::radio) mod nr;
pub(in crate::radio) mod waterfall;
