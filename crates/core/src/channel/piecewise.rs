//! What channels have in common whose rate is constant for a while and then another: how long a packet takes.

use super::{Channel, Service, as_same};
use crate::element::Adopt;
use crate::rng::{self, Stream, Threshold};
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Probability};
use std::sync::Arc;

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

/// Consecutive pieces.
pub(super) trait Pieces {
    /// The piece in which an instant lies. Instants never decrease.
    fn piece_at(&mut self, at: Instant) -> Piece;
}

const NANOBITS_PER_BYTE: u64 = 8_000_000_000;

/// When the last bit of a packet is sent whose first is sent at `start`, and the piece in which it is; `NEVER` if
/// the last piece is an outage.
pub(super) fn transmit(pieces: &mut impl Pieces, start: Instant, len: u32) -> (Instant, Piece) {
    // A rate in bit/s times nanoseconds is nanobits.
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

/// A piece of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    /// When it begins, from the beginning of the schedule.
    pub from: Duration,
    pub rate: Bitrate,
    pub delay: Duration,
    pub loss: Probability,
}

/// Pieces known beforehand: played once, with the last one unlimited, or repeated after each period.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// The first begins at zero, each of the others behind the one before it.
    pub pieces: Arc<[Known]>,
    pub period: Option<Duration>,
    /// How far into the schedule the run begins.
    pub phase: Duration,
}

impl Schedule {
    /// The mean rate of a period, or of the time until the last piece begins.
    pub fn mean_rate(&self) -> Bitrate {
        let last = self.pieces.last().map_or(Duration::ZERO, |piece| piece.from);
        let whole = self.period.unwrap_or(last);
        if whole.is_zero() {
            return self.pieces.first().map_or_else(Bitrate::default, |piece| piece.rate);
        }
        let ends = self.pieces.iter().skip(1).map(|piece| piece.from).chain([whole]);
        let nanobits = self.pieces.iter().zip(ends).map(|(piece, end)| {
            u128::from(piece.rate.as_bps()) * u128::from(end.saturating_sub(piece.from).as_nanos())
        });
        Bitrate::from_bps((nanobits.sum::<u128>() / u128::from(whole.as_nanos())) as u64)
    }

    /// When a link dies whose last piece is an outage.
    pub fn ends(&self) -> Option<Instant> {
        let last = self.pieces.last().filter(|piece| self.period.is_none() && piece.rate.as_bps() == 0)?;
        Some(Instant::ZERO + last.from.saturating_sub(self.phase))
    }

    pub fn build(self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        Box::new(ByTime { schedule: self, stream: rng::stream(run_seed, &format!("{name}.loss")) })
    }
}

impl Pieces for Schedule {
    fn piece_at(&mut self, at: Instant) -> Piece {
        let into = at.as_nanos() + self.phase.as_nanos();
        let begun = self.period.map_or(0, |period| into / period.as_nanos() * period.as_nanos());
        let inner = Duration::from_nanos(into - begun);
        let index = self.pieces.partition_point(|piece| piece.from <= inner);
        let piece = self.pieces[index - 1];
        let end = self.pieces.get(index).map(|next| next.from).or(self.period);
        let until = end.map(|end| Instant::from_nanos(begun + end.as_nanos() - self.phase.as_nanos()));
        Piece {
            rate: piece.rate,
            delay: piece.delay,
            loss: piece.loss.into(),
            until: until.unwrap_or(Instant::NEVER),
        }
    }
}

/// A channel of known pieces.
struct ByTime {
    schedule: Schedule,
    stream: Stream,
}

impl Channel for ByTime {
    fn serve(&mut self, start: Instant, len: u32) -> Service {
        let (end, piece) = transmit(&mut self.schedule, start, len);
        Service { end, delay: piece.delay, lost: self.stream.chance(piece.loss) }
    }

    fn adopt(&mut self, _now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh).filter(|_| how == Adopt::Streams) else { return false };
        rng::renew([&mut self.stream], [fresh.stream])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(pieces: &[(u64, u64)], period_ms: Option<u64>, phase_ms: u64) -> Schedule {
        let known = |(from_ms, kbps): &(u64, u64)| Known {
            from: Duration::from_millis(*from_ms),
            rate: Bitrate::from_bps(1000 * kbps),
            delay: Duration::ZERO,
            loss: Probability::ZERO,
        };
        let period = period_ms.map(Duration::from_millis);
        Schedule {
            pieces: pieces.iter().map(known).collect(),
            period,
            phase: Duration::from_millis(phase_ms),
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_mean_rate_weighs_pieces_by_their_length() {
        let pieces = [(0, 100), (300, 500)];
        // 300 ms of 100 and 100 ms of 500; without a period the last piece has no length.
        assert_eq!(schedule(&pieces, Some(400), 0).mean_rate(), Bitrate::from_bps(200_000));
        assert_eq!(schedule(&pieces, None, 0).mean_rate(), Bitrate::from_bps(100_000));
        assert_eq!(schedule(&pieces[..1], None, 0).mean_rate(), Bitrate::from_bps(100_000));
        assert_eq!(schedule(&pieces[..1], Some(50), 0).mean_rate(), Bitrate::from_bps(100_000));
    }

    #[test]
    fn a_piece_lasts_from_its_beginning_to_the_next_ones() {
        let mut repeating = schedule(&[(0, 1), (300, 2)], Some(400), 350);
        let pieces = [0, 49, 50, 349, 350, 449, 450].map(|millis| {
            let piece = repeating.piece_at(at(millis));
            (piece.rate.as_bps() / 1000, piece.until)
        });
        let (one, two) = (at(350), at(450));
        assert_eq!(pieces, [(2, at(50)), (2, at(50)), (1, one), (1, one), (2, two), (2, two), (1, at(750))]);
        assert_eq!(schedule(&[(0, 1)], None, 0).piece_at(at(7)).until, Instant::NEVER);
    }

    #[test]
    fn only_a_last_outage_ends_a_link() {
        assert_eq!(schedule(&[(0, 1), (300, 0)], None, 0).ends(), Some(at(300)));
        assert_eq!(schedule(&[(0, 1), (300, 0)], Some(400), 0).ends(), None);
        assert_eq!(schedule(&[(0, 0), (300, 1)], None, 0).ends(), None);
    }
}
