//! Losses above the link layer: random packet drops, single or in bursts.
//!
//! At the UE the box drops packets that have already crossed the radio, as a terminal with too little memory does, or a
//! link layer that repairs nothing. In the network it drops packets before or after the radio, depending on their
//! direction. A dropped packet has used all elements before the box and none after it. All packets are treated alike,
//! regardless of their content.
//!
//! With `burst` at its default of one packet, drops are independent of each other. Longer bursts come from a chain with
//! two states (Gilbert 1960): the bad state drops each packet, the good one none. The length of both is geometric in
//! packets: the bad state lasts `burst` on average, and the good one long enough for a loss rate of `loss`.

use super::{Around, Component, Place, Plan};
use crate::element::{Adopt, Change, Cx, Early, Element, Layout, Port, adopt, as_same};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::rng::{self, Stream, Threshold};
use crate::trace::Reason;
use crate::units::Probability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Drops packets at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Location of the box.
    pub at: Place,
    /// Packets towards the UE.
    pub downlink: Losses,
    /// Packets from the UE.
    pub uplink: Losses,
}

/// Losses of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Losses {
    /// Share of the packets that is dropped.
    #[schemars(extend("x-changes" = true))]
    pub loss: Probability,
    /// Mean number of consecutive dropped packets; 1 for independent drops.
    #[schemars(extend("x-changes" = true))]
    pub burst: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { at: Place::Ue, downlink: Losses::default(), uplink: Losses::default() }
    }
}

impl Default for Losses {
    fn default() -> Self {
        Self { loss: Probability::ZERO, burst: 1.0 }
    }
}

impl Component for Config {
    fn follows_connections(&self) -> bool {
        false
    }

    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let half = |dir: Dir, losses: &Losses| {
            let name = format!("middlebox{}.{}.packet_loss", plan.number, dir.name());
            Half::new(losses, rng::stream(plan.run_seed, &name))
        };
        let halves = [half(Dir::Downlink, &self.downlink), half(Dir::Uplink, &self.uplink)];
        Box::new(PacketLoss { halves })
    }

    fn place(&self) -> Place {
        self.at
    }

    fn validate(&self, _around: &Around<'_>) -> Result<(), ScenarioError> {
        self.downlink.validate().map_err(|inner| inner.under("downlink"))?;
        self.uplink.validate().map_err(|inner| inner.under("uplink"))
    }
}

impl Losses {
    fn validate(&self) -> Result<(), ScenarioError> {
        let (loss, burst) = (self.loss.as_f64(), self.burst);
        if !(1.0..=1e9).contains(&burst) {
            let message = format!("{burst} packets in a row");
            return Err(ScenarioError::new("burst", message, "write a mean of at least 1, up to 1e9"));
        }
        // A good state lasts for a packet at least.
        if burst > 1.0 && loss > burst / (burst + 1.0) {
            let message = format!("bursts of {burst} packets on average cannot make up {}", self.loss);
            let hint = "write at most burst / (burst + 1), or longer bursts";
            return Err(ScenarioError::new("loss", message, hint));
        }
        Ok(())
    }
}

/// One direction.
struct Half {
    drops: Drops,
    stream: Stream,
    packets: u64,
    dropped: u64,
}

/// Which packet is dropped.
#[derive(PartialEq)]
enum Drops {
    Alone(Threshold),
    InBursts { begins: Threshold, ends: Threshold, is_bad: bool },
}

impl Half {
    fn new(losses: &Losses, stream: Stream) -> Self {
        let (loss, burst) = (losses.loss.as_f64(), losses.burst);
        let threshold = |p: f64| Threshold::from(Probability::new(p).unwrap_or_default());
        let drops = if burst > 1.0 {
            let begins = threshold(loss / (burst * (1.0 - loss)));
            Drops::InBursts { begins, ends: threshold(1.0 / burst), is_bad: false }
        } else {
            Drops::Alone(Threshold::from(losses.loss))
        };
        Self { drops, stream, packets: 0, dropped: 0 }
    }

