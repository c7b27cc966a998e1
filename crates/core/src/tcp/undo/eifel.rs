//! Eifel detection: the first acceptable ACK echoes a timestamp from before the first retransmission, so it
//! is the original that has arrived. RFC 3522 (3.2). Needs timestamps.
//!
//! Timeouts and fast retransmits alike. DEVIATION: the response of RFC 4015 is defined for timeouts; here it
//! also answers fast retransmits, as in [RFC 3522] (3.2) step RESP and the drafts before it.
//!
//! Before these RFCs the algorithm stored both windows at the retransmission and put them back at once
//! (R. Ludwig, R. H. Katz, *The Eifel Algorithm*, CCR 30(1), 2000; \[lundsten2002\] 3.1.4): `response = "restore"`.

use super::{Component, Response, Undo, Verdict};
use crate::registry::parameters;
use crate::tcp::window::scoreboard::AckOutcome;
use crate::tcp::window::state::State;

parameters! {
    /// Timestamps distinguish originals from retransmissions: RFC 3522. Requires `timestamps = true`.
    pub struct Config {
        /// How the windows are restored after a spurious recovery: `rfc4015` from the data in flight, without a burst;
        /// `restore` to their previous values.
        pub response: Response,
    }
}

impl Component for Config {
    fn build(&self) -> Option<Box<dyn Undo>> {
        Some(Box::new(Eifel { response: self.response, episode: None, has_seen_dsack: false }))
    }
}

struct Eifel {
    response: Response,
    episode: Option<Episode>,
    /// The receiver reports duplicates: step 5.
    has_seen_dsack: bool,
}

/// A loss recovery without any acknowledgment so far.
#[derive(Clone, Copy)]
enum Episode {
    /// Nothing has been retransmitted.
    Begins,
    /// `RetransmitTS` of step 2: not overwritten by later retransmissions.
    Sent { retransmit_ts: u32 },
}

impl Undo for Eifel {
    fn on_loss(&mut self, _state: &State, _is_timeout: bool, first: bool) {
        if first {
            self.episode = Some(Episode::Begins);
        }
    }

    fn on_retransmission(&mut self, _range: (u64, u64), ts_val: u32) {
        if let Some(episode @ Episode::Begins) = &mut self.episode {
            *episode = Episode::Sent { retransmit_ts: ts_val };
        }
    }

    fn on_ack(&mut self, state: &State, ack: &AckOutcome) -> Verdict {
        let had_seen_dsack = self.has_seen_dsack;
        self.has_seen_dsack |= ack.sack.duplicate.is_some();
        // Step 3: an acceptable ACK.
        if ack.ack <= state.una {
            return Verdict::Open;
        }
        let Some(Episode::Sent { retransmit_ts }) = self.episode.take() else { return Verdict::Open };
        let is_older = (ack.ts_ecr.wrapping_sub(retransmit_ts) as i32) < 0;
        // Step 5: if everything is acknowledged, all originals may have been lost despite their timestamps, unless the
        // receiver is known to report duplicates.
        let is_certain = ack.sack.duplicate.is_none() && (had_seen_dsack || ack.ack < state.max);
        if is_older && is_certain { Verdict::Spurious } else { Verdict::Open }
    }

    fn response(&self) -> Response {
        self.response
    }
}
