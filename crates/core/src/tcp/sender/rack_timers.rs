//! The sender where RACK-TLP finds losses: its timers, and the probe at the end of what was sent. RFC 8985 (6.3, 7),
//! RFC 6298 (5).
//!
//! Three deadlines share the sender's timer: the retransmission timer, which runs from the latest ACK that advanced or
//! the latest retransmission of the oldest segment; the reordering timer, after which more counts as lost; and
//! while nothing is amiss the probe timer, two round trips after the last ACK or new segment. The probe is new
//! data where there is some, else the last segment again, once for each tail; the retransmission timer runs anew from
//! it.

use super::by_rack::{ByRack, beyond_window};
use super::{Sender, Transmit};
use crate::tcp::scoreboard::SackNews;
use crate::tcp::state::{Phase, State};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;

/// RFC 8985 (7.2): what an ACK of a single segment may be delayed by, TLP.max_ack_delay; as in Linux.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// RFC 8985 (7.2): the time to a probe before there is a round-trip time.
const FIRST_PTO: Duration = Duration::from_secs(1);

/// Deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timers {
    retransmission: Option<Instant>,
    reordering: Option<Instant>,
    probe: Option<Instant>,
}

impl Timers {
    /// An ACK arrived. `look_again` is what a detection of losses said, if there was one.
    pub fn on_ack(&mut self, now: Instant, advances: bool, look_again: Option<Option<Duration>>) {
        if advances {
            self.retransmission = None;
        }
        if let Some(left) = look_again {
            self.reordering = left.map(|left| now + left);
        }
    }

    /// The retransmission timer is to run from now.
    pub fn restart(&mut self) {
        self.retransmission = None;
    }

    fn next(&self) -> Option<Instant> {
        self.retransmission.into_iter().chain(self.reordering).chain(self.probe).min()
    }
}

/// Tail loss probes: the variables of RFC 8985 (7.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    is_on: bool,
    is_due: bool,
    probe: Option<Probe>,
}

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// TLP.end_seq.
    end: u64,
    /// TLP.is_retrans.
    is_again: bool,
}

impl Tail {
    pub fn new(is_on: bool) -> Self {
        Self { is_on, is_due: false, probe: None }
    }

    /// Whether a probe is to be sent now; asked once.
    pub fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// A recovery has begun, which answers every question.
    pub fn forget(&mut self) {
        (self.is_due, self.probe) = (false, None);
    }

    /// Whether an ACK tells that the probe has repaired a loss: (7.4.2).
    fn repairs(&mut self, ack: u64, advances: bool, news: &SackNews) -> bool {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.end) else { return false };
        let is_reported = news.duplicate.is_some_and(|(_, right)| right == probe.end);
        let is_loss = probe.is_again && !is_reported && ack > probe.end;
        let is_pure_duplicate = !advances && news.sacked == 0;
        if is_loss || !probe.is_again || is_reported || is_pure_duplicate {
            self.probe = None;
        }
        is_loss
    }
}

impl Sender {
    /// Whether it probes the end of what it has sent: RFC 8985 (7).
    pub fn probes_tail(&self) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.tail.is_on)
    }
}

impl ByRack {
    /// Whether the probe was needed: (7.4). If it was, the loss is answered like any other, at once.
    pub fn tail_on_ack(&mut self, sender: &mut Sender, ack: u64, advances: bool, news: &SackNews) {
        if self.tail.repairs(ack, advances, news) && sender.state.phase != Phase::Recovery {
            let state = &mut sender.state;
            state.window.ssthresh = sender.cc.ssthresh_after_loss(state);
            state.window.cwnd = state.window.cwnd.min(state.window.ssthresh);
        }
    }

    /// Sets the sender's timer, and the probe timer if there is `progress`.
    pub fn set_deadline(&mut self, sender: &mut Sender, now: Instant, progress: bool) {
        let (state, timers) = (&sender.state, &mut self.timers);
        if state.una == state.max || sender.is_frozen() {
            *timers = Timers::default();
            if sender.persist.is_none() {
                sender.rto_deadline = None;
            }
            return;
        }
        let timeout = *timers.retransmission.get_or_insert_with(|| now + sender.rto.value());
        if state.phase == Phase::Open {
            timers.reordering = None;
            if progress && self.tail.is_on && self.tail.probe.is_none() {
                // Instead of a timeout that would come first.
                timers.probe = Some((now + probe_timeout(state, sender.rto.srtt())).min(timeout));
            }
        } else {
            timers.probe = None;
        }
        sender.rto_deadline = timers.next();
    }

