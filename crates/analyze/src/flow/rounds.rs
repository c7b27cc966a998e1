//! Round trips of a flow, and the limit on the sender while it was busy: the path, slow start, losses or the window.
//!
//! A round trip ends when the data in flight at its start is acknowledged. While the sender is busy it is limited by
//!
//! * *the link* if a queue stands: the minimum RTT of the round trip is [`QUEUED`] times the minimum of the connection.
//!   It is also limited by the link at [`FULL`] of the rate with a standing queue, so that neither the time to fill a
//!   queue nor a recovery without a gap counts for anything else;
//! * *the application* if the sender had no more data for a while, and some later;
//! * *slow start* if more than 1.4 times the acknowledged data is sent, or before the first cut in the first four
//!   round trips of a response;
//! * *losses* between two cuts, and after the last for the mean time between cuts. T-RAT calls this congestion-limited:
//!   losses determine the window;
//! * *the application* if most of the data does not follow ACKs and the window does not grow over eight round trips:
//!   the sender sets its own pace. Far from the sender a window that does not grow is *unknown*: a plateau and the
//!   sender's pace look alike there;
//! * *the congestion window* otherwise.
//!
//! A full receive window also counts as limited by the link if there is a standing queue as long as the empty path.

use serde::Serialize;

/// More are merged in pairs.
const MOST_ROUNDS: usize = 512;
pub(super) const QUEUED: f64 = 1.25;
/// Round trips with a queue show the link's rate from this share of the time on.
const LEAST_WITH_QUEUE: f64 = 0.05;
/// Round trips with so few samples may all contain a delayed ACK.
const FEWEST_SAMPLES: u32 = 4;
/// BBR probes with 1.25 times its rate.
const PROBED: f64 = 1.15;
const LONGER: f64 = 1.08;
/// A window that stands in a queue for as long as the empty path takes fills the link.
const DEEP: f64 = 2.0;
const FULL: f64 = 0.85;
/// Queues below this are jitter of machines, seconds.
const JITTER_S: f64 = 0.5e-3;

/// A round trip.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub busy_s: f64,
    pub window_s: f64,
    pub recovery_s: f64,
    /// End of the round trip, from the start of the flow.
    pub to_s: f64,
    /// Bytes acknowledged.
    pub acked: u64,
    /// Most bytes in flight.
    pub flight: u64,
    /// Bytes sent as an ACK came, and otherwise.
    pub prompt: u64,
    pub unprompted: u64,
    /// Shortest times to the receiver and back, and to the sender and back.
    pub forward_s: f32,
    pub back_s: f32,
    /// Sum of the times to the receiver.
    pub forward_sum_s: f32,
    pub samples: u32,
    pub is_slow_start: bool,
    /// The sender had no more data, and some later.
    pub is_drained: bool,
    /// More is in flight than some round trips before.
    pub grows: bool,
    /// Cuts before it.
    cuts: u32,
}

impl Default for Round {
    fn default() -> Self {
        Self {
            busy_s: 0.0,
            window_s: 0.0,
            recovery_s: 0.0,
            to_s: 0.0,
            acked: 0,
            flight: 0,
            prompt: 0,
            unprompted: 0,
            forward_s: f32::INFINITY,
            back_s: f32::INFINITY,
            forward_sum_s: 0.0,
            samples: 0,
            is_slow_start: false,
            is_drained: false,
            grows: false,
            cuts: 0,
        }
    }
}

/// Seconds whose cause needs no comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub turn_s: f64,
    pub pause_s: f64,
    /// Part of both that precedes the last data.
    pub wait_s: f64,
    pub timeout_s: f64,
    /// Data in flight drains at the rate of the link.
    pub drain_s: f64,
    pub unknown_s: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Rounds {
    rounds: Vec<Round>,
    /// Shortest times of all.
    base: Round,
    cuts: u32,
    first_cut_s: f64,
    last_cut_s: f64,
}

