//! A packet service of variable rate and delay, without link layer: each UE has a downlink and an uplink bearer
//! of its own, and the channel of a bearer says when how much may be sent, or how long a packet takes.
//!
//! ```text
//! network:  SDU buffer (queue discipline) -> transmitter, as the channel lets it -> delay -> UE      downlink
//! UE:       SDU buffer -> transmitter -> delay -> network                                            uplink
//! ```
//!
//! Left out: any dependence between the bearers of a cell.

mod bearer;
mod config;
mod opportunities;
mod packets;

pub use crate::radio::flow_buffers::Sharing;
pub(super) use bearer::Bearer;
pub use config::BearerConfig;

use crate::element::{Cx, Element, Layout, bearer_index};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::queue;
use crate::radio::buffer::{cell_layout, cell_report, make_bearers};
use crate::radio::{Component, Plan};
use crate::time::Instant;
use crate::trace::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A packet service of variable rate and delay, without link layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of UEs; each has its own pair of bearers.
    pub ues: u16,
    /// Bearers towards the UEs.
    pub downlink: BearerConfig,
    /// Bearers from the UEs.
    pub uplink: BearerConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self { ues: 1, downlink: BearerConfig::default(), uplink: BearerConfig::default() }
    }
}

impl Config {
    /// Parameters of one direction.
    pub fn bearer(&self, dir: Dir) -> &BearerConfig {
        match dir {
            Dir::Downlink => &self.downlink,
            Dir::Uplink => &self.uplink,
        }
    }
}

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let run_seed = plan.run_seed;
        let count = 2 * u32::from(self.ues);
        let bearers = make_bearers(self.ues, |ue, dir| {
            let arrivals = count + bearer_index(ue, dir) as u32;
            Bearer::new(self.bearer(dir), run_seed, ue, dir, arrivals)
        });
        let overtakes = Dir::BOTH.iter().any(|dir| self.bearer(*dir).overtakes());
        Box::new(Variable { bearers, overtakes })
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

    fn ends(&self) -> Option<Instant> {
        Dir::BOTH.iter().filter_map(|dir| self.bearer(*dir).channel.ends()).min()
    }
}

struct Variable {
    bearers: Vec<Bearer>,
    /// On some bearer packets may overtake each other: each has a second timer, behind those of all.
    overtakes: bool,
}

impl Element for Variable {
    fn layout(&self) -> Layout {
        let layout = cell_layout(self.bearers.iter().map(Bearer::buffer));
        Layout { timers: layout.timers * (1 + u32::from(self.overtakes)), ..layout }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for bearer in &self.bearers {
            bearer.open(cx);
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        match self.bearers.get_mut(bearer_index(packet.ue, dir)) {
            Some(bearer) => bearer.handle_sdu(cx, packet),
            None => cx.drop(packet, Reason::UnknownUe),
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
