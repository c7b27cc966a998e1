//! Why a segment was sent again, told from outside: what the sender had heard by then, and when.
//!
//! The rules look at the oldest unacknowledged byte (`una`), the end of what has been sent (`max`), and the latest
//! ACK. A retransmission goes **with an ACK** if it passes at most [`REACTION`] and the time that an ACK takes to the
//! sender and its answer back later, or that behind another which did.
//!
//! * At `una`, with the third duplicate ACK or a later one and not yet sent again: a *fast retransmit*
//!   (RFC 5681 (3.2)). With SACK blocks above and no recovery under way, an ACK less will do (RFC 6675 (5)), and so
//!   will a short while later (RFC 8985: the reordering timer).
//! * At `una`, with an ACK that moved it: a *partial ACK* of a recovery (RFC 6582 (3.2)), or, after a timeout, *going
//!   back*. Of a sender that has filled holes above `una` in a recovery, *by SACK*.
//! * A *fast retransmit* after a timeout, without SACK blocks, shows a sender as in RFC 5681: its recovery ends with the
//!   next ACK that moves `una`, and it continues *going back*. RFC 6582 (4) forbids that fast retransmit.
//! * At `una`, with an earlier duplicate ACK, not yet sent again and without SACK: a *fast retransmit* of a sender whose
//!   threshold has fallen (Linux without SACK); in a recovery a *partial ACK*'s, kept back by the reduction (RFC 9937).
//! * At `una`, sent again before, and something sent after that has arrived: lost again. A sender with RACK (RFC 8985)
//!   sends it *by SACK* in a recovery, and begins one with a *fast retransmit* after a timeout; with an ACK, or soon
//!   after the first that told.
//! * At `una` otherwise: a *timeout*. Each expiration of the timer counts, backed-off ones too.
//! * Above `una`: *by SACK* in a recovery, *going back* after a timeout, with an ACK in neither the *fast retransmit*
//!   that begins one; the last segment of all with no ACK, a *tail probe* (RFC 8985 (7)).
//!
//! Not to be told: a timer that expires just when an ACK comes; a tail probe of the only segment in flight, which is a
//! *timeout* here until the sender has shown that it knows RACK; a reordering timer that expires as late as the
//! retransmission timer would; the first retransmission that RACK makes with a partial ACK, before the sender has shown
//! that it goes by SACK; and whether a retransmission made before a timeout is lost again or retransmitted for the timeout.
//!
//! Far from the sender, as what was lost before it came here shows too, nobody knows what it had heard. There a
//! retransmission at `una` is by *timeout* if the data had paused for longer than the answer to an ACK takes and
//! 200 ms more, the smallest timeout in use; a *fast retransmit* with three duplicate ACKs for it; and what its phase
//! suggests otherwise.
//!
//! The timer runs from the latest ACK that moved `una` and the latest cut; in a recovery, from the
//! first partial ACK: RFC 6582 (3.2). It retransmits nothing that was sent less than Linux's timeout before, as the RTTs
//! seen here give it. With SACK blocks above `una`, a retransmission before that time is a *fast retransmit*, by the
//! reordering timer of RFC 8985.
//!
//! A cut that was needless is **undone** if the sender shows it: with the window of the cut not acknowledged it goes on
//! with new data. Then it ends its episode, as in a run.
//!
//! What a cut, a fast retransmit or a timeout, means for its window is [`LossEpisodes`]' business: an episode is here
//! what it is in a run.

use airpath_core::tcp::window::loss_episodes::{Cut, LossEpisodes, Report as Episodes};
use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::series::{Marks, Series};

/// What a host takes to answer.
const REACTION: Duration = Duration::from_millis(1);
/// What a host takes to answer at once, so that a timer which expires then is unlikely.
const PROMPTLY: Duration = Duration::from_nanos(100_000);
/// What Linux adds to its reordering timer, and rounding: three ticks of a clock of 250 Hz. A timeout may be as much
/// sooner than round trips tell.
const TIMER_SLACK: Duration = Duration::from_millis(12);
/// The smallest retransmission timeout of systems in use.
pub(super) const SMALLEST_TIMEOUT: Duration = Duration::from_millis(200);
/// RFC 5681 (3.2).
const THRESHOLD: u32 = 3;
/// Windows are counted up to here, segments.
const LARGEST_WINDOW: u64 = 1_000_000;

/// Why a segment was sent again.
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
    /// None of these can be told.
    Other,
}

