//! Long Term Evolution (LTE), FDD: a downlink whose resource blocks the UEs of a cell share, and a granted
//! uplink per UE.
//!
//! ```text
//! eNodeB: buffer (PDCP) -> RLC -> scheduler -> transport block in a TTI of 1 ms, HARQ -> UE: RLC, which reorders -> packets
//! UE:     buffer -> RLC -> scheduling request, grant -> transport block -> eNodeB
//! ```
//!
//! A UE reports the row of the CQI table that it can receive; the eNodeB sends it physical resource blocks
//! (PRBs) of that row ([`formats`](crate::radio::phy::lte)), as many as the UE needs and the cell has left. HARQ retransmits lost
//! blocks after 8 ms. Blocks arrive out of order; RLC of TS 36.322 puts them in order. At a hand-over RLC is
//! re-established, and unconfirmed SDUs are forwarded and retransmitted (TS 36.300 §10.1.2.3).
//!
//! Left out: control channels, semi-persistent scheduling, carrier aggregation, and, without `scheduled`, a
//! shared uplink: every grant finds room.
//!
//! Sources: TS 36.213 (CQI, block sizes, timing), TS 36.321 (HARQ, SR, BSR), TS 36.322 (RLC).

mod scheduled;

use crate::activity::{self, Offers};
use crate::element::Element;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::pdcp;
use crate::queue;
use crate::radio::activity::with_activity;
use crate::radio::mac::carrier::{Carrier, Losses};
use crate::radio::mac::grants::Grants;
use crate::radio::mac::reordering::Numbers;
use crate::radio::mac::{
    self, Adaptation, Frame, Framing, HarqConfig, Setup, SharedCell, Shares, Source, Ue, layer_loss,
    validate_layer_loss,
};
use crate::radio::outages::{Silences, with_outages};
use crate::radio::phy::air::Air;
use crate::radio::phy::lte::{self as formats, Lte};
use crate::radio::rlc_bearer::RlcBearer;
use crate::radio::rlc_pair::RlcPair;
use crate::radio::{Component, Plan};
use crate::registry::parameters;
use crate::rlc;
use crate::rng::{self, Threshold};
use crate::scheduler;
use crate::sinr;
use crate::time::Duration;
use crate::units::{Bitrate, Bytes, Decibel, Probability};

