//! Link layers of a bearer: SDUs in, PDUs over the air, SDUs out.
//!
//! A cell gives each bearer a link layer. It cuts the SDUs in the buffer into PDUs, learns from the channel which PDUs
//! are lost, and hands SDUs up at the other side. There are three sorts:
//!
//! * `none`: the cell sends packets whole and computes when they end.
//! * One [`Rlc`] for both ends of a direction, which knows the outcome of a slot at its end: `fixed_delay_arq`.
//! * An [`End`] at each end of a UE's bearers, with PDUs that travel between them: `am`, `um` and `tm` of UMTS, `am_lte`
//!   and `um_lte`, `am_nr` and `um_nr` with PDCP above them, see [`entities`].
//!
//! A slot of an [`Rlc`], as the cell drives it:
//!
//! ```text
//! rlc.handle_sdu(now, packet);
//! rlc.start_slot(now, false, &mut report)           // Slot::BusyUntil(end): arm the timer
//! rlc.end_slot(end, &mut channel, &mut report);     // report.delivered: packets to emit
//! ```
//!
//! Contract: each SDU is delivered, discarded or taken out ([`Rlc::take_waiting`]) once, and reported in the slot in
//! which that happens. Link layers read no clock, and arm no timers: the cell calls them at each slot or TTI.

mod pdus;
mod polling;
mod ranges;
mod reporting;

pub mod encode;
pub mod entities;
pub mod fixed_delay_arq;
pub mod lte;
pub mod none;
pub mod nr;
pub mod umts;

pub use encode::Encode;
pub use entities::{End, Errors, Report, Ttis};
pub use lte::{am as am_lte, um as um_lte};
pub use nr::{am as am_nr, um as um_nr};
pub use pdus::{Run, SduEnd, Transmission, Tti, control};
pub use ranges::{Ranges, SnRange};
pub use umts::{Reassembly, am, tm, um};

use crate::channel::{self, Channel};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::pdcp;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::rlc as scratch;
use crate::rng::Stream;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use entities::{Halves, Receive, Transmit};

/// A link layer, one direction of a bearer.
pub trait Rlc: Send + Sync {
    /// An SDU is for this link layer, which came to the bearer at `entered`: now, or before if a queue discipline held it.
    fn handle_sdu(&mut self, entered: Instant, sdu: Box<Packet>);

    /// Removes the first SDU that has not started, for good; `None` if all have started.
    fn take_waiting(&mut self) -> Option<Box<Packet>>;

    /// Removes all SDUs that have not been delivered, for good, in their order; PDUs in transit are lost.
    fn withdraw(&mut self) -> Vec<Box<Packet>>;

    /// Fills a transmission opportunity that may start at `now`. `boundary` means that another one
    /// ended at this very instant.
    fn start_slot(&mut self, now: Instant, boundary: bool, report: &mut SlotReport) -> Slot;

    /// The opportunity started last has ended: the channel decides which PDUs arrived.
    fn end_slot(&mut self, now: Instant, channel: &mut dyn Channel, report: &mut SlotReport);
}

/// What became of a transmission opportunity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// PDUs are being transmitted until this instant.
    BusyUntil(Instant),
    /// Nothing to send before this instant; ask again then, or when an SDU arrives.
    IdleUntil(Instant),
    /// Nothing to send; ask again when an SDU arrives.
    Idle,
}

/// What happened to SDUs in a transmission opportunity; the cell clears it.
#[derive(Debug, Default)]
pub struct SlotReport {
    /// SDUs whose transmission has started: (flow, sequence number, length).
    pub started: Vec<(u16, u32, u32)>,
    /// SDUs handed up at the other side, in this order, with their time in the buffer.
    pub delivered: Vec<(Box<Packet>, Duration)>,
    /// SDUs given up.
    pub discarded: Vec<Box<Packet>>,
    /// PDUs transmitted.
    pub pdus_sent: u32,
    /// PDUs of these that were lost.
    pub pdus_lost: u32,
}

/// Interface of a link layer's parameters.
pub trait Component {
    /// Makes both ends of one direction; `None` for a link layer without slots, and for link layers made by [`ends`].
    ///
    /// [`ends`]: Component::ends
    fn build(&self, rate: Bitrate, stream: Stream) -> Option<Box<dyn Rlc>> {
        let _ = (rate, stream);
        None
    }

    /// The ends of a UE's bearers at the network and at the UE, which send in the downlink with these parameters and
    /// in the uplink with those; `None` if they do not go by TTIs, or not together.
    fn ends(&self, uplink: &Config) -> Option<[Box<dyn End>; 2]> {
        let ((down_tx, down_rx), (up_tx, up_rx)) = (self.halves()?, uplink.halves()?);
        Some([Box::new(Halves { tx: down_tx, rx: up_rx }), Box::new(Halves { tx: up_tx, rx: down_rx })])
    }

    /// The same, with PDCP of these parameters above them, downlink first, where they have PDCP.
    fn ends_with(&self, uplink: &Config, pdcp: [&pdcp::Config; 2]) -> Option<[Box<dyn End>; 2]> {
        let _ = pdcp;
        self.ends(uplink)
    }

    /// Whether its SDUs are PDUs of PDCP.
    fn has_pdcp(&self) -> bool {
        false
    }

    /// Octets of its largest SDU, where PDCP limits them.
    fn largest_sdu(&self) -> Option<u32> {
        self.has_pdcp().then_some(pdcp::LARGEST_SDU)
    }

    /// Transmitting and receiving entity of one direction, for link layers whose two directions are independent (UM,
    /// TM); `None` if they are not (AM).
    fn halves(&self) -> Option<(Box<dyn Transmit>, Box<dyn Receive>)> {
        None
    }

