//! The model without a path, fed with one ACK per round: the draft's own test cases in our words. Test cases that need
//! a path are in `tests/all/path_models.rs`.

use super::*;
use crate::tcp::Config as Tcp;
use crate::tcp::cc::model::RateSample;
use crate::tcp::window::state::State;
use crate::units::Bytes;

const MSS: f64 = 1000.0;
const RTT: Duration = Duration::from_millis(100);
/// 100 segments in a round-trip time.
const RATE: f64 = 1e6;
const BDP: f64 = 100.0 * MSS;

/// A sender whose path is played by the test.
struct Path {
    bbr: Bbr,
    state: State,
    now: Instant,
    delivered: u64,
    lost: u64,
    phase: Phase,
    /// Bytes marked, with accurate ECN.
    marked: Option<u64>,
    marked_in_round: u64,
    is_app_limited: bool,
    is_window_limited: bool,
    shortest: Duration,
}

impl Path {
    fn new() -> Self {
        let config = Tcp { mss: Bytes::from_bytes(MSS as u64), ..Tcp::default() };
        let state = State::new(&config);
        let mut bbr = Bbr::new(true);
        bbr.on_established(Instant::ZERO, RTT, &state.window);
        Self {
            bbr,
            state,
            now: Instant::ZERO,
            delivered: 0,
            lost: 0,
            phase: Phase::Open,
            marked: None,
            marked_in_round: 0,
            is_app_limited: false,
            is_window_limited: true,
            shortest: RTT,
        }
    }

    /// A round in which this much is delivered and lost; `in_flight` bytes are in flight before and after.
    fn round(&mut self, rate: f64, in_flight: f64, lost: f64, rtt: Duration) {
        self.now += rtt;
        let volume = (rate * RTT.as_secs_f64()) as u64;
        self.ack(self.delivered, volume, volume, in_flight, lost, rtt);
    }

    /// An ACK that brings `volume` bytes, of a segment that was sent when `prior` bytes had been delivered, since when
    /// `sampled` have been.
    fn ack(&mut self, prior: u64, volume: u64, sampled: u64, in_flight: f64, lost: f64, rtt: Duration) {
        self.delivered += volume;
        self.lost += lost as u64;
        if lost > 0.0 {
            self.bbr.bounds.note_loss(self.delivered);
        }
        let ack = PathAck {
            now: self.now,
            sample: Some(RateSample {
                delivered: sampled,
                interval: RTT,
                is_app_limited: self.is_app_limited,
            }),
            prior_delivered: Some(prior),
            tx_in_flight: in_flight as u64,
            lost_since: lost as u64,
            rtt: Some(rtt),
            may_be_delayed: false,
            newly_acked: volume,
            newly_lost: lost as u64,
            prior_in_flight: in_flight as u64,
            in_flight: in_flight as u64,
            delivered: self.delivered,
            delivered_at: self.now,
            lost: self.lost,
            marked: self.marked,
            marked_since: self.marked_in_round,
            phase: self.phase,
            is_window_limited: self.is_window_limited,
            next_send: self.now,
            srtt: rtt,
        };
        self.is_app_limited = self.bbr.on_path(&ack, &mut self.state.window) || self.is_app_limited;
    }

    /// Rounds at the full rate, each a nanosecond shorter than the one before: no ProbeRTT is triggered.
    fn rounds(&mut self, count: u32, in_flight: f64) {
        for _ in 0..count {
            let shorter = self.shorter();
            self.round(RATE, in_flight, 0.0, shorter);
        }
    }

    fn shorter(&mut self) -> Duration {
        self.shortest = self.shortest.saturating_sub(Duration::from_nanos(1));
        self.shortest
    }

    /// Through Startup and Drain to cruising.
    fn cruising() -> Self {
        let mut path = Self::new();
        path.rounds(5, 2.0 * BDP);
        path.rounds(1, 0.5 * BDP);
        path.rounds(1, 0.5 * BDP);
        assert_eq!(path.bbr.state, ModelState::ProbeBwCruise);
        path
    }

    /// Advances to the start of a probe for bandwidth.
    fn probing() -> Self {
        let mut path = Self::cruising();
        path.until(ModelState::ProbeBwUp, BDP);
        path
    }

    fn until(&mut self, state: ModelState, in_flight: f64) {
        for _ in 0..100 {
            if self.bbr.state == state {
                return;
            }
            self.rounds(1, in_flight);
        }
        panic!("{:?} instead of {state:?}", self.bbr.state);
    }

