//! SCReAM version 2: a reference window that follows marks, losses and queueing delay, and a rate from window and RTT.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2 (August 2026). Marks reduce the window in proportion to their share, as in
//! DCTCP; an average queueing delay above half of the target acts like a share of marks. The window grows by about a
//! segment per RTT, and by 2 % once there was no congestion for 100 RTTs; both changes are smaller near the window at
//! which congestion was last seen.
//!
//! Variants: the draft's, and libwebrtc's of 2026, which grows more slowly while delays vary, keeps the window closer to what
//! is in flight, ignores single losses without a queue, and drains a queue that stands for 20 s.
//!
//! Left out: adjustments of the rate by frame size deviation and by the sender's queue, competition with loss-based flows (a
//! higher delay target), reordering; of the draft its optional filters for jitter and clock drift compensation; of libwebrtc
//! padding and its state while the application sends less than it may.

mod delay;
mod loss;

use super::{Component, Feedback, Limits, Permit, RateController};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use delay::{Delay, since_s};
use loss::LossEvents;

parameters! {
    /// SCReAM v2: a window that follows marks, losses and queueing delay.
    pub struct Config {
        /// Whose constants and additions.
        pub variant: Variant,
        /// Target of the queueing delay; the window shrinks from half of it on.
        pub delay_target: Duration = Duration::from_millis(60),
        /// Pacing rate as a multiple of the target rate; 1.1 for libwebrtc and 1.5 for the draft if absent.
        pub pacing_factor: Option<f64>,
        /// Whether packets are sent with ECT(1).
        pub ecn: bool = true,
    }

    /// Variants of SCReAM.
    pub enum Variant {
        /// libwebrtc of 2026, as in Chromium.
        #[default]
        Libwebrtc,
        /// The draft of August 2026.
        Draft,
    }
}

/// RTT below which growth and reduction are scaled, seconds.
const VIRTUAL_RTT_S: f64 = 0.025;
const LOSS_FACTOR: f64 = 0.7;
/// Growth per RTT as a share of the window, once there was no congestion for `POST_CONGESTION_RTTS`.
const MULTIPLICATIVE: f64 = 0.02;
const POST_CONGESTION_RTTS: f64 = 100.0;
/// Smallest share to which reduction and growth are scaled near the window of the last congestion.
const LEAST_SCALE: f64 = 0.25;
/// Bytes in flight may exceed the reference window by these factors: while the queue is long, and while it is short.
const WINDOW_OVERHEAD: (f64, f64) = (1.5, 3.0);
/// Time of a burst soon after congestion, and later.
const SHORT_BURST: Duration = Duration::from_millis(10);
const LONG_BURST: Duration = Duration::from_millis(40);
const LONG_BURSTS_AFTER_S: f64 = 15.0;
/// Lowest pacing rate, bit/s; above a share of the highest rate, pacing is relaxed up to a factor: the draft.
const MIN_PACING: f64 = 50e3;
const RELAXED_ABOVE: f64 = 0.8;
const MOST_RELAXED: f64 = 4.0;

/// Constants in which the variants differ.
struct Constants {
    /// Segment size, bytes.
    mss: f64,
    min_window: f64,
    /// The window grows up to this multiple of the bytes in flight.
    in_flight_headroom: f64,
    /// Headroom of the rate over window / RTT.
    rate_headroom: f64,
    /// A distance of the window from that of the last congestion by one part in this many counts as far.
    far: f64,
    pacing_factor: f64,
    /// Shortest time between updates of the share of marked packets, seconds.
    alpha_interval_s: f64,
}

const DRAFT: Constants = Constants {
    mss: 1000.0,
    min_window: 3000.0,
    in_flight_headroom: 1.5,
    rate_headroom: 1.2,
    far: 8.0,
    pacing_factor: 1.5,
    alpha_interval_s: 0.01,
};
const LIBWEBRTC: Constants = Constants {
    mss: 1280.0,
    min_window: 1000.0,
    in_flight_headroom: 1.1,
    rate_headroom: 1.0,
    far: 2.0,
    pacing_factor: 1.1,
    alpha_interval_s: 0.0,
};