/// Shares of a flow's time by the limit on its sender; they sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// The sender had nothing to send: `between_turns` and `in_pauses`.
    pub application: f64,
    /// The receiver's window was full or closed.
    pub receive_window: f64,
    /// The congestion window was full, without slow start, losses or a queue.
    pub congestion_window: f64,
    pub slow_start: f64,
    /// Recoveries, and windows that losses keep small.
    pub loss: f64,
    /// Waiting for retransmission timers, outages included.
    pub timeouts: f64,
    /// A queue stood at the bottleneck, or its rate was used.
    pub link: f64,
    /// Cannot be determined from here.
    pub unknown: f64,
    /// Part of `application`: request and response, from the last data of a response to the next.
    #[serde(skip)]
    pub between_turns: f64,
    /// Times that the other end sent data and this one answered.
    #[serde(skip)]
    pub turns: u64,
    /// Part of `application`: pauses that ended with new data, as the sender had more to send later.
    #[serde(skip)]
    pub waits: f64,
}

/// A stretch of a flow's time, by the limit on its sender. The comments name the share that it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// `application`: the other end has asked, and no answer has come.
    Waiting,
    /// `application`: the other end has asked for nothing.
    Idle,
    /// `application`: in the midst of a response.
    Pause,
    ReceiveWindow,
    CongestionWindow,
    SlowStart,
    Loss,
    Timeouts,
    Link,
    #[default]
    Unknown,
}

/// Limits on the sender in a round trip: while it was busy, while its window was full, and in a recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kinds {
    pub busy: Part,
    pub window: Part,
    pub recovery: Part,
}

impl Rounds {
    /// Adds a round trip; whether all were merged in pairs.
    pub fn push(&mut self, round: Round) -> bool {
        let seconds = round.busy_s + round.window_s + round.recovery_s;
        if seconds <= 0.0 && round.acked == 0 {
            return false;
        }
        self.rounds.push(Round { cuts: self.cuts, ..round });
        let is_full = self.rounds.len() > MOST_ROUNDS;
        if is_full {
            self.merge();
        }
        is_full
    }

    /// The number of the round trip that is added next.
    pub fn number(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// The round trip of this number, if it has ended.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Round> {
        self.rounds.get_mut(number as usize)
    }

    /// The sender reduced its window.
    pub fn cut(&mut self, at_s: f64) {
        if self.cuts == 0 {
            self.first_cut_s = at_s;
        }
        self.cuts += 1;
        self.last_cut_s = at_s;
    }

    pub fn cuts(&self) -> u32 {
        self.cuts
    }

    fn merge(&mut self) {
        let merged = self.rounds.chunks(2).map(|pair| match *pair {
            [one, other] => one.merged(&other),
            _ => pair[0],
        });
        self.rounds = merged.collect();
    }

    /// Times to the receiver and back, and to the sender and back: the shortest are the empty path's.
    pub fn add_base(&mut self, forward_s: f32, back_s: f32) {
        self.base.forward_s = self.base.forward_s.min(forward_s);
        self.base.back_s = self.base.back_s.min(back_s);
    }

    /// The rate with a standing queue: exceeded for half of the time with a queue. A path that carries more without a
    /// queue has no standing queue at that rate.
    fn rate_with_queue(&self, is_queue: impl Fn(usize, &Round) -> bool, least: f64) -> Option<f64> {
        let rates = |round: &Round| Some((round.rate()?, round.active_s()));
        let mut all: Vec<_> = self.rounds.iter().filter_map(rates).collect();
        let mut queued: Vec<_> = (0..)
            .zip(&self.rounds)
            .filter(|(at, round)| !round.is_recovery() && is_queue(*at, round))
            .filter_map(|(_, round)| rates(round))
            .collect();
        let seconds = |known: &[(f64, f64)]| known.iter().map(|(_, seconds)| seconds).sum::<f64>();
        let is_enough = queued.len() > 1 && seconds(&queued) >= least * seconds(&all);
        let with_queue = median(&mut queued).filter(|_| is_enough)?;
        Some(median(&mut all)?.max(with_queue))
    }

