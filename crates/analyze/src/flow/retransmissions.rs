//! Spurious retransmissions: the original had arrived or was in flight.
//!
//! A retransmission is **spurious** if there is evidence for it, and assumed to be necessary otherwise:
//!
//! * *acknowledged*: it repeats data that was acknowledged before the retransmission;
//! * *timestamps*: the first ACK for a retransmitted left edge echoes a time before the retransmission: Eifel, RFC 3522
//!   (3.2). Data that this ACK acknowledges beyond the edge had also arrived before;
//! * *dsack*: the receiver reports it as a duplicate: RFC 2883 (4), RFC 3708;
//! * *too soon*: its ACK arrives earlier than three quarters of the minimum RTT after it. ASSUMED factor: ACKs and
//!   segments differ in length.
//!
//! A **cut** was spurious if the original of its first retransmission is shown to have arrived, or if all of its
//! retransmissions were reported by DSACKs.

use std::collections::VecDeque;

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use super::causes::Cause;

/// More are not remembered at a time.
const MOST: usize = 4096;
/// Retransmissions remembered for a DSACK after their ACK.
const MOST_JUDGED: usize = 512;

/// Evidence that a retransmission was spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    Acknowledged,
    Timestamps,
    Dsack,
    TooSoon,
}

#[derive(Clone, Copy, Debug)]
struct Retransmission {
    start: u64,
    end: u64,
    at: Instant,
    tsval: Option<u32>,
    /// Number of the cut that it belongs to.
    cut: u64,
    /// Whether it is the first retransmission of its cut.
    is_first: bool,
    /// The same data was retransmitted before.
    is_repeated: bool,
    is_judged: bool,
    is_spurious: bool,
    is_reported: bool,
}

/// A fast retransmit or a timeout.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    number: u64,
    is_timeout: bool,
    /// Retransmissions of it that no DSACK has reported.
    unreported: u32,
    is_spurious: bool,
}

/// Spurious retransmissions as reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spurious {
    pub total: u64,
    /// Acknowledged before they were sent.
    pub acknowledged: u64,
    pub timestamps: u64,
    pub dsack: u64,
    /// Acknowledged too soon.
    pub too_soon: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
}

/// The retransmissions of a flow.
#[derive(Clone, Debug, Default)]
pub struct Retransmissions {
    list: VecDeque<Retransmission>,
    unjudged: usize,
    cut: Cut,
    spurious: Spurious,
}

/// An ACK that acknowledges something new.
#[derive(Clone, Copy, Debug)]
pub struct NewAck {
    pub at: Instant,
    /// The left edge before it.
    pub una: u64,
    /// The left edge now.
    pub ack: u64,
    /// TSecr.
    pub echo: Option<u32>,
    pub shortest_rtt: Option<Duration>,
}

impl Retransmissions {
    pub fn push(
        &mut self,
        at: Instant,
        (start, end): (u64, u64),
        tsval: Option<u32>,
        cause: Cause,
        una: u64,
    ) {
        let is_first = matches!(cause, Cause::Fast | Cause::Timeout);
        if is_first {
            self.cut =
                Cut { number: self.cut.number + 1, is_timeout: cause == Cause::Timeout, ..Cut::default() };
        }
        self.cut.unreported = self.cut.unreported.saturating_add(1);
        let mut new = Retransmission {
            start,
            end,
            at,
            tsval,
            cut: self.cut.number,
            is_first,
            is_repeated: self.list.iter().rev().any(|before| before.start <= start && start < before.end),
            is_judged: false,
            is_spurious: false,
            is_reported: false,
        };
        if end <= una {
            self.spurious.count(Evidence::Acknowledged);
            (new.is_judged, new.is_spurious) = (true, true);
        }
        self.unjudged += usize::from(!new.is_judged);
        self.list.push_back(new);
        while self.list.len() > MOST || self.list.len() > MOST_JUDGED && self.list[0].is_judged {
            if let Some(old) = self.list.pop_front() {
                self.unjudged -= usize::from(!old.is_judged);
            }
        }
    }

