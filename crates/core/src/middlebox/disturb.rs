//! A network that misbehaves: it loses, corrupts, duplicates and reorders packets.
//!
//! IP promises nothing else (RFC 791 (1.4), RFC 8200), and TCP has to cope with all of this; this box is for tests of
//! endpoints, and for studies of reordering. Each packet is lost with one probability; if not, it is duplicated with
//! another, and each copy is held for a time with a third while later packets pass. A corrupted packet has a flipped bit in what
//! the checksum of TCP or UDP covers: boxes forward it, and the receiving host drops it (RFC 9293 (3.1), MUST-3). A
//! flip that the checksum does not notice is left out. All random draws are made for every packet, so changing one
//! probability does not affect which packets the others select; those of corruption have a stream of their own.

use super::{Around, Component, Place, Plan};
use crate::element::{Adopt, Change, Cx, Element, Layout, Port, as_same};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::rng::{self, Stream, Threshold};
use crate::time::Duration;
use crate::trace::Reason;
use crate::units::Probability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Loses, corrupts, duplicates and reorders packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Location of the box.
    pub at: Place,
    /// Packets towards the UE.
    pub downlink: Disturbance,
    /// Packets from the UE.
    pub uplink: Disturbance,
}

/// Disturbance of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Disturbance {
    /// Share of the packets that is dropped.
    pub loss: Probability,
    /// Share of the others whose bit is flipped; the host that receives such a packet drops it.
    pub corrupt: Probability,
    /// Share of the others that is sent twice.
    pub duplicate: Probability,
    /// Share of the packets sent that is held, so that later packets overtake them.
    pub reorder: Probability,
    /// Time for which a packet is held.
    pub hold: Duration,
}

impl Default for Disturbance {
    fn default() -> Self {
        let never = Probability::ZERO;
        Self {
            loss: never,
            corrupt: never,
            duplicate: never,
            reorder: never,
            hold: Duration::from_millis(20),
        }
    }
}

impl Component for Config {
    fn follows_connections(&self) -> bool {
        false
    }

    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let half = |dir: Dir, disturbance: &Disturbance| {
            let name = format!("middlebox{}.{}.disturb", plan.number, dir.name());
            let bits = rng::stream(plan.run_seed, &format!("{name}.bits"));
            Half::new(disturbance, rng::stream(plan.run_seed, &name), bits)
        };
        Box::new(Disturb { halves: [half(Dir::Downlink, &self.downlink), half(Dir::Uplink, &self.uplink)] })
    }

    fn place(&self) -> Place {
        self.at
    }

    fn validate(&self, _around: &Around<'_>) -> Result<(), ScenarioError> {
        self.downlink.validate().map_err(|inner| inner.under("downlink"))?;
        self.uplink.validate().map_err(|inner| inner.under("uplink"))
    }
}

impl Disturbance {
    fn validate(&self) -> Result<(), ScenarioError> {
        if self.hold > LONGEST_HOLD {
            let message = format!("packets that are held for {}", self.hold);
            return Err(ScenarioError::new("hold", message, "write at most \"10 s\""));
        }
        Ok(())
    }
}

/// Bound on the hold time: older packets are of no use to any receiver.
const LONGEST_HOLD: Duration = Duration::from_secs(10);

/// One direction.
struct Half {
    loss: Threshold,
    corrupt: Threshold,
    duplicate: Threshold,
    reorder: Threshold,
    hold: Duration,
    stream: Stream,
    /// Which packets are corrupted, and where.
    bits: Stream,
    counts: Counts,
}

/// Counters of one direction, as reported.
#[derive(Default, Serialize)]
struct Counts {
    packets: u64,
    dropped: u64,
    /// Absent while nothing is corrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    corrupted: Option<u64>,
    duplicated: u64,
    held: u64,
}

impl Half {
    fn new(disturbance: &Disturbance, stream: Stream, bits: Stream) -> Self {
        let Disturbance { loss, corrupt, duplicate, reorder, hold } = *disturbance;
        let counts = Counts { corrupted: (corrupt > Probability::ZERO).then_some(0), ..Counts::default() };
        let [loss, corrupt, duplicate, reorder] = [loss, corrupt, duplicate, reorder].map(Threshold::from);
        Self { loss, corrupt, duplicate, reorder, hold, stream, bits, counts }
    }

    fn send(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>, is_held: bool) {
        if is_held {
            self.counts.held += 1;
            cx.emit_at(cx.now + self.hold, dir.index() as u32, packet);
        } else {
            cx.emit(dir, packet);
        }
    }
}

