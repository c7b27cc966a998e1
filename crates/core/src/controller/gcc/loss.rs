//! The limit by losses: the bandwidth and the inherent loss of the path that explain the losses best.
//!
//! Packets are counted in windows of at least 250 ms. The path is assumed to lose a share of all packets whatever the rate
//! (the inherent loss), and everything above its bandwidth. Of a few candidates for the bandwidth, the one with the largest
//! likelihood is kept; a bias towards high rates stands for losses that have nothing to do with the rate. The limit never
//! falls below the acknowledged rate, is held for a time that doubles after each decrease, and then grows by steps.
//!
//! Source: LossBasedBweV2 of libwebrtc of June 2025, with its default parameters. It replaces section 6 of
//! draft-ietf-rmcat-gcc-02. Left out: padding while the limit grows, and behaviour while the application sends less than it may.

use crate::controller::Outcome;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

const SHORTEST_WINDOW: Duration = Duration::from_millis(250);
const WINDOWS: usize = 15;
/// Windows before there is a limit.
const LEAST_WINDOWS: u64 = 3;
/// Weight of a window relative to the one after it.
const AGEING: f64 = 0.9;
/// Candidates, as shares of the present bandwidth.
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
const FIRST_INHERENT: f64 = 0.01;
const LEAST_INHERENT: f64 = 1e-3;
/// The largest inherent loss is this, and `BALANCE_BPS` over the bandwidth.
const INHERENT_OFFSET: f64 = 0.05;
const BALANCE_BPS: f64 = 100e3;
const NEWTON_STEP: f64 = 0.75;
/// Bias towards high rates: per kbit/s, and per natural logarithm of kbit/s. It turns around at this loss.
const BIAS: (f64, f64) = (0.0002, 0.02);
const BIAS_TURNS_AT: f64 = 0.2;
const BIAS_WIDTH: f64 = 0.002;
/// Growth in `GROWTH_WINDOW` at most.
const MOST_GROWTH: f64 = 1.3;
const GROWTH_WINDOW: Duration = Duration::from_millis(300);
/// Growth over the acknowledged rate at most, and while that is near the rate of the latest hold.
const MOST_OVER_ACKED: f64 = 1.5;
const MOST_OVER_ACKED_IN_HOLD: f64 = 1.2;
const NEAR_HOLD: f64 = 1.3;
const FIRST_HOLD: Duration = Duration::from_millis(300);
const LONGEST_HOLD: Duration = Duration::from_secs(60);
/// Time without growth after which a growing limit counts as decreasing.
const STALLED_AFTER: Duration = Duration::from_secs(2);

/// Packets sent in a period, kilobytes.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    sent: f64,
    lost: f64,
    /// Sending rate, bit/s.
    bps: f64,
}

/// What limits the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The delay.
    Delay,
    /// Losses, and the limit grows.
    Increasing,
    /// Losses, and the limit falls or is held.
    Decreasing,
}

/// Parameters of the path.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// Bit/s.
    bandwidth: f64,
    inherent: f64,
}

impl Path {
    /// Probability that a byte sent at a rate is lost.
    fn loss(self, bps: f64) -> f64 {
        let above = if bps > self.bandwidth { (bps - self.bandwidth) / bps } else { 0.0 };
        (self.inherent + (1.0 - self.inherent) * above).clamp(1e-6, 1.0 - 1e-6)
    }

    /// With the inherent loss inside its limits.
    fn feasible(self) -> Self {
        let most = (INHERENT_OFFSET + BALANCE_BPS / self.bandwidth).min(1.0);
        Self { inherent: self.inherent.max(LEAST_INHERENT).min(most), ..self }
    }
}

/// A rate above which the limit does not grow for some time after a decrease.
#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Instant,
    /// Length of the next one.
    length: Duration,
    bps: f64,
}

const NO_HOLD: Hold = Hold { until: Instant::ZERO, length: FIRST_HOLD, bps: f64::INFINITY };

/// Estimates the limit.
pub struct LossLimit {
    /// Newest first.
    windows: VecDeque<Window>,
    /// Windows so far.
    count: u64,
    open: Window,
    /// Sending time of the last packet of the newest window.
    ended: Option<Instant>,
    path: Option<Path>,
    average_loss: f64,
    state: State,
    /// Limit after the newest window, bit/s.
    bps: f64,
    hold: Hold,
    /// The highest limit while it grows, and when that was reached.
    grown: Option<(f64, Instant)>,
    /// Bandwidth that may be reached within `GROWTH_WINDOW` of the instant.
    step: Option<(f64, Instant)>,
    min: f64,
}

