//! Congestion controls that model the path: BBR, Copa and the like ([`crate::tcp::cc::model`]).
//!
//! They need the delivery rate of each ACK. TCP's meter (`transmission/delivery`) measures it: it identifies data by its end
//! offset, and a packet has one too, counted in bytes of all packets in flight since the connection began. A packet number
//! is sent once, so every acknowledged packet gives an unambiguous RTT. Rates and windows count UDP payload.
//!
//! Losses reduce no window here: the control gets them, and the phase. A recovery begins with the loss of a packet that was
//! sent after the last one began, and ends when a packet sent after its begin is acknowledged: RFC 9002 (7.3.2). After
//! persistent congestion the phase is that after a timeout of TCP. The application limits the sender where nothing is to be
//! sent, or flow control holds it back, and the window has room.
//!
//! DEVIATION: packets declared lost that arrive later count as lost. Marks reach no such control, although BBRv3 could use
//! them.

use super::congestion::Congestion;
use crate::rng::Stream;
use crate::tcp::AtSender;
use crate::tcp::sender::PathView;
use crate::tcp::window::state::Phase;
use crate::tcp::window::validation::WindowUse;
use crate::time::{Duration, Instant};

impl Congestion {
    /// Whether the congestion control models the path.
    pub fn models_path(&self) -> bool {
        self.measured.is_some()
    }

    /// Gives a randomised congestion control its own random stream.
    pub fn seed(&mut self, stream: impl FnOnce() -> Stream) {
        if let Some(model) = self.cc.model() {
            model.seed(stream());
        }
    }

    /// Model and pacing rate, for traces; `None` without a model.
    pub fn path_view(&mut self) -> Option<PathView> {
        let model = self.cc.model().map(|model| model.view())?;
        Some(PathView { pacing: self.pacer.rate(), model: Some(model) })
    }

    /// Something may be sent now if it `has_content`. A model is told that the connection is open, once, and of the end of a
    /// pause. `srtt` is zero before the first sample.
    pub fn on_ready(&mut self, now: Instant, srtt: Duration, has_content: bool) {
        let in_flight = self.state.flight_size();
        let (Some(measured), Some(model)) = (&mut self.measured, self.cc.model()) else { return };
        if !std::mem::replace(&mut measured.meter.has_begun, true) {
            model.on_established(now, srtt, &self.state.window);
            if let Some(used) = &mut measured.used {
                used.begin(now);
            }
        } else if has_content && in_flight == 0 && measured.meter.is_app_limited() {
            model.on_restart(now, &mut self.state.window);
        } else {
            return;
        }
        self.pacer.set(model.pacing_rate(), self.state.window.mss);
    }

    /// All was sent that may be sent now; more waits for window or pacer if it `has_content`.
    pub fn on_drained(&mut self, now: Instant, has_content: bool) {
        let in_flight = self.state.flight_size();
        let Some(measured) = &mut self.measured else { return };
        if let Some(used) = &mut measured.used {
            let packets = measured.packets;
            used.on_drained(now, &self.state, packets, in_flight as i64, has_content, Duration::LONGEST);
        }
        if !has_content && (in_flight as f64) < self.state.window.cwnd {
            measured.meter.limit_by_app(in_flight);
        }
    }

    /// An ACK acknowledges packets in flight: end offset and bytes of each. Called before losses are looked for.
    pub fn on_delivered(&mut self, now: Instant, acked: impl Iterator<Item = (u64, u64)>) {
        let Some(measured) = &mut self.measured else { return };
        measured.prior_in_flight = self.state.flight_size();
        acked.for_each(|(end, bytes)| measured.meter.on_reported(now, end, bytes, true));
    }

    /// Packets are lost: end offset and bytes of each.
    pub(super) fn tell_lost(&mut self, now: Instant, lost: impl Iterator<Item = (u64, u64)>) {
        let (Some(measured), Some(model)) = (&mut self.measured, self.cc.model()) else { return };
        for (end, bytes) in lost {
            if let Some(packet) = measured.meter.on_lost(end, bytes) {
                model.on_lost(now, &packet, &self.state.window);
            }
        }
    }

    /// Begins a recovery for a packet sent at `sent_at`, if the present one does not cover it.
    pub(super) fn recover(&mut self, now: Instant, sent_at: Instant) {
        if self.reduced_at.is_none_or(|at| sent_at > at) {
            self.state.window.ssthresh = self.cc.ssthresh_after_loss(&self.state);
            (self.state.phase, self.reduced_at) = (Phase::Recovery, Some(now));
            self.reductions += 1;
        }
    }

