//! Delivery rates: draft-ietf-ccwg-bbr, "Delivery Rate Samples".
//!
//! Each segment notes, at each transmission, how much had been delivered by then. Its ACK then spans an interval: the
//! time in which the data delivered meanwhile was sent, or the time in which it was acknowledged, whichever is longer,
//! so ACKs that arrive in a batch give no rate above the send rate. If an ACK reports several segments, the one sent
//! last counts. The notes parallel `State::segments`, one per segment, and exist only for a control that models the
//! path ([`crate::tcp::cc::model`]).
//!
//! Without SACK nothing counts as delivered before the ACK advances, and nothing as lost.

use crate::tcp::cc::model::{LostSegment, PathAck, RateSample};
use crate::tcp::window::state::{Outcome, Segment, State};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// State noted for a segment when it is sent.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// End offset (exclusive).
    end: u64,
    sent_at: Instant,
    /// Bytes that the connection had delivered when it was sent.
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost: u64,
    marked: u64,
    /// In flight then, itself included, bytes.
    in_flight: u64,
    is_app_limited: bool,
    /// Whether it is marked lost and counted as such.
    is_lost: bool,
}

impl Note {
    /// It is lost; `lost` bytes are so in all, and `delivered` have arrived.
    fn lost(&self, len: u64, lost: u64, delivered: u64) -> LostSegment {
        LostSegment {
            len,
            tx_in_flight: self.in_flight,
            lost_since: lost - self.lost,
            is_app_limited: self.is_app_limited,
            delivered,
        }
    }
}

/// The latest segment that the present ACK reports.
#[derive(Clone, Copy, Debug)]
struct Latest {
    note: Note,
    rtt: Option<Duration>,
}

/// What a sender adds to the delivery rates of an ACK: the fields of [`PathAck`] with these names.
pub struct AtSender<'a> {
    pub now: Instant,
    pub state: &'a State,
    pub prior_in_flight: u64,
    pub in_flight: u64,
    pub marked: Option<u64>,
    pub is_window_limited: bool,
    pub next_send: Instant,
    pub srtt: Duration,
}

/// Measures delivery rates.
#[derive(Debug, Default)]
pub struct Meter {
    notes: VecDeque<Note>,
    /// Index of the note that is likely to be needed next.
    next: usize,
    /// Bytes delivered since the connection began, and when the last of them were.
    pub delivered: u64,
    pub delivered_at: Instant,
    /// When the segment was sent that was delivered last.
    first_sent_at: Instant,
    /// Bytes marked lost since the connection began.
    pub lost: u64,
    /// Bytes delivered with CE, with accurate ECN.
    pub marked: u64,
    /// Bytes lost when the marks were read last.
    lost_read: u64,
    /// The flight is limited by the application until this much is delivered; 0 if it is not.
    app_limited: u64,
    min_rtt: Option<Duration>,
    latest: Option<Latest>,
    /// `delivered` and `lost` at the ACK before.
    before: (u64, u64),
    /// The congestion control knows that the connection is open.
    pub has_begun: bool,
}

impl Meter {
    /// A segment up to `end` is sent, the first of all outstanding ones if it `is_alone`; `in_flight` includes it.
    pub fn on_sent(&mut self, now: Instant, end: u64, is_new: bool, is_alone: bool, in_flight: u64) {
        if is_alone {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let note = Note {
            end,
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            marked: self.marked,
            in_flight,
            is_app_limited: self.app_limited > 0,
            is_lost: false,
        };
        if is_new {
            self.notes.push_back(note);
        } else {
            let index = self.index(end);
            if let Some(old) = self.notes.get_mut(index) {
                *old = note;
            }
        }
    }

    /// Index of the note of the segment that ends at `end`; nearly always `next`.
    fn index(&self, end: u64) -> usize {
        if self.notes.get(self.next).is_some_and(|note| note.end == end) {
            return self.next;
        }
        self.notes.partition_point(|note| note.end < end)
    }

    /// The first `bytes` of a segment are reported for the first time.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, segment: &Segment, bytes: u64) {
        self.on_reported(now, segment.end(), bytes, segment.transmissions == 1);
    }