parameters! {
    /// A cell of LTE.
    pub struct Config {
        /// Number of UEs.
        pub ues: u16 = 1,
        /// The downlink, which the UEs share.
        pub downlink: DownlinkConfig,
        /// The uplink of each UE.
        pub uplink: UplinkConfig,
        /// DRX and RRC states of silent UEs; always active if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub activity: Option<activity::Config>,
    }

    /// The downlink.
    pub struct DownlinkConfig {
        /// Discipline of each UE's buffer in the eNodeB.
        pub queue: queue::Config,
        /// Link layer: rlc.am_lte or rlc.um_lte, or, as on a master node of LTE (EN-DC), rlc.am_nr or
        /// rlc.um_nr. Its TTIs are those of the cell.
        pub rlc: rlc::Config = rlc::Config::AmLte(Default::default()),
        /// PDCP of NR above rlc.am_nr or rlc.um_nr; with its defaults if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pdcp: Option<pdcp::Config>,
        /// Reception of the UEs: signal-to-interference-and-noise ratio.
        pub reception: sinr::Config,
        /// Transport blocks.
        pub blocks: formats::Config,
        /// By how much the SINR of a layer is lower with 1, 2, 3 and 4 of them: their share of the power (0, 3, 4.8 and
        /// 6 dB), and their interference.
        pub layer_loss: Vec<Decibel> = layer_loss(),
        /// Scheduler, which selects the UE to serve next.
        pub scheduler: scheduler::Config,
        /// How the resource blocks of a TTI are shared out.
        pub sharing: Sharing,
        /// Size of a resource block group (RBG), PRBs: UEs get whole groups, and PRBs outside a whole group
        /// stay unused. If absent, it follows from the bandwidth (TS 36.213 table 7.1.6.1-1: 1, 2, 2, 3, 4,
        /// 4), and the last group may be smaller.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub group: Option<u8>,
        /// Maximum number of UEs that get blocks in a TTI. If absent, with `max_min` it is the number of
        /// grants in the control channel, by the bandwidth (1, 1, 2, 5, 7, 10); otherwise any number.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ues_per_tti: Option<u8>,
        /// Load of UEs that are not simulated; none if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load: Option<mac::Load>,
        /// Reports of channel quality, and link adaptation.
        pub adaptation: Adaptation,
        /// Retransmission of blocks.
        pub harq: HarqConfig,
        /// From the end of a TTI to the delivery of the SDU at the UE.
        pub delay: Duration = Duration::from_millis(3),
    }

    /// How the resource blocks of a TTI are shared out.
    pub enum Sharing {
        /// All UEs with data get the same number of RBGs; RBGs that a UE does not need go to the others.
        #[default]
        MaxMin,
        /// The UE that is chosen first gets all that it can use, then the next.
        InTurn,
        /// All UEs with data get the same number of RBGs, needed or not; an indivisible rest stays unused.
        Equally,
    }

    /// The uplink of a UE.
    pub struct UplinkConfig {
        /// Discipline of the UE's buffer.
        pub queue: queue::Config,
        /// Link layer.
        pub rlc: rlc::Config = rlc::Config::AmLte(Default::default()),
        /// PDCP of NR above rlc.am_nr or rlc.um_nr; with its defaults if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pdcp: Option<pdcp::Config>,
        /// Time between two occasions for a scheduling request (SR).
        pub sr_period: Duration = Duration::from_millis(10),
        /// From a scheduling request, or a buffer status report, to the TTI that is granted for it.
        pub processing: Duration = Duration::from_millis(8),
        /// Time between two TTIs that are granted to a UE with more to send.
        pub interval: Duration = Duration::from_millis(5),
        /// Size of a block that is granted.
        pub block: Bytes = Bytes::from_bytes(3000),
        /// Probability that a block is lost; it is retransmitted after 8 ms.
        pub bler: Probability,
        /// How often a block is sent at most.
        pub max_transmissions: u8 = 4,
        /// From the end of a TTI to the packet that the eNodeB passes on.
        pub delay: Duration = Duration::from_millis(3),
        /// The uplink that the UEs share, modelled per PRB; its grants replace `processing`, `interval`,
        /// `block`, `bler` and `max_transmissions`. If absent, grants are given as if no other UE had any.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scheduled: Option<scheduled::Config>,
    }
}

impl From<Sharing> for Shares {
    fn from(sharing: Sharing) -> Self {
        match sharing {
            Sharing::MaxMin => Self::MaxMin,
            Sharing::InTurn => Self::InTurn,
            Sharing::Equally => Self::Equal,
        }
    }
}

/// A TTI.
const SLOT: Duration = Duration::from_millis(1);

/// TTIs from one transmission of a process to the next.
const ROUND_TRIP: u64 = 8;

/// TTIs from the measurement of a report to its first use, and between reports.
const AGE: u64 = 6;
const PERIOD: u64 = 5;

/// TTIs over which the scheduler averages.
const WINDOW: u32 = 100;

