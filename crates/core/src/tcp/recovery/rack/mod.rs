//! RACK-TLP: RFC 8985. Detects losses by time ([`detection`]), marks each segment on the scoreboard, and probes for
//! tail losses.
//!
//! The bytes in the network are always known: outstanding bytes, minus SACKed, minus lost, plus those retransmitted
//! since they were marked lost. A lost retransmission is detected like any other loss. The scoreboard survives a
//! timeout: segments marked lost are retransmitted as the window permits (6.3) instead of going back N as in RFC 6675,
//! so `nxt` always equals `max`.
//!
//! An ACK is processed in this order: marks and RTT samples; whether the latest recovery was spurious; losses; the
//! resulting phase of the sender; the window. `transmit` selects the next segment, `timers` has timers and probes.
//!
//! If the other endpoint does not permit SACK, the connection uses NewReno. Round-trip times are taken from the
//! segments themselves, SACKed ones included; for retransmitted segments by timestamps, if enabled.

pub mod detection;
mod marks;
mod timers;
mod transmit;

use super::prr::{Progress, Prr};
use super::{Ack, Component, Loss};
use crate::registry::parameters;
use crate::tcp::Config as Tcp;
use crate::tcp::transmission::Transmission;
use crate::tcp::undo::Verdict;
use crate::tcp::window::scoreboard::{AckOutcome, SackNews};
use crate::tcp::window::state::{Outcome, Phase, Segment, State};
use crate::time::Instant;
use detection::{Detection, Losses};
use marks::Marks;
use timers::{Tail, Timers};

parameters! {
    /// Loss detection by time, and tail loss probes: RACK-TLP, RFC 8985. Requires `sack = true`.
    pub struct Config {
        /// Whether a probe is sent when ACKs are overdue: RFC 8985 (7).
        pub tail_loss_probe: bool = true,
    }
}

impl Component for Config {
    fn build(&self, tcp: &Tcp) -> Loss {
        // A control that models the path sets the window in a recovery, too.
        let (probes_tail, uses_prr) = (self.tail_loss_probe, tcp.prr && !tcp.cc.models_path());
        Loss::Rack(Box::new(Rack { probes_tail, uses_prr, ..Rack::default() }))
    }
}

/// Loss recovery by time.
#[derive(Default)]
pub struct Rack {
    detection: Detection,
    marks: Marks,
    /// Bytes ever marked lost.
    pub(super) total_lost: u64,
    /// No segment before this offset is marked lost.
    lost_from: u64,
    timers: Timers,
    /// Whether tail loss probes are sent: (7).
    pub(in crate::tcp) probes_tail: bool,
    tail: Tail,
    /// Proportional rate reduction is in use.
    pub(super) uses_prr: bool,
    /// Its variables during a recovery.
    prr: Option<Prr>,
    /// F-RTO allows only new data: `max` when this started.
    new_only: Option<u64>,
    /// The first retransmission of a recovery is to come.
    is_first: bool,
    /// The largest window that the receiver has offered, bytes.
    largest_window: u64,
}

/// When the segments that an ACK covers were sent, of those sent once: the first and the last.
#[derive(Clone, Copy, Debug, Default)]
struct SentAt(Option<(Instant, Instant)>);

impl SentAt {
    fn add(&mut self, at: Instant) {
        self.0 = Some(self.0.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
    }
}

impl Rack {
    /// Bytes thought to be in the network.
    pub(super) fn pipe(&self, state: &State) -> u64 {
        self.marks.pipe(state)
    }

