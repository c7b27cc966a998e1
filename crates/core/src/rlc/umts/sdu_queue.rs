//! Unstarted SDUs, with the indices that they were given on arrival.

use airpath_prefetch::prefetch_ends;
use std::collections::VecDeque;

/// Queued SDUs, the oldest first; `T` is the entity's state of an SDU.
#[derive(Debug)]
pub struct SduQueue<T> {
    sdus: VecDeque<(u64, T)>,
    /// Number of the next to come.
    next: u64,
}

impl<T> Default for SduQueue<T> {
    fn default() -> Self {
        Self { sdus: VecDeque::new(), next: 0 }
    }
}

impl<T> SduQueue<T> {
    pub fn prefetch(&self) {
        prefetch_ends(&self.sdus);
    }

    /// Adds an SDU; its number.
    pub fn push(&mut self, sdu: T) -> u64 {
        self.sdus.push_back((self.next, sdu));
        self.next += 1;
        self.next - 1
    }

    /// Takes the first one out.
    pub fn pop(&mut self) -> Option<(u64, T)> {
        self.sdus.pop_front()
    }

    /// Takes the one at `place` out, 0 for the first; its number, which no other SDU gets.
    pub fn take(&mut self, place: usize) -> Option<u64> {
        self.sdus.remove(place).map(|(number, _)| number)
    }

    /// The number of the first one, or of the next to come.
    pub fn first(&self) -> u64 {
        self.sdus.front().map_or(self.next, |(number, _)| *number)
    }

    /// All, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.sdus.iter().map(|(_, sdu)| sdu)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.sdus.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sdus.is_empty()
    }
}