    /// When there are TTIs, if entities at both ends share them.
    fn ttis(&self) -> Option<Ttis> {
        None
    }

    /// Octets of a PDU with its header; `None` where PDUs have no size of their own.
    fn pdu_octets(&self) -> Option<u64> {
        None
    }

    /// How long a slot lasts; zero without slots.
    fn slot(&self) -> Duration {
        self.ttis().map_or(Duration::ZERO, |ttis| ttis.tti)
    }

    /// Whether there is no link layer at all, so that packets are sent whole.
    fn sends_whole(&self) -> bool {
        false
    }

    /// For how long a missing PDU may still be in transit, by HARQ: t-Reordering of LTE, t-Reassembly of NR. With its key.
    fn harq_timer(&self) -> Option<(&'static str, Duration)> {
        None
    }

    /// What makes the octets of PDUs sent with these parameters, where captures have any.
    fn encoder(&self) -> Option<Box<dyn Encode>> {
        None
    }

    /// Like `encoder`, with PDCP of these parameters above it, where it has PDCP.
    fn encoder_with(&self, pdcp: &pdcp::Config) -> Option<Box<dyn Encode>> {
        let _ = pdcp;
        self.encoder()
    }

    /// Refuses what cannot be sent at this rate.
    fn validate(&self, rate: Bitrate) -> Result<(), ScenarioError> {
        let _ = rate;
        Ok(())
    }

    /// Refuses a channel that does not go with this link layer.
    fn check_bearer(&self, channel: &channel::Config) -> Result<(), ScenarioError> {
        let _ = channel;
        Ok(())
    }

    /// Refuses what no UE does.
    fn check_uplink(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Refuses what stalls for ever where the bearer of either direction loses PDUs.
    fn check_with_losses(&self) -> Result<(), ScenarioError> {
        Ok(())
    }
}

registry! {
    /// A link layer and its parameters.
    pub enum Config: Component, default None {
        None = none,
        FixedDelayArq = fixed_delay_arq,
        Am = am,
        Um = um,
        Tm = tm,
        AmLte = am_lte,
        UmLte = um_lte,
        AmNr = am_nr,
        UmNr = um_nr,
        #[cfg(test)]
        Scratch = scratch,
    }
}

impl Config {
    /// Refuses what no bearer can do, whatever carries it.
    pub(crate) fn validate_alone(&self) -> Result<(), ScenarioError> {
        (**self).validate(Bitrate::default()).map_err(|error| self.locate(error))
    }

    /// Refuses what no bearer of this rate and channel can do.
    pub(crate) fn validate(&self, rate: Bitrate, channel: &channel::Config) -> Result<(), ScenarioError> {
        (**self)
            .validate(rate)
            .and_then(|()| self.ttis().map_or(Ok(()), |ttis| ttis.check(rate)))
            .map_err(|error| self.locate(error))?;
        self.check_bearer(channel)
    }

    /// Refuses PDCP where the link layer has none, and one that would mistake COUNTs.
    pub(crate) fn check_pdcp(&self, pdcp: Option<&pdcp::Config>) -> Result<(), ScenarioError> {
        let Some(pdcp) = pdcp else { return Ok(()) };
        if !self.has_pdcp() {
            let message = format!("rlc.{} has no PDCP above it", self.name());
            return Err(ScenarioError::new("pdcp", message, "choose rlc.am_nr or rlc.um_nr, or remove it"));
        }
        pdcp.validate().map_err(|error| error.under("pdcp"))?;
        self.validate_alone()?;
        let window = match self {
            Self::AmNr(am) => am.window(),
            _ => 0,
        };
        if window > pdcp.window() {
            let message = format!(
                "has {} bits: the receiver mistakes the COUNT of an SDU that is {} or more ahead, and rlc.am_nr.sn lets {window} \
                 be in transit",
                pdcp.sn,
                pdcp.window()
            );
            return Err(ScenarioError::new("pdcp.sn", message, "write 18, or rlc.am_nr.sn = 12"));
        }
        Ok(())
    }

    /// Refuses link layers of a UE's bearers, downlink first, that do not go together.
    pub(crate) fn check_pair([downlink, uplink]: [&Self; 2], has_losses: bool) -> Result<(), ScenarioError> {
        uplink.check_uplink().map_err(|error| uplink.locate(error).under("uplink"))?;
        let by_ttis = downlink.ttis().is_some() || uplink.ttis().is_some();
        if by_ttis && downlink.ends(uplink).is_none() {
            let message =
                format!("rlc.{} does not work with rlc.{} in the downlink", uplink.name(), downlink.name());
            // Entities that are no halves talk to each other.
            let whole =
                [downlink, uplink].into_iter().find(|rlc| rlc.ttis().is_some() && rlc.halves().is_none());
            let hint = match whole {
                Some(rlc) => {
                    format!("write rlc.{} in both directions: its STATUS PDUs go the other way", rlc.name())
                }
                None => "write rlc.um, rlc.tm, rlc.um_lte or rlc.um_nr in both directions".to_owned(),
            };
            return Err(ScenarioError::new("uplink.rlc", message, hint));
        }
        for (dir, rlc) in Dir::BOTH.into_iter().zip([downlink, uplink]).filter(|_| has_losses) {
            rlc.check_with_losses().map_err(|error| rlc.locate(error).under(dir.name()))?;
        }
        Ok(())
    }

    /// An error of a key of the link layer, as seen from its bearer.
    fn locate(&self, error: ScenarioError) -> ScenarioError {
        error.under(self.name()).under("rlc")
    }
}