/// Something for each cause.
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

/// Segments sent again by cause.
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

/// Where the sender stands when it sends again.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Offset of the first byte sent again.
    pub start: u64,
    /// Offset behind the last.
    pub end: u64,
    /// Oldest unacknowledged byte.
    pub una: u64,
    /// End of what has been sent.
    pub max: u64,
    /// Payload of a full segment.
    pub mss: u64,
    /// Something above `una` was reported by SACK blocks.
    pub has_sacked: bool,
    /// From an ACK's passing to that of its answer, at most, where the sender is not at hand.
    pub answer: Duration,
    /// Its first transmission was seen here, and not lost before it came.
    pub was_seen: bool,
    /// RFC 7413 (4.2.2): data of the SYN that its answer did not acknowledge is retransmitted at once.
    pub is_refused: bool,
    /// When it was last sent before this.
    pub last_at: Option<Instant>,
    /// That was not the first time.
    pub was_sent_again: bool,
    /// Linux's timeout as the round trips give it.
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
    /// The latest transmission that went with an ACK.
    with_ack: Option<Instant>,
    timeout_at: Option<Instant>,
    /// When the threshold of duplicate ACKs was reached.
    threshold_at: Option<Instant>,
    /// When the retransmission timer was last started.
    timer_from: Instant,
    /// `una` was sent again since it is `una`.
    is_sent_again: bool,
    latest_data: Option<Instant>,
    /// Since when the sender can know that the left edge, as it was last sent, has been overtaken.
    overtaken_at: Option<Instant>,
    /// Holes were filled in a recovery while the left edge had been: the sender goes by SACK blocks.
    goes_by_sack: bool,
    /// The sender has shown RACK-TLP: a retransmission that was lost was sent again with an ACK, or a tail probe.
    goes_by_rack: bool,
    /// The timer was started by a partial ACK of this recovery.
    had_partial_ack: bool,
    /// The recovery interrupted the retransmission of the window after a timeout, which ends here.
    interrupted: Option<u64>,
    /// The latest cut was needless: what is sent next says whether the sender knows.
    awaits_undo: bool,
    losses: LossEpisodes,
    counts: Counts,
    over_time: Option<Box<ByCause<Series>>>,
}

