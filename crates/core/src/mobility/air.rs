//! Reception at a UE: signals of cells, and the interference of transmitting cells.

use crate::fading::BLOCK;
use crate::sinr::Signal;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slots that are remembered: reports of channel quality are about the past.
const REMEMBERED: usize = 1024;

/// In which share of its resource blocks a cell sends, slot by slot.
pub struct CellLoad {
    /// By slot: the lower half of its number, and the share as bits of an `f32`.
    slots: Box<[AtomicU64]>,
}

impl Default for CellLoad {
    fn default() -> Self {
        let unwritten = || AtomicU64::new(u64::from(u32::MAX) << 32);
        Self { slots: (0..REMEMBERED).map(|_| unwritten()).collect() }
    }
}

impl CellLoad {
    /// The cell sends in this share of a slot.
    pub fn publish(&self, slot: u64, share: f32) {
        let entry = (slot & u64::from(u32::MAX)) << 32 | u64::from(share.to_bits());
        self.slots[slot as usize % REMEMBERED].store(entry, Ordering::Relaxed);
    }

    /// The share of a slot in which the cell sends; 0 of a slot that is not remembered.
    pub fn at(&self, slot: u64) -> f32 {
        let entry = self.slots[slot as usize % REMEMBERED].load(Ordering::Relaxed);
        if entry >> 32 == slot & u64::from(u32::MAX) { f32::from_bits(entry as u32) } else { 0.0 }
    }
}

/// Reception at the UEs of a cell.
#[derive(Default)]
pub struct CellAir {
    /// CellLoad of the cell itself.
    pub load: Arc<CellLoad>,
    /// By UE: `None` of those whose SINR is that of the cell's parameters.
    pub(super) ues: Vec<Option<Heard>>,
}

/// Reception at one UE.
pub(super) struct Heard {
    /// The cell itself.
    pub own: Signal,
    /// Other cells, with their loads.
    pub others: Vec<(Signal, Arc<CellLoad>)>,
    pub noise_dbm: f64,
}

impl CellAir {
    /// The signal of the cell at a UE, and the noise there, dBm.
    pub fn signal(&self, ue: u16) -> Option<(Signal, f64)> {
        self.heard(ue).map(|heard| (heard.own.clone(), heard.noise_dbm))
    }

    /// The interference at a UE, with this many slots per second.
    pub fn interference(&self, ue: u16, slots_per_s: f64) -> Option<Interference> {
        let heard = self.heard(ue).filter(|heard| !heard.others.is_empty())?;
        let sources = heard.others.clone();
        let blocks = std::array::from_fn(|_| (u64::MAX, vec![0.0; sources.len()]));
        Some(Interference { sources, noise_dbm: heard.noise_dbm, slots_per_s, blocks })
    }

    fn heard(&self, ue: u16) -> Option<&Heard> {
        self.ues.get(usize::from(ue))?.as_ref()
    }
}

impl fmt::Debug for CellAir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CellAir({} UEs)", self.ues.len())
    }
}

/// The interference at a UE by the load of other cells.
pub struct Interference {
    sources: Vec<(Signal, Arc<CellLoad>)>,
    noise_dbm: f64,
    slots_per_s: f64,
    /// Cache of two blocks of slots, as reports refer to the past: the index of the block, and each source over the
    /// noise.
    blocks: [(u64, Vec<f32>); 2],
}

impl Interference {
    /// By how much the SINR is lower in a slot, dB. The load is that of the slot before: cells decide on the same slot at the
    /// same time.
    pub fn loss_db(&mut self, slot: u64) -> f32 {
        let Some(before) = slot.checked_sub(1) else { return 0.0 };
        let number = slot / BLOCK as u64;
        let block = &mut self.blocks[(number % 2) as usize];
        if block.0 != number {
            block.0 = number;
            let time_s = (number * BLOCK as u64) as f64 / self.slots_per_s;
            for (over_noise, (signal, _)) in block.1.iter_mut().zip(&mut self.sources) {
                *over_noise = libm::pow(10.0, (signal.at(time_s) - self.noise_dbm) / 10.0) as f32;
            }
        }
        let sources = self.sources.iter().zip(&block.1);
        let sum: f32 = sources.map(|((_, load), over_noise)| load.at(before) * over_noise).sum();
        if sum > 0.0 { 10.0 * libm::log10f(1.0 + sum) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sinr::Mean;
    use crate::time::Duration;

    fn flat(dbm: f64) -> Signal {
        Signal::new(Mean::on_lines([(Duration::ZERO, dbm)]), None)
    }

    #[test]
    fn a_load_is_that_of_its_slot_alone() {
        let load = CellLoad::default();
        load.publish(7, 0.5);
        load.publish(8, 0.0);
        assert_eq!([6, 7, 8, 9].map(|slot| load.at(slot)), [0.0, 0.5, 0.0, 0.0]);
        load.publish(7 + REMEMBERED as u64, 1.0);
        assert_eq!(load.at(7), 0.0);
    }

    /// Noise of -120 dBm; a cell at -110 dBm that sends in half of its blocks adds 5 times the noise, 10 log10(6) = 7.78 dB.
    #[test]
    fn a_neighbour_costs_what_it_sends() {
        let (busy, idle) = (Arc::new(CellLoad::default()), Arc::new(CellLoad::default()));
        let others = vec![(flat(-110.0), busy.clone()), (flat(-100.0), idle)];
        let heard = Heard { own: flat(-100.0), others, noise_dbm: -120.0 };
        let air = CellAir { load: Arc::default(), ues: vec![Some(heard), None] };
        let mut interference = air.interference(0, 1000.0).unwrap();
        busy.publish(4, 0.5);
        busy.publish(6, 1.0);
        let losses = [4, 5, 6, 7].map(|slot| interference.loss_db(slot));
        for (loss, by_hand) in losses.into_iter().zip([0.0, 7.7815, 0.0, 10.4139]) {
            assert!((loss - by_hand).abs() < 1e-3, "{losses:?}");
        }
        assert!(air.interference(1, 1000.0).is_none());
        // Alone the UE has 20 dB.
        let (mut own, noise_dbm) = air.signal(0).unwrap();
        assert_eq!(own.at(3.0) - noise_dbm, 20.0);
    }
}
