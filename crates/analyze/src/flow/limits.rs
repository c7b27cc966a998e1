//! Limits of a sender over time: every moment of a flow is assigned to one cause.
//!
//! The time starts with the first data of either end and ends with the last ACK for data of this flow, the last probe of
//! a closed window or the last retransmission. The time between two new segments, a *gap*, is assigned to
//!
//! * *application, turn*: all data was acknowledged and the other end sent data meanwhile: request and response;
//! * *application, pause*: a segment was not full, so the sender had no more data; or all data was acknowledged for a
//!   while, and the sender did not use the room that an ACK or a window update made within [`Limits::patience`]. Linux
//!   calls such a sender application-limited (`tcp_rate_check_app_limited`): its send queue is empty although the window
//!   is open. The time that the data in flight takes to drain beyond the RTT of an empty path is assigned to the link;
//! * *receive window*: less than a segment of the window was left, or it was closed. Linux counts the same time as
//!   `tcpi_rwnd_limited` (RFC 4898: `tcpEStatsPerfSndLimTimeRwin`);
//! * *timeout*: from the last progress to the retransmission by timer, and from there to the next progress;
//! * *loss*: from the first retransmission until everything sent before it is acknowledged;
//! * *busy* otherwise: limited by the congestion window or the path, which [`Rounds`] decides per round trip.
//!
//! Far from the sender, an ACK counts when it can have reached the sender: after the shortest recent time from an ACK to
//! the data that echoes it, or as soon as an echo shows it. There, a silence longer than a timeout is a pause of the
//! application or an outage that lost everything before the capture; without timestamps any silence may come from the
//! path. A segment with PSH was the last that the sender had: the silence is a pause. Without PSH the sender had more
//! data: the silence is a timeout. If the flow never sets PSH, the cause is unknown.
//!
//! Sources: Zhang, Breslau, Paxson, Shenker, "On the characteristics and origins of Internet flow rates", SIGCOMM 2002
//! (T-RAT); Siekkinen, Urvoy-Keller, Biersack, Collange, "A root cause analysis toolkit for TCP", Computer Networks
//! 2008; RFC 4898 and Linux `tcp_chrono_*` for the sender's own counters.

mod gaps;
mod round_trips;
mod timeline;
mod times;

use std::collections::VecDeque;

use airpath_core::time::{Duration, Instant};

use super::causes::{Cause, SMALLEST_TIMEOUT};
use super::rounds::{Part, QUEUED, Round, Rounds, Shares, Totals};
use timeline::{Spent, Timeline};
use times::{Drain, Gap};

/// Shortest patience: a sender with data uses room in the window within this time.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(1);
/// Largest number of ACKs in transit to a distant sender; further ACKs count at once.
const MOST_HEARD: usize = 4096;
/// Number of latest times from an ACK to its echo whose minimum counts.
const RECENT: usize = 8;
/// Number of round trips over which the growth of the window is judged.
const TREND: usize = 8;
/// Octets that TCP's options may take from a full segment.
const LONGEST_OPTIONS: u64 = 40;
/// Octets that timestamps take, with padding (RFC 7323 (3.2), appendix A).
const TIMESTAMPS: u64 = 12;
/// Time that a host takes to answer: a sender that waits for an ACK sends within it.
const PROMPTLY_S: f64 = 1e-4;

/// An ACK that passed the capture point.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    pub ack: u64,
    /// Announced window, bytes; `None` if not known.
    pub window: Option<u64>,
    pub tsval: Option<u32>,
    /// Whether it carries new data of the other end.
    pub has_data: bool,
}

/// A segment with new data.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub end: u64,
    pub bytes: u64,
    /// Payload of a full segment.
    pub full_segment: u64,
    /// MSS that the receiver offered; `None` if its SYN was not seen.
    pub offered: Option<u64>,
    /// TSecr.
    pub echo: Option<u32>,
    pub is_pushed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    Recovery {
        end: u64,
    },
    Loss {
        end: u64,
        has_progress: bool,
    },
}

/// Why the sender sent nothing for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Turn,
    Pause,
    /// A pause, or an outage between the sender and the capture point.
    Silence,
    /// A queue stood between the sender and the capture point, and nothing arrived.
    Outage,
    /// The window was reduced, and more than the window is in flight.
    Settling,
    Busy,
    /// No data followed.
    End,
}

