//! Transport blocks of LTE: PRBs by bandwidth, CQI by SINR, sizes by CQI and PRBs, and how blocks are lost.
//!
//! A transport block's rate is its index I_TBS, 0 to 26, and its size follows from that and its number of physical
//! resource blocks (PRBs). Table 7.1.7.2.1-1 of TS 36.213 lists all sizes. Here a size is the bits that a PRB carries in
//! that table, times the number of PRBs, rounded down to octets: 1 % off in the mean, 8 % at most from 10 PRBs on,
//! 18 % at 4.
//!
//! A row of the CQI table (TS 36.213 table 7.2.3-1) is a code rate and a modulation, hence an efficiency: information
//! bits in a resource element. The eNodeB sends at the largest I_TBS of the row's modulation (TS 36.213 table 7.1.7.1-1)
//! whose block on all PRBs, with 24 bits of CRC, has that efficiency at most. `i_tbs` replaces this rule.
//!
//! How likely a block is lost follows from its modulation, size and PRBs: [`curve`]. A UE reports the highest row of which
//! a block on all PRBs would be lost with a probability of 10 % at most (TS 36.213 §7.2.3), or follows another rule
//! ([`Thresholds`]). At a row's threshold, blocks of its I_TBS on all PRBs are lost less often than 10 %, as their code
//! rate is lower; blocks of the lowest row are lost more often, because no I_TBS is as low, and so are blocks of few PRBs:
//! their CRC weighs more, and a short code is worse.
//!
//! Left out: CQI by subband, several layers, 256QAM, and retransmissions with other redundancy versions (HARQ combines
//! after Chase).

use super::curve::{self, CRC, Modulation};
use crate::each::Each;
use crate::error::ScenarioError;
use crate::radio::shared::air::{Air, Format};
use crate::registry::parameters;
use crate::units::Frequency;

parameters! {
    /// Transport blocks of an LTE carrier.
    pub struct Config {
        /// Bandwidth of the carrier: 1.4, 3, 5, 10, 15 or 20 MHz.
        pub bandwidth: Frequency = Frequency::from_millihertz(10_000_000_000),
        /// Resource elements of a PRB that carry data: 138 with 2 control symbols and 1 antenna port, 120 with 3 and 2.
        pub elements_per_prb: u16 = 138,
        /// From which SINR on each CQI is reported.
        pub thresholds: Thresholds,
        /// I_TBS of the blocks for every CQI, or for CQI 1 to 15 each its own; by efficiency if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub i_tbs: Option<Each<u8>>,
    }

    /// From which SINR on each CQI is reported.
    pub enum Thresholds {
        /// From where 10 % of the blocks of this CQI on all PRBs are lost.
        #[default]
        LinkLevel,
        /// From efficiency = log2(1 + SINR / G), with the gap G = -ln(5 BER) / 1.5 of a BER of 0.00005: 2 to 5 dB later.
        Gap,
    }
}

/// Bandwidth in MHz/10 and its PRBs, TS 36.101 table 5.6-1.
const PRBS: [(u64, u32); 6] = [(14, 6), (30, 15), (50, 25), (100, 50), (150, 75), (200, 100)];

const MILLIHERTZ: u64 = 100_000_000;

/// Rows of the CQI table.
const ROWS: usize = 15;

/// Efficiency of CQI 1 to 15, bits in a resource element, times 10,000: TS 36.213 table 7.2.3-1.
const EFFICIENCY: [u32; ROWS] = [
    1523, 2344, 3770, 6016, 8770, 11_758, 14_766, 19_141, 24_063, 27_305, 33_223, 39_023, 45_234, 51_152,
    55_547,
];

fn efficiency(row: usize) -> f64 {
    f64::from(EFFICIENCY[row]) / 10_000.0
}

/// The modulation of a row of the CQI table: TS 36.213 table 7.2.3-1.
fn modulation_of_row(row: usize) -> Modulation {
    match row {
        0..6 => Modulation::Qpsk,
        6..9 => Modulation::Qam16,
        _ => Modulation::Qam64,
    }
}

/// The modulation of an I_TBS: TS 36.213 table 7.1.7.1-1. I_TBS 9 and 15 have two; this is the lower one.
fn modulation_of(i_tbs: u8) -> Modulation {
    match i_tbs {
        0..=9 => Modulation::Qpsk,
        10..=15 => Modulation::Qam16,
        _ => Modulation::Qam64,
    }
}

const SIZES: usize = 27;

