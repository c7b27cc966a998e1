//! Enhanced dedicated channel (E-DCH, "HSUPA") in the detail that TCP can observe: TTIs of 2 or 10 ms, block
//! sizes by category, grants that rise while UEs are unhappy, HARQ, and the shared load of the UEs of a cell.
//!
//! n PDUs in a TTI need a chip ratio x = Eb/N0 x R / 3.84 Mbit/s and cause a load of x / (1 + x). The loads
//! of a TTI add up to at most 1 - 1 / rise (noise rise; Holma, Toskala: "WCDMA for UMTS", 8.2.2). A UE is
//! limited by its power where load / (1 - largest load) exceeds its ratio at the Node B at full power. Fast
//! power control keeps the block error rate of each transmission at `harq.bler`, regardless of fading.
//!
//! A UE whose buffer is unknown to the Node B sends its scheduling information (SI) in its next TTI and is
//! granted `initial` PDUs. While its buffer needs longer than `happy_delay` at its grant, the happy bit says
//! so, and the relative grant of each TTI is UP: one `step` more. An empty buffer ends the grant. HARQ is
//! synchronous: 8 processes of 2 ms, 4 of 10 ms. The RNC puts blocks in order (MAC-es). `unscheduled` PDUs
//! per TTI need no grant.
//!
//! DEVIATION: scheduling information is exact, and grants are given per TTI: if not all UEs fit, the
//! scheduler chooses among them in each TTI. ASSUMED: `rise`, `eb_n0`, `step`.
//!
//! Left out: soft handover (serving and other Node Bs), DPCCH's own load, E-TFC tables (blocks are as large
//! as their PDUs).
//!
//! Sources: TS 25.309, TS 25.321 §9.2.5, §11.8, TS 25.306 table 5.1g.

use super::ReorderingConfig;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::radio::Plan;
use crate::radio::mac::{
    Adaptation, Frame, Framing, HarqConfig, Ramp, Reception, Sender, Slot, Timing, UplinkSetup,
};
use crate::radio::phy::air::{Air, Format};
use crate::registry::parameters;
use crate::scheduler;
use crate::sinr::{self, Sinr};
use crate::time::Duration;
use crate::units::{Decibel, Probability};

parameters! {
    /// An enhanced dedicated channel (E-DCH) of each UE.
    pub struct Config {
        /// TTI: 2 ms (categories 2, 4 and 6) or 10 ms.
        pub tti: Duration = Duration::from_millis(10),
        /// Category of the UEs (TS 25.306 table 5.1g), 1 to 6.
        pub category: u8 = 5,
        /// Ratio of a UE's received power, at full transmit power, to the Node B's own noise, per chip.
        pub reception: sinr::Config,
        /// Largest noise rise at the Node B that the UEs may cause.
        pub rise: Decibel = Decibel::from_thousandths(6000),
        /// Energy of a bit over noise and interference that power control holds.
        pub eb_n0: Decibel = Decibel::from_thousandths(2000),
        /// PDUs of the first grant.
        pub initial: u8 = 1,
        /// By how much a relative grant (UP) raises a grant.
        pub step: Decibel = Decibel::from_thousandths(1000),
        /// A UE is unhappy if it needs longer than this to empty its buffer at its grant
        /// (Happy_Bit_Delay_Condition).
        pub happy_delay: Duration = Duration::from_millis(50),
        /// PDUs that a UE may send in each TTI without a grant (non-scheduled transmission); 0: none.
        pub unscheduled: u8,
        /// Scheduler, which selects the UE to serve next.
        pub scheduler: scheduler::Config,
        /// Retransmission of blocks, 16 ms (TTI of 2 ms) or 40 ms later each time. `bler` is the target of
        /// power control: 10 % of first transmissions and 1 % of others if empty.
        pub harq: HarqConfig,
        /// MAC-es in the RNC.
        pub reordering: ReorderingConfig,
    }
}

/// Bits of MAC-e and MAC-es for PDUs of one size: TSN, DDI, N (TS 25.321 §9.1.5).
const HEADER_BITS: u32 = 18;

/// Chips per second.
const CHIP_RATE: f64 = 3.84e6;

/// Largest block by category, bits: with a TTI of 10 ms, and of 2 ms.
const LARGEST: [(u32, Option<u32>); 6] = [
    (7110, None),
    (14_484, Some(2798)),
    (14_484, None),
    (20_000, Some(5772)),
    (20_000, None),
    (20_000, Some(11_484)),
];

/// Units into which the largest load is divided.
const UNITS: u32 = 1000;

const LONG_TTI: Duration = Duration::from_millis(10);
const SHORT_TTI: Duration = Duration::from_millis(2);