impl LossLimit {
    /// No limit yet; it will not fall below `min`, bit/s.
    pub fn new(min: f64) -> Self {
        Self {
            windows: VecDeque::with_capacity(WINDOWS + 1),
            count: 0,
            open: Window::default(),
            ended: None,
            path: None,
            average_loss: 0.0,
            state: State::Delay,
            bps: f64::INFINITY,
            hold: NO_HOLD,
            grown: None,
            step: None,
            min,
        }
    }

    /// The limit, bit/s; infinite before there is one.
    pub fn bps(&self) -> f64 {
        if self.count < LEAST_WINDOWS { f64::INFINITY } else { self.bps }
    }

    /// Whether losses limit the rate now.
    pub fn limits(&self) -> bool {
        self.state != State::Delay
    }

    /// Feedback arrived; `acked` is the acknowledged rate and `delay_based` the limit by delay, bit/s.
    pub fn update(&mut self, packets: &[Outcome], acked: Option<f64>, delay_based: f64) {
        let Some(now) = self.close_window(packets) else { return };
        let path = self.path.unwrap_or(Path { bandwidth: delay_based, inherent: FIRST_INHERENT });
        let best = self.bounded_growth(path, self.most_likely(path, acked, delay_based), acked, now);
        let floor = acked.unwrap_or(0.0).max(self.min);
        let bounded = best.bandwidth.min(self.instant_limit()).min(delay_based).max(floor);
        self.path = Some(if bounded < best.bandwidth {
            Path { bandwidth: bounded, inherent: 0.0 }
        } else {
            Path { bandwidth: best.bandwidth.max(floor), ..best }
        });
        if self.state == State::Decreasing && self.hold.until > now && bounded < delay_based {
            self.hold.bps = self.hold.bps.max(floor);
            self.bps = self.hold.bps.min(bounded);
            return;
        }
        self.change_state(bounded, delay_based, now);
        self.bps = bounded;
        let is_over = self.step.is_none_or(|(_, since)| since + GROWTH_WINDOW < now);
        if self.limits() && is_over {
            let bandwidth = self.path.map_or(bounded, |found| found.bandwidth);
            self.step = Some((bandwidth * MOST_GROWTH, now));
        }
    }

    fn change_state(&mut self, bounded: f64, delay_based: f64, now: Instant) {
        if bounded >= delay_based {
            (self.hold, self.grown, self.state) = (NO_HOLD, None, State::Delay);
        } else if self.is_growth(self.bps, bounded) && self.keeps_growing(bounded, now) {
            if self.grown.is_none_or(|(bps, _)| bounded > bps) {
                self.grown = Some((bounded, now));
            }
            self.state = State::Increasing;
        } else {
            if self.state != State::Decreasing {
                let length = (self.hold.length + self.hold.length).min(LONGEST_HOLD);
                self.hold = Hold { until: now + self.hold.length, length, bps: bounded };
            }
            (self.grown, self.state) = (None, State::Decreasing);
        }
    }

    fn is_growth(&self, before: f64, after: f64) -> bool {
        self.limits() && (before < after || before == after && self.state == State::Increasing)
    }

    fn keeps_growing(&self, bps: f64, now: Instant) -> bool {
        self.state != State::Increasing
            || self.grown.is_none_or(|(most, at)| at + STALLED_AFTER >= now || most < bps)
    }

    /// Counts packets. Returns when the newest window ended if it is complete now.
    fn close_window(&mut self, packets: &[Outcome]) -> Option<Instant> {
        for packet in packets {
            let kilobytes = f64::from(packet.len) / 1e3;
            self.open.sent += kilobytes;
            self.open.lost += if packet.arrived_at.is_none() { kilobytes } else { 0.0 };
        }
        let first = packets.iter().map(|packet| packet.sent_at).min()?;
        let last = packets.iter().map(|packet| packet.sent_at).max()?;
        let length = last.since(*self.ended.get_or_insert(first));
        if length < SHORTEST_WINDOW {
            return None;
        }
        let open = std::mem::take(&mut self.open);
        self.windows.push_front(Window { bps: open.sent * 8e3 / length.as_secs_f64(), ..open });
        self.windows.truncate(WINDOWS);
        (self.ended, self.count) = (Some(last), self.count + 1);
        self.average_loss = self.average_loss();
        Some(last)
    }