    /// A sender that probes for more, as BBR does: round trips that began with more than usual in flight took longer.
    /// Where other traffic lengthens them, the flight of a paced sender grows too, but after the RTT, and not before.
    fn rate_when_probed(&self) -> Option<f64> {
        let known = || self.rounds.iter().filter(|round| !round.is_recovery());
        let mut flights: Vec<_> = known().map(|round| (round.acked as f64, round.active_s())).collect();
        let means = known().filter_map(|round| Some((round.mean_s()?, round.active_s())));
        let mut means: Vec<_> = means.collect();
        let (flight, mean_s) = median(&mut flights).zip(median(&mut means))?;
        let takes_longer = |at: Option<usize>| {
            at.and_then(|at| self.rounds.get(at)?.mean_s()).is_some_and(|own| own >= LONGER * mean_s)
        };
        let is_probe = |at: usize, round: &Round| {
            round.acked as f64 >= PROBED * flight
                && (takes_longer(Some(at)) || takes_longer(Some(at + 1)))
                && (round.prompt >= round.unprompted || !takes_longer(at.checked_sub(1)))
        };
        self.rate_with_queue(is_probe, 0.0)
    }

    /// Limits on the sender in each round trip. Far from the sender its response takes `answer_s` on an empty path.
    pub fn kinds(&self, answer_s: Option<f64>) -> Vec<Kinds> {
        let is_far = answer_s.is_some();
        let back_s = answer_s.map_or(0.0, |answer_s| answer_s.min(f64::from(self.base.back_s)));
        let base_s = f64::from(self.base.forward_s) + back_s;
        let rate =
            self.rate_with_queue(|_, round| is_queued(round.rtt_s(is_far), base_s, QUEUED), LEAST_WITH_QUEUE);
        let probed = if is_far { None } else { self.rate_when_probed() };
        let between_cuts_s = match self.cuts {
            0 | 1 => 0.0,
            cuts => (self.last_cut_s - self.first_cut_s) / f64::from(cuts - 1),
        };
        let mut rtt_s = None;
        let mut kind = |round: &Round| {
            if !round.is_recovery() {
                rtt_s = round.rtt_s(is_far).or(rtt_s);
            }
            let reaches =
                |least: Option<f64>| least.zip(round.rate()).is_some_and(|(least, own)| own >= FULL * least);
            let has_rate = reaches(rate) || !round.grows && reaches(probed);
            let is_link = is_queued(rtt_s, base_s, QUEUED) || has_rate;
            let is_bound =
                round.cuts > 0 && (round.cuts < self.cuts || round.to_s <= self.last_cut_s + between_cuts_s);
            let keeps_pace = !round.grows && (is_far || round.unprompted > round.prompt);
            let busy = if is_link {
                Part::Link
            } else if round.is_drained {
                Part::Pause
            } else if round.is_slow_start {
                Part::SlowStart
            } else if is_bound {
                Part::Loss
            } else if keeps_pace && is_far {
                Part::Unknown
            } else if keeps_pace {
                Part::Pause
            } else {
                Part::CongestionWindow
            };
            let is_deep = is_link && is_queued(rtt_s, base_s, DEEP);
            Kinds {
                busy,
                window: if is_deep { Part::Link } else { Part::ReceiveWindow },
                recovery: if is_link { Part::Link } else { Part::Loss },
            }
        };
        self.rounds.iter().map(&mut kind).collect()
    }

    /// Divides the time; `None` if there is none.
    pub fn shares(&self, kinds: &[Kinds], totals: &Totals, turns: u64) -> Option<Shares> {
        let mut found = Shares {
            application: totals.turn_s + totals.pause_s,
            timeouts: totals.timeout_s,
            link: totals.drain_s,
            unknown: totals.unknown_s,
            between_turns: totals.turn_s,
            waits: totals.wait_s,
            turns,
            ..Shares::default()
        };
        for (round, of) in self.rounds.iter().zip(kinds) {
            *found.part_mut(of.busy) += round.busy_s;
            *found.part_mut(of.window) += round.window_s;
            *found.part_mut(of.recovery) += round.recovery_s;
        }
        found.divided()
    }

