//! The state of one UE: a function of its last transmission and the time, without timers and random numbers.

use super::{Config, Drx, Released, Target};
use crate::packet::Dir;
use crate::time::{Duration, Instant};
use crate::trace::Activity as State;
use std::sync::Arc;

/// A radio frame: the distance between the paging occasions of successive UEs.
const FRAME: Duration = Duration::from_millis(10);

/// The state of a UE.
pub(crate) struct Clock {
    config: Arc<Config>,
    ue: u64,
    /// The state in which the UE sends and receives since `opens`: active or shared.
    base: State,
    /// The state that the last wake-up ended; the UE remains in it until `paged`.
    slept: State,
    /// When the promotion starts, or started.
    paged: Instant,
    /// When the UE can send and receive.
    opens: Instant,
    /// When the last wake-up was requested; the time before it is in `spent`.
    asked: Instant,
    spent: [Duration; State::ALL.len()],
    /// Number of wake-ups from each state.
    woken: [u64; State::ALL.len()],
}

impl Clock {
    /// A UE that is active at time 0.
    pub fn new(config: Arc<Config>, ue: u16) -> Self {
        Self {
            config,
            ue: ue.into(),
            base: State::Active,
            slept: State::Active,
            paged: Instant::ZERO,
            opens: Instant::ZERO,
            asked: Instant::ZERO,
            spent: [Duration::ZERO; State::ALL.len()],
            woken: [0; State::ALL.len()],
        }
    }

    /// Whether the UE is in CELL_FACH, or will be when it has woken up.
    pub fn is_shared(&self) -> bool {
        self.base == State::Shared
    }

    /// The states that silence leads to from the present base, each with its time of silence.
    fn states(&self) -> impl Iterator<Item = (Duration, State)> {
        let (base, shared) = (self.base, self.config.shared.as_ref().map(|own| own.after));
        let passed = shared.filter(|_| base == State::Shared);
        let below =
            self.config.states().filter(move |(after, _)| passed.is_none_or(|passed| *after > passed));
        below.map(move |(after, state)| (after.saturating_sub(passed.unwrap_or_default()), state))
    }

    /// Since when the UE is silent, if its last transmission ended at `sent`.
    fn silent_since(&self, sent: Instant) -> Instant {
        sent.max(self.opens)
    }

    /// The state now, if the last transmission ended at `sent`.
    pub fn state(&self, now: Instant, sent: Instant) -> State {
        if now < self.paged {
            return self.slept;
        }
        if now < self.opens {
            return State::Promotion;
        }
        let since = self.silent_since(sent);
        if now <= since {
            return self.base;
        }
        let silence = now.since(since);
        self.states().take_while(|(after, _)| *after <= silence).last().map_or(self.base, |(_, state)| state)
    }

    /// When the state changes next if nothing is sent; `NEVER` in the deepest.
    pub fn next_change(&self, now: Instant, sent: Instant) -> Instant {
        if now < self.opens {
            return if now < self.paged { self.paged } else { self.opens };
        }
        let since = self.silent_since(sent);
        let next = self.states().map(|(after, _)| since + after).find(|at| *at > now);
        next.unwrap_or(Instant::NEVER)
    }

    /// A packet came for the UE or from it, whose last transmission ended at `sent`: until when neither direction sends,
    /// where that changes.
    pub fn wake(&mut self, now: Instant, dir: Dir, sent: Instant) -> Option<Instant> {
        if now < self.opens {
            // A UE with data of its own does not wait to be paged.
            if dir == Dir::Downlink || now >= self.paged {
                return None;
            }
            let promotion = self.opens.since(self.paged);
            (self.paged, self.opens) = (now, now + promotion);
            return Some(self.opens);
        }
        let state = self.state(now, sent);
        if state == self.base {
            return None;
        }
        self.account(now, sent);
        let since = self.silent_since(sent);
        (self.slept, self.asked, self.paged) = (state, now, now);
        let config = Arc::clone(&self.config);
        let mut promotion = Duration::ZERO;
        match state {
            State::Drx => {
                if let (Some(drx), Dir::Downlink) = (&config.drx, dir) {
                    self.paged = self.on_duration(drx, now, since + drx.after);
                }
            }
            State::Shared => self.base = State::Shared,
            State::Inactive => promotion = self.page(config.inactive.as_ref(), now, dir),
            State::Idle => promotion = self.page(config.idle.as_ref(), now, dir),
            State::Active | State::Promotion => {}
        }
        self.opens = self.paged + promotion;
        self.woken[state as usize] += 1;
        Some(self.opens)
    }

