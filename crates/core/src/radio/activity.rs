//! A cell whose UEs enter sleep states when idle: DRX and RRC states in front of any kind of cell.
//!
//! A packet enters the buffer of its bearer at once. If its UE is asleep, neither direction of the UE starts
//! a transmission until the UE has woken up ([`Clock`]); queue disciplines count this time as queueing delay.
//! A cell without `activity` is not wrapped, so it has no cost. State changes are computed when a packet
//! arrives; timers run only while the probe `activity` is enabled.

use super::outages::Pausable;
use crate::activity::{Clock, Config};
use crate::element::{Adopt, Cx, Element, Layout, Port, RadioEvent, as_same, bearer_index};
use crate::packet::{Dir, Packet};
use crate::time::Instant;
use crate::trace::{Activity as State, Event, Kind};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Wraps the cell with this activity configuration, if any.
pub(super) fn with_activity(cell: Box<dyn Pausable>, config: Option<&Config>, ues: u16) -> Box<dyn Pausable> {
    let Some(config) = config.cloned().map(Arc::new) else { return cell };
    let user =
        |ue| User { clock: Clock::new(Arc::clone(&config), ue), paused_until: Instant::ZERO, told: None };
    let users = (0..ues).map(user).collect();
    let timer = cell.layout().timers;
    Box::new(WithActivity { cell, config, users, timer })
}

struct WithActivity {
    cell: Box<dyn Pausable>,
    config: Arc<Config>,
    users: Vec<User>,
    /// The timer after the cell's own timers.
    timer: u32,
}

struct User {
    clock: Clock,
    /// End of the outage caused by a hand-over.
    paused_until: Instant,
    /// State in the last event.
    told: Option<State>,
}

impl WithActivity {
    /// Holds both directions of the UE until it has woken up, and sets their rate.
    fn hold(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        let user = &self.users[usize::from(ue)];
        let rate = self.config.shared.as_ref().filter(|_| user.clock.is_shared()).map(|shared| shared.rate);
        self.cell.limit_rate(ue, rate);
        self.cell.hold(cx, ue, until.max(user.paused_until));
    }

    /// Wakes the UE for a packet to or from it.
    fn wake(&mut self, cx: &mut Cx<'_>, ue: u16, dir: Dir) {
        let sent = self.cell.sent_until(ue);
        if let Some(until) = self.users[usize::from(ue)].clock.wake(cx.now, dir, sent) {
            self.hold(cx, ue, until);
        }
    }

    /// Called before a packet of `len` bytes enters its buffer: on CELL_FACH, requests a dedicated channel if
    /// the packet makes the buffer exceed its threshold. The check comes first because the cell may start to
    /// send the packet at once.
    fn check_threshold(&mut self, cx: &mut Cx<'_>, ue: u16, dir: Dir, len: u64) {
        let Some(shared) =
            self.config.shared.as_ref().filter(|_| self.users[usize::from(ue)].clock.is_shared())
        else {
            return;
        };
        let now = cx.now;
        let held = cx.bearer(bearer_index(ue, dir)).view(now).bytes;
        if shared.is_exceeded(dir, held + len) {
            let sent = self.cell.sent_until(ue);
            let until = self.users[usize::from(ue)].clock.leave_shared(now, sent);
            self.hold(cx, ue, until);
        }
    }

    /// Records the states that have changed and sets the timer to the next change.
    #[cold]
    fn tell(&mut self, cx: &mut Cx<'_>) {
        let mut next = Instant::NEVER;
        for (ue, user) in (0_u16..).zip(&mut self.users) {
            let sent = self.cell.sent_until(ue);
            let state = user.clock.state(cx.now, sent);
            if user.told != Some(state) {
                user.told = Some(state);
                cx.probe(Kind::Activity, || Event::Activity { ue, ue_state: state });
            }
            next = next.min(user.clock.next_change(cx.now, sent));
        }
        match next {
            Instant::NEVER => cx.disarm(self.timer),
            next => cx.arm(self.timer, next),
        }
    }

    fn tell_if_probed(&mut self, cx: &mut Cx<'_>) {
        if cx.probes(Kind::Activity) {
            self.tell(cx);
        }
    }