    pub fn bytes(&self) -> usize {
        size_of::<Round>() * self.rounds.capacity()
    }
}

impl Round {
    fn active_s(&self) -> f64 {
        self.busy_s + self.window_s + self.recovery_s
    }

    /// Round trips of a recovery contain the wait for lost segments.
    fn is_recovery(&self) -> bool {
        self.recovery_s > 0.0
    }

    /// Bytes acknowledged in a second of it.
    fn rate(&self) -> Option<f64> {
        let seconds = self.active_s();
        (seconds > 0.0 && self.acked > 0).then(|| self.acked as f64 / seconds)
    }

    /// The minimum RTT in it. At the sender, its response time is excluded.
    fn rtt_s(&self, is_far: bool) -> Option<f64> {
        let back_s = if is_far { self.back_s } else { 0.0 };
        let rtt_s = f64::from(self.forward_s + back_s);
        (rtt_s.is_finite() && self.samples >= FEWEST_SAMPLES).then_some(rtt_s)
    }

    fn mean_s(&self) -> Option<f64> {
        (self.samples >= FEWEST_SAMPLES).then(|| f64::from(self.forward_sum_s) / f64::from(self.samples))
    }

    fn merged(&self, other: &Self) -> Self {
        let longer = if self.active_s() >= other.active_s() { self } else { other };
        Self {
            busy_s: self.busy_s + other.busy_s,
            window_s: self.window_s + other.window_s,
            recovery_s: self.recovery_s + other.recovery_s,
            to_s: other.to_s,
            acked: self.acked + other.acked,
            flight: self.flight.max(other.flight),
            prompt: self.prompt + other.prompt,
            unprompted: self.unprompted + other.unprompted,
            forward_sum_s: self.forward_sum_s + other.forward_sum_s,
            samples: self.samples + other.samples,
            ..*longer
        }
    }
}

impl Shares {
    fn part_mut(&mut self, part: Part) -> &mut f64 {
        match part {
            Part::Waiting | Part::Idle | Part::Pause => &mut self.application,
            Part::ReceiveWindow => &mut self.receive_window,
            Part::CongestionWindow => &mut self.congestion_window,
            Part::SlowStart => &mut self.slow_start,
            Part::Loss => &mut self.loss,
            Part::Timeouts => &mut self.timeouts,
            Part::Link => &mut self.link,
            Part::Unknown => &mut self.unknown,
        }
    }

    fn divided(mut self) -> Option<Self> {
        let seconds: f64 = self.parts().iter().map(|(_, part)| part).sum();
        if seconds <= 0.0 {
            return None;
        }
        for part in [
            &mut self.application,
            &mut self.receive_window,
            &mut self.congestion_window,
            &mut self.slow_start,
            &mut self.loss,
            &mut self.timeouts,
            &mut self.link,
            &mut self.unknown,
            &mut self.between_turns,
            &mut self.waits,
        ] {
            *part /= seconds;
        }
        Some(self)
    }

    /// The parts with their names in a verdict.
    pub fn parts(&self) -> [(&'static str, f64); 8] {
        [
            ("the application", self.application),
            ("receive window", self.receive_window),
            ("the congestion window", self.congestion_window),
            ("slow start", self.slow_start),
            ("loss episodes", self.loss),
            ("timeouts", self.timeouts),
            ("the link", self.link),
            ("unknown", self.unknown),
        ]
    }
}

/// The value that half of the weight does not exceed.
fn median(values: &mut [(f64, f64)]) -> Option<f64> {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    values.iter().find_map(|(value, weight)| {
        below += weight;
        (below >= half).then_some(*value)
    })
}

fn is_queued(rtt_s: Option<f64>, base_s: f64, times: f64) -> bool {
    rtt_s.is_some_and(|rtt_s| rtt_s >= times * base_s && rtt_s >= base_s + JITTER_S)
}
