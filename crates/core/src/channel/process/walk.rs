//! A direction in time: bin after bin, with episodes of outages between them.

use super::layout::{self, Burst};
use super::model::{LENGTH_SD, Prepared};
use super::rank::{BIN_MS, Common, Scores, Step, share_below};
use crate::channel::trace_file::Spacing;
use crate::rng::Stream;
use crate::time::Instant;
use std::sync::Arc;

const NANOS_PER_MS: u64 = 1_000_000;

/// All opportunities of a direction, one after the other.
#[derive(Clone)]
pub(super) struct Walk {
    model: Arc<Prepared>,
    spacing: Spacing,
    common: Common,
    scores: Scores,
    stream: Stream,
    /// Beginning and end of the present bin or episode.
    start_ms: u64,
    end_ms: u64,
    /// Whether it is an episode: then a bin follows.
    in_episode: bool,
    bursts: Vec<Burst>,
    /// The burst that comes next, and how many of its opportunities have passed.
    next: usize,
    place: u32,
    /// Opportunities that have passed, taken or not.
    passed: u64,
}

impl Walk {
    pub fn new(model: Arc<Prepared>, shared: Stream, mut stream: Stream, spacing: Spacing) -> Self {
        let mut common = Common::new(shared);
        let scores = Scores::new(&mut stream, &mut common, &model.weights);
        let mut walk = Self {
            model,
            spacing,
            common,
            scores,
            stream,
            start_ms: 0,
            end_ms: 0,
            in_episode: false,
            bursts: Vec::new(),
            next: 0,
            place: 0,
            passed: 0,
        };
        walk.begin();
        walk
    }

    /// Opportunities that have passed.
    pub const fn passed(&self) -> u64 {
        self.passed
    }

    /// The same after this many opportunities.
    pub fn counted_from(self, passed: u64) -> Self {
        Self { passed, ..self }
    }

    /// Lets all opportunities before `from` pass.
    pub fn skip_to(&mut self, from: Instant) {
        while self.peek() < from {
            self.pass();
        }
    }

    /// Takes the next opportunity, and returns its time.
    pub fn take(&mut self) -> Instant {
        let at = self.peek();
        self.pass();
        at
    }

    fn peek(&mut self) -> Instant {
        loop {
            if let Some(burst) = self.bursts.get(self.next) {
                let into = match self.spacing {
                    Spacing::Even => u64::from(self.place) * NANOS_PER_MS / u64::from(burst.count),
                    Spacing::AtOnce => 0,
                };
                return Instant::from_nanos((self.start_ms + u64::from(burst.at_ms)) * NANOS_PER_MS + into);
            }
            self.advance();
        }
    }

    fn pass(&mut self) {
        self.passed += 1;
        self.place += 1;
        if self.bursts.get(self.next).is_none_or(|burst| self.place >= burst.count) {
            (self.next, self.place) = (self.next + 1, 0);
        }
    }

    /// A run begins within an episode with the share of time that episodes have, and then anywhere in one.
    fn begin(&mut self) {
        let step = self.common.seek(Scores::steps_before(), &self.model.weights);
        let (step, begins) = self.of_direction(step);
        if begins >= self.model.outage {
            return;
        }
        let model = self.model.clone();
        let all_ms = model.ends_ms.last().copied().unwrap_or_default();
        let place_ms = (step.which * all_ms as f64) as u64;
        let which = model.ends_ms.partition_point(|end_ms| *end_ms <= place_ms);
        let Some(episode) = model.episodes.get(which) else { return };
        let length_ms = layout::lay_episode(&mut self.bursts, episode, 1.0, &model, &mut self.stream);
        let into_ms = length_ms - (model.ends_ms[which] - place_ms).min(u64::from(length_ms)) as u32;
        self.bursts.retain_mut(|burst| {
            let is_left = burst.at_ms >= into_ms;
            burst.at_ms = burst.at_ms.saturating_sub(into_ms);
            is_left
        });
        self.end_ms = u64::from(length_ms - into_ms);
        self.in_episode = true;
    }

    /// The next bin or episode.
    fn advance(&mut self) {
        self.start_ms = self.end_ms;
        (self.next, self.place) = (0, 0);
        self.bursts.clear();
        let model = self.model.clone();
        let step = self.common.seek(Scores::steps_before() + 1 + self.start_ms / BIN_MS, &model.weights);
        let (step, begins) = self.of_direction(step);
        if !self.in_episode && begins < model.hazards[self.scores.class(&model.weights)] {
            let which = (step.which * model.episodes.len() as f64) as usize;
            if let Some(episode) = model.episodes.get(which) {
                let stretch = libm::exp(LENGTH_SD * step.length);
                let length_ms =
                    layout::lay_episode(&mut self.bursts, episode, stretch, &model, &mut self.stream);
                self.end_ms = self.start_ms + u64::from(length_ms);
                self.in_episode = true;
                return;
            }
        }
        self.in_episode = false;
        let rank = share_below(self.scores.next(&mut self.stream, &self.common, &model.weights));
        let count = layout::rounded(model.counts.at(rank), &mut self.stream);
        layout::lay(&mut self.bursts, (0, BIN_MS as u32), count, rank, &model, &mut self.stream);
        self.end_ms = self.start_ms + BIN_MS;
    }

    /// The draws about an episode, either those of both directions or this direction's own.
    fn of_direction(&mut self, common: Step) -> (Step, f64) {
        let own = Step {
            is_common: 0.0,
            begins: self.stream.uniform(),
            which: self.stream.uniform(),
            length: common.length,
        };
        let step = if common.is_common < self.model.shared_episodes { common } else { own };
        (step, step.begins)
    }
}
