//! Transport blocks of NR: which MCS and how many layers by SINR, their sizes by PRBs, and how they are lost.
//!
//! A row is a number of layers and an MCS. The rows of a carrier are the pairs that carry more than any pair
//! of lower SINR: rank and MCS rise together, like a UE's rank indicator and CQI. With several layers, the
//! SINR of each is `layer_loss` below that of a single layer. A row is reported from the SINR on that causes
//! 10 % of its blocks on all PRBs to be lost ([`super::curve`]).
//!
//! A UE reports a rank and a CQI of the table that belongs to the MCS table. It has 15 code rates instead of
//! 28 MCS, so the report can be up to 2 dB below the UE's SINR. The gNB's outer loop corrects this.
//!
//! Left out: precoding.

pub mod blocks;
mod curve;
mod information;
mod tables;

use crate::error::ScenarioError;
use crate::radio::phy::air::MOST_LAYERS;
use crate::radio::phy::air::{Air, Format, row_near, shares};
use crate::registry::parameters;
use crate::units::{Decibel, Frequency};
use curve::Curve;
use serde_json::Value;
use tables::Mcs;

parameters! {
    /// Transport blocks of an NR carrier in the downlink.
    pub struct DownlinkBlocks {
        /// Bandwidth of the carrier; the valid values depend on the subcarrier spacing (TS 38.101-1 table
        /// 5.3.2-1).
        pub bandwidth: Frequency = Frequency::from_millihertz(100_000_000_000),
        /// MCS table.
        pub table: Table = Table::Qam256,
        /// Symbols of a slot that carry control channels (PDCCH).
        pub control_symbols: u8 = 1,
        /// Resource elements of a PRB without data because of demodulation reference signals (DMRS); half of them in a
        /// special slot of fewer than 8 downlink symbols.
        pub dmrs: u8 = 24,
        /// The most layers, 1 to 4.
        pub layers: u8 = 4,
        /// Loss of the link compared with BICM's normal approximation. The default is that of LDPC with a
        /// receiver that knows the channel; real receivers lose 1 to 2 dB more.
        pub loss: Decibel = Decibel::from_thousandths(880),
    }

    /// Transport blocks of an NR carrier in the uplink.
    pub struct UplinkBlocks {
        /// Bandwidth of the carrier.
        pub bandwidth: Frequency = Frequency::from_millihertz(100_000_000_000),
        /// MCS table.
        pub table: Table = Table::Qam64,
        /// Resource elements of a PRB without data because of demodulation reference signals (DMRS).
        pub dmrs: u8 = 24,
        /// The most layers, 1 to 4.
        pub layers: u8 = 1,
        /// PRBs of the control channel (PUCCH).
        pub reserved_prbs: u16 = 4,
        /// By how much the link is worse than BICM's normal approximation.
        pub loss: Decibel = Decibel::from_thousandths(880),
    }

    /// MCS tables of TS 38.214.
    pub enum Table {
        /// Table 5.1.3.1-1: up to 64QAM.
        #[default]
        #[serde(rename = "64qam")]
        Qam64,
        /// Table 5.1.3.1-2: up to 256QAM.
        #[serde(rename = "256qam")]
        Qam256,
        /// Table 5.1.3.1-3: up to 64QAM, with low code rates.
        #[serde(rename = "64qam_low_se")]
        Qam64LowSe,
    }
}

parameters! {
    /// Form of a UE's channel report.
    pub enum Report {
        /// A rank and a CQI of the table that belongs to the MCS table: TS 38.214 table 5.2.2.1-2, -3 or -4.
        #[default]
        Cqi,
        /// A rank and an MCS: finer than any UE reports.
        Mcs,
    }
}

impl Table {
    /// Modulation and code rate in 2048ths of each CQI.
    fn cqis(self) -> &'static [(u32, u32); 15] {
        match self {
            Self::Qam64 => &tables::CQI_QAM64,
            Self::Qam256 => &tables::CQI_QAM256,
            Self::Qam64LowSe => &tables::CQI_LOW_SE,
        }
    }

    fn rows(self) -> &'static [Mcs] {
        match self {
            Self::Qam64 => &tables::QAM64,
            Self::Qam256 => &tables::QAM256,
            Self::Qam64LowSe => &tables::QAM64_LOW_SE,
        }
    }
}