/// Bits in a PRB for I_TBS 0 to 26, times 10: means of TS 36.213 table 7.1.7.2.1-1.
const BITS_PER_PRB: [u32; SIZES] = [
    278, 364, 449, 583, 715, 881, 1045, 1222, 1400, 1579, 1761, 2023, 2283, 2568, 2872, 3066, 3254, 3613,
    3958, 4311, 4652, 5020, 5393, 5746, 6109, 6342, 7390,
];

/// PRBs of a resource block group in a carrier of so many: TS 36.213 table 7.1.6.1-1.
pub(super) fn group(prbs: u32) -> u32 {
    match prbs {
        0..=10 => 1,
        11..=26 => 2,
        27..=63 => 3,
        _ => 4,
    }
}

/// Downlink grants in a TTI of a carrier. Three control symbols of two antennas have 8 resource element groups per PRB; without
/// those of PCFICH (4) and PHICH (3 per 8 PRBs), 9 make a control channel element (CCE): TS 36.211 (6.2.4), (6.7.4), (6.8.1),
/// (6.9.3). ASSUMED: a grant takes four CCEs in the mean, and half of them are grants of the uplink.
pub(super) fn grants(prbs: u32) -> u32 {
    let cces = (8 * prbs - 4 - 3 * prbs.div_ceil(8)) / 9;
    (cces / 8).max(1)
}

/// Size of a transport block, bits.
fn size(i_tbs: u8, prbs: u32) -> u32 {
    BITS_PER_PRB[usize::from(i_tbs)] * prbs / 80 * 8
}

impl Config {
    fn prbs(&self) -> Option<u32> {
        let millihertz = self.bandwidth.as_millihertz();
        PRBS.iter().find(|(tenths, _)| tenths * MILLIHERTZ == millihertz).map(|(_, prbs)| *prbs)
    }

    /// Refuses what no carrier has.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        if self.prbs().is_none() {
            let message = format!("{} is no bandwidth of LTE", self.bandwidth);
            let hint = "write \"1.4 MHz\", or 3, 5, 10, 15 or 20 MHz";
            return Err(ScenarioError::new("bandwidth", message, hint));
        }
        // 12 subcarriers of 14 symbols; 3 symbols of control and 4 antenna ports leave 116.
        if !(100..=168).contains(&self.elements_per_prb) {
            let message = format!("{} resource elements in a PRB", self.elements_per_prb);
            return Err(ScenarioError::new("elements_per_prb", message, "write 100 to 168"));
        }
        let Some(i_tbs) = &self.i_tbs else { return Ok(()) };
        i_tbs.check("i_tbs", ROWS, "CQIs")?;
        for large in i_tbs.values() {
            let Some(bits) = BITS_PER_PRB.get(usize::from(*large)) else {
                return Err(ScenarioError::new("i_tbs", format!("I_TBS {large}"), "write 0 to 26"));
            };
            let room = modulation_of(*large).bits() * u32::from(self.elements_per_prb);
            if bits / 10 >= room {
                let message = format!("I_TBS {large} has {} bits for a PRB of {room}", bits / 10);
                return Err(ScenarioError::new(
                    "i_tbs",
                    message,
                    "write a lower index, or more elements_per_prb",
                ));
            }
        }
        Ok(())
    }
}

/// The blocks that UEs get in a cell.
#[derive(Clone, Debug)]
pub(in crate::radio) struct Lte {
    prbs: u32,
    elements_per_prb: u32,
    /// SINR from which on each row is reported, dB.
    least: [f32; ROWS],
    /// I_TBS of each row.
    i_tbs: [u8; ROWS],
    /// Bits in a PRB of each row, times 10; and the most up to this row.
    per_prb: [u64; ROWS],
    most_per_prb: [u64; ROWS],
}

impl Lte {
    /// Of parameters that are valid.
    pub fn new(config: &Config) -> Self {
        let prbs = config.prbs().unwrap_or_default();
        let elements_per_prb = u32::from(config.elements_per_prb);
        let elements = (elements_per_prb * prbs).max(1);
        let i_tbs = |row: usize| match &config.i_tbs {
            Some(given) => *given.of(row),
            None => (0..SIZES as u8)
                .filter(|i_tbs| modulation_of(*i_tbs) <= modulation_of_row(row))
                .rfind(|i_tbs| f64::from(size(*i_tbs, prbs) + CRC) <= efficiency(row) * f64::from(elements))
                .unwrap_or(0),
        };
        let i_tbs = std::array::from_fn(i_tbs);
        let per_prb = i_tbs.map(|i_tbs| BITS_PER_PRB[usize::from(i_tbs)].into());
        Self {
            prbs,
            elements_per_prb,
            least: std::array::from_fn(|row| config.thresholds.sinr(row, elements) as f32),
            i_tbs,
            per_prb,
            most_per_prb: std::array::from_fn(|row| per_prb[..=row].iter().copied().max().unwrap_or(0)),
        }
    }
}