impl Config {
    fn largest_bits(&self) -> Option<u32> {
        let (long, short) = *LARGEST.get(usize::from(self.category).checked_sub(1)?)?;
        match self.tti {
            LONG_TTI => Some(long),
            SHORT_TTI => short,
            _ => None,
        }
    }

    /// TTIs from one transmission of a process to the next, equal to the number of processes.
    fn round_trip(&self) -> u64 {
        if self.tti == SHORT_TTI { 8 } else { 4 }
    }

    fn frame(&self) -> Frame {
        let k2 = self.round_trip() / 2;
        let timing = Timing { lead: 0, processing: self.round_trip() - 1 - k2, k1: k2, k2 };
        Frame::of(vec![Slot::Both], timing)
    }

    /// The uplink of a valid cell with this number of UEs and this PDU size, bits.
    pub(super) fn setup(&self, ues: u16, pdu_bits: u32, delay: Duration) -> UplinkSetup {
        let mut harq = self.harq.clone();
        if harq.bler.is_empty() {
            harq.bler = [0.1, 0.01].into_iter().filter_map(Probability::new).collect();
        }
        let window = (100_000_000 / self.tti.as_nanos()) as u32;
        UplinkSetup {
            frame: self.frame(),
            slot: self.tti,
            air: Box::new(Edch::new(self, pdu_bits)),
            framing: Framing::Pdus { header_bits: HEADER_BITS, pdu_bits },
            scheduler: self.scheduler.build(ues.into(), window),
            harq,
            sr_period: 1,
            first_block: self.initial.into(),
            most_block: u64::MAX,
            carriers: 1,
            standing: (self.unscheduled > 0).then(|| (1, self.unscheduled.into())),
            ramp: Some(Ramp {
                step: libm::exp10(self.step.as_db() / 10.0),
                patience: self.happy_delay.as_nanos() as f64 / self.tti.as_nanos() as f64,
            }),
            delay,
        }
    }

    /// A UE with its reception at the Node B.
    pub(super) fn sender(&self, plan: &Plan<'_>, ue: u16) -> Sender {
        let of = (ue, Dir::Uplink);
        let sinr = Sinr::new(&self.reception, plan.run_seed, of, 1.0 / self.tti.as_secs_f64());
        let adaptation = Adaptation { outer_loop: false, ..Default::default() };
        let reception = Reception::new(sinr, &adaptation, (1, self.round_trip()), plan.run_seed, of);
        let processes = self.harq.processes.unwrap_or(self.round_trip() as u8);
        let ReorderingConfig { window, t1 } = self.reordering;
        Sender::new(reception, processes).in_order(window, t1)
    }

    pub(super) fn validate(&self, ues: u16, pdu_bits: u64) -> Result<(), ScenarioError> {
        if !(1..=6).contains(&self.category) {
            let message = format!("{} is no category of E-DCH", self.category);
            return Err(ScenarioError::new("category", message, "write 1 to 6"));
        }
        let Some(largest) = self.largest_bits() else {
            let message = format!("category {} has no TTI of {}", self.category, self.tti);
            return Err(ScenarioError::new(
                "tti",
                message,
                "write \"10 ms\", or \"2 ms\" and category 2, 4 or 6",
            ));
        };
        if pdu_bits > u64::from(largest - HEADER_BITS) {
            let message =
                format!("a PDU of {pdu_bits} bits is larger than any block of category {}", self.category);
            return Err(ScenarioError::new("category", message, "write smaller PDUs, or another category"));
        }
        self.reception.validate(ues).map_err(|error| error.under("reception"))?;
        let positive = [("rise", self.rise), ("step", self.step)];
        if let Some((key, _)) = positive.into_iter().find(|(_, ratio)| *ratio <= Decibel::default()) {
            return Err(ScenarioError::new(key, "allows no UE anything", "write a ratio above 0 dB"));
        }
        if self.initial == 0 {
            return Err(ScenarioError::new("initial", "grants nothing", "write 1 or more PDUs"));
        }
        if Edch::new(self, pdu_bits as u32).needs.is_empty() {
            let message = "is less than a single PDU per TTI causes";
            return Err(ScenarioError::new("rise", message, "write more, such as \"6 dB\""));
        }
        self.scheduler.validate().map_err(|error| error.under("scheduler"))?;
        self.harq.validate(self.round_trip()).map_err(|error| error.under("harq"))?;
        self.reordering.validate().map_err(|error| error.under("reordering"))?;
        let longest = u64::from(self.harq.max_transmissions.saturating_sub(1)) * self.round_trip();
        if longest >= u64::from(super::LARGEST_WINDOW) {
            let message = "lets a block be retransmitted after its number has come up again";
            return Err(
                ScenarioError::new("max_transmissions", message, "write fewer, such as 4").under("harq")
            );
        }
        Ok(())
    }
}