/// PRBs of a carrier.
///
/// # Errors
/// If there is no such carrier.
pub(in crate::radio) fn prbs(scs_khz: u32, bandwidth: Frequency) -> Result<u32, ScenarioError> {
    let widths = tables::PRBS.iter().find(|(scs, _)| *scs == scs_khz).map_or(&[][..], |(_, widths)| widths);
    let of = |mhz: u32| u64::from(mhz) * 1_000_000_000 == bandwidth.as_millihertz();
    widths.iter().find(|(mhz, _)| of(*mhz)).map(|(_, prbs)| *prbs).ok_or_else(|| {
        let list: Vec<_> = widths.iter().map(|(mhz, _)| mhz.to_string()).collect();
        let message = format!("{bandwidth} is no bandwidth of NR at {scs_khz} kHz");
        ScenarioError::new("bandwidth", message, format!("write one of {} MHz", list.join(", ")))
    })
}

/// Resource elements of a PRB in a downlink of `symbols` symbols.
pub(in crate::radio) fn downlink_elements(config: &DownlinkBlocks, symbols: u8) -> u32 {
    let data = u32::from(symbols.saturating_sub(config.control_symbols));
    let dmrs = if symbols < 8 { config.dmrs / 2 } else { config.dmrs };
    blocks::elements_of_prb(data, dmrs.into(), 0)
}

fn validate(dmrs: u8, layers: u8, loss: Decibel) -> Result<(), ScenarioError> {
    if !(6..=48).contains(&dmrs) {
        return Err(ScenarioError::new(
            "dmrs",
            format!("{dmrs} elements in a PRB"),
            "write 6 to 48, such as 24",
        ));
    }
    if !(1..=MOST_LAYERS as u8).contains(&layers) {
        return Err(ScenarioError::new("layers", format!("{layers} layers"), "write 1 to 4"));
    }
    if loss < Decibel::from_thousandths(0) {
        return Err(ScenarioError::new("loss", "is better than any code", "write 0 dB or more"));
    }
    Ok(())
}

impl DownlinkBlocks {
    pub(in crate::radio) fn validate(&self, scs_khz: u32) -> Result<(), ScenarioError> {
        prbs(scs_khz, self.bandwidth)?;
        if !(1..=3).contains(&self.control_symbols) {
            let message = format!("{} symbols of control", self.control_symbols);
            return Err(ScenarioError::new("control_symbols", message, "write 1 to 3"));
        }
        validate(self.dmrs, self.layers, self.loss)
    }
}

impl UplinkBlocks {
    pub(in crate::radio) fn validate(&self, scs_khz: u32) -> Result<(), ScenarioError> {
        let all = prbs(scs_khz, self.bandwidth)?;
        if u32::from(self.reserved_prbs) >= all {
            let message = format!("of {all} PRBs none is left");
            return Err(ScenarioError::new("reserved_prbs", message, "write fewer, such as 4"));
        }
        validate(self.dmrs, self.layers, self.loss)
    }
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    layers: u8,
    mcs: u8,
    /// Minimum SINR of a single layer for which it is reported, dB.
    least_db: f32,
}

/// Parameters of a carrier's blocks.
#[derive(Clone, Debug)]
pub(in crate::radio) struct Carrier {
    pub prbs: u32,
    /// Resource elements of a PRB.
    pub elements: u32,
    pub table: Table,
    pub layers: u8,
    pub loss_db: f64,
    /// SINR that a layer has less of 1 to 4, dB.
    pub layer_loss_db: [f64; MOST_LAYERS],
    pub report: Report,
    /// Whether the largest block limits the buffer of HARQ (limited-buffer rate matching).
    pub limits_buffer: bool,
}

