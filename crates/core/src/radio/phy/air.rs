//! The air interface of a shared cell: its transport blocks, the blocks suitable for a SINR, and their loss
//! probability.
//!
//! A slot has *units*, which blocks share: channelisation codes in HSDPA, physical resource blocks (PRBs) in
//! LTE. The UE reports a *CQI*, a row of the standard's table: the highest row whose blocks would be lost
//! with a probability of at most 10 %. The Node B or eNodeB picks a block of at most that row that carries
//! the queued data. Every SINR is that of a slot, after the receiver has combined all transmissions of the
//! block.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most layers of a UE.
pub(in crate::radio) const MOST_LAYERS: usize = 4;

/// A transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radio) struct Format {
    /// Row of the CQI table.
    pub cqi: u8,
    /// Units that it takes.
    pub units: u32,
    /// Size, bits.
    pub bits: u32,
}

/// The transport blocks of an air interface.
pub(in crate::radio) trait Air: Send + Sync {
    /// Units of a slot.
    fn units(&self) -> u32;

    /// The highest row whose blocks are lost with a probability of at most 10 % at this SINR; 0 if there is
    /// none.
    fn cqi(&self, sinr_db: f32) -> u8;

    /// Like [`cqi`](Self::cqi), for a result that is mostly `near`.
    fn cqi_near(&self, sinr_db: f32, near: u8) -> u8 {
        let _ = near;
        self.cqi(sinr_db)
    }

    /// The row that follows from a UE's report of this SINR, usually `near`: that of `cqi`, or a lower one if
    /// reports are coarser than rows.
    fn reported(&self, sinr_db: f32, near: u8) -> u8 {
        self.cqi_near(sinr_db, near)
    }

    /// Index of the report about this SINR, from 1 on by rising SINR; 0 for none.
    fn report_of(&self, sinr_db: f32) -> u8 {
        self.cqi(sinr_db)
    }

    /// Minimum SINR, dB, for which a report of this index is made; minus infinity without one.
    fn reported_sinr(&self, report: u8) -> f32 {
        if report == 0 { f32::NEG_INFINITY } else { self.least_sinr(report) }
    }

    /// Minimum SINR, dB, for which a row, 1 or higher, is reported.
    fn least_sinr(&self, cqi: u8) -> f32;

    /// The smallest block of at most this row, within `units` units, that carries `bits` bits. If none does,
    /// the largest block; `None` if no block fits.
    fn format(&self, cqi: u8, units: u32, bits: u64) -> Option<Format>;

    /// The probability that a block is lost at this SINR.
    fn bler(&self, block: Format, sinr_db: f32) -> f64;

    /// Equivalent SINR, a ratio, of a block after several transmissions with combined ratio `heard` and one
    /// with `ratio` now: the sum of both (Chase combining).
    fn combine(&self, _block: Format, heard: f64, ratio: f64, _transmissions: u8) -> f64 {
        heard + ratio
    }

    /// Decides whether a block is lost, i.e. whether the uniform number `draw` is below [`bler`](Self::bler), without
    /// computing the probability. `None` if the number is near it. The SINR may be off by rounding.
    fn is_lost(&self, block: Format, sinr_db: f32, draw: f64) -> Option<bool> {
        let _ = (block, sinr_db, draw);
        None
    }

    /// Whether the units of a block share the sender's power, so each of n units has 10 log10(n) dB less.
    fn units_share_power(&self) -> bool {
        true
    }

    /// Number of a row in traces.
    fn number(&self, row: u8) -> u16 {
        row.into()
    }

    /// Report entries with the share of each row in all blocks, from the number of blocks per row.
    fn shares(&self, blocks: &[u64]) -> Vec<(&'static str, Value)> {
        vec![("cqi", shares(blocks.iter().copied().enumerate()))]
    }
}

/// Returns how many rows are reported at this SINR, mostly `near`. A row is reported from its `least` SINR on; rows rise.
pub(in crate::radio) fn row_near<T>(rows: &[T], least: impl Fn(&T) -> f32, sinr_db: f32, near: u8) -> u8 {
    let (number, is_reported) = (usize::from(near), |row: &T| least(row) <= sinr_db);
    let reaches = number == 0 || rows.get(number - 1).is_some_and(is_reported);
    if reaches && !rows.get(number).is_some_and(is_reported) {
        return near;
    }
    rows.partition_point(is_reported) as u8
}

/// By number, its share in all that is counted.
pub(in crate::radio) fn shares(counts: impl Iterator<Item = (usize, u64)>) -> Value {
    let mut by_number = BTreeMap::new();
    counts
        .filter(|(_, count)| *count > 0)
        .for_each(|(number, count)| *by_number.entry(number).or_insert(0) += count);
    let all = by_number.values().sum::<u64>().max(1) as f64;
    let shares = by_number.into_iter().map(|(number, count)| (number.to_string(), json!(count as f64 / all)));
    Value::Object(shares.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_from_any_other_row() {
        let least = [-3.0, 0.5, 0.5, 4.0];
        for sinr_db in [-9.0, -3.0, 0.0, 0.5, 3.9, 4.0, 20.0] {
            let expected = least.partition_point(|own| *own <= sinr_db) as u8;
            for near in 0..9 {
                assert_eq!(row_near(&least, |own| *own, sinr_db, near), expected, "{sinr_db} {near}");
            }
        }
    }
}