    /// Windows with their weights.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Window)> {
        let mut weight = 1.0;
        self.windows.iter().map(move |window| {
            let own = weight;
            weight *= AGEING;
            (own, window)
        })
    }

    /// Share of bytes lost, without the windows of the highest and of the lowest share. The highest one counts if it was sent
    /// at twice the median rate: then the rate explains it.
    fn average_loss(&self) -> f64 {
        let (mut sent, mut lost) = (0.0, 0.0);
        let (mut lowest, mut highest) = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0));
        let mut rate_of_highest = 0.0;
        for (weight, window) in self.weighted() {
            (sent, lost) = (sent + weight * window.sent, lost + weight * window.lost);
            let share = if window.sent > 0.0 { window.lost / window.sent } else { 0.0 };
            if self.count > LEAST_WINDOWS && share > highest.0 {
                highest = (share, weight * window.sent, weight * window.lost);
                rate_of_highest = window.bps;
            }
            if self.count > LEAST_WINDOWS && share < lowest.0 {
                lowest = (share, weight * window.sent, weight * window.lost);
            }
        }
        let rest = sent - lowest.1 - highest.1;
        if 2.0 * self.median_bps() <= rate_of_highest || rest <= 0.0 {
            return if sent > 0.0 { lost / sent } else { 0.0 };
        }
        (lost - lowest.2 - highest.2) / rest
    }

    fn median_bps(&self) -> f64 {
        let mut rates: Vec<f64> =
            self.windows.iter().map(|window| window.bps).filter(|bps| *bps > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        match rates.len() {
            0 => 0.0,
            n if n % 2 == 0 => (rates[n / 2 - 1] + rates[n / 2]) / 2.0,
            n => rates[n / 2],
        }
    }

    /// Limit by the average loss alone: 1 Mbit/s at 15 %.
    fn instant_limit(&self) -> f64 {
        let above = self.average_loss - INHERENT_OFFSET;
        if above > 0.0 { BALANCE_BPS / above } else { f64::INFINITY }
    }

    /// The candidate with the largest likelihood.
    fn most_likely(&self, path: Path, acked: Option<f64>, delay_based: f64) -> Path {
        let allowed = match self.step {
            Some((bps, _)) if self.limits() => bps,
            _ => f64::INFINITY,
        };
        let most = path.bandwidth.max(allowed);
        let rates = CANDIDATES.iter().map(|factor| factor * path.bandwidth);
        let rates = rates.chain(acked).chain((delay_based > path.bandwidth).then_some(delay_based));
        let mut best = (f64::NEG_INFINITY, path);
        for bps in rates {
            let candidate = self.fitted(Path { bandwidth: bps.min(most), ..path }.feasible());
            let likelihood = self.likelihood(candidate);
            if likelihood > best.0 {
                best = (likelihood, candidate);
            }
        }
        best.1
    }

    /// Moves the inherent loss by a step of Newton's method.
    fn fitted(&self, path: Path) -> Path {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, window) in self.weighted() {
            let loss = path.loss(window.bps);
            let (lost, arrived) = (window.lost / loss, (window.sent - window.lost) / (1.0 - loss));
            first += weight * (lost - arrived);
            second -= weight * (lost / loss + arrived / (1.0 - loss));
        }
        let second = if second < 0.0 { second } else { -1e-6 };
        Path { inherent: path.inherent - NEWTON_STEP * first / second, ..path }.feasible()
    }

    fn likelihood(&self, path: Path) -> f64 {
        let below = BIAS_TURNS_AT - self.average_loss;
        let kbps = path.bandwidth / 1e3;
        let bias = below / (BIAS_WIDTH + below.abs()) * (BIAS.0 * kbps + BIAS.1 * libm::log(1.0 + kbps));
        let of = |(weight, window): (f64, &Window)| {
            let loss = path.loss(window.bps);
            let arrived = window.sent - window.lost;
            weight * (window.lost * libm::log(loss) + arrived * libm::log(1.0 - loss) + bias * window.sent)
        };
        self.weighted().map(of).sum()
    }

    /// Limits how fast the bandwidth grows from `path` to `best`.
    fn bounded_growth(&self, path: Path, mut best: Path, acked: Option<f64>, now: Instant) -> Path {
        if self.average_loss > best.inherent && best.bandwidth > path.bandwidth {
            best.bandwidth = path.bandwidth;
        }
        if !self.limits() {
            return best;
        }
        if let Some((most, since)) = self.step
            && since + GROWTH_WINDOW > now
        {
            best.bandwidth = best.bandwidth.min(most);
        }
        if let Some(acked) = acked
            && self.is_growth(path.bandwidth, best.bandwidth)
        {
            let is_near = self.hold.bps.is_finite() && acked < NEAR_HOLD * self.hold.bps;
            let factor = if is_near { MOST_OVER_ACKED_IN_HOLD } else { MOST_OVER_ACKED };
            best.bandwidth = best.bandwidth.min(factor * acked).max(path.bandwidth);
            if self.state == State::Decreasing && best.bandwidth <= path.bandwidth {
                // Ends the decrease.
                best.bandwidth = path.bandwidth + 1.0;
            }
        }
        best
    }
}
