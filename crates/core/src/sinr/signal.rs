//! How strongly a UE receives a cell.

use super::{Mean, Shadowing};

/// RSRP of a cell at a UE over time.
#[derive(Clone)]
pub struct Signal {
    mean: Mean,
    shadowing: Option<Shadowing>,
}

impl Signal {
    pub(crate) fn new(mean: Mean, shadowing: Option<Shadowing>) -> Self {
        Self { mean, shadowing }
    }

    /// At a time, dBm.
    pub fn at(&mut self, time_s: f64) -> f64 {
        let shadow = self.shadowing.as_mut().map_or(0.0, |shadowing| shadowing.at(time_s));
        self.mean.at(time_s) + shadow
    }
}
