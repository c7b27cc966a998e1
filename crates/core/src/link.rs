//! A wired link: rate, delay, queue and random loss, each direction on its own.
//!
//! A packet waits for its turn, takes `length / rate` to send and arrives `delay` later, in order. Ends of transmission
//! are computed, not scheduled, unless the queue discipline needs packets to wait one by one (`in_line`). Loss occurs
//! after transmission: a lost packet has used the link.

mod in_line;
mod to_cell;
mod to_core;
mod wire;

use crate::element::{Adopt, Bearer, Cx, Early, Element, Layout, Port, adopt};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::queue::{self, Aqm, Discipline, Place, Verdict};
use crate::rng::{self, Stream, Threshold};
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use crate::umts::CoreNetwork;
use crate::units::{Bitrate, Probability};
use in_line::{Direction, LinkInLine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
pub(crate) use to_cell::join;
use to_core::LinkToCore;
pub(crate) use wire::Wire;

/// A wired link; `uplink` may differ from the downlink.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Rate at IP level; infinite if absent.
    #[schemars(extend("x-changes" = true))]
    pub rate: Option<Bitrate>,
    /// One-way propagation delay.
    #[schemars(extend("x-changes" = true))]
    pub delay: Duration,
    /// Probability that a packet is lost.
    #[schemars(extend("x-changes" = true))]
    pub loss: Probability,
    /// Queue in front of the link; unlimited if absent.
    pub queue: queue::Config,
    /// The uplink, where it differs from the above.
    pub uplink: Option<HalfConfig>,
}

/// One direction of a wired link.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HalfConfig {
    /// Rate at IP level; infinite if absent.
    #[schemars(extend("x-changes" = true))]
    pub rate: Option<Bitrate>,
    /// One-way propagation delay.
    #[schemars(extend("x-changes" = true))]
    pub delay: Duration,
    /// Probability that a packet is lost.
    #[schemars(extend("x-changes" = true))]
    pub loss: Probability,
    /// Queue in front of the link; unlimited if absent.
    pub queue: queue::Config,
}

impl Config {
    /// Parameters of one direction.
    pub fn half(&self, dir: Dir) -> HalfConfig {
        match (dir, &self.uplink) {
            (Dir::Uplink, Some(uplink)) => uplink.clone(),
            _ => {
                let queue = self.queue.clone();
                HalfConfig { rate: self.rate, delay: self.delay, loss: self.loss, queue }
            }
        }
    }

    /// Makes the link; its random streams are named after `name`.
    pub fn build(&self, run_seed: u64, name: &str) -> Box<dyn Element> {
        self.build_for(run_seed, name, false)
    }

    /// Like `build`. If the link may change, packets are queued individually, so a new rate also applies to queued
    /// packets.
    pub(crate) fn build_for(&self, run_seed: u64, name: &str, may_change: bool) -> Box<dyn Element> {
        let halves = self.halves(run_seed, name);
        let in_line = Dir::BOTH.map(|dir| {
            let half = self.half(dir);
            half.waits_in_line() || (may_change && half.rate.is_some())
        });
        if in_line == [false; 2] && !may_change {
            return Box::new(Link { halves });
        }
        let mut in_line = in_line.into_iter();
        let directions = halves.map(|half| Direction::new(half, in_line.next().unwrap_or_default()));
        Box::new(LinkInLine { directions })
    }

    /// Builds the link merged with the UMTS core network at its end towards the UEs.
    pub fn build_to(&self, core: CoreNetwork, run_seed: u64, name: &str) -> Box<dyn Element> {
        Box::new(LinkToCore { halves: self.halves(run_seed, name), core })
    }

    fn halves(&self, run_seed: u64, name: &str) -> [Half; 2] {
        Dir::BOTH.map(|dir| Half::new(&self.half(dir), run_seed, name, dir))
    }
}

impl HalfConfig {
    /// Refuses a queue that lets nothing pass.
    pub fn validate_queue(&self) -> Result<(), ScenarioError> {
        self.queue.validate()
    }

    /// Refuses a queue that packets leave one by one, where a packet's way on to the core network is computed when it
    /// comes.
    pub(crate) fn check_to_core(&self) -> Result<(), ScenarioError> {
        if !self.waits_in_line() {
            return Ok(());
        }
        let message =
            "packets leave it one by one, and with [umts] the times of each are fixed when it comes";
        let others = queue::Config::defaults().into_iter().filter(|queue| !queue.needs_line());
        let others: Vec<_> = others.map(|queue| format!("queue.{}", queue.name())).collect();
        let hint = format!("choose {}, or put it into a bearer of the cell", others.join(" or "));
        Err(ScenarioError::new(self.queue.name(), message, hint))
    }

    /// Nothing waits for a link of infinite rate.
    fn waits_in_line(&self) -> bool {
        self.rate.is_some() && self.queue.needs_line()
    }
}

struct Half {
    dir: Dir,
    /// Nothing waits for a link of infinite rate.
    is_infinite: bool,
    delay: Duration,
    is_lossy: bool,
    loss: Threshold,
    stream: Stream,
    queue: Discipline,
    accounting: Bearer,
    packets: u64,
    bytes: u64,
}

