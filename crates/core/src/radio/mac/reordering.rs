//! MAC-hs: transport blocks of a UE back in order (TS 25.321 §11.6.2), and their numbers at the Node B.
//!
//! HARQ retransmissions let later blocks overtake, so blocks arrive out of order. Each has a transmission
//! sequence number (TSN), transmitted modulo 64. The UE delivers blocks in order and holds blocks beyond a
//! gap, until
//!
//! * the missing block arrives,
//! * T1 expires, which started with the first block beyond the gap, or
//! * a block arrives so far ahead that the gap falls out of the window.
//!
//! A block still missing then is given up, and refused if it arrives later. RLC above retransmits its PDUs.
//! The loss of the last block of a burst starts no T1; RLC's poll must detect it.
//!
//! A TSN is read as the number within the window, which ends at the highest received number, or else as a
//! number above. The sender keeps retransmissions unambiguous: it does not retransmit a TSN that a newer one
//! has pushed out of the window. A loss of 64 minus the window consecutive new blocks remains ambiguous: the
//! next block is mistaken for an old one and refused.
//!
//! Internally, numbers count without wrapping, from 64 on, so the window below the first one exists. Left
//! out: several priority queues; a UE has one. The queue itself is [`crate::reordering`]. Clause by clause:
//! `docs/models/mac-hs.md`.

use crate::reordering;
use crate::time::{Duration, Instant};

/// Number of TSN values.
const MODULUS: u64 = 64;

/// The largest window: half of the TSNs.
pub(in crate::radio) const LARGEST_WINDOW: u8 = 32;

/// The numbers of a UE's blocks at the Node B.
#[derive(Clone, Debug)]
pub(in crate::radio) struct Numbers {
    /// How far back a block may be retransmitted; `None` if there is no limit.
    window: Option<u64>,
    next: u64,
}

impl Numbers {
    pub fn new(window: Option<u8>) -> Self {
        Self { window: window.map(u64::from), next: MODULUS }
    }

    /// Assigns the number of the next new block.
    pub fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Whether the block with this number may be retransmitted.
    pub fn may_repeat(&self, number: u64) -> bool {
        self.window.is_none_or(|window| number + window >= self.next)
    }

    /// MAC-hs is reset: the next TSN is 0.
    pub fn reset(&mut self) {
        self.next = MODULUS;
    }
}

/// The TSN of a number, as transmitted.
pub(in crate::radio) fn tsn(number: u64) -> u8 {
    (number % MODULUS) as u8
}

/// The reordering queue of a UE.
#[derive(Debug)]
pub(in crate::radio) struct Reordering<T> {
    window: u64,
    queue: reordering::Reordering<T>,
}

impl<T> Reordering<T> {
    pub fn new(window: u8, t1: Option<Duration>) -> Self {
        let window = u64::from(window);
        Self { window, queue: reordering::Reordering::new(MODULUS, Some(window), t1) }
    }

    /// Handles a block that arrives; delivers the blocks that are now in order to `out`. Returns the block if
    /// it is refused: it was received before, or given up.
    pub fn handle_block(&mut self, now: Instant, tsn: u8, block: T, out: &mut Vec<T>) -> Option<T> {
        self.queue.handle(now, self.number(tsn), block, out)
    }

    /// When T1 ends; never if it does not run.
    pub fn expiry(&self) -> Instant {
        self.queue.expiry()
    }

    /// Handles the expiry of T1, if its time has come: gaps below T1_TSN are given up.
    pub fn handle_expiry(&mut self, now: Instant, out: &mut Vec<T>) {
        self.queue.handle_expiry(now, out);
    }

    /// Resets MAC-hs: delivers the held blocks, and expects TSN 0.
    pub fn reset(&mut self, out: &mut Vec<T>) {
        self.queue.reset(MODULUS, out);
    }

