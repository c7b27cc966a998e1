//! Undo by DSACK: every retransmission of a loss recovery was reported as a duplicate, so nothing was lost.
//! RFC 3708 (3), with the counting of Linux (`undo_marker`, `undo_retrans`).
//!
//! Comes late, a round trip after the retransmissions, but for timeouts and fast retransmits alike. Windows
//! are restored at once. Left out: RFC 3708's slow start back to the old window, and its guards against a
//! network that duplicates packets.

use super::{Component, Response, Undo, Verdict};
use crate::registry::parameters;
use crate::tcp::window::scoreboard::AckOutcome;
use crate::tcp::window::state::State;

parameters! {
    /// Every retransmission was reported as a duplicate: RFC 3708. Wants `sack = true`, `dsack = true`.
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

/// The latest loss recovery, until it is undone.
struct Episode {
    /// Where it began (`undo_marker`).
    una: u64,
    /// Retransmissions not reported as duplicates (`undo_retrans`), `None` before the first.
    unreported: Option<u32>,
}

impl Undo for Dsack {
    fn on_loss(&mut self, state: &State, _is_timeout: bool, first: bool) {
        if first {
            self.episode = Some(Episode { una: state.una, unreported: None });
        }
    }

    fn on_retransmission(&mut self, _ts_val: u32) {
        if let Some(episode) = &mut self.episode {
            episode.unreported = Some(episode.unreported.unwrap_or(0) + 1);
        }
    }

    fn on_ack(&mut self, _state: &State, ack: &AckOutcome) -> Verdict {
        let (Some(episode), Some((left, _))) = (&mut self.episode, ack.sack.duplicate) else {
            return Verdict::Open;
        };
        if let Some(unreported) = episode.unreported.as_mut().filter(|_| left >= episode.una) {
            *unreported = unreported.saturating_sub(1);
            if *unreported == 0 {
                self.episode = None;
                return Verdict::Spurious;
            }
        }
        Verdict::Open
    }

    fn response(&self) -> Response {
        Response::Restore
    }
}
