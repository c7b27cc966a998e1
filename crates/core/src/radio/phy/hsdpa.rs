//! Transport blocks of HSDPA: sizes and codes by CQI and UE category, CQI by SINR, and how blocks are lost.
//!
//! A UE's category determines its number of codes, its minimum TTI distance, and its CQI table, 7A to 7E of
//! TS 25.214. The tables agree with 7D up to their own last row. CQIs above it name that row with reduced
//! power. The Node B sends such a block at full power, so it is lost as rarely as its own row implies, and a
//! CQI above the last row still has a use: it shows the margin of the channel.
//!
//! A block has one of the 254 sizes of TS 25.321 annex A: the smallest that carries its PDUs, up to the size
//! of the row. If not even one PDU fits into the row's block, the block is as large as one PDU needs, and
//! HARQ has to combine several transmissions: a row is a recommendation, and the Node B may send more (TS
//! 25.214 §6A.2). A size between two rows uses the codes of the upper row; its row number for the BLER is
//! interpolated linearly by bits (ASSUMED; two rows are 1 dB apart).
//!
//! SINR are per chip, at a spreading factor of 16: that of a symbol is 12.04 dB higher. Both fits, of the CQI
//! and of the BLER, are from Brouwer et al., "Usage of link-level performance indicators for HSDPA
//! network-level simulations in E-UMTS", IEEE ISSSTA 2004:
//!
//! ```text
//! CQI  = floor(s / 1.02 + 16.62), 0 to 30
//! BLER = (1 + 10^(2 (S - 1.03 CQI + 5.26) / (sqrt 3 - log10 CQI)))^(-1 / 0.7),   S = s + 12.04 dB
//! ```
//!
//! With this shift between their axes, the two fits agree at a BLER of 10 % within 0.2 dB.
//!
//! Left out: other numbers of codes for a size, and the gain of incremental redundancy beyond the SINR sum of
//! Chase combining.

use crate::error::ScenarioError;
use crate::radio::phy::air::{Air, Format, row_near};
use crate::radio::phy::waterfall::Waterfall;
use std::sync::LazyLock;

/// A row of the CQI table.
#[derive(Clone, Copy, Debug)]
struct Row {
    bits: u32,
    codes: u32,
}

const fn row(bits: u32, codes: u32) -> Row {
    Row { bits, codes }
}

const ROWS: usize = 30;

/// TS 25.214 table 7D, from CQI 1 on.
const TABLE: [Row; ROWS] = [
    row(137, 1),
    row(173, 1),
    row(233, 1),
    row(317, 1),
    row(377, 1),
    row(461, 1),
    row(650, 2),
    row(792, 2),
    row(931, 2),
    row(1262, 3),
    row(1483, 3),
    row(1742, 3),
    row(2279, 4),
    row(2583, 4),
    row(3319, 5),
    row(3565, 5),
    row(4189, 5),
    row(4664, 5),
    row(5287, 5),
    row(5887, 5),
    row(6554, 5),
    row(7168, 5),
    row(9719, 7),
    row(11_418, 8),
    row(14_411, 10),
    row(17_237, 12),
    row(21_754, 15),
    row(23_370, 15),
    row(24_222, 15),
    row(25_558, 15),
];

/// A category of UEs, TS 25.306 table 5.1a.
#[derive(Clone, Copy, Debug)]
pub(in crate::radio) struct Category {
    /// Minimum distance between two blocks, TTIs.
    pub inter_tti: u8,
    /// Largest transport block, bits.
    pub largest_bits: u32,
    /// Last row of its CQI table.
    last_row: u8,
}

const fn category(inter_tti: u8, largest_bits: u32, last_row: u8) -> Category {
    Category { inter_tti, largest_bits, last_row }
}

/// Number of categories.
pub(in crate::radio) const CATEGORIES: usize = 12;

/// Categories 1 to 12; 11 and 12 receive QPSK only. The CQI tables are 7A for 1 to 6, 7B for 7 and 8, 7C for 9, 7D for
/// 10, 7E for 11 and 12.
const CATEGORY: [Category; CATEGORIES] = [
    category(3, 7298, 22),
    category(3, 7298, 22),
    category(2, 7298, 22),
    category(2, 7298, 22),
    category(1, 7298, 22),
    category(1, 7298, 22),
    category(1, 14_411, 25),
    category(1, 14_411, 25),
    category(1, 20_251, 26),
    category(1, 27_952, 30),
    category(2, 3630, 15),
    category(1, 3630, 15),
];

