//! Uplink grants: a UE with data requests resources, and is granted TTIs while it has more.
//!
//! ```text
//! data -> wait for SR -> processing -> TTI with BSR -> processing -> TTI, and one each interval while data waits
//! ```
//!
//! An idle UE sends a scheduling request (SR) at its next occasion. The first TTI follows after `processing`
//! and carries a buffer status report (BSR), which the network can use after the same time. From then on,
//! grants follow each other until a TTI leaves no data to send. Sources: TS 36.321 §5.4.4, §5.4.5; TS 36.213
//! §8. ASSUMED: grants follow each other at equal intervals, and the network knows at each of them whether
//! data is queued.
//!
//! A UE that needs an SR delays all its packets until its buffer is empty again, however low its sending
//! rate. [`Grants::delay`] is this delay; queue disciplines do not count it as queueing delay.

use crate::time::{Duration, Instant};

/// The grants of one UE.
pub(in crate::radio) struct Grants {
    /// Time between two occasions for an SR, and the first one.
    sr_period: Duration,
    sr_offset: Duration,
    /// From SR or BSR to the TTI that is granted for it.
    processing: Duration,
    interval: Duration,
    /// No SR before.
    paused_until: Instant,
    state: State,
    /// Since when the UE has had data for which it has no grant.
    asking_since: Option<Instant>,
    /// Delay of a packet caused by grants, while they follow each other.
    delay: Duration,
}

#[derive(Clone, Copy)]
enum State {
    /// No grant; contains the time of the planned SR, `NEVER` if none is planned.
    Idle(Instant),
    /// More is granted: the first TTI since the SR, and the next.
    Granted { next: Instant },
}

impl Grants {
    pub fn new(sr_period: Duration, sr_offset: Duration, processing: Duration, interval: Duration) -> Self {
        let state = State::Idle(Instant::NEVER);
        Self {
            sr_period,
            sr_offset,
            processing,
            interval,
            paused_until: Instant::ZERO,
            state,
            asking_since: None,
            delay: Duration::ZERO,
        }
    }

    /// Maximum time that a packet may have waited by now without another packet before it. It counts from the
    /// start of the request; once grants follow each other, up to the first TTI and on to the next one.
    /// Packets that arrive during the request are sent in consecutive grants, so the delay applies until a
    /// TTI leaves no data to send.
    pub fn delay(&self, now: Instant) -> Duration {
        match self.state {
            State::Idle(_) => self.asking_since.map_or(Duration::ZERO, |since| now.since(since)),
            State::Granted { .. } => self.delay,
        }
    }

    /// Start of the next TTI for an entity that needs one from `wanted` on; `NEVER` if it needs none.
    #[inline(never)]
    pub fn plan(&mut self, now: Instant, wanted: Instant) -> Instant {
        match self.state {
            State::Granted { next } if wanted <= next => return next,
            // The SR was sent: a grant follows in any case.
            State::Idle(sr) if sr < now => return sr + self.processing,
            _ => {}
        }
        let sr = match wanted {
            Instant::NEVER => {
                self.asking_since = None;
                Instant::NEVER
            }
            _ => {
                let from = wanted.max(now).max(self.paused_until);
                // A later request may be overtaken by an earlier one.
                self.asking_since = Some(self.asking_since.filter(|since| *since <= now).unwrap_or(from));
                self.occasion(from)
            }
        };
        self.state = State::Idle(sr);
        if sr == Instant::NEVER { sr } else { sr + self.processing }
    }

    /// The first occasion for an SR at `from` or later.
    fn occasion(&self, from: Instant) -> Instant {
        let (period, offset) = (self.sr_period.as_nanos(), self.sr_offset.as_nanos());
        Instant::from_nanos(offset + from.as_nanos().saturating_sub(offset).div_ceil(period) * period)
    }

