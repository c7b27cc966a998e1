//! Undo by DSACK: every retransmission of a loss recovery was reported as a duplicate, so nothing was lost.
//! RFC 3708 (3).
//!
//! The proof comes a round trip after the retransmissions, for timeouts and fast retransmits alike. Windows are
//! restored at once. A report of a segment that was not retransmitted, or is reported for a second time, shows that the
//! network duplicates packets: further reports prove nothing for this recovery. Left out: RFC 3708's slow start back to
//! the old window.

use super::{Component, Response, Undo, Verdict};
use crate::registry::parameters;
use crate::tcp::window::scoreboard::AckOutcome;
use crate::tcp::window::state::State;

parameters! {
    /// Every retransmission was reported as a duplicate: RFC 3708. Requires `sack = true`, `dsack = true`.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self) -> Option<Box<dyn Undo>> {
        Some(Box::new(Dsack { episode: None }))
    }
}

struct Dsack {
    episode: Option<Episode>,
}

/// The latest loss recovery, until it is undone or reports cannot be trusted.
struct Episode {
    /// Oldest unacknowledged byte when it started.
    una: u64,
    /// Ranges retransmitted and not reported as duplicates. A segment that was retransmitted twice is there twice.
    unreported: Vec<(u64, u64)>,
}

impl Undo for Dsack {
    fn on_loss(&mut self, state: &State, _is_timeout: bool, first: bool) {
        if first {
            self.episode = Some(Episode { una: state.una, unreported: Vec::new() });
        }
    }

    fn on_retransmission(&mut self, range: (u64, u64), _ts_val: u32) {
        if let Some(episode) = &mut self.episode {
            episode.unreported.push(range);
        }
    }

    fn on_ack(&mut self, _state: &State, ack: &AckOutcome) -> Verdict {
        let (Some(episode), Some((left, right))) = (&mut self.episode, ack.sack.duplicate) else {
            return Verdict::Open;
        };
        if left < episode.una {
            // Belongs to an earlier recovery.
            return Verdict::Open;
        }
        let found = episode.unreported.iter().position(|(start, end)| *start < right && left < *end);
        let Some(index) = found else {
            self.episode = None;
            return Verdict::Open;
        };
        episode.unreported.swap_remove(index);
        if !episode.unreported.is_empty() {
            return Verdict::Open;
        }
        self.episode = None;
        Verdict::Spurious
    }

    fn response(&self) -> Response {
        Response::Restore
    }
}
