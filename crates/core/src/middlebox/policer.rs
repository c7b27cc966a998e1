//! A policer: a token bucket per UE and direction drops packets above a rate, instead of queueing them.
//!
//! The meter of RFC 2697 with one colour for what conforms: tokens arrive at `rate` up to `burst` bytes; a packet that finds as many
//! tokens as it has bytes takes them and passes, any other is dropped. A tariff's limit is often such a box (T. Flach et al., "An
//! Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016). Left out: the excess bucket (yellow), marking instead of dropping,
//! buckets of single flows.

use super::{Around, Component, Place, Plan};
use crate::element::{Cx, Early, Element, Layout, Port};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::registry::parameters;
use crate::time::Instant;
use crate::trace::Reason;
use crate::units::{Bitrate, Bytes};
use serde_json::json;
use std::collections::BTreeMap;

parameters! {
    /// Drops packets of a UE above a rate: a token bucket without a queue.
    pub struct Config {
        /// Where the box stands.
        pub at: Place = Place::Network,
        /// Packets towards the UE.
        pub downlink: Bucket,
        /// Packets from the UE.
        pub uplink: Bucket,
    }

    /// The token bucket of one direction of a UE.
    #[derive(Copy)]
    pub struct Bucket {
        /// Rate of the IP packets that pass in the long run; no limit if absent.
        pub rate: Option<Bitrate> = None,
        /// Bytes that pass at once after a pause.
        pub burst: Bytes = Bytes::from_bytes(50_000),
    }
}

/// The largest packet of Ethernet: a smaller burst would let none of it pass.
const LEAST_BURST: u64 = 1500;

impl Component for Config {
    fn follows_connections(&self) -> bool {
        false
    }

    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        let half = |bucket: Bucket| Half { bucket, ues: BTreeMap::new(), packets: 0, dropped: 0 };
        Box::new(Policer { halves: [half(self.downlink), half(self.uplink)] })
    }

    fn place(&self) -> Place {
        self.at
    }

    fn validate(&self, _around: &Around<'_>) -> Result<(), ScenarioError> {
        self.downlink.validate().map_err(|inner| inner.under("downlink"))?;
        self.uplink.validate().map_err(|inner| inner.under("uplink"))
    }
}

impl Bucket {
    fn validate(&self) -> Result<(), ScenarioError> {
        if self.rate.is_some_and(|rate| rate.as_bps() == 0) {
            let hint = "write a positive rate such as \"5 Mbit/s\", or remove the key for no limit";
            return Err(ScenarioError::new("rate", "nothing would pass in the long run", hint));
        }
        if self.burst.as_u64() < LEAST_BURST {
            let message = format!("packets of {LEAST_BURST} B never find so many tokens");
            return Err(ScenarioError::new("burst", message, format!("write at least \"{LEAST_BURST} B\"")));
        }
        Ok(())
    }
}

/// One direction.
struct Half {
    bucket: Bucket,
    /// Tokens of each UE, in bits times nanoseconds per second, and when they were counted.
    ues: BTreeMap<u16, (u128, Instant)>,
    packets: u64,
    dropped: u64,
}

impl Half {
    /// Whether a packet of this length conforms; takes its tokens if it does.
    fn conforms(&mut self, now: Instant, ue: u16, len: u32) -> bool {
        self.packets += 1;
        let Some(rate) = self.bucket.rate else { return true };
        // Exact in whole numbers: a bit is 1e9 tokens, and `rate` tokens arrive per nanosecond.
        let full = u128::from(self.bucket.burst.as_u64()) * 8_000_000_000;
        let (tokens, counted) = self.ues.entry(ue).or_insert((full, now));
        let arrived = u128::from(rate.as_bps()) * u128::from(now.since(*counted).as_nanos());
        (*tokens, *counted) = ((*tokens + arrived).min(full), now);
        let needed = u128::from(len) * 8_000_000_000;
        let conforms = *tokens >= needed;
        if conforms {
            *tokens -= needed;
        } else {
            self.dropped += 1;
        }
        conforms
    }
}

struct Policer {
    halves: [Half; 2],
}

impl Element for Policer {
    fn layout(&self) -> Layout {
        Layout { passes_on: true, early: [Early::OfUe; 2], ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir: Dir = port.dir();
        if self.halves[dir.index()].conforms(cx.now, packet.ue, packet.len) {
            cx.emit(dir, packet);
        } else {
            cx.drop(dir, packet, Reason::Policed);
        }
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        let [downlink, uplink] =
            self.halves.each_ref().map(|half| json!({ "packets": half.packets, "dropped": half.dropped }));
        json!({ "element": "middlebox.policer", "downlink": downlink, "uplink": uplink })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn half(rate_bps: u64, burst: u64) -> Half {
        let bucket = Bucket { rate: Some(Bitrate::from_bps(rate_bps)), burst: Bytes::from_bytes(burst) };
        Half { bucket, ues: BTreeMap::new(), packets: 0, dropped: 0 }
    }

    /// By hand: 3000 B at once are two packets of 1500 B; at 1.2 Mbit/s the tokens of one more take 10 ms. Each UE has its own.
    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut half = half(1_200_000, 3000);
        let passes: Vec<bool> =
            [0, 0, 0, 9, 10, 11, 20].iter().map(|ms| half.conforms(at(*ms), 0, 1500)).collect();
        assert_eq!(passes, [true, true, false, false, true, false, true]);
        assert!(
            half.conforms(at(20), 1, 1500)
                && half.conforms(at(20), 1, 1500)
                && !half.conforms(at(20), 1, 1500)
        );
        assert_eq!((half.packets, half.dropped), (10, 4));
    }

    /// Of twice the rate half is dropped: `docs/first-issues.md` had asked for that.
    #[test]
    fn of_twice_the_rate_half_is_dropped() {
        let mut half = half(1_000_000, 10_000);
        (0..20_000).for_each(|n| _ = half.conforms(at(6 * n), 0, 1500));
        let share = half.dropped as f64 / half.packets as f64;
        assert!((share - 0.5).abs() < 0.001, "{share}");
    }

    #[test]
    fn impossible_buckets_are_refused() {
        let wrong = [
            Bucket { rate: Some(Bitrate::from_bps(0)), ..Bucket::default() },
            Bucket { burst: Bytes::from_bytes(1499), ..Bucket::default() },
        ];
        assert!(
            wrong.iter().all(|bucket| bucket.validate().is_err()) && Bucket::default().validate().is_ok()
        );
    }
}