    /// The buffer of a UE in CELL_FACH has passed its threshold: until when neither direction sends.
    pub fn leave_shared(&mut self, now: Instant, sent: Instant) -> Instant {
        let promotion = self.config.shared.as_ref().map_or(Duration::ZERO, |shared| shared.promotion);
        if now >= self.opens {
            self.account(now, sent);
            (self.slept, self.asked, self.paged, self.opens) = (State::Shared, now, now, now);
        }
        self.opens += promotion;
        self.woken[State::Shared as usize] += 1;
        self.base = State::Active;
        self.opens
    }

    /// The UE is in contact with the network at `until`, as after a hand-over.
    pub fn touch(&mut self, now: Instant, until: Instant, sent: Instant) {
        if until > self.opens {
            let slept = self.state(now, sent);
            self.account(now, sent);
            (self.slept, self.asked, self.paged, self.opens, self.base) =
                (slept, now, until, until, State::Active);
        }
    }

    /// Sets the paging occasion, and returns the duration of the promotion after it.
    fn page(&mut self, state: Option<&Released>, now: Instant, dir: Dir) -> Duration {
        let Some(state) = state else { return Duration::ZERO };
        self.base = match state.into {
            Target::Active => State::Active,
            Target::Shared => State::Shared,
        };
        if let (Some(paging), Dir::Downlink) = (state.paging, dir) {
            self.paged = grid_point(now, paging, FRAME.saturating_mul(self.ue));
        }
        state.promotion
    }

    /// Returns the first time from `now` on when a UE that has been in DRX since `began` listens.
    fn on_duration(&self, drx: &Drx, now: Instant, began: Instant) -> Instant {
        let offset = drx.on.saturating_mul(self.ue);
        let listens = |from: Instant, cycle: Duration| {
            let next = grid_point(from, cycle, offset);
            // The on-duration that started before may still last.
            let lasts = (next.as_nanos() + drx.on.as_nanos()).saturating_sub(cycle.as_nanos());
            if from.as_nanos() < lasts { from } else { next }
        };
        let short =
            drx.short_cycle.map(|cycle| (cycle, began + cycle.saturating_mul(drx.short_cycles.into())));
        match short.filter(|(_, ends)| now < *ends) {
            Some((cycle, ends)) => {
                let at = listens(now, cycle);
                if at < ends { at } else { listens(ends, drx.cycle) }
            }
            None => listens(now, drx.cycle),
        }
    }

    /// Adds the time since the last wake-up to the states in which it was spent.
    fn account(&mut self, now: Instant, sent: Instant) {
        let spent = self.since_asked(now, sent);
        self.spent.iter_mut().zip(spent).for_each(|(own, more)| *own += more);
        self.asked = now;
    }

    /// Time in each state since the last wake-up was requested.
    fn since_asked(&self, now: Instant, sent: Instant) -> [Duration; State::ALL.len()] {
        let mut spent = [Duration::ZERO; State::ALL.len()];
        let mut add = |state: State, from: Instant, to: Instant| {
            let (from, to) = (from.max(self.asked), to.min(now));
            spent[state as usize] += to.since(from.min(to));
        };
        add(self.slept, self.asked, self.paged);
        add(State::Promotion, self.paged, self.opens);
        let silent = self.silent_since(sent);
        let (mut state, mut from) = (self.base, self.opens);
        for (after, next) in self.states() {
            add(state, from, silent + after);
            (state, from) = (next, silent + after);
        }
        add(state, from, now);
        spent
    }

    /// Time in each state until now, in the order of [`State::ALL`].
    pub fn time_in(&self, now: Instant, sent: Instant) -> [Duration; State::ALL.len()] {
        let mut total = self.since_asked(now, sent);
        total.iter_mut().zip(self.spent).for_each(|(own, more)| *own += more);
        total
    }

    /// How often a packet found the UE in each state and woke it.
    pub fn woken(&self) -> [u64; State::ALL.len()] {
        self.woken
    }
}

