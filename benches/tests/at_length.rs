//! Tests of other crates that repeat too much for a build without optimisation: their names end with `_at_length`.
#![allow(clippy::unwrap_used)]

#[path = "../../crates/core/tests/all/multipath.rs"]
mod multipath;
#[path = "../../crates/core/tests/all/overfull.rs"]
mod overfull;
#[path = "../../crates/live/tests/all/parity.rs"]
mod parity;
#[path = "../../crates/core/tests/all/shared/mod.rs"]
mod shared;
#[path = "../../crates/core/tests/all/windows.rs"]
mod windows;
