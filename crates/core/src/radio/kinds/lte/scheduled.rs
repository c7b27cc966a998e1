//! The scheduled form of LTE's uplink: the UEs of a cell share its PRBs ([`mac::uplink`](crate::radio::mac)).
//!
//! A scheduling request or buffer status report of TTI n is answered by a grant in n + 4 for a block in n +
//! 8, and a lost block is retransmitted in n + 8 (synchronous HARQ of FDD): TS 36.213 §8, §8.0; TS 36.321
//! §5.4.
//!
//! Left out: everything that [`mac::uplink`](crate::radio::mac) leaves out; adaptive retransmissions,
//! TTI bundling, semi-persistent scheduling beyond standing grants, open-loop power control (each UE sends at
//! full power).

use super::{FRAMING, ROUND_TRIP, SLOT, WINDOW, validate_rlc};
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::radio::Plan;
use crate::radio::mac::{
    Adaptation, Frame, HarqConfig, Reception, Sender, Slot, Standing, Timing, UplinkSetup, validate_grants,
};
use crate::radio::phy::lte::uplink::{self as uplink_blocks, LteUplink};
use crate::registry::parameters;
use crate::rlc;
use crate::scheduler;
use crate::sinr::{self, Sinr};
use crate::time::Duration;
use crate::units::{Bytes, Decibel};

parameters! {
    /// An uplink whose PRBs the eNodeB schedules among the UEs.
    pub struct Config {
        /// SINR of a UE at the eNodeB on a single PRB at full power; on n PRBs it is 10 log10(n) dB lower.
        pub reception: sinr::Config = reception(),
        /// Transport blocks. The bandwidth is that of the downlink.
        pub blocks: uplink_blocks::Config,
        /// Octets of SDUs granted for a scheduling request.
        pub first_block: Bytes = Bytes::from_bytes(300),
        /// Maximum number of octets of SDUs granted to a UE per TTI.
        pub most_block: Bytes = Bytes::from_bytes(10_000),
        /// Grants that a UE has without asking (proactive grants, semi-persistent scheduling); absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub standing: Option<Standing>,
        /// Scheduler, which selects the UE to serve next.
        pub scheduler: scheduler::Config,
        /// Link adaptation at the eNodeB; if absent it measures in each TTI, and uses the measurement 8 ms
        /// later.
        pub adaptation: Adaptation,
        /// Retransmission of blocks, 8 ms later each time.
        pub harq: HarqConfig,
    }
}

/// ASSUMED: a UE that fills 10 MHz with 16QAM.
fn reception() -> sinr::Config {
    sinr::Config {
        mean_sinr: crate::each::Each::All(Decibel::from_thousandths(30_000)),
        ..Default::default()
    }
}

/// TTIs from a grant to its block: TS 36.213 §8.0.
const K2: u64 = 4;

/// TTIs from a measurement to the block that uses it.
const AGE: u64 = ROUND_TRIP;

impl Config {
    /// A request of TTI n has its block in n + 8, and so has the retransmission of a block of n.
    fn frame() -> Frame {
        let timing = Timing { lead: 0, processing: ROUND_TRIP - 1 - K2, k1: 4, k2: K2 };
        Frame::of(vec![Slot::Both], timing)
    }

    /// The uplink of a valid cell with this number of UEs and PRBs.
    pub(super) fn setup(&self, ues: u16, prbs: u32, sr_period: Duration, delay: Duration) -> UplinkSetup {
        let ttis = |time: Duration| time.as_nanos() / SLOT.as_nanos();
        UplinkSetup {
            frame: Self::frame(),
            slot: SLOT,
            air: Box::new(LteUplink::new(&self.blocks, prbs)),
            framing: FRAMING,
            scheduler: self.scheduler.build(ues.into(), WINDOW),
            harq: self.harq.clone(),
            sr_period: ttis(sr_period),
            first_block: self.first_block.as_u64(),
            most_block: self.most_block.as_u64(),
            carriers: 1,
            standing: self.standing.as_ref().map(|own| (ttis(own.every), own.block.as_u64())),
            ramp: None,
            delay,
        }
    }

    /// A UE with its reception at the eNodeB.
    pub(super) fn sender(&self, plan: &Plan<'_>, ue: u16) -> Sender {
        let of = (ue, Dir::Uplink);
        let sinr = Sinr::new(&self.reception, plan.run_seed, of, 1.0 / SLOT.as_secs_f64());
        let times = self.adaptation.slots(SLOT, (1, AGE));
        let reception = Reception::new(sinr, &self.adaptation, times, plan.run_seed, of);
        Sender::new(reception, self.harq.processes.unwrap_or(ROUND_TRIP as u8))
    }

    pub(super) fn validate(&self, ues: u16, prbs: u32, rlc: &rlc::Config) -> Result<(), ScenarioError> {
        self.reception.validate(ues).map_err(|error| error.under("reception"))?;
        self.blocks.validate(prbs).map_err(|error| error.under("blocks"))?;
        validate_grants(SLOT, self.first_block, self.most_block, self.standing.as_ref())?;
        self.scheduler.validate().map_err(|error| error.under("scheduler"))?;
        self.adaptation.validate(SLOT).map_err(|error| error.under("adaptation"))?;
        self.harq.validate(ROUND_TRIP).map_err(|error| error.under("harq"))?;
        validate_rlc(rlc, self.harq.max_transmissions, "scheduled.harq.max_transmissions")
    }
}
