//! PDPC, the Packet Discard Prevention Counter: one drop when the buffer has grown to a threshold, and then none until
//! as much has left the buffer as was in it.
//!
//! The drop makes the source of a TCP flow halve its window, and the counter prevents a second one in the same window.
//! Nothing is random, and nothing is averaged. Source: J. J. Alcaraz and F. Cerdan, "Combining ACK Rate Control and AQM
//! to Enhance TCP Performance over 3G Links", PM2HW2N 2006, section 3.2 and Figure 3; the paper credits PDPC to the
//! authors of its reference \[5\].
//!
//! ```text
//! an SDU comes:         if BO >= max_threshold and Counter = 0: drop an SDU, Counter = BO
//! an SDU is delivered:  Counter = max(Counter - its size, 0)
//! ```
//!
//! The victim is the first unsent SDU, so the source learns of the loss as early as possible and the link layer need
//! not discard anything. If the transmission of every SDU has started, the arriving one is dropped. It is also dropped
//! beyond `packets` or `bytes`, regardless of the counter, which then stays unchanged. Boxes may read the counter
//! ([`crate::element::BearerView::discard_counter`]); ACK rate control does while it is above zero.
//!
//! The paper leaves open, and an option decides:
//!
//! * which SDUs BO counts (`occupancy`): all until they leave the buffer, with RLC in acknowledged mode until they are
//!   acknowledged, as in its section 2, or only unsent SDUs;
//! * whether BO counts the arriving SDU (`arriving`). ASSUMED: it does; "as soon as the queue length equals maxth" and
//!   "generally maxth" for the counter then both hold;
//! * in what `Counter` counts (`counter`): BO is in SDUs, but the counter is decremented in bytes. ASSUMED:
//!   bytes;
//! * how the counter fits several flows (`counter_start`): it represents the window of one flow, which equals BO if
//!   there is no other flow; the paper finds BO accurate and warns of more.

use super::droptail::{self, Droptail};
use super::{Aqm, Component, Departed, Discipline, Place, Verdict};
use crate::element::Bearer;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::time::Instant;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One drop at a threshold, then none until the buffer's content at the drop has been delivered: PDPC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// At most this many packets; unlimited if absent.
    pub packets: Option<u32>,
    /// At most this many bytes; unlimited if absent.
    pub bytes: Option<Bytes>,
    /// Occupancy in packets that triggers a drop (`maxth`).
    pub max_threshold: u32,
    /// Packets that count for the threshold and the counter.
    pub occupancy: Occupancy,
    /// Whether the arriving packet counts for the threshold.
    pub arriving: Arriving,
    /// Unit of the counter.
    pub counter: CounterUnit,
    /// The counter starts at this multiple of the buffer's contents at the drop.
    pub counter_start: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packets: None,
            bytes: None,
            max_threshold: 30,
            occupancy: Occupancy::default(),
            arriving: Arriving::default(),
            counter: CounterUnit::default(),
            counter_start: 1.0,
        }
    }
}

/// Packets of the buffer that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Occupancy {
    /// All that have not been delivered.
    #[default]
    Unacked,
    /// SDUs whose transmission has not started.
    Untransmitted,
}

/// Whether the arriving packet counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arriving {
    /// It counts as if it were already in the buffer.
    #[default]
    Counted,
    /// Restores the buffer.
    Excluded,
}

/// Unit of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CounterUnit {
    /// Bytes of packets.
    #[default]
    Bytes,
    /// Packets.
    Packets,
}

impl Config {
    fn limit(&self) -> droptail::Config {
        droptail::Config { packets: self.packets, bytes: self.bytes, ..droptail::Config::default() }
    }

    fn in_use(&self) -> Pdpc {
        Pdpc { config: self.clone(), limit: self.limit().in_use(), counter: 0 }
    }
}

