//! What a sender waits for, from one packet to the next: every moment of a flow has one cause.
//!
//! The clock runs from the first data of either end to the last ACK for data of this flow, the last probe of a closed
//! window or the last retransmission. The time between two new segments, a *gap*, belongs to
//!
//! * *application, turn*: all data was acknowledged and the other end sent data meanwhile: request and response;
//! * *application, pause*: an ACK or a window update made room, and the sender did not use it within [`Limits::patience`], or
//!   it sent without one. Linux calls such a sender application-limited (`tcp_rate_check_app_limited`): nothing is
//!   queued although the window is open. How long the data in flight takes to drain beyond an empty path's round trip
//!   is the link's;
//! * *receive window*: less than a segment of the window was left, or it was closed. Linux counts the same as
//!   `tcpi_rwnd_limited` (RFC 4898: `tcpEStatsPerfSndLimTimeRwin`);
//! * *timeout*: from the last progress to the retransmission by timer, and from there to the next progress;
//! * *loss*: from the first retransmission until everything sent before it is acknowledged;
//! * *busy* otherwise: the congestion window or the path, told apart for each round trip by [`Rounds`].
//!
//! Far from the sender, an ACK counts once it can have made the sender send: it waits for the shortest recent time
//! from an ACK to the data that echoes it, or until an echo shows that the sender has it. There a silence longer than
//! a timeout may be the application's or an outage in which all was lost before it came here, and without timestamps
//! any may be the path's. A segment pushed (PSH) is the last that the sender had; without PSH it had more, and the
//! time is a timeout's. If the flow never pushes, the cause is unknown.
//!
//! Sources: Zhang, Breslau, Paxson, Shenker, "On the characteristics and origins of Internet flow rates", SIGCOMM 2002
//! (T-RAT); Siekkinen, Urvoy-Keller, Biersack, Collange, "A root cause analysis toolkit for TCP", Computer Networks
//! 2008; RFC 4898 and Linux `tcp_chrono_*` for the sender's own counters.

mod timeline;

use std::collections::VecDeque;

use airpath_core::time::{Duration, Instant};

use super::causes::{Cause, SMALLEST_TIMEOUT};
use super::rounds::{Part, QUEUED, Round, Rounds, Shares, Totals};
use timeline::{Spent, Timeline};

/// A sender with data uses room within this, at least.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(1);
/// ACKs on their way to a distant sender; more are taken to arrive at once.
const MOST_HEARD: usize = 4096;
/// Times from an ACK to its echo of which the shortest counts.
const RECENT: usize = 8;
/// Round trips over which a window grows, or stays.
const TREND: usize = 8;
/// A sender that waits for an ACK sends at once when it comes: what a host takes to answer.
const PROMPTLY_S: f64 = 1e-4;

/// An ACK that has passed the place of the capture.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    pub ack: u64,
    /// Announced window, bytes; `None` if not known.
    pub window: Option<u64>,
    pub tsval: Option<u32>,
    /// It carries data of the other end.
    pub has_data: bool,
}

/// New data of the sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub end: u64,
    pub bytes: u64,
    /// Payload of a full segment.
    pub full_segment: u64,
    /// TSecr.
    pub echo: Option<u32>,
    pub is_pushed: bool,
}

/// Time since the latest new data, by what the windows allowed.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    idle_s: f64,
    busy_s: f64,
    full_s: f64,
    closed_s: f64,
}

/// Time between the ACKs of a flight that is followed by nothing: the bottleneck sets it.
#[derive(Clone, Copy, Debug, Default)]
struct Drain {
    total_s: f64,
    longest_s: f64,
    next_s: f64,
}

impl Drain {
    fn add(&mut self, gap_s: f64) {
        self.total_s += gap_s;
        self.next_s = self.next_s.max(gap_s.min(self.longest_s));
        self.longest_s = self.longest_s.max(gap_s);
    }

    /// A single long gap is a delayed ACK's.
    fn seconds(&self, patience_s: f64) -> f64 {
        let excess_s = if self.longest_s > patience_s { self.longest_s - self.next_s } else { 0.0 };
        self.total_s - excess_s
    }
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
    /// A pause, or an outage before the place of the capture.
    Silence,
    /// A queue stood before the place of the capture, and nothing came.
    Outage,
    /// The window has shrunk and what is in flight exceeds it.
    Settling,
    Busy,
    /// No data followed.
    End,
}

