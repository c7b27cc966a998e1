//! Grants of an uplink: a UE that has something to send asks for room, and gets it while it has more.
//!
//! ```text
//! data -> wait for SR -> processing -> TTI with BSR -> processing -> TTI, and one each interval while data waits
//! ```
//!
//! An idle UE sends a scheduling request (SR) at its next occasion; the first TTI follows after `processing`. It carries a
//! buffer status report (BSR), which the network knows of after the same time; from then on grants follow each other
//! until a TTI leaves nothing to send. Sources: TS 36.321 §5.4.4, §5.4.5; TS 36.213 §8. ASSUMED: grants follow each other
//! at equal intervals; the network knows at each of them whether something waits.

use crate::time::{Duration, Instant};

/// The grants of one UE.
pub(super) struct Grants {
    /// Time between two occasions for an SR, and the first one.
    sr_period: Duration,
    sr_offset: Duration,
    /// From SR or BSR to the TTI that is granted for it.
    processing: Duration,
    interval: Duration,
    /// No SR before.
    paused_until: Instant,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// Nothing is granted. An SR may be planned: when, if it is.
    Idle(Instant),
    /// More is granted: the first TTI since the SR, and the next.
    Granted { next: Instant },
}

impl Grants {
    pub fn new(sr_period: Duration, sr_offset: Duration, processing: Duration, interval: Duration) -> Self {
        let state = State::Idle(Instant::NEVER);
        Self { sr_period, sr_offset, processing, interval, paused_until: Instant::ZERO, state }
    }

    /// When the next TTI is, for an entity that wants one from `wanted` on; `NEVER` if it wants none.
    #[inline(never)]
    pub fn plan(&mut self, now: Instant, wanted: Instant) -> Instant {
        match self.state {
            State::Granted { next } if wanted <= next => return next,
            // It was sent: a grant comes in any case.
            State::Idle(sr) if sr < now => return sr + self.processing,
            _ => {}
        }
        let sr = match wanted {
            Instant::NEVER => Instant::NEVER,
            _ => self.occasion(wanted.max(now).max(self.paused_until)),
        };
        self.state = State::Idle(sr);
        if sr == Instant::NEVER { sr } else { sr + self.processing }
    }

    /// The first occasion for an SR at `from` or later.
    fn occasion(&self, from: Instant) -> Instant {
        let (period, offset) = (self.sr_period.as_nanos(), self.sr_offset.as_nanos());
        Instant::from_nanos(offset + from.as_nanos().saturating_sub(offset).div_ceil(period) * period)
    }

    /// A TTI began, and there is `more` to send than went into it.
    pub fn begun(&mut self, now: Instant, more: bool) {
        self.state = match (more, self.state) {
            (false, _) => State::Idle(Instant::NEVER),
            (true, State::Idle(_)) => State::Granted { next: now + self.interval.max(self.processing) },
            (true, State::Granted { .. }) => State::Granted { next: now + self.interval },
        };
    }

    /// The UE is out of reach until then; what was granted is gone.
    pub fn pause(&mut self, until: Instant) {
        self.paused_until = until;
        self.state = State::Idle(Instant::NEVER);
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
        // What was asked for is granted even if nothing is left to send.
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
}
