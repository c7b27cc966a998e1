//! Packets recorded more than once: by a mirror port that shows both ingress and egress, by `tcpdump -i any` on a
//! bridge or router, by two probes whose files were merged. They are one packet.
//!
//! A packet is the copy of another at the same interface if both have the same headers and identification, and
//!
//! * a router lowered one's time to live ([`WITHIN_OF_ROUTER`]), or
//! * they are less than [`WITHIN`] apart and most packets of the direction are recorded like this. A network that
//!   duplicates packets duplicates only some: its duplicates are packets.
//!
//! Frames may have different link headers, and copies may follow later packets. A pure ACK without identification
//! (IPv6, or 0) may also be a duplicate ACK: it counts as a copy if packets that cannot repeat so soon have copies, and
//! as often as those have. The same rule applies to datagrams without identification whose payload an application
//! repeats.

use std::collections::VecDeque;

use airpath_core::time::{Duration, Instant};

use crate::datagram::Datagram;
use crate::datagram::Mark;
use crate::segment::{FIN, RST, SYN, Segment};

/// A mirror port queues, and the clocks of two probes differ.
const WITHIN: Duration = Duration::from_millis(10);
/// Datagrams are compared by their first bytes alone, and applications repeat themselves.
const WITHIN_OF_DATAGRAMS: Duration = Duration::from_millis(1);
const WITHIN_OF_ROUTER: Duration = Duration::from_millis(100);
/// Packets remembered of a direction.
const MOST: usize = 32;

/// Copies in one direction at one interface.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    recent: VecDeque<Passed>,
    /// A bit for each digest of the latest half of them or more: most packets are like none.
    digests: [u128; 2],
    /// Digests in the first of these.
    noted: usize,
    /// So many of `recent`, from the first, are counted as alone or not.
    settled: usize,
    /// Conclusive packets without a copy.
    alone: u64,
    /// Copies of conclusive packets.
    copied: u64,
    /// Most copies of one packet.
    most: u8,
    /// The application repeats its datagrams.
    repeats: bool,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    look: Look,
    at: Instant,
    copies: u8,
}

impl Passed {
    /// Whether a conclusive packet has no copy.
    fn is_alone(&self) -> bool {
        self.copies == 0 && self.look.sense == Sense::Tells
    }
}

/// Fields that copies share, and fields that distinguish packets.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    digest: u64,
    mark: Mark,
    sense: Sense,
    /// Maximum delay of a copy, unless a router lies between them.
    within: Duration,
}

/// Interpretation of two equal packets within [`Look::within`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sense {
    /// Conclusive: a copy, or a network's duplicate.
    Tells,
    /// Inconclusive: the packet may be sent twice so soon.
    Nothing,
    /// Conclusive unless the application repeats itself.
    Perhaps,
}

impl Look {
    pub fn of_segment(segment: &Segment) -> Self {
        let (tsval, echo) = segment.timestamps.unwrap_or_default();
        let words = [segment.seq, segment.ack, segment.payload, tsval, echo];
        let flags = u32::from(segment.flags) << 16 | u32::from(segment.window);
        let edges = segment.sack().iter().flat_map(|(left, right)| [*left, *right]);
        let digest = words.into_iter().chain([flags]).chain(edges).fold(0, mixed);
        let is_single =
            segment.mark.identification != 0 || segment.payload > 0 || segment.has(SYN | FIN | RST);
        let sense = if is_single { Sense::Tells } else { Sense::Nothing };
        Self { digest, mark: segment.mark, sense, within: WITHIN }
    }

    /// Identity of a datagram; `None` if too little of it was captured.
    pub fn of_datagram(datagram: &Datagram) -> Option<Self> {
        let sense = if datagram.mark.identification != 0 { Sense::Tells } else { Sense::Perhaps };
        let within = WITHIN_OF_DATAGRAMS;
        Some(Self { digest: datagram.digest?, mark: datagram.mark, sense, within })
    }

    fn bit(&self) -> u128 {
        1 << (self.digest >> (u64::BITS - u128::BITS.ilog2()))
    }

    fn is_like(&self, other: &Self) -> bool {
        self.digest == other.digest && self.mark.identification == other.mark.identification
    }
}

