//! Timers of RACK-TLP, and the tail loss probe. RFC 8985 (6.3, 7), RFC 6298 (5).
//!
//! Three deadlines share the sender's timer: the retransmission timer, which runs from the latest ACK that advanced or
//! the latest retransmission of the oldest segment; the reordering timer, after which more counts as lost; and, while
//! no loss is suspected, the probe timer, two round trips after the last ACK or new segment. The probe is new data if
//! there is some, otherwise the last segment, once per tail; it restarts the retransmission timer.

use super::Rack;
use super::detection::Losses;
use crate::tcp::Transmit;
use crate::tcp::transmission::Transmission;
use crate::tcp::window::scoreboard::AckOutcome;
use crate::tcp::window::state::{Phase, State};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;

/// RFC 8985 (7.2): maximum delay of an ACK for a single segment, TLP.max_ack_delay; as in Linux.
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
    /// After a timeout the retransmission timer alone runs, until then.
    pub fn from_timeout(retransmission: Option<Instant>) -> Self {
        Self { retransmission, ..Self::default() }
    }

    /// An ACK arrived. `found` is the result of a detection of losses, if there was one.
    pub fn on_ack(&mut self, now: Instant, advances: bool, found: Option<Losses>) {
        if advances {
            self.retransmission = None;
        }
        if let Some(losses) = found {
            self.reordering = losses.look_again.map(|left| now + left);
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

/// Tail loss probes: the variables of RFC 8985 (7.1). Reset whenever a recovery starts, which settles any pending
/// probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    /// A probe is to be sent now.
    pub is_due: bool,
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
    /// Whether the ACK reports the probe as a duplicate.
    pub fn is_reported(&self, ack: &AckOutcome) -> bool {
        self.probe.is_some_and(|probe| ack.sack.duplicate.is_some_and(|(_, right)| right == probe.end))
    }

    /// Whether an ACK shows that the probe has repaired a loss: (7.4.2).
    fn repairs(&mut self, ack: &AckOutcome) -> bool {
        let is_reported = self.is_reported(ack);
        let Some(probe) = self.probe.filter(|probe| ack.ack >= probe.end) else { return false };
        let is_loss = probe.is_again && !is_reported && ack.ack > probe.end;
        let is_pure_duplicate = !ack.advances() && ack.sack.sacked == 0;
        if is_loss || !probe.is_again || is_reported || is_pure_duplicate {
            self.probe = None;
        }
        is_loss
    }
}

impl Rack {
    /// Whether the probe was needed: (7.4). If it was, the sender responds to the loss like to any other, at once.
    pub(super) fn tail_on_ack(&mut self, tx: &mut Transmission, ack: &AckOutcome) {
        let state = &mut tx.state;
        if self.tail.repairs(ack) && state.phase != Phase::Recovery {
            state.window.ssthresh = tx.cc.ssthresh_after_loss(state);
            state.window.cwnd = state.window.cwnd.min(state.window.ssthresh);
        }
    }

    /// Sets the sender's timer, and the probe timer if there is `progress`.
    pub(super) fn set_timer(&mut self, tx: &mut Transmission, now: Instant, progress: bool) {
        let (state, timers) = (&tx.state, &mut self.timers);
        if state.una == state.max || tx.timer.is_frozen() {
            *timers = Timers::default();
            if !tx.timer.is_probing() {
                tx.timer.at = None;
            }
            return;
        }
        let timeout = *timers.retransmission.get_or_insert_with(|| now + tx.rto.value());
        if state.phase == Phase::Open {
            timers.reordering = None;
            if progress && self.probes_tail && self.tail.probe.is_none() {
                // Instead of a timeout that would come first.
                timers.probe = Some((now + probe_timeout(state, tx.rto.srtt())).min(timeout));
            }
        } else {
            timers.probe = None;
        }
        tx.timer.at = Some(timers.next().unwrap_or(timeout));
    }

    /// The sender's timer has expired. Returns false if that is the retransmission timer.
    pub(in crate::tcp::recovery) fn on_timer(&mut self, tx: &mut Transmission, now: Instant) -> bool {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.timers.reordering) {
            self.timers.reordering = None;
            self.on_reordering_timer(tx, now);
        } else if is_due(self.timers.probe) {
            self.timers.probe = None;
            self.tail.is_due = true;
            self.set_timer(tx, now, false);
        } else {
            return false;
        }
        true
    }

    /// (6.2) step 5, the reordering timer.
    fn on_reordering_timer(&mut self, tx: &mut Transmission, now: Instant) {
        self.detection.look_anew();
        let losses = self.detect(tx, now).unwrap_or_default();
        if losses.any() {
            self.new_only = None;
        }
        if losses.any() && tx.state.phase != Phase::Recovery {
            self.enter(tx, now, 0);
            self.reduce(tx, 0, false);
        }
        self.timers.on_ack(now, false, Some(losses));
        self.set_timer(tx, now, false);
    }

    /// TLP_send_probe: (7.3).
    pub(super) fn send_probe(&mut self, tx: &mut Transmission, now: Instant) -> Option<Transmit> {
        if self.tail.probe.is_some() || tx.state.una == tx.state.max {
            return None;
        }
        let is_again = !tx.can_send_new(tx.state.una);
        let transmit = if is_again {
            // `undo` is not notified: it counts the retransmissions of a recovery.
            let last = tx.state.segments.back_mut()?;
            last.mark_retransmitted(now);
            let (start, len) = (last.start, last.len);
            tx.sent(now, start, len, SendCause::TailLossProbe)
        } else {
            tx.send_new(now, tx.new_bytes(), SendCause::New)
        };
        self.tail.probe = Some(Probe { end: tx.state.max, is_again });
        self.timers.restart();
        self.on_sent(tx, now, transmit.len.into());
        Some(transmit)
    }
}

/// TLP_calc_PTO: (7.2), without the bound by the RTO.
fn probe_timeout(state: &State, srtt: Duration) -> Duration {
    if srtt.is_zero() {
        return FIRST_PTO;
    }
    let delay = if state.segments.len() == 1 { MAX_ACK_DELAY } else { Duration::ZERO };
    srtt.saturating_mul(2) + delay
}
