//! Measurements of the path for congestion controls that model it.

use crate::tcp::window::validation::WindowUse;
use crate::tcp::{Config, Meter};
use crate::time::Instant;

/// What is measured for a control that models the path.
#[derive(Default)]
pub struct Measured {
    /// Delivery rates.
    pub meter: Meter,
    /// How much of the window is used, if the control looks at that.
    pub used: Option<WindowUse>,
    /// In flight before the present ACK, bytes.
    pub prior_in_flight: u64,
    /// Packets in flight sent so far.
    pub packets: u64,
}

impl Measured {
    /// If the congestion control models the path.
    pub fn of(config: &Config) -> Option<Box<Self>> {
        let measured = || Box::new(Self { used: WindowUse::of(config), ..Self::default() });
        config.cc.models_path().then(measured)
    }

    /// A packet of which `end` is the end offset is sent; `before` bytes were in flight.
    pub fn on_sent(&mut self, now: Instant, end: u64, before: u64, bytes: u64) {
        self.packets += 1;
        self.meter.on_sent(now, end, true, before == 0, before + bytes);
    }
}