    /// An ACK arrived that is not older than the last. Returns whether it begins a fast recovery.
    pub(super) fn on_ack(&mut self, tx: &mut Transmission, ack: &Ack<'_>) -> bool {
        self.largest_window = self.largest_window.max(tx.state.rwnd);
        let was_open = tx.state.phase == Phase::Open;
        let mut sacked_at = SentAt::default();
        let sack = self.take_sack(tx, ack, &mut sacked_at);
        let mut outcome = ack.outcome(tx, sack, sack.sacked > 0);
        let verdict = tx.judge(&outcome);
        self.note_reordering(&tx.state, &outcome, verdict);
        // Before the ACK is processed: the reduction depends on the previous flight.
        self.tail_on_ack(tx, &outcome);
        self.acknowledge(tx, ack, &mut outcome, sacked_at);
        if outcome.is_dupack && !outcome.advances() {
            tx.counters.dupacks += 1;
            tx.state.dupacks += 1;
        }
        tx.measure_arrival(outcome.now, outcome.acked);
        self.new_only = matches!(verdict, Verdict::Probe | Verdict::Delayed).then_some(tx.state.max);
        if verdict == Verdict::Spurious {
            self.take_back(tx, outcome.acked);
        } else {
            self.leave(tx);
        }
        // Delivered segments are in order unless one was retransmitted.
        let is_in_order = self.is_open(tx) && (was_open || verdict == Verdict::Spurious);
        let found =
            if is_in_order || verdict == Verdict::Delayed { None } else { self.detect(tx, outcome.now) };
        let losses = found.unwrap_or_default();
        let begins = self.set_phase(tx, &outcome, &losses);
        self.set_window(tx, &outcome, &losses);
        self.timers.on_ack(outcome.now, outcome.advances(), found);
        self.set_timer(tx, outcome.now, outcome.advances());
        begins
    }

    /// An ACK older than the latest arrived. Its SACK blocks still count, as in Linux; the window stays unchanged. ACKs
    /// older than the largest window are ignored: RFC 5961 (5.2).
    pub(super) fn on_old_ack(&mut self, tx: &mut Transmission, ack: &Ack<'_>) {
        let una = tx.state.una;
        if !ack.packet.has_blocks() || una - ack.number > self.largest_window {
            return;
        }
        let sack = self.take_sack(tx, ack, &mut SentAt::default());
        let outcome = Ack { number: una, ..*ack }.outcome(tx, sack, sack.sacked > 0);
        let verdict = tx.judge(&outcome);
        self.note_reordering(&tx.state, &outcome, verdict);
        if verdict == Verdict::Spurious {
            self.take_back(tx, 0);
        }
        let found = if self.is_open(tx) { None } else { self.detect(tx, ack.now) };
        self.set_phase(tx, &outcome, &found.unwrap_or_default());
        self.timers.on_ack(ack.now, false, found);
        self.set_timer(tx, ack.now, false);
    }

    /// Reordering that the segments delivered do not show, since each had been retransmitted first: the original of the
    /// first gap arrives during a fast recovery; or a retransmission is reported as a duplicate although the segment
    /// had been SACKed. As in Linux, beyond RFC 8985 (6.2) step 3, which counts only segments that were sent once. And a
    /// report may begin a round that widens the reordering window.
    fn note_reordering(&mut self, state: &State, ack: &AckOutcome, verdict: Verdict) {
        // Not the report that shows reordering itself, nor that of a probe.
        let is_spurious_retransmission = ack.spurious > 0 && !self.tail.is_reported(ack);
        self.detection.on_ack(ack.ack, state.max, is_spurious_retransmission);
        let is_partial = state.phase == Phase::Recovery && state.recover.is_some_and(|end| ack.ack < end);
        let is_filled = matches!(verdict, Verdict::Spurious | Verdict::Delayed);
        let is_spurious = |segment: &Segment| segment.is_sacked && segment.transmissions > 1;
        let duplicate = ack.sack.duplicate.filter(|_| ack.spurious > 0);
        if is_filled && is_partial && ack.advances() {
            let end = state.segments.front().map_or(state.una, |segment| segment.end());
            self.detection.note_reordering(end);
        } else if let Some(segment) =
            duplicate.and_then(|range| state.segments_within(range).find(|one| is_spurious(one)))
        {
            self.detection.note_reordering(segment.end());
        }
    }

    /// Reads SACK blocks into the scoreboard, and when the segments were sent that they report.
    fn take_sack(&mut self, tx: &mut Transmission, ack: &Ack<'_>, sent_at: &mut SentAt) -> SackNews {
        let (marks, detection) = (&mut self.marks, &mut self.detection);
        detection.begin_ack();
        let (now, echo, meter) = (ack.now, ack.echo(), &mut tx.meter);
        tx.state.update_scoreboard_with(ack.number, ack.blocks(), |segment| {
            marks.on_sacked(segment);
            if let Some(meter) = meter {
                meter.on_delivered(now, segment, segment.len.into());
            }
            if segment.transmissions == 1 {
                sent_at.add(segment.sent_at);
            }
            detection.on_delivered(now, segment, echo);
        })
    }

