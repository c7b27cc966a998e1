//! Reception of a UE, its reports, and the row of the table used to send to it.
//!
//! The ratio of a slot depends only on the slot index, and so does the random number that decides whether a
//! block is lost: other traffic, another scheduler or another TCP change neither.

use super::config::Adaptation;
use super::subbands::{Set, Subbands};
use crate::element::Adopt;
use crate::fading::BLOCK;
use crate::mobility::Interference;
use crate::packet::Dir;
use crate::radio::phy::air::Air;
use crate::rng::{self, Stream};
use crate::sinr::{Sinr, stream_name};
use crate::units::Decibel;

/// Uniform numbers by slot.
pub(super) struct Draws {
    /// Before the first draw.
    start: Stream,
    block: u64,
    values: [f64; BLOCK],
}

impl Draws {
    pub fn new(start: Stream) -> Self {
        Self { start, block: u64::MAX, values: [0.0; BLOCK] }
    }

    pub fn at(&mut self, slot: u64) -> f64 {
        let block = slot / BLOCK as u64;
        if block != self.block {
            let mut stream = self.start.ahead(block * BLOCK as u64);
            self.values = std::array::from_fn(|_| stream.uniform());
            self.block = block;
        }
        self.values[(slot % BLOCK as u64) as usize]
    }
}

/// The outer loop.
#[derive(Clone, Copy)]
struct OuterLoop {
    up: f32,
    down: f32,
}

/// The rows of a cell's table that are of any use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radio) struct Rows {
    /// The lowest row whose blocks carry data: with a lower report no block is sent.
    pub least: u8,
    /// The highest row with the same block as `least`: a lower row has no further effect.
    pub lowest: u8,
    /// The lowest row with the largest block: a higher row has no further effect.
    pub highest: u8,
}

/// Outer-loop steps that the answer to a block may cause.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::radio) struct Steps {
    /// Whether an ACK counts.
    up: bool,
    /// The offset that led to the lowest row when the block was sent, dB: a NACK moves no further.
    lowest: f32,
}

impl Steps {
    /// `up`: an ACK counts. `lowest`: see there.
    pub fn new(up: bool, lowest: f32) -> Self {
        Self { up, lowest }
    }
}

/// The receiver of a UE, as known to its cell, or the network's receiver for one UE.
pub(in crate::radio) struct Reception {
    sinr: Sinr,
    /// The ratios of two blocks: reports are of the past.
    heard: [(u64, [f32; BLOCK]); 2],
    interference: Option<Interference>,
    /// Subbands that fade on their own; instead of `sinr`.
    pub(super) subbands: Option<Box<Subbands>>,
    period: u64,
    age: u64,
    /// Standard deviation of measurements, dB, and their draws by slot.
    noise: Option<(f64, Stream)>,
    /// Slot and CQI of the report used last.
    report: (u64, u8),
    outer_loop: Option<OuterLoop>,
    /// Offset added to reports, dB.
    pub offset: f32,
    /// The row for report and offset, once it has been computed.
    row: Option<u8>,
    /// The row that report and offset made last.
    near: u8,
    errors: Draws,
    feedback: Draws,
}

impl Reception {
    /// `period` and `age` of reports in slots.
    pub fn new(
        sinr: Sinr,
        config: &Adaptation,
        times: (u64, u64),
        run_seed: u64,
        (ue, dir): (u16, Dir),
    ) -> Self {
        Self::on_carrier(sinr, config, times, run_seed, (ue, dir, 0))
    }

    /// Like [`Self::new`], on a carrier of several.
    pub fn on_carrier(
        sinr: Sinr,
        config: &Adaptation,
        (period, age): (u64, u64),
        run_seed: u64,
        (ue, dir, carrier): (u16, Dir, u8),
    ) -> Self {
        let stream = |part: &str| rng::stream(run_seed, &stream_name(ue, dir, carrier, part));
        let draws = |part: &str| Draws::new(stream(part));
        let noise = (config.noise > Decibel::default()).then(|| (config.noise.as_db(), stream("reports")));
        let outer_loop = config.outer_loop.then(|| {
            let (step, target) = (config.step.as_db() as f32, config.target_bler.as_f64() as f32);
            OuterLoop { up: step * target / (1.0 - target), down: step }
        });
        Self {
            sinr,
            heard: [(u64::MAX, [0.0; BLOCK]); 2],
            interference: None,
            subbands: None,
            period,
            age,
            noise,
            report: (u64::MAX, 0),
            outer_loop,
            offset: 0.0,
            row: None,
            near: 0,
            errors: draws("errors"),
            feedback: draws("feedback"),
        }
    }

    /// Adds interference of other cells.
    #[must_use]
    pub fn with_interference(mut self, interference: Option<Interference>) -> Self {
        self.interference = interference;
        self
    }

    /// Replaces the one SINR of the carrier by that of each subband.
    #[must_use]
    pub fn with_subbands(mut self, subbands: Option<Subbands>) -> Self {
        self.subbands = subbands.map(Box::new);
        self
    }