    /// Activity of the UE until now.
    fn report_of(&self, cx: &Cx<'_>, ue: u16) -> Value {
        let clock = &self.users[usize::from(ue)].clock;
        let time_in = clock.time_in(cx.now, self.cell.sent_until(ue));
        let has = |state: &State| match state {
            State::Active | State::Promotion => true,
            below => self.config.states().any(|(_, other)| other == *below),
        };
        let by_state = |value: &dyn Fn(State) -> Value| -> Map<String, Value> {
            let own = State::ALL.iter().filter(|state| has(state));
            own.map(|state| (state.name().to_owned(), value(*state))).collect()
        };
        let time = |state: State| time_in[state as usize].as_secs_f64();
        let mut report = json!({
            "time_s": by_state(&|state| time(state).into()),
            "woken": by_state(&|state| clock.woken()[state as usize].into()),
        });
        if let Some(powers) = &self.config.power {
            let joules = |state: State| time(state) * powers.of(state).as_microwatts() as f64 / 1e6;
            report["energy_j"] = State::ALL.iter().map(|state| joules(*state)).sum::<f64>().into();
        }
        report
    }
}

impl Pausable for WithActivity {
    fn pause(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        if let Some(user) = self.users.get_mut(usize::from(ue)) {
            user.paused_until = until;
            // At the end of an outage the UE reports its location to the network.
            if until < crate::element::FAR {
                user.clock.touch(cx.now, until, self.cell.sent_until(ue));
                self.cell.limit_rate(ue, None);
            }
        }
        self.cell.pause(cx, ue, until);
        self.tell_if_probed(cx);
    }

    fn withdraw(&mut self, cx: &mut Cx<'_>, ue: u16) -> [Vec<Box<Packet>>; 2] {
        self.cell.withdraw(cx, ue)
    }

    fn resume(&mut self, cx: &mut Cx<'_>, ue: u16, at: Instant) {
        if let Some(user) = self.users.get_mut(usize::from(ue)) {
            user.paused_until = at;
            user.clock.touch(cx.now, at, self.cell.sent_until(ue));
            self.cell.limit_rate(ue, None);
        }
        self.cell.resume(cx, ue, at);
        self.tell_if_probed(cx);
    }

    fn hold(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        if let Some(user) = self.users.get_mut(usize::from(ue)) {
            user.paused_until = until;
            user.clock.touch(cx.now, until, self.cell.sent_until(ue));
            self.cell.limit_rate(ue, None);
        }
        self.cell.hold(cx, ue, until);
        self.tell_if_probed(cx);
    }

    fn sent_until(&self, ue: u16) -> Instant {
        self.cell.sent_until(ue)
    }

    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Element>, how: Adopt) -> bool {
        as_same::<Self>(fresh).is_some_and(|fresh| self.cell.adopt(cx, fresh.cell, how))
    }
}

impl Element for WithActivity {
    fn layout(&self) -> Layout {
        let layout = self.cell.layout();
        // A promotion can occur at any time.
        let (early, by_lanes) = Default::default();
        Layout { timers: layout.timers + 1, timers_tell: false, early, by_lanes, ..layout }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        self.cell.handle_start(cx);
        self.tell_if_probed(cx);
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let (ue, dir) = (packet.ue, port.dir());
        if usize::from(ue) >= self.users.len() {
            return self.cell.handle_packet(cx, port, packet);
        }
        self.wake(cx, ue, dir);
        self.check_threshold(cx, ue, dir, packet.len.into());
        self.cell.handle_packet(cx, port, packet);
        self.tell_if_probed(cx);
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        if key != self.timer {
            self.cell.handle_timer(cx, key);
        }
        self.tell_if_probed(cx);
    }

    fn handle_radio(&mut self, cx: &mut Cx<'_>, event: &RadioEvent) {
        self.cell.handle_radio(cx, event);
    }

    fn handle_capture(&mut self, cx: &mut Cx<'_>) {
        self.cell.handle_capture(cx);
    }

    fn report(&self, cx: &mut Cx<'_>) -> Value {
        let mut report = self.cell.report(cx);
        for ue in 0..self.users.len() as u16 {
            report["ues"][usize::from(ue)]["activity"] = self.report_of(cx, ue);
        }
        report
    }
}
