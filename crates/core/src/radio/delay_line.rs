//! The path after the transmitter of a bearer, with a variable delay per packet: in order, or with
//! overtaking.
//!
//! In order, a packet arrives after its own delay or with the packet before it, whichever is later
//! (\[chan2002\] 6.1). A lane of the path, whose times never decrease, holds these packets. Packets that may
//! overtake each other are stored in an ordered map, with a timer for the first.

use crate::channel::Order;
use crate::element::Cx;
use crate::packet::{Dir, Packet};
use crate::time::{Duration, Instant};
use std::collections::BTreeMap;

/// The delay line of one direction of a bearer.
pub(super) struct DelayLine {
    lane: u32,
    /// Latest arrival so far, on a line that preserves order.
    last: Instant,
    overtaking: Option<Overtaking>,
    packets: u64,
    delays_ns: u128,
}

struct Overtaking {
    timer: u32,
    dir: Dir,
    /// Packets in transit by arrival time; packets that arrive together stay in order of transmission.
    in_transit: BTreeMap<(Instant, u64), Box<Packet>>,
}

impl DelayLine {
    /// A line that leads to `lane`, or, with free order, in direction `dir` with its own timer.
    pub fn new(order: Order, lane: u32, timer: u32, dir: Dir) -> Self {
        let overtaking = match order {
            Order::Kept => None,
            Order::Free => Some(Overtaking { timer, dir, in_transit: BTreeMap::new() }),
        };
        Self { lane, last: Instant::ZERO, overtaking, packets: 0, delays_ns: 0 }
    }

    /// Whether no packet overtakes another.
    pub fn keeps_order(&self) -> bool {
        self.overtaking.is_none()
    }

    /// Arrival time of a packet whose last bit is sent at `end`. Called once per packet, in the order of
    /// these times.
    #[inline]
    pub fn arrival(&mut self, end: Instant, delay: Duration) -> Instant {
        let own = end + delay;
        let at = if self.overtaking.is_none() { own.max(self.last) } else { own };
        self.last = at;
        self.packets += 1;
        self.delays_ns += u128::from(at.since(end).as_nanos());
        at
    }

    /// Inserts a packet that arrives at `at`, now or before the end of its transmission.
    #[inline]
    pub fn put(&mut self, cx: &mut Cx<'_>, at: Instant, packet: Box<Packet>) {
        match &mut self.overtaking {
            None => cx.emit_at(at, self.lane, packet),
            Some(overtaking) => {
                overtaking.in_transit.insert((at, self.packets), packet);
                overtaking.await_first(cx);
            }
        }
    }

    /// The timer of a line with free order: the first packet arrives, and all that arrive with it.
    pub fn handle_timer(&mut self, cx: &mut Cx<'_>) {
        let Some(overtaking) = &mut self.overtaking else { return };
        while let Some(first) = overtaking.in_transit.first_entry().filter(|first| first.key().0 <= cx.now) {
            cx.emit(overtaking.dir, first.remove());
        }
        overtaking.await_first(cx);
    }

    /// Mean time from the end of a transmission to the arrival, over all packets inserted.
    pub fn mean_delay_ms(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays_ns as f64 / self.packets as f64 / 1e6)
    }
}

impl Overtaking {
    fn await_first(&self, cx: &mut Cx<'_>) {
        if let Some(((at, _), _)) = self.in_transit.first_key_value() {
            cx.arm(self.timer, *at);
        }
    }
}
