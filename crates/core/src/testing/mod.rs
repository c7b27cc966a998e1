//! Test support, compiled with the feature `testing`.

pub mod beside;
mod line;
pub mod script;
mod state;