/// Time of a flow by the limit on its sender.
#[derive(Clone, Debug)]
pub struct Spending {
    pub shares: Shares,
    /// Start of the time that the shares divide.
    pub from: Instant,
    /// Stretches since then in order, by the limit on the sender, seconds; their sums are the shares.
    pub parts: Vec<(Part, f64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// ACKs in transit to the sender.
    heard: VecDeque<(Instant, Heard)>,
    echoes: [Duration; RECENT],
    echoes_seen: usize,
    has_echoes: bool,
    answer: Duration,
    at: Option<Instant>,
    origin: Instant,
    una: Option<u64>,
    max: u64,
    edge: Option<u64>,
    window: u64,
    full_segment: u64,
    shortest: Option<Duration>,
    has_sent: bool,
    has_pushed: bool,
    is_pushed: bool,
    /// The latest segment shows that the sender had no more data.
    is_drained: bool,
    /// A segment was not the last that the sender had.
    has_more: bool,
    /// Segments of several full ones, and those whose last one is not full although more data followed.
    multiples: [u32; 2],
    is_first_flight: bool,
    /// The gap before the latest progress, and since.
    before: Gap,
    since: Gap,
    /// The gap up to the latest sign that the flow continues.
    kept: Gap,
    last_sent: Instant,
    room_at: Option<Instant>,
    last_room_at: Instant,
    last_ack_at: Option<Instant>,
    drain: Drain,
    is_blocked: bool,
    is_turn: bool,
    /// When data of the other end first passed the capture point since the latest new data.
    asked_at: Option<Instant>,
    is_prompt: bool,
    has_probed: bool,
    phase: Phase,
    recovery_since_s: f64,
    settled: u64,
    round: Round,
    round_end: u64,
    round_from: (u64, u64),
    /// The round trip began with nothing in flight, and nothing was acknowledged since.
    began_idle: bool,
    trend: [u64; TREND],
    trend_seen: usize,
    /// Round trips since the other end asked.
    rounds_of_turn: usize,
    totals: Totals,
    rounds: Rounds,
    turns: u64,
    timeline: Timeline,
}

impl Limits {
    /// Handles an ACK that passes; `answer` is the shortest time until the data that it releases can arrive here.
    pub fn on_ack(&mut self, now: Instant, heard: Heard, answer: Duration) {
        self.answer = answer;
        self.pass(now, None);
        if heard.has_data {
            self.start(now);
            self.asked_at.get_or_insert(now);
        }
        if answer.is_zero() {
            return self.apply(now, &heard);
        }
        let delay = answer.max(Duration::from_nanos((self.recent_answer() * 1e9) as u64));
        // ACKs do not overtake each other.
        let at = self.heard.back().map_or(now + delay, |(before, _)| (*before).max(now + delay));
        self.heard.push_back((at, heard));
        if self.heard.len() > MOST_HEARD
            && let Some((_, first)) = self.heard.pop_front()
        {
            self.apply(now, &first);
        }
    }

    /// Records the time from an ACK to the data that echoes it: far from the sender, the RTT to the sender.
    pub fn on_back(&mut self, now: Instant, back: Duration) {
        self.has_echoes = true;
        self.rounds.add_base(f32::INFINITY, back.as_secs_f64() as f32);
        // The sender may have been idle since the previous data, and the RTT is shorter by that time.
        let silent = now.since(self.last_sent);
        if 2 * silent.as_nanos() < back.as_nanos() {
            self.echoes[self.echoes_seen % RECENT] = back;
            self.echoes_seen += 1;
            let least_s = back.as_secs_f64() - silent.as_secs_f64();
            self.round.back_s = self.round.back_s.min(least_s as f32);
        }
    }

    /// Records an RTT between here and the receiver; `shortest` is the minimum so far.
    pub fn on_forward(&mut self, forward: Duration, shortest: Option<Duration>) {
        let seconds = forward.as_secs_f64() as f32;
        self.rounds.add_base(seconds, f32::INFINITY);
        self.round.forward_s = self.round.forward_s.min(seconds);
        self.round.forward_sum_s += seconds;
        self.round.samples += 1;
        self.shortest = shortest;
    }