    /// Takes acknowledged segments off the scoreboard, and round-trip times from it.
    fn acknowledge(
        &mut self,
        tx: &mut Transmission,
        ack: &Ack<'_>,
        outcome: &mut AckOutcome,
        sacked_at: SentAt,
    ) {
        let (now, number, echo) = (ack.now, ack.number, ack.echo());
        let (mut is_ambiguous, mut sent_at) = (false, SentAt::default());
        let state = &mut tx.state;
        while let Some(segment) = state.segments.front_mut().filter(|segment| segment.start < number) {
            let bytes = number.min(segment.end()) - segment.start;
            outcome.count(segment, bytes);
            if let Some(meter) = tx.meter.as_mut().filter(|_| !segment.is_sacked) {
                meter.on_delivered(now, segment, bytes);
            }
            self.marks.remove(segment, bytes);
            is_ambiguous |= segment.transmissions > 1;
            if !segment.is_sacked && segment.transmissions == 1 {
                sent_at.add(segment.sent_at);
            }
            if segment.end() > number {
                segment.cut_front(number);
                break;
            }
            if !segment.is_sacked {
                self.detection.on_delivered(now, segment, echo);
            }
            state.segments.pop_front();
        }
        if outcome.advances() {
            (state.una, state.nxt, state.dupacks) = (number, state.max, 0);
        }
        tx.rto.set_flight(state.segments.len());
        tx.rto.set_sent(number, state.max);
        if let Some((first, last)) = sent_at.0.filter(|_| !is_ambiguous).or(sacked_at.0) {
            tx.rto.on_sample(now, first);
            tx.count_sample(now.since(first), now.since(last));
        } else if outcome.advances() && tx.rtt.has_timestamps {
            tx.sample_echoed(now, ack.packet.ts_ecr);
        }
    }

    /// The latest recovery was spurious: the marks of losses go, and the windows are restored.
    fn take_back(&mut self, tx: &mut Transmission, acked: u64) {
        tx.take_back(acked);
        for segment in &mut tx.state.segments {
            segment.outcome = Outcome::InFlight;
        }
        (self.marks.lost, self.marks.again) = (0, 0);
        (self.prr, self.new_only) = (None, None);
        self.detection.look_anew();
    }

    /// Ends a recovery whose data is fully acknowledged.
    fn leave(&mut self, tx: &mut Transmission) {
        let state = &mut tx.state;
        match state.phase {
            Phase::Recovery | Phase::Loss if state.is_below_recover() => return,
            Phase::Recovery => {
                state.exit_recovery(state.window.ssthresh);
                self.prr = None;
            }
            Phase::Loss => state.phase = Phase::Open,
            Phase::Open | Phase::Disorder => return,
        }
        self.detection.on_recovery_end();
    }

    /// Nothing is SACKed or lost.
    fn is_open(&self, tx: &Transmission) -> bool {
        tx.state.phase == Phase::Open && self.marks.sacked + self.marks.lost == 0
    }

    /// Marks segments that count as lost, if anything has arrived since the last call.
    fn detect(&mut self, tx: &mut Transmission, now: Instant) -> Option<Losses> {
        let state = &mut tx.state;
        let is_certain = matches!(state.phase, Phase::Recovery | Phase::Loss)
            || self.marks.sacked_segments >= state.dupack_threshold;
        let window = self.detection.reordering_window(tx.rto.srtt(), is_certain);
        let losses = self.detection.detect(now, window, &mut state.segments)?;
        self.note(&losses);
        Some(losses)
    }

    /// Adds newly marked segments to the sums.
    fn note(&mut self, losses: &Losses) {
        self.total_lost += losses.lost + losses.lost_again;
        self.marks.lost += losses.lost;
        self.marks.again -= losses.lost_again;
        if let Some(first) = losses.first {
            self.lost_from = self.lost_from.min(first);
        }
    }

    /// The phase after an ACK. A recovery begins with a loss, and after a timeout with a retransmission that is lost;
    /// returns whether one does.
    #[inline]
    fn set_phase(&mut self, tx: &mut Transmission, outcome: &AckOutcome, losses: &Losses) -> bool {
        let begins = match tx.state.phase {
            Phase::Open | Phase::Disorder if self.marks.lost == 0 => {
                let is_open = self.marks.sacked == 0;
                tx.state.phase = if is_open { Phase::Open } else { Phase::Disorder };
                false
            }
            Phase::Open | Phase::Disorder => true,
            Phase::Loss => losses.lost_again > 0,
            Phase::Recovery => false,
        };
        if begins {
            self.enter(tx, outcome.now, outcome.delivered);
        }
        begins
    }

