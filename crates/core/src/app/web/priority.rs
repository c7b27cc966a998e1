//! Order of the responses of a connection with streams, as a server takes them: RFC 9218 (10).
//!
//! The most urgent first. Of equal urgency, responses that are of use only as a whole come one after the other in the order of
//! their requests, and before those of which any part is of use (`incremental`), which take turns. The RFC leaves open
//! how the two kinds share: ASSUMED that the first kind precedes.

/// Data of one response that is not sent.
#[derive(Clone, Copy, Debug)]
struct Entry {
    object: u16,
    urgency: u8,
    incremental: bool,
    left: u64,
    /// When its turn was, counted in turns.
    turn: u64,
}

/// Responses that have something to be sent.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// In the order of their requests.
    entries: Vec<Entry>,
    turns: u64,
}

impl Schedule {
    /// Adds `bytes` of a response with this priority, after the others of its kind if it is new.
    pub fn add(&mut self, object: u16, urgency: u8, incremental: bool, bytes: u64) {
        match self.entries.iter_mut().find(|entry| entry.object == object) {
            Some(entry) => entry.left += bytes,
            None if bytes > 0 => {
                self.entries.push(Entry { object, urgency, incremental, left: bytes, turn: 0 });
            }
            None => {}
        }
    }

    /// Whether nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The response whose turn it is, and its bytes that are not sent.
    pub fn next(&self) -> Option<(u16, u64)> {
        self.next_of(|_| true)
    }

    /// The response whose turn it is among those that `may` be sent, and its bytes that are not sent.
    pub fn next_of(&self, may: impl Fn(u16) -> bool) -> Option<(u16, u64)> {
        let order = |entry: &&Entry| {
            (entry.urgency, entry.incremental, if entry.incremental { entry.turn } else { 0 })
        };
        // The first of those with equal order was requested first.
        let entries = self.entries.iter().filter(|entry| may(entry.object));
        entries.min_by_key(order).map(|entry| (entry.object, entry.left))
    }

    /// `bytes` of a response are sent.
    pub fn take(&mut self, object: u16, bytes: u64) {
        self.turns += 1;
        let turns = self.turns;
        self.entries.retain_mut(|entry| {
            if entry.object == object {
                (entry.left, entry.turn) = (entry.left.saturating_sub(bytes), turns);
            }
            entry.left > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgent_responses_precede_whole_ones_which_precede_incremental_ones() {
        let mut schedule = Schedule::default();
        for (object, urgency, incremental) in
            [(1, 3, true), (2, 3, false), (3, 1, true), (4, 3, false), (5, 3, true)]
        {
            schedule.add(object, urgency, incremental, 20);
        }
        let mut order = Vec::new();
        while let Some((object, _)) = schedule.next() {
            order.push(object);
            schedule.take(object, 10);
        }
        assert_eq!(order, [3, 3, 2, 2, 4, 4, 1, 5, 1, 5]);
        assert!(schedule.is_empty());
    }
}