    /// The number represented by a TSN.
    fn number(&self, tsn: u8) -> u64 {
        let upper_edge = self.queue.end() - 1;
        let below = (upper_edge - u64::from(tsn)) % MODULUS;
        if below < self.window { upper_edge - below } else { upper_edge + MODULUS - below }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T1: Duration = Duration::from_millis(25);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A queue whose blocks are their numbers, from 0, and the blocks that it delivered.
    struct Queue {
        reordering: Reordering<u64>,
        up: Vec<u64>,
    }

    impl Queue {
        fn new(t1: Option<Duration>) -> Self {
            Self { reordering: Reordering::new(32, t1), up: Vec::new() }
        }

        fn arrive(&mut self, ms: u64, numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
            for number in numbers {
                self.reordering.handle_block(at(ms), tsn(number), number, &mut self.up);
            }
            std::mem::take(&mut self.up)
        }

        fn expire(&mut self, ms: u64) -> Vec<u64> {
            self.reordering.handle_expiry(at(ms), &mut self.up);
            std::mem::take(&mut self.up)
        }
    }

    #[test]
    fn blocks_behind_a_gap_wait_for_it() {
        let mut queue = Queue::new(Some(T1));
        assert_eq!(queue.arrive(0, [0, 1]), [0, 1]);
        assert!(queue.arrive(4, [3, 5]).is_empty());
        assert_eq!(queue.arrive(6, [2]), [2, 3]);
        assert_eq!(queue.arrive(8, [4]), [4, 5]);
        assert_eq!(queue.reordering.expiry(), Instant::NEVER);
    }

    #[test]
    fn a_block_is_handed_up_once() {
        let mut queue = Queue::new(Some(T1));
        assert_eq!(queue.arrive(0, [0, 0, 2, 2, 1, 2, 0]), [0, 1, 2]);
        let refused = queue.reordering.handle_block(at(1), 2, 2, &mut queue.up);
        assert_eq!((refused, queue.up.len()), (Some(2), 0));
    }

    /// Acceptance test 6, first half: a block in every TTI of 2 ms, number 10 is lost for good.
    #[test]
    fn a_lost_block_is_given_up_at_t1_or_at_the_32nd_block_behind_it() {
        let end_of_gap = |t1: Option<Duration>| {
            let mut queue = Queue::new(t1);
            for number in (0..60).filter(|number| *number != 10) {
                let ms = 2 * number;
                // T1 ends within the TTI before.
                let expiry = queue.reordering.expiry();
                let early = if expiry < at(ms) { queue.expire(ms) } else { Vec::new() };
                let up = [early.clone(), queue.arrive(ms, [number])].concat();
                if up.contains(&11) {
                    let when = if early.is_empty() { at(ms) } else { expiry };
                    return (when, up.len());
                }
            }
            panic!("the gap was never given up")
        };
        // 25 ms after number 11, which arrived at 22 ms: 11 to 23 are there, and 24 follows.
        assert_eq!(end_of_gap(Some(T1)), (at(47), 14));
        // Number 42 is the 32nd after it, 64 ms later.
        assert_eq!(end_of_gap(None), (at(84), 32));
    }

    #[test]
    fn t1_starts_with_the_first_block_behind_a_gap_and_again_for_the_highest_held() {
        let mut queue = Queue::new(Some(T1));
        queue.arrive(0, [1]);
        assert_eq!(queue.reordering.expiry(), at(25));
        queue.arrive(10, [3, 5]);
        assert_eq!(queue.reordering.expiry(), at(25));
        assert!(queue.expire(24).is_empty());
        // T1 gives up the gap at 0; the gaps at 2 and 4 need their own expiry.
        assert_eq!(queue.expire(25), [1]);
        assert_eq!(queue.reordering.expiry(), at(50));
        // T1_TSN is 5, the highest held: both gaps end with it.
        queue.arrive(40, [7]);
        assert_eq!(queue.expire(50), [3, 5]);
        assert_eq!(queue.reordering.expiry(), at(75));
    }

    #[test]
    fn t1_stops_when_its_block_goes_up_and_starts_for_what_is_left() {
        let mut queue = Queue::new(Some(T1));
        queue.arrive(0, [1]);
        queue.arrive(10, [3]);
        assert_eq!(queue.arrive(20, [0]), [0, 1]);
        assert_eq!(queue.reordering.expiry(), at(45));
        assert_eq!(queue.arrive(44, [2]), [2, 3]);
        assert_eq!(queue.reordering.expiry(), Instant::NEVER);
    }

    #[test]
    fn what_falls_out_of_the_window_goes_up() {
        let mut queue = Queue::new(None);
        assert!(queue.arrive(0, [1, 3, 20]).is_empty());
        // The window is 2 to 33.
        assert_eq!(queue.arrive(2, [33]), [1]);
        assert_eq!(queue.arrive(4, [2]), [2, 3]);
        // 34 to 65: no held block is in it.
        assert_eq!(queue.arrive(6, [65]), [20, 33]);
        assert_eq!(queue.arrive(8, [34, 35]), [34, 35]);
    }

    #[test]
    fn a_block_that_was_given_up_is_refused() {
        let mut queue = Queue::new(Some(T1));
        queue.arrive(0, [1, 2]);
        assert_eq!(queue.expire(25), [1, 2]);
        let late = queue.reordering.handle_block(at(30), 0, 0, &mut queue.up);
        assert_eq!((late, queue.up.len()), (Some(0), 0));
        assert_eq!(queue.arrive(32, [3]), [3]);
    }

    #[test]
    fn a_reset_hands_up_what_is_held_and_expects_tsn_0() {
        let mut queue = Queue::new(Some(T1));
        assert_eq!(queue.arrive(0, [0, 2, 4]), [0]);
        queue.reordering.reset(&mut queue.up);
        assert_eq!(std::mem::take(&mut queue.up), [2, 4]);
        assert_eq!(queue.reordering.expiry(), Instant::NEVER);
        assert_eq!(queue.arrive(10, [0, 1]), [0, 1]);
    }

    #[test]
    fn tsns_wrap_on_the_air_alone() {
        let mut queue = Queue::new(Some(T1));
        for first in (0..1000).step_by(2) {
            assert_eq!(queue.arrive(0, [first + 1, first]), [first, first + 1]);
        }
        let mut numbers = Numbers::new(Some(32));
        let tsns: Vec<u8> = (0..66).map(|_| tsn(numbers.take())).collect();
        assert_eq!((tsns[0], tsns[63], tsns[64], tsns[65]), (0, 63, 0, 1));
        numbers.reset();
        assert_eq!(tsn(numbers.take()), 0);
    }

    #[test]
    fn no_block_outside_the_window_is_retransmitted() {
        let mut numbers = Numbers::new(Some(32));
        let first = numbers.take();
        for _ in 0..31 {
            numbers.take();
            assert!(numbers.may_repeat(first));
        }
        let newest = numbers.take();
        assert!(!numbers.may_repeat(first));
        assert!(numbers.may_repeat(first + 1) && numbers.may_repeat(newest));
    }

    #[test]
    fn after_32_losses_in_a_row_new_blocks_are_taken_for_old() {
        let arrives = |number| {
            let mut queue = Queue::new(None);
            queue.arrive(0, [0]);
            queue.arrive(2, [number]);
            queue.reordering.queue.held().filter(|held| *held).count()
        };
        assert_eq!((arrives(32), arrives(33)), (1, 0));
    }

    /// Blocks through six HARQ processes: the TTI, from 0, and the number of each block that arrives.
    /// `needed` contains the transmissions that each block needs; a block that needs more than four is lost.
    fn harq(needed: &[u8]) -> Vec<(u64, u64)> {
        let mut numbers = Numbers::new(Some(32));
        // The block of each and how often it was sent.
        let mut processes: [Option<(u64, u8)>; 6] = [None; 6];
        let mut arrivals = Vec::new();
        let mut new = 0;
        for tti in 0_u64.. {
            let process = &mut processes[(tti % 6) as usize];
            if process.is_none() && new < needed.len() {
                new += 1;
                *process = Some((numbers.take(), 0));
            }
            if let Some((number, sent)) = process {
                assert!(numbers.may_repeat(*number));
                *sent += 1;
                let block = *number - MODULUS;
                let arrives = needed[block as usize] == *sent;
                if arrives {
                    arrivals.push((tti, block));
                }
                if arrives || *sent == 4 {
                    *process = None;
                }
            }
            if new == needed.len() && processes.iter().all(Option::is_none) {
                break;
            }
        }
        arrivals
    }

    #[test]
    fn harq_of_the_test_repeats_after_six_ttis() {
        assert_eq!(harq(&[1, 3, 1, 5, 1]), [(0, 0), (2, 2), (4, 4), (13, 1)]);
    }

    proptest! {
        /// T1 of 38 ms is longer than three retransmissions of 12 ms each: only blocks that HARQ lost are
        /// missing.
        #[test]
        fn whatever_order_harq_makes_blocks_go_up_in_order_and_once(
            needed in prop::collection::vec(prop_oneof![6 => Just(1_u8), 3 => 2_u8..=4, 1 => Just(5)], 1..300),
            t1_ms in prop_oneof![Just(None), (2_u64..38).prop_map(Some), (38_u64..400).prop_map(Some)],
            window in 24_u8..=32,
        ) {
            let mut reordering = Reordering::new(window, t1_ms.map(Duration::from_millis));
            let (mut up, mut taken) = (Vec::new(), Vec::new());
            for (tti, number) in harq(&needed) {
                let now = at(2 * tti);
                while reordering.expiry() <= now {
                    reordering.handle_expiry(reordering.expiry(), &mut up);
                }
                if reordering.handle_block(now, tsn(number), number, &mut up).is_none() {
                    taken.push(number);
                }
            }
            while reordering.expiry() < Instant::NEVER {
                reordering.handle_expiry(reordering.expiry(), &mut up);
            }
            reordering.reset(&mut up);
            prop_assert!(up.is_sorted_by(|one, other| one < other), "{up:?}");
            taken.sort_unstable();
            prop_assert_eq!(&up, &taken);
            if t1_ms.is_none_or(|ms| ms >= 38) {
                let arrived = (0..).zip(&needed).filter(|(_, needed)| **needed <= 4);
                prop_assert_eq!(up, arrived.map(|(number, _)| number).collect::<Vec<u64>>());
            }
        }
    }
}