    /// `bytes` of the data up to offset `end`, which was perhaps sent only once, are reported for the first time.
    pub fn on_reported(&mut self, now: Instant, end: u64, bytes: u64, once: bool) {
        self.delivered += bytes;
        self.delivered_at = now;
        let index = self.index(end);
        self.next = index + 1;
        let Some(note) = self.notes.get(index).copied() else { return };
        let is_later = |latest: &Latest| (note.sent_at, note.end) > (latest.note.sent_at, latest.note.end);
        if self.latest.as_ref().is_none_or(is_later) {
            let rtt = once.then(|| now.since(note.sent_at));
            self.latest = Some(Latest { note, rtt });
            self.first_sent_at = note.sent_at;
        }
    }

    /// `len` bytes that ended at offset `end` are lost, and are never retransmitted in this place: a packet of QUIC.
    pub fn on_lost(&mut self, end: u64, len: u64) -> Option<LostSegment> {
        let note = *self.notes.get(self.index(end)).filter(|note| note.end == end)?;
        self.lost += len;
        Some(note.lost(len, self.lost, self.delivered))
    }

    /// Loss recovery has marked segments, `lost` bytes in total: counts the new ones and calls `each` for them.
    pub fn on_marked(&mut self, state: &State, lost: u64, mut each: impl FnMut(&LostSegment)) {
        if lost == self.lost_read {
            return;
        }
        self.lost_read = lost;
        let mut notes = self.notes.iter_mut();
        for segment in &state.segments {
            let Some(note) = notes.by_ref().find(|note| note.end >= segment.end()) else { break };
            let is_lost = segment.outcome == Outcome::Lost && !segment.is_sacked;
            if is_lost && !note.is_lost {
                self.lost += u64::from(segment.len);
                each(&note.lost(segment.len.into(), self.lost, self.delivered));
            }
            note.is_lost = is_lost;
        }
    }

    /// An ACK has been processed; everything before `una` is acknowledged.
    pub fn path_ack(&mut self, una: u64, at: &AtSender<'_>) -> PathAck {
        while self.notes.front().is_some_and(|note| note.end <= una) {
            self.notes.pop_front();
        }
        self.next = 0;
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let latest = self.latest.take();
        let (delivered, lost) = std::mem::replace(&mut self.before, (self.delivered, self.lost));
        if let Some(rtt) = latest.and_then(|latest| latest.rtt) {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let note = latest.map(|latest| latest.note);
        let newly_acked = self.delivered - delivered;
        PathAck {
            now: at.now,
            sample: note.and_then(|note| self.sample(&note)),
            prior_delivered: note.map(|note| note.delivered),
            tx_in_flight: note.map_or(0, |note| note.in_flight),
            lost_since: note.map_or(0, |note| self.lost - note.lost),
            rtt: latest.and_then(|latest| latest.rtt),
            may_be_delayed: (1..at.state.mss()).contains(&newly_acked),
            newly_acked,
            newly_lost: self.lost - lost,
            prior_in_flight: at.prior_in_flight,
            in_flight: at.in_flight,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            marked: at.marked,
            marked_since: note.map_or(0, |note| self.marked - note.marked),
            phase: at.state.phase,
            is_window_limited: at.is_window_limited,
            next_send: at.next_send,
            srtt: at.srtt,
        }
    }

    /// The rate since the segment with this note was sent. `None` for an interval below the minimum RTT: the ACK then
    /// belongs to an earlier transmission.
    fn sample(&self, note: &Note) -> Option<RateSample> {
        let (sending, acking) =
            (note.sent_at.since(note.first_sent_at), self.delivered_at.since(note.delivered_at));
        let interval = sending.max(acking);
        let delivered = self.delivered - note.delivered;
        let is_long = !interval.is_zero() && self.min_rtt.is_none_or(|min| interval >= min);
        is_long.then_some(RateSample { delivered, interval, is_app_limited: note.is_app_limited })
    }

    /// Treats the flow as application-limited until the data in flight is delivered.
    pub fn limit_by_app(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Whether it does.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }
}
