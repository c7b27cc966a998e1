//! Restores the order of numbered items: the rules that MAC-hs (TS 25.321 §11.6.2) and NR PDCP (TS 38.323 §5.2.2)
//! share.
//!
//! Items after a gap are held until
//!
//! * the missing item arrives,
//! * the timer expires, which started with the first item after the gap, or
//! * an item arrives so far ahead that the gap leaves the window, if there is one.
//!
//! An item that is still missing then is refused if it arrives later. The timer is T1 with T1_TSN, or t-Reordering with
//! RX_REORD = T1_TSN + 1: it stops when the item that was the highest at its start is delivered, and restarts if other
//! items are held.
//!
//! Contract: numbers count without wrapping; there is no clock here, and items can be anything.

use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// A reordering queue.
#[derive(Debug)]
pub struct Reordering<T> {
    /// Without a window only the timer gives up a gap.
    window: Option<u64>,
    /// Without a timer only the window gives up a gap.
    timeout: Option<Duration>,
    /// The first number that is neither delivered nor given up: next_expected_TSN, RX_DELIV.
    next: u64,
    /// Items from there up to the highest received. The first place is a gap.
    held: VecDeque<Option<T>>,
    /// While the timer runs when it ends, and the highest number at its start.
    timer: Option<(Instant, u64)>,
}

impl<T> Reordering<T> {
    /// A queue that expects `next` first.
    pub const fn new(next: u64, window: Option<u64>, timeout: Option<Duration>) -> Self {
        Self { window, timeout, next, held: VecDeque::new(), timer: None }
    }

    /// The first number that is neither delivered nor given up.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// One after the highest number received: RX_NEXT.
    #[inline]
    pub fn end(&self) -> u64 {
        self.next + self.held.len() as u64
    }

    /// Whether each number from [`next`](Self::next) to below [`end`](Self::end) is held.
    pub fn held(&self) -> impl Iterator<Item = bool> {
        self.held.iter().map(Option::is_some)
    }

    /// An item arrives; delivers the items now in order to `out`. Returns the item if it is refused: it was received
    /// before, or given up.
    #[inline]
    pub fn handle(&mut self, now: Instant, number: u64, item: T, out: &mut Vec<T>) -> Option<T> {
        if number == self.next && self.held.is_empty() {
            // In order, and nothing waits: the timer does not run either.
            self.next += 1;
            out.push(item);
            return None;
        }
        self.hold(now, number, item, out)
    }

    fn hold(&mut self, now: Instant, number: u64, item: T, out: &mut Vec<T>) -> Option<T> {
        let Some(place) = number.checked_sub(self.next) else { return Some(item) };
        let place = place as usize;
        if place >= self.held.len() {
            self.held.resize_with(place + 1, || None);
        } else if self.held[place].is_some() {
            return Some(item);
        }
        self.held[place] = Some(item);
        let outside = self.window.map_or(0, |window| (self.held.len() as u64).saturating_sub(window));
        self.give_up_below(self.next + outside, out);
        self.hand_up(now, out);
        None
    }

    /// When the timer expires; never if it does not run.
    #[inline]
    pub fn expiry(&self) -> Instant {
        self.timer.map_or(Instant::NEVER, |(end, _)| end)
    }

    /// The timer expires, if its time has come: gaps below the number that was the highest at its start are given up.
    pub fn handle_expiry(&mut self, now: Instant, out: &mut Vec<T>) {
        if let Some((_, highest)) = self.timer.take_if(|(end, _)| *end <= now) {
            self.give_up_below(highest, out);
            self.hand_up(now, out);
        }
    }

    /// Delivers all held items, and expects `next`.
    pub fn reset(&mut self, next: u64, out: &mut Vec<T>) {
        out.extend(self.held.drain(..).flatten());
        (self.next, self.timer) = (next, None);
    }

    fn give_up_below(&mut self, number: u64, out: &mut Vec<T>) {
        while self.next < number {
            out.extend(self.held.pop_front().flatten());
            self.next += 1;
        }
    }

    /// Hands up to the next gap, and sees to the timer.
    fn hand_up(&mut self, now: Instant, out: &mut Vec<T>) {
        while let Some(item) = self.held.front_mut().and_then(Option::take) {
            out.push(item);
            self.held.pop_front();
            self.next += 1;
        }
        self.timer.take_if(|(_, highest)| *highest < self.next);
        if self.timer.is_none() && !self.held.is_empty() {
            let highest = self.end() - 1;
            self.timer = self.timeout.map(|timeout| (now + timeout, highest));
        }
    }
}