    /// Judges the retransmissions that an ACK acknowledges; returns whether this shows that the latest cut was
    /// spurious.
    pub fn on_ack(&mut self, new: &NewAck) -> bool {
        if self.unjudged == 0 {
            return false;
        }
        let is_covered = |sent: &Retransmission| !sent.is_judged && sent.end <= new.ack;
        let edge = self.list.iter().filter(|sent| is_covered(sent) && sent.start <= new.una);
        let first_at_edge = edge.filter_map(|sent| sent.tsval).next();
        let is_original = match (new.echo, first_at_edge) {
            // RFC 7323 (5.2): times wrap.
            (Some(echo), Some(tsval)) => (echo.wrapping_sub(tsval) as i32) < 0,
            _ => false,
        };
        let mut is_of_cut = false;
        for sent in self.list.iter_mut().filter(|sent| is_covered(sent)) {
            sent.is_judged = true;
            self.unjudged -= 1;
            let evidence = if is_original {
                Evidence::Timestamps
            } else if is_too_soon(sent.at, new.at, new.shortest_rtt) {
                Evidence::TooSoon
            } else {
                continue;
            };
            if !sent.is_spurious {
                sent.is_spurious = true;
                self.spurious.count(evidence);
            }
            // After several retransmissions, an earlier one may have arrived instead of the original.
            let of_original = evidence == Evidence::Timestamps || !sent.is_repeated;
            is_of_cut |= sent.is_first && of_original && sent.cut == self.cut.number;
        }
        is_of_cut && self.cut_was_spurious()
    }

    /// Judges the retransmissions that a SACK block reports.
    pub fn on_sack(&mut self, now: Instant, (start, end): (u64, u64), shortest_rtt: Option<Duration>) {
        if self.unjudged == 0 {
            return;
        }
        for sent in &mut self.list {
            let is_covered = !sent.is_judged && start <= sent.start && sent.end <= end;
            if is_covered && !sent.is_spurious && is_too_soon(sent.at, now, shortest_rtt) {
                sent.is_spurious = true;
                self.spurious.count(Evidence::TooSoon);
            }
        }
    }

    /// A duplicate was reported; whether the latest cut is found spurious by it.
    pub fn on_dsack(&mut self, (start, end): (u64, u64)) -> bool {
        let may_be = |sent: &Retransmission| !sent.is_reported && start <= sent.start && sent.end <= end;
        // A retransmission known to be spurious is the most likely one, otherwise the one sent last.
        let known = self.list.iter().position(|sent| sent.is_spurious && may_be(sent));
        let Some(at) = known.or_else(|| self.list.iter().rposition(may_be)) else { return false };
        let sent = &mut self.list[at];
        sent.is_reported = true;
        if !sent.is_spurious {
            sent.is_spurious = true;
            self.spurious.count(Evidence::Dsack);
        }
        if sent.cut != self.cut.number || self.cut.number == 0 {
            return false;
        }
        self.cut.unreported = self.cut.unreported.saturating_sub(1);
        self.cut.unreported == 0 && self.cut_was_spurious()
    }

    /// The latest cut was spurious; whether that is news.
    fn cut_was_spurious(&mut self) -> bool {
        let is_news = self.cut.number > 0 && !std::mem::replace(&mut self.cut.is_spurious, true);
        if is_news {
            let spurious = &mut self.spurious;
            *(if self.cut.is_timeout { &mut spurious.timeouts } else { &mut spurious.fast_retransmits }) += 1;
        }
        is_news
    }

    pub fn spurious(&self) -> Spurious {
        self.spurious
    }

    pub fn bytes(&self) -> usize {
        size_of::<Retransmission>() * self.list.capacity()
    }
}

impl Spurious {
    fn count(&mut self, evidence: Evidence) {
        self.total += 1;
        *match evidence {
            Evidence::Acknowledged => &mut self.acknowledged,
            Evidence::Timestamps => &mut self.timestamps,
            Evidence::Dsack => &mut self.dsack,
            Evidence::TooSoon => &mut self.too_soon,
        } += 1;
    }
}

/// Whether an ACK at `now` is too early for a segment sent at `sent`.
pub(super) fn is_too_soon(sent: Instant, now: Instant, shortest_rtt: Option<Duration>) -> bool {
    shortest_rtt.is_some_and(|rtt| now.since(sent).as_nanos() < rtt.as_nanos() / 4 * 3)
}
