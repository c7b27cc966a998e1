//! 5G New Radio (NR): a cell whose UEs share downlink and uplink, modelled per slot, with TDD and FDD.
//!
//! ```text
//! gNB: buffer -> PDCP, RLC -> scheduler -> transport block in a slot, HARQ -> UE: RLC, PDCP -> packets
//! UE:  buffer -> PDCP, RLC -> SR, grant, transport block with BSR, HARQ -> gNB
//! ```
//!
//! The [`Frame`] defines the direction of each slot, K1, K2, and the gNB's processing time from an answer to
//! a decision. A row of the link adaptation is a number of layers and an MCS
//! ([`formats`](crate::radio::phy::nr)). Sizes follow TS 38.214 exactly
//! ([`blocks`](crate::radio::phy::nr::blocks)), and block errors follow finite-blocklength theory
//! (`phy::nr::curve`). HARQ adds the information of a block's transmissions (incremental redundancy,
//! `phy::nr::information`). The uplink is granted: SR, BSR, dynamic and standing grants, HARQ
//! ([`crate::radio::mac`]).
//!
//! Left out: beams, precoding and PMI, MU-MIMO, code block groups, dynamic TDD and mini-slots, bandwidth part switches,
//! errors of control channels, random access as a procedure, interference by load.
//!
//! Sources: TS 38.211 (frame), 38.212 (segmentation), 38.213, 38.214 (CSI, MCS, sizes, timing), 38.321 (HARQ, SR, BSR).

mod cell;
mod second_bearer;

use crate::activity::{self, Offers};
use crate::element::Element;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::pdcp;
use crate::queue;
use crate::radio::Component;
use crate::radio::Plan;
use crate::radio::lte;
use crate::radio::mac::{
    self, Adaptation, Frame, HarqConfig, Shares, Slot, Standing, Timing, layer_loss, validate_grants,
    validate_layer_loss, whole_slots,
};
use crate::radio::phy::nr::{self as formats, DownlinkBlocks, Report, UplinkBlocks};
use crate::registry::parameters;
use crate::rlc;
use crate::scheduler;
use crate::sinr;
use crate::time::Duration;
use crate::units::{Bytes, Decibel, Frequency};
use second_bearer::SecondBearer;