    /// Takes over the losses of a direction with others, or its random stream; returns whether the losses differ. A burst
    /// ends.
    #[cold]
    fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        if how == Adopt::Streams {
            return rng::renew([&mut self.stream], [fresh.stream]);
        }
        if let Drops::InBursts { is_bad, .. } = &mut self.drops {
            *is_bad = false;
        }
        adopt(&mut self.drops, fresh.drops)
    }

    fn drops_next(&mut self) -> bool {
        self.packets += 1;
        let is_dropped = match &mut self.drops {
            Drops::Alone(loss) => self.stream.chance(*loss),
            Drops::InBursts { begins, ends, is_bad } => {
                let changes = self.stream.chance(if *is_bad { *ends } else { *begins });
                *is_bad ^= changes;
                *is_bad
            }
        };
        self.dropped += u64::from(is_dropped);
        is_dropped
    }
}

struct PacketLoss {
    halves: [Half; 2],
}

impl Element for PacketLoss {
    fn layout(&self) -> Layout {
        Layout { passes_on: true, early: [Early::OfAll; 2], ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        if self.halves[dir.index()].drops_next() {
            cx.drop(dir, packet, Reason::LinkLoss);
        } else {
            cx.emit(dir, packet);
        }
    }

    fn handle_change(&mut self, _cx: &mut Cx<'_>, change: Change) -> bool {
        let Change::Fresh(fresh, how) = change else { return false };
        let Some(fresh) = as_same::<Self>(fresh) else { return false };
        let each = self.halves.iter_mut().zip(fresh.halves);
        each.fold(false, |differs, (own, new)| own.adopt(new, how) | differs)
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        let [downlink, uplink] =
            self.halves.each_ref().map(|half| json!({ "packets": half.packets, "dropped": half.dropped }));
        json!({ "element": "middlebox.packet_loss", "downlink": downlink, "uplink": uplink })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_and_bursts(loss: f64, burst: f64) -> (f64, f64) {
        let losses = Losses { loss: Probability::new(loss).unwrap(), burst };
        losses.validate().unwrap();
        let mut half = Half::new(&losses, rng::stream(1, "test"));
        const PACKETS: u32 = 1_000_000;
        let (mut dropped, mut bursts, mut before) = (0_u32, 0_u32, false);
        for _ in 0..PACKETS {
            let now = half.drops_next();
            dropped += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        (f64::from(dropped) / f64::from(PACKETS), f64::from(dropped) / f64::from(bursts))
    }

    /// A million packets. The number of bursts is nearly that of independent trials, and the length of a burst is
    /// geometric: standard deviations of about sqrt(2 b p (1 - p) / n) for the share p in bursts of b, and of sqrt(b (b
    /// - 1) / (n p / b)) for the mean burst. Five of each are allowed.
    #[test]
    fn drops_come_as_often_and_in_such_bursts_as_the_scenario_says() {
        for (loss, burst) in [(0.05, 1.0), (0.2, 1.0), (0.1, 4.0), (0.02, 2.5), (0.5, 1.5)] {
            let (share, mean) = share_and_bursts(loss, burst);
            // Independent drops also form runs, of 1 / (1 - loss) on average.
            let expected = if burst > 1.0 { burst } else { 1.0 / (1.0 - loss) };
            let of_share = (2.0 * expected * loss * (1.0 - loss) / 1e6).sqrt();
            assert!((share - loss).abs() < 5.0 * of_share, "{share} for {loss}");
            let of_mean = (expected * (expected - 1.0) * expected / (1e6 * loss)).sqrt();
            assert!((mean - expected).abs() < 5.0 * of_mean, "{mean} for {expected}");
        }
    }

    #[test]
    fn bursts_that_leave_no_packet_between_them_are_refused() {
        let losses = |loss, burst| Losses { loss: Probability::new(loss).unwrap(), burst };
        for wrong in [losses(0.1, 0.5), losses(0.1, f64::NAN), losses(0.9, 4.0), losses(1.0, 2.0)] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
        for right in [losses(0.0, 1.0), losses(1.0, 1.0), losses(0.8, 4.0), losses(0.3, 1.0)] {
            assert!(right.validate().is_ok(), "{right:?}");
        }
    }
}