/// Octets of MAC's header before RLC's PDUs (TS 36.321 §6.1.2): a subheader with a length, and one without.
const HEADER_OCTETS: u32 = 3;
const FRAMING: Framing = Framing::Octets { header_octets: HEADER_OCTETS };

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let downlink = &self.downlink;
        let air = Lte::new(&downlink.blocks, &downlink.layer_loss);
        let prbs = air.units();
        let (units, group) = match downlink.group {
            Some(group) => (prbs / u32::from(group) * u32::from(group), group.into()),
            None => (prbs, formats::group(prbs)),
        };
        let most = match (downlink.ues_per_tti, downlink.sharing) {
            (Some(most), _) => most.into(),
            (None, Sharing::MaxMin) => formats::grants(prbs) as usize,
            (None, _) => usize::MAX,
        };
        let setup = Setup {
            name: "radio.lte",
            slot: SLOT,
            air: Box::new(air),
            special_air: None,
            framing: FRAMING,
            scheduler: downlink.scheduler.build(self.ues.into(), WINDOW),
            units,
            group,
            subband: None,
            shares: downlink.sharing.into(),
            carriers: 1,
            ues_per_slot: most,
            least_interval: 1,
            frame: Frame::fdd(ROUND_TRIP),
            harq: downlink.harq.clone(),
        };
        let uplink = self.uplink.scheduled.as_ref().map(|own| {
            let shared = own.setup(self.ues, prbs, self.uplink.sr_period, self.uplink.delay);
            (shared, (0..self.ues).map(|ue| own.sender(plan, ue)).collect())
        });
        let up_rate = uplink.as_ref().map_or_else(|| self.uplink.rate(), |(uplink, _)| uplink.largest_rate());
        let ues = (0..self.ues).filter_map(|ue| self.ue(plan, ue, &setup, up_rate)).collect();
        let cell = SharedCell::new(setup, ues, plan.air.map(|heard| heard.load.clone()));
        let mut cell = cell.with_load(downlink.load.as_ref(), plan.run_seed);
        if let Some((shared, senders)) = uplink {
            cell = cell.with_uplink(shared, senders);
        }
        let cell = with_activity(Box::new(cell), self.activity.as_ref(), self.ues);
        with_outages(cell, plan)
    }

    fn ues(&self) -> u16 {
        self.ues
    }

    fn queues(&self, dir: Dir) -> Vec<&queue::Config> {
        vec![dir.pick(&self.downlink.queue, &self.uplink.queue)]
    }

    fn largest_sdu(&self, dir: Dir) -> Option<u32> {
        dir.pick(&self.downlink.rlc, &self.uplink.rlc).largest_sdu()
    }

    /// In the downlink, a STATUS PDU waits for a scheduling request and its grant, and the retransmission
    /// takes a downlink block. In the uplink the roles are exchanged.
    fn remarks(&self) -> Vec<ScenarioError> {
        let (downlink, uplink) = (&self.downlink, &self.uplink);
        let standing = uplink.scheduled.as_ref().and_then(|own| own.standing.as_ref());
        let asked = standing.map_or(uplink.sr_period, |standing| standing.every);
        let grant = asked + uplink.processing + SLOT + uplink.delay;
        let retransmission = grant + SLOT + downlink.delay;
        let harq =
            |transmissions: u8| SLOT.saturating_mul(ROUND_TRIP * u64::from(transmissions.saturating_sub(1)));
        let blockage = downlink.reception.blocked();
        let repair = |transmissions| rlc::nr::Repair { harq: harq(transmissions), retransmission, blockage };
        let [down, up] = self.pdcp();
        let mut remarks =
            rlc::nr::remarks(Dir::Downlink, &downlink.rlc, &down, repair(downlink.harq.max_transmissions));
        remarks.extend(rlc::nr::remarks(Dir::Uplink, &uplink.rlc, &up, repair(uplink.max_transmissions())));
        remarks
    }

    fn has_handovers(&self) -> bool {
        true
    }

    fn subcarrier_hz(&self) -> Option<f64> {
        Some(15e3)
    }

    fn has_pdus(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.downlink.validate(self.ues).map_err(|error| error.under("downlink"))?;
        let prbs = self.downlink.blocks.prbs().unwrap_or_default();
        self.uplink.validate(self.ues, prbs).map_err(|error| error.under("uplink"))?;
        if let Some(uplink) = &self.uplink.scheduled {
            let shared = self.downlink.reception.check_shared(&uplink.reception);
            shared.map_err(|error| error.under("uplink.scheduled.reception"))?;
        }
        if let Some(activity) = &self.activity {
            activity.validate(Offers::default()).map_err(|error| error.under("activity"))?;
        }
        rlc::Config::check_pair([&self.downlink.rlc, &self.uplink.rlc], true)
    }
}

impl Config {
    /// PDCP of both directions, where the link layer has it.
    fn pdcp(&self) -> [pdcp::Config; 2] {
        [&self.downlink.pdcp, &self.uplink.pdcp].map(|pdcp| pdcp.clone().unwrap_or_default())
    }

