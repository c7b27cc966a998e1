//! The sender if growth or a restart depends on its use of the window: [`crate::tcp::window::validation`]. Among other
//! flows, only paced ones use this module.

use super::Sender;
use crate::tcp::{IdleRestart, Transmit};
use crate::time::Instant;

impl Sender {
    /// Whether growth or a restart depends on the use of the window.
    pub(super) fn judges_use(&self) -> bool {
        self.used.is_some()
    }

    /// Like [`Sender::poll_transmit`], for senders that need more checks. Use of the window is judged when nothing more
    /// may be sent; before that, a pause may end. A pacer may hold segments.
    #[inline(never)]
    pub(super) fn poll_closely(&mut self, now: Instant) -> Option<Transmit> {
        if self.used.is_none() && self.tx.pacer.is_none() {
            return self.poll_any(now);
        }
        if self.tx.state.una == self.tx.state.max
            && self.handshake.is_established()
            && !self.tx.timer.is_frozen()
        {
            self.resume(now);
            self.restart_model(now);
        }
        let transmit = self.poll_paced(now);
        if transmit.is_none() {
            self.judge_use(now);
        }
        transmit
    }

    /// Everything has been sent that may be.
    fn judge_use(&mut self, now: Instant) {
        let state = &mut self.tx.state;
        let in_flight = self.loss.in_flight(state);
        let segments = self.tx.counters.segments_sent - self.tx.counters.window_probes;
        let (has_more, rto) = (self.tx.supplied > state.max, self.tx.rto.value());
        let Some(used) = &mut self.used else { return };
        let unused = used.on_drained(now, state, segments, in_flight, has_more, rto);
        state.uses_window = used.is_used(&state.window);
        if let Some(most) = unused {
            let window = &mut state.window;
            let most = (most as u64).max((state.initial_window / window.mss) as u64);
            let cwnd = window.segments();
            if most < cwnd {
                window.ssthresh = window.raised_threshold();
                window.cwnd = ((cwnd + most) / 2) as f64 * window.mss;
            }
        }
    }

    /// Nothing is in flight. If data is about to be sent, this is the end of a pause.
    #[cold]
    fn resume(&mut self, now: Instant) {
        let state = &self.tx.state;
        let len = self.tx.new_bytes();
        let Some(used) = self.used.as_mut().filter(|_| len > 0 && len <= state.peer_window()) else { return };
        let idle = used.idle(now);
        if idle.is_zero() {
            return;
        }
        if self.idle_restart == IdleRestart::Linux && idle > self.tx.rto.value() {
            used.on_restart(now);
            self.restart_after(idle);
        }
        self.tx.cc.on_resume(now, idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Flags, Packet};
    use crate::tcp::handshake::Role;
    use crate::tcp::{Config, Handshake, cc, recovery, undo};
    use crate::time::Duration;
    use crate::units::Bytes;
    use proptest::prelude::*;

    const MSS: u64 = 1000;

    fn sender() -> Sender {
        let cc = cc::Config::Cubic(cc::cubic::Config {
            variant: cc::cubic::Variant::Linux,
            ..cc::cubic::Config::default()
        });
        let config = Config {
            cc,
            mss: Bytes::from_bytes(MSS),
            handshake: Handshake::None,
            sack: true,
            recovery: recovery::Config::Rack(recovery::rack::Config::default()),
            undo: undo::Config::Linux(undo::linux::Config {}),
            idle_restart: IdleRestart::Linux,
            receive_buffer: Bytes::from_bytes(10_000_000),
            ..Config::default()
        };
        let mut sender = Sender::new(&config, Role::Passive);
        sender.open();
        sender
    }

    fn drain(sender: &mut Sender, now: Instant) {
        while sender.poll_transmit(now).is_some() {}
    }

    proptest! {
        /// Without losses, slow start continues while the window is below twice the flight, so one ACK can lead to
        /// three times the flight, and no pause leads below the initial window.
        #[test]
        fn slow_start_does_not_run_ahead_of_what_is_used(
            steps in prop::collection::vec((0..40_u64, 1..30_u64, 1..50_u64), 1..80),
        ) {
            let mut sender = sender();
            let (mut now, mut most) = (Instant::ZERO, 0);
            for (written, acked, ms) in steps {
                sender.supply(written * MSS);
                drain(&mut sender, now);
                most = most.max(sender.tx.state.segments.len() as u64);
                now += Duration::from_millis(ms);
                let una = (sender.tx.state.una + acked * MSS).min(sender.tx.state.max);
                let ack = Packet {
                    ack: sender.handshake.wire_seq(una),
                    flags: Flags::ACK,
                    window: u16::MAX,
                    ..Packet::default()
                };
                sender.handle_segment(now, &ack);
                drain(&mut sender, now);
                most = most.max(sender.tx.state.segments.len() as u64);
                let cwnd = sender.tx.state.window.segments();
                prop_assert!((10..=(3 * most).max(10)).contains(&cwnd), "{} for {}", cwnd, most);
            }
        }
    }
}