impl Variant {
    fn constants(self) -> &'static Constants {
        match self {
            Self::Draft => &DRAFT,
            Self::Libwebrtc => &LIBWEBRTC,
        }
    }
}

impl Component for Config {
    fn build(&self, limits: Limits, _start: Instant) -> Box<dyn RateController> {
        let constants = self.variant.constants();
        Box::new(Scream {
            constants,
            is_draft: self.variant == Variant::Draft,
            target_s: self.delay_target.as_secs_f64(),
            pacing_factor: self.pacing_factor.unwrap_or(constants.pacing_factor),
            limits,
            window: None,
            window_at_congestion: 1.0,
            has_grown: true,
            delay: Delay::default(),
            losses: LossEvents::default(),
            alpha: 0.0,
            counted: (0.0, 0.0),
            alpha_updated: None,
            seen: (false, false),
            reacted: None,
            congested: None,
            in_flight: (0.0, 0.0),
            in_flight_since: None,
            is_draining: false,
        })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.delay_target < Duration::from_millis(2) {
            return Err(ScenarioError::new(
                "delay_target",
                "is below 2 ms",
                "write a time such as \"60 ms\"",
            ));
        }
        if self.pacing_factor.is_none_or(|factor| factor.is_finite() && factor >= 1.0) {
            return Ok(());
        }
        Err(ScenarioError::new("pacing_factor", "the sender would fall behind", "write at least 1"))
    }

    /// Draft, section 5: every 16 packets, at a marker bit, or after 40 ms. libwebrtc: 25 ms.
    fn feedback_interval(&self) -> Duration {
        Duration::from_millis(25)
    }

    fn reads_marks(&self) -> bool {
        self.ecn
    }
}

struct Scream {
    constants: &'static Constants,
    is_draft: bool,
    /// Target of the queueing delay, seconds.
    target_s: f64,
    pacing_factor: f64,
    limits: Limits,
    /// Reference window, bytes; `None` before there is feedback.
    window: Option<f64>,
    /// Reference window before the latest reduction that followed a growth.
    window_at_congestion: f64,
    /// Whether the window has grown since then.
    has_grown: bool,
    delay: Delay,
    losses: LossEvents,
    /// Share of packets marked.
    alpha: f64,
    /// Packets received and marked since `alpha` was updated.
    counted: (f64, f64),
    alpha_updated: Option<Instant>,
    /// Whether there were losses and marks since the latest reaction.
    seen: (bool, bool),
    /// When the window last reacted, and when there was last a loss or a mark.
    reacted: Option<Instant>,
    congested: Option<Instant>,
    /// Most bytes in flight in this RTT and in the one before.
    in_flight: (f64, f64),
    in_flight_since: Option<Instant>,
    /// Whether the rate is halved.
    is_draining: bool,
}

impl Scream {
    fn longer_rtt(&self) -> f64 {
        self.delay.srtt().max(VIRTUAL_RTT_S)
    }

    /// The window, or that of the start rate.
    fn window(&self) -> f64 {
        self.window.unwrap_or_else(|| {
            let bytes = self.limits.start * self.cycle_s() / 8.0 * self.constants.rate_headroom;
            bytes.max(self.constants.min_window)
        })
    }

    /// The time for which the window lasts: the RTT, and in libwebrtc the wait of the feedback.
    fn cycle_s(&self) -> f64 {
        let hold_s = if self.is_draft { 0.0 } else { self.delay.hold_s };
        self.delay.srtt().max(1e-3) + hold_s
    }

    /// Scales steps by the distance of the window from the last window with congestion: small steps near it.
    fn scale(&self) -> f64 {
        let apart = (self.window() - self.window_at_congestion) / self.window_at_congestion;
        let scaled = self.constants.far * apart;
        (scaled * scaled).clamp(0.1, 1.0)
    }

