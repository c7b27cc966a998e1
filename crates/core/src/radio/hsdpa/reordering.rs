//! MAC-hs: the transport blocks of a UE back in order (TS 25.321 §11.6.2).
//!
//! HARQ repeats blocks while others pass them, so they arrive out of order. Each has a transmission sequence number
//! (TSN), modulo 64 on the air. The UE hands blocks up in order and holds those behind a gap, until
//!
//! * the missing block arrives,
//! * T1 ends, which started with the first block behind the gap, or
//! * a block arrives so far ahead that the gap falls out of the window.
//!
//! What was not there by then is given up, and refused if it still comes. RLC above repeats it. A lost block that is
//! the last of its burst starts no T1; RLC's poll has to find it.
//!
//! A TSN is read as the one in the window, which ends at the highest received, or else as one above. So that this is right
//! the sender repeats no block that a newer one has pushed out of the window. If as many new blocks as 64 less the window
//! are lost in a row, nothing helps: the next one is taken for an old one, and refused.
//!
//! Blocks come with their whole number, of which only the TSN is looked at; numbers inside count without wrapping. Left
//! out: several priority queues; a UE has one. There is no clock here, and blocks can be anything. Clause by clause:
//! `docs/models/mac-hs.md`.

use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// TSNs on the air.
const MODULUS: u64 = 64;

/// The reordering queue of a UE.
#[derive(Debug)]
pub(in crate::radio) struct Reordering<T> {
    window: u64,
    t1: Duration,
    /// next_expected_TSN: the first number that is neither handed up nor given up.
    next: u64,
    /// Blocks from there up to RcvWindow_UpperEdge, the highest received. The first place is a gap.
    held: VecDeque<Option<T>>,
    /// While T1 runs when it ends, and T1_TSN.
    timer: Option<(Instant, u64)>,
}

impl<T> Reordering<T> {
    /// With a window of 32 at most, half of the TSNs; the first block has number 0.
    pub fn new(window: u8, t1: Duration) -> Self {
        Self { window: u64::from(window), t1, next: 0, held: VecDeque::new(), timer: None }
    }

    /// A block arrives; hands up to `out` what is in order now. Returns the block if it is refused: it was received
    /// before, or given up.
    pub fn handle_block(&mut self, now: Instant, number: u64, block: T, out: &mut Vec<T>) -> Option<T> {
        let Some(place) = self.read(number).and_then(|read| read.checked_sub(self.next)) else {
            return Some(block);
        };
        let place = place as usize;
        if place >= self.held.len() {
            self.held.resize_with(place + 1, || None);
        } else if self.held[place].is_some() {
            return Some(block);
        }
        self.held[place] = Some(block);
        let outside = (self.held.len() as u64).saturating_sub(self.window);
        self.give_up_below(self.next + outside, out);
        self.hand_up(now, out);
        None
    }

    /// When T1 ends; never if it does not run.
    pub fn expiry(&self) -> Instant {
        self.timer.map_or(Instant::NEVER, |(end, _)| end)
    }

    /// T1 ends, if its time has come: gaps below T1_TSN are given up.
    pub fn handle_expiry(&mut self, now: Instant, out: &mut Vec<T>) {
        if let Some((_, t1_tsn)) = self.timer.take_if(|(end, _)| *end <= now) {
            self.give_up_below(t1_tsn, out);
            self.hand_up(now, out);
        }
    }

    /// MAC-hs is reset: hands up what is held. The next block, TSN 0 on the air, has the number `next`.
    pub fn reset(&mut self, next: u64, out: &mut Vec<T>) {
        out.extend(self.held.drain(..).flatten());
        (self.next, self.timer) = (next, None);
    }

    /// The number for which the TSN of a block is taken; none if that was before the first block.
    fn read(&self, number: u64) -> Option<u64> {
        // One above RcvWindow_UpperEdge.
        let end = self.next + self.held.len() as u64;
        let below = end.wrapping_sub(1).wrapping_sub(number) % MODULUS;
        if below < self.window { end.checked_sub(1 + below) } else { Some(end + MODULUS - 1 - below) }
    }

    fn give_up_below(&mut self, number: u64, out: &mut Vec<T>) {
        while self.next < number {
            out.extend(self.held.pop_front().flatten());
            self.next += 1;
        }
    }

