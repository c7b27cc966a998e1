//! The paced sender, which passes the measurements of ACKs and timers to a congestion control that models the path.
//! Other flows never use this module.

use super::Sender;
use crate::rng::Stream;
use crate::steering::Steering;
use crate::tcp::AtSender;
use crate::tcp::Transmit;
use crate::tcp::cc::model::ModelView;
use crate::time::Instant;
use crate::trace::SendCause;

/// How a sender paces, for traces and results.
#[derive(Clone, Copy, Debug)]
pub struct PathView {
    /// B/s; `None` while segments are not held.
    pub pacing: Option<u64>,
    /// The path as the congestion control sees it, if it models it.
    pub model: Option<ModelView>,
}

impl Sender {
    /// Gives a randomised congestion control its own random stream, before anything is sent. Without it all senders
    /// draw the same numbers.
    pub fn seed(&mut self, stream: impl FnOnce() -> Stream) {
        if let Some(model) = self.tx.cc.model() {
            model.seed(stream());
        }
    }

    /// How it paces; `None` if it does not.
    pub fn path_view(&mut self) -> Option<PathView> {
        let pacing = self.tx.pacer.as_ref()?.rate();
        Some(PathView { pacing, model: self.tx.cc.model().map(|model| model.view()) })
    }

    /// The steering of its congestion control, if that has one.
    pub fn steering(&mut self) -> Option<&mut Steering> {
        self.tx.cc.steering()
    }

    /// Sets the window (segments) or the pacing rate (bit/s) of a congestion control that can be steered.
    pub fn steer(&mut self, window: Option<f64>, rate: Option<f64>) {
        let tx = &mut self.tx;
        let Some(steering) = tx.cc.steering() else { return };
        if let Some(segments) = window {
            let bytes = segments * tx.state.window.mss;
            (steering.window, tx.state.window.cwnd) = (Some(bytes), bytes);
        }
        if let Some(bps) = rate {
            steering.rate = Some(bps);
            if let Some(pacer) = &mut tx.pacer {
                pacer.set(bps / 8.0, tx.state.window.mss);
            }
        }
    }

    /// Like [`Sender::poll_any`], but no segment leaves before its time.
    pub(super) fn poll_paced(&mut self, now: Instant) -> Option<Transmit> {
        if self.tx.pacer.is_none() {
            return self.poll_any(now);
        }
        if self.handshake.is_established() {
            self.begin_model(now);
            let tx = &mut self.tx;
            let mss = tx.state.mss();
            let holds = tx.pacer.as_ref().is_some_and(|pacer| !pacer.permits(now, mss))
                && !tx.timer.is_probing()
                && self.loss.would_send(tx);
            if let Some(pacer) = &mut tx.pacer {
                pacer.holds = holds;
            }
            if holds {
                return None;
            }
        }
        let transmit = self.poll_any(now);
        match transmit {
            Some(Transmit { len: 0, .. } | Transmit { cause: SendCause::WindowProbe, .. }) => {}
            Some(sent) => self.note_sent(now, &sent),
            None => self.note_app_limit(),
        }
        transmit
    }

    /// Tells a control that models the path that the connection is open, once.
    pub(super) fn begin_model(&mut self, now: Instant) {
        let tx = &mut self.tx;
        let (Some(meter), Some(pacer)) = (&mut tx.meter, &mut tx.pacer) else { return };
        if !std::mem::replace(&mut meter.has_begun, true)
            && let Some(model) = tx.cc.model()
        {
            model.on_established(now, tx.rto.srtt(), &tx.state.window);
            pacer.set(model.pacing_rate(), tx.state.window.mss);
        }
    }

    /// A segment leaves.
    fn note_sent(&mut self, now: Instant, sent: &Transmit) {
        let tx = &mut self.tx;
        if let Some(pacer) = &mut tx.pacer {
            pacer.on_sent(now, sent.len.into());
        }
        let Some(meter) = &mut tx.meter else { return };
        let (state, end) = (&tx.state, sent.seq + u64::from(sent.len));
        let is_new = end == state.max && state.segments.back().is_some_and(|last| last.transmissions == 1);
        let is_alone = is_new && state.segments.len() == 1;
        let in_flight = self.loss.in_flight(state).max(0) as u64;
        meter.on_sent(now, end, is_new, is_alone, in_flight);
    }

    /// Nothing more may be sent. If nothing more is there, the application limits the sender.
    fn note_app_limit(&mut self) {
        let Some(meter) = &mut self.tx.meter else { return };
        let in_flight = self.loss.in_flight(&self.tx.state).max(0) as u64;
        let has_room = (in_flight as f64) < self.tx.state.window.cwnd;
        if self.tx.supplied == self.tx.state.max && has_room && !self.loss.waits_to_repair() {
            meter.limit_by_app(in_flight);
        }
    }

    /// Called before sending with nothing in flight; the application may have caused the pause.
    pub(super) fn restart_model(&mut self, now: Instant) {
        let tx = &mut self.tx;
        let is_limited = tx.meter.as_ref().is_some_and(|meter| meter.is_app_limited());
        if is_limited
            && tx.supplied > tx.state.max
            && let (Some(model), Some(pacer)) = (tx.cc.model(), &mut tx.pacer)
        {
            model.on_restart(now, &mut tx.state.window);
            pacer.set(model.pacing_rate(), tx.state.window.mss);
        }
    }

    /// Bytes in flight before an ACK, if a model needs them; otherwise 0.
    pub(super) fn in_flight_before(&self) -> u64 {
        self.tx.meter.as_ref().map_or(0, |_| self.loss.in_flight(&self.tx.state).max(0) as u64)
    }

    /// Loss recovery may have marked segments.
    pub(super) fn note_losses(&mut self, now: Instant) {
        let (tx, lost) = (&mut self.tx, self.loss.lost());
        if let (Some(meter), Some(model)) = (&mut tx.meter, tx.cc.model()) {
            meter.on_marked(&tx.state, lost, |segment| model.on_lost(now, segment, &tx.state.window));
        }
    }

    /// An ACK has been processed; `prior_in_flight` bytes were in flight before.
    pub(super) fn set_pace(&mut self, now: Instant, prior_in_flight: u64) {
        self.note_losses(now);
        let is_window_limited = self.used.as_ref().is_some_and(|used| used.is_limited());
        let tx = &mut self.tx;
        let srtt = tx.rto.srtt();
        let Some(pacer) = &mut tx.pacer else { return };
        let (Some(meter), Some(model)) = (&mut tx.meter, tx.cc.model()) else {
            if let Some(rate) = pacer.rate_of(&tx.state, srtt) {
                pacer.set(rate, tx.state.window.mss);
            }
            return;
        };
        let marked = tx.ecn.as_ref().and_then(|ecn| ecn.marked());
        meter.marked = marked.unwrap_or(0);
        let in_flight = self.loss.in_flight(&tx.state).max(0) as u64;
        let (state, next_send) = (&tx.state, pacer.next());
        let ack = meter.path_ack(
            state.una,
            &AtSender { now, state, prior_in_flight, in_flight, marked, is_window_limited, next_send, srtt },
        );
        if model.on_path(&ack, &mut tx.state.window) {
            meter.limit_by_app(in_flight);
        }
        pacer.set(model.pacing_rate(), tx.state.window.mss);
    }
}