    fn lose(&mut self, tx_in_flight: f64, lost_since: f64) {
        let lost = LostSegment {
            len: MSS as u64,
            tx_in_flight: tx_in_flight as u64,
            lost_since: lost_since as u64,
            is_app_limited: self.is_app_limited,
            delivered: self.delivered,
        };
        self.bbr.on_lost(self.now, &lost, &self.state.window);
    }

    fn recover(&mut self) {
        self.bbr.ssthresh_after_loss(&self.state);
        self.phase = Phase::Recovery;
    }
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut path = Path::new();
    for rate in [0.1, 0.25, 0.6, 1.0, 1.2] {
        path.round(rate * RATE, 2.0 * BDP, 0.0, RTT);
        assert_eq!(path.bbr.state, ModelState::Startup);
    }
    path.round(1.2 * RATE, 2.0 * BDP, 0.0, RTT);
    assert_eq!(path.bbr.state, ModelState::Startup);
    path.round(1.2 * RATE, 2.0 * BDP, 0.0, RTT);
    assert_eq!(path.bbr.state, ModelState::Drain);
    assert!((path.bbr.pacing_rate - 0.5 * 0.99 * 1.2 * RATE).abs() < 1.0);
}

#[test]
fn startup_ends_with_a_round_of_a_recovery_that_loses_too_much_though_the_application_limits() {
    let mut path = Path::new();
    path.is_app_limited = true;
    path.recover();
    for round in 0..2 {
        assert_eq!(path.bbr.state, ModelState::Startup, "round {round}");
        for _ in 0..6 {
            path.lose(BDP, MSS);
        }
        path.round(RATE, 2.0 * BDP, 6.0 * MSS, RTT);
    }
    assert_eq!(path.bbr.state, ModelState::Drain);
    assert_eq!(path.bbr.bounds.long, BDP, "the bandwidth-delay product, or what was delivered");
}

#[test]
fn losses_in_less_than_six_gaps_do_not_end_startup() {
    let mut path = Path::new();
    path.is_app_limited = true;
    path.recover();
    for _ in 0..4 {
        for _ in 0..5 {
            path.lose(BDP, MSS);
        }
        path.round(RATE, BDP, 5.0 * MSS, RTT);
    }
    assert_eq!(path.bbr.state, ModelState::Startup);
}

#[test]
fn drain_ends_when_the_queue_is_gone() {
    let mut path = Path::new();
    path.rounds(4, 2.0 * BDP);
    assert_eq!(path.bbr.state, ModelState::Drain);
    path.round(RATE, 1.2 * BDP, 0.0, RTT);
    assert_eq!(path.bbr.state, ModelState::Drain);
    path.round(RATE, 0.99 * BDP, 0.0, RTT);
    assert_eq!(path.bbr.state, ModelState::ProbeBwCruise, "down lasts as long as there is a queue");
}

#[test]
fn drain_ends_after_three_rounds_where_the_queue_stays() {
    let mut path = Path::new();
    path.rounds(4, 2.0 * BDP);
    for _ in 0..3 {
        path.round(0.9 * RATE, 1.2 * BDP, 0.0, RTT);
        assert_eq!(path.bbr.state, ModelState::Drain);
    }
    path.round(0.9 * RATE, 1.2 * BDP, 0.0, RTT);
    assert_eq!(path.bbr.state, ModelState::ProbeBwDown);
}

#[test]
fn a_plateau_ends_a_probe() {
    let mut path = Path::probing();
    for round in 1..=3 {
        assert_eq!(path.bbr.state, ModelState::ProbeBwUp, "round {round}");
        path.rounds(1, 1.25 * BDP);
    }
    assert_eq!(path.bbr.state, ModelState::ProbeBwDown);
    assert!((path.bbr.pacing_rate - 0.9 * 0.99 * RATE).abs() < 1.0);
}

#[test]
fn without_losses_a_sender_limited_by_its_application_stays_in_a_probe_or_in_startup() {
    for mut path in [Path::new(), Path::probing()] {
        let state = path.bbr.state;
        (path.is_app_limited, path.is_window_limited) = (true, false);
        // Less than ProbeRTTInterval.
        path.rounds(25, 0.5 * BDP);
        assert_eq!(path.bbr.state, state);
    }
}

#[test]
fn losses_end_a_probe_and_bound_the_flight_though_the_application_limits() {
    let mut path = Path::probing();
    path.lose(1.25 * BDP, 2.0 * MSS);
    assert_eq!(path.bbr.state, ModelState::ProbeBwUp, "2 of 125 segments");
    path.is_app_limited = true;
    path.lose(1.25 * BDP, 3.0 * MSS);
    assert_eq!(path.bbr.state, ModelState::ProbeBwDown);
    assert_eq!(path.bbr.bounds.long, f64::INFINITY, "such a sample sets no bound");
}