/// The blocks of a carrier.
#[derive(Clone, Debug)]
pub(in crate::radio) struct Nr {
    carrier: Carrier,
    rows: Vec<Row>,
    /// Thresholds of the reports by rising SINR, dB, each with the highest row that the report allows.
    reports: Vec<(f32, u8)>,
    /// TBS_LBRM, which limits the HARQ buffer.
    largest: Option<u32>,
}

impl Nr {
    pub fn new(carrier: Carrier) -> Self {
        let largest = carrier.limits_buffer.then(|| carrier.largest_block());
        let mut nr = Self { rows: Vec::new(), reports: Vec::new(), largest, carrier };
        nr.rows = nr.frontier();
        nr.reports = nr.reports();
        nr
    }

    /// The same carrier with the resource elements of a special slot.
    pub fn with_elements(&self, elements: u32) -> Self {
        Self { carrier: Carrier { elements, ..self.carrier.clone() }, ..self.clone() }
    }

    /// The reports that allow more than all reports of lower SINR.
    fn reports(&self) -> Vec<(f32, u8)> {
        let with_layers = |(layers, mcs): (u8, &Mcs)| {
            let bits = blocks::size(
                self.carrier.elements,
                self.carrier.prbs,
                layers.into(),
                mcs.modulation,
                mcs.rate,
            );
            let curve = Curve::new(mcs, self.carrier.loss_db, bits);
            let loss_db = self.carrier.layer_loss_db[usize::from(layers) - 1];
            ((curve.sinr_at(0.1) + loss_db) as f32, bits)
        };
        let cqis = match self.carrier.report {
            Report::Mcs => return (1..).zip(&self.rows).map(|(row, own)| (own.least_db, row)).collect(),
            Report::Cqi => self.carrier.table.cqis().iter().filter_map(|cqi| tables::mcs_of(*cqi)),
        };
        let mut all: Vec<(f32, u32)> = cqis
            .flat_map(|mcs| (1..=self.carrier.layers).map(move |layers| (layers, mcs)))
            .map(with_layers)
            .filter(|(_, bits)| *bits > 0)
            .collect();
        all.sort_by(|(one, one_bits), (other, other_bits)| {
            one.total_cmp(other).then(other_bits.cmp(one_bits))
        });
        let mut most = 0;
        all.retain(|(_, bits)| {
            let says_more = *bits > most;
            most = most.max(*bits);
            says_more
        });
        // For a CQI with a lower code rate than any MCS, the gNB uses its lowest row.
        all.into_iter().map(|(least_db, _)| (least_db, self.cqi(least_db).max(1))).collect()
    }

    /// By rising SINR the pairs of layers and MCS that carry more than all of lower SINR.
    fn frontier(&self) -> Vec<Row> {
        let mut all: Vec<(u32, Row)> = (1..=self.carrier.layers)
            .flat_map(|layers| (0..self.carrier.table.rows().len() as u8).map(move |mcs| (layers, mcs)))
            .filter_map(|(layers, mcs)| {
                let row = Row { layers, mcs, least_db: 0.0 };
                let bits = self.size(row, self.carrier.prbs);
                let least_db = self.curve(row, bits).sinr_at(0.1) + self.loss_of(row);
                (bits > 0).then_some((bits, Row { least_db: least_db as f32, ..row }))
            })
            .collect();
        all.sort_by(|(one_bits, one), (other_bits, other)| {
            one.least_db.total_cmp(&other.least_db).then(other_bits.cmp(one_bits))
        });
        let mut most = 0;
        all.retain(|(bits, _)| {
            let carries_more = *bits > most;
            most = most.max(*bits);
            carries_more
        });
        all.into_iter().map(|(_, row)| row).collect()
    }

    fn loss_of(&self, row: Row) -> f64 {
        self.carrier.layer_loss_db[usize::from(row.layers) - 1]
    }

