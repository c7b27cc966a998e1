//! Loss recovery by the SACK scoreboard: RFC 6675.
//!
//! The scoreboard is in [`State::segments`](crate::tcp::window::scoreboard); this module decides when recovery starts
//! and which segments it sends, so that the bytes in the network (`pipe`) fill the congestion window.
//!
//! After a timeout the marks are cleared (RFC 2018 (8)), and newly SACKed segments are skipped as the sender goes back
//! N: section 5.1. The timer is that of RFC 6298; section 6 would also allow restarting it with every retransmission.
//! If the other endpoint does not permit SACK, the connection uses NewReno.

use super::classic::Classic;
use super::rnf::Feedback;
use super::{Component, Loss, Next, Recovery};
use crate::registry::parameters;
use crate::tcp::Config as Tcp;
use crate::tcp::cc::CongestionControl;
use crate::tcp::window::state::{Phase, State};

parameters! {
    /// The SACK scoreboard decides which segments are lost and which are sent: RFC 6675. Requires `sack = true`.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, tcp: &Tcp) -> Loss {
        let sack = Sack { high_rxt: 0, rescue_rxt: 0 };
        Classic::loss(Box::new(sack), tcp.prr, None, Feedback::of(tcp.rnf))
    }
}

/// The variables of section 2, as end offsets (exclusive).
struct Sack {
    /// HighRxt: everything below it has been retransmitted in this recovery or need not be.
    high_rxt: u64,
    /// A rescue retransmission is allowed when everything below is acknowledged.
    rescue_rxt: u64,
}

impl Recovery for Sack {
    /// Section 5, on a duplicate ACK as section 2 defines it: one that brings new SACK information.
    fn on_dupack(&mut self, state: &mut State) -> bool {
        // Section 5.1: after a timeout no new recovery before all that was outstanding is acknowledged.
        let may_begin = state.phase != Phase::Recovery && !state.is_below_recover();
        // (1), (2).
        may_begin && (state.dupacks >= state.dupack_threshold || state.lost_end() > state.una)
    }

    /// (4): the first segment is sent regardless of the pipe.
    fn on_begin(&mut self, state: &mut State) {
        state.inflation = 0;
        self.high_rxt = state.segments.front().map_or(state.una, |first| first.end());
        self.rescue_rxt = self.high_rxt;
    }

    fn on_recovery_ack(&mut self, state: &mut State, _cc: &mut dyn CongestionControl, _acked: u64) -> bool {
        // (A). RecoveryPoint is the last byte sent before; `recover` is the byte after it.
        if state.recover.is_none_or(|recover| state.una >= recover) {
            state.exit_recovery(state.window.cwnd);
        }
        true
    }

    fn uses_scoreboard(&self) -> bool {
        true
    }

    fn pipe(&self, state: &State) -> u64 {
        state.pipe(state.lost_end(), self.high_rxt)
    }

    fn next_segment(&mut self, state: &State, can_send_new: bool) -> Option<Next> {
        let in_recovery = state.phase == Phase::Recovery;
        // (3.1): before recovery nothing counts as retransmitted.
        let mut high_rxt = if in_recovery { self.high_rxt } else { state.una };
        let mut lost_end = state.lost_end();
        if let Some(first) = state.segments.front().filter(|_| !in_recovery && state.is_under_repair()) {
            // The first segment is lost and retransmitted, and so are the following ones that were sent more than once.
            let again = state.segments.iter().take_while(|one| one.is_sacked || one.transmissions > 1);
            high_rxt = again.last().map_or(first.end(), |last| last.end().max(first.end()));
            lost_end = lost_end.max(high_rxt);
        }
        // (C), (3.3).
        if state.window.cwnd - (state.pipe(lost_end, high_rxt) as f64) < state.window.mss {
            return None;
        }
        if !in_recovery {
            return can_send_new.then_some(Next::New);
        }
        // NextSeg() of section 4: gaps above HighRxt and below the highest SACKed byte. Rule 1 takes the first if it is
        // lost, rule 2 new data, rule 3 the first gap even if it is not lost.
        let highest =
            state.segments.iter().rev().find(|segment| segment.is_sacked).map_or(0, |top| top.end());
        let mut holes = state.segments.iter().filter(|segment| !segment.is_sacked);
        let hole =
            holes.clone().find(|segment| segment.start >= high_rxt && segment.start < highest).copied();
        if let Some(hole) = hole.filter(|hole| hole.end() <= lost_end || !can_send_new) {
            self.high_rxt = hole.end();
            return Some(Next::Again(hole.start));
        }
        if can_send_new {
            return Some(Next::New);
        }
        // Rule 4: once, the last segment that is not SACKed. HighRxt stays.
        let last = holes.next_back().filter(|_| state.una > self.rescue_rxt)?;
        self.rescue_rxt = state.recover.unwrap_or(state.max);
        Some(Next::Again(last.start))
    }
}
