//! Adaptive streaming over TCP: a player that chooses the rate of each segment, and stalls when its buffer is empty.
//!
//! One segment after the other is downloaded over one connection. The player is computed at the server: the last ACK of a segment
//! arrives when the request for the next one would, as both leave the UE with the last byte. Times of the player are therefore
//! later than at the UE by the uplink delay, which does not change the lengths of stalls.
//!
//! Rules: `throughput`, the EWMA of dash.js (half lives of 3 and 8 s, the lower one times 0.9; a segment counts from its first to its
//! last byte, with 1.5 times this time as its weight: `useDeadTimeLatency`, `weightDownloadTimeMultiplicationFactor`); `bba`, the map from buffer to rate of
//! BBA-0 (T.-Y. Huang et al., SIGCOMM 2014); `bola`, K. Spiteri, R. Urgaonkar, R. Sitaraman, "BOLA", IEEE/ACM ToN 28 (4), 2020, with
//! the parameters of dash.js; `robust_mpc` ([`mpc`]). QoE: X. Yin et al., SIGCOMM 2015, linear, with their weights.
//!
//! Left out: requests as packets, delayed ACKs of the last segment included in the download time, audio, abandoned segments, sizes
//! that vary within a level, live streaming.

mod mpc;

use super::{App, Carrier, Component, StreamReport, Traffic};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rng::Stream;
use crate::time::{Duration, Instant};
use crate::trace::PlayerState;
use crate::units::Bitrate;
use mpc::{HORIZON, Outlook, Prediction, STALL_WEIGHT};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

parameters! {
    /// Adaptive streaming over TCP: a player chooses the rate of each segment by its buffer or by the throughput.
    pub struct Config {
        /// Rates of the levels, ascending. By default those of Pensieve.
        pub ladder: Vec<Bitrate> = [300, 750, 1200, 1850, 2850, 4300].map(|kbps| Bitrate::from_bps(kbps * 1000)).to_vec(),
        /// Playing time of a segment.
        pub segment: Duration = Duration::from_secs(4),
        /// Number of segments; no end if absent.
        pub segments: Option<u32>,
        /// Which level is chosen.
        pub rule: Rule,
        /// The buffer holds this playing time at most, and more only if playing has to wait for a segment that does not fit.
        pub buffer: Duration = Duration::from_secs(30),
        /// Playing starts with this much in the buffer.
        pub start_buffer: Duration = Duration::from_secs(1),
        /// After a stall playing resumes with this much in the buffer.
        pub resume_buffer: Duration = Duration::from_secs(2),
    }
}

/// How a player chooses the level of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// By the buffer: BBA-0.
    Bba,
    /// By the buffer: BOLA.
    #[default]
    Bola,
    /// By the throughput of past segments.
    Throughput,
    /// By the QoE of the next five segments, as predicted from buffer and throughput: RobustMPC.
    RobustMpc,
}

/// Levels at most, and the longest segment.
const MOST_LEVELS: usize = 64;
/// Reservoir and cushion of BBA-0 in parts of the buffer: 90 and 126 of 240 s.
const RESERVOIR: f64 = 90.0 / 240.0;
const CUSHION: f64 = 126.0 / 240.0;
/// Safety factor of the throughput: dash.js.
const SAFETY: f64 = 0.9;
const HALF_LIVES_S: [f64; 2] = [3.0, 8.0];
/// Weight of a segment in the mean, per second of its download.
const WEIGHT: f64 = 1.5;
/// BOLA in dash.js: buffer below which the lowest level is right, and what each level adds to the target.
const BOLA_MINIMUM_S: f64 = 10.0;
const BOLA_PER_LEVEL_S: f64 = 2.0;
/// Levels at most with `robust_mpc`, which looks at every sequence of five.
const MOST_LEVELS_AHEAD: usize = 12;

/// Report on a player.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// From the request for the first segment until playing starts, seconds; `None` before.
    pub startup_s: Option<f64>,
    /// Segments downloaded.
    pub segments: u64,
    /// Mean rate of their levels, bit/s.
    pub mean_rate_bps: Option<f64>,
    /// Changes of the level.
    pub switches: u64,
    /// Stalls after playing has started.
    pub stalls: u64,
    /// Total length of all stalls, seconds.
    pub stall_s: f64,
    /// Playing time in the buffer, mean over segments when they are complete, seconds.
    pub mean_buffer_s: Option<f64>,
    /// Sum of rates minus 4.3 times stalled seconds minus changes of rate, Mbit/s, per segment: Yin et al.
    pub qoe_linear: Option<f64>,
}