    /// The share of marked packets, which rises fast and falls slowly.
    fn update_alpha(&mut self, now: Instant) {
        let interval_s = self.delay.srtt().min(self.constants.alpha_interval_s);
        if since_s(now, self.alpha_updated) < interval_s || self.counted.0 <= 0.0 {
            return;
        }
        let share = self.counted.1 / self.counted.0;
        let gain = if share >= self.alpha { 1.0 / 8.0 } else { 1.0 / 128.0 };
        self.alpha += gain * (share - self.alpha);
        (self.counted, self.alpha_updated) = ((0.0, 0.0), Some(now));
    }

    fn update_in_flight(&mut self, now: Instant, in_flight: f64) {
        self.in_flight.0 = self.in_flight.0.max(in_flight);
        if since_s(now, self.in_flight_since) >= self.longer_rtt() {
            self.in_flight = (in_flight, self.in_flight.0);
            self.in_flight_since = Some(now);
        }
    }

    /// Share of marks that the queueing delay stands for.
    fn virtual_alpha(&self) -> f64 {
        let half_s = self.target_s / 2.0;
        ((self.delay.average_s - half_s) / half_s).clamp(0.0, 1.0)
    }

    /// Reduces the window if there is congestion, at most once in an RTT or 25 ms. Returns whether there is any, and whether
    /// the window reacted.
    fn reduce(&mut self, now: Instant) -> (bool, bool) {
        let (lost, marked) = self.seen;
        let virtual_alpha = self.virtual_alpha();
        if self.is_draft && (lost || marked) {
            self.congested = Some(now);
        }
        let is_congested = lost || marked || virtual_alpha > 0.0;
        let is_early = since_s(now, self.reacted) < self.delay.srtt().min(VIRTUAL_RTT_S);
        if is_early || !is_congested {
            return (is_congested, false);
        }
        let (scale, before) = (self.scale(), self.window());
        let mut window = before;
        // Reactions are more frequent than RTTs.
        let per_rtt = (self.delay.srtt() / VIRTUAL_RTT_S).max(1.0);
        if lost {
            window *= LOSS_FACTOR;
        }
        if marked && !(lost && self.is_draft) {
            if self.is_draft && since_s(now, self.reacted) >= POST_CONGESTION_RTTS * self.longer_rtt() {
                // The window may have grown far beyond the data sent.
                window = window.min(self.in_flight.1);
            }
            let mut backoff = self.alpha / 2.0 / per_rtt;
            if self.is_draft && self.delay.queue_s < self.target_s / 4.0 {
                backoff *= scale.max(LEAST_SCALE);
            } else if !self.is_draft && virtual_alpha <= 0.0 {
                backoff *= scale.max(LEAST_SCALE) * self.delay.scale_by_queue(0.1);
            }
            window *= 1.0 - backoff;
        } else if virtual_alpha > 0.0 && !(lost && self.is_draft) {
            window *= 1.0 - virtual_alpha / 2.0 / per_rtt;
        }
        window = window.max(self.constants.min_window);
        if std::mem::take(&mut self.has_grown) {
            self.window_at_congestion = before;
        }
        (self.window, self.seen, self.reacted) = (Some(window), (false, false), Some(now));
        if !self.is_draft {
            self.congested = Some(now);
        }
        (true, true)
    }

    /// Grows the window: by a segment per RTT it balances two marks per RTT.
    fn grow(&mut self, now: Instant, acked: f64) {
        let Constants { mss, in_flight_headroom, .. } = *self.constants;
        let (window, scale) = (self.window(), self.scale());
        let rtts = since_s(now, self.congested) / self.longer_rtt();
        let faded_in = (rtts / POST_CONGESTION_RTTS).min(1.0);
        let mut share = (mss / window).min(1.0) * scale.max(LEAST_SCALE);
        share *= 1.0 + faded_in * scale * MULTIPLICATIVE * window / mss;
        let short = (self.cycle_s() / VIRTUAL_RTT_S).min(1.0);
        share *= if self.is_draft {
            short
        } else {
            short * short * self.delay.scale_by_queue(0.1) * self.delay.scale_by_range()
        };
        let most = mss + in_flight_headroom * self.in_flight.0.max(self.in_flight.1);
        let grown = window + acked * share;
        let may_grow =
            if self.is_draft { grown <= most && self.rate() < self.limits.max } else { window < most };
        if may_grow && grown > window {
            self.window = Some(grown.min(most));
            // In the draft a step up counts even where it follows a larger step down.
            self.has_grown |= self.is_draft;
        }
    }

