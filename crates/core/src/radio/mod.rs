//! Cells: the radio bearers of UEs, each dedicated or shared.
//!
//! A cell is the [`Element`] in the middle of the path. Each UE has a bearer in either direction: an SDU
//! buffer with a queue discipline, a transmitter, and the radio link.
//!
//! ```text
//! packet -> queue discipline -> buffer -> transmitter (rlc, slots) -> channel -> delay -> packet
//! ```
//!
//! [`dch`] has dedicated channels with a link layer, [`variable`] sends packets whole at a variable rate and
//! delay, and in [`evdo`] a scheduler shares the downlink among the UEs.
//!
//! Contract: a cell updates the buffer accounting of its bearers, which middleboxes read by
//! [`Cx::radio`](crate::element::Cx::radio): queued, started and acknowledged data. Every packet that enters
//! a buffer leaves it by one event: delivered, evicted or discarded. A packet for a UE that is not in the
//! cell is dropped.

mod activity;
mod bearers;
mod buffer;
mod delay_line;
mod flow_buffers;
mod kinds;
mod mac;
mod outages;
mod pdu_capture;
mod phy;
mod rlc_bearer;
mod rlc_pair;
mod sdus;

pub use kinds::{dch, evdo, hsdpa, lte, nr, variable};
pub(crate) use mac::fairness;

use crate::element::Element;
use crate::error::ScenarioError;
use crate::handover;
use crate::mobility::CellAir;
use crate::packet::{Dir, Packet};
use crate::pdcp;
use crate::queue;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::radio as scratch;
use crate::rlc;
use crate::sinr::{self, Sinr};
use crate::time::Instant;
use crate::umts::TrafficClass;

/// Packets in order. Boxed, because packets are passed as boxes.
#[allow(clippy::vec_box)]
type Packets = Vec<Box<Packet>>;

/// Interface of a cell's parameters.
pub trait Component {
    /// Makes the cell.
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element>;

    /// Number of UEs in the cell.
    fn ues(&self) -> u16;

    /// The queue disciplines of the buffers in this direction.
    fn queues(&self, dir: Dir) -> Vec<&queue::Config>;

    /// Octets of the largest packet that the bearers of this direction accept; `None` without a limit.
    fn largest_sdu(&self, _dir: Dir) -> Option<u32> {
        None
    }

    /// Rejects impossible parameters.
    fn validate(&self) -> Result<(), ScenarioError>;

    /// Refuses keys that are of no use without a core network.
    fn check_without_core(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// When the first bearer stops for good because its channel has an end; `None` if none does.
    fn ends(&self) -> Option<Instant> {
        None
    }

    /// Warnings about parameters that are valid but rarely intended, in the form of errors.
    fn remarks(&self) -> Vec<ScenarioError> {
        Vec::new()
    }

    /// Whether its UEs may change the cell.
    fn has_handovers(&self) -> bool {
        false
    }

    /// Subcarrier width, Hz, if the UEs can measure the cell's signal strength; otherwise `None`.
    fn subcarrier_hz(&self) -> Option<f64> {
        None
    }

    /// Whether an outage of a UE may be started as a change during the run.
    fn has_outages(&self) -> bool {
        self.has_handovers()
    }

    /// Whether it has PDUs that a capture can show.
    fn has_pdus(&self) -> bool {
        false
    }
}

registry! {
    /// A kind of cell and its parameters.
    pub enum Config: Component, default Dch {
        Dch = dch,
        Evdo = evdo,
        Hsdpa = hsdpa,
        Lte = lte,
        Nr = nr,
        Variable = variable,
        #[cfg(test)]
        Scratch = scratch,
    }
}

/// Settings of a cell in addition to its own parameters.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Seed of the run.
    pub run_seed: u64,
    /// First UE of the cell; above 0 only for dedicated channels, where a part of the UEs can be built alone.
    pub first_ue: u16,
    /// Hand-overs of its UEs.
    pub handovers: &'a [handover::Episode],
    /// Traffic classes of its UEs by index; later UEs have the default.
    pub classes: &'a [TrafficClass],
    /// Reception of this cell and of others by its UEs, where they measure.
    pub air: Option<&'a CellAir>,
    /// Whether parameters may change, and outages occur, while the cell runs.
    pub may_change: bool,
    /// UEs whose bearers are legs of split bearers, each with its PDCP.
    pub legs: &'a [(u16, pdcp::Config)],
}

