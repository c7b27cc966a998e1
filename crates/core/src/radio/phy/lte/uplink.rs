//! Transport blocks of LTE's uplink (PUSCH): modulation and I_TBS by SINR, PRBs, block sizes and errors.
//!
//! A row is an I_TBS with the modulation of its MCS (TS 36.213 table 8.6.1-1): QPSK up to I_TBS 10, 16QAM
//! from 10 to 19, 64QAM from 19 to 26. A UE without 64QAM sends I_TBS 20 and above with 16QAM (TS 36.213
//! §8.6.1), up to code rate 0.93. Rows are ordered by the SINR that causes 10 % of their blocks over all PRBs
//! to be lost ([`curve`]); a row that carries no more than a row of lower SINR is left out.
//!
//! The transform precoder (SC-FDMA) requires 2^a 3^b 5^c PRBs (TS 36.211 §5.3.3): 48 of 49 PRBs are used.
//!
//! Left out: frequency hopping, allocation in contiguous PRBs as a constraint between UEs, SRS, UCI on PUSCH.

use super::curve::{self, Modulation};
use super::{BITS_PER_PRB, prbs_for, size};
use crate::error::ScenarioError;
use crate::radio::phy::air::{Air, Format};
use crate::registry::parameters;

parameters! {
    /// Transport blocks of an LTE carrier in the uplink.
    pub struct Config {
        /// The highest modulation of the UEs: "16qam" (UE categories 1 to 4), or "64qam" (category 5).
        pub modulation: Highest,
        /// Resource elements of a PRB that carry data: 144 with two symbols of reference signals, 132 with
        /// a sounding reference signal (SRS) too.
        pub elements_per_prb: u16 = 144,
        /// PRBs of the control channel (PUCCH), at both edges of the carrier.
        pub reserved_prbs: u8 = 2,
    }

    /// The highest modulation of a UE.
    pub enum Highest {
        /// 16QAM.
        #[default]
        #[serde(rename = "16qam")]
        Qam16,
        /// 64QAM.
        #[serde(rename = "64qam")]
        Qam64,
    }
}

impl Config {
    /// Rejects blocks that a carrier of `prbs` PRBs does not have.
    pub(in crate::radio) fn validate(&self, prbs: u32) -> Result<(), ScenarioError> {
        if !(100..=156).contains(&self.elements_per_prb) {
            let message = format!("{} resource elements in a PRB", self.elements_per_prb);
            return Err(ScenarioError::new("elements_per_prb", message, "write 100 to 156, such as 144"));
        }
        if u32::from(self.reserved_prbs) >= prbs {
            let message = format!("{} of {prbs} PRBs leave none for data", self.reserved_prbs);
            return Err(ScenarioError::new("reserved_prbs", message, "write fewer, such as 2"));
        }
        Ok(())
    }
}

/// The highest code rate that a receiver has to decode: TS 36.213 §7.1.7.
const HIGHEST_RATE: f64 = 0.93;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    i_tbs: u8,
    modulation: Modulation,
    /// Minimum SINR of a PRB for which the row is used, dB.
    least_db: f32,
}

/// The blocks of a carrier.
#[derive(Clone, Debug)]
pub(in crate::radio) struct LteUplink {
    prbs: u32,
    elements_per_prb: u32,
    rows: Vec<Row>,
}

/// The I_TBS of each modulation: TS 36.213 table 8.6.1-1.
fn pairs(highest: Highest) -> impl Iterator<Item = (u8, Modulation)> {
    let (of_16, of_64) = match highest {
        Highest::Qam16 => (10..27, 27..27),
        Highest::Qam64 => (10..20, 19..27),
    };
    let all = [(0..11, Modulation::Qpsk), (of_16, Modulation::Qam16), (of_64, Modulation::Qam64)];
    all.into_iter().flat_map(|(range, modulation)| range.map(move |i_tbs| (i_tbs, modulation)))
}

impl LteUplink {
    /// Blocks of a valid carrier of `prbs` PRBs.
    pub fn new(config: &Config, prbs: u32) -> Self {
        let elements_per_prb = u32::from(config.elements_per_prb);
        let prbs = largest_allowed(prbs - u32::from(config.reserved_prbs));
        let elements = prbs * elements_per_prb;
        let fits = |&(i_tbs, modulation): &(u8, Modulation)| {
            let bits = f64::from(BITS_PER_PRB[usize::from(i_tbs)]) / 10.0;
            bits <= HIGHEST_RATE * f64::from(modulation.bits() * elements_per_prb)
        };
        let row = |(i_tbs, modulation): (u8, Modulation)| {
            let least_db = curve::sinr_at(0.1, modulation, size(i_tbs, prbs), elements) as f32;
            Row { i_tbs, modulation, least_db }
        };
        let mut rows: Vec<Row> = pairs(config.modulation).filter(fits).map(row).collect();
        rows.sort_by(|one, other| one.least_db.total_cmp(&other.least_db).then(other.i_tbs.cmp(&one.i_tbs)));
        let mut most = None;
        rows.retain(|own| {
            let carries_more = most.is_none_or(|most| own.i_tbs > most);
            most = most.max(Some(own.i_tbs));
            carries_more
        });
        Self { prbs, elements_per_prb, rows }
    }

