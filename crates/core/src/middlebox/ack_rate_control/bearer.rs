//! One bearer: the line of its ACKs, `id_timer` and `LADT` of Figure 3, and which function gives `t_id`.

use super::{Config, Occupancy, Release};
use crate::element::BearerView;
use crate::middlebox::acks::{Line, Segment};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::trace::Event;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Event that the front of the line waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wait {
    /// `id_timer` is off, and nothing else will come.
    #[default]
    Nothing,
    /// `id_timer`, at whose expiration the first goes.
    IdTimer(Instant),
    /// `id_timer` is off; the delay is computed again at this instant.
    Again(Instant),
}

/// Function that gives `t_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Regime {
    /// `f_1`: `Counter` is 0.
    #[default]
    First,
    /// `f_2`: `Counter` is above 0.
    Second,
}

#[derive(Default)]
struct Counts {
    came: u64,
    held: u64,
    forced_idle: u64,
    forced_limit: u64,
    /// Segments held times the time for which they were, nanoseconds.
    held_ns: u128,
    /// Number of changes to f_2.
    switches: u64,
    first: Duration,
    second: Duration,
}

/// Lets a packet go.
type Emit<'a> = &'a mut dyn FnMut(Box<Packet>);

/// One bearer.
#[derive(Default)]
pub(super) struct Bearer {
    line: Line,
    /// Flows that have sent data; ACKs of other flows need no control.
    pub flows: BTreeSet<u16>,
    wait: Wait,
    regime: Regime,
    /// Start of the present regime.
    regime_since: Instant,
    /// `LADT`: when an ACK departed last.
    last_departure: Option<Instant>,
    /// `counts.held_ns` is complete up to this time.
    counted_until: Instant,
    counts: Counts,
    /// The last event recorded.
    told: Option<Event>,
}

/// SDUs in the buffer, as the box counts them.
pub(super) fn occupancy(config: &Config, view: &BearerView) -> u32 {
    match config.occupancy {
        Occupancy::Unacked => view.sdus,
        Occupancy::Untransmitted => view.untransmitted_sdus,
    }
}

impl Bearer {
    pub fn new(now: Instant) -> Self {
        Self { regime_since: now, counted_until: now, ..Self::default() }
    }

    /// Whether segments of a flow are held.
    pub fn holds(&self, flow: u16) -> bool {
        self.line.any(|packet| packet.flow == flow)
    }

    /// When [`Bearer::handle_timer`] is to be called.
    pub fn deadline(&self) -> Option<Instant> {
        match self.wait {
            Wait::Nothing => None,
            Wait::IdTimer(at) | Wait::Again(at) => Some(at),
        }
    }

