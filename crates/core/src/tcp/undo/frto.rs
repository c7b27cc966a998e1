//! F-RTO: after a timeout the first ACK is answered with new data; if the next one advances too, it acknowledges
//! originals, and the timeout was spurious. RFC 5682: the basic algorithm (2.1), and where SACK blocks arrive
//! the enhanced one (3.1).
//!
//! Handles timeouts only. If there is no new data to send, it takes the recommended option and continues as after any
//! timeout. The response is that of RFC 4015.

use super::{Component, Undo, Verdict};
use crate::registry::parameters;
use crate::tcp::window::scoreboard::AckOutcome;
use crate::tcp::window::state::State;

parameters! {
    /// New data after a timeout shows whether it was spurious: RFC 5682. With `sack = true` the SACK-enhanced
    /// form.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self) -> Option<Box<dyn Undo>> {
        Some(Box::new(Frto { step: Step::Off, scoreboard: false }))
    }
}

struct Frto {
    step: Step,
    /// SACK information is used: section 3.
    scoreboard: bool,
}

/// Steps of section 2.1 and 3.1.
#[derive(Clone, Copy)]
enum Step {
    Off,
    /// Step 2: waits for the first ACK after the retransmission of the segment that ends here.
    First {
        end: u64,
    },
    /// Step 3: two new segments were sent from `recover` on, the second ACK is awaited.
    Second {
        recover: u64,
    },
}

impl Undo for Frto {
    fn on_loss(&mut self, state: &State, is_timeout: bool, first: bool) {
        // Step 1: not for a timeout in a recovery that has begun with one.
        let end = state.segments.front().map_or(state.una, |segment| segment.end());
        self.step = if is_timeout && first { Step::First { end } } else { Step::Off };
    }

    fn on_ack(&mut self, state: &State, ack: &AckOutcome) -> Verdict {
        self.scoreboard |= ack.sack.sacked > 0;
        let advances = ack.ack > state.una;
        match self.step {
            Step::Off => Verdict::Open,
            Step::First { .. } if self.scoreboard && !advances => Verdict::Open,
            Step::First { end } => {
                if !advances && !ack.is_dupack {
                    return Verdict::Open;
                }
                // Step 2a, and 2b if there is no new data to send.
                if !advances || ack.ack >= state.max || ack.ack < end || !ack.can_send_new {
                    self.step = Step::Off;
                    return Verdict::Open;
                }
                self.step = Step::Second { recover: state.max };
                Verdict::Probe
            }
            Step::Second { recover } => {
                let has_news = advances || ack.sack.sacked > 0;
                // (3.1) step 3a; without SACK, (2.1) step 3b has no such bound: only the first lost segment was
                // retransmitted, so originals advance the ACK further.
                let is_beyond = ack.ack > recover || ack.sack.highest > recover;
                let verdict = if self.scoreboard && is_beyond {
                    Verdict::Genuine
                } else if advances || (self.scoreboard && has_news) {
                    Verdict::Spurious
                } else if ack.is_dupack {
                    Verdict::Genuine
                } else {
                    return Verdict::Open;
                };
                self.step = Step::Off;
                verdict
            }
        }
    }
}
