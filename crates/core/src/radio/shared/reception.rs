//! What a UE hears, what it reports of that, and by which row of the table it is sent to.
//!
//! The ratio of a slot depends on the slot's number alone, and so does the number that decides whether a block of it is
//! lost: other traffic, another scheduler or another TCP change neither.

use super::air::Air;
use super::config::Adaptation;
use crate::fading::BLOCK;
use crate::rng::{self, Stream};
use crate::sinr::Sinr;

/// Uniform numbers by slot.
struct Draws {
    /// Before the first draw.
    start: Stream,
    block: u64,
    values: [f64; BLOCK],
}

impl Draws {
    fn new(start: Stream) -> Self {
        Self { start, block: u64::MAX, values: [0.0; BLOCK] }
    }

    fn at(&mut self, slot: u64) -> f64 {
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

/// The receiver of a UE, as its cell sees it.
pub(in crate::radio) struct Reception {
    sinr: Sinr,
    /// The ratios of two blocks: reports are of the past.
    heard: [(u64, [f32; BLOCK]); 2],
    period: u64,
    age: u64,
    /// Slot and CQI of the report used last.
    report: (u64, u8),
    outer_loop: Option<OuterLoop>,
    /// What it adds to reports, dB.
    pub offset: f32,
    /// The row that report and offset make, once it was asked for.
    row: Option<u8>,
    errors: Draws,
    feedback: Draws,
}

/// The offset of the outer loop stays within this of what is reported, dB.
const FARTHEST: f32 = 40.0;

impl Reception {
    /// `period` and `age` of reports in slots.
    pub fn new(sinr: Sinr, config: &Adaptation, (period, age): (u64, u64), run_seed: u64, ue: u16) -> Self {
        let draws = |part: &str| Draws::new(rng::stream(run_seed, &format!("ue{ue}.downlink.{part}")));
        let outer_loop = config.outer_loop.then(|| {
            let (step, target) = (config.step.as_db() as f32, config.target_bler.as_f64() as f32);
            OuterLoop { up: step * target / (1.0 - target), down: step }
        });
        Self {
            sinr,
            heard: [(u64::MAX, [0.0; BLOCK]); 2],
            period,
            age,
            report: (u64::MAX, 0),
            outer_loop,
            offset: 0.0,
            row: None,
            errors: draws("errors"),
            feedback: draws("feedback"),
        }
    }

    /// The ratio in a slot, dB.
    pub fn sinr(&mut self, slot: u64) -> f32 {
        let block = slot / BLOCK as u64;
        let heard = &mut self.heard[(block % 2) as usize];
        if heard.0 != block {
            *heard = (block, *self.sinr.block(block));
        }
        heard.1[(slot % BLOCK as u64) as usize]
    }

    /// The row that the UE has reported, as far as the cell knows in this slot; 0: none.
    fn reported(&mut self, air: &dyn Air, slot: u64) -> u8 {
        let known = slot.saturating_sub(self.age);
        let measured = known - known % self.period;
        if self.report.0 != measured {
            self.report = (measured, air.cqi(self.sinr(measured)));
            self.row = None;
        }
        self.report.1
    }

    /// The row by which the UE is sent to in this slot, 0 for none. `least` is the lowest row that is of any use: the outer
    /// loop does not go below.
    pub fn row(&mut self, air: &dyn Air, slot: u64, least: u8) -> u8 {
        let reported = self.reported(air, slot);
        let offset = self.offset;
        *self.row.get_or_insert_with(|| match reported {
            low if low < least => 0,
            same if offset == 0.0 => same,
            _ => air.cqi(air.least_sinr(reported) + offset).max(least),
        })
    }

    /// Whether a block is lost in this slot that is lost with this probability.
    pub fn loses(&mut self, slot: u64, probability: f64) -> bool {
        self.errors.at(slot) < probability
    }

    /// Whether the answer that comes in this slot is misread.
    pub fn misreads(&mut self, slot: u64, probability: f64) -> bool {
        probability > 0.0 && self.feedback.at(slot) < probability
    }

    /// The outer loop hears how a first transmission went.
    pub fn handle_first(&mut self, lost: bool) {
        if let Some(OuterLoop { up, down }) = self.outer_loop {
            let offset = if lost { self.offset - down } else { self.offset + up };
            self.offset = offset.clamp(-FARTHEST, FARTHEST);
            self.row = None;
        }
    }
}