    /// Handles a segment with data that was not sent before.
    pub fn on_new_data(&mut self, now: Instant, sent: &Sent) {
        self.full_segment = sent.full_segment;
        self.pass(now, sent.echo);
        self.start(now);
        if !self.has_sent {
            self.una.get_or_insert(sent.end - sent.bytes);
            self.begin_round();
        }
        if self.phase == Phase::Open {
            let reason = self.reason(now);
            if self.flight() == 0 && self.has_sent && reason != Reason::Busy {
                self.end_round(now);
                self.trend_seen = 0;
                if reason == Reason::Turn {
                    self.rounds_of_turn = 0;
                }
            }
            self.close_gap(now, reason, sent.bytes);
            self.is_first_flight = self.is_first_flight || !matches!(reason, Reason::Busy | Reason::Settling);
        }
        self.round.is_drained |= self.is_drained && now.since(self.last_sent) > SHORTEST_PATIENCE;
        self.has_sent = true;
        self.max = self.max.max(sent.end);
        self.round.flight = self.round.flight.max(self.flight());
        self.is_pushed = sent.is_pushed;
        self.has_pushed |= sent.is_pushed;
        self.is_drained = self.ends_short(sent) && (sent.is_pushed || !self.has_pushed);
        self.open_gap(now);
    }

    /// Whether the last part of a segment is not full. A capture on a host that leaves the division into segments to its
    /// network card has several in one.
    fn ends_short(&mut self, sent: &Sent) -> bool {
        self.has_more |= !sent.is_pushed;
        if sent.bytes <= sent.full_segment {
            // Where each segment is the last, the largest need not be full.
            let full = sent.offered.filter(|_| !self.has_more).unwrap_or(sent.full_segment);
            return sent.bytes + LONGEST_OPTIONS < full;
        }
        let options = if sent.echo.is_some() { TIMESTAMPS } else { 0 };
        let is_short = !sent.bytes.is_multiple_of(sent.full_segment - options);
        if !sent.is_pushed {
            self.multiples[usize::from(is_short)] += 1;
        }
        // Another size of segments than that offered would make each look short.
        let [whole, short] = self.multiples;
        is_short && short <= whole / 8
    }

    /// Handles a retransmission with its cause.
    pub fn on_retransmission(&mut self, now: Instant, cause: Cause) {
        self.pass(now, None);
        // The byte of a probe that the closed window refused.
        if self.has_probed && self.phase == Phase::Open {
            return;
        }
        self.start(now);
        match (cause, self.phase) {
            (Cause::Other, _) => {}
            (Cause::TailProbe, Phase::Open) => {
                let since_s = std::mem::take(&mut self.since).total();
                self.recover(since_s);
            }
            (Cause::Timeout, _) => {
                let (since, waited_s) = (std::mem::take(&mut self.since), self.recovery_since_s);
                self.recovery_since_s = 0.0;
                self.relabel(waited_s);
                self.fill_window(since.closed_s);
                self.wait_for_timer(since.total() - since.closed_s);
                self.close_gap(now, if self.left_room(now) { Reason::Pause } else { Reason::Busy }, 0);
                self.cut(now);
                self.phase = Phase::Loss { end: self.max, has_progress: false };
            }
            (_, Phase::Open) => {
                let had_room = self.left_room(now);
                self.close_gap(now, if had_room { Reason::Pause } else { Reason::Settling }, 0);
                self.cut(now);
                self.phase = Phase::Recovery { end: self.max };
            }
            (Cause::Fast, Phase::Recovery { .. }) => self.cut(now),
            _ => {}
        }
        self.kept = self.gap();
    }

    /// Handles a probe of a closed window: the sender has more data.
    pub fn on_probe(&mut self, now: Instant) {
        self.pass(now, None);
        self.has_probed = true;
        self.kept = self.gap();
    }

    fn start(&mut self, now: Instant) {
        if self.at.is_none() {
            (self.at, self.origin, self.last_sent) = (Some(now), now, now);
        }
    }

    /// Advances to `now` and applies ACKs that have reached the sender by then, or that `echo` shows to have.
    fn pass(&mut self, now: Instant, echo: Option<u32>) {
        while let Some(&(at, heard)) = self.heard.front() {
            let is_echoed =
                echo.zip(heard.tsval).is_some_and(|(echo, tsval)| echo.wrapping_sub(tsval) as i32 >= 0);
            if at > now && !is_echoed {
                break;
            }
            self.heard.pop_front();
            let at = at.min(now);
            self.advance(at);
            self.apply(at, &heard);
        }
        self.advance(now);
    }

    fn flight(&self) -> u64 {
        self.una.map_or(0, |una| self.max.saturating_sub(una))
    }

    /// Whether the receiver's window holds no further segment.
    fn is_full(&self) -> bool {
        self.has_sent && self.edge.is_some_and(|edge| self.max + self.full_segment > edge)
    }

    fn is_closed(&self) -> bool {
        self.has_sent && self.edge.zip(self.una).is_some_and(|(edge, una)| edge <= una)
    }