    /// Hands up to the next gap, and sees to T1.
    fn hand_up(&mut self, now: Instant, out: &mut Vec<T>) {
        while let Some(block) = self.held.front_mut().and_then(Option::take) {
            out.push(block);
            self.held.pop_front();
            self.next += 1;
        }
        self.timer.take_if(|(_, t1_tsn)| *t1_tsn < self.next);
        if self.timer.is_none() && !self.held.is_empty() {
            let highest = self.next + self.held.len() as u64 - 1;
            self.timer = Some((now + self.t1, highest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T1: Duration = Duration::from_millis(25);
    const WITHOUT: Duration = Duration::LONGEST;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A queue whose blocks are their numbers, from 0, and what it handed up.
    struct Queue {
        reordering: Reordering<u64>,
        up: Vec<u64>,
    }

    impl Queue {
        fn new(t1: Duration) -> Self {
            Self { reordering: Reordering::new(32, t1), up: Vec::new() }
        }

        fn arrive(&mut self, ms: u64, numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
            for number in numbers {
                self.reordering.handle_block(at(ms), number % MODULUS, number, &mut self.up);
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
        let mut queue = Queue::new(T1);
        assert_eq!(queue.arrive(0, [0, 1]), [0, 1]);
        assert!(queue.arrive(4, [3, 5]).is_empty());
        assert_eq!(queue.arrive(6, [2]), [2, 3]);
        assert_eq!(queue.arrive(8, [4]), [4, 5]);
        assert_eq!(queue.reordering.expiry(), Instant::NEVER);
    }

    #[test]
    fn a_block_is_handed_up_once() {
        let mut queue = Queue::new(T1);
        assert_eq!(queue.arrive(0, [0, 0, 2, 2, 1, 2, 0]), [0, 1, 2]);
        let again = queue.reordering.handle_block(at(1), 2, 2, &mut queue.up);
        assert_eq!(again, Some(2));
        assert!(queue.up.is_empty());
    }

    /// Acceptance test 6, first half: a block in every TTI of 2 ms, number 10 is lost for good.
    #[test]
    fn a_lost_block_is_given_up_at_t1_or_at_the_32nd_block_behind_it() {
        let end_of_gap = |t1: Duration| {
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
        // 25 ms after number 11, which came at 22 ms: 11 to 23 are there, and 24 follows.
        assert_eq!(end_of_gap(T1), (at(47), 14));
        // Number 42 is the 32nd behind it, 64 ms later.
        assert_eq!(end_of_gap(WITHOUT), (at(84), 32));
    }

    #[test]
    fn t1_starts_with_the_first_block_behind_a_gap_and_again_for_the_highest_held() {
        let mut queue = Queue::new(T1);
        queue.arrive(0, [1]);
        assert_eq!(queue.reordering.expiry(), at(25));
        queue.arrive(10, [3, 5]);
        assert_eq!(queue.reordering.expiry(), at(25));
        assert!(queue.expire(24).is_empty());
        // The gap at 0 is given up, those at 2 and 4 have their own time.
        assert_eq!(queue.expire(25), [1]);
        assert_eq!(queue.reordering.expiry(), at(50));
        // T1_TSN is 5, the highest held: both gaps end with it.
        queue.arrive(40, [7]);
        assert_eq!(queue.expire(50), [3, 5]);
        assert_eq!(queue.reordering.expiry(), at(75));
    }

    #[test]
    fn t1_stops_when_its_block_goes_up_and_starts_for_what_is_left() {
        let mut queue = Queue::new(T1);
        queue.arrive(0, [1]);
        queue.arrive(10, [3]);
        assert_eq!(queue.arrive(20, [0]), [0, 1]);
        assert_eq!(queue.reordering.expiry(), at(45));
        assert_eq!(queue.arrive(44, [2]), [2, 3]);
        assert_eq!(queue.reordering.expiry(), Instant::NEVER);
    }

    #[test]
    fn what_falls_out_of_the_window_goes_up() {
        let mut queue = Queue::new(WITHOUT);
        assert!(queue.arrive(0, [1, 3, 20]).is_empty());
        // The window is 2 to 33.
        assert_eq!(queue.arrive(2, [33]), [1]);
        assert_eq!(queue.arrive(4, [2]), [2, 3]);
        // 34 to 65: nothing that was held is in it.
        assert_eq!(queue.arrive(6, [65]), [20, 33]);
        assert_eq!(queue.arrive(8, [34, 35]), [34, 35]);
    }

    #[test]
    fn a_block_that_was_given_up_is_refused() {
        let mut queue = Queue::new(T1);
        queue.arrive(0, [1, 2]);
        assert_eq!(queue.expire(25), [1, 2]);
        let late = queue.reordering.handle_block(at(30), 0, 0, &mut queue.up);
        assert_eq!(late, Some(0));
        assert!(queue.up.is_empty());
        assert_eq!(queue.arrive(32, [3]), [3]);
    }

    #[test]
    fn a_reset_hands_up_what_is_held_and_expects_tsn_0() {
        let mut queue = Queue::new(T1);
        assert_eq!(queue.arrive(0, [0, 2, 4]), [0]);
        queue.reordering.reset(64, &mut queue.up);
        assert_eq!(std::mem::take(&mut queue.up), [2, 4]);
        assert_eq!(queue.reordering.expiry(), Instant::NEVER);
        assert_eq!(queue.arrive(10, [64, 65]), [64, 65]);
    }

    #[test]
    fn tsns_wrap_on_the_air_alone() {
        let mut queue = Queue::new(T1);
        for first in (0..1000).step_by(2) {
            assert_eq!(queue.arrive(0, [first + 1, first]), [first, first + 1]);
        }
    }

    #[test]
    fn what_seems_to_be_before_the_first_block_is_refused() {
        let mut queue = Queue::new(T1);
        assert_eq!(queue.reordering.handle_block(at(0), 63, 63, &mut queue.up), Some(63));
        assert_eq!(queue.arrive(2, [31, 0]), [0]);
    }

    #[test]
    fn after_32_losses_in_a_row_new_blocks_are_taken_for_old() {
        let arrives = |number| {
            let mut queue = Queue::new(WITHOUT);
            queue.arrive(0, [0]);
            queue.arrive(2, [number]);
            queue.reordering.held.iter().flatten().count()
        };
        assert_eq!((arrives(32), arrives(33)), (1, 0));
    }

    /// What six HARQ processes make of blocks: the TTI, from 0, and the number of each that arrives. `needed` has the
    /// transmissions that each block needs; one that needs more than four is lost.
    fn harq(needed: &[u8]) -> Vec<(u64, u64)> {
        // The block of each and how often it was sent.
        let mut processes: [Option<(u64, u8)>; 6] = [None; 6];
        let mut arrivals = Vec::new();
        let mut new = 0_u64;
        for tti in 0_u64.. {
            let process = &mut processes[(tti % 6) as usize];
            if process.is_none() && new < needed.len() as u64 {
                *process = Some((new, 0));
                new += 1;
            }
            if let Some((number, sent)) = process {
                *sent += 1;
                let arrives = needed[*number as usize] == *sent;
                if arrives {
                    arrivals.push((tti, *number));
                }
                if arrives || *sent == 4 {
                    *process = None;
                }
            }
            if new == needed.len() as u64 && processes.iter().all(Option::is_none) {
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
        /// T1 of 38 ms is longer than three repetitions take, 12 ms each: nothing but what HARQ lost is missing.
        #[test]
        fn whatever_order_harq_makes_blocks_go_up_in_order_and_once(
            needed in prop::collection::vec(prop_oneof![6 => Just(1_u8), 3 => 2_u8..=4, 1 => Just(5)], 1..300),
            t1_ms in prop_oneof![2_u64..38, 38_u64..400],
            window in 24_u8..=32,
        ) {
            let mut reordering = Reordering::new(window, Duration::from_millis(t1_ms));
            let (mut up, mut taken) = (Vec::new(), Vec::new());
            for (tti, number) in harq(&needed) {
                let now = at(2 * tti);
                while reordering.expiry() <= now {
                    reordering.handle_expiry(reordering.expiry(), &mut up);
                }
                if reordering.handle_block(now, number % MODULUS, number, &mut up).is_none() {
                    taken.push(number);
                }
            }
            while reordering.expiry() < Instant::NEVER {
                reordering.handle_expiry(reordering.expiry(), &mut up);
            }
            reordering.reset(0, &mut up);
            prop_assert!(up.is_sorted_by(|one, other| one < other), "{up:?}");
            taken.sort_unstable();
            prop_assert_eq!(&up, &taken);
            if t1_ms >= 38 {
                let arrived = (0..).zip(&needed).filter(|(_, needed)| **needed <= 4);
                prop_assert_eq!(up, arrived.map(|(number, _)| number).collect::<Vec<u64>>());
            }
        }
    }
}