    /// Fast recovery starts with an ACK of `delivered` bytes: RFC 5681 (3.2), RFC 9937 (6).
    #[cold]
    fn enter(&mut self, tx: &mut Transmission, now: Instant, delivered: u64) {
        tx.state.limited_bytes = self.not_in_flight(&tx.state);
        let ssthresh = tx.begin_recovery(now);
        let state = &mut tx.state;
        state.limited_bytes = 0;
        state.window.ssthresh = ssthresh;
        if self.uses_prr {
            self.prr = Some(Prr::new(state.flight_size() - self.marks.sacked + delivered));
        } else {
            state.exit_recovery(ssthresh);
        }
        (state.phase, state.recover) = (Phase::Recovery, Some(state.max));
        (self.is_first, self.new_only) = (true, None);
        self.tail = Tail::default();
    }

    /// Bytes outstanding that do not count as in flight when the window is halved: SACKed bytes. After a timeout all
    /// lost bytes still lie between `una` and `max`, but at most the window is in flight: a second loss lowers the
    /// window again (RFC 5681 (4.3)) and must not raise it.
    fn not_in_flight(&self, state: &State) -> u64 {
        let is_going_back = state.phase == Phase::Loss;
        let window = if is_going_back { state.window.cwnd as u64 } else { u64::MAX };
        self.marks.sacked.max(state.flight_size().saturating_sub(window))
    }

    /// Sets the window after an ACK. If segments have been late by more than the duplicate ACK threshold, SACKed bytes
    /// let the window grow like acknowledged ones, as in Linux: otherwise it would rarely grow on such a path.
    fn set_window(&mut self, tx: &mut Transmission, outcome: &AckOutcome, losses: &Losses) {
        let (delivered, advances) = (outcome.delivered, outcome.advances());
        if tx.state.phase == Phase::Recovery {
            self.reduce(tx, delivered, advances && !losses.any());
        } else if delivered > 0 && (advances || self.is_reordering_high(&tx.state)) {
            tx.grow(delivered);
        }
    }

    fn is_reordering_high(&self, state: &State) -> bool {
        self.detection.is_reordered_by(u64::from(state.dupack_threshold) * state.mss())
    }

    /// Proportional rate reduction: RFC 9937 (6).
    fn reduce(&mut self, tx: &mut Transmission, delivered: u64, is_safe: bool) {
        let in_flight = self.pipe(&tx.state);
        let state = &mut tx.state;
        if let Some(prr) = &mut self.prr {
            let progress = Progress { delivered, in_flight, is_safe };
            let allowed = prr.on_ack(state.window.ssthresh as u64, state.mss(), progress);
            state.window.cwnd = (in_flight + allowed) as f64;
        }
    }

    /// The retransmission timer has expired: (6.3). `is_again` says that the same segment timed out before.
    pub(super) fn on_timeout(&mut self, tx: &mut Transmission, now: Instant, is_again: bool) {
        let reordering = self.detection.reordering_window(tx.rto.srtt(), true);
        let state = &mut tx.state;
        if matches!(state.phase, Phase::Open | Phase::Disorder)
            && self.marks.sacked_segments >= state.dupack_threshold
        {
            self.detection.forget_degree();
        }
        if state.segments.front().is_some_and(|oldest| oldest.is_sacked) {
            // The receiver has discarded data that it had reported: RFC 2018 (8).
            state.clear_scoreboard();
            (self.marks.sacked, self.marks.sacked_segments) = (0, 0);
        }
        // A recovery has already reduced the window; otherwise once for each segment that times out.
        let cuts = match state.phase {
            Phase::Open | Phase::Disorder => true,
            Phase::Recovery => !state.is_below_recover(),
            Phase::Loss => !state.is_below_recover() || !is_again,
        };
        if cuts {
            state.limited_bytes = self.not_in_flight(state);
            state.window.ssthresh = tx.cc.ssthresh_after_loss(state);
            state.limited_bytes = 0;
        }
        let losses = self.detection.detect_at_timeout(now, reordering, &mut state.segments);
        self.note(&losses);
        state.window.cwnd = self.pipe(state) as f64 + state.loss_window;
        // A pacer may have kept the recovery from sending anything.
        (self.prr, self.new_only, self.is_first) = (None, None, false);
        self.tail = Tail::default();
        self.timers = Timers::from_timeout(tx.timer.at);
    }
}