parameters! {
    /// A cell of 5G NR.
    pub struct Config {
        /// Number of UEs.
        pub ues: u16 = 1,
        /// Subcarrier spacing: 15, 30, 60 or 120 kHz. A slot lasts 1, 0.5, 0.25 or 0.125 ms.
        pub scs: Frequency = Frequency::from_millihertz(30_000_000),
        /// The slots of a TDD pattern, D (downlink), S (special) and U (uplink), or "FDD".
        pub frame: String = "DDDDDDDSUU".to_owned(),
        /// Symbols of a special slot.
        pub special: Special,
        /// From a decision to the slot that it is about.
        pub lead: Duration = Duration::from_millis(1),
        /// From the end of an uplink slot to a decision based on its contents: answers, requests, reports.
        pub processing: Duration = Duration::from_millis(1),
        /// Number of downlink carriers, 1 to 8 (carrier aggregation). They have equal parameters; each has
        /// its own fading, reports and HARQ, and all serve one RLC entity. Answers use the first; so does the
        /// uplink, unless uplink.carriers is larger.
        pub carriers: u8 = 1,
        /// K1: slots from a block to its answer at least.
        pub k1: u8 = 4,
        /// K2: slots from a grant to its block at least.
        pub k2: u8 = 4,
        /// The downlink, which the UEs share.
        pub downlink: DownlinkConfig,
        /// The uplink, which the UEs share.
        pub uplink: UplinkConfig,
        /// A second data radio bearer of each UE; absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub second_bearer: Option<SecondBearer>,
        /// DRX and RRC states of silent UEs; always active if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub activity: Option<activity::Config>,
    }

    /// Symbols of a special slot; the rest of the 14 symbols is the guard.
    pub struct Special {
        /// Symbols of the downlink.
        pub down: u8 = 6,
        /// Symbols of the uplink; they carry neither blocks nor answers.
        pub up: u8 = 4,
    }

    /// The downlink.
    pub struct DownlinkConfig {
        /// Discipline of each UE's buffer in the gNB; by default droptail of 6 MB of queued packets.
        pub queue: queue::Config = droptail(6_000_000),
        /// Link layer: rlc.am_nr or rlc.um_nr.
        pub rlc: rlc::Config = rlc::Config::AmNr(Default::default()),
        /// PDCP above it.
        pub pdcp: pdcp::Config,
        /// Reception of the UEs on a single layer: signal-to-interference-and-noise ratio.
        pub reception: sinr::Config,
        /// Transport blocks.
        pub blocks: DownlinkBlocks,
        /// By how much the SINR of a layer is lower with 1, 2, 3 and 4 of them: their share of the power (0, 3, 4.8 and
        /// 6 dB), and their interference.
        pub layer_loss: Vec<Decibel> = layer_loss(),
        /// Scheduler, which selects the UE to serve next.
        pub scheduler: scheduler::Config,
        /// How the resource blocks of a slot are shared out.
        pub sharing: Sharing,
        /// Size of a resource block group (RBG), PRBs. UEs get whole groups; only the last group may be
        /// smaller. If absent, by the bandwidth (TS 38.214 table 5.1.2.2.1-1, configuration 1: 2 up to 36
        /// PRBs, 4 up to 72, 8 up to 144, else 16).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub group: Option<u8>,
        /// Subbands that fade on their own; if absent, one SINR holds for the whole carrier.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub subbands: Option<Subbands>,
        /// Load of UEs that are not simulated; none if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load: Option<mac::Load>,
        /// Reports of channel quality, and link adaptation; if absent, a report every 20 ms, used after 5 ms.
        pub adaptation: Adaptation,
        /// Form of a UE's channel report.
        pub report: Report,
        /// Retransmission of blocks; if absent with 16 processes.
        pub harq: HarqConfig,
        /// From the end of a slot to the delivery of the packet at the UE.
        pub delay: Duration = Duration::from_millis(1),
    }

    /// Subbands of a carrier, which fade independently.
    pub struct Subbands {
        /// Their size, one of the two of TS 38.214 table 5.2.1.4-2 for the bandwidth.
        pub size: SubbandSize,
        /// What UEs report.
        pub report: SubbandReport,
    }

    /// Size of a subband.
    pub enum SubbandSize {
        /// 4 PRBs from 24 on, 8 from 73 on, 16 from 145 on.
        #[default]
        Small,
        /// Twice as many.
        Large,
    }

    /// Reports about a carrier with subbands.
    pub enum SubbandReport {
        /// One CQI for the carrier, and for each subband whether it is below, at, one above, or more above that.
        #[default]
        Subband,
        /// One CQI for the carrier.
        Wideband,
    }

    /// How the resource blocks of a slot are shared out.
    pub enum Sharing {
        /// The UE that is chosen first gets all that it can use, then the next.
        #[default]
        InTurn,
        /// All UEs with data get the same number of RBGs; RBGs that a UE does not need go to the others.
        MaxMin,
        /// All UEs with data get the same number of RBGs, needed or not; an indivisible rest stays unused.
        Equally,
    }

    /// The uplink.
    pub struct UplinkConfig {
        /// Discipline of each UE's buffer; by default droptail of 1 MB of queued packets.
        pub queue: queue::Config = droptail(1_000_000),
        /// Link layer: rlc.am_nr or rlc.um_nr.
        pub rlc: rlc::Config = rlc::Config::AmNr(Default::default()),
        /// PDCP above it.
        pub pdcp: pdcp::Config,
        /// SINR of a UE at the gNB on a single PRB at full power; on n PRBs it is 10 log10(n) dB lower. At 40
        /// dB a UE has 67 Mbit/s of 100 MHz and TDD, at 15 dB 2 Mbit/s.
        pub reception: sinr::Config = uplink_reception(),
        /// Transport blocks.
        pub blocks: UplinkBlocks,
        /// Time between two occasions for a scheduling request (SR) of a UE.
        pub sr_period: Duration = Duration::from_millis(10),
        /// Octets of SDUs granted for a scheduling request.
        pub first_block: Bytes = Bytes::from_bytes(300),
        /// Number of uplink carriers, at most those of the downlink. They have equal parameters, and each has its own
        /// fading and HARQ. A UE's power is shared equally among them. Requests and standing grants use the first.
        pub carriers: u8 = 1,
        /// Maximum number of octets of SDUs granted to a UE per slot on a carrier.
        pub most_block: Bytes = Bytes::from_bytes(20_000),
        /// Grants that a UE has without asking (proactive or configured grants); absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub standing: Option<Standing>,
        /// Scheduler, which selects the UE to serve next.
        pub scheduler: scheduler::Config,
        /// Link adaptation at the gNB; if absent it measures in each slot, and uses the measurement after the
        /// times of the frame.
        pub adaptation: Adaptation,
        /// Retransmission of blocks; if absent with 16 processes.
        pub harq: HarqConfig,
        /// From the end of a slot to the packet that the gNB passes on.
        pub delay: Duration = Duration::from_millis(2),
    }
}

