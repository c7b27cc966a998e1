//! A cell of 1xEV-DO (formerly HDR): all UEs share the forward link, slot by slot, and each has its own
//! uplink.
//!
//! ```text
//! network:  SDU buffer of each UE -> scheduler -> slots at the rate that the UE asks for -> delay -> UE
//! UE:       SDU buffer -> circuit -> delay -> network
//! ```
//!
//! In each slot of 5/3 ms, a UE requests the highest rate that its signal-to-noise ratio, mean times fading,
//! supports ([`rates`](crate::radio::phy::evdo)). IP packets travel in physical-layer packets of the requested rate, sent
//! sequentially; each takes its number of slots without interruption. The room left in a packet's last
//! physical-layer packet is padding, unless `share_slots` is set. With `slots = "plain"` there are no
//! physical-layer packets: each slot carries the rate requested in that slot, as in models that schedule IP
//! packets.
//!
//! Left out: control channel and pilot, hand-over, interleaving of slots, the age of requests. ASSUMED: the
//! loss of a physical-layer packet is detected at once, and its data is retransmitted in the UE's next slots
//! at the rate requested then; the radio link protocol would do so later. Sources: \[chan2002\] 6.4 and 6.5;
//! Bender et al. 2000 (see [`rates`](crate::radio::phy::evdo)).

mod forward;
mod slots;
mod terminal;
mod user;

pub use crate::radio::flow_buffers::Sharing;

use crate::channel::{self, Order};
use crate::distribution;
use crate::each::Each;
use crate::element::{Cx, Early, Element, Layout, Port, bearer_index};
use crate::error::ScenarioError;
use crate::fading;
use crate::packet::{Dir, Packet};
use crate::queue;
use crate::radio::buffer::{cell_layout, cell_report, share};
use crate::radio::mac::fairness::jain_index;
use crate::radio::phy::evdo::{
    PHYSICAL_PACKETS, PLAIN_PARTS, PLAIN_SLOTS, PhysicalPacket, RATES, THRESHOLDS,
};
use crate::radio::variable::{Bearer, BearerConfig};
use crate::radio::{Component, Plan};
use crate::registry::parameters;
use crate::scheduler;
use crate::sinr::{OutagesConfig, ShadowingConfig};
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use crate::units::{Bitrate, Decibel, Probability};
use forward::Forward;
use user::User;

parameters! {
    /// A cell of 1xEV-DO (HDR), whose forward link the UEs share.
    pub struct Config {
        /// Number of UEs.
        pub ues: u16 = 1,
        /// The forward link.
        pub downlink: DownlinkConfig,
        /// A bearer from each UE.
        pub uplink: BearerConfig = circuit(),
    }

    /// The forward link.
    pub struct DownlinkConfig {
        /// Discipline of each UE's SDU buffer.
        pub queue: queue::Config,
        /// Whether all flows of a UE share one buffer, or each flow has its own.
        pub buffer: Sharing,
        /// Delay after the transmission, drawn for each packet.
        pub delay: distribution::Config<Duration>,
        /// Whether a packet may overtake another of its UE on that way.
        pub order: Order,
        /// Mean signal-to-interference-and-noise ratio: one value for all UEs, or a list with one per UE.
        pub mean_sinr: Each<Decibel> = Each::All(Decibel::from_thousandths(2400)),
        /// Slow variation around the mean, independent for each UE.
        pub shadowing: ShadowingConfig,
        /// Outages, in which the signal-to-noise ratio of a UE is very low, independent for each UE; none if
        /// absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub outages: Option<OutagesConfig>,
        /// Fading: variation of the ratio around its mean, independent for each UE.
        pub fading: fading::Config,
        /// Thresholds, dB, lowest rate first: the minimum signal-to-noise ratio for which a UE requests each
        /// rate.
        pub thresholds: [Decibel; RATES] = THRESHOLDS,
        /// Scheduler, which selects the UE to serve next.
        pub scheduler: scheduler::Config,
        /// Content of a slot.
        pub slots: Slots,
        /// For how long a UE is chosen.
        pub choose: Choose,
        /// Whether the room left in a packet's last physical-layer packet is used for the next packet of the
        /// same UE; with choose = "slot" only.
        pub share_slots: bool,
        /// Probability that a physical-layer packet is lost and retransmitted.
        pub per: Probability,
    }

    /// Content of a slot.
    pub enum Slots {
        /// A part of a physical-layer packet, which lasts 1 to 16 slots at the rate requested at its start.
        #[default]
        Physical,
        /// The rate requested in this slot times its duration: a packet of one slot.
        Plain,
    }

    /// For how long a UE is chosen.
    pub enum Choose {
        /// Until an IP packet is sent: in consecutive physical-layer packets, each at the rate requested at
        /// its start; in slots without any rate no UE is served.
        #[default]
        Packet,
        /// For one physical-layer packet. The rest of an IP packet waits until its UE is chosen again.
        Slot,
    }
}