impl Category {
    /// The category of that number, 1 to 12.
    pub fn of(number: u8) -> Result<Self, ScenarioError> {
        let found = usize::from(number).checked_sub(1).and_then(|index| CATEGORY.get(index));
        found.copied().ok_or_else(|| {
            let message = format!("there is no UE category {number} of HSDPA in Release 5");
            ScenarioError::new("category", message, format!("write 1 to {CATEGORIES}"))
        })
    }

    /// Category of a number that is known to be valid.
    pub const fn of_valid(number: u8) -> Self {
        CATEGORY[number as usize - 1]
    }
}

/// Header of a MAC-hs PDU with PDUs of one size, bits: version, queue, TSN, SID, N and F (TS 25.321 9.2.2).
pub(in crate::radio) const HEADER_BITS: u32 = 21;

/// Bits of the CRC of a block (TS 25.212 §4.5.1), and coded bits of a code in a TTI with QPSK (TS 25.211 §5.3.3.13).
const CRC_BITS: u32 = 24;
const QPSK_BITS: u32 = 960;

/// SINR of a symbol over that of a chip at a spreading factor of 16, dB.
const SPREADING_DB: f64 = 12.04;

/// The blocks that a UE of a category gets in a cell.
#[derive(Clone, Debug)]
pub(in crate::radio) struct Hsdpa {
    category: Category,
    /// Codes that the cell has for HSDPA.
    codes: u32,
    /// Minimum SINR for which each row is reported, dB.
    least: [f32; ROWS],
    /// Steepness of each row's BLER.
    steepness: [f64; ROWS],
    /// Sizes of blocks that carry a PDU, bits.
    sizes: Vec<u32>,
    /// By number of codes, the number of rows that need no more codes.
    rows_within: [u8; MOST_CODES + 1],
}

/// Codes of spreading factor 16 that a cell has for HSDPA at most.
const MOST_CODES: usize = 15;

impl Hsdpa {
    /// `pdu_bits`: RLC PDU size. The category has blocks for at least one PDU.
    pub fn new(category: Category, codes: u32, pdu_bits: u32) -> Self {
        let least = std::array::from_fn(|row| (1.02 * ((row + 1) as f64 - 16.62)) as f32);
        let carries = |bits: &u32| (HEADER_BITS + pdu_bits..=category.largest_bits).contains(bits);
        // Codes rise from row to row.
        let rows = |most: usize| TABLE.partition_point(|row| row.codes as usize <= most) as u8;
        let (sizes, rows_within) = (sizes().filter(carries).collect(), std::array::from_fn(rows));
        let steepness = std::array::from_fn(|row| steepness((row + 1) as f64));
        Self { category, codes, least, steepness, sizes, rows_within }
    }
}

/// The sizes of blocks, bits: TS 25.321 annex A.
fn sizes() -> impl Iterator<Item = u32> {
    let low = (1..40).map(|k| 125 + 12 * k);
    let high = (40..=254).map(|k| (296.0 * libm::pow(2085.0 / 2048.0, f64::from(k))) as u32);
    low.chain(high)
}

impl Air for Hsdpa {
    fn units(&self) -> u32 {
        self.codes
    }

    fn cqi(&self, sinr_db: f32) -> u8 {
        self.least.partition_point(|least| *least <= sinr_db) as u8
    }

    fn cqi_near(&self, sinr_db: f32, near: u8) -> u8 {
        row_near(&self.least, |least| *least, sinr_db, near)
    }

    fn least_sinr(&self, cqi: u8) -> f32 {
        self.least[usize::from(cqi) - 1]
    }