    /// Adopts the mean SINR, or the random streams, of another receiver; returns whether the mean differs, or is drawn
    /// around.
    #[cold]
    pub fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        if how == Adopt::Streams {
            (self.noise, self.errors, self.feedback) = (fresh.noise, fresh.errors, fresh.feedback);
        }
        if let (Some(own), Some(fresh)) = (&mut self.subbands, fresh.subbands) {
            return own.adopt(*fresh, how);
        }
        let differs = self.sinr.adopt(fresh.sinr, how);
        if differs {
            self.heard = [(u64::MAX, [0.0; BLOCK]); 2];
        }
        differs
    }

    /// The ratio in a slot, dB.
    pub fn sinr(&mut self, slot: u64) -> f32 {
        let loss_db = self.interference.as_mut().map_or(0.0, |interference| interference.loss_db(slot));
        self.alone(slot) - loss_db
    }

    /// The ratio in a slot without interference of other cells, dB.
    fn alone(&mut self, slot: u64) -> f32 {
        if let Some(subbands) = &mut self.subbands {
            return subbands.sinr(slot);
        }
        let block = slot / BLOCK as u64;
        let heard = &mut self.heard[(block % 2) as usize];
        if heard.0 != block {
            *heard = (block, *self.sinr.block(block));
        }
        heard.1[(slot % BLOCK as u64) as usize]
    }

    /// Estimated ratio of this slot, dB: the latest known measurement plus the outer loop's offset.
    pub fn estimate(&mut self, slot: u64) -> f32 {
        let known = slot.saturating_sub(self.age);
        self.measured(known - known % self.period) + self.offset
    }

    /// The ratio that is measured in a slot, dB.
    fn measured(&mut self, slot: u64) -> f32 {
        let noise = self.noise.as_ref().map_or(0.0, |(sd, draws)| sd * draws.ahead(2 * slot).normal());
        self.sinr(slot) + noise as f32
    }

    /// Row that the UE has reported, known to the cell in this slot; 0: none.
    fn reported(&mut self, air: &dyn Air, slot: u64) -> u8 {
        let known = slot.saturating_sub(self.age);
        let measured = known - known % self.period;
        if self.report.0 != measured {
            let sinr = self.measured(measured);
            let row = air.reported(sinr, self.report.1);
            if self.subbands.is_some() {
                let error = sinr - self.alone(measured);
                self.report_subbands(air, measured, sinr, error);
            }
            self.row.take_if(|_| row != self.report.1);
            self.report = (measured, row);
        }
        self.report.1
    }

    /// Row used to send to the UE in this slot, 0 for none; not below the row `least`.
    pub fn row(&mut self, air: &dyn Air, slot: u64, least: u8) -> u8 {
        let reported = self.reported(air, slot);
        let (offset, near) = (self.offset, &mut self.near);
        *self.row.get_or_insert_with(|| match reported {
            low if low < least => 0,
            same if offset == 0.0 => same,
            _ => {
                *near = air.cqi_near(air.least_sinr(reported) + offset, *near);
                (*near).max(least)
            }
        })
    }

    #[cold]
    fn report_subbands(&mut self, air: &dyn Air, slot: u64, wideband: f32, error: f32) {
        if let Some(subbands) = &mut self.subbands {
            subbands.report(air, slot, wideband, error);
        }
    }

    /// Row for a block on these subbands by the report in use, not below the row `least`.
    pub fn row_on(&self, air: &dyn Air, of: Set, least: u8) -> u8 {
        let estimate = self.subbands.as_ref().map_or(f32::NEG_INFINITY, |own| own.estimate(of));
        air.cqi(estimate + self.offset).max(least)
    }

    /// Returns the uniform number that decides whether a block of this slot is lost.
    pub fn draw(&mut self, slot: u64) -> f64 {
        self.errors.at(slot)
    }

    /// Whether the answer received in this slot is misread.
    pub fn misreads(&mut self, slot: u64, probability: f64) -> bool {
        probability > 0.0 && self.feedback.at(slot) < probability
    }

    /// Outer-loop steps allowed for the answer to a block sent now with the row in use. `tests_row`: the
    /// block is as large as the row allows; the ACK of a smaller block is no evidence for that row.
    pub fn steps(&self, air: &dyn Air, rows: Rows, row: u8, tests_row: bool) -> Steps {
        let lowest = air.least_sinr(rows.lowest) - air.least_sinr(self.report.1.max(1));
        Steps { up: tests_row && row < rows.highest, lowest }
    }

    /// Applies the outer loop's step for the answer to a first transmission.
    ///
    /// No step leads above the highest row or below the start of the lowest row. Where the row cannot follow,
    /// the offset would grow without limit and act against the UE when the channel changes (integrator
    /// windup).
    pub fn handle_first(&mut self, acknowledged: bool, steps: Steps) {
        let Some(OuterLoop { up, down }) = self.outer_loop else { return };
        if !acknowledged {
            self.offset = (self.offset - down).max(self.offset.min(steps.lowest));
        } else if steps.up {
            self.offset += up;
        }
        self.row = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radio::phy::lte::{self as formats, Lte};
    use crate::sinr;
    use serde_json::json;

    const ROWS: Rows = Rows { least: 1, lowest: 2, highest: 15 };

    /// A UE with this SINR in each slot, with steps of 0.5 dB down and 0.5 / 9 dB up.
    fn reception(sinr_db: &str) -> (Reception, Lte) {
        adapted(sinr_db, &Adaptation::default())
    }

    fn adapted(sinr_db: &str, adaptation: &Adaptation) -> (Reception, Lte) {
        let config: sinr::Config =
            serde_json::from_value(json!({"mean_sinr": sinr_db, "fading": {"none": {}}})).unwrap();
        let sinr = sinr::Sinr::new(&config, 1, (0, Dir::Downlink), 1000.0);
        let reception = Reception::new(sinr, adaptation, (5, 6), 1, (0, Dir::Downlink));
        (reception, Lte::new(&formats::Config::default(), &[]))
    }

    /// The row in use after this number of blocks and their answers.
    fn after(
        reception: &mut Reception,
        air: &Lte,
        answers: usize,
        acknowledged: bool,
        tests_row: bool,
    ) -> u8 {
        for _ in 0..answers {
            let row = reception.row(air, 10, ROWS.least);
            let steps = reception.steps(air, ROWS, row, tests_row);
            reception.handle_first(acknowledged, steps);
        }
        reception.row(air, 10, ROWS.least)
    }

    #[test]
    fn reports_are_spread_around_what_is_heard() {
        let noisy = Adaptation { noise: Decibel::from_thousandths(2000), ..Adaptation::default() };
        let (mut reception, air) = adapted("10 dB", &noisy);
        let measured: Vec<f32> = (0..4000).map(|report| reception.estimate(6 + 5 * report)).collect();
        let mean = measured.iter().sum::<f32>() / 4000.0;
        let variance = measured.iter().map(|one| (one - mean) * (one - mean)).sum::<f32>() / 4000.0;
        assert!((mean - 10.0).abs() < 0.1 && (variance.sqrt() - 2.0).abs() < 0.1, "{mean} {variance}");
        // A report holds until the next, and depends on its slot alone.
        assert_eq!(reception.estimate(6), measured[0]);
        assert_eq!(reception.estimate(10), measured[0]);
        let rows: Vec<u8> = (0..50).map(|report| reception.row(&air, 6 + 5 * report, 1)).collect();
        assert!(rows.iter().any(|row| *row < air.cqi(10.0)) && rows.iter().any(|row| *row > air.cqi(10.0)));
    }

    #[test]
    fn at_the_highest_row_an_ack_moves_nothing() {
        let (mut reception, air) = reception("30 dB");
        assert_eq!(after(&mut reception, &air, 10_000, true, true), 15);
        assert_eq!(reception.offset, 0.0);
        // The first loss counts at once.
        assert_eq!(after(&mut reception, &air, 1, false, true), 14);
        // From CQI 13 it rises two rows, and no further than a step.
        let (mut lower, _) = self::reception("17 dB");
        assert_eq!(after(&mut lower, &air, 10_000, true, true), 15);
        let apart = air.least_sinr(15) - air.least_sinr(air.cqi(17.0));
        assert!((0.0..0.056).contains(&(lower.offset - apart)), "{} {apart}", lower.offset);
    }

    #[test]
    fn at_the_lowest_row_a_loss_moves_nothing() {
        let (mut reception, air) = reception("2 dB");
        assert!(after(&mut reception, &air, 10_000, false, true) <= 2);
        let apart = air.least_sinr(2) - air.least_sinr(air.cqi(2.0));
        assert!((reception.offset - apart).abs() < 0.001, "{} {apart}", reception.offset);
        // The third row starts 2.02 dB higher: 37 steps of 0.0556 dB.
        assert!(after(&mut reception, &air, 35, true, true) <= 2);
        assert_eq!(after(&mut reception, &air, 2, true, true), 3);
    }

    /// A loss counts for the row of the block, even if the row in use has changed before the answer arrives.
    #[test]
    fn a_loss_counts_though_the_channel_has_become_worse() {
        let (mut reception, air) = reception("10 dB");
        let row = reception.row(&air, 10, ROWS.least);
        let steps = reception.steps(&air, ROWS, row, true);
        reception.report = (20, 1);
        reception.handle_first(false, steps);
        assert_eq!(reception.offset, -0.5);
    }

    #[test]
    fn a_block_smaller_than_the_row_allows_tests_nothing() {
        let (mut reception, air) = reception("10 dB");
        let row = after(&mut reception, &air, 10_000, true, false);
        assert_eq!((row, reception.offset), (air.cqi(10.0), 0.0));
        assert_eq!(after(&mut reception, &air, 1, false, false), row - 1);
    }
}
