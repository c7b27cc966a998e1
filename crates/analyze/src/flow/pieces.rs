//! Data of a stream seen and not acknowledged, in pieces as sent.

use std::collections::VecDeque;

use airpath_core::time::{Duration, Instant};

use super::retransmissions::is_too_soon;
use super::unseen::Unseen;

/// More pieces than this are not kept: without ACKs, or with a window above 90 MB.
const MOST: usize = 65_536;

/// A stretch of the stream sent in one segment.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Offset of its first byte.
    pub start: u64,
    /// End offset (exclusive).
    pub end: u64,
    pub first_at: Instant,
    pub last_at: Instant,
    pub transmissions: u32,
    /// The receiver has reported it.
    pub is_sacked: bool,
    /// Index of its data segment, in order of passing.
    pub number: u64,
    /// TSval of its first transmission.
    pub tsval: Option<u32>,
    /// TSval of the last.
    pub last_tsval: Option<u32>,
    /// Two transmissions at different times had the same TSval: an echo of it may be of either.
    has_same_tsval: bool,
}

impl Piece {
    /// A piece sent for the first time, as segment `number`.
    pub fn new(now: Instant, (start, end): (u64, u64), number: u64, tsval: Option<u32>) -> Self {
        Self {
            start,
            end,
            first_at: now,
            last_at: now,
            transmissions: 1,
            is_sacked: false,
            number,
            tsval,
            last_tsval: tsval,
            has_same_tsval: false,
        }
    }

    /// Send time of the transmission that an echo belongs to, if there is only one.
    fn echoed_at(&self, echo: u32) -> Option<Instant> {
        match Some(echo) {
            _ if self.has_same_tsval => None,
            tsval if tsval == self.tsval => Some(self.first_at),
            tsval if tsval == self.last_tsval => Some(self.last_at),
            _ => None,
        }
    }
}

/// Pieces in the order of the stream, without overlap; there may be gaps. An empty piece marks an end known from a
/// segment without data.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    pieces: VecDeque<Piece>,
    /// Data below is no longer tracked.
    floor: u64,
    /// Pieces no longer tracked because there were too many.
    pub forgotten: u64,
    sacked: usize,
    /// End of the highest piece reported.
    pub sacked_to: u64,
    /// Send time and end offset of the most recently sent piece among those delivered: RFC 8985 (5.2).
    latest: Option<(Instant, u64)>,
}

/// Arrival time of an ACK, and the minimum RTT so far.
pub type Arrival = (Instant, Option<Duration>);

#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// First send time of the first piece.
    pub first_at: Option<Instant>,
    /// Send time of the last piece, if it was sent once.
    pub last_at: Option<Instant>,
    /// Whether a piece was sent more than once.
    pub is_ambiguous: bool,
    /// Send time of the first piece with the echoed TSval, if it was sent with it once.
    pub echoed_at: Option<Instant>,
    /// Whether a piece was sent with the echoed TSval.
    pub has_echoed: bool,
    /// Bytes never retransmitted that lay below data reported earlier: they arrived late.
    pub late_bytes: u64,
}

impl Pieces {
    /// Adds a piece sent for the first time.
    pub fn push(&mut self, piece: Piece) {
        let start = piece.start;
        match self.pieces.back() {
            Some(last) if last.end > start => {
                let at = self.pieces.partition_point(|other| other.start < start);
                self.pieces.insert(at, piece);
            }
            _ => self.pieces.push_back(piece),
        }
        if self.pieces.len() > MOST
            && let Some(first) = self.pieces.pop_front()
        {
            self.sacked -= usize::from(first.is_sacked);
            self.floor = first.end;
            self.forgotten += 1;
        }
    }

    /// Records a retransmission of a range; returns whether any of it had been seen.
    pub fn send_again(&mut self, now: Instant, start: u64, end: u64, tsval: Option<u32>) -> bool {
        let at = self.pieces.partition_point(|piece| piece.end <= start);
        let mut was_seen = start < self.floor;
        for piece in self.pieces.iter_mut().skip(at).take_while(|piece| piece.start < end) {
            piece.transmissions = piece.transmissions.saturating_add(1);
            piece.has_same_tsval |= tsval.is_some() && tsval == piece.last_tsval && piece.last_at < now;
            piece.last_at = now;
            piece.last_tsval = tsval;
            was_seen = true;
        }
        was_seen
    }