/// A segment that a player got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its number, from 0.
    pub number: u32,
    /// Rate of its level, bit/s.
    pub rate_bps: u64,
    /// Since it was requested.
    pub download: Duration,
    /// Playing time in the buffer, this segment included.
    pub buffer: Duration,
    /// For how long the player was stalled since the segment before.
    pub stalled: Duration,
    /// State of the player with this segment.
    pub player: PlayerState,
}

impl Component for Config {
    fn build(&self, _stream: Stream) -> Traffic {
        Traffic::Stream(Box::new(Player {
            rates: self.ladder.iter().map(|rate| rate.as_bps() as f64).collect(),
            config: self.clone(),
            buffer_s: 0.0,
            updated: Instant::ZERO,
            state: PlayerState::Starting,
            segment: None,
            stall_recorded_s: 0.0,
            requested: Instant::ZERO,
            first_request: None,
            next_request: None,
            downloading: None,
            begun: None,
            supplied: 0,
            level: 0,
            arrived: 0,
            throughput: Throughput::default(),
            prediction: Prediction::default(),
            report: Report::default(),
            rate_sum: 0.0,
            change_sum: 0.0,
            buffer_sum: 0.0,
        }))
    }

    fn carrier(&self) -> Carrier {
        Carrier::Tcp
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        let ascends = self.ladder.windows(2).all(|pair| pair[0] < pair[1]);
        if self.ladder.is_empty() || self.ladder.len() > MOST_LEVELS || !ascends {
            let hint = "write 1 to 64 rates in ascending order, such as [\"300 kbit/s\", \"1 Mbit/s\"]";
            return Err(ScenarioError::new("ladder", "is no ladder of rates", hint));
        }
        if self.rule == Rule::RobustMpc && self.ladder.len() > MOST_LEVELS_AHEAD {
            let message = "robust_mpc tries every sequence of levels, and these are too many";
            return Err(ScenarioError::new(
                "ladder",
                message,
                "write at most 12 rates, or choose another rule",
            ));
        }
        super::validate_rate("ladder", self.ladder[0])?;
        if self.segment < Duration::from_millis(100) {
            let hint = "write a time such as \"4 s\"";
            return Err(ScenarioError::new("segment", "is shorter than 100 ms", hint));
        }
        if self.buffer < self.segment {
            let hint = "write at least the length of a segment";
            return Err(ScenarioError::new("buffer", "holds no segment", hint));
        }
        for (key, wanted) in [("start_buffer", self.start_buffer), ("resume_buffer", self.resume_buffer)] {
            if wanted > self.buffer {
                return Err(ScenarioError::new(key, "is above buffer", "write at most the value of buffer"));
            }
        }
        super::validate_count("segments", self.segments)
    }
}

struct Player {
    config: Config,
    /// Rates of the levels, bit/s.
    rates: Vec<f64>,
    /// Playing time in the buffer at `updated`.
    buffer_s: f64,
    updated: Instant,
    state: PlayerState,
    /// The last segment that is complete.
    segment: Option<Segment>,
    /// Total length of stalls when it was.
    stall_recorded_s: f64,
    /// When the current segment was requested.
    requested: Instant,
    first_request: Option<Instant>,
    /// When the next segment is requested.
    next_request: Option<Instant>,
    /// Bytes of the segment being downloaded.
    downloading: Option<u64>,
    /// When its first bytes arrived.
    begun: Option<Instant>,
    supplied: u64,
    /// Level of the latest segment requested.
    level: usize,
    /// Level of the latest segment that is complete.
    arrived: usize,
    throughput: Throughput,
    prediction: Prediction,
    report: Report,
    rate_sum: f64,
    change_sum: f64,
    buffer_sum: f64,
}

/// Weighted means of the throughput, bit/s: dash.js.
#[derive(Default)]
struct Throughput {
    /// Sums with each half life, and their weights.
    means: [(f64, f64); 2],
}

impl Throughput {
    fn add(&mut self, bytes: u64, seconds: f64) {
        let bps = bytes as f64 * 8.0 / seconds.max(1e-3);
        for ((mean, weight), half_life_s) in self.means.iter_mut().zip(HALF_LIVES_S) {
            let kept = libm::exp2(-WEIGHT * seconds / half_life_s);
            *mean = *mean * kept + bps * (1.0 - kept);
            *weight = *weight * kept + (1.0 - kept);
        }
    }

    fn bps(&self) -> Option<f64> {
        let means = self.means.iter().filter(|(_, weight)| *weight > 0.0).map(|(mean, weight)| mean / weight);
        means.reduce(f64::min)
    }
}