fn droptail(bytes: u64) -> queue::Config {
    let in_service = queue::droptail::InService::Excluded;
    queue::Config::Droptail(queue::droptail::Config {
        packets: None,
        bytes: Some(Bytes::from_bytes(bytes)),
        in_service,
    })
}

fn uplink_reception() -> sinr::Config {
    sinr::Config {
        mean_sinr: crate::each::Each::All(Decibel::from_thousandths(40_000)),
        ..Default::default()
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

/// HARQ processes of a UE, the maximum since Release 17.
const PROCESSES: u8 = 16;
const MOST_PROCESSES: u64 = 32;

/// The most carriers that a UE aggregates here.
const MOST_CARRIERS: u8 = 8;

/// The longest pattern: 10 ms of 120 kHz.
const LONGEST_PATTERN: usize = 80;

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        self.cell(plan)
    }

    fn ues(&self) -> u16 {
        self.ues
    }

    fn queues(&self, dir: Dir) -> Vec<&queue::Config> {
        let second = self.second_bearer.as_ref().map(|own| &dir.pick(&own.downlink, &own.uplink).queue);
        [dir.pick(&self.downlink.queue, &self.uplink.queue)].into_iter().chain(second).collect()
    }

    fn largest_sdu(&self, _dir: Dir) -> Option<u32> {
        Some(pdcp::LARGEST_SDU)
    }

    /// In the downlink, a STATUS PDU waits for a scheduling request and its grant, and the retransmission for
    /// a slot. In the uplink the roles are exchanged.
    fn remarks(&self) -> Vec<ScenarioError> {
        let (downlink, uplink, slot) = (&self.downlink, &self.uplink, self.slot());
        let frame = self.frame();
        let pattern = slot.saturating_mul(2 * frame.period());
        let asked = uplink.standing.as_ref().map_or(uplink.sr_period, |standing| standing.every);
        let retransmission =
            asked + pattern + self.lead + self.lead + self.processing + uplink.delay + downlink.delay;
        let longest = slot.saturating_mul(frame.longest_round_trip());
        let repair = |harq: &HarqConfig, reception: &sinr::Config| rlc::nr::Repair {
            harq: longest.saturating_mul(u64::from(harq.max_transmissions.saturating_sub(1))),
            retransmission,
            blockage: reception.blocked(),
        };
        let (down, up) =
            (repair(&downlink.harq, &downlink.reception), repair(&uplink.harq, &uplink.reception));
        let mut remarks = rlc::nr::remarks(Dir::Downlink, &downlink.rlc, &downlink.pdcp, down);
        remarks.extend(rlc::nr::remarks(Dir::Uplink, &uplink.rlc, &uplink.pdcp, up));
        if let Some(second) = &self.second_bearer {
            let (one, other) = (&second.downlink, &second.uplink);
            let mut of_second = rlc::nr::remarks(Dir::Downlink, &one.rlc, &one.pdcp, down);
            of_second.extend(rlc::nr::remarks(Dir::Uplink, &other.rlc, &other.pdcp, up));
            remarks.extend(of_second.into_iter().map(|remark| remark.under("second_bearer")));
        }
        remarks
    }

    fn has_handovers(&self) -> bool {
        true
    }

    fn subcarrier_hz(&self) -> Option<f64> {
        Some(self.scs.as_hz())
    }

    fn has_pdus(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.validate_frame()?;
        self.downlink.validate(self).map_err(|error| error.under("downlink"))?;
        self.uplink.validate(self).map_err(|error| error.under("uplink"))?;
        let shared = self.downlink.reception.check_shared(&self.uplink.reception);
        shared.map_err(|error| error.under("uplink.reception"))?;
        if let Some(second) = &self.second_bearer {
            let transmissions = [self.downlink.harq.max_transmissions, self.uplink.harq.max_transmissions];
            second.validate(transmissions).map_err(|error| error.under("second_bearer"))?;
        }
        if let Some(activity) = &self.activity {
            let offers = Offers { inactive: true, ..Offers::default() };
            activity.validate(offers).map_err(|error| error.under("activity"))?;
        }
        rlc::Config::check_pair([&self.downlink.rlc, &self.uplink.rlc], true)
    }
}

