//! Causes of retransmissions, inferred from the packets that the sender had received by then, and their times.
//!
//! The rules look at the oldest unacknowledged byte (`una`), the end of the data sent so far (`max`), and the latest
//! ACK. A retransmission goes **with an ACK** if it passes within [`REACTION`] plus the time from an ACK passing here
//! to the segment that it triggers, or within that time after another such segment.
//!
//! | segment | when | cause |
//! |---|---|---|
//! | at `una`, not yet retransmitted | with the third or a later duplicate ACK | *fast retransmit*, RFC 5681 (3.2) |
//! | | SACK blocks above `una`, no recovery: with an ACK or soon after it | *fast retransmit*: RFC 6675 (5), reordering timer of RFC 8985 |
//! | | no SACK: with an earlier duplicate ACK | *fast retransmit* of a sender whose threshold has fallen (Linux without SACK); in a recovery *partial ACK*, delayed by the reduction (RFC 9937) |
//! | | with an ACK that moved `una` | *partial ACK* of a recovery (RFC 6582 (3.2)); *SACK* of a sender that has filled gaps above `una`; after a timeout *going back* |
//! | at `una`, retransmitted before | a segment sent later has arrived: with an ACK or soon after | *SACK* in a recovery, else *fast retransmit* (RFC 8985) |
//! | at `una` | otherwise | *timeout*; each expiration counts, backed-off ones too |
//! | above `una` | in a recovery | *SACK* |
//! | | after a timeout | *going back* |
//! | | no recovery, with an ACK | *fast retransmit* that begins one |
//! | | no recovery, without an ACK, the last segment | *tail probe* (RFC 8985 (7)) |
//!
//! A *fast retransmit* after a timeout, without SACK blocks, shows a sender as in RFC 5681: its recovery ends with the
//! next ACK that moves `una`, and it continues *going back*. RFC 6582 (4) forbids that fast retransmit.
//!
//! At the sender two causes look alike in the following cases. Each has one rule; `tools/causes_table.py` counts how often
//! it is wrong:
//!
//! * a retransmission timer that expires within [`REACTION`] of an ACK that would cause the retransmission too: the
//!   ACK's cause;
//! * the only segment in flight, retransmitted without an ACK: *timeout*, and *tail probe* once the sender has shown RACK
//!   by a tail probe or by retransmitting a lost retransmission;
//! * a segment at `una` with SACK blocks above it, retransmitted without an ACK after more than the reordering timer
//!   and not before Linux's timeout: *timeout*;
//! * a lost retransmission at `una` that a paced sender with RACK repeats without an ACK: *SACK* if less than 200 ms after
//!   it, the minimum RTO in use; else *timeout*;
//! * the first retransmission of a recovery by RACK, with a partial ACK: *partial ACK*, and *SACK* once the sender has
//!   filled a gap above `una`;
//! * a segment retransmitted in a recovery, and again after a timeout with an ACK: *going back*, unless a segment sent
//!   later has arrived.
//!
//! Far from the sender, losses before the capture look like segments that were never sent, and the packets received by
//! the sender are unknown. There a retransmission at `una` is a *timeout* if no data passed for the time from an ACK to
//! its answer and 200 ms more, the minimum RTO in use; a *fast retransmit* with three duplicate ACKs for it; and
//! otherwise the cause that fits the phase.
//!
//! The timer starts with the latest ACK that moved `una` and with the latest reduction of the window; in a recovery,
//! with the first partial ACK: RFC 6582 (3.2). It retransmits no segment sent less than Linux's timeout before, as
//! computed from the RTTs seen here. With SACK blocks above `una`, a retransmission before that time is a *fast
//! retransmit*, by the reordering timer of RFC 8985.
//!
//! A spurious reduction is **undone** if the sender shows it: it sends new data although the window of the reduction is
//! not acknowledged. The undo ends the episode, as in a run.
//!
//! [`LossEpisodes`] turns fast retransmits and timeouts into loss episodes, by the same code as a run.

use airpath_core::tcp::window::loss_episodes::{Cut, LossEpisodes, Report as Episodes};
use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::series::{Marks, Series};

