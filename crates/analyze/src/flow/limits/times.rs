//! Durations between two new segments of a flow: by the state of the windows, and between ACKs.

/// Time since the latest new data, by the state of the windows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gap {
    /// Nothing was in flight.
    pub idle_s: f64,
    /// Data was in flight, and the receive window had room for a segment.
    pub busy_s: f64,
    /// The receive window had no room for a full segment.
    pub full_s: f64,
    /// The receive window was closed.
    pub closed_s: f64,
}

/// Time between the ACKs of a flight that no new data follows: the rate of the bottleneck determines it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drain {
    total_s: f64,
    longest_s: f64,
    next_s: f64,
}

impl Drain {
    pub fn add(&mut self, gap_s: f64) {
        self.total_s += gap_s;
        self.next_s = self.next_s.max(gap_s.min(self.longest_s));
        self.longest_s = self.longest_s.max(gap_s);
    }

    /// Seconds between the ACKs. A single gap beyond the patience comes from a delayed ACK and counts as the next
    /// longest.
    pub fn seconds(&self, patience_s: f64) -> f64 {
        let excess_s = if self.longest_s > patience_s { self.longest_s - self.next_s } else { 0.0 };
        self.total_s - excess_s
    }
}

impl Gap {
    pub fn total(self) -> f64 {
        self.idle_s + self.busy_s + self.full_s + self.closed_s
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            idle_s: self.idle_s + other.idle_s,
            busy_s: self.busy_s + other.busy_s,
            full_s: self.full_s + other.full_s,
            closed_s: self.closed_s + other.closed_s,
        }
    }
}
