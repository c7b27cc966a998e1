//! Test support, compiled with the feature `testing`.

mod line;
pub mod script;
mod state;