/// Time that a host takes to answer.
const REACTION: Duration = Duration::from_millis(1);
/// Time that a host takes to answer at once. It is so short that a timer is unlikely to expire within it.
const PROMPTLY: Duration = Duration::from_nanos(100_000);
/// Time that Linux adds to its reordering timer, and rounding: three ticks of a clock of 250 Hz. A timeout may occur
/// earlier by this much than computed from RTTs.
const TIMER_SLACK: Duration = Duration::from_millis(12);
/// The smallest retransmission timeout of systems in use.
pub(super) const SMALLEST_TIMEOUT: Duration = Duration::from_millis(200);
/// RFC 5681 (3.2).
const THRESHOLD: u32 = 3;
/// Largest window that is counted, segments.
const LARGEST_WINDOW: u64 = 1_000_000;

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate ACKs or SACK blocks.
    Fast,
    /// A partial ACK in a recovery.
    Partial,
    /// SACK blocks in a recovery.
    Sack,
    /// The retransmission timer expired.
    Timeout,
    /// After a timeout, with the ACKs that followed.
    GoBackN,
    /// The last segment, to provoke an ACK.
    TailProbe,
    /// None of the other causes: data of a SYN that the reply refused, or no ACK and no phase that explains the
    /// retransmission.
    Other,
}

/// A value for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByCause<T> {
    pub fast_retransmit: T,
    pub partial_ack: T,
    pub sack: T,
    pub timeout: T,
    pub go_back_n: T,
    pub tail_probe: T,
    pub other: T,
}

/// Retransmissions by cause.
pub type Counts = ByCause<u64>;

impl<T> ByCause<T> {
    fn of(&mut self, cause: Cause) -> &mut T {
        match cause {
            Cause::Fast => &mut self.fast_retransmit,
            Cause::Partial => &mut self.partial_ack,
            Cause::Sack => &mut self.sack,
            Cause::Timeout => &mut self.timeout,
            Cause::GoBackN => &mut self.go_back_n,
            Cause::TailProbe => &mut self.tail_probe,
            Cause::Other => &mut self.other,
        }
    }
}

impl ByCause<Series> {
    fn map<T>(&self, mut to: impl FnMut(&Series) -> T) -> ByCause<T> {
        ByCause {
            fast_retransmit: to(&self.fast_retransmit),
            partial_ack: to(&self.partial_ack),
            sack: to(&self.sack),
            timeout: to(&self.timeout),
            go_back_n: to(&self.go_back_n),
            tail_probe: to(&self.tail_probe),
            other: to(&self.other),
        }
    }

    fn bytes(&self) -> usize {
        let mut bytes = size_of::<Self>();
        self.map(|series| bytes += series.bytes());
        bytes
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
    },
}

/// State of the sender at a retransmission.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Offset of the first retransmitted byte.
    pub start: u64,
    /// End offset (exclusive).
    pub end: u64,
    /// Oldest unacknowledged byte.
    pub una: u64,
    /// End of the data sent so far.
    pub max: u64,
    /// Payload of a full segment.
    pub mss: u64,
    /// SACK blocks have reported data above `una`.
    pub has_sacked: bool,
    /// Longest time from an ACK to its answer, where the capture is not at the sender; else zero.
    pub answer: Duration,
    /// Its first transmission was captured, and not lost before the capture.
    pub was_seen: bool,
    /// RFC 7413 (4.2.2): data of the SYN that its answer did not acknowledge is retransmitted at once.
    pub is_refused: bool,
    /// Time of its latest transmission before this one.
    pub last_at: Option<Instant>,
    /// Whether that transmission was a retransmission, too.
    pub was_retransmitted: bool,
    /// Linux's timeout, computed from the RTTs.
    pub timeout: Option<Duration>,
    pub shortest_rtt: Option<Duration>,
}