    /// `ack_arrival`; also for other segments that wait after ACKs of their flow.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        config: &Config,
        occupancy: u32,
        packet: Box<Packet>,
        emit: Emit<'_>,
    ) {
        self.count_held(now);
        self.counts.came += 1;
        self.line.push(packet);
        if !matches!(self.wait, Wait::IdTimer(_)) {
            self.delay_and_send(now, config, occupancy, emit);
        }
        if self.line.len() > config.hold_limit as usize {
            self.counts.forced_limit += 1;
            self.send_first(now, emit);
        }
        self.counts.held += u64::from(!self.line.is_empty());
        self.line.note_peaks();
    }

    /// `id_timer_expiration`, or the idle timeout.
    pub fn handle_timer(&mut self, now: Instant, config: &Config, occupancy: u32, emit: Emit<'_>) {
        self.count_held(now);
        match std::mem::take(&mut self.wait) {
            Wait::Nothing => return,
            Wait::IdTimer(_) => self.send_first(now, emit),
            Wait::Again(_) => self.counts.forced_idle += u64::from(config.release == Release::Strict),
        }
        self.delay_and_send(now, config, occupancy, emit);
    }

    /// `delay_and_send`, and the continuation after an ACK that is not delayed.
    fn delay_and_send(&mut self, now: Instant, config: &Config, occupancy: u32, emit: Emit<'_>) {
        self.wait = Wait::Nothing;
        while !self.line.is_empty() {
            let wait = self.wait_of_first(now, config, occupancy);
            if wait != Wait::Nothing {
                self.wait = wait;
                return;
            }
            self.send_first(now, emit);
            if config.release == Release::Strict {
                break;
            }
        }
        if !self.line.is_empty() {
            self.wait = Wait::Again(now + config.idle_release);
        }
    }

    /// Event that the first ACK has to wait for.
    fn wait_of_first(&self, now: Instant, config: &Config, occupancy: u32) -> Wait {
        let Some(departed) = self.last_departure else { return Wait::Nothing };
        let next_tti = match config.release {
            Release::Strict | Release::Loop => departed,
            Release::OnePerTti => {
                (departed + Duration::from_nanos(1)).next_grid_point(config.tti.as_nanos(), 1)
            }
        };
        let expiry = departed + self.t_id(config, occupancy);
        if expiry > now {
            Wait::IdTimer(expiry.max(next_tti))
        } else if next_tti > now {
            Wait::Again(next_tti)
        } else {
            Wait::Nothing
        }
    }

    /// Sends the first ACK and the segments queued after it up to the next ACK.
    fn send_first(&mut self, now: Instant, emit: Emit<'_>) {
        if let Some(packet) = self.line.pop() {
            self.last_departure = Some(now);
            emit(packet);
        }
        while self.line.front().is_some_and(|packet| Segment::of(packet) != Segment::PureAck) {
            self.line.pop().into_iter().for_each(&mut *emit);
        }
    }

    /// Releases all segments of a flow: its connection begins or ends.
    pub fn flush(&mut self, now: Instant, flow: u16, emit: Emit<'_>) {
        self.count_held(now);
        self.line.take(|packet| packet.flow == flow).into_iter().for_each(emit);
        if self.line.is_empty() {
            self.wait = Wait::Nothing;
        }
    }

    /// The function in force at this occupancy.
    fn t_id(&self, config: &Config, occupancy: u32) -> Duration {
        match (self.regime, &config.t_id_after_drop) {
            (Regime::Second, Some(f_2)) => f_2.t_id(occupancy),
            _ => config.t_id.t_id(occupancy),
        }
    }

    /// The buffer's `Counter` may have changed: it is `counter` now.
    pub fn on_counter(&mut self, now: Instant, counter: u64) {
        let regime = if counter > 0 { Regime::Second } else { Regime::First };
        if self.regime != regime {
            [self.counts.first, self.counts.second] = self.spent(now);
            self.counts.switches += u64::from(regime == Regime::Second);
            (self.regime, self.regime_since) = (regime, now);
        }
    }

    /// The time spent with f_1 and with f_2.
    fn spent(&self, now: Instant) -> [Duration; 2] {
        let (since, Counts { first, second, .. }) = (now.since(self.regime_since), &self.counts);
        match self.regime {
            Regime::First => [*first + since, *second],
            Regime::Second => [*first, *second + since],
        }
    }

    /// The line is about to change.
    fn count_held(&mut self, now: Instant) {
        self.counts.held_ns = self.held_ns(now);
        self.counted_until = now;
    }

    fn held_ns(&self, now: Instant) -> u128 {
        let since = u128::from(now.since(self.counted_until).as_nanos());
        self.counts.held_ns + since * self.line.len() as u128
    }

    /// The event describing the current state; `None` if it equals the last event recorded.
    pub fn take_news(&mut self, ue: u16, config: &Config, occupancy: u32) -> Option<Event> {
        let event = Event::AckRateControl {
            ue,
            held_acks: self.line.len() as u32,
            held_bytes: self.line.bytes() as u32,
            occupancy_sdus: occupancy,
            t_id_us: self.t_id(config, occupancy).as_micros(),
            after_drop: self.regime != Regime::First,
        };
        let is_news = self.told.replace(event) != Some(event);
        is_news.then_some(event)
    }

    pub fn report(&self, now: Instant, ue: u16) -> Value {
        let counts = &self.counts;
        let [first, second] = self.spent(now);
        let mean_hold_ms = (counts.came > 0).then(|| self.held_ns(now) as f64 / counts.came as f64 / 1e6);
        json!({
            "ue": ue,
            "acks": counts.came,
            "acks_held": counts.held,
            "held_at_end": self.line.len(),
            "peak_held_acks": self.line.peak_packets,
            "peak_held_bytes": self.line.peak_bytes,
            "mean_hold_ms": mean_hold_ms,
            "t_id_s": first.as_secs_f64(),
            "t_id_after_drop_s": second.as_secs_f64(),
            "drops_followed": counts.switches,
            "forced_releases": { "idle": counts.forced_idle, "hold_limit": counts.forced_limit },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::t_id::{Constant, Function};
    use super::*;
    use crate::packet::Flags;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn segment(flow: u16, seq: u32, payload: u32) -> Box<Packet> {
        Box::new(Packet { flow, seq, payload, flags: Flags::ACK, ..Packet::default() })
    }

    /// A bearer at 3 ms: the ACK 0 has left at 0; the ACK 1 of flow 0 and 2 of flow 1, the data 3 of flow 0 after its
    /// ACK and the ACK 4 of flow 0 are held. 100 ms between two ACKs.
    fn held() -> (Config, Bearer) {
        let step = Constant { minth: 0, maxd: Duration::from_millis(100) };
        let config = Config { t_id: Function::Constant(step), ..Config::default() };
        let mut bearer = Bearer::new(at(0));
        let mut left = Vec::new();
        for (seq, (flow, payload)) in (0..).zip([(0, 0), (0, 0), (1, 0), (0, 500), (0, 0)]) {
            let now = at(u64::from(seq).min(3));
            bearer
                .handle_segment(now, &config, 9, segment(flow, seq, payload), &mut |one| left.push(one.seq));
        }
        assert_eq!(left, [0]);
        (config, bearer)
    }

    #[test]
    fn data_leaves_with_the_last_ack_before_it() {
        let (config, mut bearer) = held();
        let mut left = Vec::new();
        while let Some(due) = bearer.deadline() {
            bearer.handle_timer(due, &config, 9, &mut |one| left.push((due, one.seq)));
        }
        assert_eq!(left, [(at(100), 1), (at(200), 2), (at(200), 3), (at(300), 4)]);
    }

    #[test]
    fn a_flow_that_ends_leaves_the_others_held() {
        let (config, mut bearer) = held();
        let mut left = Vec::new();
        bearer.flush(at(50), 0, &mut |one| left.push(one.seq));
        assert_eq!(left, [1, 3, 4]);
        assert!(!bearer.holds(0) && bearer.holds(1));
        assert_eq!(bearer.deadline(), Some(at(100)));
        bearer.handle_timer(at(100), &config, 9, &mut |one| left.push(one.seq));
        assert_eq!((left, bearer.deadline()), (vec![1, 3, 4, 2], None));
    }
}