impl Slots {
    /// Physical-layer packets by rate.
    const fn packets(self) -> &'static [PhysicalPacket; RATES] {
        match self {
            Self::Physical => &PHYSICAL_PACKETS,
            Self::Plain => &PLAIN_SLOTS,
        }
    }

    /// Units per byte in which their room is counted.
    const fn parts(self) -> u32 {
        match self {
            Self::Physical => 1,
            Self::Plain => PLAIN_PARTS,
        }
    }
}

/// A bearer of 64 kbit/s.
fn circuit() -> BearerConfig {
    let rate = distribution::Config::Constant(Bitrate::from_bps(64_000));
    let channel = channel::distribution::Config { rate, ..Default::default() };
    BearerConfig { channel: channel::Config::Distribution(channel), ..Default::default() }
}

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let run_seed = plan.run_seed;
        let count = 2 * u32::from(self.ues);
        let arrivals = |ue, dir| count + bearer_index(ue, dir) as u32;
        let user = |ue| User::new(&self.downlink, run_seed, ue, arrivals(ue, Dir::Downlink));
        let uplink = |ue| self.uplink.build(plan, ue, Dir::Uplink, arrivals(ue, Dir::Uplink));
        Box::new(Evdo {
            forward: Forward::new(&self.downlink, (0..self.ues).map(user).collect()),
            uplinks: (0..self.ues).map(uplink).collect(),
            overtakes: self.downlink.order == Order::Free || self.uplink.overtakes(),
        })
    }

    fn ues(&self) -> u16 {
        self.ues
    }

    fn queues(&self, dir: Dir) -> Vec<&queue::Config> {
        vec![dir.pick(&self.downlink.queue, &self.uplink.queue)]
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.downlink.validate(self.ues).map_err(|error| error.under("downlink"))?;
        self.uplink.validate().map_err(|error| error.under("uplink"))
    }

    fn ends(&self) -> Option<Instant> {
        self.uplink.channel.ends()
    }
}

/// Minimum probability that any rate is possible; a lower one is rejected as a configuration error.
const LEAST_SHARE: f64 = 1e-4;

impl DownlinkConfig {
    /// The probability of each request outside outages, none first.
    fn probabilities(&self, mean_sinr: Decibel) -> [f64; RATES + 1] {
        terminal::probabilities(&self.fading, mean_sinr, self.shadowing.sd, &self.thresholds)
    }