impl Plan<'_> {
    /// The plan of a cell without hand-overs, classes and changes.
    pub const fn of(run_seed: u64) -> Self {
        Self { run_seed, first_ue: 0, handovers: &[], classes: &[], air: None, may_change: false, legs: &[] }
    }

    /// Downlink SINR of a UE: from its parameters, or from its measurements.
    fn sinr(&self, reception: &sinr::Config, (ue, carrier): (u16, u8), slots_per_s: f64) -> Sinr {
        self.sinr_of_subband(reception, (ue, carrier, 0), slots_per_s)
    }

    /// Like `sinr`, on a subband of the carrier.
    fn sinr_of_subband(
        &self,
        reception: &sinr::Config,
        (ue, carrier, subband): (u16, u8, u8),
        slots_per_s: f64,
    ) -> Sinr {
        let of = ((ue, Dir::Downlink, carrier), subband);
        let sinr = Sinr::on_subband(reception, self.run_seed, of, slots_per_s);
        sinr.of_signal(self.air.and_then(|air| air.signal(ue)))
    }

    /// PDCP of the split bearer with the bearers of a UE as a leg, if there is one.
    fn leg(&self, ue: u16) -> Option<&pdcp::Config> {
        self.legs.iter().find_map(|(leg, pdcp)| (*leg == ue).then_some(pdcp))
    }

    /// PDCP in the cell, downlink first: none of its own for a leg of a split bearer.
    fn pdcp(&self, ue: u16, own: [&pdcp::Config; 2]) -> [pdcp::Config; 2] {
        own.map(|own| if self.leg(ue).is_some() { pdcp::Config::transparent() } else { own.clone() })
    }

    /// The link layers of a UE's bearers, downlink first: without PDCP of LTE for a leg of a split bearer.
    fn rlc(&self, ue: u16, own: [&rlc::Config; 2]) -> [rlc::Config; 2] {
        own.map(|own| if self.leg(ue).is_some() { own.without_pdcp() } else { own.clone() })
    }

    /// Traffic class of a UE.
    pub fn class(&self, ue: u16) -> TrafficClass {
        self.classes.get(usize::from(ue)).copied().unwrap_or_default()
    }
}

impl Config {
    /// Maximum number of packets in any buffer of this direction; `None` if one has no such limit.
    pub fn limit_sdus(&self, dir: Dir) -> Option<u32> {
        let limits = self.queues(dir).into_iter().map(|queue| queue.limit_sdus());
        limits.reduce(|one, other| Some(one?.min(other?))).flatten()
    }

    /// Whether a queue discipline of this direction counts deliveries until its next drop.
    pub fn has_discard_counter(&self, dir: Dir) -> bool {
        self.queues(dir).iter().any(|queue| queue.has_discard_counter())
    }

    /// Rejects hand-overs in a cell that does not support them.
    pub fn check_handovers(&self, handovers: &[handover::Config]) -> Result<(), ScenarioError> {
        if handovers.is_empty() || self.has_handovers() {
            return Ok(());
        }
        let message = format!("radio.{} has no hand-overs", self.name());
        let hint = "choose radio.dch as the cell, or remove them";
        Err(ScenarioError::new("handover", message, hint))
    }

    /// As the component's own, with the key below `radio`.
    ///
    /// # Errors
    /// See [`Component::validate`].
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let has_ues = match self.ues() {
            0 => Err(ScenarioError::new("ues", "a cell needs at least one UE", "write ues = 1")),
            _ => Ok(()),
        };
        has_ues.and_then(|()| (**self).validate()).map_err(|error| error.under(self.name()))
    }

    /// As the component's own, with the key below `radio`.
    pub fn remarks(&self) -> Vec<ScenarioError> {
        (**self).remarks().into_iter().map(|remark| remark.under(self.name())).collect()
    }

    /// As the component's own, with the key below `radio`.
    ///
    /// # Errors
    /// See [`Component::check_without_core`].
    pub fn check_without_core(&self) -> Result<(), ScenarioError> {
        (**self).check_without_core().map_err(|error| error.under(self.name()))
    }
}