/// Where the time of a flow went.
#[derive(Clone, Debug)]
pub struct Spending {
    pub shares: Shares,
    /// When the clock of the shares began.
    pub from: Instant,
    /// The stretches since then by what limited the sender, seconds; their sums are the shares.
    pub parts: Vec<(Part, f64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// ACKs that are still on their way to the sender.
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
    is_first_flight: bool,
    /// Of the gap: before the latest progress and since.
    before: Gap,
    since: Gap,
    /// The gap up to the latest sign that the flow goes on.
    kept: Gap,
    last_sent: Instant,
    room_at: Option<Instant>,
    last_room_at: Instant,
    last_ack_at: Option<Instant>,
    drain: Drain,
    is_blocked: bool,
    is_turn: bool,
    /// When data of the other end passed here first, since the latest new data.
    asked_at: Option<Instant>,
    is_prompt: bool,
    has_probed: bool,
    phase: Phase,
    recovery_since_s: f64,
    settled: u64,
    round: Round,
    round_end: u64,
    round_from: (u64, u64),
    trend: [u64; TREND],
    trend_seen: usize,
    totals: Totals,
    rounds: Rounds,
    turns: u64,
    timeline: Timeline,
}

impl Gap {
    fn total(self) -> f64 {
        self.idle_s + self.busy_s + self.full_s + self.closed_s
    }

    fn plus(self, other: Self) -> Self {
        Self {
            idle_s: self.idle_s + other.idle_s,
            busy_s: self.busy_s + other.busy_s,
            full_s: self.full_s + other.full_s,
            closed_s: self.closed_s + other.closed_s,
        }
    }
}

impl Limits {
    /// An ACK passes; `answer` is the least time until what it makes the sender send comes here.
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
        // What was said first arrives first.
        let at = self.heard.back().map_or(now + delay, |(before, _)| (*before).max(now + delay));
        self.heard.push_back((at, heard));
        if self.heard.len() > MOST_HEARD
            && let Some((_, first)) = self.heard.pop_front()
        {
            self.apply(now, &first);
        }
    }

    /// The time from an ACK to the data that echoes it: far from the sender, how long its answer takes.
    pub fn on_back(&mut self, now: Instant, back: Duration) {
        self.has_echoes = true;
        self.rounds.add_base(f32::INFINITY, back.as_secs_f64() as f32);
        // The sender may have had nothing to send since the data before, and the round trip is shorter by that.
        let silent = now.since(self.last_sent);
        if 2 * silent.as_nanos() < back.as_nanos() {
            self.echoes[self.echoes_seen % RECENT] = back;
            self.echoes_seen += 1;
            let least_s = back.as_secs_f64() - silent.as_secs_f64();
            self.round.back_s = self.round.back_s.min(least_s as f32);
        }
    }

    /// A round trip from here to the receiver; `shortest` so far.
    pub fn on_forward(&mut self, forward: Duration, shortest: Option<Duration>) {
        let seconds = forward.as_secs_f64() as f32;
        self.rounds.add_base(seconds, f32::INFINITY);
        self.round.forward_s = self.round.forward_s.min(seconds);
        self.round.forward_sum_s += seconds;
        self.round.samples += 1;
        self.shortest = shortest;
    }

