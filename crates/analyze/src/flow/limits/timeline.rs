//! Timeline of a flow: what each stretch was spent on, in bounded memory.
//!
//! [`Limits`](super::Limits) learns the cause of a gap only at its end, and the limit of a round trip only at the end
//! of the capture. The stretches of an open gap are therefore inserted where the gap started, and busy stretches store
//! the index of their round trip. When there are too many stretches, neighbours are grouped: the order within a group
//! is lost, the sums are not.

use super::super::rounds::{Kinds, Part};

/// More stretches are grouped. Half of it exceeds what 512 round trips of three kinds need.
const MOST_SPANS: usize = 4096;
/// Stretches that are reported of a flow.
const MOST_REPORTED: usize = 512;
/// Below the resolution of a nanosecond clock: rounding errors of subtracted seconds.
const NOTHING_S: f64 = 1e-10;

/// Use of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// The cause is certain.
    On(Part),
    /// The cause depends on the round trip: of a busy sender, a full window, or a recovery.
    Busy(u32),
    Window(u32),
    Recovery(u32),
}

#[derive(Clone, Copy, Debug)]
struct Span {
    spent: Spent,
    seconds: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Timeline {
    spans: Vec<Span>,
    /// Start of the open gap.
    gap: usize,
}

impl Timeline {
    /// Adds a stretch of the open gap.
    pub fn add_to_gap(&mut self, spent: Spent, seconds: f64) {
        if seconds <= 0.0 {
            return;
        }
        if let Some(last) = self.gap.checked_sub(1).and_then(|at| self.spans.get_mut(at))
            && last.spent == spent
        {
            last.seconds += seconds;
            return;
        }
        self.spans.insert(self.gap, Span { spent, seconds });
        self.gap += 1;
    }

    /// Adds a stretch at the end.
    pub fn push(&mut self, spent: Spent, seconds: f64) {
        if seconds <= 0.0 {
            return;
        }
        match self.spans.get_mut(self.gap..).and_then(<[Span]>::last_mut) {
            Some(last) if last.spent == spent => last.seconds += seconds,
            _ => self.spans.push(Span { spent, seconds }),
        }
    }

    /// The next gap begins at the end.
    pub fn close_gap(&mut self) {
        if self.gap < self.spans.len() {
            // Merge the last stretch before the gap and the first of the gap if they have the same cause.
            if let [before, first, ..] = &mut self.spans[self.gap.saturating_sub(1)..]
                && self.gap > 0
                && before.spent == first.spent
            {
                before.seconds += first.seconds;
                self.spans.remove(self.gap);
            }
            self.gap = self.spans.len();
        }
        if self.spans.len() > MOST_SPANS {
            group(&mut self.spans, MOST_SPANS / 2, |span| span.spent);
            self.gap = self.spans.len();
        }
    }

    /// The latest seconds of recovery were the wait for a timer. Tells for each round trip how much of it that is.
    pub fn recovery_was_timeout(&mut self, mut seconds: f64, mut found: impl FnMut(u32, f64)) {
        for at in (0..self.spans.len()).rev() {
            if seconds <= NOTHING_S {
                return;
            }
            let Spent::Recovery(round) = self.spans[at].spent else { continue };
            let taken = self.spans[at].seconds.min(seconds);
            seconds -= taken;
            found(round, taken);
            let timeout = Span { spent: Spent::On(Part::Timeouts), seconds: taken };
            if self.spans[at].seconds - taken <= 0.0 {
                self.spans[at] = timeout;
            } else {
                self.spans[at].seconds -= taken;
                self.spans.insert(at + 1, timeout);
                self.gap += usize::from(self.gap > at);
            }
        }
    }

    /// Round trips were merged in pairs.
    pub fn merge_rounds(&mut self) {
        for span in &mut self.spans {
            span.spent = match span.spent {
                Spent::Busy(round) => Spent::Busy(round / 2),
                Spent::Window(round) => Spent::Window(round / 2),
                Spent::Recovery(round) => Spent::Recovery(round / 2),
                on @ Spent::On(_) => on,
            };
        }
    }