#[test]
fn the_bound_is_the_flight_at_which_two_percent_were_lost() {
    let mut path = Path::probing();
    // 100 segments in flight, three of them lost: 99 before the third loss, 2 of them lost. 99 + (1.98 - 2) / 0.98, but
    // the second term is not negative.
    path.lose(100.0 * MSS, 3.0 * MSS);
    assert_eq!(path.bbr.bounds.long, 99.0 * MSS);
}

#[test]
fn the_bound_may_lie_within_the_segment_that_was_lost() {
    // One of 20 segments: 19 + 0.38 / 0.98.
    let mut path = Path::probing();
    path.bbr.max_bw = MaxFilter::default();
    path.lose(20.0 * MSS, MSS);
    assert!((path.bbr.bounds.long - (19.0 + 0.38 / 0.98) * MSS).abs() < 1e-6);
}

#[test]
fn the_bound_never_falls_below_seven_tenths_of_the_pipe() {
    let mut path = Path::probing();
    path.lose(30.0 * MSS, 3.0 * MSS);
    assert!((path.bbr.bounds.long - 0.7 * BDP).abs() < 1.0);
}

#[test]
fn a_later_loss_in_a_probe_lowers_the_bound_that_an_earlier_one_set() {
    let mut path = Path::probing();
    path.lose(1.2 * BDP, 5.0 * MSS);
    let first = path.bbr.bounds.long;
    path.until(ModelState::ProbeBwUp, 0.8 * BDP);
    path.lose(BDP, 5.0 * MSS);
    assert!(path.bbr.bounds.long < first);
    assert_eq!(path.bbr.state, ModelState::ProbeBwDown);
}

#[test]
fn after_a_probe_that_lost_too_much_the_next_stops_at_the_bound_and_goes_on_if_that_did_no_harm() {
    let mut path = Path::probing();
    path.lose(1.2 * BDP, 5.0 * MSS);
    let bound = path.bbr.bounds.long;
    path.until(ModelState::ProbeBwUp, 0.8 * BDP);
    path.rounds(1, bound);
    assert_eq!(path.bbr.state, ModelState::ProbeBwDown);
    path.rounds(1, BDP);
    assert_eq!(path.bbr.state, ModelState::ProbeBwRefill);
}

#[test]
fn going_down_ends_below_headroom_and_pipe() {
    let mut path = Path::probing();
    path.lose(1.2 * BDP, 5.0 * MSS);
    path.bbr.bounds.long = 0.9 * BDP;
    path.rounds(1, 0.8 * BDP);
    assert_eq!(path.bbr.state, ModelState::ProbeBwDown, "0.85 of the bound are 0.765");
    path.rounds(1, 0.76 * BDP);
    assert_eq!(path.bbr.state, ModelState::ProbeBwCruise);
    assert!((path.bbr.bound() - 0.85 * 0.9 * BDP).abs() < 1e-6);
}

#[test]
fn where_the_queue_stays_the_next_probe_comes_without_cruising() {
    let mut path = Path::probing();
    path.until(ModelState::ProbeBwDown, 1.25 * BDP);
    let begun = path.now;
    for _ in 0..40 {
        let shorter = path.shorter();
        path.round(0.9 * RATE, 1.2 * BDP, 0.0, shorter);
        if path.bbr.state != ModelState::ProbeBwDown {
            break;
        }
    }
    assert_eq!(path.bbr.state, ModelState::ProbeBwRefill);
    let waited = path.now.since(begun);
    assert!((2000..=3100).contains(&(waited.as_micros() / 1000)), "{waited:?}");
}

#[test]
fn small_flights_probe_as_often_as_reno_would_grow_by_them() {
    // Ten segments in the pipe: ten rounds, counted from 0 or 1.
    let mut path = Path::new();
    for _ in 0..5 {
        path.round(RATE / 10.0, 20.0 * MSS, 0.0, RTT);
    }
    for _ in 0..2 {
        path.round(RATE / 10.0, 4.0 * MSS, 0.0, RTT);
    }
    assert_eq!(path.bbr.state, ModelState::ProbeBwCruise);
    let mut rounds = 2;
    while path.bbr.state == ModelState::ProbeBwCruise {
        path.round(RATE / 10.0, 10.0 * MSS, 0.0, RTT);
        rounds += 1;
    }
    assert!((9..=12).contains(&rounds), "{rounds}");
}