    /// The piece after the gap that holds `start`.
    pub fn after(&self, start: u64) -> Option<&Piece> {
        self.pieces.get(self.pieces.partition_point(|piece| piece.end <= start))
    }

    /// The receiver has a stretch; whether that is new, and how much of it came late.
    pub fn sack(&mut self, arrival: Arrival, start: u64, end: u64) -> (bool, u64) {
        let at = self.pieces.partition_point(|piece| piece.start < start);
        let (mut is_new, mut late_bytes) = (false, 0);
        let to = self.sacked_to;
        for piece in self.pieces.iter_mut().skip(at).take_while(|piece| piece.end <= end) {
            if !piece.is_sacked {
                piece.is_sacked = true;
                note_latest(&mut self.latest, arrival, piece);
                self.sacked += 1;
                is_new = true;
                if piece.transmissions == 1 && piece.end < to {
                    late_bytes += piece.end - piece.start;
                }
                self.sacked_to = self.sacked_to.max(piece.end);
            }
        }
        (is_new, late_bytes)
    }

    /// Whether anything above the left edge was reported.
    pub fn has_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// Whether a segment sent after the latest transmission of the left edge has arrived.
    pub fn is_overtaken(&self) -> bool {
        let edge = self.pieces.front().filter(|edge| !edge.is_sacked);
        edge.is_some_and(|edge| self.latest.is_some_and(|latest| (edge.last_at, edge.end) < latest))
    }

    /// Removes the pieces below `ack`, which acknowledges from `from` on and echoes a TSval. Data not seen is added to
    /// `unseen`.
    pub fn acknowledge(
        &mut self,
        arrival: Arrival,
        (from, ack): (u64, u64),
        echo: Option<u32>,
        unseen: &mut Unseen,
    ) -> Acked {
        let mut acked = Acked::default();
        // Data no longer tracked is not known to be missing.
        let mut known_to = from.max(self.floor);
        while let Some(piece) = self.pieces.front_mut().filter(|piece| piece.start < ack || piece.end == ack)
        {
            if piece.start == piece.end {
                self.pieces.pop_front();
                continue;
            }
            unseen.add(known_to, piece.start);
            known_to = known_to.max(piece.end);
            if let Some(echo) = echo.filter(|_| !acked.has_echoed)
                && [piece.tsval, piece.last_tsval].contains(&Some(echo))
            {
                (acked.has_echoed, acked.echoed_at) = (true, piece.echoed_at(echo));
            }
            acked.first_at.get_or_insert(piece.first_at);
            acked.is_ambiguous |= piece.transmissions > 1;
            acked.last_at = (piece.transmissions == 1).then_some(piece.first_at);
            if piece.transmissions == 1 && !piece.is_sacked && piece.end.min(ack) < self.sacked_to {
                acked.late_bytes += piece.end.min(ack) - piece.start;
            }
            if !piece.is_sacked {
                note_latest(&mut self.latest, arrival, piece);
            }
            if piece.end > ack {
                piece.start = ack;
                break;
            }
            self.sacked -= usize::from(piece.is_sacked);
            self.pieces.pop_front();
        }
        unseen.add(known_to, ack);
        acked
    }

    pub fn bytes(&self) -> usize {
        size_of::<Piece>() * self.pieces.capacity()
    }
}

/// A piece has arrived. If it was sent more than once, and the last time less than a round trip ago, an earlier
/// transmission arrived: RFC 8985 (6.2) step 2, here with the rule for spurious retransmissions.
fn note_latest(latest: &mut Option<(Instant, u64)>, (now, shortest_rtt): Arrival, piece: &Piece) {
    if piece.transmissions == 1 || !is_too_soon(piece.last_at, now, shortest_rtt) {
        *latest = (*latest).max(Some((piece.last_at, piece.end)));
    }
}
