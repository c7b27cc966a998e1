//! What channels have in common whose rate is constant for a while and then another: how long a packet takes.

use crate::rng::Threshold;
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Probability};

/// A while in which nothing changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Zero for an outage.
    pub rate: Bitrate,
    pub delay: Duration,
    pub loss: Threshold,
    /// The first instant that is no longer in it; `NEVER` for the last piece.
    pub until: Instant,
}

impl Default for Piece {
    fn default() -> Self {
        Self {
            rate: Bitrate::default(),
            delay: Duration::ZERO,
            loss: Threshold::from(Probability::ZERO),
            until: Instant::NEVER,
        }
    }
}

/// Pieces one behind the other.
pub(super) trait Pieces {
    /// The piece in which an instant lies. Instants never decrease.
    fn piece_at(&mut self, at: Instant) -> Piece;
}

const NANOBITS_PER_BYTE: u64 = 8_000_000_000;

/// When the last bit of a packet is sent whose first is sent at `start`, and the piece in which it is; `NEVER` if
/// the last piece is an outage.
pub(super) fn transmit(pieces: &mut impl Pieces, start: Instant, len: u32) -> (Instant, Piece) {
    // A rate in bit/s for so many nanoseconds is so many nanobits.
    let mut left = u64::from(len).saturating_mul(NANOBITS_PER_BYTE);
    let mut at = start;
    loop {
        let piece = pieces.piece_at(at);
        let rate = piece.rate.as_bps();
        let room = rate.saturating_mul(piece.until.since(at).as_nanos());
        if room >= left && rate > 0 {
            return (at + Duration::from_nanos(left.div_ceil(rate)), piece);
        }
        if piece.until == Instant::NEVER {
            return (Instant::NEVER, piece);
        }
        left -= room;
        at = piece.until;
    }
}
