//! Data that was acknowledged without being seen: lost to the capture, or recorded after its ACK.
//!
//! Receive queues of a network card, and segments merged by a driver, can place data after its ACK. Octets first seen
//! like this are no retransmission.

use std::collections::VecDeque;

/// Stretches remembered at a time, the newest.
const MOST: usize = 256;

/// Stretches of the stream in order, without overlap.
#[derive(Clone, Debug, Default)]
pub struct Unseen {
    stretches: VecDeque<(u64, u64)>,
    /// Bytes in all, those of forgotten stretches too.
    pub bytes: u64,
}

impl Unseen {
    /// Adds the range from `start` to `end`, which lies above all others; does nothing if it is empty.
    pub fn add(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        self.bytes += end - start;
        match self.stretches.back_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => self.stretches.push_back((start, end)),
        }
        if self.stretches.len() > MOST {
            self.stretches.pop_front();
        }
    }

    /// Removes a range now seen; returns how many bytes of it had not been seen.
    pub fn take(&mut self, start: u64, end: u64) -> u64 {
        if self.stretches.back().is_none_or(|last| last.1 <= start) {
            return 0;
        }
        let mut taken = 0;
        let mut left = VecDeque::with_capacity(self.stretches.len());
        for (from, to) in self.stretches.drain(..) {
            let (begin, finish) = (from.max(start), to.min(end));
            if begin >= finish {
                left.push_back((from, to));
                continue;
            }
            taken += finish - begin;
            left.extend([(from, begin), (finish, to)].into_iter().filter(|(from, to)| from < to));
        }
        // Data in the middle of a range splits it.
        left.drain(..left.len().saturating_sub(MOST));
        self.stretches = left;
        self.bytes -= taken;
        taken
    }

    pub fn memory(&self) -> usize {
        size_of::<(u64, u64)>() * self.stretches.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_is_taken_out_once() {
        let mut unseen = Unseen::default();
        for (start, end) in [(100, 200), (200, 300), (500, 600), (700, 700)] {
            unseen.add(start, end);
        }
        assert_eq!(unseen.bytes, 300);
        assert_eq!(unseen.take(150, 250), 100);
        assert_eq!(unseen.take(150, 250), 0);
        // Half of it is new.
        assert_eq!(unseen.take(550, 650), 50);
        assert_eq!(unseen.take(0, 1000), 150);
        assert_eq!((unseen.bytes, unseen.take(0, 1000)), (0, 0));
    }

    #[test]
    fn single_bytes_within_a_stretch_do_not_fill_memory() {
        let mut unseen = Unseen::default();
        unseen.add(0, 1_000_000);
        assert!((0..10_000).all(|at| unseen.take(999_998 - 2 * at, 999_999 - 2 * at) <= 1));
        assert!(unseen.stretches.len() <= MOST);
        assert!(unseen.memory() <= 4 * MOST * size_of::<(u64, u64)>());
    }
}