impl Component for Config {
    fn build(&self, _place: &Place<'_>) -> Discipline {
        Discipline::Other(Box::new(self.in_use()))
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        (self.packets, self.bytes)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.max_threshold == 0 {
            let message = "an empty buffer would be too full";
            return Err(ScenarioError::new("max_threshold", message, "write at least 1, such as 30"));
        }
        if !(self.counter_start.is_finite() && self.counter_start > 0.0) {
            let message =
                format!("a counter that starts at {} times BO prevents no drop", self.counter_start);
            return Err(ScenarioError::new("counter_start", message, "write a positive number such as 1"));
        }
        self.limit().validate()
    }

    fn needs_line(&self) -> bool {
        true
    }

    fn has_discard_counter(&self) -> bool {
        true
    }
}

struct Pdpc {
    config: Config,
    limit: Droptail,
    /// `Counter`.
    counter: u64,
}

impl Aqm for Pdpc {
    fn admit(&mut self, now: Instant, packet: &Packet, buffer: &Bearer) -> Verdict {
        let (mut sdus, mut bytes) = match self.config.occupancy {
            Occupancy::Unacked => (buffer.sdus(), buffer.bytes()),
            Occupancy::Untransmitted => (buffer.untransmitted_sdus(), buffer.untransmitted_bytes()),
        };
        if self.config.arriving == Arriving::Counted {
            sdus += 1;
            bytes += u64::from(packet.len);
        }
        if self.counter == 0 && sdus >= self.config.max_threshold {
            let held = match self.config.counter {
                CounterUnit::Bytes => bytes,
                CounterUnit::Packets => u64::from(sdus),
            };
            self.counter = (held as f64 * self.config.counter_start).round().max(1.0) as u64;
            return Verdict::DropWaiting;
        }
        self.limit.admit(now, packet, buffer)
    }

    fn handle_departure(&mut self, _now: Instant, gone: Departed, _buffer: &Bearer) {
        if gone.delivered {
            let counted = match self.config.counter {
                CounterUnit::Bytes => u64::from(gone.len),
                CounterUnit::Packets => 1,
            };
            self.counter = self.counter.saturating_sub(counted);
        }
    }