    /// An ACK was processed: the latest packet that it acknowledges was sent at `latest`, all packets that end up to `oldest`
    /// are settled.
    pub(super) fn model_path(&mut self, now: Instant, latest: Option<Instant>, oldest: u64, srtt: Duration) {
        let (Some(measured), Some(model)) = (&mut self.measured, self.cc.model()) else { return };
        if latest.is_some_and(|latest| self.reduced_at.is_some_and(|at| latest > at)) {
            self.state.phase = Phase::Open;
        }
        let (meter, in_flight) = (&mut measured.meter, self.state.flight_size());
        let at = AtSender {
            now,
            state: &self.state,
            prior_in_flight: measured.prior_in_flight,
            in_flight,
            marked: None,
            is_window_limited: measured.used.as_ref().is_some_and(WindowUse::is_limited),
            next_send: self.pacer.next(),
            srtt,
        };
        let ack = meter.path_ack(oldest, &at);
        if model.on_path(&ack, &mut self.state.window) {
            meter.limit_by_app(in_flight);
        }
        // A recovery that begins with the ACK of a small packet leaves less than a datagram, and no timer would end that.
        self.state.window.cwnd = self.state.window.cwnd.max(self.state.window.mss);
        self.pacer.set(model.pacing_rate(), self.state.window.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;
    use crate::tcp::cc;
    use crate::units::Bytes;

    /// Bytes of each packet.
    const PACKET: u64 = 1200;
    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// BBR with a window of ten packets; packet *n* is sent at *n* ms.
    fn ten_packets() -> Congestion {
        let config = Config {
            mss: Bytes::from_bytes(PACKET),
            cc: cc::Config::Bbr(cc::bbr::Config::default()),
            ..Config::default()
        };
        let mut congestion = Congestion::new(&config, PACKET);
        congestion.on_ready(at(0), Duration::ZERO, true);
        for n in 0..10 {
            assert_eq!(congestion.on_sent(at(n), PACKET), (n + 1) * PACKET);
        }
        assert!(!congestion.permits(PACKET));
        congestion.on_drained(at(9), true);
        congestion
    }

    /// Packet `n`, sent at this time, is acknowledged alone, and all before it.
    fn ack(congestion: &mut Congestion, now: u64, n: u64, sent: u64) {
        let end = (n + 1) * PACKET;
        congestion.on_delivered(at(now), [(end, PACKET)].into_iter());
        congestion.on_acked(at(now), &[(at(sent), PACKET)], end, Some(at(now).since(at(sent))), RTT);
    }

    fn bandwidth(congestion: &mut Congestion) -> f64 {
        congestion.path_view().and_then(|view| view.model).map_or(0.0, |model| model.bandwidth.round())
    }

    #[test]
    fn the_delivery_rate_is_that_of_the_bottleneck() {
        let mut congestion = ten_packets();
        // A packet leaves the bottleneck each 2 ms. The last of the first ten: 12,000 B in the 118 ms since it all began.
        for n in 0..10 {
            ack(&mut congestion, 100 + 2 * n, n, n);
            congestion.on_sent(at(100 + 2 * n), PACKET);
        }
        assert_eq!(bandwidth(&mut congestion), 101_695.0);
        // Of the packet sent at 100 ms, with the first ACK: ten packets in a round trip of 100 ms.
        ack(&mut congestion, 200, 10, 100);
        assert_eq!(bandwidth(&mut congestion), 120_000.0);
        // Of the next: ten packets acknowledged in 100 ms, but sent in the 101 ms from 1 to 102.
        ack(&mut congestion, 202, 11, 102);
        assert_eq!(bandwidth(&mut congestion), 120_000.0);
        let min_rtt = congestion.path_view().and_then(|view| view.model?.min_rtt);
        assert_eq!(min_rtt, Some(RTT));
    }

    #[test]
    fn a_recovery_conserves_packets_for_a_round_trip_and_gives_the_window_back() {
        let mut congestion = ten_packets();
        // The ACK of packets 1 to 3 finds packet 0 lost.
        let acked: Vec<_> = (1..4).map(|n| (at(n), PACKET)).collect();
        congestion.on_delivered(at(103), (2..5).map(|n| (n * PACKET, PACKET)));
        congestion.on_lost(at(103), &[(PACKET, PACKET)], at(0), RTT);
        congestion.on_acked(at(103), &acked, 4 * PACKET, Some(RTT), RTT);
        // Six are in flight, and as many may follow as have arrived: three.
        assert_eq!(congestion.state().flight_size(), 6 * PACKET);
        assert_eq!((congestion.state().phase, congestion.reductions), (Phase::Recovery, 1));
        assert_eq!(congestion.state().window.cwnd, 9.0 * PACKET as f64);
        // Another packet of that flight is lost: the same recovery.
        congestion.on_lost(at(104), &[(5 * PACKET, PACKET)], at(4), RTT);
        assert_eq!(congestion.reductions, 1);
        // A packet sent in the recovery is acknowledged: ten again, and it grows by this one.
        congestion.on_sent(at(110), PACKET);
        ack(&mut congestion, 210, 10, 110);
        assert_eq!(congestion.state().phase, Phase::Open);
        assert!(congestion.state().window.cwnd >= 10.0 * PACKET as f64);
    }

    #[test]
    fn a_pause_of_the_application_is_no_measurement_of_the_path() {
        let mut congestion = ten_packets();
        for n in 0..10 {
            ack(&mut congestion, 100 + 2 * n, n, n);
        }
        let before = bandwidth(&mut congestion);
        // Two packets a second later, and nothing else: 2400 B in 100 ms.
        congestion.on_drained(at(120), false);
        congestion.on_ready(at(1000), RTT, true);
        for n in 10..12 {
            congestion.on_sent(at(1000), PACKET);
            congestion.on_drained(at(1000), n == 10);
        }
        for n in 10..12 {
            ack(&mut congestion, 1100, n, 1000);
        }
        assert_eq!(bandwidth(&mut congestion), before);
    }
}
