//! High Speed Downlink Packet Access (HSDPA), Release 5: a downlink that the UEs of a cell share, and for each UE a
//! dedicated channel as its uplink, or an enhanced one of Release 6 ([`edch`]).
//!
//! ```text
//! RNC: SDU buffer -> RLC -> Iub with credits -> Node B: queue of each UE -> scheduler -> block in a TTI of 2 ms, HARQ
//! UE:  MAC-hs reordering -> RLC -> packets;  ACKs and STATUS PDUs over a dedicated channel
//! ```
//!
//! A UE reports the row of its category's table (CQI) that it can receive; the Node B sends it a block of
//! that row ([`formats`](crate::radio::phy::hsdpa)). HARQ retransmits lost blocks within 12 ms, the UE puts blocks in order
//! ([`reordering`](crate::radio::mac::reordering)), and RLC in the RNC recovers blocks that HARQ discards. When
//! the UE changes the cell, all data in HARQ and in the Node B is lost.
//!
//! Sources: TS 25.308, TS 25.211 §7.7 (timing), TS 25.214 §6A.2 (CQI), TS 25.321 §11.6 (MAC-hs), TS 25.435 (Iub).

mod edch;
mod timers;

use crate::activity::{self, Offers};
use crate::channel;
use crate::element::Element;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::pdcp;
use crate::queue;
use crate::radio::activity::with_activity;
use crate::radio::dch;
use crate::radio::mac::carrier::Carrier;
use crate::radio::mac::reordering::{LARGEST_WINDOW, Numbers};
use crate::radio::mac::{
    self, Adaptation, Frame, Framing, HarqConfig, Reordered, Setup, SharedCell, Shares, Source, Ue, iub,
};
use crate::radio::outages::{Silences, with_outages};
use crate::radio::phy::hsdpa::{Category, HEADER_BITS, Hsdpa};
use crate::radio::rlc_bearer::RlcBearer;
use crate::radio::rlc_pair::RlcPair;
use crate::radio::{Component, Plan};
use crate::registry::parameters;
use crate::rlc::{self, Errors};
use crate::scheduler;
use crate::sinr;
use crate::time::Duration;
use crate::units::Bitrate;

parameters! {
    /// A cell of HSDPA.
    pub struct Config {
        /// Number of UEs.
        pub ues: u16 = 1,
        /// The downlink, which the UEs share.
        pub downlink: DownlinkConfig,
        /// A dedicated channel from each UE.
        pub uplink: UplinkConfig,
        /// DRX and RRC states of silent UEs; always active if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub activity: Option<activity::Config>,
    }

    /// The downlink.
    pub struct DownlinkConfig {
        /// Discipline of each UE's SDU buffer in the RNC.
        pub queue: queue::Config,
        /// Link layer: rlc.am, rlc.um or rlc.tm; their TTIs are those of the cell.
        pub rlc: rlc::Config = rlc::Config::Am(am()),
        /// Reception of the UEs: signal-to-interference-and-noise ratio per chip of the HS-PDSCH, before
        /// despreading.
        pub reception: sinr::Config,
        /// Category of the UEs (TS 25.306 table 5.1a), 1 to 12: codes, least time between blocks, largest block.
        pub category: u8 = 8,
        /// Codes that the cell gives to HSDPA, 1 to 15.
        pub codes: u8 = 10,
        /// Scheduler, which selects the UE to serve next.
        pub scheduler: scheduler::Config,
        /// UEs in a TTI, up to 4: each takes codes and a control channel (HS-SCCH).
        pub ues_per_tti: u8 = 1,
        /// Load of UEs that are not simulated; none if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load: Option<mac::Load>,
        /// Reports of channel quality, and link adaptation.
        pub adaptation: Adaptation,
        /// Retransmission of blocks.
        pub harq: HarqConfig,
        /// MAC-hs at the UE.
        pub reordering: ReorderingConfig,
        /// Between RNC and Node B.
        pub iub: iub::Config,
        /// From the end of a TTI in the Node B to the delivery of the SDU at the UE: the HS-PDSCH starts 2
        /// slots after the HS-SCCH, and the UE decodes within 7.5.
        pub delay: Duration = Duration::from_nanos(6_300_000),
    }

    /// A UE's dedicated channel to the network.
    pub struct UplinkConfig {
        /// Rate at IP level.
        pub rate: Bitrate = Bitrate::from_bps(64_000),
        /// One-way delay after the transmission.
        pub delay: Duration = Duration::from_millis(15),
        /// Discipline of the UE's SDU buffer.
        pub queue: queue::Config,
        /// Link layer, as that of the downlink.
        pub rlc: rlc::Config = rlc::Config::Am(rlc::am::Config { tti: Duration::from_millis(20), ..am() }),
        /// Block errors.
        pub channel: channel::Config,
        /// An enhanced dedicated channel (E-DCH) instead of the dedicated channel: its blocks replace `rate`
        /// and `channel`. If absent, the dedicated channel is used.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub edch: Option<edch::Config>,
    }

    /// MAC-hs at the UE, which puts blocks in order.
    pub struct ReorderingConfig {
        /// T1: how long the UE waits for a missing block, from the first later block on; if absent, until the
        /// window has moved beyond it.
        pub t1: Option<Duration> = Some(Duration::from_millis(60)),
        /// Window of transmission sequence numbers (TSN), up to 32.
        pub window: u8 = 16,
    }
}

