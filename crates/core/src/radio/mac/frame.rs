//! The frame of a cell: the direction of each slot, and when the answer (HARQ feedback) to a block is known.
//!
//! Slots are counted from 0, and so is the pattern that repeats. The decision on a slot is made `lead` slots
//! before it starts. A block of downlink slot n is answered in the first uplink slot f at or after n + K1.
//! The answer counts in decisions from `processing` slots after the end of f on, hence for slots from f + 1 +
//! processing + lead on. The same delay applies to everything that the network learns in an uplink slot: a
//! scheduling request, a buffer status report, a lost block. A grant in downlink slot d is for a block in the
//! first uplink slot at or after d + K2.
//!
//! Without a pattern ([`Frame::fdd`]), every slot carries a downlink, and an answer counts one round trip
//! after its block.

/// Type of a slot of the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radio) enum Slot {
    /// D: downlink.
    Down,
    /// S: downlink in its first symbols; its uplink symbols carry neither blocks nor answers.
    Special,
    /// S without room for blocks.
    Guard,
    /// U: uplink.
    Up,
    /// Downlink and uplink on separate carriers (FDD).
    Both,
}

impl Slot {
    fn is_down(self) -> bool {
        matches!(self, Self::Down | Self::Special | Self::Both)
    }

    fn is_up(self) -> bool {
        matches!(self, Self::Up | Self::Both)
    }
}

/// Slots between a cause and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radio) struct Timing {
    /// From a decision to its slot.
    pub lead: u64,
    /// From the end of an uplink slot to a decision based on its contents.
    pub processing: u64,
    /// K1: from a block to its answer at least.
    pub k1: u64,
    /// K2: from a grant to its block at least.
    pub k2: u64,
}

/// The frame of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::radio) struct Frame {
    pattern: Vec<Slot>,
    timing: Timing,
    /// By place in the pattern: slots from a block to the first slot in which its answer counts.
    answers: Vec<u64>,
}

impl Frame {
    /// Every slot carries a downlink, is decided on at its start, and is answered after `round_trip` slots.
    pub fn fdd(round_trip: u64) -> Self {
        let timing = Timing { lead: 0, processing: 0, k1: 1, k2: 1 };
        Self { pattern: vec![Slot::Both], timing, answers: vec![round_trip] }
    }

    /// A pattern with a downlink and an uplink slot at least.
    pub fn of(pattern: Vec<Slot>, timing: Timing) -> Self {
        let answers = Vec::new();
        let mut frame = Self { pattern, timing, answers };
        frame.answers = (0..frame.period()).map(|slot| frame.repeated(frame.answer(slot)) - slot).collect();
        frame
    }

    /// Slots of the pattern.
    pub fn period(&self) -> u64 {
        self.pattern.len() as u64
    }

    fn at(&self, slot: u64) -> Slot {
        self.pattern[self.place(slot)]
    }

    fn place(&self, slot: u64) -> usize {
        match self.pattern.len() {
            1 => 0,
            len => (slot % len as u64) as usize,
        }
    }

    pub fn lead(&self) -> u64 {
        self.timing.lead
    }

    /// Slots from the end of an uplink slot until the network knows its contents.
    pub fn processing(&self) -> u64 {
        self.timing.processing
    }

    pub fn is_down(&self, slot: u64) -> bool {
        self.at(slot).is_down()
    }

    pub fn is_special(&self, slot: u64) -> bool {
        self.at(slot) == Slot::Special
    }

    /// The first downlink slot from this one on.
    pub fn next_down(&self, slot: u64) -> u64 {
        self.next(slot, Slot::is_down)
    }

    /// The first uplink slot from this one on.
    pub fn next_up(&self, slot: u64) -> u64 {
        self.next(slot, Slot::is_up)
    }

    fn next(&self, mut slot: u64, is_so: impl Fn(Slot) -> bool) -> u64 {
        while !is_so(self.at(slot)) {
            slot += 1;
        }
        slot
    }

    /// Number of downlink slots among the first `slots` slots.
    pub fn downs_in(&self, slots: u64) -> u64 {
        self.count_in(slots, Slot::is_down)
    }

    /// Number of uplink slots among the first `slots` slots.
    pub fn ups_in(&self, slots: u64) -> u64 {
        self.count_in(slots, Slot::is_up)
    }

    fn count_in(&self, slots: u64, is_so: fn(Slot) -> bool) -> u64 {
        let count = |part: &[Slot]| part.iter().filter(|slot| is_so(**slot)).count() as u64;
        slots / self.period() * count(&self.pattern) + count(&self.pattern[..self.place(slots)])
    }

