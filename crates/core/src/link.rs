//! A wired link: rate, delay, queue and random loss, each direction on its own.
//!
//! A packet waits for its turn, takes `length / rate` to send and arrives `delay` later, in order.
//! Ends of transmission are computed, not scheduled. Loss strikes after transmission: a lost packet
//! has used the link.

use crate::element::{Bearer, Cx, Element, Layout};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::queue::{self, Aqm, Discipline, Verdict};
use crate::rng::{self, Stream, Threshold};
use crate::time::Duration;
use crate::trace::Reason;
use crate::units::{Bitrate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A wired link; `uplink` may differ from the downlink.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Rate at IP level; infinite if absent.
    pub rate: Option<Bitrate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost.
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
    pub rate: Option<Bitrate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Probability that a packet is lost.
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
        Box::new(Link { halves: Dir::BOTH.map(|dir| Half::new(&self.half(dir), run_seed, name, dir)) })
    }
}

impl HalfConfig {
    /// Refuses a queue that lets nothing pass, or that drops what waits.
    ///
    /// # Errors
    /// Names the key below `queue`, what is wrong, and what would be right.
    pub fn validate_queue(&self) -> Result<(), ScenarioError> {
        self.queue.validate()?;
        self.queue.check_sent_whole("choose queue.red or queue.droptail; pdpc is for the buffer of a bearer")
    }
}

struct Half {
    /// Nothing waits for a link of infinite rate.
    is_infinite: bool,
    delay: Duration,
    is_lossy: bool,
    loss: Threshold,
    stream: Stream,
    queue: Discipline,
    books: Bearer,
    packets: u64,
    bytes: u64,
}

impl Half {
    fn new(config: &HalfConfig, run_seed: u64, name: &str, dir: Dir) -> Self {
        Self {
            is_infinite: config.rate.is_none(),
            delay: config.delay,
            is_lossy: config.loss > Probability::ZERO,
            loss: Threshold::from(config.loss),
            stream: rng::stream(run_seed, &format!("{name}.{}.loss", dir.name())),
            queue: config.queue.build(run_seed, &format!("{name}.{}.queue", dir.name())),
            books: Bearer::new(config.rate.unwrap_or_default(), false),
            packets: 0,
            bytes: 0,
        }
    }
}

struct Link {
    halves: [Half; 2],
}

impl Element for Link {
    fn layout(&self) -> Layout {
        Layout { lanes: Dir::BOTH.to_vec(), ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, dir: Dir, mut packet: Box<Packet>) {
        let half = &mut self.halves[dir.index()];
        let mut sent = cx.now;
        if !half.is_infinite {
            half.books.settle(cx.now);
            match half.queue.admit(cx.now, &mut packet, &half.books) {
                Verdict::Enter => {}
                Verdict::Drop(reason) => return cx.drop(packet, reason),
                // Nothing can be taken out: see `HalfConfig::validate_queue`.
                Verdict::DropWaiting => return cx.drop(packet, Reason::EarlyDrop),
            }
            sent = half.books.transmit(cx.now, &packet);
        }
        half.packets += 1;
        half.bytes += u64::from(packet.len);
        if half.is_lossy && half.stream.chance(half.loss) {
            return cx.drop(packet, Reason::LinkLoss);
        }
        cx.emit_at(sent + half.delay, dir.index() as u32, packet);
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let [downlink, uplink] = self
            .halves
            .each_ref()
            .map(|half| json!({ "packets_sent": half.packets, "bytes_sent": half.bytes }));
        json!({
            "element": "link",
            "downlink": downlink,
            "uplink": uplink,
            "dropped_queue_full": cx.dropped(Reason::QueueFull),
            "dropped_loss": cx.dropped(Reason::LinkLoss),
        })
    }
}