    fn mcs(&self, row: Row) -> &'static Mcs {
        &self.carrier.table.rows()[usize::from(row.mcs)]
    }

    fn size(&self, row: Row, prbs: u32) -> u32 {
        let mcs = self.mcs(row);
        blocks::size(self.carrier.elements, prbs, row.layers.into(), mcs.modulation, mcs.rate)
    }

    fn curve(&self, row: Row, bits: u32) -> Curve {
        Curve::new(self.mcs(row), self.carrier.loss_db, bits)
    }

    fn row(&self, number: u8) -> Option<Row> {
        self.rows.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The fewest PRBs, up to `most`, on which a row carries `bits` bits.
    fn prbs_for(&self, row: Row, most: u32, bits: u64) -> u32 {
        if bits > u64::from(self.size(row, most)) {
            return most;
        }
        // N_info of a PRB, times 2048: sizes are within some percent of it.
        let mcs = self.mcs(row);
        let of_prb = u64::from(self.carrier.elements.min(156))
            * u64::from(mcs.rate * mcs.modulation * u32::from(row.layers));
        let mut prbs = ((bits * 2048 / of_prb.max(1)) as u32).clamp(1, most);
        while prbs > 1 && u64::from(self.size(row, prbs - 1)) >= bits {
            prbs -= 1;
        }
        while prbs < most && u64::from(self.size(row, prbs)) < bits {
            prbs += 1;
        }
        prbs
    }
}

impl Carrier {
    /// TBS_LBRM (TS 38.212 §5.4.2.1): the block with the maximum number of layers, the highest modulation of
    /// the table and 948/1024 on this number of PRBs.
    fn largest_block(&self) -> u32 {
        let modulation = self.table.rows().iter().map(|mcs| mcs.modulation).max().unwrap_or(2);
        let prbs = [32, 66, 107, 135, 162, 217].into_iter().find(|most| self.prbs <= *most).unwrap_or(273);
        blocks::size(156, prbs, self.layers.into(), modulation, 2 * 948)
    }
}

impl Air for Nr {
    fn units(&self) -> u32 {
        self.carrier.prbs
    }

    fn cqi(&self, sinr_db: f32) -> u8 {
        self.rows.partition_point(|row| row.least_db <= sinr_db) as u8
    }

    fn cqi_near(&self, sinr_db: f32, near: u8) -> u8 {
        row_near(&self.rows, |row| row.least_db, sinr_db, near)
    }

    fn reported(&self, sinr_db: f32, _near: u8) -> u8 {
        let heard = self.reports.partition_point(|(least_db, _)| *least_db <= sinr_db);
        heard.checked_sub(1).map_or(0, |place| self.reports[place].1)
    }

    fn report_of(&self, sinr_db: f32) -> u8 {
        self.reports.partition_point(|(least_db, _)| *least_db <= sinr_db) as u8
    }

    fn reported_sinr(&self, report: u8) -> f32 {
        let place = usize::from(report).min(self.reports.len()).checked_sub(1);
        place.map_or(f32::NEG_INFINITY, |place| self.reports[place].0)
    }

    fn least_sinr(&self, cqi: u8) -> f32 {
        self.row(cqi).map_or(f32::INFINITY, |row| row.least_db)
    }

    /// As few PRBs of this row as carry the bits.
    fn format(&self, cqi: u8, units: u32, bits: u64) -> Option<Format> {
        let row = self.row(cqi)?;
        let most = units.min(self.carrier.prbs);
        let prbs = if bits == u64::MAX { most } else { self.prbs_for(row, most, bits) };
        let size = self.size(row, prbs);
        (size > 0).then_some(Format { cqi, units: prbs, bits: size })
    }

    fn bler(&self, block: Format, sinr_db: f32) -> f64 {
        self.row(block.cqi)
            .map_or(1.0, |row| self.curve(row, block.bits).bler(f64::from(sinr_db) - self.loss_of(row)))
    }

    /// Incremental redundancy.
    fn combine(&self, block: Format, heard: f64, ratio: f64, transmissions: u8) -> f64 {
        let Some(row) = self.row(block.cqi) else { return heard + ratio };
        let mcs = self.mcs(row);
        let buffer = information::buffer(mcs, block.bits, self.largest);
        let loss = libm::exp10((self.loss_of(row) + self.carrier.loss_db) / 10.0);
        loss * information::combine(mcs.modulation, buffer, transmissions, heard / loss, ratio / loss)
    }