impl Config {
    /// Subcarrier spacing in kHz, if NR uses it for data.
    fn scs_khz(&self) -> Option<u32> {
        [15, 30, 60, 120].into_iter().find(|khz| u64::from(*khz) * 1_000_000 == self.scs.as_millihertz())
    }

    /// A slot of a valid cell.
    fn slot(&self) -> Duration {
        Duration::from_nanos(15_000_000 / u64::from(self.scs_khz().unwrap_or(15)))
    }

    /// Number of slots for this time, rounded up.
    fn slots(&self, time: Duration) -> u64 {
        time.as_nanos().div_ceil(self.slot().as_nanos())
    }

    /// The frame of a valid cell.
    fn frame(&self) -> Frame {
        let has_room = formats::downlink_elements(&self.downlink.blocks, self.special.down) > 0;
        let slot = |letter| match letter {
            'D' => Slot::Down,
            'S' if has_room => Slot::Special,
            'S' => Slot::Guard,
            _ => Slot::Up,
        };
        let pattern = match self.frame.as_str() {
            "FDD" => vec![Slot::Both],
            pattern => pattern.chars().map(slot).collect(),
        };
        let timing = Timing {
            lead: self.slots(self.lead),
            processing: self.slots(self.processing),
            k1: self.k1.into(),
            k2: self.k2.into(),
        };
        Frame::of(pattern, timing)
    }

    fn validate_frame(&self) -> Result<(), ScenarioError> {
        if self.scs_khz().is_none() {
            let message = format!("{} is no subcarrier spacing of NR", self.scs);
            return Err(ScenarioError::new("scs", message, "write \"30 kHz\", or 15, 60 or 120 kHz"));
        }
        let pattern = self.frame.as_str();
        let all_known =
            pattern.chars().all(|letter| "DSU".contains(letter)) && pattern.len() <= LONGEST_PATTERN;
        if pattern != "FDD" && !(all_known && pattern.contains('D') && pattern.contains('U')) {
            let message = format!("\"{pattern}\" is no pattern of slots with a downlink and an uplink");
            let hint = "write \"FDD\", or D, S and U for up to 80 slots with a D and a U, such as \"DDDSU\"";
            return Err(ScenarioError::new("frame", message, hint));
        }
        let Special { down, up } = self.special;
        if u32::from(down) + u32::from(up) > 14 {
            let message = format!("{down} and {up} symbols are more than the 14 of a slot");
            return Err(ScenarioError::new("special", message, "write fewer, such as { down = 10, up = 2 }"));
        }
        let longest = Duration::from_millis(50);
        for (key, time) in [("lead", self.lead), ("processing", self.processing)] {
            if time > longest {
                let message = format!("{time} is longer than any gNB takes");
                return Err(ScenarioError::new(key, message, "write 50 ms at most, such as \"1 ms\""));
            }
        }
        if !(1..=MOST_CARRIERS).contains(&self.carriers) {
            let message = format!("{} carriers", self.carriers);
            return Err(ScenarioError::new("carriers", message, "write 1 to 8, such as 4"));
        }
        for (key, slots) in [("k1", self.k1), ("k2", self.k2)] {
            if !(1..=32).contains(&slots) {
                let message = format!("{slots} slots");
                return Err(ScenarioError::new(key, message, "write 1 to 32 slots, such as 4"));
            }
        }
        Ok(())
    }
}

