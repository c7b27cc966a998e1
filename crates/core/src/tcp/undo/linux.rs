//! Undo as Linux does it: timestamps (Eifel), reports of duplicates (DSACK) and F-RTO, whichever decides first.
//!
//! * **Eifel**, RFC 3522: an ACK advances and echoes a timestamp from before the first retransmission. While other
//!   retransmissions of a fast recovery are in flight, it undoes nothing, but shows reordering ([`Verdict::Delayed`]).
//! * **DSACK**, RFC 3708: every retransmission was reported as a duplicate, in a recovery or after a timeout. A report
//!   counts while the receiver has reported no more segments than were retransmitted ([`State::count_duplicates`]),
//!   and, for an outstanding segment, only if that was retransmitted: otherwise the network duplicates packets.
//! * **F-RTO**, RFC 5682 (3.1), only after a timeout: data that was never retransmitted is acknowledged or SACKed, so
//!   not everything was lost. New data goes out with the first ACK that advances, and the next ACKs decide.
//!
//! Windows are restored at once to their previous values. Each detection needs its option: Eifel needs timestamps, and
//! reports need DSACK.

use super::{Component, Response, Undo, Verdict};
use crate::registry::parameters;
use crate::tcp::window::scoreboard::AckOutcome;
use crate::tcp::window::state::{Outcome, Phase, Segment, State};

parameters! {
    /// Timestamps, reports of duplicates and F-RTO, whichever decides first, as in Linux.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self) -> Option<Box<dyn Undo>> {
        Some(Box::new(Linux { has_timestamps: false, episode: None, frto: Frto::Off }))
    }
}

struct Linux {
    has_timestamps: bool,
    episode: Option<Episode>,
    frto: Frto,
}

/// The latest loss recovery, until it is undone.
struct Episode {
    /// Oldest unacknowledged byte when it started.
    una: u64,
    /// Retransmissions not reported as duplicates, including those outstanding when it started, e.g. tail loss probes.
    unreported: u32,
    /// Timestamp of its first retransmission.
    retransmit_ts: Option<u32>,
}

impl Episode {
    fn begin(state: &State) -> Self {
        let is_in_flight = |segment: &&Segment| {
            segment.transmissions > 1 && !segment.is_sacked && segment.outcome != Outcome::Lost
        };
        let unreported = state.segments.iter().filter(is_in_flight).count() as u32;
        Self { una: state.una, unreported, retransmit_ts: None }
    }
}

/// Steps of RFC 5682 (3.1).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frto {
    Off,
    /// A timeout: an ACK that advances is awaited.
    First,
    /// New data was sent beyond this offset.
    Second(u64),
}

impl Undo for Linux {
    fn on_loss(&mut self, state: &State, is_timeout: bool, first: bool) {
        if first {
            self.episode = Some(Episode::begin(state));
        }
        // (3.1) step 1: not for a timeout in a recovery, except for a repeated timeout of the same segment.
        let is_new = first || self.episode.as_ref().is_some_and(|episode| episode.una == state.una);
        let applies = is_timeout && state.phase != Phase::Recovery && is_new;
        self.frto = if applies { Frto::First } else { Frto::Off };
    }

    fn on_timestamps(&mut self) {
        self.has_timestamps = true;
    }

    fn on_retransmission(&mut self, _range: (u64, u64), ts_val: u32) {
        if let Some(episode) = &mut self.episode {
            episode.retransmit_ts.get_or_insert(ts_val);
            episode.unreported += 1;
        }
    }

    fn on_ack(&mut self, state: &State, ack: &AckOutcome) -> Verdict {
        if self.is_reported(state, ack) {
            return self.spurious();
        }
        match self.by_timestamp(state, ack) {
            Verdict::Open => {}
            Verdict::Spurious => return self.spurious(),
            verdict => return verdict,
        }
        if state.phase != Phase::Loss || self.frto == Frto::Off {
            return Verdict::Open;
        }
        if is_original_delivered(state, ack) {
            return self.spurious();
        }
        let advances = ack.ack > state.una;
        match self.frto {
            Frto::Second(end) if state.max > end => {
                if ack.is_dupack {
                    self.frto = Frto::Off;
                    return Verdict::Genuine;
                }
                Verdict::Open
            }
            Frto::First | Frto::Second(_) if advances && state.recover.is_some_and(|end| ack.ack < end) => {
                if !ack.can_send_new {
                    self.frto = Frto::Off;
                    return Verdict::Open;
                }
                self.frto = Frto::Second(state.max);
                Verdict::Probe
            }
            Frto::Off | Frto::First | Frto::Second(_) => Verdict::Open,
        }
    }

    fn adapts_timer(&self) -> bool {
        false
    }

    fn response(&self) -> Response {
        Response::Restore
    }
}

impl Linux {
    fn spurious(&mut self) -> Verdict {
        (self.episode, self.frto) = (None, Frto::Off);
        Verdict::Spurious
    }

    /// The last retransmission that was not yet reported as a duplicate now is.
    fn is_reported(&mut self, state: &State, ack: &AckOutcome) -> bool {
        let (Some(episode), Some(range)) = (&mut self.episode, ack.sack.duplicate) else { return false };
        if episode.unreported == 0 || ack.spurious == 0 || range.1 <= episode.una {
            return false;
        }
        let segments = if range.1 <= state.una {
            ack.spurious
        } else {
            state.segments_within(range).filter(|segment| segment.transmissions > 1).count() as u64
        };
        episode.unreported = episode.unreported.saturating_sub(segments as u32);
        episode.unreported == 0 && episode.retransmit_ts.is_some()
    }

    /// Whether the ACK was sent for an original.
    fn by_timestamp(&self, state: &State, ack: &AckOutcome) -> Verdict {
        let Some(first) = self.episode.as_ref().and_then(|episode| episode.retransmit_ts) else {
            return Verdict::Open;
        };
        let is_older = (ack.ts_ecr.wrapping_sub(first) as i32) < 0;
        if !self.has_timestamps || ack.ack <= state.una || !is_older {
            return Verdict::Open;
        }
        let is_partial = state.phase == Phase::Recovery && state.recover.is_some_and(|end| ack.ack < end);
        let mut left = state.segments.iter().filter(|segment| segment.end() > ack.ack);
        let is_repairing = is_partial && left.any(|segment| segment.outcome == Outcome::Retransmitted);
        if is_repairing { Verdict::Delayed } else { Verdict::Spurious }
    }
}

/// Whether the ACK acknowledges or SACKs, for the first time, data that was sent only once and before the timeout.
fn is_original_delivered(state: &State, ack: &AckOutcome) -> bool {
    let end = state.recover.unwrap_or(state.max);
    let acked = state.segments.iter().take_while(|segment| segment.end() <= ack.ack.min(end));
    let mut acked = acked.filter(|segment| !segment.is_sacked);
    // With RACK the scoreboard survives a timeout, so any original (S)ACKed for the first time proves delivery.
    // Without it, an ACK that also covers a retransmitted segment proves nothing: the other segments it covers or
    // SACKs may have arrived before the timeout.
    if state.segments.iter().any(|segment| segment.outcome != Outcome::InFlight) {
        return ack.sack.first_original.is_some_and(|first| first <= end)
            || acked.any(|segment| segment.transmissions == 1);
    }
    ack.ack > state.una && acked.clone().count() > 0 && acked.all(|segment| segment.transmissions == 1)
}