impl Player {
    fn segment_s(&self) -> f64 {
        self.config.segment.as_secs_f64()
    }

    /// Lets time pass until `now`.
    fn advance(&mut self, now: Instant) {
        let passed_s = now.since(self.updated).as_secs_f64();
        self.updated = self.updated.max(now);
        match self.state {
            PlayerState::Starting => {}
            PlayerState::Stalled => self.report.stall_s += passed_s,
            PlayerState::Playing => {
                self.buffer_s -= passed_s;
                // What has been played to its end is no stall.
                if self.buffer_s < 0.0 && !self.is_complete() {
                    self.report.stalls += 1;
                    self.report.stall_s -= self.buffer_s;
                    self.state = PlayerState::Stalled;
                }
                self.buffer_s = self.buffer_s.max(0.0);
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.config.segments.is_some_and(|segments| self.report.segments >= segments.into())
    }

    /// The highest level whose rate is at most `bps`, or the lowest one.
    fn at_most(&self, bps: f64) -> usize {
        self.rates.iter().rposition(|rate| *rate <= bps).unwrap_or(0)
    }

    fn choose(&self) -> usize {
        let by_throughput = self.throughput.bps().map_or(0, |bps| self.at_most(SAFETY * bps));
        match self.config.rule {
            Rule::Throughput => by_throughput,
            Rule::Bba => self.by_map(),
            // Until there is a buffer to go by: dash.js.
            Rule::Bola if self.buffer_s < self.segment_s() => by_throughput,
            Rule::Bola => self.by_bola(),
            Rule::RobustMpc => self.by_outlook(),
        }
    }

    /// RobustMPC; the lowest level before there is a throughput.
    fn by_outlook(&self) -> usize {
        let Some(bps) = self.prediction.lower_bound() else { return 0 };
        let left =
            self.config.segments.map_or(HORIZON, |all| (u64::from(all) - self.report.segments) as usize);
        let outlook = Outlook { rates: &self.rates, segment_s: self.segment_s(), bps };
        outlook.choose(self.buffer_s, self.level, left)
    }

    /// BBA-0: the rate changes when the map passes the next level up or down.
    fn by_map(&self) -> usize {
        let whole_s = self.config.buffer.as_secs_f64();
        let last = self.rates.len() - 1;
        let (lowest, highest) = (self.rates[0], self.rates[last]);
        let filled = (self.buffer_s - RESERVOIR * whole_s) / (CUSHION * whole_s);
        if filled <= 0.0 {
            return 0;
        }
        if filled >= 1.0 {
            return last;
        }
        let map = lowest + filled * (highest - lowest);
        let up = self.rates.get(self.level + 1).copied().unwrap_or(f64::INFINITY);
        let down = self.rates[self.level.saturating_sub(1)];
        if map >= up {
            self.rates.iter().rposition(|rate| *rate <= map).unwrap_or(0)
        } else if map <= down {
            self.rates.iter().position(|rate| *rate >= map).unwrap_or(last)
        } else {
            self.level
        }
    }

    /// BOLA: the level of the largest utility per bit, with the parameters of dash.js.
    fn by_bola(&self) -> usize {
        let utility = |rate: f64| libm::log(rate / self.rates[0]) + 1.0;
        let highest = utility(self.rates[self.rates.len() - 1]);
        let levels_s = BOLA_MINIMUM_S + BOLA_PER_LEVEL_S * self.rates.len() as f64;
        let target_s = self.config.buffer.as_secs_f64().max(levels_s);
        let gp = (highest - 1.0) / (target_s / BOLA_MINIMUM_S - 1.0);
        if gp <= 0.0 {
            return 0;
        }
        let vp = BOLA_MINIMUM_S / gp;
        let score = |rate: f64| (vp * (utility(rate) + gp - 1.0) - self.buffer_s) / rate;
        let scores = self.rates.iter().map(|rate| score(*rate)).enumerate();
        scores.reduce(|best, next| if next.1 >= best.1 { next } else { best }).map_or(0, |(level, _)| level)
    }

    /// A segment is complete.
    fn handle_segment(&mut self, now: Instant, bytes: u64) {
        self.advance(now);
        // One that comes at once tells nothing of the rate.
        if let Some(begun) = self.begun.take().filter(|begun| *begun < now) {
            self.throughput.add(bytes, now.since(begun).as_secs_f64());
        }
        let seconds = now.since(self.requested).as_secs_f64();
        if self.config.rule == Rule::RobustMpc {
            self.prediction.add(bytes as f64 * 8.0 / seconds.max(1e-3));
        }
        self.buffer_s += self.segment_s();
        let report = &mut self.report;
        if report.segments > 0 && self.level != self.arrived {
            report.switches += 1;
            self.change_sum += (self.rates[self.level] - self.rates[self.arrived]).abs();
        }
        self.arrived = self.level;
        report.segments += 1;
        self.rate_sum += self.rates[self.level];
        self.buffer_sum += self.buffer_s;
        let enough = match self.state {
            PlayerState::Starting => self.config.start_buffer,
            PlayerState::Playing => Duration::ZERO,
            PlayerState::Stalled => self.config.resume_buffer,
        };
        if self.buffer_s >= enough.as_secs_f64() || self.is_complete() {
            if self.state == PlayerState::Starting {
                self.report.startup_s = self.first_request.map(|at| now.since(at).as_secs_f64());
            }
            self.state = PlayerState::Playing;
        }
        self.segment = Some(Segment {
            number: (self.report.segments - 1) as u32,
            rate_bps: self.rates[self.level] as u64,
            download: now.since(self.requested),
            buffer: Duration::from_nanos((self.buffer_s * 1e9) as u64),
            stalled: Duration::from_nanos(((self.report.stall_s - self.stall_recorded_s) * 1e9) as u64),
            player: self.state,
        });
        self.stall_recorded_s = self.report.stall_s;
        if self.is_complete() {
            return;
        }
        let room_s = self.config.buffer.as_secs_f64() - self.segment_s();
        let wait_s = if self.state == PlayerState::Playing { (self.buffer_s - room_s).max(0.0) } else { 0.0 };
        self.next_request = Some(now + Duration::from_nanos((wait_s * 1e9) as u64));
    }
}

impl App for Player {
    fn poll_supply(&mut self, now: Instant) -> u64 {
        if self.first_request.is_none() {
            (self.first_request, self.next_request, self.updated) = (Some(now), Some(now), now);
        }
        if self.next_request.take_if(|at| *at <= now).is_none() {
            return 0;
        }
        self.advance(now);
        let level = self.choose();
        (self.level, self.requested) = (level, now);
        let bytes = ((self.rates[level] * self.segment_s() / 8.0) as u64).max(1);
        self.downloading = Some(bytes);
        self.supplied = self.supplied.saturating_add(bytes);
        bytes
    }

    fn deadline(&self) -> Option<Instant> {
        self.next_request
    }

    fn awaits_acked(&self) -> Option<u64> {
        let bytes = self.downloading?;
        Some(if self.begun.is_some() { self.supplied } else { self.supplied - bytes + 1 })
    }

    fn handle_acked(&mut self, now: Instant, acked: u64) {
        self.begun.get_or_insert(now);
        if let Some(bytes) = self.downloading.take_if(|_| acked >= self.supplied) {
            self.handle_segment(now, bytes);
        }
    }

    fn take_segment(&mut self) -> Option<Segment> {
        self.segment.take()
    }

    fn is_done(&self) -> bool {
        self.is_complete()
    }

    fn report(&self, now: Instant) -> StreamReport {
        let mut report = self.report.clone();
        let passed_s = now.since(self.updated).as_secs_f64();
        match self.state {
            PlayerState::Stalled => report.stall_s += passed_s,
            PlayerState::Playing if passed_s > self.buffer_s && !self.is_complete() => {
                report.stalls += 1;
                report.stall_s += passed_s - self.buffer_s;
            }
            PlayerState::Starting | PlayerState::Playing => {}
        }
        if report.segments > 0 {
            let segments = report.segments as f64;
            report.mean_rate_bps = Some(self.rate_sum / segments);
            report.mean_buffer_s = Some(self.buffer_sum / segments);
            let rates = (self.rate_sum - self.change_sum) / 1e6;
            report.qoe_linear = Some((rates - STALL_WEIGHT * report.stall_s) / segments);
        }
        StreamReport { video: Some(report), ..StreamReport::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    /// Plays over a link of rates in Mbit/s, each from a time in seconds on, with a round trip of 100 ms for each segment.
    fn play(config: &Config, steps: &[(f64, f64)], until_s: f64) -> Report {
        let Traffic::Stream(mut app) = config.build(rng::stream(1, "player")) else { unreachable!() };
        let instant = |seconds: f64| Instant::from_nanos((seconds * 1e9) as u64);
        let mut now_s = 0.0;
        while now_s < until_s {
            let mut bits = app.poll_supply(instant(now_s)) as f64 * 8.0;
            if bits > 0.0 {
                now_s += 0.1;
                let first = app.awaits_acked().unwrap();
                app.handle_acked(instant(now_s), first);
                while bits > 0.0 {
                    let at = steps.iter().rposition(|(from, _)| *from <= now_s).unwrap();
                    let next = steps.get(at + 1).map_or(f64::INFINITY, |step| step.0);
                    let rate = (steps[at].1 * 1e6).max(1e-6);
                    let takes = (bits / rate).min(next - now_s);
                    (bits, now_s) = (bits - takes * rate, now_s + takes);
                    bits = if bits < 1e-3 { 0.0 } else { bits };
                }
                app.handle_acked(instant(now_s), u64::MAX);
            } else {
                match app.deadline() {
                    Some(at) => now_s = now_s.max(at.as_secs_f64() + 1e-9),
                    None => break,
                }
            }
        }
        app.report(instant(now_s)).video.unwrap()
    }

    fn with(rule: Rule) -> Config {
        Config { rule, ..Config::default() }
    }

    const RULES: [Rule; 4] = [Rule::Bba, Rule::Bola, Rule::Throughput, Rule::RobustMpc];

    /// One level of 2 Mbit/s over 4 Mbit/s, by hand: a segment takes 0.1 + 2 x 4 / 4 = 2.1 s, and adds 1.9 s.
    #[test]
    fn one_level_fills_the_buffer_as_computed_by_hand() {
        let config =
            Config { ladder: vec![Bitrate::from_bps(2_000_000)], segments: Some(10), ..Config::default() };
        let report = play(&config, &[(0.0, 4.0)], 1e3);
        assert_eq!((report.segments, report.stalls, report.switches), (10, 0, 0));
        assert!((report.startup_s.unwrap() - 2.1).abs() < 1e-6, "{report:?}");
        // 4, 5.9, 7.8 ... 21.1 s when they are complete.
        assert!((report.mean_buffer_s.unwrap() - 12.55).abs() < 1e-3, "{report:?}");
        assert!((report.qoe_linear.unwrap() - 2.0).abs() < 1e-9);
    }

    /// By hand, segments of 1 Mbyte with 1 s to start and 2 s to resume: the first is there at 3 s, the second at 10 s, when
    /// its buffer of 4 s has been empty for 3 s.
    #[test]
    fn a_segment_after_a_stall_tells_the_length_of_the_stall() {
        let config = Config { ladder: vec![Bitrate::from_bps(2_000_000)], ..Config::default() };
        let Traffic::Stream(mut app) = config.build(rng::stream(1, "player")) else { unreachable!() };
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        assert_eq!((app.poll_supply(at(0)), app.take_segment()), (1_000_000, None));
        app.handle_acked(at(3), 1_000_000);
        let first = Segment {
            number: 0,
            rate_bps: 2_000_000,
            download: Duration::from_secs(3),
            buffer: Duration::from_secs(4),
            stalled: Duration::ZERO,
            player: PlayerState::Playing,
        };
        assert_eq!(app.take_segment(), Some(first));
        app.poll_supply(at(3));
        app.handle_acked(at(10), 2_000_000);
        let stalled = Duration::from_secs(3);
        assert_eq!(
            app.take_segment(),
            Some(Segment { number: 1, download: Duration::from_secs(7), stalled, ..first })
        );
    }

    #[test]
    fn on_a_link_of_twice_the_lowest_rate_nothing_stalls() {
        for rule in RULES {
            let report = play(&with(rule), &[(0.0, 0.6)], 600.0);
            assert_eq!((report.stalls, report.stall_s), (0, 0.0), "{rule:?}");
        }
    }

    /// The levels around 2 Mbit/s are 1.85 and 2.85.
    #[test]
    fn the_mean_rate_settles_near_the_rate_of_the_link() {
        for rule in RULES {
            let report = play(&with(rule), &[(0.0, 2.2)], 1200.0);
            let mean = report.mean_rate_bps.unwrap() / 2.2e6;
            assert!((0.75..1.0).contains(&mean), "{rule:?}: {report:?}");
            assert_eq!(report.stalls, 0, "{rule:?}");
        }
    }

    /// The buffer of 30 s lasts for an outage of 20 s, not for one of 60 s.
    #[test]
    fn an_outage_longer_than_the_buffer_is_one_stall() {
        for rule in RULES {
            let short = play(&with(rule), &[(0.0, 8.0), (200.0, 0.0), (220.0, 8.0)], 400.0);
            assert_eq!(short.stalls, 0, "{rule:?}: {short:?}");
            let long = play(&with(rule), &[(0.0, 8.0), (200.0, 0.0), (260.0, 8.0)], 400.0);
            assert!(long.stalls == 1 && (25.0..45.0).contains(&long.stall_s), "{rule:?}: {long:?}");
        }
    }
}
