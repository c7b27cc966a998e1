//! The cache table of one connection.

use super::{are_far_apart, is_after};
use std::collections::VecDeque;

/// A segment that has passed to the radio: first octet and end (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cached {
    start: u32,
    end: u32,
}

// Maximum memory of a segment.
const _: () = assert!(size_of::<Cached>() <= 32);

/// Effect of a segment on the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// It was not in the table.
    pub is_new: bool,
    /// Another went for it.
    pub has_evicted: bool,
}

/// The cache table of one connection.
#[derive(Debug)]
pub(super) struct Table {
    /// In the order of their sequence numbers.
    segments: VecDeque<Cached>,
    last_ack: u32,
    dupacks: u32,
}

impl Table {
    /// A table for a connection whose first octet is `first`.
    pub fn new(first: u32) -> Self {
        Self { segments: VecDeque::new(), last_ack: first, dupacks: 0 }
    }

    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// A segment of `payload` octets goes to the radio; at most `limit` are kept.
    pub fn insert(&mut self, start: u32, payload: u32, limit: usize) -> Noted {
        if are_far_apart(start, self.last_ack) {
            *self = Self::new(start);
        }
        let end = start.wrapping_add(payload);
        if !is_after(end, self.last_ack) {
            return Noted::default();
        }
        // Mostly it is the last.
        let is_last = self.segments.back().is_none_or(|last| is_after(start, last.start));
        let at = match is_last {
            true => self.segments.len(),
            false => self.segments.partition_point(|other| is_after(start, other.start)),
        };
        if let Some(same) = self.segments.get_mut(at).filter(|other| other.start == start) {
            if is_after(end, same.end) {
                same.end = end;
            }
            return Noted::default();
        }
        let has_evicted = self.segments.len() >= limit;
        if has_evicted {
            self.segments.pop_front();
        }
        self.segments.insert(at - usize::from(has_evicted && at > 0), Cached { start, end });
        Noted { is_new: true, has_evicted }
    }

    /// The segment that begins with octet `start` never went to the radio. Whether it was in the table.
    pub fn remove(&mut self, start: u32) -> bool {
        let at = self.segments.partition_point(|other| is_after(start, other.start));
        let is_there = self.segments.get(at).is_some_and(|other| other.start == start);
        if is_there {
            self.segments.remove(at);
        }
        is_there
    }

    /// Octets of memory that the entries take, room for further ones included.
    #[cfg(test)]
    pub fn octets(&self) -> usize {
        self.segments.capacity() * size_of::<Cached>()
    }

    /// The UE acknowledges `ack`. Whether this is a duplicate ACK for a segment that the radio has lost.
    pub fn on_ack(&mut self, ack: u32, is_pure: bool) -> bool {
        if is_after(ack, self.last_ack) {
            while self.segments.front().is_some_and(|first| !is_after(first.end, ack)) {
                self.segments.pop_front();
            }
            (self.last_ack, self.dupacks) = (ack, 0);
            return false;
        }
        if ack != self.last_ack || !is_pure {
            return false;
        }
        self.dupacks = self.dupacks.saturating_add(1);
        self.dupacks >= 2 && self.holds(ack)
    }

    /// Whether octet `seq` has gone to the radio.
    fn holds(&self, seq: u32) -> bool {
        let behind = self.segments.partition_point(|segment| !is_after(segment.start, seq));
        behind > 0 && is_after(self.segments[behind - 1].end, seq)
    }
}