impl Thresholds {
    /// The SINR from which on a row is reported on so many resource elements, dB.
    fn sinr(self, row: usize, elements: u32) -> f64 {
        match self {
            Self::LinkLevel => {
                let bits = efficiency(row) * f64::from(elements) - f64::from(CRC);
                curve::sinr_at(0.1, modulation_of_row(row), bits as u32, elements)
            }
            Self::Gap => {
                let gap = -libm::log(5.0 * 0.000_05) / 1.5;
                10.0 * libm::log10(gap * (libm::exp2(efficiency(row)) - 1.0))
            }
        }
    }
}

impl Air for Lte {
    fn units(&self) -> u32 {
        self.prbs
    }

    fn cqi(&self, sinr_db: f32) -> u8 {
        self.least.partition_point(|least| *least <= sinr_db) as u8
    }

    fn least_sinr(&self, cqi: u8) -> f32 {
        self.least[usize::from(cqi) - 1]
    }

    /// As few PRBs as this row needs; within these, the lowest I_TBS that carries the bits.
    fn format(&self, cqi: u8, units: u32, bits: u64) -> Option<Format> {
        let last = usize::from(cqi).checked_sub(1)?;
        let per_prb = *self.per_prb.get(last)?;
        // Sizes are whole octets: the bits that are needed in all PRBs, times 10.
        let needed = bits.div_ceil(8).saturating_mul(80);
        let prbs = match u64::from(units) {
            0 => return None,
            units if needed >= per_prb * units => units,
            units => needed.max(1).div_ceil(per_prb).min(units),
        };
        let carries = |each: u64| each * prbs >= needed;
        let lower = carries(self.most_per_prb[last])
            .then(|| self.per_prb[..last].iter().position(|own| carries(*own)));
        let row = lower.flatten().unwrap_or(last);
        let prbs = prbs as u32;
        Some(Format { cqi: row as u8 + 1, units: prbs, bits: size(self.i_tbs[row], prbs) })
    }