/// Follows a sender through its recoveries.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    phase: Phase,
    dupacks: u32,
    latest_ack: Option<Instant>,
    /// The latest ACK moved `una`.
    has_advanced: bool,
    /// Time of the latest transmission with an ACK.
    with_ack: Option<Instant>,
    timeout_at: Option<Instant>,
    /// When the threshold of duplicate ACKs was reached.
    threshold_at: Option<Instant>,
    /// When the retransmission timer was last started.
    timer_from: Instant,
    /// The segment at `una` was retransmitted since it is the oldest.
    is_retransmitted: bool,
    latest_data: Option<Instant>,
    /// Earliest time when the sender could know that a segment sent after the latest transmission at `una` has arrived.
    overtaken_at: Option<Instant>,
    /// Gaps above `una` were filled in a recovery: the sender uses SACK blocks.
    goes_by_sack: bool,
    /// The sender has shown RACK-TLP, by a tail probe or by retransmitting a lost retransmission with an ACK.
    goes_by_rack: bool,
    /// The timer was started by a partial ACK of this recovery.
    had_partial_ack: bool,
    /// The recovery interrupted the retransmission of the window after a timeout, which ends here.
    interrupted: Option<u64>,
    /// The latest reduction was spurious: the next segment shows whether the sender knows.
    awaits_undo: bool,
    losses: LossEpisodes,
    counts: Counts,
    over_time: Option<Box<ByCause<Series>>>,
}

impl Causes {
    /// Handles an ACK that moved `una`.
    pub fn on_advance(&mut self, now: Instant, una: u64) {
        self.latest_ack = Some(now);
        self.has_advanced = true;
        self.dupacks = 0;
        self.threshold_at = None;
        self.is_retransmitted = false;
        if let (Phase::Recovery { .. }, Some(end)) = (self.phase, self.interrupted.take()) {
            self.phase = Phase::Loss { end };
        }
        let is_partial = matches!(self.phase, Phase::Recovery { end } if una < end);
        if !is_partial || !std::mem::replace(&mut self.had_partial_ack, true) {
            self.timer_from = now;
        }
        if let Phase::Recovery { end } | Phase::Loss { end } = self.phase
            && una >= end
        {
            self.phase = Phase::Open;
        }
    }

    pub fn on_dupack(&mut self, now: Instant) {
        self.latest_ack = Some(now);
        self.has_advanced = false;
        self.dupacks += 1;
        if self.dupacks == THRESHOLD {
            self.threshold_at = Some(now);
        }
    }

    /// Handles an ACK that neither moved `una` nor is a duplicate: a window update, or new SACK blocks.
    pub fn on_other_ack(&mut self, now: Instant) {
        self.latest_ack = Some(now);
        self.has_advanced = false;
    }

    /// Sets whether a segment sent after the latest transmission at `una` is known to have arrived.
    pub fn set_overtaken(&mut self, now: Instant, is_overtaken: bool) {
        self.overtaken_at = is_overtaken.then(|| self.overtaken_at.unwrap_or(now));
    }

    /// Handles new data; `is_first` if nothing was in flight.
    pub fn on_new_data(&mut self, now: Instant, is_first: bool, answer: Duration) {
        if is_first {
            self.timer_from = now;
        }
        self.latest_data = Some(now);
        if std::mem::take(&mut self.awaits_undo) {
            self.undo();
        }
        if self.goes_with_ack(now, answer) {
            self.with_ack = Some(now);
        }
    }

    /// Returns the cause of a retransmission, and counts it.
    pub fn handle_retransmission(&mut self, now: Instant, place: &Place) -> Cause {
        self.awaits_undo = false;
        self.goes_by_sack |=
            matches!(self.phase, Phase::Recovery { .. }) && place.start > place.una && place.has_sacked;
        let cause = self.cause(now, place);
        self.goes_by_rack |= cause == Cause::TailProbe
            || cause == Cause::Sack && place.start <= place.una && place.was_retransmitted;
        self.latest_data = Some(now);
        *self.counts.of(cause) += 1;
        self.over_time.get_or_insert_default().of(cause).add(now, 1.0);
        let window = place.max.saturating_sub(place.una).div_ceil(place.mss.max(1)).min(LARGEST_WINDOW);
        let cut = Cut { una: place.una, max: place.max, cwnd_segments: window };
        match cause {
            Cause::Fast => {
                self.losses.on_fast_retransmit(now, cut);
                self.interrupted = match self.phase {
                    Phase::Loss { end } if !place.has_sacked => Some(end),
                    _ => None,
                };
                self.phase = Phase::Recovery { end: place.max };
                self.had_partial_ack = false;
            }
            Cause::Timeout => {
                self.losses.on_timeout(now, cut, now.since(self.timer_from));
                self.phase = Phase::Loss { end: place.max };
                self.timeout_at = Some(now);
                self.dupacks = 0;
                self.threshold_at = None;
            }
            _ => {}
        }
        if place.start <= place.una {
            self.is_retransmitted = true;
            self.overtaken_at = None;
        }
        if matches!(cause, Cause::Fast | Cause::Timeout) {
            self.timer_from = now;
        }
        if cause != Cause::Timeout && self.goes_with_ack(now, place.answer) {
            self.with_ack = Some(now);
        }
        cause
    }