impl Causes {
    /// An ACK moved `una` here.
    pub fn on_advance(&mut self, now: Instant, una: u64) {
        self.latest_ack = Some(now);
        self.has_advanced = true;
        self.dupacks = 0;
        self.threshold_at = None;
        self.is_sent_again = false;
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

    /// An ACK that neither moved `una` nor is a duplicate: a window update, or new SACK blocks.
    pub fn on_other_ack(&mut self, now: Instant) {
        self.latest_ack = Some(now);
        self.has_advanced = false;
    }

    /// Whether something sent behind the latest transmission of the left edge is known to have arrived.
    pub fn set_overtaken(&mut self, now: Instant, is_overtaken: bool) {
        self.overtaken_at = is_overtaken.then(|| self.overtaken_at.unwrap_or(now));
    }

    /// New data was sent; `is_first` if nothing was in flight.
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

    /// Tells why a segment is sent again, and counts it.
    pub fn handle_retransmission(&mut self, now: Instant, place: &Place) -> Cause {
        self.awaits_undo = false;
        self.goes_by_sack |=
            matches!(self.phase, Phase::Recovery { .. }) && place.start > place.una && place.has_sacked;
        let cause = self.cause(now, place);
        self.goes_by_rack |= cause == Cause::TailProbe
            || cause == Cause::Sack && place.start <= place.una && place.was_sent_again;
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
            self.is_sent_again = true;
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
        if place.is_refused && !place.was_sent_again {
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
        if with_ack && self.has_advanced && !self.is_sent_again {
            return match self.phase {
                Phase::Recovery { .. } if self.goes_by_sack => Cause::Sack,
                Phase::Recovery { .. } => Cause::Partial,
                Phase::Loss { .. } => Cause::GoBackN,
                Phase::Open if place.has_sacked || self.goes_by_sack => Cause::Fast,
                Phase::Open => Cause::Partial,
            };
        }
        let reaches = self.dupacks >= THRESHOLD && !self.is_sent_again;
        if with_ack && (self.dupacks == THRESHOLD || reaches) {
            match self.phase {
                Phase::Recovery { .. } if self.goes_by_sack => return Cause::Sack,
                // Without a scoreboard only the timer sends it once more.
                Phase::Recovery { .. } if self.is_sent_again && !place.has_sacked => return Cause::Timeout,
                Phase::Recovery { .. } if self.is_sent_again => return Cause::Sack,
                Phase::Recovery { .. } | Phase::Loss { .. } | Phase::Open => return Cause::Fast,
            }
        }
        if self.goes_with_duplicate(now) && !self.is_sent_again && !place.has_sacked {
            return match self.phase {
                Phase::Recovery { .. } => Cause::Partial,
                Phase::Loss { .. } => Cause::GoBackN,
                Phase::Open => Cause::Fast,
            };
        }
        let is_open = self.phase == Phase::Open && !self.is_sent_again;
        if is_open && place.has_sacked && (with_ack || self.is_soon(now, place)) {
            return Cause::Fast;
        }
        if is_open && self.goes_by_rack && !with_ack && place.end >= place.max {
            return Cause::TailProbe;
        }
        if self.is_lost_again(now, place) {
            return if matches!(self.phase, Phase::Recovery { .. }) { Cause::Sack } else { Cause::Fast };
        }
        Cause::Timeout
    }

    /// Soon after the duplicate ACKs, or too soon for a timer: one counts at least from when the segment was sent.
    fn is_soon(&self, now: Instant, place: &Place) -> bool {
        let Some(from) = self.threshold_at.or(self.overtaken_at).or(self.latest_ack) else { return false };
        let times = place.last_at.zip(place.timeout);
        let is_before_timeout = times.is_some_and(|(sent, timeout)| now.since(sent) + TIMER_SLACK < timeout);
        is_before_timeout || now.since(from) <= Self::reordering_timer(place)
    }

    /// What a sender waits at most before something overtaken is lost. RFC 8985 (6.2): a quarter of the shortest round
    /// trip of its data, which may be twice that of a SYN, and more after reports of duplicates.
    fn reordering_timer(place: &Place) -> Duration {
        place
            .shortest_rtt
            .map_or(Duration::ZERO, |rtt| Duration::from_nanos(rtt.as_nanos() / 2) + TIMER_SLACK)
    }

    /// The left edge, as it was last sent, is lost, and the sender knows: what was sent behind it has arrived
    /// (RFC 8985 (6.2)), and it acts on that with an ACK or soon after.
    fn is_lost_again(&self, now: Instant, place: &Place) -> bool {
        let Some(at) = self.overtaken_at else { return false };
        self.follows_ack(now, PROMPTLY) || now.since(at) <= Self::reordering_timer(place)
    }

    /// With a duplicate ACK, and hardly by a timer that expires just then.
    fn goes_with_duplicate(&self, now: Instant) -> bool {
        let is_early = now.since(self.timer_from) < SMALLEST_TIMEOUT;
        self.dupacks > 0 && self.follows_ack(now, if is_early { REACTION } else { PROMPTLY })
    }

    fn goes_with_ack(&self, now: Instant, answer: Duration) -> bool {
        self.latest_ack.is_some_and(|at| now.since(at) <= REACTION + answer)
            || self.follows_ack(now, REACTION)
    }

    /// An ACK has just come, or what is sent follows something that went with one.
    fn follows_ack(&self, now: Instant, within: Duration) -> bool {
        self.latest_ack.into_iter().chain(self.with_ack).any(|at| now.since(at) <= within)
    }

    /// The latest cut was needless: whether the sender knows shows in what it sends next.
    /// After a fast retransmit new data may go on all the same: `has_evidence` is whether the sender can know.
    pub fn on_spurious(&mut self, has_evidence: bool) {
        self.awaits_undo = match self.phase {
            Phase::Loss { .. } => true,
            Phase::Recovery { .. } => has_evidence,
            Phase::Open => false,
        };
    }

    /// As in a run with undo.
    fn undo(&mut self) {
        self.losses.on_undo();
        self.phase = Phase::Open;
    }

    /// Segments sent again so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Retransmissions by cause over time, in seconds since `start`.
    pub fn over_time(&self, start: Instant) -> ByCause<Marks> {
        self.over_time.as_deref().map(|all| all.map(|series| series.marks(start))).unwrap_or_default()
    }

    /// Bytes it takes beyond itself, about.
    pub fn bytes(&self) -> usize {
        self.over_time.as_deref().map_or(0, ByCause::bytes)
    }

    /// Loss episodes so far; windows are what was in flight.
    pub fn episodes(&self) -> Episodes {
        self.losses.report()
    }
}
