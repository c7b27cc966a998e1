//! A packet service of variable rate and delay, without link layer: each UE has a downlink and an uplink
//! bearer. The channel of a bearer determines when how much may be sent, or how long a packet takes.
//!
//! ```text
//! network:  SDU buffer (queue discipline) -> transmitter, as the channel lets it -> delay -> UE      downlink
//! UE:       SDU buffer -> transmitter -> delay -> network                                            uplink
//! ```
//!
//! Left out: any dependence between the bearers of a cell.

mod opportunities;
mod packets;

pub use crate::radio::flow_buffers::Sharing;

use crate::channel::{self, Kind, Order};
use crate::element::{Adopt, Cx, Early, Element, Layout, Port, as_same, bearer_index};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::queue;
use crate::radio::buffer::{Buffer, cell_layout, cell_report, make_bearers};
use crate::radio::outages::{Pausable, with_outages};
use crate::radio::{Component, Packets, Plan};
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use opportunities::OpportunityBearer;
use packets::PacketBearer;
use std::any::Any;

parameters! {
    /// A packet service of variable rate and delay, without link layer.
    pub struct Config {
        /// Number of UEs; each has its own pair of bearers.
        pub ues: u16 = 1,
        /// Bearers towards the UEs.
        pub downlink: BearerConfig,
        /// Bearers from the UEs.
        pub uplink: BearerConfig,
    }

    /// One direction of a UE's bearer.
    pub struct BearerConfig {
        /// One-way delay after the transmission.
        pub delay: Duration,
        /// Discipline of the SDU buffer.
        pub queue: queue::Config,
        /// Whether all flows share a buffer, or each flow has its own.
        pub buffer: Sharing,
        /// Channel: when how much may be sent, or how long a packet takes.
        pub channel: channel::Config = channel::Config::TraceFile(channel::trace_file::Config::default()),
    }
}

impl Config {
    /// Parameters of one direction.
    pub fn bearer(&self, dir: Dir) -> &BearerConfig {
        dir.pick(&self.downlink, &self.uplink)
    }
}

impl BearerConfig {
    pub(in crate::radio) fn validate(&self) -> Result<(), ScenarioError> {
        self.queue.validate().map_err(|error| error.under("queue"))?;
        self.channel.validate().map_err(|error| error.under("channel"))?;
        match self.channel.kind() {
            Kind::Packets => Ok(()),
            Kind::Opportunities if self.buffer == Sharing::Shared => Ok(()),
            Kind::Opportunities => Err(ScenarioError::new(
                "buffer",
                format!("packets share the opportunities of {} in one line", self.channel.name()),
                "write \"shared\", or choose channel.distribution",
            )),
            Kind::Blocks => Err(ScenarioError::new(
                "channel",
                format!("{} loses blocks, and here packets are sent whole", self.channel.name()),
                "choose channel.trace_file, or radio.dch as the cell",
            )),
        }
    }

    /// Whether the bearer needs a second timer: its packets may overtake each other.
    pub(in crate::radio) fn overtakes(&self) -> bool {
        self.channel.order() == Order::Free
    }

    /// Builds the bearer. Its own timer has the bearer's index; `arrivals` is the index of its second timer.
    pub(in crate::radio) fn build(
        &self,
        plan: &Plan<'_>,
        ue: u16,
        dir: Dir,
        arrivals: u32,
    ) -> Box<dyn Bearer> {
        match self.channel.kind() {
            Kind::Packets => Box::new(PacketBearer::new(self, plan, ue, dir, arrivals)),
            Kind::Opportunities | Kind::Blocks => {
                Box::new(OpportunityBearer::new(self, plan.run_seed, ue, dir))
            }
        }
    }
}

/// One direction of a UE's bearer. The type of its channel decides how packets are sent.
pub(in crate::radio) trait Bearer: Any + Send + Sync {
    fn buffer(&self) -> &Buffer;

    fn open(&self, cx: &mut Cx<'_>);

    /// Whether each packet's arrival is computed when it enters, in order, and without a timer unless there
    /// are subscribers.
    fn is_computed(&self) -> bool;

    fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>);