    fn validate(&self, ues: u16) -> Result<(), ScenarioError> {
        self.queue.validate().map_err(|error| error.under("queue"))?;
        self.delay.validate().map_err(|error| error.under("delay"))?;
        self.fading.validate().map_err(|error| error.under("fading"))?;
        self.mean_sinr.check("mean_sinr", usize::from(ues), "UEs")?;
        self.shadowing.validate().map_err(|error| error.under("shadowing"))?;
        if let Some(outages) = &self.outages {
            outages.validate().map_err(|error| error.under("outages"))?;
        }
        self.scheduler.validate().map_err(|error| error.under("scheduler"))?;
        if let Some(pair) = self.thresholds.windows(2).find(|pair| pair[0] >= pair[1]) {
            let message = format!("{} is not above {}, of a lower rate", pair[1], pair[0]);
            return Err(ScenarioError::new("thresholds", message, "write 11 ratios that rise with the rate"));
        }
        for mean_sinr in self.mean_sinr.values() {
            let some_rate = 1.0 - self.probabilities(*mean_sinr)[0];
            if some_rate < LEAST_SHARE {
                let message = format!("{mean_sinr} is too low: hardly ever would any rate do");
                let hint = format!("raise it: the lowest rate needs {}", self.thresholds[0]);
                return Err(ScenarioError::new("mean_sinr", message, hint));
            }
        }
        if self.per.as_f64() >= 1.0 {
            let message = "every physical-layer packet is lost and sent again for ever";
            return Err(ScenarioError::new("per", message, "lower it, for example to \"1 %\""));
        }
        if self.share_slots && self.choose == Choose::Packet {
            let message = "a UE that is chosen for a packet has no other to share its slots with";
            return Err(ScenarioError::new("share_slots", message, "remove it, or write choose = \"slot\""));
        }
        Ok(())
    }
}

struct Evdo {
    forward: Forward,
    uplinks: Vec<Box<dyn Bearer>>,
    /// Packets may overtake each other on some bearer: each bearer has a second timer, after the first timers
    /// of all.
    overtakes: bool,
}

impl Element for Evdo {
    fn layout(&self) -> Layout {
        let pairs = self.forward.users.iter().zip(&self.uplinks);
        let layout = cell_layout(pairs.flat_map(|(user, uplink)| [&user.buffer, uplink.buffer()]));
        let timers = layout.timers * (1 + u32::from(self.overtakes));
        let computed = self.uplinks.iter().all(|uplink| uplink.is_computed());
        let kept = self.forward.users.iter().all(User::keeps_order);
        let early = [Early::Never, Early::of_ue_if(computed)];
        Layout { timers, early, by_lanes: [kept, computed], ..layout }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        self.forward.users.iter().for_each(|user| user.open(cx));
        self.uplinks.iter().for_each(|uplink| uplink.open(cx));
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let ue = usize::from(packet.ue);
        match (dir, self.uplinks.get_mut(ue)) {
            (_, None) => cx.drop(dir, packet, Reason::UnknownUe),
            (Dir::Downlink, Some(_)) => self.forward.handle_sdu(cx, ue, packet),
            (Dir::Uplink, Some(uplink)) => uplink.handle_sdu(cx, packet),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        if key == forward::TIMER {
            return self.forward.handle_slot(cx);
        }
        // Bearers are numbered UE by UE, downlink first.
        let (key, count) = (key as usize, 2 * self.uplinks.len());
        let (ue, is_uplink) = (key % count / 2, key % 2 == 1);
        match (is_uplink, key < count) {
            (true, true) => self.uplinks[ue].handle_timer(cx),
            (true, false) => self.uplinks[ue].handle_arrival(cx),
            (false, _) => self.forward.users[ue].handle_arrival(cx),
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let pairs = self.forward.users.iter().zip(&self.uplinks);
        let reports: Vec<_> = pairs.flat_map(|(user, uplink)| [user.report(cx), uplink.report(cx)]).collect();
        let mut report = cell_report("radio.evdo", &reports);
        // Fairness among UEs with traffic.
        let wanting = self.forward.users.iter().filter(|user| user.buffer.bytes_in() > 0);
        let bytes: Vec<u64> = wanting.map(|user| user.bytes_delivered(cx)).collect();
        let busy: u64 = self.forward.users.iter().map(|user| user.slots_served).sum();
        report["slots_busy_share"] = share(busy as f64, slots::first_from(cx.now) as f64).into();
        report["jain_index"] = jain_index(bytes.iter().map(|bytes| *bytes as f64)).into();
        report
    }
}