impl Half {
    fn new(config: &HalfConfig, run_seed: u64, name: &str, dir: Dir) -> Self {
        Self {
            dir,
            is_infinite: config.rate.is_none(),
            delay: config.delay,
            is_lossy: config.loss > Probability::ZERO,
            loss: Threshold::from(config.loss),
            stream: rng::stream(run_seed, &format!("{name}.{}.loss", dir.name())),
            queue: config.queue.build(&Place {
                run_seed,
                name: &format!("{name}.{}.queue", dir.name()),
                rate: config.rate.unwrap_or_default(),
                tti: Duration::ZERO,
            }),
            accounting: Bearer::new(config.rate.unwrap_or_default(), false),
            packets: 0,
            bytes: 0,
        }
    }

    /// Takes over rate, delay, loss and limits of a direction with other parameters, or its random streams; returns whether
    /// one differs, or whether it draws at random.
    #[cold]
    fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        let rate = fresh.accounting.rate();
        let mut differs = self.queue.adopt(fresh.queue, how) | (rate != self.accounting.rate());
        differs |= adopt(&mut self.delay, fresh.delay) | adopt(&mut self.loss, fresh.loss);
        self.is_lossy = fresh.is_lossy;
        self.accounting.set_terms(rate, None);
        if how == Adopt::Streams && self.is_lossy {
            differs |= rng::renew([&mut self.stream], [fresh.stream]);
        }
        differs
    }

    /// Each direction is on its own. Early packets must leave later than they came.
    fn early(&self) -> Early {
        if self.is_infinite && self.delay.is_zero() { Early::Never } else { Early::OfAll }
    }
}

impl Half {
    /// A packet reaches the link at `at`, now or later, not before the previous one. Returns its arrival time, or
    /// `None` if it is dropped.
    #[inline(always)]
    fn pass(
        &mut self,
        cx: &mut Cx<'_>,
        at: Instant,
        mut packet: Box<Packet>,
    ) -> Option<(Instant, Box<Packet>)> {
        let mut sent = at;
        if !self.is_infinite {
            self.accounting.settle(at);
            if !self.queue.has_room(&packet, &self.accounting) {
                packet = self.ask(cx, at, packet)?;
            }
            sent = self.accounting.transmit(at, &packet);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if self.is_lossy && self.stream.chance(self.loss) {
            return self.drop(cx, packet, Reason::LinkLoss);
        }
        Some((sent + self.delay, packet))
    }

    /// Lets the queue discipline decide on a packet; the buffer accounting is settled.
    #[inline(never)]
    fn ask(&mut self, cx: &mut Cx<'_>, at: Instant, mut packet: Box<Packet>) -> Option<Box<Packet>> {
        match self.queue.admit(at, &packet, &self.accounting) {
            Verdict::Enter => {}
            Verdict::Mark => {
                packet.mark();
                cx.note_marked(self.dir, &packet, cx.now);
            }
            Verdict::Drop(reason) => return self.drop(cx, packet, reason),
            // Nothing can be taken out here: see `in_line`.
            Verdict::DropWaiting => return self.drop(cx, packet, Reason::EarlyDrop),
        }
        Some(packet)
    }

    #[cold]
    fn drop<T>(&self, cx: &mut Cx<'_>, packet: Box<Packet>, reason: Reason) -> Option<T> {
        cx.drop(self.dir, packet, reason);
        None
    }
}

struct Link {
    halves: [Half; 2],
}

impl Element for Link {
    fn layout(&self) -> Layout {
        layout_of(&self.halves)
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let half = &mut self.halves[dir.index()];
        let Some((at, packet)) = half.pass(cx, cx.now, packet) else { return };
        cx.emit_at(at, dir.index() as u32, packet);
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        report(&self.halves, cx)
    }
}

/// The layout of a link: a lane in each direction.
fn layout_of(halves: &[Half; 2]) -> Layout {
    let ahead = halves.each_ref().map(|half| half.delay);
    let early = halves.each_ref().map(Half::early);
    let lanes = Dir::BOTH.to_vec();
    Layout { lanes, ahead, passes_on: true, early, by_lanes: [true; 2], ..Layout::default() }
}

/// The report of one that drops packets for itself alone.
fn report(halves: &[Half; 2], cx: &Cx<'_>) -> serde_json::Value {
    report_of(halves.each_ref(), cx.dropped(Reason::QueueFull), cx.dropped(Reason::LinkLoss))
}

fn report_of(halves: [&Half; 2], dropped_queue_full: u64, dropped_loss: u64) -> serde_json::Value {
    let [downlink, uplink] =
        halves.map(|half| json!({ "packets_sent": half.packets, "bytes_sent": half.bytes }));
    json!({
        "element": "link",
        "downlink": downlink,
        "uplink": uplink,
        "dropped_queue_full": dropped_queue_full,
        "dropped_loss": dropped_loss,
    })
}