/// The first point of a grid from `from` on.
fn grid_point(from: Instant, cycle: Duration, offset: Duration) -> Instant {
    let (cycle, offset) = (cycle.as_nanos(), offset.as_nanos() % cycle.as_nanos());
    let passed = from.as_nanos().saturating_sub(offset);
    Instant::from_nanos(offset + passed.div_ceil(cycle) * cycle)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn clock(text: &str, ue: u16) -> Clock {
        Clock::new(Arc::new(toml::from_str(text).unwrap()), ue)
    }

    const LTE: &str = r#"
drx = { after = "100 ms", on = "10 ms", cycle = "40 ms", short_cycle = "20 ms", short_cycles = 2 }
idle = { after = "10 s", promotion = "300 ms", paging = "1.28 s" }
"#;

    #[test]
    fn downlink_packet_in_drx_waits_for_the_next_on_duration() {
        let opens = |now: u64, sent: u64| clock(LTE, 0).wake(at(now), Dir::Downlink, at(sent));
        assert_eq!(opens(99, 0), None, "active");
        // DRX since 107 ms: short cycles until 147 ms, then long ones.
        assert_eq!(opens(109, 7), Some(at(109)), "within the on-duration of 100 ms");
        assert_eq!(opens(111, 7), Some(at(120)), "short cycle");
        assert_eq!(opens(146, 7), Some(at(146)), "within the on-duration of 140 ms");
        assert_eq!(opens(131, 0), Some(at(160)), "the next short cycle would start after the short phase");
        assert_eq!(opens(171, 7), Some(at(200)), "long cycle");
        assert_eq!(clock(LTE, 1).wake(at(181), Dir::Downlink, at(7)), Some(at(210)), "the grid of UE 1");
        assert_eq!(clock(LTE, 0).wake(at(171), Dir::Uplink, at(7)), Some(at(171)), "the UE wakes itself");
    }

    #[test]
    fn downlink_packet_in_idle_waits_for_paging_and_promotion() {
        let mut woken = clock(LTE, 0);
        assert_eq!(woken.wake(at(20_000), Dir::Downlink, at(0)), Some(at(20_480 + 300)));
        assert_eq!(woken.wake(at(20_100), Dir::Downlink, at(0)), None, "it is being paged");
        assert_eq!(
            woken.wake(at(20_200), Dir::Uplink, at(0)),
            Some(at(20_500)),
            "its own data needs no paging"
        );
        assert_eq!(woken.wake(at(20_300), Dir::Uplink, at(0)), None, "it is being promoted");
        assert_eq!(clock(LTE, 0).wake(at(20_000), Dir::Uplink, at(0)), Some(at(20_300)));
    }

    #[test]
    fn times_in_states_add_up_to_the_run() {
        let mut woken = clock(LTE, 0);
        woken.wake(at(20_000), Dir::Downlink, at(0));
        let spent = woken.time_in(at(35_000), at(21_000)).map(|time| time.as_nanos() / 1_000_000);
        // Active 0.1 s, DRX to 10 s, idle to the paging at 20.48 s, promotion to 20.78 s, active to 21.1 s, DRX to 31 s.
        assert_eq!(spent, [100 + 320, 9_900 + 9_900, 0, 0, 10_480 + 4_000, 300]);
        assert_eq!(spent.iter().sum::<u64>(), 35_000);
        assert_eq!(woken.woken(), [0, 0, 0, 0, 1, 0]);
    }

    const UMTS: &str = r#"
shared = { after = "5 s", rate = "32 kbit/s", promotion = "1.5 s" }
idle = { after = "17 s", promotion = "2 s" }
"#;

    #[test]
    fn a_ue_in_cell_fach_stays_there_and_is_idle_after_the_rest_of_the_silence() {
        let mut woken = clock(UMTS, 0);
        assert_eq!(woken.wake(at(8_000), Dir::Uplink, at(0)), Some(at(8_000)));
        assert!(woken.is_shared());
        assert_eq!(woken.state(at(19_900), at(8_000)), State::Shared);
        assert_eq!(woken.state(at(20_000), at(8_000)), State::Idle, "12 s, not 17 s, after data on the FACH");
        assert_eq!(woken.leave_shared(at(9_000), at(8_900)), at(10_500));
        assert_eq!(woken.state(at(10_400), at(8_900)), State::Promotion);
        assert_eq!(woken.state(at(10_500), at(8_900)), State::Active);
        assert_eq!(woken.next_change(at(10_500), at(8_900)), at(15_500));
    }
}