/// A large window, and timers that outlast the round trip over Iub and HARQ.
fn am() -> rlc::am::Config {
    rlc::am::Config {
        tti: SLOT,
        configured_tx_window_size: 2047,
        configured_rx_window_size: 2047,
        timer_poll: Some(Duration::from_millis(200)),
        timer_status_prohibit: Some(Duration::from_millis(100)),
        ..Default::default()
    }
}

/// A TTI.
const SLOT: Duration = Duration::from_millis(2);

/// TTIs from one transmission of a process to the next: 12 ms.
const ROUND_TRIP: u64 = 6;

/// TTIs from the measurement of a report to its first use: 5.3 ms and processing.
const AGE: u64 = 3;

/// TTIs over which the scheduler averages: 100 ms.
const WINDOW: u32 = 50;

/// The most UEs in a TTI: HS-SCCHs that a UE listens to.
const MOST_IN_TTI: u8 = 4;

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let setup = self.setup();
        let uplink = self.uplink.edch.as_ref().map(|own| {
            let shared = own.setup(self.ues, self.uplink_pdu_bits() as u32, self.uplink.delay);
            (shared, (0..self.ues).map(|ue| own.sender(plan, ue)).collect())
        });
        let up_rate = uplink.as_ref().map_or(self.uplink.rate, |(uplink, _)| uplink.largest_rate());
        let ues = (0..self.ues).filter_map(|ue| self.ue(plan, ue, &setup, up_rate)).collect();
        let cell = SharedCell::new(setup, ues, None);
        let mut cell = cell.with_load(self.downlink.load.as_ref(), plan.run_seed);
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

    fn has_handovers(&self) -> bool {
        true
    }

    fn has_pdus(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.downlink.validate(self.ues).map_err(|error| error.under("downlink"))?;
        self.uplink.bearer().validate().map_err(|error| error.under("uplink"))?;
        if let Some(edch) = &self.uplink.edch {
            self.uplink.check_unused().map_err(|error| error.under("uplink"))?;
            edch.validate(self.ues, self.uplink_pdu_bits())
                .map_err(|error| error.under("edch").under("uplink"))?;
            let shared = self.downlink.reception.check_shared(&edch.reception);
            shared.map_err(|error| error.under("uplink.edch.reception"))?;
        }
        if let Some(activity) = &self.activity {
            activity.validate(Offers::default()).map_err(|error| error.under("activity"))?;
        }
        rlc::Config::check_pair([&self.downlink.rlc, &self.uplink.rlc], true)
    }

    fn remarks(&self) -> Vec<ScenarioError> {
        self.short_timers()
    }
}

impl Config {
    /// Parameters of the cell, without its UEs.
    fn setup(&self) -> Setup {
        let downlink = &self.downlink;
        let category = Category::of_valid(downlink.category);
        let pdu_bits = self.pdu_bits() as u32;
        Setup {
            name: "radio.hsdpa",
            slot: SLOT,
            air: Box::new(Hsdpa::new(category, downlink.codes.into(), pdu_bits)),
            special_air: None,
            framing: Framing::Pdus { header_bits: HEADER_BITS, pdu_bits },
            scheduler: downlink.scheduler.build(self.ues.into(), WINDOW),
            units: downlink.codes.into(),
            group: 1,
            subband: None,
            shares: Shares::InTurn,
            carriers: 1,
            ues_per_slot: downlink.ues_per_tti.into(),
            least_interval: category.inter_tti.into(),
            frame: Frame::fdd(ROUND_TRIP),
            harq: downlink.harq.clone(),
        }
    }

    fn pdu_bits(&self) -> u64 {
        8 * self.downlink.rlc.pdu_octets().unwrap_or(1)
    }

    fn uplink_pdu_bits(&self) -> u64 {
        8 * self.uplink.rlc.pdu_octets().unwrap_or(1)
    }