    fn cause(&self, now: Instant, place: &Place) -> Cause {
        if place.is_refused && !place.was_retransmitted {
            return Cause::Other;
        }
        let with_ack = self.goes_with_ack(now, place.answer);
        if place.start > place.una {
            return match self.phase {
                Phase::Loss { .. } if with_ack && place.has_sacked && place.last_at >= self.timeout_at => {
                    Cause::Fast
                }
                Phase::Loss { .. } => Cause::GoBackN,
                Phase::Recovery { .. } if self.goes_by_sack => Cause::Sack,
                Phase::Recovery { .. } => Cause::GoBackN,
                Phase::Open if !with_ack && place.end >= place.max => Cause::TailProbe,
                Phase::Open if with_ack && (place.has_sacked || self.goes_by_sack) => Cause::Fast,
                Phase::Open => Cause::Other,
            };
        }
        if place.answer.is_zero() && place.was_seen {
            self.cause_at_hand(now, place, with_ack)
        } else {
            self.cause_from_afar(now, place)
        }
    }

    fn cause_from_afar(&self, now: Instant, place: &Place) -> Cause {
        let pause = self.latest_data.map(|latest| now.since(latest));
        if pause.is_none_or(|pause| pause >= place.answer + SMALLEST_TIMEOUT) {
            return Cause::Timeout;
        }
        let has_reason = self.dupacks >= THRESHOLD || place.has_sacked;
        match self.phase {
            Phase::Open if has_reason => Cause::Fast,
            Phase::Recovery { .. } if self.goes_by_sack => Cause::Sack,
            Phase::Recovery { .. } if self.dupacks >= THRESHOLD && !self.had_partial_ack => Cause::Fast,
            Phase::Recovery { .. } => Cause::Partial,
            Phase::Loss { .. } => Cause::GoBackN,
            Phase::Open => Cause::Other,
        }
    }

    fn cause_at_hand(&self, now: Instant, place: &Place, with_ack: bool) -> Cause {
        if with_ack && self.has_advanced && !self.is_retransmitted {
            return match self.phase {
                Phase::Recovery { .. } if self.goes_by_sack => Cause::Sack,
                Phase::Recovery { .. } => Cause::Partial,
                Phase::Loss { .. } => Cause::GoBackN,
                Phase::Open if place.has_sacked || self.goes_by_sack => Cause::Fast,
                Phase::Open => Cause::Partial,
            };
        }
        let reaches = self.dupacks >= THRESHOLD && !self.is_retransmitted;
        if with_ack && (self.dupacks == THRESHOLD || reaches) {
            match self.phase {
                Phase::Recovery { .. } if self.goes_by_sack => return Cause::Sack,
                // Without a scoreboard only the timer retransmits it a second time.
                Phase::Recovery { .. } if self.is_retransmitted && !place.has_sacked => {
                    return Cause::Timeout;
                }
                Phase::Recovery { .. } if self.is_retransmitted => return Cause::Sack,
                Phase::Recovery { .. } | Phase::Loss { .. } | Phase::Open => return Cause::Fast,
            }
        }
        if self.goes_with_duplicate(now) && !self.is_retransmitted && !place.has_sacked {
            return match self.phase {
                Phase::Recovery { .. } => Cause::Partial,
                Phase::Loss { .. } => Cause::GoBackN,
                Phase::Open => Cause::Fast,
            };
        }
        let is_open = self.phase == Phase::Open && !self.is_retransmitted;
        if is_open && place.has_sacked && (with_ack || self.is_soon(now, place)) {
            return Cause::Fast;
        }
        if is_open && self.goes_by_rack && !with_ack && place.end >= place.max {
            return Cause::TailProbe;
        }
        // A sender that paces its segments may send one long after the ACK that told of its loss.
        let is_before_any_timer = place.last_at.is_some_and(|sent| now.since(sent) < SMALLEST_TIMEOUT);
        let is_paced = self.goes_by_rack && place.has_sacked && is_before_any_timer;
        if is_paced || self.is_lost_again(now, place) {
            return if matches!(self.phase, Phase::Recovery { .. }) { Cause::Sack } else { Cause::Fast };
        }
        Cause::Timeout
    }