    fn row(&self, number: u8) -> Option<Row> {
        self.rows.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// Whether the transform precoder supports this number of PRBs.
fn is_allowed(prbs: u32) -> bool {
    let without = |mut left: u32, factor| {
        while left > 0 && left.is_multiple_of(factor) {
            left /= factor;
        }
        left
    };
    [2, 3, 5].into_iter().fold(prbs, without) == 1
}

/// The largest allocation of at most `most` PRBs, 0 for 0.
fn largest_allowed(most: u32) -> u32 {
    (1..=most).rev().find(|prbs| is_allowed(*prbs)).unwrap_or(0)
}

impl Air for LteUplink {
    fn units(&self) -> u32 {
        self.prbs
    }

    fn cqi(&self, sinr_db: f32) -> u8 {
        self.rows.partition_point(|row| row.least_db <= sinr_db) as u8
    }

    fn least_sinr(&self, cqi: u8) -> f32 {
        self.row(cqi).map_or(f32::INFINITY, |row| row.least_db)
    }

    /// As few PRBs of this row as carry the bits.
    fn format(&self, cqi: u8, units: u32, bits: u64) -> Option<Format> {
        let row = self.row(cqi)?;
        let most = largest_allowed(units.min(self.prbs));
        let needed = prbs_for(row.i_tbs, bits).min(u64::from(most)) as u32;
        let prbs = (needed..=most).find(|prbs| is_allowed(*prbs))?;
        Some(Format { cqi, units: prbs, bits: size(row.i_tbs, prbs) })
    }

    fn bler(&self, block: Format, sinr_db: f32) -> f64 {
        let of = |row: Row| {
            curve::bler(row.modulation, block.bits, block.units * self.elements_per_prb, sinr_db.into())
        };
        self.row(block.cqi).map_or(1.0, of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uplink(modulation: Highest, prbs: u32) -> LteUplink {
        LteUplink::new(&Config { modulation, reserved_prbs: 0, ..Config::default() }, prbs)
    }

    #[test]
    fn rows_rise_in_sinr_and_size() {
        for (modulation, rows) in [(Highest::Qam16, 22), (Highest::Qam64, 27)] {
            let air = uplink(modulation, 50);
            let i_tbs: Vec<u8> = air.rows.iter().map(|row| row.i_tbs).collect();
            assert_eq!(i_tbs, (0..rows).collect::<Vec<u8>>());
            assert!(air.rows.windows(2).all(|pair| pair[0].least_db < pair[1].least_db));
            assert!(air.cqi(-30.0) == 0 && air.cqi(60.0) == rows);
            for row in 1..=rows {
                let least = air.least_sinr(row);
                assert_eq!((air.cqi(least), air.cqi(least.next_down())), (row, row - 1));
                let block = air.format(row, 50, u64::MAX).unwrap();
                assert!((air.bler(block, least) - 0.1).abs() < 0.001, "row {row}");
            }
        }
    }

    /// TS 36.306 table 4.1-2: 51,024 bits of category 3 and 4, and 75,376 of category 5, on 100 PRBs.
    #[test]
    fn the_largest_blocks_are_those_of_the_categories() {
        for (modulation, standard) in [(Highest::Qam16, 51_024.0), (Highest::Qam64, 75_376.0)] {
            let air = uplink(modulation, 100);
            let bits = air.format(air.cqi(60.0), 100, u64::MAX).unwrap().bits;
            assert!((f64::from(bits) / standard - 1.0).abs() < 0.02, "{bits}");
        }
    }

    /// What ns-3's test of its round-robin scheduler expects of uplink blocks, bytes, from TS 36.213 table 7.1.7.2.1-1.
    #[test]
    fn the_sizes_are_near_those_that_ns3_expects() {
        for (i_tbs, within, expected) in [
            (26, 0.03, [(25, 2292.0), (8, 749.0), (4, 373.0)]),
            (13, 0.03, [(25, 807.0), (8, 253.0), (4, 125.0)]),
            (11, 0.045, [(25, 621.0), (8, 201.0), (4, 97.0)]),
            (2, 0.08, [(25, 137.0), (8, 41.0), (4, 22.0)]),
        ] {
            for (prbs, bytes) in expected {
                let error = f64::from(size(i_tbs, prbs) / 8) / bytes - 1.0;
                assert!(error.abs() < within, "I_TBS {i_tbs} on {prbs} PRBs: {error}");
            }
        }
    }

    #[test]
    fn allocations_have_no_other_prime_factors_than_2_3_and_5() {
        let below_51: Vec<u32> = (1..=50).filter(|prbs| is_allowed(*prbs)).collect();
        let by_hand =
            [1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 25, 27, 30, 32, 36, 40, 45, 48, 50];
        assert_eq!(below_51, by_hand);
        let air = uplink(Highest::Qam16, 50);
        let units = |most, bits| air.format(5, most, bits).map(|block| block.units);
        // I_TBS 4 has 71.5 bits in a PRB: 7 of them carry 500, and 8 are allowed.
        assert_eq!(
            [units(50, 500), units(7, 500), units(49, u64::MAX), units(0, 8)],
            [Some(8), Some(6), Some(48), None]
        );
    }
}
