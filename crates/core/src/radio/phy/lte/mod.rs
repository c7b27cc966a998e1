//! Transport blocks of LTE: PRBs by bandwidth, CQI by SINR, sizes by CQI and PRBs, and how blocks are lost.
//!
//! The rate of a transport block is its index I_TBS, 0 to 26; its size follows from the index and the number
//! of physical resource blocks (PRBs). Table 7.1.7.2.1-1 of TS 36.213 lists all sizes. Here a size is the
//! number of bits per PRB in that table times the number of PRBs, rounded down to octets: the error is 1 % in
//! the mean, at most 8 % from 10 PRBs on, and 18 % at 4.
//!
//! A row of the CQI table (TS 36.213 table 7.2.3-1) is a code rate and a modulation, hence an efficiency:
//! information bits per resource element. The eNodeB uses the largest I_TBS of the row's modulation (TS
//! 36.213 table 7.1.7.1-1) whose block on all PRBs, with 24 bits of CRC, has at most that efficiency. `i_tbs`
//! replaces this rule.
//!
//! The loss probability of a block follows from its modulation, size and PRBs: [`curve`]. A UE reports the
//! highest row whose block on all PRBs is lost with a probability of at most 10 % (TS 36.213 §7.2.3), or
//! follows another rule ([`Thresholds`]). At a row's threshold, blocks of its I_TBS on all PRBs are lost less
//! often than 10 %, as their code rate is lower. Blocks of the lowest row are lost more often, because no
//! I_TBS is as low. So are blocks of few PRBs: their CRC weighs more, and a short code is worse.
//!
//! With several layers a row is a CQI and a number of layers: rank and CQI rise together, like a UE's rank
//! indicator and CQI. Each layer carries a block of that I_TBS; with n layers, the SINR of each is
//! `layer_loss` below that of a single layer. Two or four layers carry two codewords (TS 36.211 §6.3.3.2),
//! each lost by the curve. Rows that carry no more than a row of lower SINR are left out.
//!
//! DEVIATION: the codewords of a TTI share a HARQ process, and are retransmitted together if one of them is lost.
//!
//! Left out: CQI by subband, precoding and its reports, 256QAM, and retransmissions with other redundancy
//! versions (HARQ uses Chase combining).

mod curve;
pub mod uplink;

use crate::each::Each;
use crate::error::ScenarioError;
use crate::radio::phy::air::{Air, Format, row_near, shares};
use crate::registry::parameters;
use crate::units::{Decibel, Frequency};
use curve::{CRC, Modulation};
use serde_json::Value;

