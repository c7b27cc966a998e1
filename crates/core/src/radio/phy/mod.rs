//! Physical layers: how many bits fit in a slot for each SINR, and how probably a block is lost.

pub mod air;
pub mod evdo;
pub(in crate::radio) mod hsdpa;
pub(in crate::radio) mod lte;
pub(in crate::radio) mod nr;
pub(in crate::radio) mod waterfall;