    /// The deadline has passed.
    pub fn handle_deadline(&mut self, sender: &mut Sender, now: Instant) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.timers.reordering) {
            self.timers.reordering = None;
            self.handle_reordering_timer(sender, now);
        } else if is_due(self.timers.probe) {
            self.timers.probe = None;
            self.tail.is_due = true;
            sender.rto_deadline = self.timers.next();
        } else {
            self.handle_timeout(sender, now);
        }
    }

    /// (6.2) step 5, the reordering timer.
    fn handle_reordering_timer(&mut self, sender: &mut Sender, now: Instant) {
        self.rack.on_reordering_timer();
        let losses = self.detect(sender, now).unwrap_or_default();
        if losses.any() && sender.state.phase != Phase::Recovery {
            self.enter(sender, now, 0);
            self.set_window(sender, 0, false, &losses);
        }
        self.timers.on_ack(now, false, Some(losses.look_again));
        self.set_deadline(sender, now, false);
    }

    /// The retransmission timer expired: RFC 6298 (5.4) to (5.6), RFC 8985 (6.3).
    fn handle_timeout(&mut self, sender: &mut Sender, now: Instant) {
        sender.begin_timeout(now);
        let reordering = self.rack.reordering_window(sender.rto.srtt(), true);
        let state = &mut sender.state;
        if state.segments.front().is_some_and(|oldest| oldest.is_sacked) {
            // The receiver has thrown away what it had reported: RFC 2018 (8).
            state.clear_scoreboard();
            (self.marks.sacked, self.marks.sacked_segments) = (0, 0);
        }
        // A recovery has cut the window already; else once for each segment that times out.
        let is_again = sender.timeout_una.replace(state.una) == Some(state.una);
        let is_over = state.recover.is_none_or(|recover| state.una >= recover);
        let cuts = match state.phase {
            Phase::Open | Phase::Disorder => true,
            Phase::Recovery => is_over,
            Phase::Loss => is_over || !is_again,
        };
        if cuts {
            state.limited_bytes = self.marks.sacked.max(beyond_window(state));
            state.window.ssthresh = sender.cc.ssthresh_after_loss(state);
            state.limited_bytes = 0;
        }
        let losses = self.rack.detect_at_timeout(now, reordering, &mut state.segments);
        self.note(&losses);
        state.window.cwnd = self.pipe(state) as f64 + state.loss_window;
        (state.dupacks, state.phase, state.recover) = (0, Phase::Loss, Some(state.max));
        (self.prr, self.new_only) = (None, None);
        self.tail.forget();
        if let Some(ecn) = &mut sender.ecn {
            ecn.on_reduction(state.max);
        }
        sender.timed_out = true;
        sender.rto.on_timeout();
        self.timers = Timers::default();
        self.set_deadline(sender, now, false);
    }

    /// TLP_send_probe: (7.3).
    pub fn send_probe(&mut self, sender: &mut Sender, now: Instant) -> Option<Transmit> {
        let state = &mut sender.state;
        if self.tail.probe.is_some() || state.una == state.max {
            return None;
        }
        let len = state.mss().min(sender.supplied - state.max);
        let is_again = len == 0 || state.max + len > state.una + state.peer_window();
        let transmit = if is_again {
            // Not told to `undo`, which counts those of a recovery.
            let last = state.segments.back_mut()?;
            last.sent_at = now;
            last.transmissions = last.transmissions.saturating_add(1);
            let last = *last;
            sender.sent(now, last.start, last.len, SendCause::TailLossProbe)
        } else {
            sender.send_new(now, len, SendCause::New)
        };
        self.tail.probe = Some(Probe { end: sender.state.max, is_again });
        self.timers.restart();
        self.on_sent(sender, now, transmit.len.into());
        Some(transmit)
    }
}

/// TLP_calc_PTO: (7.2), but for the timeout.
fn probe_timeout(state: &State, srtt: Duration) -> Duration {
    if srtt.is_zero() {
        return FIRST_PTO;
    }
    let delay = if state.segments.len() == 1 { MAX_ACK_DELAY } else { Duration::ZERO };
    srtt.saturating_mul(2) + delay
}