    fn discard_counter(&self) -> u64 {
        self.counter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Reason;
    use crate::units::Bitrate;

    /// A buffer as its owner keeps it: lengths of the packets in it.
    struct Buffer {
        pdpc: Pdpc,
        accounting: Bearer,
        lens: Vec<u32>,
    }

    impl Buffer {
        fn new(config: &Config) -> Self {
            let accounting = Bearer::new(Bitrate::from_bps(1), false);
            Self { pdpc: config.in_use(), accounting, lens: Vec::new() }
        }

        /// A packet arrives. Returns the first verdict.
        fn come(&mut self, len: u32) -> Verdict {
            let packet = Packet { len, ..Packet::default() };
            let mut verdict = self.pdpc.admit(Instant::ZERO, &packet, &self.accounting);
            let first = verdict;
            if verdict == Verdict::DropWaiting && !self.lens.is_empty() {
                let victim = Packet { len: self.lens.remove(0), ..Packet::default() };
                self.accounting.evict(&victim);
                verdict = self.pdpc.admit(Instant::ZERO, &packet, &self.accounting);
            }
            if verdict == Verdict::Enter {
                self.accounting.enter(&packet);
                self.lens.push(len);
            }
            if first == Verdict::DropWaiting { first } else { verdict }
        }

        fn go(&mut self, delivered: bool) {
            let len = self.lens.remove(0);
            self.accounting.start(0, len);
            self.accounting.leave(0, len);
            self.pdpc.handle_departure(Instant::ZERO, Departed { len, delivered }, &self.accounting);
        }
    }

    #[test]
    fn packets_of_which_nothing_was_sent_may_count_alone() {
        let occupancy = Occupancy::Untransmitted;
        let config =
            Config { max_threshold: 2, occupancy, arriving: Arriving::Excluded, ..Config::default() };
        let mut buffer = Buffer::new(&config);
        let lens = [100, 200, 300];
        assert_eq!(lens.map(|len| buffer.come(len)), [Verdict::Enter, Verdict::Enter, Verdict::DropWaiting]);
        let mut sending = Buffer::new(&config);
        for len in lens {
            assert_eq!(sending.come(len), Verdict::Enter);
            sending.accounting.start(0, len);
        }
        // Five are held, and nothing was sent of the last two.
        assert_eq!([400, 500].map(|len| sending.come(len)), [Verdict::Enter, Verdict::Enter]);
        let packet = Packet { len: 600, ..Packet::default() };
        let verdict = sending.pdpc.admit(Instant::ZERO, &packet, &sending.accounting);
        assert_eq!((verdict, sending.pdpc.counter), (Verdict::DropWaiting, 900));
    }

    #[test]
    fn one_drop_at_the_threshold_and_none_until_the_counter_is_used_up() {
        let mut buffer = Buffer::new(&Config { max_threshold: 4, packets: Some(6), ..Config::default() });
        for _ in 0..3 {
            assert_eq!(buffer.come(100), Verdict::Enter);
        }
        // BO is 4 with the one that comes, and Counter 400.
        assert_eq!(buffer.come(100), Verdict::DropWaiting);
        assert_eq!(buffer.lens.len(), 3);
        for _ in 0..3 {
            assert_eq!(buffer.come(100), Verdict::Enter);
        }
        // Beyond the limit, which does not change the counter.
        assert_eq!(buffer.come(100), Verdict::Drop(Reason::QueueFull));
        for _ in 0..3 {
            buffer.go(true);
            assert_eq!(buffer.come(100), Verdict::Enter);
        }
        // A discarded SDU was not delivered.
        buffer.go(false);
        assert_eq!(buffer.come(100), Verdict::Enter);
        buffer.go(true);
        assert_eq!(buffer.come(100), Verdict::DropWaiting);
    }

    #[test]
    fn the_arriving_packet_counts_or_not() {
        let excluded = Config { max_threshold: 4, arriving: Arriving::Excluded, ..Config::default() };
        let mut buffer = Buffer::new(&excluded);
        for _ in 0..4 {
            assert_eq!(buffer.come(100), Verdict::Enter);
        }
        assert_eq!(buffer.come(100), Verdict::DropWaiting);
        // The counter is 400 here too: four more departures.
        for _ in 0..3 {
            buffer.go(true);
            assert_eq!(buffer.come(100), Verdict::Enter);
        }
        buffer.come(100);
        assert_eq!(buffer.come(100), Verdict::Enter);
        buffer.go(true);
        assert_eq!(buffer.come(100), Verdict::DropWaiting);
    }

    #[test]
    fn the_counter_starts_at_a_multiple_of_what_is_in_the_buffer() {
        for (counter_start, expected) in [(1.0, 400), (0.5, 200), (2.0, 800), (0.001, 1)] {
            let mut buffer = Buffer::new(&Config { max_threshold: 4, counter_start, ..Config::default() });
            let verdicts = [100; 4].map(|len| buffer.come(len));
            assert_eq!((verdicts[3], buffer.pdpc.discard_counter()), (Verdict::DropWaiting, expected));
        }
    }

    #[test]
    fn the_counter_is_in_bytes_or_in_packets_and_never_below_zero() {
        for (unit, expected) in
            [(CounterUnit::Bytes, [1200, 600, 100, 0]), (CounterUnit::Packets, [3, 2, 1, 0])]
        {
            let mut buffer = Buffer::new(&Config { max_threshold: 3, counter: unit, ..Config::default() });
            buffer.come(100);
            buffer.come(600);
            assert_eq!(buffer.come(500), Verdict::DropWaiting);
            assert_eq!(buffer.lens, [600, 500]);
            buffer.come(700);
            let mut counters = vec![buffer.pdpc.counter];
            for _ in 0..3 {
                buffer.go(true);
                counters.push(buffer.pdpc.counter);
            }
            assert_eq!(counters, expected, "{unit:?}");
        }
    }
}