    fn bler(&self, block: Format, sinr_db: f32) -> f64 {
        let modulation = modulation_of(self.i_tbs[usize::from(block.cqi) - 1]);
        curve::bler(modulation, block.bits, block.units * self.elements_per_prb, sinr_db.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TS 36.213 table 7.1.7.2.1-1, I_TBS 0 to 26, for 50 and 100 PRBs.
    const EXACT: [(u32, [u32; SIZES]); 2] = [
        (
            50,
            [
                1384, 1800, 2216, 2856, 3624, 4392, 5160, 6200, 6968, 7992, 8760, 9912, 11_448, 12_960,
                14_112, 15_264, 16_416, 18_336, 19_848, 21_384, 22_920, 25_456, 27_376, 28_336, 30_576,
                31_704, 36_696,
            ],
        ),
        (
            100,
            [
                2792, 3624, 4584, 5736, 7224, 8760, 10_296, 12_216, 14_112, 15_840, 17_568, 19_848, 22_920,
                25_456, 28_336, 30_576, 32_856, 36_696, 39_232, 43_816, 46_888, 51_024, 55_056, 57_336,
                61_664, 63_776, 75_376,
            ],
        ),
    ];

    fn config(bandwidth: &str) -> Config {
        Config { bandwidth: bandwidth.parse().unwrap(), ..Config::default() }
    }

    fn lte(bandwidth: &str) -> Lte {
        config(bandwidth).validate().unwrap();
        Lte::new(&config(bandwidth))
    }

    #[test]
    fn the_control_channel_has_grants_by_the_bandwidth() {
        // 41 and 84 CCEs with 50 and 100 PRBs, an eighth of them downlink grants of four CCEs.
        assert_eq!([6, 15, 25, 50, 75, 100].map(grants), [1, 1, 2, 5, 7, 10]);
    }

    #[test]
    fn a_bandwidth_has_its_prbs() {
        let widths = ["1.4 MHz", "3 MHz", "5 MHz", "10 MHz", "15 MHz", "20 MHz"];
        assert_eq!(widths.map(|width| lte(width).units()), [6, 15, 25, 50, 75, 100]);
    }

    /// Acceptance test 1.
    #[test]
    fn sizes_rise_with_prbs_and_index_and_are_near_the_standards() {
        for prbs in 1..=100 {
            for i_tbs in 0..SIZES as u8 {
                assert_eq!(size(i_tbs, prbs) % 8, 0);
                assert!(size(i_tbs, prbs) < size(i_tbs, prbs + 1), "{i_tbs}, {prbs}");
                assert!(i_tbs == 0 || size(i_tbs - 1, prbs) < size(i_tbs, prbs), "{i_tbs}, {prbs}");
            }
        }
        for (prbs, exact) in EXACT {
            let errors = (0..).zip(exact).map(|(i_tbs, bits)| {
                let error = f64::from(size(i_tbs, prbs)) / f64::from(bits) - 1.0;
                assert!(error.abs() < 0.022, "{i_tbs}, {prbs}: {error}");
                error.abs()
            });
            assert!(errors.sum::<f64>() / (SIZES as f64) < 0.010_1);
        }
    }

    #[test]
    fn the_largest_index_within_the_efficiency_of_each_cqi() {
        // By hand from the exact sizes of 50 PRBs with 138 elements each; of CQI 1 no index is low enough.
        assert_eq!(lte("10 MHz").i_tbs, [0, 0, 2, 4, 6, 9, 11, 13, 15, 17, 19, 21, 24, 25, 26]);
        for (row, i_tbs) in (0..).zip(lte("10 MHz").i_tbs).skip(1) {
            let fits = |index: usize| {
                u64::from(EXACT[0].1[index] + 24) * 10_000 <= u64::from(EFFICIENCY[row] * 138) * 50
            };
            assert!(fits(usize::from(i_tbs)), "CQI {}", row + 1);
            // I_TBS 16 would fit CQI 9, but it is 64QAM, and the row is 16QAM.
            assert!([15, 26].contains(&i_tbs) || !fits(usize::from(i_tbs) + 1), "CQI {}", row + 1);
        }
    }

    /// All rows at 10 MHz: bits of a PRB times 50 by hand, rounded down to octets: 27.8 x 50 = 1390 is 173 octets.
    #[test]
    fn the_peak_of_every_row_by_hand() {
        let by_hand = [173, 173, 280, 446, 653, 986, 1264, 1605, 1916, 2258, 2694, 3137, 3818, 3963, 4618];
        let lte = lte("10 MHz");
        for (cqi, octets) in (1..).zip(by_hand) {
            let format = lte.format(cqi, 50, u64::MAX).unwrap();
            assert_eq!((format.bits, format.units), (octets * 8, 50), "CQI {cqi}");
        }
    }

    #[test]
    fn a_block_takes_as_few_prbs_as_carry_the_bits() {
        let lte = lte("10 MHz");
        let at = |cqi, units, bits| lte.format(cqi, units, bits).map(|f| (f.cqi, f.units, f.bits));
        // 92 octets of the 739 bits of a PRB; one bit more takes two, in which 1000 bits go at I_TBS 21.
        assert_eq!(at(15, 50, 736), Some((15, 1, 736)));
        assert_eq!(at(15, 50, 737), Some((11, 2, 856)));
        assert_eq!(at(15, 50, 1000), Some((12, 2, 1000)));
        // 40 octets, 320 bits: one PRB, in which CQI 9 has 306.6 bits (I_TBS 15), and CQI 10 361.3 (17).
        assert_eq!(at(15, 50, 320), Some((10, 1, 360)));
        assert_eq!(at(15, 10, u64::MAX), Some((15, 10, 7384)));
        assert_eq!(at(15, 0, 320), None);
        assert_eq!(at(0, 50, 320), None);
        assert_eq!(at(2, 50, 0), Some((1, 1, 24)));
        for bits in 1..9000 {
            let format = lte.format(7, 50, bits).unwrap();
            assert!(u64::from(format.bits) >= bits && size(11, format.units - 1) < bits as u32, "{bits}");
        }
    }

    #[test]
    fn the_cqi_is_the_row_whose_threshold_the_sinr_meets() {
        let lte = lte("10 MHz");
        // 6900 resource elements. CQI 1: the limit of a rate of 1/3, -2.27 dB, less 6.41 dB of repetition; 1.2 dB of loss;
        // 1.28 x 8.6 dB / sqrt(1577 symbols). CQI 4: -2.27 - 0.45 + 1.2 + 0.14. CQI 15: with seven code
        // blocks' CRCs a rate of 0.930, 18.66 + 1.2 dB, and for a tenth of the blocks 2.17 x 5.2 dB / sqrt(986).
        let sinrs = [-7.25, -7.15, -1.43, -1.32, 20.17, 20.27, 50.0];
        assert_eq!(sinrs.map(|sinr| lte.cqi(sinr)), [0, 1, 3, 4, 14, 15, 15]);
        // G = 7.4 dB: 10 log10(2^0.1523 - 1) + 7.42 = -2.1 and 10 log10(2^5.5547 - 1) + 7.42 = 24.1.
        let gap = Lte::new(&Config { thresholds: Thresholds::Gap, ..Config::default() });
        assert!((gap.least_sinr(1) + 2.1).abs() < 0.05 && (gap.least_sinr(15) - 24.1).abs() < 0.05);
        for (cqi, air) in (1..=15).flat_map(|cqi| [(cqi, &lte), (cqi, &gap)]) {
            let least = air.least_sinr(cqi);
            assert_eq!((air.cqi(least), air.cqi(least.next_down())), (cqi, cqi - 1));
        }
    }

    /// A block of a row on all PRBs.
    fn largest(lte: &Lte, cqi: u8) -> Format {
        lte.format(cqi, lte.units(), u64::MAX).unwrap()
    }

    #[test]
    fn blocks_of_a_reported_row_are_lost_in_one_of_ten_cases_at_most() {
        for (thresholds, bandwidth) in [Thresholds::LinkLevel, Thresholds::Gap]
            .into_iter()
            .flat_map(|of| PRBS.map(|(tenths, _)| (of, tenths)))
        {
            let bandwidth = Frequency::from_millihertz(bandwidth * MILLIHERTZ);
            let lte = Lte::new(&Config { thresholds, bandwidth, ..Config::default() });
            let bler = |cqi, sinr| lte.bler(largest(&lte, cqi), sinr);
            for cqi in 2..=15 {
                assert!(bler(cqi, lte.least_sinr(cqi)) < 0.101, "CQI {cqi}");
                assert!(bler(cqi, lte.least_sinr(cqi) + 1.0) < 0.001, "CQI {cqi}");
            }
            if thresholds == Thresholds::LinkLevel {
                assert!(bler(1, lte.least_sinr(1)) > 0.9);
                assert!(bler(15, lte.least_sinr(13)) > 0.99);
            }
        }
    }

    /// CQI 3 in one PRB: 40 bits and a CRC of 24 in 276 coded bits, a rate of 0.23; in 50 PRBs 2240 and 24 in 13,800, 0.16.
    #[test]
    fn blocks_of_few_prbs_are_lost_more_often() {
        let lte = lte("10 MHz");
        let [one, ten, all] = [1, 10, 50].map(|prbs| lte.bler(lte.format(3, prbs, u64::MAX).unwrap(), -3.9));
        assert!(one > 0.8 && one > ten && ten > all && all < 0.2, "{one} {ten} {all}");
    }

    #[test]
    fn the_index_can_be_given() {
        let fixed = Config { i_tbs: Some(Each::All(20)), ..Config::default() };
        let list = (0..15).map(|row| row + 5).collect();
        let own = Config { i_tbs: Some(Each::List(list)), ..Config::default() };
        assert!(fixed.validate().is_ok() && own.validate().is_ok());
        let (fixed, own) = (Lte::new(&fixed), Lte::new(&own));
        assert_eq!((fixed.i_tbs[0], fixed.i_tbs[14], own.i_tbs[0], own.i_tbs[14]), (20, 20, 5, 19));
        // How a block is lost depends on the block, whatever was reported.
        assert_eq!(fixed.bler(largest(&fixed, 1), 12.0), fixed.bler(largest(&fixed, 15), 12.0));
        assert!(fixed.bler(largest(&fixed, 1), 12.5) > own.bler(largest(&own, 15), 12.5));
    }

    #[test]
    fn what_no_carrier_has_is_refused() {
        let wrong = |config: Config| config.validate().unwrap_err().to_string();
        assert_eq!(
            wrong(config("8 MHz")),
            "bandwidth: 8 MHz is no bandwidth of LTE; write \"1.4 MHz\", or 3, 5, 10, 15 or 20 MHz"
        );
        assert_eq!(
            wrong(Config { elements_per_prb: 12, ..Config::default() }),
            "elements_per_prb: 12 resource elements in a PRB; write 100 to 168"
        );
        assert_eq!(
            wrong(Config { i_tbs: Some(Each::All(27)), ..Config::default() }),
            "i_tbs: I_TBS 27; write 0 to 26"
        );
        assert_eq!(
            wrong(Config { i_tbs: Some(Each::List(vec![1, 2])), ..Config::default() }),
            "i_tbs: i_tbs has 2 values for 15 CQIs; write one value, or a list of 15"
        );
    }
}