    fn advance(&mut self, now: Instant) {
        let Some(at) = self.at else { return };
        if now <= at {
            return;
        }
        let seconds = now.since(at).as_secs_f64();
        self.at = Some(now);
        match self.phase {
            // A retransmission by timer into a closed window is a probe (RFC 9293 (3.8.6.1)).
            Phase::Loss { .. } if self.is_closed() => self.fill_window(seconds),
            Phase::Recovery { .. } | Phase::Loss { has_progress: true, .. } => {
                self.recover(seconds);
                self.recovery_since_s += seconds;
            }
            Phase::Loss { has_progress: false, .. } => self.wait_for_timer(seconds),
            Phase::Open if self.is_closed() => self.since.closed_s += seconds,
            Phase::Open if self.is_full() => self.since.full_s += seconds,
            Phase::Open if self.flight() == 0 => self.since.idle_s += seconds,
            Phase::Open => self.since.busy_s += seconds,
        }
    }

    /// Assigns seconds of a recovery. Like a closed window and a wait for the timer, it is known at once and is placed
    /// after the open gap.
    fn recover(&mut self, seconds: f64) {
        self.round.recovery_s += seconds;
        self.push(Spent::Recovery(self.rounds.number()), seconds);
    }

    fn fill_window(&mut self, seconds: f64) {
        self.round.window_s += seconds;
        self.push(Spent::Window(self.rounds.number()), seconds);
    }

    fn wait_for_timer(&mut self, seconds: f64) {
        self.totals.timeout_s += seconds;
        self.push(Spent::On(Part::Timeouts), seconds);
    }

    fn push(&mut self, spent: Spent, seconds: f64) {
        self.timeline.push(spent, seconds);
        if self.gap().total() <= 0.0 {
            self.timeline.close_gap();
        }
    }

    /// Assigns the latest seconds of recovery to the wait for the timer.
    fn relabel(&mut self, seconds: f64) {
        let Self { timeline, rounds, round, totals, .. } = self;
        timeline.recovery_was_timeout(seconds, |number, taken| {
            let round = rounds.get_mut(number).unwrap_or(round);
            round.recovery_s -= taken;
            totals.timeout_s += taken;
        });
    }

    /// Handles an ACK that has reached the sender.
    fn apply(&mut self, now: Instant, heard: &Heard) {
        let was_full = self.is_full();
        let una = self.una.unwrap_or(heard.ack);
        self.max = self.max.max(heard.ack);
        let has_advanced = heard.ack > una;
        self.una = Some(una.max(heard.ack));
        let mut has_moved = false;
        if heard.ack >= una {
            let edge = heard.window.map(|window| heard.ack + window);
            has_moved = edge > self.edge;
            self.edge = edge;
            self.window = heard.window.unwrap_or(0);
        }
        if has_advanced {
            self.on_progress(now);
        }
        if heard.has_data && self.flight() == 0 {
            self.is_turn = true;
        }
        if self.has_sent && (has_advanced || has_moved) {
            self.on_room(now, was_full);
        }
        if self.has_sent && (has_advanced || self.is_closed()) {
            self.kept = self.gap();
        }
    }

    fn on_progress(&mut self, now: Instant) {
        let una = self.una.unwrap_or(0);
        (self.before, self.since) = (self.gap(), Gap::default());
        self.recovery_since_s = 0.0;
        self.is_first_flight = false;
        if let Some(last) = self.last_ack_at.replace(now) {
            self.drain.add(now.since(last).as_secs_f64());
        }
        match &mut self.phase {
            Phase::Recovery { end } | Phase::Loss { end, .. } if una >= *end => {
                self.settled = self.max;
                self.phase = Phase::Open;
            }
            Phase::Loss { has_progress, .. } => *has_progress = true,
            _ => {}
        }
        if una < self.round_end || !self.has_sent {
            return;
        }
        if std::mem::take(&mut self.began_idle) && una < self.max {
            // The first ACK covers a part of the burst. The round trip ends when all of the burst is acknowledged.
            (self.round_end, self.round_from.1) = (self.max, self.max);
        } else {
            self.end_round(now);
        }
    }

    /// Notes whether a moved left edge or window makes room for a segment.
    fn on_room(&mut self, now: Instant, was_full: bool) {
        if self.is_full() {
            self.is_blocked = true;
            return;
        }
        let left = self.edge.map_or(u64::MAX, |edge| edge - self.max);
        self.is_blocked |= was_full;
        // Linux waits for a third of the window: `tcp_tso_should_defer`.
        if self.is_blocked && left < self.window / 3 && self.flight() > 0 {
            return;
        }
        self.room_at.get_or_insert(now);
        self.last_room_at = now;
    }

