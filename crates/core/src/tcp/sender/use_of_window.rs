//! The sender where growth or a pause goes by what it uses of its window: [`crate::tcp::window_use`]. Other flows never
//! come here.

use super::Sender;
use crate::tcp::IdleRestart;
use crate::tcp::state::Phase;
use crate::tcp::window_use::Drained;
use crate::time::Instant;

impl Sender {
    /// Everything has been sent that may be.
    #[inline(never)]
    pub(super) fn judge_use(&mut self, now: Instant) {
        let state = &mut self.state;
        let in_flight = match &self.rack {
            Some(rack) => rack.pipe(state) as i64,
            None => state.flight_size() as i64 - state.inflation,
        };
        let drained = Drained {
            una: state.una,
            max: state.max,
            outstanding: state.segments.len(),
            segments: self.counters.segments_sent - self.counters.window_probes,
            is_full: in_flight + state.mss() as i64 > state.window.cwnd as i64,
            has_more: self.supplied > state.max,
            is_open: state.phase == Phase::Open,
            rto: self.rto.value(),
        };
        let Some(used) = &mut state.used else { return };
        if let Some(most) = used.on_drained(now, &state.window, &drained) {
            let window = &mut state.window;
            let most = (most as u64).max((self.initial_window / window.mss) as u64);
            let cwnd = window.segments();
            if most < cwnd {
                window.ssthresh = window.raised_threshold();
                window.cwnd = ((cwnd + most) / 2) as f64 * window.mss;
            }
        }
    }

    /// Nothing is in flight. If data is about to be sent, this is the end of a pause.
    #[cold]
    pub(super) fn resume(&mut self, now: Instant) {
        let state = &mut self.state;
        let len = state.mss().min(self.supplied - state.max);
        let Some(used) = state.used.as_mut().filter(|_| len > 0 && len <= state.rwnd.min(state.max_window))
        else {
            return;
        };
        let idle = used.idle(now);
        if idle.is_zero() {
            return;
        }
        if self.idle_restart == IdleRestart::Linux && idle > self.rto.value() {
            used.on_restart(now);
            self.restart_after(idle);
        }
        self.cc.on_resume(now, idle);
    }
}
