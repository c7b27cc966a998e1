//! A range of a stream of octets, held until its owner releases it.

use std::collections::VecDeque;

/// Octets from `start` to `end` of a stream. Offsets count octets of the stream from zero.
#[derive(Debug, Default)]
pub(super) struct Octets {
    start: u64,
    octets: VecDeque<u8>,
}

impl Octets {
    /// End offset (exclusive) of the octets held.
    pub fn end(&self) -> u64 {
        self.start + self.octets.len() as u64
    }

    /// Adds octets at the end.
    pub fn append(&mut self, octets: &[u8]) {
        self.octets.extend(octets);
    }

    /// Writes octets at `offset`. Octets before the start of the buffer are ignored; a gap in between is zero until it
    /// is written.
    pub fn write(&mut self, offset: u64, octets: &[u8]) {
        let known = self.start.saturating_sub(offset).min(octets.len() as u64) as usize;
        let (octets, at) = (&octets[known..], (offset.max(self.start) - self.start) as usize);
        if octets.is_empty() {
            return;
        }
        if at + octets.len() > self.octets.len() {
            self.octets.resize(at + octets.len(), 0);
        }
        let (head, tail) = self.octets.as_mut_slices();
        let split = head.len().saturating_sub(at).min(octets.len());
        if split > 0 {
            head[at..at + split].copy_from_slice(&octets[..split]);
        }
        if split < octets.len() {
            let from = at + split - head.len();
            tail[from..from + octets.len() - split].copy_from_slice(&octets[split..]);
        }
    }

    /// Appends the octets from `offset` to before `end` to `out`.
    pub fn copy(&self, offset: u64, end: u64, out: &mut Vec<u8>) {
        let from = offset.saturating_sub(self.start) as usize;
        let to = (end.saturating_sub(self.start) as usize).min(self.octets.len());
        if from >= to {
            return;
        }
        let (head, tail) = self.octets.as_slices();
        out.extend_from_slice(&head[from.min(head.len())..to.min(head.len())]);
        out.extend_from_slice(&tail[from.saturating_sub(head.len())..to.saturating_sub(head.len())]);
    }

    /// Releases all octets before `offset`.
    pub fn release(&mut self, offset: u64) {
        let count = offset.saturating_sub(self.start).min(self.octets.len() as u64);
        self.octets.drain(..count as usize);
        self.start += count;
        if self.octets.is_empty() {
            self.start = self.start.max(offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_what_was_written_like_an_array(
            steps in prop::collection::vec((0..200_u64, prop::collection::vec(any::<u8>(), 0..40), 0..30_u64), 1..60)
        ) {
            let (mut octets, mut array, mut released) = (Octets::default(), vec![0_u8; 4000], 0_u64);
            for (ahead, bytes, releases) in steps {
                let offset = released.saturating_sub(20) + ahead;
                octets.write(offset, &bytes);
                for (at, byte) in (offset..).zip(&bytes).filter(|(at, _)| *at >= released) {
                    array[at as usize] = *byte;
                }
                released = (released + releases).min(octets.end());
                octets.release(released);
                let mut out = Vec::new();
                octets.copy(released, octets.end(), &mut out);
                prop_assert_eq!(&out[..], &array[released as usize..octets.end() as usize]);
            }
        }
    }
}