fn validate_rlc(rlc: &rlc::Config, pdcp: &pdcp::Config, transmissions: u8) -> Result<(), ScenarioError> {
    if !rlc.has_pdcp() {
        let message = format!("rlc.{} is no link layer of NR", rlc.name());
        return Err(ScenarioError::new("rlc", message, "write rlc.am_nr or rlc.um_nr"));
    }
    rlc.check_pdcp(Some(pdcp))?;
    lte::validate_rlc(rlc, transmissions, "harq.max_transmissions")
}

fn validate_harq(harq: &HarqConfig) -> Result<(), ScenarioError> {
    harq.validate(MOST_PROCESSES).map_err(|error| error.under("harq"))
}

impl DownlinkConfig {
    fn validate(&self, cell: &Config) -> Result<(), ScenarioError> {
        let scs = cell.scs_khz().unwrap_or_default();
        self.queue.validate().map_err(|error| error.under("queue"))?;
        self.reception.validate(cell.ues).map_err(|error| error.under("reception"))?;
        self.blocks.validate(scs).map_err(|error| error.under("blocks"))?;
        validate_layer_loss(self.blocks.layers, &self.layer_loss)?;
        self.scheduler.validate().map_err(|error| error.under("scheduler"))?;
        if self.group == Some(0) {
            return Err(ScenarioError::new(
                "group",
                "is no size of a resource block group",
                "write 1 to 255",
            ));
        }
        if self.subbands.is_some() {
            self.validate_subbands(cell)?;
        }
        if let Some(load) = &self.load {
            load.validate().map_err(|error| error.under("load"))?;
        }
        self.adaptation.validate(cell.slot()).map_err(|error| error.under("adaptation"))?;
        validate_harq(&self.harq)?;
        validate_rlc(&self.rlc, &self.pdcp, self.harq.max_transmissions)
    }
}

impl DownlinkConfig {
    /// Refuses subbands where the standard has none, or where they would cut resource block groups.
    fn validate_subbands(&self, cell: &Config) -> Result<(), ScenarioError> {
        let prbs = cell.prbs(self.blocks.bandwidth);
        let (Some(size), group) = (self.subband(prbs), self.group(prbs)) else {
            let message = format!("a carrier of {prbs} PRBs has none");
            let hint = "choose a bandwidth of 24 PRBs or more, or remove the table";
            return Err(ScenarioError::new("subbands", message, hint));
        };
        if !size.is_multiple_of(group) {
            let message = format!("{group} PRBs do not divide a subband of {size}");
            return Err(ScenarioError::new("group", message, format!("write {size}, or remove the key")));
        }
        Ok(())
    }

    /// PRBs of a resource block group.
    fn group(&self, prbs: u32) -> u32 {
        self.group.map_or_else(|| cell::group(prbs), u32::from)
    }

    /// PRBs of a subband of such a carrier, if there are any: TS 38.214 table 5.2.1.4-2.
    fn subband(&self, prbs: u32) -> Option<u32> {
        let small = match prbs {
            0..24 => return None,
            24..=72 => 4,
            73..=144 => 8,
            _ => 16,
        };
        let config = self.subbands.as_ref()?;
        Some(if config.size == SubbandSize::Large { 2 * small } else { small })
    }
}

impl UplinkConfig {
    fn validate(&self, cell: &Config) -> Result<(), ScenarioError> {
        let (scs, slot) = (cell.scs_khz().unwrap_or_default(), cell.slot());
        if !(1..=cell.carriers).contains(&self.carriers) {
            let message = format!("{} carriers, but the downlink has {}", self.carriers, cell.carriers);
            let hint = "write at least 1 and at most the carriers of the downlink (radio.nr.carriers)";
            return Err(ScenarioError::new("carriers", message, hint));
        }
        self.queue.validate().map_err(|error| error.under("queue"))?;
        self.reception.validate(cell.ues).map_err(|error| error.under("reception"))?;
        self.blocks.validate(scs).map_err(|error| error.under("blocks"))?;
        whole_slots("sr_period", self.sr_period, slot)?;
        validate_grants(slot, self.first_block, self.most_block, self.standing.as_ref())?;
        self.scheduler.validate().map_err(|error| error.under("scheduler"))?;
        self.adaptation.validate(slot).map_err(|error| error.under("adaptation"))?;
        validate_harq(&self.harq)?;
        validate_rlc(&self.rlc, &self.pdcp, self.harq.max_transmissions)
    }
}
