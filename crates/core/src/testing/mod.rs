//! Test support, compiled with the feature `testing`.

pub mod script;
mod state;