/// Requirements of n PDUs in a TTI.
#[derive(Clone, Copy, Debug)]
struct Need {
    /// Ratio at full power, dB.
    least_db: f32,
    units: u32,
}

/// The blocks of a UE, and their loads. A row is a number of PDUs.
#[derive(Clone, Debug)]
pub(super) struct Edch {
    pdu_bits: u32,
    /// By number of PDUs, from 1 on.
    needs: Vec<Need>,
}

impl Edch {
    fn new(config: &Config, pdu_bits: u32) -> Self {
        let most = config.largest_bits().map_or(0, |bits| (bits - HEADER_BITS) / pdu_bits.max(1));
        let largest_load = 1.0 - libm::exp10(-config.rise.as_db() / 10.0);
        let eb_n0 = libm::exp10(config.eb_n0.as_db() / 10.0);
        let need = |pdus: u32| {
            let rate = f64::from(HEADER_BITS + pdus * pdu_bits) / config.tti.as_secs_f64();
            let ratio = eb_n0 * rate / CHIP_RATE;
            let load = ratio / (1.0 + ratio);
            let least_db = 10.0 * libm::log10(load / (1.0 - largest_load)) as f32;
            Need { least_db, units: libm::ceil(f64::from(UNITS) * load / largest_load) as u32 }
        };
        let needs = (1..=most.min(u8::MAX.into())).map(need).take_while(|need| need.units <= UNITS).collect();
        Self { pdu_bits, needs }
    }
}

impl Air for Edch {
    fn units(&self) -> u32 {
        UNITS
    }

    fn cqi(&self, sinr_db: f32) -> u8 {
        self.needs.partition_point(|need| need.least_db <= sinr_db) as u8
    }

    fn least_sinr(&self, cqi: u8) -> f32 {
        usize::from(cqi)
            .checked_sub(1)
            .and_then(|place| self.needs.get(place))
            .map_or(f32::INFINITY, |need| need.least_db)
    }

    fn format(&self, cqi: u8, units: u32, bits: u64) -> Option<Format> {
        let within = self.needs[..usize::from(cqi)].partition_point(|need| need.units <= units) as u64;
        let wanted = bits.saturating_sub(HEADER_BITS.into()).div_ceil(self.pdu_bits.into()).max(1);
        let pdus = wanted.min(within) as usize;
        let need = self.needs.get(pdus.checked_sub(1)?)?;
        Some(Format { cqi: pdus as u8, units: need.units, bits: HEADER_BITS + pdus as u32 * self.pdu_bits })
    }

    /// Power control holds the target of `harq.bler`.
    fn bler(&self, _: Format, _: f32) -> f64 {
        0.0
    }

    /// Units are load.
    fn units_share_power(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edch(tti: Duration, category: u8) -> Edch {
        Edch::new(&Config { tti, category, ..Config::default() }, 336)
    }

    /// By hand: (largest - 18) / 336.
    #[test]
    fn a_category_has_its_pdus() {
        let most = |tti, category| edch(tti, category).needs.len();
        assert_eq!([1, 2, 3, 5].map(|category| most(LONG_TTI, category)), [21, 43, 43, 59]);
        assert_eq!([2, 4, 6].map(|category| most(SHORT_TTI, category)), [8, 17, 34]);
    }

    /// By hand: 18 + 43 x 336 bits in 10 ms are 1.4466 Mbit/s, x = 1.5849 x 0.37672 = 0.59706, a load of 0.37385 of 0.74881:
    /// 500 units. At full power 0.37385 / 0.25119 are 1.727 dB.
    #[test]
    fn load_and_power_by_hand() {
        let air = edch(LONG_TTI, 2);
        let need = air.needs[42];
        assert_eq!(need.units, 500);
        assert!((need.least_db - 1.727).abs() < 0.002, "{need:?}");
        assert_eq!((air.cqi(1.73), air.cqi(1.72)), (43, 42));
        let pdus = |units, bits| air.format(43, units, bits).map(|block| (block.cqi, block.bits));
        assert_eq!(pdus(1000, u64::MAX), Some((43, 14_466)));
        assert_eq!(pdus(1000, 18 + 337), Some((2, 690)));
        assert_eq!((pdus(0, 354), air.format(0, 1000, 354)), (None, None));
        // A quarter of the largest load is 558 kbit/s, 16.6 PDUs in 10 ms.
        assert_eq!(pdus(250, u64::MAX), Some((16, 5394)));
    }
}