    /// `None` if its link layers are incompatible, which validation rejects.
    fn ue(&self, plan: &Plan<'_>, ue: u16, setup: &Setup, up_rate: Bitrate) -> Option<Ue> {
        let (downlink, uplink) = (&self.downlink, &self.uplink);
        let (down, up) = (downlink.rlc.ttis()?, uplink.rlc.ttis()?);
        let heard =
            || sinr::Sinr::new(&downlink.reception, plan.run_seed, (ue, Dir::Downlink), setup.slots_per_s());
        let rate = setup.mean_rate(heard());
        let bearers = [
            RlcBearer::new(
                (&downlink.queue, &downlink.rlc, down),
                (rate, downlink.delay),
                plan,
                ue,
                Dir::Downlink,
            ),
            RlcBearer::new((&uplink.queue, &uplink.rlc, up), (up_rate, uplink.delay), plan, ue, Dir::Uplink),
        ];
        let reordered = Reordered::new(downlink.reordering.window, downlink.reordering.t1);
        let silences = Silences::of(plan.handovers, ue);
        let carrier = uplink.edch.is_none().then(|| {
            let channel = uplink.channel.build(plan.run_seed, &format!("ue{ue}.uplink.channel"));
            Carrier::dedicated(uplink.rate, up, silences.clone().over(channel, up.tti))
        });
        let times = downlink.adaptation.slots(SLOT, (1, AGE));
        let no_pdcp = pdcp::Config::default();
        Some(Ue::new(
            RlcPair::new([&downlink.rlc, &self.uplink.rlc], [&no_pdcp, &no_pdcp], bearers)?,
            mac::Reception::new(heard(), &downlink.adaptation, times, plan.run_seed, (ue, Dir::Downlink)),
            downlink.harq.processes.unwrap_or(ROUND_TRIP as u8),
            (Source::node_b(&downlink.iub), Some(reordered), Numbers::new(Some(downlink.reordering.window))),
            carrier,
            silences,
        ))
    }
}

impl UplinkConfig {
    /// Equivalent bearer of a cell of dedicated channels, whose rules apply.
    fn bearer(&self) -> dch::BearerConfig {
        let Self { rate, delay, queue, rlc, channel, .. } = self.clone();
        dch::BearerConfig { rate, delay, queue, rlc, pdcp: None, channel }
    }
}

impl UplinkConfig {
    /// Rejects keys that have no effect on an enhanced dedicated channel.
    fn check_unused(&self) -> Result<(), ScenarioError> {
        let free = Self::default();
        let given = [
            ("rate", self.rate != free.rate, "remove it: edch.category bounds the rate"),
            ("channel", self.channel != free.channel, "write edch.harq.bler"),
        ];
        match given.into_iter().find(|(_, is_given, _)| *is_given) {
            Some((key, _, hint)) => {
                Err(ScenarioError::new(key, "has no effect on an enhanced dedicated channel", hint))
            }
            None => Ok(()),
        }
    }
}

impl ReorderingConfig {
    fn validate(&self) -> Result<(), ScenarioError> {
        if !(1..=LARGEST_WINDOW).contains(&self.window) {
            let hint = "write 1 to 32: half of the 64 numbers at most";
            return Err(ScenarioError::new("window", "is no window of TSNs", hint));
        }
        if self.t1.is_some_and(Duration::is_zero) {
            let hint = "write a time such as \"60 ms\"";
            return Err(ScenarioError::new("t1", "gives a block up before it can be sent again", hint));
        }
        Ok(())
    }
}

impl DownlinkConfig {
    fn validate(&self, ues: u16) -> Result<(), ScenarioError> {
        self.queue.validate().map_err(|error| error.under("queue"))?;
        self.reception.validate(ues).map_err(|error| error.under("reception"))?;
        Category::of(self.category)?;
        if !(1..=15).contains(&self.codes) {
            return Err(ScenarioError::new("codes", "is no number of codes", "write 1 to 15"));
        }
        self.scheduler.validate().map_err(|error| error.under("scheduler"))?;
        if !(1..=MOST_IN_TTI).contains(&self.ues_per_tti) {
            let hint = format!("write 1 to {MOST_IN_TTI}");
            return Err(ScenarioError::new("ues_per_tti", "is no number of UEs in a TTI", hint));
        }
        if let Some(load) = &self.load {
            load.validate().map_err(|error| error.under("load"))?;
        }
        self.adaptation.validate(SLOT).map_err(|error| error.under("adaptation"))?;
        self.harq.validate(ROUND_TRIP).map_err(|error| error.under("harq"))?;
        self.iub.validate().map_err(|error| error.under("iub"))?;
        self.reordering.validate().map_err(|error| error.under("reordering"))?;
        self.validate_rlc()
    }

    fn validate_rlc(&self) -> Result<(), ScenarioError> {
        let ttis = self.rlc.ttis().filter(|ttis| ttis.errors == Errors::PerTti);
        let (Some(_), Some(octets)) = (ttis, self.rlc.pdu_octets()) else {
            let message = format!(
                "rlc.{} has no PDUs of one size that share the outcome of their TTI",
                self.rlc.name()
            );
            let hint = "write rlc.am, rlc.um or rlc.tm, with errors = \"per_tti\"";
            return Err(ScenarioError::new("rlc", message, hint));
        };
        let largest = Category::of(self.category)?.largest_bits;
        if octets.saturating_mul(8) > u64::from(largest - HEADER_BITS) {
            let message =
                format!("a PDU of {octets} B is larger than any block of category {}", self.category);
            return Err(ScenarioError::new("rlc", message, "write smaller PDUs, or another category"));
        }
        self.rlc.validate_alone()
    }
}