    fn is_lost(&self, block: Format, sinr_db: f32, draw: f64) -> Option<bool> {
        let row = self.row(block.cqi)?;
        self.curve(row, block.bits).is_lost(f64::from(sinr_db) - self.loss_of(row), draw)
    }

    /// The MCS, and 32 for each layer beyond the first.
    fn number(&self, row: u8) -> u16 {
        self.row(row).map_or(0, |row| 32 * (u16::from(row.layers) - 1) + u16::from(row.mcs))
    }

    fn shares(&self, blocks: &[u64]) -> Vec<(&'static str, Value)> {
        let by = |of: fn(Row) -> u8| {
            let counts = self.rows.iter().zip(blocks.iter().skip(1));
            shares(counts.map(|(row, count)| (usize::from(of(*row)), *count)))
        };
        vec![("mcs", by(|row| row.mcs)), ("layers", by(|row| row.layers))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carrier(prbs: u32, elements: u32, table: Table, layers: u8) -> Carrier {
        let (report, limits_buffer) = (Report::Cqi, true);
        let layer_loss_db = [0.0, 4.0, 7.0, 9.0];
        Carrier { prbs, elements, table, layers, loss_db: 0.88, layer_loss_db, report, limits_buffer }
    }

    fn n78() -> Nr {
        Nr::new(carrier(273, 132, Table::Qam256, 4))
    }

    #[test]
    fn rows_rise_in_sinr_and_size_and_use_all_layers() {
        let nr = n78();
        let pairs = nr.rows.windows(2);
        for pair in pairs {
            assert!(pair[0].least_db < pair[1].least_db, "{pair:?}");
            assert!(nr.size(pair[0], 273) < nr.size(pair[1], 273), "{pair:?}");
        }
        let layers = |sinr| nr.row(nr.cqi(sinr)).map(|row| row.layers);
        assert_eq!([-7.0, -5.0, 60.0].map(layers), [None, Some(1), Some(4)]);
        // By hand from the curves, bits per symbol: at 12.5 dB 4 x 1.18 (MCS 4 with 3.5 dB) and 3 x 1.69 (MCS
        // 6 with 5.5 dB), at 20 dB 4 x 3.03 (MCS 12 with 11 dB) and 3 x 3.61 (MCS 14 with 13 dB).
        assert_eq!([12.5, 20.0].map(layers), [Some(3), Some(4)]);
        let best = nr.rows.last().unwrap();
        assert_eq!((best.layers, best.mcs), (4, 27));
        // Acceptance test 5, after the loss of four layers is subtracted.
        assert!((f64::from(best.least_db) - 9.0 - 25.32).abs() < 0.03, "{best:?}");
    }

    /// Reports of a UE: rank 1 and the 15 CQIs, each from the SINR with 10 % of its blocks lost (TS 38.214
    /// §5.2.2.1), and the MCS of the largest efficiency up to the CQI's. CQI 1 (78/1024) is below any MCS of
    /// the table.
    #[test]
    fn a_report_is_a_cqi_of_the_table_in_use() {
        let last_mcs = [(Table::Qam64, 28), (Table::Qam256, 27), (Table::Qam64LowSe, 28)];
        for (table, last) in last_mcs {
            let nr = Nr::new(carrier(273, 132, table, 1));
            assert_eq!(nr.reports.len(), 15, "{table:?}");
            let efficiency = |(modulation, rate): (u32, u32)| modulation * rate;
            for ((least_db, row), cqi) in nr.reports.iter().zip(table.cqis()) {
                let mcs = nr.mcs(nr.row(*row).unwrap());
                let most = table.rows().iter().map(|own| efficiency((own.modulation, own.rate)));
                let most = most.filter(|own| *own <= efficiency(*cqi)).max();
                let expected =
                    most.unwrap_or_else(|| efficiency((table.rows()[0].modulation, table.rows()[0].rate)));
                assert_eq!(efficiency((mcs.modulation, mcs.rate)), expected, "{table:?} {cqi:?}");
                assert_eq!(
                    [nr.reported(least_db - 0.01, 0), nr.reported(*least_db, 0)].map(|own| own <= *row),
                    [true; 2]
                );
            }
            let best = nr.row(nr.reported(60.0, 0)).unwrap();
            assert_eq!((best.mcs, nr.reported(-30.0, 0)), (last, 0), "{table:?}");
        }
        // Between CQI 8 (567/1024, 64QAM) and CQI 9 (666/1024) lies MCS 14 (616/1024), which no CQI
        // represents.
        let nr = Nr::new(carrier(273, 132, Table::Qam256, 1));
        let between = nr.curve(Row { layers: 1, mcs: 14, least_db: 0.0 }, 200_000).sinr_at(0.1) as f32 + 0.1;
        let reported = nr.row(nr.reported(between, 0)).unwrap().mcs;
        assert_eq!((reported, nr.row(nr.cqi(between)).unwrap().mcs), (13, 14));
    }

    /// The peaks of nr.md in bits of a block: D and S slots of the carriers in use.
    #[test]
    fn the_largest_blocks_of_carriers() {
        let largest = |prbs, elements, table, layers| {
            let nr = Nr::new(carrier(prbs, elements, table, layers));
            nr.format(nr.cqi(99.0), prbs, u64::MAX).map(|block| block.bits)
        };
        assert_eq!(largest(273, 132, Table::Qam256, 4), Some(1_081_512));
        assert_eq!(largest(273, 48, Table::Qam256, 4), Some(385_272));
        assert_eq!(largest(273, 84, Table::Qam256, 4), Some(671_976));
        assert_eq!(largest(79, 132, Table::Qam256, 2), Some(155_776));
        assert_eq!(largest(51, 132, Table::Qam256, 2), Some(100_392));
        assert_eq!(largest(66, 132, Table::Qam64, 2), Some(96_264));
        assert_eq!(largest(269, 144, Table::Qam64, 1), Some(217_128));
    }

    #[test]
    fn elements_of_slots() {
        let config = DownlinkBlocks::default();
        assert_eq!(
            [14, 10, 6, 8, 2].map(|symbols| downlink_elements(&config, symbols)),
            [132, 84, 48, 60, 0]
        );
    }

    #[test]
    fn a_block_takes_the_fewest_prbs() {
        let nr = n78();
        for cqi in [1, 9, nr.rows.len() as u8] {
            let row = nr.row(cqi).unwrap();
            for bits in [8, 320, 4000, 12_072, 100_000] {
                let block = nr.format(cqi, 273, bits).unwrap();
                let all = u64::from(block.bits) >= bits;
                assert!(all || block.units == 273, "{block:?} for {bits}");
                let fewer = block.units == 1 || u64::from(nr.size(row, block.units - 1)) < bits;
                assert!(fewer, "{block:?} for {bits}");
            }
        }
    }

    /// Acceptance test 3: TS 38.306 §4.1.2, Gbit/s.
    #[test]
    fn peaks_of_ts_38_306() {
        let peak = |layers: f64, modulation: f64, prbs: f64, symbols_per_ms: f64, overhead: f64| {
            layers * modulation * 948.0 / 1024.0 * prbs * 12.0 * symbols_per_ms * (1.0 - overhead) / 1e6
        };
        let prbs = |scs, mhz: u64| {
            f64::from(super::prbs(scs, Frequency::from_millihertz(mhz * 1_000_000_000)).unwrap())
        };
        let near =
            |own: f64, expected: f64| assert!((own - expected).abs() < 0.000_05, "{own}, not {expected}");
        near(peak(4.0, 8.0, prbs(30, 100), 28.0, 0.14), 2.3370);
        near(peak(2.0, 8.0, prbs(15, 15), 14.0, 0.14), 0.1691);
        near(peak(2.0, 8.0, prbs(30, 20), 28.0, 0.14), 0.2183);
        near(peak(2.0, 6.0, prbs(120, 100), 112.0, 0.18), 0.8081);
        near(peak(1.0, 6.0, prbs(30, 100), 28.0, 0.08), 0.4688);
    }
}
