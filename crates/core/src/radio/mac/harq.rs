//! HARQ processes of a UE: blocks in transit, and blocks to be retransmitted.
//!
//! A process carries one block. Its outcome is known one round trip after each transmission: then the process
//! is free, or its block is pending retransmission in the same size. The receiver combines all transmissions
//! of a block: it adds their signal-to-noise ratios (Chase combining; D. Chase, IEEE Trans. Commun. 33(5),
//! 1985), or their information ([`Air::combine`]).

use super::decibels::{decibel, ratio};
use super::reception::Steps;
use crate::radio::phy::air::{Air, Format};
use crate::rlc::Tti;

/// A transport block and its PDUs.
pub(in crate::radio) struct Block {
    pub tti: Box<Tti>,
    /// Index among the blocks of its UE, from 0.
    pub number: u64,
}

/// One process.
pub(super) struct Process {
    pub state: State,
    pub format: Format,
    /// Until it is received.
    pub block: Option<Block>,
    /// The ratio that all its transmissions together are equivalent to, as long as all were lost.
    pub heard: f64,
    pub transmissions: u8,
    /// The slot of the first transmission.
    pub since: u64,
    /// Outer-loop steps that its answer may cause.
    pub steps: Steps,
    /// Octets in its buffer status report, in an uplink.
    pub left: u64,
}

impl Process {
    /// Adds a transmission received at this SINR; returns whether the block is lost. It is lost in a silence,
    /// or if the uniform number `draw` is below the probability: `given` by transmission, otherwise that of
    /// the air interface.
    pub fn is_lost(
        &mut self,
        (air, given): (&dyn Air, &[f64]),
        combining: bool,
        sinr_db: f32,
        draw: f64,
        in_silence: bool,
    ) -> bool {
        let before = self.transmissions;
        self.transmissions += 1;
        if let Some(bler) = given.get(usize::from(self.transmissions) - 1).or(given.last()) {
            return in_silence || draw < *bler;
        }
        let is_alone = before == 0 || !combining;
        let known = if is_alone && !in_silence { air.is_lost(self.format, sinr_db, draw) } else { None };
        if known == Some(false) {
            return false;
        }
        let ratio = ratio(sinr_db);
        self.heard = if is_alone { ratio } else { air.combine(self.format, self.heard, ratio, before) };
        in_silence || known.unwrap_or_else(|| draw < air.bler(self.format, decibel(self.heard)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    /// In transit, or waiting for the answer.
    Awaited,
    /// To be retransmitted.
    Due,
}

/// The processes of a UE.
pub(super) struct Harq {
    processes: Vec<Process>,
    /// Free processes, by bits.
    free: u32,
    /// Processes to be retransmitted, by bits.
    due: u32,
    /// Incremented when all processes are flushed: answers to earlier blocks are ignored.
    pub epoch: u32,
}

impl Harq {
    pub fn new(processes: u8) -> Self {
        let process = || Process {
            state: State::Free,
            format: Format { cqi: 0, units: 0, bits: 0 },
            block: None,
            heard: 0.0,
            transmissions: 0,
            since: 0,
            steps: Steps::default(),
            left: 0,
        };
        let processes: Vec<_> = (0..processes).map(|_| process()).collect();
        let free = u32::MAX.checked_shr(32 - processes.len() as u32).unwrap_or(0);
        Self { processes, free, due: 0, epoch: 0 }
    }

    /// Number of processes.
    pub fn processes(&self) -> u8 {
        self.processes.len() as u8
    }

    pub fn process(&mut self, number: u8) -> &mut Process {
        &mut self.processes[usize::from(number)]
    }

    /// The free process of the lowest number.
    pub fn free(&self) -> Option<u8> {
        (self.free != 0).then(|| self.free.trailing_zeros() as u8)
    }

    pub fn has_due(&self) -> bool {
        self.due != 0
    }

    /// The pending process whose block was sent first, and its time.
    pub fn first_due(&self) -> Option<(u64, u8)> {
        let mut left = self.due;
        let mut first = None;
        while left != 0 {
            let number = left.trailing_zeros() as u8;
            let since = self.processes[usize::from(number)].since;
            if first.is_none_or(|(earliest, _)| since < earliest) {
                first = Some((since, number));
            }
            left &= left - 1;
        }
        first
    }

    /// Assigns a block to a free process.
    pub fn begin(&mut self, number: u8, (format, steps): (Format, Steps), block: Block, slot: u64) {
        self.free &= !(1 << number);
        *self.process(number) = Process {
            state: State::Awaited,
            format,
            block: Some(block),
            heard: 0.0,
            transmissions: 0,
            since: slot,
            steps,
            left: 0,
        };
    }

    pub fn set_due(&mut self, number: u8) {
        self.due |= 1 << number;
        self.process(number).state = State::Due;
    }

    pub fn set_awaited(&mut self, number: u8) {
        self.due &= !(1 << number);
        self.process(number).state = State::Awaited;
    }

    /// The process is free; its block, if it was not received.
    pub fn end(&mut self, number: u8) -> Option<Block> {
        self.due &= !(1 << number);
        self.free |= 1 << number;
        let process = self.process(number);
        process.state = State::Free;
        process.block.take()
    }

    /// All processes are free; the blocks that were not received, in their order.
    pub fn flush(&mut self) -> Vec<Block> {
        self.epoch += 1;
        let mut blocks: Vec<_> =
            (0..self.processes.len() as u8).filter_map(|number| self.end(number)).collect();
        blocks.sort_by_key(|block| block.number);
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_taken_repeated_in_their_age_and_flushed() {
        let mut harq = Harq::new(3);
        let format = Format { cqi: 1, units: 1, bits: 100 };
        let numbered = |number| Block { tti: Box::default(), number };
        for slot in 0..3 {
            let free = harq.free().unwrap();
            harq.begin(free, (format, Steps::default()), numbered(slot), slot);
        }
        assert_eq!((harq.free(), harq.first_due()), (None, None));
        harq.set_due(2);
        harq.set_due(1);
        assert_eq!(harq.first_due(), Some((1, 1)));
        harq.set_awaited(1);
        assert_eq!(harq.first_due(), Some((2, 2)));
        assert_eq!(harq.end(1).map(|block| block.number), Some(1));
        assert_eq!(harq.free(), Some(1));
        let left: Vec<_> = harq.flush().into_iter().map(|block| block.number).collect();
        assert_eq!((left, harq.free(), harq.has_due(), harq.epoch), (vec![0, 2], Some(0), false, 1));
    }
}