    /// Data that was not sent before.
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
            }
            self.close_gap(now, reason, sent.bytes);
            self.is_first_flight = self.is_first_flight || !matches!(reason, Reason::Busy | Reason::Settling);
        }
        self.has_sent = true;
        self.max = self.max.max(sent.end);
        self.round.flight = self.round.flight.max(self.flight());
        self.is_pushed = sent.is_pushed;
        self.has_pushed |= sent.is_pushed;
        self.open_gap(now);
    }

    /// A retransmission and its cause.
    pub fn on_retransmission(&mut self, now: Instant, cause: Cause) {
        self.pass(now, None);
        // The octet of a probe that the closed window refused.
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
                let reason = self.reason(now);
                self.close_gap(now, if reason == Reason::Busy { reason } else { Reason::Pause }, 0);
                self.cut(now);
                self.phase = Phase::Loss { end: self.max, has_progress: false };
            }
            (_, Phase::Open) => {
                let had_room = self.room_at.is_some_and(|at| now.since(at) > self.patience());
                self.close_gap(now, if had_room { Reason::Pause } else { Reason::Settling }, 0);
                self.cut(now);
                self.phase = Phase::Recovery { end: self.max };
            }
            (Cause::Fast, Phase::Recovery { .. }) => self.cut(now),
            _ => {}
        }
        self.kept = self.gap();
    }

    /// The sender probes a closed window: it has more to send.
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

    /// Time passes, and ACKs reach the sender; what it echoes has reached it.
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
            // What the timer retransmits then is a probe (RFC 9293 (3.8.6.1)).
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

    /// Seconds of which it is known at once that the sender recovered, that its window was closed, or that it waited
    /// for its timer. They stand behind an open gap.
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

    /// The latest seconds of recovery were the wait for the timer.
    fn relabel(&mut self, seconds: f64) {
        let Self { timeline, rounds, round, totals, .. } = self;
        timeline.recovery_was_timeout(seconds, |number, taken| {
            let round = rounds.get_mut(number).unwrap_or(round);
            round.recovery_s -= taken;
            totals.timeout_s += taken;
        });
    }

    /// An ACK reaches the sender.
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
        if una >= self.round_end && self.has_sent {
            self.end_round(now);
        }
    }

    /// The left edge or the window has moved: is there room for a segment?
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

    /// Room that is not used for so long shows that there is nothing to send: a quarter of the round trip, for senders
    /// that pace. Far from the sender round trips vary by more.
    fn patience(&self) -> Duration {
        let nanos = self.shortest.map_or(0, |shortest| (shortest + self.answer).as_nanos());
        let part = if self.answer.is_zero() { nanos / 4 } else { nanos / 2 };
        SHORTEST_PATIENCE.max(Duration::from_nanos(part))
    }

    fn reason(&self, now: Instant) -> Reason {
        if !self.has_sent || self.is_turn {
            return Reason::Turn;
        }
        let patience = self.patience();
        let had_room = match self.room_at {
            Some(at) => now.since(at) > patience,
            None => !self.is_full() && now.since(self.last_sent) > patience,
        };
        if !had_room {
            return Reason::Busy;
        }
        if self.una.is_some_and(|una| una < self.settled) {
            return Reason::Settling;
        }
        if self.answer.is_zero() {
            return Reason::Pause;
        }
        // What stands in a queue before this place comes when the link lets it.
        let silent_s = now.since(self.last_sent).as_secs_f64();
        let recent_s = self.recent_answer();
        if recent_s > QUEUED * self.answer.as_secs_f64() {
            let is_long = silent_s > recent_s + SMALLEST_TIMEOUT.as_secs_f64();
            return match (is_long, self.is_pushed) {
                (false, _) => Reason::Busy,
                (true, true) => Reason::Pause,
                (true, false) => Reason::Outage,
            };
        }
        let is_long = now.since(self.last_sent) > self.answer + SMALLEST_TIMEOUT;
        let is_known = self.has_echoes && !is_long;
        if self.is_pushed || is_known { Reason::Pause } else { Reason::Silence }
    }

    /// The shortest of the latest times from an ACK to the data that echoes it, seconds.
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

    /// The gap ends with so many bytes of new data.
    fn close_gap(&mut self, now: Instant, reason: Reason, bytes: u64) {
        let gap = self.gap();
        self.assign(now, gap, reason);
        self.totals.wait_s = self.totals.turn_s + self.totals.pause_s;
        if reason == Reason::Turn && self.is_turn {
            self.turns += 1;
        }
        if reason == Reason::Busy {
            // An ACK let it go, or it follows what an ACK let go.
            let wait_s = match self.room_at {
                Some(_) => now.since(self.last_room_at).as_secs_f64(),
                None => gap.total(),
            };
            let is_new = self.room_at.is_some() || wait_s > PROMPTLY_S;
            self.is_prompt = wait_s <= PROMPTLY_S && (is_new || self.is_prompt);
            *(if self.is_prompt { &mut self.round.prompt } else { &mut self.round.unprompted }) += bytes;
        }
        (self.before, self.since) = (Gap::default(), Gap::default());
        self.timeline.close_gap();
    }

    fn assign(&mut self, now: Instant, gap: Gap, reason: Reason) {
        let patience_s = self.patience().as_secs_f64();
        let number = self.rounds.number();
        let round = &mut self.round;
        let totals = &mut self.totals;
        let timeline = &mut self.timeline;
        let closed = if self.has_probed { gap.closed_s } else { 0.0 };
        match reason {
            Reason::Busy if self.is_first_flight && !self.answer.is_zero() => {
                // One flight, spread by the path before it came here.
                totals.drain_s += gap.total();
                timeline.add_to_gap(Spent::On(Part::Link), gap.total());
            }
            Reason::Busy => {
                round.busy_s += gap.busy_s + gap.idle_s;
                round.window_s += gap.full_s + gap.closed_s;
                timeline.add_to_gap(Spent::Busy(number), gap.busy_s + gap.idle_s);
                timeline.add_to_gap(Spent::Window(number), gap.full_s + gap.closed_s);
            }
            Reason::Settling => {
                round.recovery_s += gap.total();
                timeline.add_to_gap(Spent::Recovery(number), gap.total());
            }
            Reason::Outage => {
                totals.timeout_s += gap.total();
                timeline.add_to_gap(Spent::On(Part::Timeouts), gap.total());
            }
            Reason::Turn | Reason::Pause | Reason::Silence | Reason::End => {
                let windowed = if reason == Reason::Turn { closed } else { gap.closed_s + gap.full_s };
                let shortest = self.shortest.map_or(0.0, Duration::as_secs_f64);
                let waits = gap.busy_s + gap.full_s;
                let base_s = shortest + self.answer.as_secs_f64();
                let drain = self.drain.seconds(patience_s).min(waits - base_s);
                let drain = drain.clamp(0.0, (gap.total() - windowed).max(0.0));
                round.window_s += windowed;
                totals.drain_s += drain;
                let rest = (gap.total() - windowed - drain).max(0.0);
                let (total, part) = match (reason, self.has_pushed) {
                    (Reason::Turn, _) => (&mut totals.turn_s, Part::Idle),
                    (Reason::Silence, true) => (&mut totals.timeout_s, Part::Timeouts),
                    (Reason::Silence, false) => (&mut totals.unknown_s, Part::Unknown),
                    (Reason::End, _) => (&mut totals.pause_s, Part::Idle),
                    _ => (&mut totals.pause_s, Part::Pause),
                };
                *total += rest;
                // A round trip passes until the first ACK of the flight, and its drain. The other end asks at last.
                let asked_s = self.asked_at.filter(|_| reason == Reason::Turn);
                let waiting_s = asked_s.map_or(0.0, |at| now.since(at).as_secs_f64()).min(rest);
                let first_s = base_s.min(rest - waiting_s);
                timeline.add_to_gap(Spent::On(part), first_s);
                timeline.add_to_gap(Spent::On(Part::Link), drain);
                timeline.add_to_gap(Spent::Window(number), windowed);
                timeline.add_to_gap(Spent::On(part), rest - waiting_s - first_s);
                timeline.add_to_gap(Spent::On(Part::Waiting), waiting_s);
            }
        }
    }

    fn cut(&mut self, now: Instant) {
        self.trend_seen = 0;
        self.end_round(now);
        self.rounds.cut(now.since(self.origin).as_secs_f64());
    }

    fn begin_round(&mut self) {
        self.round = Round::default();
        self.round.flight = self.flight();
        self.round_end = self.max.max(self.una.unwrap_or(0) + 1);
        self.round_from = (self.una.unwrap_or(0), self.max);
    }

    fn end_round(&mut self, now: Instant) {
        let una = self.una.unwrap_or(0);
        let acked = una.saturating_sub(self.round_from.0);
        let sent = self.max.saturating_sub(self.round_from.1);
        let segment = self.full_segment.max(1);
        let flight = self.round.flight;
        self.trend[self.trend_seen % TREND] = flight;
        self.trend_seen += 1;
        let grows = self.grows();
        let round = &mut self.round;
        round.acked = acked;
        round.to_s = now.since(self.origin).as_secs_f64();
        // Doubling in a round trip: twice as much is sent as is acknowledged.
        let grown = sent.saturating_sub(acked);
        let is_new = self.rounds.cuts() == 0 && self.trend_seen <= TREND / 2;
        round.is_slow_start = is_new || 10 * sent >= 14 * acked && 2 * grown >= 3 * segment;
        round.grows = grows;
        if self.rounds.push(self.round) {
            self.timeline.merge_rounds();
        }
        self.begin_round();
    }

    /// Whether the latest round trips had more in flight than those before: all more than these on average, and by a
    /// segment. Until there are some it is taken to grow.
    fn grows(&self) -> bool {
        let count = self.trend_seen.min(TREND);
        if count <= TREND / 2 {
            return true;
        }
        let nth = |place: usize| self.trend[(self.trend_seen - count + place) % TREND] as f64;
        let mean = |places: std::ops::Range<usize>| {
            let length = places.len() as f64;
            places.map(nth).sum::<f64>() / length
        };
        let half = count / 2;
        let before = mean(0..half);
        let is_above = (half..count).all(|place| nth(place) >= before);
        is_above && mean(half..count) >= before + self.full_segment as f64
    }

    /// What the time so far was spent on; `None` without any.
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