fn mixed(digest: u64, word: u32) -> u64 {
    // The odd constant is 2^64 over the golden ratio.
    (digest.rotate_left(23) ^ u64::from(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Copies {
    /// A packet passes: whether it is a copy of one before. The first that comes twice in this direction is one where copies
    /// are usual in the capture (`are_usual`): a network may have duplicated it as well.
    pub fn is_copy(&mut self, now: Instant, look: Look, are_usual: bool) -> bool {
        self.settle(now);
        let (established, most, repeats) = (self.is_established(self.settled), self.most, self.repeats);
        let may_repeat = look.sense == Sense::Nothing || look.sense == Sense::Perhaps && repeats;
        let is_new = (self.digests[0] | self.digests[1]) & look.bit() == 0;
        let recent = self.recent.iter_mut().enumerate().rev().take(if is_new { 0 } else { MOST });
        let found = recent.filter(|(_, one)| one.look.is_like(&look)).find(|(_, one)| {
            let has_passed_router = one.look.mark.hops != look.mark.hops;
            let is_soon = has_passed_router || now.since(one.at) <= look.within;
            let is_free = has_passed_router || !may_repeat || established && one.copies < most;
            is_soon && is_free
        });
        let Some((place, one)) = found else {
            self.push(now, look);
            return false;
        };
        one.copies = one.copies.saturating_add(1);
        if may_repeat || one.look.mark.hops != look.mark.hops {
            return true;
        }
        if look.sense == Sense::Perhaps && one.copies > 1 {
            (self.repeats, self.copied, self.most) = (true, 0, 0);
            return false;
        }
        self.most = most.max(one.copies);
        self.copied += 1;
        self.is_established(place) && (are_usual || self.copied > 1)
    }

    /// Whether most conclusive packets are recorded more than once. Copies of the packets before `place` have arrived
    /// by now.
    fn is_established(&self, place: usize) -> bool {
        let waiting = self.recent.iter().take(place).skip(self.settled);
        self.copied > self.alone + waiting.filter(|one| one.is_alone()).count() as u64
    }

    fn push(&mut self, now: Instant, look: Look) {
        if self.recent.len() == MOST {
            self.drop_first();
        }
        if self.noted == MOST / 2 {
            self.digests = [0, self.digests[0]];
            self.noted = 0;
        }
        self.digests[0] |= look.bit();
        self.noted += 1;
        self.recent.push_back(Passed { look, at: now, copies: 0 });
    }

    fn drop_first(&mut self) {
        if self.settled == 0
            && let Some(first) = self.recent.front().copied()
        {
            self.count(&first);
        }
        self.settled = self.settled.saturating_sub(1);
        self.recent.pop_front();
    }

    /// Counts packets whose copy can no longer arrive, and forgets old packets.
    fn settle(&mut self, now: Instant) {
        let is_over = |one: &Passed| now.since(one.at) > one.look.within;
        while let Some(one) = self.recent.get(self.settled).copied().filter(is_over) {
            self.count(&one);
            self.settled += 1;
        }
        while self.recent.front().is_some_and(|first| now.since(first.at) > WITHIN_OF_ROUTER) {
            self.drop_first();
        }
    }

    fn count(&mut self, one: &Passed) {
        self.alone += u64::from(one.is_alone());
    }

    pub fn bytes(&self) -> usize {
        size_of::<Passed>() * self.recent.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::ACK;

    /// Microseconds, sequence number, payload, identification, hops.
    type Passing = (u64, u32, u32, u16, u8);

    fn verdicts(passing: &[Passing]) -> String {
        let mut copies = Copies::default();
        let of = |&(us, seq, payload, identification, hops): &Passing| {
            let mark = Mark { identification, hops };
            let segment = Segment { seq, payload, flags: ACK, mark, ..Segment::default() };
            let is_copy = copies.is_copy(Instant::from_nanos(us * 1000), Look::of_segment(&segment), true);
            if is_copy { 'c' } else { '.' }
        };
        passing.iter().map(of).collect()
    }

    #[test]
    fn what_is_recorded_twice_is_told_from_what_was_sent_twice() {
        // At once; some time later; after other packets.
        let twice = [(0, 1, 9, 7, 64), (0, 1, 9, 7, 64), (50, 10, 9, 8, 64), (90, 10, 9, 8, 64)];
        assert_eq!(verdicts(&twice), ".c.c");
        let behind = [(0, 1, 9, 7, 64), (1, 10, 9, 8, 64), (2, 1, 9, 7, 64), (3, 10, 9, 8, 64)];
        assert_eq!(verdicts(&behind), "..cc");
        // Retransmitted: another identification, or too late.
        assert_eq!(verdicts(&[(0, 1, 9, 7, 64), (10, 1, 9, 8, 64), (19_000, 1, 9, 8, 64)]), "...");
        // A mirror port with a queue: copies 6 ms late, after the next packets.
        let late = (0..20_u16).flat_map(|at| [(2000 * u64::from(at), at), (2000 * u64::from(at) + 6000, at)]);
        let mut late: Vec<Passing> = late.map(|(us, at)| (us, 9 * u32::from(at), 9, at + 1, 64)).collect();
        late.sort_by_key(|passing| passing.0);
        assert_eq!(verdicts(&late).matches('c').count(), 20);
        // A router between both places, with its queue.
        assert_eq!(verdicts(&[(0, 1, 9, 7, 64), (30_000, 1, 9, 7, 63), (30_000, 5, 9, 8, 64)]), ".c.");
    }

    #[test]
    fn a_network_duplicates_few() {
        let mut passing: Vec<Passing> =
            (0..40).map(|at| (2000 * u64::from(at), u32::from(at), 1, at, 64)).collect();
        passing.insert(31, (60_010, 30, 1, 30, 64));
        assert_eq!(verdicts(&passing), ".".repeat(41));
    }

    #[test]
    fn duplicate_acks_without_identification_are_copies_where_data_are() {
        let acks = [(10, 1, 0, 0, 64), (11, 1, 0, 0, 64), (12, 1, 0, 0, 64), (13, 1, 0, 0, 64)];
        assert_eq!(verdicts(&acks), "....");
        let data = [(0, 1, 9, 0, 64), (1, 1, 9, 0, 64)];
        assert_eq!(verdicts(&[&data[..], &acks[..]].concat()), ".c.c.c");
    }
}
