//! The part of the sender that handles the handshake.

use super::Sender;
use crate::packet::{Flags, Packet};
use crate::tcp::IdleRestart;
use crate::tcp::ecn::Agreement;
use crate::tcp::handshake::Opened;
use crate::time::{Duration, Instant};

impl Sender {
    /// The handshake has just been completed.
    #[cold]
    pub(super) fn established(&mut self, now: Instant) {
        if self.tx.reads_sack && !self.handshake.permits_sack() {
            self.tx.reads_sack = false;
            self.loss.go_without_sack();
            self.looks_closer |= self.loss.looks_closer();
        }
        let agreement = *self.handshake.ecn();
        self.agree_ecn(&agreement);
        self.begin(now, self.handshake.sent_at(), self.handshake.lost_syn());
    }

    /// Another's handshake has opened the connection.
    #[cold]
    pub(in crate::tcp) fn adopt(&mut self, now: Instant, opened: &Opened) {
        self.handshake.adopt(opened);
        self.peer_shift = opened.peer_shift;
        self.tx.state.rwnd = opened.window;
        self.ts_recent = opened.ts_recent;
        self.agree_ecn(&opened.ecn);
        self.begin(now, opened.sent_at, opened.lost_syn);
    }

    /// Applies the negotiated use of ECN.
    fn agree_ecn(&mut self, agreement: &Agreement) {
        if let Some(ecn) = &self.tx.ecn {
            self.tx.ecn = ecn.agreed(agreement).map(Box::new);
            self.plain_from = if self.tx.ecn.is_some() { u64::MAX } else { 1 };
        }
    }

    /// Initialises RTO and window from the duration of the handshake and a loss in it.
    fn begin(&mut self, now: Instant, sent_at: Option<Instant>, lost_syn: bool) {
        if let Some(used) = &mut self.used {
            used.begin(now);
        }
        if let Some(sent_at) = sent_at {
            self.tx.sample(now, sent_at);
        }
        if lost_syn {
            // RFC 5681 (3.1), RFC 6298 (5.7).
            self.tx.state.window.cwnd = self.tx.state.window.mss;
            self.tx.rto.on_lost_syn();
        }
        self.begin_model(now);
    }

    /// Nothing was sent for `idle`, longer than the timeout, so the window restarts: RFC 5681 (4.1), RFC 2861 (3.2).
    pub(super) fn restart_after(&mut self, idle: Duration) {
        let (window, least) = (&mut self.tx.state.window, self.tx.state.initial_window);
        match self.idle_restart {
            // A control that models the path sets the window alone.
            _ if self.tx.meter.is_some() => {}
            IdleRestart::Off => {}
            IdleRestart::Rfc5681 => window.cwnd = window.cwnd.min(least),
            IdleRestart::Linux => {
                window.ssthresh = window.raised_threshold();
                let timeouts = idle.as_nanos() / self.tx.rto.value().as_nanos().max(1);
                let halved = (window.segments() >> timeouts.min(63)) as f64 * window.mss;
                window.cwnd = halved.max(least.min(window.cwnd));
            }
        }
    }

    /// Reads the window options of the other endpoint's SYN. RFC 7323 (2.3).
    pub(super) fn take_options(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::SYN) {
            self.peer_shift = packet.options().window_scale_plus_1.saturating_sub(1);
            self.tx.state.rwnd = u64::from(packet.window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::handshake::Role;
    use crate::tcp::{Config, Handshake};

    /// Window and threshold in segments after a pause of `seconds`, from 48 segments; the timeout is 1 s.
    fn after(idle_restart: IdleRestart, seconds: u64) -> (f64, f64) {
        let config = Config { idle_restart, handshake: Handshake::None, ..Config::default() };
        let mut sender = Sender::new(&config, Role::Passive);
        let mss = sender.tx.state.window.mss;
        (sender.tx.state.window.cwnd, sender.tx.state.window.ssthresh) = (48.0 * mss, 20.0 * mss);
        sender.restart_after(Duration::from_secs(seconds));
        (sender.tx.state.window.cwnd / mss, sender.tx.state.window.ssthresh / mss)
    }

    #[test]
    fn a_pause_takes_the_window_back_at_once_by_halves_or_not() {
        assert_eq!(after(IdleRestart::Rfc5681, 1), (10.0, 20.0));
        assert_eq!(after(IdleRestart::Off, 100), (48.0, 20.0));
        // RFC 2861 (3.2): halved for each timeout, and slow start up to three quarters of it.
        assert_eq!(after(IdleRestart::Linux, 1), (24.0, 36.0));
        assert_eq!(after(IdleRestart::Linux, 2), (12.0, 36.0));
        assert_eq!(after(IdleRestart::Linux, 3), (10.0, 36.0));
    }
}