    /// Time after which unused room shows that the sender has nothing to send: a quarter of the minimum RTT, since a
    /// sender may pace; half of it far from the sender, where RTTs vary more.
    fn patience(&self) -> Duration {
        let nanos = self.shortest.map_or(0, |shortest| (shortest + self.answer).as_nanos());
        let part = if self.answer.is_zero() { nanos / 4 } else { nanos / 2 };
        SHORTEST_PATIENCE.max(Duration::from_nanos(part))
    }

    /// Whether the sender left room in the window unused: all data was acknowledged for a while. While data is in flight a
    /// sender may pace, at the rate of a slow link far apart: [`Rounds`] decides.
    fn left_room(&self, now: Instant) -> bool {
        let patience = self.patience();
        let is_long = match self.room_at {
            Some(at) => now.since(at) > patience,
            None => !self.is_full() && now.since(self.last_sent) > patience,
        };
        is_long && self.gap().idle_s > 0.0
    }

    /// Whether the sender had no more data, after a segment that is not full.
    fn had_nothing(&self, now: Instant) -> bool {
        let patience = if self.answer.is_zero() { SHORTEST_PATIENCE } else { self.patience() };
        self.is_drained && !self.is_full() && now.since(self.last_sent) > patience
    }

    fn reason(&self, now: Instant) -> Reason {
        if !self.has_sent || self.is_turn {
            return Reason::Turn;
        }
        if !self.left_room(now) && !self.had_nothing(now) {
            return Reason::Busy;
        }
        if self.una.is_some_and(|una| una < self.settled) {
            return Reason::Settling;
        }
        if self.answer.is_zero() {
            return Reason::Pause;
        }
        // Data queued between the sender and this place arrives at the rate of the link.
        let silent_s = now.since(self.last_sent).as_secs_f64();
        let recent_s = self.recent_answer();
        if recent_s > QUEUED * self.answer.as_secs_f64() {
            let longest_s = if self.is_drained { 0.0 } else { SMALLEST_TIMEOUT.as_secs_f64() };
            return match (silent_s > recent_s + longest_s, self.is_pushed || self.is_drained) {
                (false, _) => Reason::Busy,
                (true, true) => Reason::Pause,
                (true, false) => Reason::Outage,
            };
        }
        let is_long = now.since(self.last_sent) > self.answer + SMALLEST_TIMEOUT;
        let is_known = self.has_echoes && !is_long;
        if self.is_pushed || self.is_drained || is_known { Reason::Pause } else { Reason::Silence }
    }

    /// Minimum of the latest times from an ACK to the data that echoes it, seconds.
    fn recent_answer(&self) -> f64 {
        let recent = &self.echoes[..self.echoes_seen.min(RECENT)];
        recent.iter().min().map_or(0.0, |shortest| shortest.as_secs_f64())
    }

    fn gap(&self) -> Gap {
        self.before.plus(self.since)
    }

    fn open_gap(&mut self, now: Instant) {
        self.last_sent = now;
        (self.before, self.since, self.kept) = (Gap::default(), Gap::default(), Gap::default());
        (self.room_at, self.last_ack_at, self.drain) = (None, None, Drain::default());
        (self.is_blocked, self.is_turn, self.has_probed) = (false, false, false);
        self.asked_at = None;
    }

    /// Time so far by the limit on the sender; `None` before any.
    pub fn spending(&self) -> Option<Spending> {
        let mut whole = self.clone();
        let end = whole.heard.back().map(|(at, _)| *at);
        if let Some(end) = end {
            whole.pass(end, None);
        }
        let is_over = whole.flight() == 0;
        let reason = if is_over && !whole.has_probed { Reason::End } else { Reason::Busy };
        let kept = whole.kept;
        let now = whole.at?;
        if whole.phase == Phase::Open {
            whole.assign(now, kept, reason);
        }
        whole.end_round(now);
        let answer = (!whole.answer.is_zero()).then_some(whole.answer.as_secs_f64());
        let kinds = whole.rounds.kinds(answer);
        let shares = whole.rounds.shares(&kinds, &whole.totals, whole.turns)?;
        Some(Spending { shares, from: whole.origin, parts: whole.timeline.parts(&kinds) })
    }

    pub fn bytes(&self) -> usize {
        let heard = size_of::<(Instant, Heard)>() * self.heard.capacity();
        heard + self.rounds.bytes() + self.timeline.bytes()
    }
}

#[cfg(test)]
mod tests;