    /// Whether it is soon after the duplicate ACKs, or too early for the timer, which starts no earlier than the segment
    /// was sent.
    fn is_soon(&self, now: Instant, place: &Place) -> bool {
        let Some(from) = self.threshold_at.or(self.overtaken_at).or(self.latest_ack) else { return false };
        let times = place.last_at.zip(place.timeout);
        let is_before_timeout = times.is_some_and(|(sent, timeout)| now.since(sent) + TIMER_SLACK < timeout);
        is_before_timeout || now.since(from) <= Self::reordering_timer(place)
    }

    /// Longest time before a sender considers an overtaken segment lost. RFC 8985 (6.2): a quarter of the minimum RTT of
    /// its data, which may be twice that of a SYN, and more after reports of duplicates.
    fn reordering_timer(place: &Place) -> Duration {
        place
            .shortest_rtt
            .map_or(Duration::ZERO, |rtt| Duration::from_nanos(rtt.as_nanos() / 2) + TIMER_SLACK)
    }

    /// Whether the latest transmission at `una` is lost and the sender knows: a segment sent later has arrived (RFC 8985
    /// (6.2)), and the sender reacts with an ACK or soon after.
    fn is_lost_again(&self, now: Instant, place: &Place) -> bool {
        let Some(at) = self.overtaken_at else { return false };
        self.follows_ack(now, PROMPTLY) || now.since(at) <= Self::reordering_timer(place)
    }

    /// Whether it coincides with a duplicate ACK and is unlikely to be caused by a timer at the same time.
    fn goes_with_duplicate(&self, now: Instant) -> bool {
        let is_early = now.since(self.timer_from) < SMALLEST_TIMEOUT;
        self.dupacks > 0 && self.follows_ack(now, if is_early { REACTION } else { PROMPTLY })
    }

    fn goes_with_ack(&self, now: Instant, answer: Duration) -> bool {
        self.latest_ack.is_some_and(|at| now.since(at) <= REACTION + answer)
            || self.follows_ack(now, REACTION)
    }

    /// Whether an ACK, or a segment sent with one, passed `within` this time.
    fn follows_ack(&self, now: Instant, within: Duration) -> bool {
        self.latest_ack.into_iter().chain(self.with_ack).any(|at| now.since(at) <= within)
    }

    /// Notes that the latest reduction was spurious: the next segment shows whether the sender knows. After a fast
    /// retransmit new data may follow anyway: `has_evidence` is whether the sender can know.
    pub fn on_spurious(&mut self, has_evidence: bool) {
        self.awaits_undo = match self.phase {
            Phase::Loss { .. } => true,
            Phase::Recovery { .. } => has_evidence,
            Phase::Open => false,
        };
    }

    /// Ends the episode, like a run with undo.
    fn undo(&mut self) {
        self.losses.on_undo();
        self.phase = Phase::Open;
    }

    /// Retransmissions so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Retransmissions by cause over time, in seconds since `start`.
    pub fn over_time(&self, start: Instant) -> ByCause<Marks> {
        self.over_time.as_deref().map(|all| all.map(|series| series.marks(start))).unwrap_or_default()
    }

    /// Approximate heap memory, bytes.
    pub fn bytes(&self) -> usize {
        self.over_time.as_deref().map_or(0, ByCause::bytes)
    }

    /// Loss episodes so far; their windows are the data in flight.
    pub fn episodes(&self) -> Episodes {
        self.losses.report()
    }
}
