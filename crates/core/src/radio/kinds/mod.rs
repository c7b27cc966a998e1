//! Kinds of cells: their parameters, and how each is assembled from the layers.

pub mod dch;
pub mod evdo;
pub mod hsdpa;
pub mod lte;
pub mod nr;
pub mod variable;