    fn rate(&self) -> f64 {
        let small = 1.0 - (self.constants.mss / self.window() - 0.1).clamp(0.0, 0.2);
        let drained = if self.is_draining { 0.5 } else { 1.0 };
        8.0 * self.window() / self.cycle_s() / self.constants.rate_headroom * small * drained
    }

    fn pacing_bps(&self, target: f64) -> f64 {
        if !self.is_draft {
            return target * self.pacing_factor;
        }
        let above = (target / self.limits.max - RELAXED_ABOVE) / (1.0 - RELAXED_ABOVE);
        target.max(MIN_PACING) * self.pacing_factor / (1.0 - above).clamp(1.0 / MOST_RELAXED, 1.0)
    }
}

impl RateController for Scream {
    fn handle_feedback(&mut self, now: Instant, feedback: Feedback<'_>) {
        if !feedback.packets.iter().any(|packet| packet.arrived_at.is_some()) {
            return;
        }
        let interval_s = if self.is_draft { self.delay.srtt().min(VIRTUAL_RTT_S) } else { 0.0 };
        self.delay.update(now, &feedback, interval_s);
        let before = self.window();
        self.window = Some(before);
        self.update_in_flight(now, feedback.in_flight as f64);
        let (mut acked, mut lost) = (0.0, false);
        for packet in feedback.packets {
            let marked = packet.arrived_at.is_some() && packet.ce;
            lost |= packet.arrived_at.is_none();
            self.seen.1 |= marked;
            if packet.arrived_at.is_some() {
                self.counted.0 += 1.0;
                self.counted.1 += if marked { 1.0 } else { 0.0 };
                acked += if marked { 0.0 } else { f64::from(packet.len) };
            }
        }
        self.losses.update(now, lost, self.longer_rtt());
        let ignores = !self.is_draft && self.losses.is_rare() && self.delay.average_s < self.target_s / 4.0;
        self.seen.0 |= lost && !ignores;
        self.update_alpha(now);
        let (is_congested, has_reacted) = self.reduce(now);
        if !self.is_draft && !has_reacted {
            // A congestion that was too early for a reaction is forgotten.
            self.seen = (false, false);
        }
        if self.is_draft || has_reacted || !is_congested && !self.losses.is_frequent() {
            self.grow(now, acked);
        }
        self.has_grown |= self.window() > before;
        self.is_draining = !self.is_draft && self.delay.drains(now);
    }

    fn permit(&self) -> Permit {
        let target_bps = self.rate().clamp(self.limits.min, self.limits.max);
        let short = if self.is_draft { 1.0 } else { self.delay.scale_by_queue(0.0) };
        let overhead = WINDOW_OVERHEAD.0 + (WINDOW_OVERHEAD.1 - WINDOW_OVERHEAD.0) * short;
        Permit {
            target_bps,
            pacing_bps: self.pacing_bps(target_bps),
            window_bytes: (self.window() * overhead + self.constants.mss) as u64,
        }
    }

    /// libwebrtc: 40 ms, as in Chromium, and 10 ms soon after congestion.
    fn burst(&self, now: Instant) -> Duration {
        if self.is_draft {
            Duration::ZERO
        } else if since_s(now, self.reacted) > LONG_BURSTS_AFTER_S {
            LONG_BURST
        } else {
            SHORT_BURST
        }
    }
}

#[cfg(test)]
mod tests;