#[test]
fn the_bound_rises_by_steps_that_double_each_round() {
    let mut path = Path::probing();
    path.bbr.bounds.long = 100.0 * MSS;
    path.state.window.cwnd = 100.0 * MSS;
    let (mut steps, mut rate) = (Vec::new(), RATE);
    for _ in 0..5 {
        let before = path.bbr.bounds.long;
        // More is delivered each round, so that there is no plateau.
        path.round(rate, before - MSS, 0.0, RTT);
        rate *= 1.3;
        steps.push((path.bbr.bounds.long - before) / MSS);
        path.state.window.cwnd = path.bbr.bounds.long;
    }
    assert!(steps.windows(2).all(|pair| pair[1] > 1.5 * pair[0]), "{steps:?}");
}

#[test]
fn losses_outside_of_probes_bound_the_short_term_and_the_next_probe_forgets_them() {
    let mut path = Path::cruising();
    path.round(0.1 * RATE, BDP, 5.0 * MSS, RTT);
    assert_eq!(path.bbr.bounds.short_bw, f64::INFINITY, "the loss begins a round");
    path.round(0.1 * RATE, BDP, 0.0, RTT);
    assert_eq!(path.bbr.bounds.short_bw, RATE, "the latest rate was still the full one in that round");
    for left in [0.7, 0.49] {
        path.round(0.1 * RATE, BDP, 5.0 * MSS, RTT);
        path.round(0.1 * RATE, BDP, 0.0, RTT);
        assert!((path.bbr.bounds.short_bw - left * RATE).abs() < 1.0, "{}", path.bbr.bounds.short_bw);
    }
    path.until(ModelState::ProbeBwRefill, 0.3 * BDP);
    assert_eq!(path.bbr.bounds.short_bw, f64::INFINITY);
}

/// BBRNoteLoss: ten ACKs a round, the loss with the fourth of one. Only the fourth of the next, of a segment sent after the
/// loss, ends the round.
#[test]
fn the_short_term_bounds_follow_a_whole_round_after_the_first_loss() {
    let mut path = Path::cruising();
    let part = (BDP / 10.0) as u64;
    let mut cut_after = None;
    for number in 0..40 {
        let lost = if number == 3 || number == 5 { MSS } else { 0.0 };
        path.now += Duration::from_millis(10);
        path.ack(path.delivered - 9 * part, part, 10 * part, BDP, lost, RTT);
        if path.bbr.bounds.short_bw.is_finite() {
            cut_after.get_or_insert(number - 3);
        }
    }
    assert_eq!(cut_after, Some(10));
}

#[test]
fn after_five_seconds_half_of_the_flight_is_left_for_a_while_and_probing_goes_on() {
    let mut path = Path::cruising();
    let longer = RTT + Duration::from_millis(1);
    let begun = path.now;
    let mut states = Vec::new();
    for _ in 0..60 {
        let in_flight = if path.bbr.state == ModelState::ProbeRtt { 0.49 * BDP } else { BDP };
        path.round(RATE, in_flight, 0.0, longer);
        if path.bbr.state == ModelState::ProbeRtt {
            states.push(path.now);
            assert_eq!(path.state.window.cwnd, path.bbr.probe_rtt_window());
            assert!((path.state.window.cwnd - 0.5 * BDP).abs() < 2.0 * MSS);
        }
        path.is_app_limited = false;
    }
    let first = states[0].since(begun).as_micros() / 1000;
    assert!((5000..5300).contains(&first), "{first} ms");
    let lasted = states[states.len() - 1].since(states[0]).as_micros() / 1000;
    assert!((200..=410).contains(&lasted), "{lasted} ms");
    assert!(path.bbr.probes_bw());
}

#[test]
fn in_startup_it_returns_to_startup() {
    let mut path = Path::new();
    (path.is_app_limited, path.is_window_limited) = (true, false);
    let longer = RTT + Duration::from_millis(1);
    for _ in 0..60 {
        path.round(0.1 * RATE, 4.0 * MSS, 0.0, longer);
        path.is_app_limited = true;
    }
    assert_eq!(path.bbr.state, ModelState::Startup);
    assert!(path.now > Instant::ZERO + PROBE_RTT_INTERVAL);
}

#[test]
fn a_pause_paces_at_the_bandwidth_and_needs_no_probe_of_the_round_trip_time() {
    let mut path = Path::probing();
    path.now += Duration::from_secs(5);
    path.bbr.on_restart(path.now, &mut path.state.window);
    assert!((path.bbr.pacing_rate - 0.99 * RATE).abs() < 1.0);
    path.rounds(1, BDP);
    assert_ne!(path.bbr.state, ModelState::ProbeRtt);
}