parameters! {
    /// Transport blocks of an LTE carrier.
    pub struct Config {
        /// Bandwidth of the carrier: 1.4, 3, 5, 10, 15 or 20 MHz.
        pub bandwidth: Frequency = Frequency::from_millihertz(10_000_000_000),
        /// Resource elements of a PRB that carry data: 138 with 2 control symbols and 1 antenna port; with 2 ports 144, 132
        /// and 120 with 1, 2 and 3 control symbols.
        pub elements_per_prb: u16 = 138,
        /// The most layers, 1, 2 or 4: as many as carry most at the UE's SINR are used.
        pub layers: u8 = 1,
        /// Rule for the SINR thresholds of the CQIs.
        pub thresholds: Thresholds,
        /// I_TBS of the blocks, one for every CQI or a list for CQI 1 to 15; by efficiency if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub i_tbs: Option<Each<u8>>,
    }

    /// Rule for the SINR thresholds of the CQIs.
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
pub(in crate::radio) const BITS_PER_PRB: [u32; SIZES] = [
    278, 364, 449, 583, 715, 881, 1045, 1222, 1400, 1579, 1761, 2023, 2283, 2568, 2872, 3066, 3254, 3613,
    3958, 4311, 4652, 5020, 5393, 5746, 6109, 6342, 7390,
];

/// PRBs per resource block group in a carrier of `prbs` PRBs: TS 36.213 table 7.1.6.1-1.
pub(in crate::radio) fn group(prbs: u32) -> u32 {
    match prbs {
        0..=10 => 1,
        11..=26 => 2,
        27..=63 => 3,
        _ => 4,
    }
}

/// Downlink grants in a TTI of a carrier. Three control symbols of two antennas have 8 resource element
/// groups per PRB. Except for those of PCFICH (4) and PHICH (3 per 8 PRBs), 9 make a control channel element
/// (CCE): TS 36.211 (6.2.4), (6.7.4), (6.8.1), (6.9.3). ASSUMED: a grant takes four CCEs in the mean, and
/// half of the grants are for the uplink.
pub(in crate::radio) fn grants(prbs: u32) -> u32 {
    let cces = (8 * prbs - 4 - 3 * prbs.div_ceil(8)) / 9;
    (cces / 8).max(1)
}

/// Size of a transport block, bits.
pub(in crate::radio) fn size(i_tbs: u8, prbs: u32) -> u32 {
    BITS_PER_PRB[usize::from(i_tbs)] * prbs / 80 * 8
}

impl Config {
    pub(in crate::radio) fn prbs(&self) -> Option<u32> {
        let millihertz = self.bandwidth.as_millihertz();
        PRBS.iter().find(|(tenths, _)| tenths * MILLIHERTZ == millihertz).map(|(_, prbs)| *prbs)
    }

    /// Rejects parameters that no carrier has.
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
        if ![1, 2, 4].contains(&self.layers) {
            return Err(ScenarioError::new("layers", format!("{} layers", self.layers), "write 1, 2 or 4"));
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

/// A row: a CQI on a number of layers.
#[derive(Clone, Copy, Debug)]
struct Row {
    cqi: u8,
    layers: u8,
    i_tbs: u8,
    /// Minimum SINR of a single layer for which it is reported, dB.
    least_db: f32,
}

impl Row {
    /// Bits on `prbs` PRBs.
    fn size(self, prbs: u32) -> u32 {
        u32::from(self.layers) * size(self.i_tbs, prbs)
    }
}

/// The blocks that UEs get in a cell.
#[derive(Clone, Debug)]
pub(in crate::radio) struct Lte {
    prbs: u32,
    elements_per_prb: u32,
    /// SINR loss of each of n layers compared with a single layer, dB.
    layer_loss_db: Vec<f64>,
    rows: Vec<Row>,
    /// If all rows have a single layer: by row, the most bits in a PRB of this row or a lower one, times 10.
    most_per_prb: Option<Vec<u64>>,
}

impl Lte {
    /// Builds the air interface from valid parameters.
    pub fn new(config: &Config, layer_loss: &[Decibel]) -> Self {
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
        let layer_loss_db = layer_loss.iter().map(|loss| loss.as_db()).collect();
        let mut lte = Self { prbs, elements_per_prb, layer_loss_db, rows: Vec::new(), most_per_prb: None };
        let row = |layers: u8, row: usize| {
            let least_db = config.thresholds.sinr(row, elements) + lte.loss_of(layers);
            Row { cqi: row as u8 + 1, layers, i_tbs: i_tbs(row), least_db: least_db as f32 }
        };
        let layers = [1, 2, 4].into_iter().filter(|layers| *layers <= config.layers);
        let mut rows: Vec<Row> = layers
            .flat_map(|layers| (0..ROWS).map(move |cqi| (layers, cqi)))
            .map(|(layers, cqi)| row(layers, cqi))
            .collect();
        if config.layers > 1 {
            rows.sort_by(|one, other| {
                one.least_db.total_cmp(&other.least_db).then(other.size(prbs).cmp(&one.size(prbs)))
            });
            let mut most = 0;
            rows.retain(|own| {
                let carries_more = own.size(prbs) > most;
                most = most.max(own.size(prbs));
                carries_more
            });
        }
        lte.most_per_prb = (config.layers == 1).then(|| {
            let mut most = 0;
            let up_to = |own: &Row| {
                most = BITS_PER_PRB[usize::from(own.i_tbs)].max(most);
                most.into()
            };
            rows.iter().map(up_to).collect()
        });
        lte.rows = rows;
        lte
    }

    /// Returns modulation, bits and symbols of a codeword of a block, the number of codewords, and a layer's loss in dB.
    fn codewords(&self, block: Format) -> ((Modulation, u32, u32), u32, f64) {
        let row = self.rows[usize::from(block.cqi) - 1];
        let codewords = u32::from(row.layers.min(2));
        let symbols = block.units * self.elements_per_prb * u32::from(row.layers) / codewords;
        ((modulation_of(row.i_tbs), block.bits / codewords, symbols), codewords, self.loss_of(row.layers))
    }

    fn loss_of(&self, layers: u8) -> f64 {
        self.layer_loss_db.get(usize::from(layers) - 1).copied().unwrap_or_default()
    }
}

impl Thresholds {
    /// Minimum SINR, dB, for which a row is reported on this number of resource elements.
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
        self.rows.partition_point(|row| row.least_db <= sinr_db) as u8
    }

    fn cqi_near(&self, sinr_db: f32, near: u8) -> u8 {
        row_near(&self.rows, |row| row.least_db, sinr_db, near)
    }

    fn least_sinr(&self, cqi: u8) -> f32 {
        self.rows[usize::from(cqi) - 1].least_db
    }

    /// As few PRBs as this row needs; within these, the lowest row that carries the bits.
    fn format(&self, cqi: u8, units: u32, bits: u64) -> Option<Format> {
        let rows = &self.rows[..usize::from(cqi)];
        let highest = *rows.last()?;
        if bits == u64::MAX {
            return (units > 0).then(|| Format { cqi, units, bits: highest.size(units) });
        }
        let of_layer = bits.div_ceil(highest.layers.into());
        let prbs = prbs_for(highest.i_tbs, of_layer).min(u64::from(units)) as u32;
        if prbs == 0 {
            return None;
        }
        // With one layer, a size is at least `bits` if bits per PRB, times 10, reach this: one division for
        // all rows.
        let needed = bits.div_ceil(8).saturating_mul(80).div_ceil(prbs.into());
        let row = match &self.most_per_prb {
            // Only few rows below the highest one carry as much.
            Some(most) => {
                let up_to = &most[..rows.len()];
                rows.len() - up_to.iter().rev().take_while(|own| **own >= needed).count()
            }
            None => rows.iter().position(|row| u64::from(row.size(prbs)) >= bits).unwrap_or(rows.len()),
        };
        let row = row.min(rows.len() - 1);
        Some(Format { cqi: row as u8 + 1, units: prbs, bits: rows[row].size(prbs) })
    }

    fn bler(&self, block: Format, sinr_db: f32) -> f64 {
        let ((modulation, bits, symbols), codewords, loss_db) = self.codewords(block);
        let of_one = curve::bler(modulation, bits, symbols, f64::from(sinr_db) - loss_db);
        if codewords == 1 { of_one } else { 1.0 - (1.0 - of_one) * (1.0 - of_one) }
    }

    fn is_lost(&self, block: Format, sinr_db: f32, draw: f64) -> Option<bool> {
        let (codeword, codewords, loss_db) = self.codewords(block);
        curve::is_lost(codeword, codewords, f64::from(sinr_db) - loss_db, draw)
    }

    /// The CQI, and 32 for each layer beyond the first.
    fn number(&self, row: u8) -> u16 {
        let row = usize::from(row).checked_sub(1).and_then(|place| self.rows.get(place));
        row.map_or(0, |row| 32 * (u16::from(row.layers) - 1) + u16::from(row.cqi))
    }

    fn shares(&self, blocks: &[u64]) -> Vec<(&'static str, Value)> {
        let by = |of: fn(&Row) -> u8| {
            shares(self.rows.iter().zip(blocks.iter().skip(1)).map(|(row, count)| (of(row).into(), *count)))
        };
        let mut all = vec![("cqi", by(|row| row.cqi))];
        if self.rows.iter().any(|row| row.layers > 1) {
            all.push(("layers", by(|row| row.layers)));
        }
        all
    }
}

/// Number of PRBs that `bits` bits need, at least one.
pub(in crate::radio) fn prbs_for(i_tbs: u8, bits: u64) -> u64 {
    let octets = bits.div_ceil(8).max(1);
    octets.saturating_mul(80).div_ceil(u64::from(BITS_PER_PRB[usize::from(i_tbs)]))
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
        Lte::new(&config(bandwidth), &[])
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
        let chosen: Vec<u8> = lte("10 MHz").rows.iter().map(|row| row.i_tbs).collect();
        assert_eq!(chosen, [0, 0, 2, 4, 6, 9, 11, 13, 15, 17, 19, 21, 24, 25, 26]);
        for (row, i_tbs) in (0..).zip(chosen).skip(1) {
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
        // 6900 resource elements. CQI 1: the limit of a rate of 1/3, -2.27 dB, minus 6.41 dB of repetition;
        // 1.2 dB of loss; 1.28 x 8.6 dB / sqrt(1577 symbols). CQI 4: -2.27 - 0.45 + 1.2 + 0.14. CQI 15: with
        // seven code blocks' CRCs a rate of 0.930, 18.66 + 1.2 dB, and for a tenth of the blocks 2.17 x 5.2
        // dB / sqrt(986).
        let sinrs = [-7.25, -7.15, -1.43, -1.32, 20.17, 20.27, 50.0];
        assert_eq!(sinrs.map(|sinr| lte.cqi(sinr)), [0, 1, 3, 4, 14, 15, 15]);
        // G = 7.4 dB: 10 log10(2^0.1523 - 1) + 7.42 = -2.1 and 10 log10(2^5.5547 - 1) + 7.42 = 24.1.
        let gap = Lte::new(&Config { thresholds: Thresholds::Gap, ..Config::default() }, &[]);
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
            let lte = Lte::new(&Config { thresholds, bandwidth, ..Config::default() }, &[]);
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
        let (fixed, own) = (Lte::new(&fixed, &[]), Lte::new(&own, &[]));
        let ends = |lte: &Lte| [lte.rows[0].i_tbs, lte.rows[14].i_tbs];
        assert_eq!((ends(&fixed), ends(&own)), ([20, 20], [5, 19]));
        // The loss of a block depends only on the block, not on the report.
        assert_eq!(fixed.bler(largest(&fixed, 1), 12.0), fixed.bler(largest(&fixed, 15), 12.0));
        assert!(fixed.bler(largest(&fixed, 1), 12.5) > own.bler(largest(&own, 15), 12.5));
    }

    fn with_layers(layers: u8) -> Lte {
        let config = Config { layers, ..Config::default() };
        Lte::new(&config, &[0, 4000, 7000, 9000].map(Decibel::from_thousandths))
    }

    /// 2 and 4 blocks of 36,944 bits, the mean of I_TBS 26; the standard's are 36,696 bits.
    #[test]
    fn layers_multiply_the_largest_block() {
        for (layers, bits) in [(1, 36_944), (2, 73_888), (4, 147_776)] {
            let lte = with_layers(layers);
            assert_eq!(largest(&lte, lte.cqi(60.0)).bits, bits);
            assert_eq!(lte.number(lte.cqi(60.0)), 32 * (u16::from(layers) - 1) + 15);
        }
    }

    #[test]
    fn rank_and_cqi_rise_with_the_sinr() {
        let lte = with_layers(4);
        for pair in lte.rows.windows(2) {
            assert!(pair[0].least_db < pair[1].least_db && pair[0].size(50) < pair[1].size(50), "{pair:?}");
        }
        let layers = |sinr: f32| lte.rows[usize::from(lte.cqi(sinr)) - 1].layers;
        // At 0 dB a single layer (CQI 4, I_TBS 4) carries more than two of -4 dB (CQI 2, I_TBS 0) and 4 of -9 dB; at 30 dB four
        // of 21 dB carry CQI 15 each.
        assert_eq!([0.0, 30.0].map(layers), [1, 4]);
        let single = self::lte("10 MHz");
        for sinr in -5..30 {
            let bits = |cell: &Lte| match cell.cqi(sinr as f32) {
                0 => 0,
                row => largest(cell, row).bits,
            };
            assert!(bits(&lte) >= bits(&single), "{sinr} dB");
        }
    }

    /// A block of two codewords: each is lost as often as a single layer at 4 dB less.
    #[test]
    fn a_block_of_two_codewords_is_lost_if_one_of_them_is() {
        let (two, one) = (with_layers(2), lte("10 MHz"));
        let row = two.cqi(60.0);
        let losses =
            |sinr: f32| (one.bler(largest(&one, 15), sinr), two.bler(largest(&two, row), sinr + 4.0));
        let on_the_curve = (120..180).map(|eighths| losses(eighths as f32 / 8.0));
        let (of_one, of_two) = on_the_curve.into_iter().find(|(of_one, _)| *of_one < 0.5).unwrap();
        assert!(of_one > 0.01, "{of_one}");
        assert!((of_two - (1.0 - (1.0 - of_one) * (1.0 - of_one))).abs() < 1e-6, "{of_one} {of_two}");
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
        assert_eq!(wrong(Config { layers: 3, ..Config::default() }), "layers: 3 layers; write 1, 2 or 4");
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
