//! How opportunities lie in a bin, and in an episode of outages.

use super::model::{Level, Prepared};
use crate::rng::Stream;

/// Opportunities of one millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    /// Milliseconds from the beginning of the bin or episode.
    pub at_ms: u32,
    pub count: u32,
}

/// Ranks of draws, some of them in pairs.
struct Ranks {
    pairing: f64,
    /// Rank of the second of a pair.
    second: Option<f64>,
}

impl Ranks {
    const fn new(pairing: f64) -> Self {
        Self { pairing, second: None }
    }

    fn next(&mut self, stream: &mut Stream) -> f64 {
        if let Some(rank) = self.second.take() {
            return rank;
        }
        let rank = stream.uniform();
        if self.pairing != 0.0 && stream.uniform() < self.pairing.abs() {
            self.second = Some(if self.pairing < 0.0 { 1.0 - rank } else { rank });
        }
        rank
    }
}

/// Rounds up or down, so that the mean is `value`.
pub(super) fn rounded(value: f64, stream: &mut Stream) -> u32 {
    (value + stream.uniform()) as u32
}

/// Puts `count` opportunities into `length_ms` from `from_ms` on, with the texture of bins of this rank, 0 to 1.
///
/// Bursts are drawn until they make up the count, and as many silences. Together these take the whole length: what a
/// silence has beyond one millisecond is stretched or compressed, and the circle that they form begins anywhere in the
/// first silence.
pub(super) fn lay(
    bursts: &mut Vec<Burst>,
    (from_ms, length_ms): (u32, u32),
    count: u32,
    rank: f64,
    model: &Prepared,
    stream: &mut Stream,
) {
    if count == 0 {
        return;
    }
    let Some(Level { packets, silences_ms, pairing }) = level(model, rank) else {
        return lay_evenly(bursts, (from_ms, length_ms), count, stream);
    };
    let first = bursts.len();
    let mut left = count;
    let mut ranks = Ranks::new(*pairing);
    while left > 0 && bursts.len() - first < length_ms as usize {
        let burst = rounded(packets.at(ranks.next(stream)), stream).clamp(1, left);
        left -= burst;
        bursts.push(Burst { at_ms: 0, count: burst });
    }
    let own = &mut bursts[first..];
    // All milliseconds are taken: each gets a part of the rest.
    let number = own.len() as u32;
    for (index, burst) in (0..).zip(own.iter_mut()) {
        burst.count += left / number + u32::from(index < left % number);
    }
    let mut drawn = stream.clone();
    let mut trial = Ranks::new(*pairing);
    let mut extra = || silences_ms.at(trial.next(stream)) - 1.0;
    let sum: f64 = own.iter().map(|_| extra()).sum();
    let slack = f64::from(length_ms - number);
    let stretch = if sum > 0.0 { slack / sum } else { 0.0 };
    let phase = stream.uniform();
    // One silence takes it all where none is longer than a millisecond.
    let mut at = if sum > 0.0 { 0.0 } else { phase * slack };
    let mut again = Ranks::new(*pairing);
    for (index, burst) in own.iter_mut().enumerate() {
        let silence = 1.0 + (silences_ms.at(again.next(&mut drawn)) - 1.0) * stretch;
        at += if index == 0 { phase * silence } else { silence };
        burst.at_ms = from_ms + (at as u32).min(length_ms - 1);
    }
}

fn level(model: &Prepared, rank: f64) -> Option<&Level> {
    let levels = model.texture.len();
    model.texture.get(((rank * levels as f64) as usize).min(levels.max(1) - 1))
}

fn lay_evenly(bursts: &mut Vec<Burst>, (from_ms, length_ms): (u32, u32), count: u32, stream: &mut Stream) {
    let phase = stream.uniform();
    let mut last: Option<Burst> = None;
    for index in 0..count {
        let at_ms = from_ms + ((f64::from(index) + phase) / f64::from(count) * f64::from(length_ms)) as u32;
        match &mut last {
            Some(burst) if burst.at_ms == at_ms => burst.count += 1,
            _ => bursts.extend(last.replace(Burst { at_ms, count: 1 })),
        }
    }
    bursts.extend(last);
}

/// Lays an episode out, its lengths multiplied by `stretch`: silences, and pieces with opportunities in clumps from
/// their first millisecond to their last. Returns its length.
pub(super) fn lay_episode(
    bursts: &mut Vec<Burst>,
    episode: &[[u32; 2]],
    stretch: f64,
    model: &Prepared,
    stream: &mut Stream,
) -> u32 {
    let mut end = 0.0_f64;
    for [ms, packets] in episode {
        let from_ms = end as u32;
        end += f64::from(*ms) * stretch;
        let length_ms = (end as u32 - from_ms).max(1);
        let count = rounded(f64::from(*packets) * model.scale, stream);
        // The trickle within an episode is that of the worst bins.
        lay(bursts, (from_ms, length_ms), count, 0.0, model, stream);
    }
    (end as u32).max(1)
}