    /// Handles the bearer's own timer.
    fn handle_timer(&mut self, cx: &mut Cx<'_>);

    /// Its second timer.
    fn handle_arrival(&mut self, _cx: &mut Cx<'_>) {}

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value;

    /// Starts no transmission before `until`; one in progress continues.
    fn pause(&mut self, cx: &mut Cx<'_>, until: Instant);

    /// Adopts the parameters of another bearer of the same kind; returns whether any differs.
    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Bearer>, how: Adopt) -> bool;
}

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let count = 2 * u32::from(self.ues);
        let bearers = make_bearers(0..self.ues, |ue, dir| {
            let arrivals = count + bearer_index(ue, dir) as u32;
            self.bearer(dir).build(plan, ue, dir, arrivals)
        });
        let overtakes = Dir::BOTH.iter().any(|dir| self.bearer(*dir).overtakes());
        with_outages(Box::new(Variable { bearers, overtakes }), plan)
    }

    fn ues(&self) -> u16 {
        self.ues
    }

    fn queues(&self, dir: Dir) -> Vec<&queue::Config> {
        vec![&self.bearer(dir).queue]
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        for dir in Dir::BOTH {
            self.bearer(dir).validate().map_err(|error| error.under(dir.name()))?;
        }
        Ok(())
    }

    fn has_outages(&self) -> bool {
        true
    }

    fn ends(&self) -> Option<Instant> {
        Dir::BOTH.iter().filter_map(|dir| self.bearer(*dir).channel.ends()).min()
    }
}

struct Variable {
    bearers: Vec<Box<dyn Bearer>>,
    /// Packets may overtake each other on some bearer: each bearer has a second timer, after the first timers
    /// of all.
    overtakes: bool,
}

/// UEs neither leave such a cell nor fall asleep in it.
impl Pausable for Variable {
    fn pause(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        let own = self.bearers.iter_mut().filter(|bearer| bearer.buffer().ue == ue);
        own.for_each(|bearer| bearer.pause(cx, until));
    }

    fn withdraw(&mut self, _cx: &mut Cx<'_>, _ue: u16) -> [Packets; 2] {
        Default::default()
    }

    fn resume(&mut self, cx: &mut Cx<'_>, ue: u16, at: Instant) {
        self.pause(cx, ue, at);
    }

    fn hold(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        self.pause(cx, ue, until);
    }

    fn sent_until(&self, _ue: u16) -> Instant {
        Instant::ZERO
    }

    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Element>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh) else { return false };
        let each = self.bearers.iter_mut().zip(fresh.bearers);
        each.fold(false, |differs, (own, new)| own.adopt(cx, new, how) | differs)
    }
}

impl Element for Variable {
    fn layout(&self) -> Layout {
        let layout = cell_layout(self.bearers.iter().map(|bearer| bearer.buffer()));
        let computed = Dir::BOTH.map(|dir| {
            let mut own = self.bearers.iter().filter(|bearer| bearer.buffer().dir == dir);
            own.all(|bearer| bearer.is_computed())
        });
        let timers = layout.timers * (1 + u32::from(self.overtakes));
        let timers_tell = computed == [true; 2];
        Layout { timers, timers_tell, early: computed.map(Early::of_ue_if), by_lanes: computed, ..layout }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for bearer in &self.bearers {
            bearer.open(cx);
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        match self.bearers.get_mut(bearer_index(packet.ue, dir)) {
            Some(bearer) => bearer.handle_sdu(cx, packet),
            None => cx.drop(dir, packet, Reason::UnknownUe),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        let (index, count) = (key as usize, self.bearers.len());
        match self.bearers.get_mut(index) {
            Some(bearer) => bearer.handle_timer(cx),
            None => self.bearers[index - count].handle_arrival(cx),
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let reports: Vec<_> = self.bearers.iter().map(|bearer| bearer.report(cx)).collect();
        cell_report("radio.variable", &reports)
    }
}