    /// The stretches by the limit on the sender, from the limit in each round trip.
    pub fn parts(&self, kinds: &[Kinds]) -> Vec<(Part, f64)> {
        let of = |round: u32| kinds.get(round as usize).copied().unwrap_or_default();
        let mut parts: Vec<(Part, f64)> = Vec::new();
        for Span { spent, seconds } in &self.spans {
            let part = match *spent {
                Spent::On(part) => part,
                Spent::Busy(round) => of(round).busy,
                Spent::Window(round) => of(round).window,
                Spent::Recovery(round) => of(round).recovery,
            };
            match parts.last_mut() {
                Some(last) if last.0 == part => last.1 += seconds,
                _ => parts.push((part, *seconds)),
            }
        }
        group(&mut parts, MOST_REPORTED, |(part, _)| *part);
        parts
    }

    pub fn bytes(&self) -> usize {
        size_of::<Span>() * self.spans.capacity()
    }
}

/// A stretch whose length can grow.
trait Stretch: Copy {
    fn grow(&mut self, other: Self);
}

impl Stretch for Span {
    fn grow(&mut self, other: Self) {
        self.seconds += other.seconds;
    }
}

impl Stretch for (Part, f64) {
    fn grow(&mut self, other: Self) {
        self.1 += other.1;
    }
}

/// Joins stretches of one kind among a few neighbours, then among more, until there are no more than `most` or all
/// were neighbours.
fn group<T: Stretch, K: PartialEq>(all: &mut Vec<T>, most: usize, kind: impl Fn(&T) -> K) {
    let mut neighbours = 4;
    while all.len() > most {
        let mut joined: Vec<T> = Vec::with_capacity(all.len());
        for group in all.chunks(neighbours) {
            let from = joined.len();
            for one in group {
                match joined[from..].iter_mut().find(|other| kind(other) == kind(one)) {
                    Some(same) => same.grow(*one),
                    None => joined.push(*one),
                }
            }
        }
        let is_all = neighbours >= all.len();
        *all = joined;
        all.dedup_by(|next, before| {
            kind(next) == kind(before) && {
                before.grow(*next);
                true
            }
        });
        if is_all {
            return;
        }
        neighbours *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> Vec<Kinds> {
        let of = |busy| Kinds { busy, window: Part::ReceiveWindow, recovery: Part::Loss };
        vec![of(Part::SlowStart), of(Part::Link)]
    }

    #[test]
    fn what_a_gap_was_stands_in_front_of_what_came_behind_it() {
        let mut timeline = Timeline::default();
        timeline.add_to_gap(Spent::Busy(0), 1.0);
        timeline.close_gap();
        // A probe of the tail in a gap whose cause is not yet known.
        timeline.push(Spent::Recovery(0), 2.0);
        timeline.add_to_gap(Spent::On(Part::Pause), 3.0);
        timeline.close_gap();
        timeline.push(Spent::Recovery(1), 4.0);
        let mut found = Vec::new();
        timeline.recovery_was_timeout(5.0, |round, seconds| found.push((round, seconds)));
        assert_eq!(found, [(1, 4.0), (0, 1.0)]);
        let expected = [(Part::SlowStart, 1.0), (Part::Pause, 3.0), (Part::Loss, 1.0), (Part::Timeouts, 5.0)];
        assert_eq!(timeline.parts(&kinds()), expected);
    }

    #[test]
    fn too_many_stretches_are_grouped_and_no_second_is_lost() {
        let mut timeline = Timeline::default();
        for number in 0..50_000_u32 {
            timeline.add_to_gap(Spent::On(Part::Waiting), 1.0);
            timeline.add_to_gap(Spent::Busy(number % 2), 2.0);
            timeline.close_gap();
            assert!(timeline.spans.len() <= MOST_SPANS + 2);
        }
        let parts = timeline.parts(&kinds());
        assert!(parts.len() <= MOST_REPORTED && parts.len() > MOST_REPORTED / 8, "{}", parts.len());
        let sum =
            |part| parts.iter().filter(|(own, _)| *own == part).map(|(_, seconds)| seconds).sum::<f64>();
        assert_eq!(sum(Part::Waiting), 50_000.0);
        assert_eq!((sum(Part::SlowStart), sum(Part::Link)), (50_000.0, 50_000.0));
    }
}