#[test]
fn a_probe_limited_by_its_application_leaves_the_bandwidth_as_it_is() {
    let mut path = Path::cruising();
    path.until(ModelState::ProbeBwRefill, BDP);
    path.is_app_limited = true;
    path.round(0.3 * RATE, 0.3 * BDP, 0.0, RTT);
    assert_eq!(path.bbr.state, ModelState::ProbeBwUp);
    assert_eq!(path.bbr.max_bw.max(), RATE);
}

#[test]
fn a_spurious_recovery_or_timeout_gives_bounds_and_state_back() {
    for times_out in [false, true] {
        let mut path = Path::probing();
        path.recover();
        if times_out {
            path.bbr.on_timeout(path.now);
        }
        path.lose(1.2 * BDP, 5.0 * MSS);
        assert_eq!(path.bbr.state, ModelState::ProbeBwDown);
        assert!(path.bbr.bounds.long.is_finite());
        path.bbr.on_undo();
        assert_eq!(path.bbr.bounds.long, f64::INFINITY);
        assert_eq!(path.bbr.state, ModelState::ProbeBwRefill);
    }
}

#[test]
fn a_spurious_recovery_in_startup_leads_back_to_it() {
    let mut path = Path::new();
    path.rounds(3, BDP);
    path.recover();
    path.rounds(1, 2.0 * BDP);
    assert_eq!(path.bbr.state, ModelState::Drain);
    path.bbr.on_undo();
    assert_eq!(path.bbr.state, ModelState::Startup);
    assert!(!path.bbr.full.reached);
}

#[test]
fn the_window_is_at_least_four_segments_and_three_bursts() {
    let mut path = Path::new();
    for _ in 0..10 {
        path.round(RATE / 100.0, 4.0 * MSS, 0.0, RTT);
    }
    assert_eq!(path.bbr.burst(), MSS, "one segment below 1.2 Mbit/s");
    assert_eq!(path.state.window.cwnd, 4.0 * MSS);
}

/// A round-trip time short enough for marks to count.
const SHORT: Duration = Duration::from_millis(4);

impl Path {
    /// A round with this share of bytes marked.
    fn marked_round(&mut self, rate: f64, in_flight: f64, share: f64, rtt: Duration) {
        self.marked_in_round = (share * rate * RTT.as_secs_f64()) as u64;
        self.marked = Some(self.marked.unwrap_or(0) + self.marked_in_round);
        self.round(rate, in_flight, 0.0, rtt);
        self.marked_in_round = 0;
    }
}

#[test]
fn two_rounds_with_half_of_it_marked_end_startup_where_round_trips_are_short() {
    for (rtt_ms, share, ends) in [(5, 0.5, true), (5, 0.4, false), (6, 0.5, false)] {
        let mut path = Path::new();
        for round in 0..4 {
            // No plateau.
            path.marked_round(RATE * f64::from(1 << round), BDP, share, Duration::from_millis(rtt_ms));
        }
        assert_eq!(path.bbr.state != ModelState::Startup, ends, "{rtt_ms} ms, {share}");
    }
}

#[test]
fn a_round_with_marks_lowers_the_flight_by_a_third_of_the_share() {
    let mut path = Path::cruising();
    path.marked_round(RATE, BDP, 0.0, SHORT);
    let (cwnd, delivered) = (path.state.window.cwnd, path.delivered as f64);
    path.marked_round(RATE, BDP, 0.25, SHORT);
    assert_eq!(path.bbr.state, ModelState::ProbeBwCruise);
    // The first share is that since the beginning.
    let share = 0.25 * BDP / (delivered + BDP);
    let alpha = 1.0 + (share - 1.0) / 16.0;
    assert!(is_near(path.bbr.bounds.short, cwnd * (1.0 - alpha / 3.0)), "{}", path.bbr.bounds.short);
    assert!(path.bbr.bounds.short_bw.is_infinite());
}

#[test]
fn a_probe_of_which_more_than_half_is_marked_is_too_much() {
    let mut path = Path::cruising();
    path.marked_round(RATE, BDP, 0.0, SHORT);
    path.until(ModelState::ProbeBwUp, BDP);
    path.marked_round(RATE, BDP, 0.5, SHORT);
    assert_eq!(path.bbr.state, ModelState::ProbeBwUp);
    path.marked_round(RATE, BDP, 0.6, SHORT);
    assert_eq!(path.bbr.state, ModelState::ProbeBwDown);
    assert!(path.bbr.bounds.long.is_finite());
}

fn is_near(value: f64, wanted: f64) -> bool {
    (value / wanted - 1.0).abs() < 1e-3
}