    /// A TTI started; `more` data is left than fitted into it.
    pub fn begun(&mut self, now: Instant, more: bool) {
        self.state = match (more, self.state) {
            (false, _) => State::Idle(Instant::NEVER),
            (true, State::Idle(_)) => {
                let to_next = self.interval.max(self.processing);
                self.delay = self.delay(now) + to_next;
                State::Granted { next: now + to_next }
            }
            (true, State::Granted { .. }) => State::Granted { next: now + self.interval },
        };
        self.asking_since = None;
    }

    /// Makes the UE unreachable until then; its grants are lost.
    pub fn pause(&mut self, until: Instant) {
        self.paused_until = until;
        self.state = State::Idle(Instant::NEVER);
        self.asking_since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn grants() -> Grants {
        let [period, offset, processing, interval] = [10, 2, 8, 5].map(Duration::from_millis);
        Grants::new(period, offset, processing, interval)
    }

    #[test]
    fn an_idle_ue_asks_at_its_next_occasion() {
        let mut grants = grants();
        assert_eq!(grants.plan(ms(0), Instant::NEVER), Instant::NEVER);
        assert_eq!(grants.plan(ms(3), ms(3)), ms(20));
        // Asked again before the SR and after it: the same one.
        assert_eq!([grants.plan(ms(4), ms(4)), grants.plan(ms(13), ms(13))], [ms(20); 2]);
        // A requested grant is given even if no data is left.
        assert_eq!(grants.plan(ms(14), Instant::NEVER), ms(20));
        grants.begun(ms(20), false);
        assert_eq!(grants.plan(ms(21), ms(21)), ms(30));
        assert_eq!(grants.plan(ms(21), Instant::NEVER), Instant::NEVER);
    }

    #[test]
    fn grants_follow_each_other_while_something_waits() {
        let mut grants = grants();
        assert_eq!(grants.plan(ms(1), ms(1)), ms(10));
        grants.begun(ms(10), true);
        assert_eq!(grants.plan(ms(10), ms(0)), ms(18));
        grants.begun(ms(18), true);
        assert_eq!(grants.plan(ms(18), ms(0)), ms(23));
        grants.begun(ms(23), false);
        assert_eq!(grants.plan(ms(24), ms(24)), ms(40));
        grants.pause(ms(100));
        assert_eq!(grants.plan(ms(25), ms(25)), ms(110));
    }

    /// By hand: 17 ms from the request to the first TTI, and 8 to the next one; 9 and 8 afterwards.
    #[test]
    fn a_packet_waits_as_long_for_grants_whether_there_is_a_queue_or_not() {
        let mut grants = grants();
        let delays = |of: &Grants, at: [u64; 2]| at.map(|time| of.delay(ms(time)).as_micros() / 1000);
        assert_eq!(delays(&grants, [0, 3]), [0, 0]);
        grants.plan(ms(3), ms(3));
        // Requested again: the delay still counts from 3 ms.
        grants.plan(ms(15), ms(15));
        assert_eq!(delays(&grants, [3, 20]), [0, 17]);
        grants.begun(ms(20), true);
        assert_eq!(delays(&grants, [20, 28]), [25, 25]);
        grants.begun(ms(28), true);
        assert_eq!(delays(&grants, [28, 33]), [25, 25]);
        grants.begun(ms(33), false);
        assert_eq!(delays(&grants, [33, 60]), [0, 0]);
        // A timer requests a TTI at 90 ms, but data arrives at 61 ms.
        grants.plan(ms(60), ms(90));
        grants.plan(ms(61), ms(61));
        assert_eq!(delays(&grants, [61, 70]), [0, 9]);
        grants.begun(ms(70), true);
        assert_eq!(delays(&grants, [70, 78]), [17, 17]);
        // Unreachable time does not count as delay by grants.
        grants.pause(ms(200));
        grants.plan(ms(80), ms(80));
        assert_eq!(delays(&grants, [150, 200]), [0, 0]);
        assert_eq!(delays(&grants, [205, 210]), [5, 10]);
    }
}