struct Disturb {
    halves: [Half; 2],
}

impl Element for Disturb {
    fn layout(&self) -> Layout {
        Layout { lanes: Dir::BOTH.to_vec(), ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        let half = &mut self.halves[dir.index()];
        half.counts.packets += 1;
        let is_lost = half.stream.chance(half.loss);
        let is_sent_twice = half.stream.chance(half.duplicate);
        let [is_held, is_copy_held] = [(); 2].map(|()| half.stream.chance(half.reorder));
        if is_lost {
            half.counts.dropped += 1;
            return cx.drop(dir, packet, Reason::LinkLoss);
        }
        if let Some(corrupted) = &mut half.counts.corrupted
            && half.bits.chance(half.corrupt)
        {
            *corrupted += 1;
            packet.corrupt(half.bits.next_u64());
        }
        let copy = is_sent_twice.then(|| {
            let mut copy = cx.packet();
            copy.clone_from(&packet);
            cx.number(&mut copy);
            copy
        });
        half.send(cx, dir, packet, is_held);
        if let Some(copy) = copy {
            half.counts.duplicated += 1;
            half.send(cx, dir, copy, is_copy_held);
        }
    }

    fn handle_change(&mut self, _cx: &mut Cx<'_>, change: Change) -> bool {
        let Change::Fresh(fresh, Adopt::Streams) = change else { return false };
        let Some(fresh) = as_same::<Self>(fresh) else { return false };
        let each = self.halves.iter_mut().zip(fresh.halves);
        each.fold(false, |renewed, (own, new)| {
            rng::renew([&mut own.stream, &mut own.bits], [new.stream, new.bits]) | renewed
        })
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        let [downlink, uplink] = self.halves.each_ref().map(|half| &half.counts);
        json!({ "element": "middlebox.disturb", "downlink": downlink, "uplink": uplink })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middlebox::validate_alone;
    use crate::path::Path;
    use crate::time::Instant;
    use crate::trace::ProbeMask;

    /// Output order of the sequence numbers of packets sent a millisecond apart.
    fn through(disturbance: Disturbance, packets: u32) -> Vec<u32> {
        let config = Config { downlink: disturbance, ..Config::default() };
        validate_alone(&config).unwrap();
        let mut path = Path::new(vec![config.build(&Plan::of(1, &[]))], ProbeMask::NONE);
        let mut out = Vec::new();
        for seq in 0..packets {
            let mut packet = path.packet();
            packet.seq = seq;
            path.handle_packet(Instant::from_nanos(u64::from(seq) * 1_000_000), Dir::Downlink, packet);
            out.extend(std::iter::from_fn(|| path.poll_output()).map(|(_, _, left)| left.seq));
        }
        path.handle_timeout(Instant::NEVER);
        out.extend(std::iter::from_fn(|| path.poll_output()).map(|(_, _, left)| left.seq));
        out
    }

    fn share(percent: f64) -> Probability {
        Probability::new(percent / 100.0).unwrap()
    }

    #[test]
    fn by_itself_it_does_nothing() {
        assert_eq!(through(Disturbance::default(), 100), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn always_is_always() {
        let lost = through(Disturbance { loss: share(100.0), ..Disturbance::default() }, 10);
        assert_eq!(lost, [0; 0]);
        let twice = through(Disturbance { duplicate: share(100.0), ..Disturbance::default() }, 3);
        assert_eq!(twice, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn what_is_held_comes_behind_what_was_sent_meanwhile() {
        let hold = Duration::from_millis(3);
        let out = through(Disturbance { reorder: share(30.0), hold, ..Disturbance::default() }, 1000);
        assert_eq!(out.len(), 1000);
        // A held packet leaves before a packet sent at the same instant arrives: two overtake it.
        let late = out.iter().enumerate().filter(|(at, seq)| *at as u32 > **seq).count();
        let held = out.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!((200..400).contains(&late) && held > 100, "{late} {held}");
        assert!(out.iter().enumerate().all(|(at, seq)| (at as i64 - i64::from(*seq)).abs() <= 3));
    }

    #[test]
    fn a_packet_that_is_held_for_ever_is_refused() {
        let disturbance = Disturbance { hold: Duration::from_secs(11), ..Disturbance::default() };
        let error = validate_alone(&Config { uplink: disturbance, ..Config::default() }).unwrap_err();
        assert_eq!(error.path, "uplink.hold");
    }
}