    fn format(&self, cqi: u8, units: u32, bits: u64) -> Option<Format> {
        let last = usize::from(cqi.min(self.category.last_row)).checked_sub(1)?;
        let rows = usize::from(self.rows_within[(units as usize).min(MOST_CODES)]);
        let within = rows.min(last + 1).checked_sub(1)?;
        let (least, largest) = (*self.sizes.first()?, *self.sizes.last()?);
        let most = TABLE[within].bits.max(least);
        let size = match bits >= most.min(largest).into() {
            true => most.min(largest),
            false => self.sizes[self.sizes.partition_point(|size| u64::from(*size) < bits)].min(most),
        };
        let index = TABLE.partition_point(|row| row.bits < size).min(ROWS - 1);
        // One PDU may need more than the row has, on fewer codes than the table has for a block of its size.
        let codes = TABLE[index].codes.min(units);
        let fits = size <= TABLE[within].bits || size + CRC_BITS <= codes * QPSK_BITS;
        fits.then_some(Format { cqi: index as u8 + 1, units: codes, bits: size })
    }

    fn bler(&self, block: Format, sinr_db: f32) -> f64 {
        let row = between_rows(block);
        fall(steepness(row) * above(row, sinr_db))
    }

    fn is_lost(&self, block: Format, sinr_db: f32, draw: f64) -> Option<bool> {
        let row = between_rows(block);
        let above = above(row, sinr_db);
        // The steepness rises with the row.
        let of_rows = [row as usize, block.cqi.into()].map(|number| self.steepness[number - 1] * above);
        FALL.is_lost(of_rows[0].min(of_rows[1]), of_rows[0].max(of_rows[1]), 1, draw)
    }
}

/// Distance of the symbol's SINR above the center of the row's BLER curve, dB.
fn above(row: f64, sinr_db: f32) -> f64 {
    f64::from(sinr_db) + SPREADING_DB - 1.03 * row + 5.26
}

fn steepness(row: f64) -> f64 {
    2.0 / (libm::sqrt(3.0) - libm::log10(row))
}

static FALL: LazyLock<Waterfall> = LazyLock::new(|| Waterfall::new(fall));

/// The BLER by steepness and SINR, multiplied.
fn fall(steep: f64) -> f64 {
    libm::pow(1.0 + libm::pow(10.0, steep), -1.0 / 0.7)
}