    /// `None` if its link layers are incompatible, which validation rejects.
    fn ue(&self, plan: &Plan<'_>, ue: u16, setup: &Setup, up_rate: Bitrate) -> Option<Ue> {
        let (downlink, uplink) = (&self.downlink, &self.uplink);
        let pdcp = self.pdcp();
        let (down, up) = (downlink.rlc.ttis()?, uplink.rlc.ttis()?);
        let heard = || plan.sinr(&downlink.reception, (ue, 0), setup.slots_per_s());
        let rate = setup.mean_rate(heard());
        let bearers = [
            RlcBearer::new(
                (&downlink.queue, &downlink.rlc, down),
                (rate, downlink.delay),
                plan,
                ue,
                Dir::Downlink,
            )
            .with_pdcp(&downlink.rlc, &pdcp[0]),
            RlcBearer::new((&uplink.queue, &uplink.rlc, up), (up_rate, uplink.delay), plan, ue, Dir::Uplink)
                .with_pdcp(&uplink.rlc, &pdcp[1]),
        ];
        let silences = Silences::of(plan.handovers, ue);
        let carrier = uplink.scheduled.is_none().then(|| uplink.carrier(plan, ue, up, &silences));
        let times = downlink.adaptation.slots(SLOT, (PERIOD, AGE));
        Some(Ue::new(
            RlcPair::new([&downlink.rlc, &uplink.rlc], [&pdcp[0], &pdcp[1]], bearers)?,
            mac::Reception::new(heard(), &downlink.adaptation, times, plan.run_seed, (ue, Dir::Downlink))
                .with_interference(plan.air.and_then(|air| air.interference(ue, setup.slots_per_s()))),
            downlink.harq.processes.unwrap_or(ROUND_TRIP as u8),
            (Source::Rlc, None, Numbers::new(None)),
            carrier,
            silences,
        ))
    }
}

impl DownlinkConfig {
    fn validate(&self, ues: u16) -> Result<(), ScenarioError> {
        self.queue.validate().map_err(|error| error.under("queue"))?;
        self.reception.validate(ues).map_err(|error| error.under("reception"))?;
        self.blocks.validate().map_err(|error| error.under("blocks"))?;
        validate_layer_loss(self.blocks.layers, &self.layer_loss)?;
        self.scheduler.validate().map_err(|error| error.under("scheduler"))?;
        if self.group.is_some_and(|group| !(1..=6).contains(&group)) {
            return Err(ScenarioError::new("group", "is no size of a resource block group", "write 1 to 6"));
        }
        if self.ues_per_tti == Some(0) {
            return Err(ScenarioError::new("ues_per_tti", "no UE would get a block", "write 1 to 255"));
        }
        if let Some(load) = &self.load {
            load.validate().map_err(|error| error.under("load"))?;
        }
        self.adaptation.validate(SLOT).map_err(|error| error.under("adaptation"))?;
        self.harq.validate(ROUND_TRIP).map_err(|error| error.under("harq"))?;
        self.rlc.check_pdcp(self.pdcp.as_ref())?;
        validate_rlc(&self.rlc, self.harq.max_transmissions, "harq.max_transmissions")
    }
}

impl UplinkConfig {
    /// Rate while grants follow each other.
    fn rate(&self) -> Bitrate {
        Bitrate::from_bps((self.block.as_u64() as f64 * 8.0 / self.interval.as_secs_f64()) as u64)
    }

    /// The grants of a UE, and how its blocks are lost.
    fn carrier(&self, plan: &Plan<'_>, ue: u16, ttis: rlc::Ttis, silences: &Silences) -> Carrier {
        let losses = Losses::Harq {
            lost: Threshold::from(self.bler),
            stream: rng::stream(plan.run_seed, &format!("ue{ue}.uplink.errors")),
            max_transmissions: self.max_transmissions,
            round_trip: SLOT.saturating_mul(ROUND_TRIP),
            silences: silences.clone(),
        };
        // The occasions of the UEs follow each other.
        let offset = Duration::from_nanos(u64::from(ue) * SLOT.as_nanos() % self.sr_period.as_nanos());
        let grants = Grants::new(self.sr_period, offset, self.processing, self.interval);
        let room = self.block.as_u64() - u64::from(HEADER_OCTETS);
        Carrier::granted(ttis, room, grants, losses)
    }