    /// The uplink slot that answers a block of this slot.
    pub fn answer(&self, slot: u64) -> u64 {
        self.next_up(slot + self.timing.k1)
    }

    /// First slot for the retransmission of a block whose answer came in uplink slot `up`. A special slot
    /// lacks the resource elements.
    fn repeated(&self, up: u64) -> u64 {
        let heard = up + 1 + self.timing.processing + self.timing.lead;
        self.next(heard, |slot| matches!(slot, Slot::Down | Slot::Both))
    }

    /// First slot in which the answer to a block of `slot` counts: the block is retransmitted, or its process
    /// is free.
    #[inline]
    pub fn answered(&self, slot: u64) -> u64 {
        slot + self.answers[self.place(slot)]
    }

    /// The last slot that can grant uplink slot `up`; `None` before the first one.
    pub fn granting(&self, up: u64) -> Option<u64> {
        (0..=up.checked_sub(self.timing.k2)?).rev().find(|slot| self.is_down(*slot))
    }

    /// Slots from a transmission of a block to the next at the latest.
    pub fn longest_round_trip(&self) -> u64 {
        let downs = (0..self.period()).filter(|slot| self.is_down(*slot));
        downs.map(|slot| self.answered(slot) - slot).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn frame(pattern: &str, lead: u64, k: u64) -> Frame {
        let slot = |letter| match letter {
            'D' => Slot::Down,
            'S' => Slot::Special,
            'U' => Slot::Up,
            _ => Slot::Both,
        };
        Frame::of(pattern.chars().map(slot).collect(), Timing { lead, processing: lead, k1: k, k2: k })
    }

    /// Acceptance test 8: K1 by slot.
    #[test]
    fn a_block_is_answered_in_the_first_uplink_slot_from_k1_on() {
        let k1 = |frame: &Frame| {
            let downs = (0..frame.period()).filter(|slot| frame.is_down(*slot));
            downs.map(|slot| frame.answer(slot) - slot).collect::<Vec<_>>()
        };
        assert_eq!(k1(&frame("DDDDDDDSUU", 2, 4)), [8, 7, 6, 5, 4, 4, 12, 11]);
        assert_eq!(k1(&frame("DDDSU", 2, 4)), [4, 8, 7, 6]);
        assert_eq!(k1(&frame("DDDSUDDSUU", 2, 4)), [4, 7, 6, 5, 4, 8, 7]);
        assert_eq!(k1(&frame("DDDSU", 4, 8)), [9, 8, 12, 11]);
        assert_eq!(k1(&frame("F", 1, 4)), [4]);
    }

    /// Slots from each downlink slot to the earliest retransmission of its block, and the longest of these
    /// times.
    #[test]
    fn round_trips_by_slot() {
        let trips = |frame: &Frame| {
            let downs = (0..frame.period()).filter(|slot| frame.is_down(*slot));
            let again = |slot| {
                let answered = frame.answered(slot);
                (answered..).find(|next| frame.is_down(*next) && !frame.is_special(*next)).unwrap() - slot
            };
            (downs.map(again).collect::<Vec<_>>(), frame.longest_round_trip())
        };
        assert_eq!(trips(&frame("DDDDDDDSUU", 2, 4)), (vec![13, 12, 11, 10, 9, 9, 17, 16], 17));
        assert_eq!(trips(&frame("DDDSU", 2, 4)), (vec![10, 14, 13, 12], 14));
        assert_eq!(trips(&frame("DDDSU", 4, 8)), (vec![20, 19, 23, 22], 23));
        assert_eq!(trips(&frame("F", 1, 4)), (vec![7], 7));
        assert_eq!(trips(&Frame::fdd(8)), (vec![8], 8));
    }

    #[test]
    fn an_uplink_slot_has_its_last_grant() {
        let n78 = frame("DDDDDDDSUU", 2, 4);
        assert_eq!([8, 9, 18, 19, 28].map(|up| n78.granting(up)), [4, 5, 14, 15, 24].map(Some));
        // U slots of DDSUU have two of the downlink before them.
        let mobile = frame("DDSUU", 2, 4);
        assert_eq!([3, 4, 13, 14].map(|up| mobile.granting(up)), [None, Some(0), Some(7), Some(10)]);
        assert_eq!((n78.downs_in(10), n78.downs_in(29), n78.next_up(20), n78.next_down(8)), (8, 24, 28, 10));
    }
}