/// Row of a block, interpolated between two rows if its size lies between their sizes.
fn between_rows(block: Format) -> f64 {
    let index = usize::from(block.cqi) - 1;
    let upper = TABLE[index].bits;
    let below = match index {
        0 => 0.0,
        _ => f64::from(upper.saturating_sub(block.bits)) / f64::from(upper - TABLE[index - 1].bits),
    };
    f64::from(block.cqi) - below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of RLC PDUs of this size that a transport block carries.
    fn pdus(bits: u32, pdu_bits: u32) -> u32 {
        (bits - HEADER_BITS) / pdu_bits
    }

    fn air(category: u8) -> Hsdpa {
        Hsdpa::new(Category::of(category).unwrap(), 15, 1)
    }

    /// Blocks of row `cqi` of its own size.
    fn of_row(cqi: u8) -> Format {
        let Row { bits, codes } = TABLE[usize::from(cqi) - 1];
        Format { cqi, units: codes, bits }
    }

    /// Acceptance test 1.
    #[test]
    fn sizes_are_those_of_the_standard_and_rise() {
        let sizes: Vec<u32> = sizes().collect();
        assert_eq!((sizes.len(), sizes[0], sizes[39], sizes[253]), (254, 137, 605, 27_952));
        assert!(sizes.is_sorted_by(|one, other| one < other));
        for Row { bits, .. } in TABLE {
            assert!(sizes.contains(&bits), "{bits}");
        }
        for Category { largest_bits, .. } in CATEGORY {
            assert!(sizes.contains(&largest_bits), "{largest_bits}");
        }
        // As earlier versions of the standard have CQI 26.
        assert!(!sizes.contains(&17_300));
        assert!(TABLE.is_sorted_by(|one, other| one.bits < other.bits && one.codes <= other.codes));
    }

    /// 960 coded bits of a code in a TTI with QPSK, up to row 15, and twice as many with 16QAM; 24 of CRC.
    #[test]
    fn blocks_fit_into_their_codes() {
        for (index, Row { bits, codes }) in TABLE.into_iter().enumerate() {
            let coded = codes * if index < 15 { 960 } else { 1920 };
            let rate = f64::from(bits + 24) / f64::from(coded);
            assert!((0.16..0.9).contains(&rate), "{bits} bits: {rate}");
        }
    }

    #[test]
    fn blocks_rise_with_the_cqi_up_to_what_the_category_takes() {
        // Bits and codes of the last row of tables 7A, 7B, 7C, 7D and 7E.
        let last = [
            (6, 22, 7168, 5),
            (8, 25, 14_411, 10),
            (9, 26, 17_237, 12),
            (10, 30, 25_558, 15),
            (12, 15, 3319, 5),
        ];
        for (number, row, bits, codes) in last {
            let category = Category::of(number).unwrap();
            let air = air(number);
            let at = |cqi| air.format(cqi, 15, u64::MAX).unwrap();
            for cqi in 1..row {
                assert!(at(cqi).bits < at(cqi + 1).bits, "category {number}, CQI {cqi}");
            }
            assert_eq!(at(row), Format { cqi: row, units: codes, bits });
            assert_eq!(at(30), at(row));
            assert!(bits <= category.largest_bits);
        }
        assert_eq!(CATEGORY.map(|category| category.inter_tti), [3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 2, 1]);
    }

    #[test]
    fn a_block_is_the_smallest_that_carries_the_bits_within_the_codes() {
        let air = air(10);
        let at = |cqi, codes, bits| air.format(cqi, codes, bits).map(|format| (format.cqi, format.bits));
        // 125 + 12 x 20 = 365; 377 and 389 are the next. Of CQI 4 and 5 the blocks have 317 and 377 bits.
        assert_eq!(at(22, 15, 357), Some((5, 365)));
        assert_eq!(at(22, 15, 377), Some((5, 377)));
        assert_eq!(at(22, 15, 378), Some((6, 389)));
        assert_eq!(at(5, 15, 378), Some((5, 377)));
        assert_eq!(at(22, 15, 99_999), Some((22, 7168)));
        // Three codes are left: CQI 12 has the largest block.
        assert_eq!(at(22, 3, 99_999), Some((12, 1742)));
        assert_eq!(at(22, 3, 0), Some((1, 137)));
        assert_eq!(at(22, 0, 1), None);
        assert_eq!(at(0, 15, 1), None);
    }

    /// PDUs of 656 bits: with the header 677, and 296 x (2085 / 2048)^47 = 686.6 is the first size that is as large.
    #[test]
    fn where_no_pdu_fits_into_a_row_the_block_is_as_large_as_one_pdu_needs() {
        let air = Hsdpa::new(Category::of(8).unwrap(), 10, 656);
        let at = |cqi, codes| air.format(cqi, codes, u64::MAX);
        for cqi in 1..=7 {
            assert_eq!(at(cqi, 10), Some(Format { cqi: 8, units: 2, bits: 686 }), "CQI {cqi}");
        }
        assert_eq!(at(8, 10), Some(of_row(8)));
        // 710 bits with the CRC are fewer than the 960 coded bits of a code.
        assert_eq!(at(3, 1), Some(Format { cqi: 8, units: 1, bits: 686 }));
        // A PDU of 1500 bits needs two codes.
        let large = Hsdpa::new(Category::of(8).unwrap(), 10, 1500);
        assert_eq!(large.format(3, 1, u64::MAX), None);
        assert_eq!(large.format(3, 10, u64::MAX).map(|block| (block.cqi, block.units)), Some((12, 3)));
    }

    /// Between CQI 7 with 650 bits and CQI 8 with 792: 686 bits are a quarter of the way, 0.25 x 1.03 dB.
    #[test]
    fn a_size_between_two_rows_is_lost_as_a_row_between_them() {
        let air = air(8);
        let between = Format { bits: 686, ..of_row(8) };
        assert!((between_rows(between) - 7.253_5).abs() < 0.001, "{}", between_rows(between));
        assert_eq!(between_rows(of_row(8)), 8.0);
        let sinr = |block| sinr_of(&air, block, 0.1);
        let (below, middle, above) = (sinr(of_row(7)), sinr(between), sinr(of_row(8)));
        assert!(((middle - below) / (above - below) - 0.25).abs() < 0.02, "{below} {middle} {above}");
    }

    /// PDUs of a block by hand, floor((bits - 21) / size) (section 5 of the anchors): kbit/s of payload, one in 2 ms.
    #[test]
    fn rates_of_rlc_by_hand() {
        let payload = |pdu_bits: u32| pdu_bits - 16;
        for (pdu_bits, rates) in
            [(336, [480, 1440, 3360, 6720, 12_160]), (656, [320, 1600, 3200, 6720, 12_160])]
        {
            for (cqi, rate) in [10, 15, 22, 25, 30].into_iter().zip(rates) {
                let Format { bits, .. } = air(10).format(cqi, 15, u64::MAX).unwrap();
                assert_eq!(pdus(bits, pdu_bits) * payload(pdu_bits) / 2, rate, "CQI {cqi}, {pdu_bits} bits");
            }
        }
        assert_eq!(
            [336, 656].map(|pdu_bits| pdus(27_952, pdu_bits) * payload(pdu_bits) / 2),
            [13_280, 13_440]
        );
    }

    /// All rows: PDUs of 336 bits, then of 656, counted by hand from the table.
    #[test]
    fn every_row_carries_its_pdus() {
        let by_hand = [
            (1, 0, 0),
            (2, 0, 0),
            (3, 0, 0),
            (4, 0, 0),
            (5, 1, 0),
            (6, 1, 0),
            (7, 1, 0),
            (8, 2, 1),
            (9, 2, 1),
            (10, 3, 1),
            (11, 4, 2),
            (12, 5, 2),
            (13, 6, 3),
            (14, 7, 3),
            (15, 9, 5),
            (16, 10, 5),
            (17, 12, 6),
            (18, 13, 7),
            (19, 15, 8),
            (20, 17, 8),
            (21, 19, 9),
            (22, 21, 10),
            (23, 28, 14),
            (24, 33, 17),
            (25, 42, 21),
            (26, 51, 26),
            (27, 64, 33),
            (28, 69, 35),
            (29, 72, 36),
            (30, 76, 38),
        ];
        for (cqi, small, large) in by_hand {
            let Format { bits, .. } = air(10).format(cqi, 15, u64::MAX).unwrap();
            assert_eq!((pdus(bits, 336), pdus(bits, 656)), (small, large), "CQI {cqi}");
        }
    }

    #[test]
    fn the_cqi_is_the_row_whose_threshold_the_sinr_meets() {
        let air = air(10);
        // By hand: 5 / 1.02 + 16.62 = 21.52; -15.93 / 1.02 + 16.62 = 1.002.
        assert_eq!(
            [-20.0, -16.0, -15.93, 5.0, 13.64, 13.65, 40.0].map(|s| air.cqi(s)),
            [0, 0, 1, 21, 29, 30, 30]
        );
        for cqi in 1..=30 {
            let least = air.least_sinr(cqi);
            assert_eq!((air.cqi(least), air.cqi(least.next_down())), (cqi, cqi - 1));
        }
    }

    /// SINR that causes this block error rate.
    fn sinr_of(air: &Hsdpa, block: Format, bler: f64) -> f32 {
        let (mut low, mut high) = (-40.0_f32, 40.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if air.bler(block, middle) > bler { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn cqi_and_bler_agree() {
        let air = air(10);
        for cqi in 1..=30 {
            let off = sinr_of(&air, of_row(cqi), 0.1) - air.least_sinr(cqi);
            assert!(off.abs() < 0.2, "CQI {cqi}: {off} dB");
            assert!(air.bler(of_row(cqi), air.least_sinr(cqi) + 1.0) < 0.01, "CQI {cqi}");
            // Low rows have flatter curves.
            let lost = if cqi < 5 { 0.79 } else { 0.94 };
            assert!(air.bler(of_row(cqi), air.least_sinr(cqi) - 1.0) > lost, "CQI {cqi}");
        }
    }

    #[test]
    fn a_category_that_does_not_exist_is_refused() {
        for number in [0, 13] {
            let error = Category::of(number).unwrap_err().to_string();
            let message =
                format!("category: there is no UE category {number} of HSDPA in Release 5; write 1 to 12");
            assert_eq!(error, message);
        }
    }
}