    fn max_transmissions(&self) -> u8 {
        self.scheduled.as_ref().map_or(self.max_transmissions, |own| own.harq.max_transmissions)
    }

    /// Rejects keys that have no effect on a scheduled uplink.
    fn check_unused(&self) -> Result<(), ScenarioError> {
        let free = Self::default();
        let given = [
            ("processing", self.processing != free.processing, "remove it: a grant takes 8 ms there"),
            ("interval", self.interval != free.interval, "remove it: the scheduler decides"),
            ("block", self.block != free.block, "write scheduled.most_block"),
            ("bler", self.bler != free.bler, "write scheduled.harq.bler"),
            (
                "max_transmissions",
                self.max_transmissions != free.max_transmissions,
                "write scheduled.harq.max_transmissions",
            ),
        ];
        match given.into_iter().find(|(_, is_given, _)| *is_given) {
            Some((key, _, hint)) => {
                Err(ScenarioError::new(key, "has no effect on an uplink that is scheduled", hint))
            }
            None => Ok(()),
        }
    }

    fn validate(&self, ues: u16, prbs: u32) -> Result<(), ScenarioError> {
        self.queue.validate().map_err(|error| error.under("queue"))?;
        let times = [("sr_period", self.sr_period), ("interval", self.interval)];
        for (key, time) in times {
            if time.is_zero() || !time.as_nanos().is_multiple_of(SLOT.as_nanos()) {
                let message = format!("{time} is no whole number of TTIs");
                return Err(ScenarioError::new(key, message, "write 1 ms, or a multiple of it"));
            }
        }
        if !(16..=9422).contains(&self.block.as_u64()) {
            return Err(ScenarioError::new("block", "is no size of a transport block", "write 16 to 9422 B"));
        }
        if self.bler.as_f64() >= 1.0 {
            return Err(ScenarioError::new(
                "bler",
                "lets nothing arrive",
                "lower it, for example to \"10 %\"",
            ));
        }
        if !(1..=16).contains(&self.max_transmissions) {
            let hint = "write 1 to 16, such as 4";
            return Err(ScenarioError::new("max_transmissions", "is no number of transmissions", hint));
        }
        self.rlc.check_pdcp(self.pdcp.as_ref())?;
        let Some(scheduled) = &self.scheduled else {
            return validate_rlc(&self.rlc, self.max_transmissions, "max_transmissions");
        };
        self.check_unused()?;
        scheduled.validate(ues, prbs, &self.rlc).map_err(|error| error.under("scheduled"))
    }
}

/// Rejects a link layer that is not LTE's, or that does not wait for `transmissions` of HARQ, set by `key`.
pub(in crate::radio) fn validate_rlc(
    rlc: &rlc::Config,
    transmissions: u8,
    key: &str,
) -> Result<(), ScenarioError> {
    if rlc.ttis().is_none_or(|ttis| ttis.payload != 1) || rlc.pdu_octets().is_some() {
        let message = format!("rlc.{} has no PDUs that fill what is granted", rlc.name());
        return Err(ScenarioError::new(
            "rlc",
            message,
            "write rlc.am_lte, rlc.um_lte, rlc.am_nr or rlc.um_nr",
        ));
    }
    if transmissions > 1
        && let Some((timer, _)) = rlc.harq_timer().filter(|(_, time)| time.is_zero())
    {
        let message = "is zero, so that every transport block that HARQ repeats counts as lost";
        let hint = format!(
            "write more than the time in which HARQ repeats a block, such as \"50 ms\", or {key} = 1"
        );
        let error = ScenarioError::new(timer, message, hint);
        return Err(error.under(rlc.name()).under("rlc"));
    }
    rlc.validate_alone()
}
