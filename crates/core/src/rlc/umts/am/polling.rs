//! Polls: which PDUs request a status report (TS 25.322 §9.5 a to c, §9.7.1).
//!
//! Timers are looked at when something happens. One that ends when a TTI is filled has ended; one that ends
//! when a STATUS PDU arrives has not, so that this STATUS may still stop it (ASSUMED: the standard orders
//! no events of one instant).

use super::config::Config;
use crate::rlc::ranges::{Ranges, SnRange};
use crate::rlc::{Run, Transmission};
use crate::time::{Duration, Instant};

/// When to poll.
#[derive(Debug)]
pub struct Polling {
    timer_poll_after: Option<Duration>,
    prohibit: Option<Duration>,
    period: Option<Duration>,
    poll_pdu: Option<u32>,
    poll_sdu: Option<u32>,
    poll_window: Option<u32>,
    /// From so many PDUs behind VT(A) on, each polls for Poll_Window.
    window_used: Option<u64>,
    /// VT(PDU): PDUs since the last poll of Poll_PDU.
    vt_pdu: u32,
    /// VT(SDU): SDUs since the last poll of Poll_SDU.
    vt_sdu: u32,
    /// A poll waits for a PDU, or for the end of Timer_Poll_Prohibit.
    waits: bool,
    /// When Timer_Poll ends; `NEVER` while it does not run.
    timer_poll: Instant,
    /// VT(S) when its poll was sent.
    vt_s_polled: u64,
    /// When Timer_Poll_Prohibit ends.
    prohibited_until: Instant,
    /// When Timer_Poll_Periodic ends.
    next_periodic: Instant,
    /// PDUs of the run being sent that poll.
    polls: Vec<u64>,
}

/// A run of PDUs to transmit.
#[derive(Clone, Copy, Debug)]
pub struct Submission {
    pub sns: SnRange,
    /// They go for the first time.
    pub new: bool,
    /// The last of them empties a buffer whose last PDU polls.
    pub last: bool,
    /// VT(S) before.
    pub vt_s: u64,
    /// VT(A).
    pub vt_a: u64,
}

impl Polling {
    pub fn new(config: &Config) -> Self {
        let mut polling = Self {
            timer_poll_after: config.timer_poll,
            prohibit: config.timer_poll_prohibit,
            period: config.timer_poll_periodic,
            poll_pdu: config.poll_pdu,
            poll_sdu: config.poll_sdu,
            poll_window: config.poll_window,
            window_used: None,
            vt_pdu: 0,
            vt_sdu: 0,
            waits: false,
            timer_poll: Instant::NEVER,
            vt_s_polled: 0,
            prohibited_until: Instant::ZERO,
            next_periodic: config.timer_poll_periodic.map_or(Instant::NEVER, |period| Instant::ZERO + period),
            polls: Vec::new(),
        };
        polling.set_window(u64::from(config.configured_tx_window_size));
        polling
    }

    /// VT(WS) is `vt_ws` from now on.
    pub fn set_window(&mut self, vt_ws: u64) {
        // J = (VT(S) + 1 - VT(A)) / VT(WS), VT(S) before the PDU is submitted.
        let used = |percent| (vt_ws * u64::from(percent)).div_ceil(100) - 1;
        self.window_used = self.poll_window.map(used);
    }

    /// §11.4.3: resets everything except Timer_Poll_Periodic.
    pub fn reset(&mut self, vt_ws: u64) {
        self.set_window(vt_ws);
        (self.vt_pdu, self.vt_sdu) = (0, 0);
        self.waits = false;
        self.timer_poll = Instant::NEVER;
        self.prohibited_until = Instant::ZERO;
    }

    /// When the first timer ends.
    #[inline]
    pub fn next_timer(&self) -> Instant {
        self.timer_poll.min(self.next_periodic)
    }

    /// Lets the timers take effect that end at `now` or before. `anything` waits or is unacknowledged.
    pub fn handle_deadline(&mut self, now: Instant, anything: bool) {
        if self.timer_poll <= now {
            self.timer_poll = Instant::NEVER;
            self.waits = true;
        }
        if let Some(period) = self.period
            && self.next_periodic <= now
        {
            let missed = now.since(self.next_periodic).as_nanos() / period.as_nanos();
            self.next_periodic += period.saturating_mul(missed + 1);
            self.waits |= anything;
        }
    }

    /// When a poll is due if nothing else happens.
    pub fn deadline(&self) -> Instant {
        if self.waits { self.prohibited_until } else { self.next_timer() }
    }

    /// A poll is triggered; the next PDU carries it.
    pub fn trigger(&mut self) {
        self.waits = true;
    }

    /// A waiting poll has become unnecessary.
    pub fn forget(&mut self) {
        self.waits = false;
    }

    /// Whether a poll waits and may go at `now`.
    pub fn is_due(&self, now: Instant) -> bool {
        self.waits && self.may_poll(now)
    }

    /// §9.5 a: only a STATUS stops Timer_Poll that acknowledges all PDUs below VT(S) at the poll, or
    /// reports the last of these missing.
    pub fn handle_status(&mut self, vt_a: u64, missing: &Ranges) {
        if self.timer_poll == Instant::NEVER {
            return;
        }
        let x = self.vt_s_polled;
        if vt_a >= x || missing.contains(x - 1) {
            self.timer_poll = Instant::NEVER;
        }
    }

    /// Counts an SDU whose last segment is in the new PDU `last`, for Poll_SDU.
    pub fn count_sdu(&mut self, last: u64) {
        if counted(&mut self.vt_sdu, self.poll_sdu) {
            self.polls.push(last);
        }
    }

    /// Submits PDUs for transmission, with the pending polls.
    #[inline(always)]
    pub fn submit(&mut self, now: Instant, pdus: Submission, out: &mut Transmission) {
        let Submission { sns, last, vt_s, .. } = pdus;
        let all_from = self.window_polls(pdus);
        if self.poll_pdu.is_some() {
            self.count_pdus(sns);
        }
        if last {
            self.polls.push(sns.end - 1);
        }
        if self.is_due(now) {
            self.polls.push(sns.first);
        }
        if self.polls.is_empty() && all_from == sns.end {
            out.runs.push(Run { sns, poll: false });
            return;
        }
        self.send_polls(now, sns, vt_s, all_from, out);
    }

    fn may_poll(&self, now: Instant) -> bool {
        self.prohibited_until <= now
    }

    /// The first of the PDUs that poll because this much of the window is in use; all later ones poll too.
    fn window_polls(&self, pdus: Submission) -> u64 {
        let Submission { sns, new, vt_s, vt_a, .. } = pdus;
        let Some(used) = self.window_used else { return sns.end };
        let from = vt_a + used;
        match new {
            true => from.clamp(sns.first, sns.end),
            false if vt_s >= from => sns.first,
            false => sns.end,
        }
    }

    /// Counts PDUs for Poll_PDU.
    #[inline(never)]
    fn count_pdus(&mut self, sns: SnRange) {
        for sn in sns.first..sns.end {
            if counted(&mut self.vt_pdu, self.poll_pdu) {
                self.polls.push(sn);
            }
        }
    }

    /// Splits a run where the P bit changes. While polls are prohibited, those due become one that waits.
    #[inline(never)]
    fn send_polls(&mut self, now: Instant, sns: SnRange, vt_s: u64, all_from: u64, out: &mut Transmission) {
        self.polls.extend(all_from..sns.end);
        self.polls.sort_unstable();
        self.polls.dedup();
        self.waits = false;
        if let Some(prohibit) = self.prohibit {
            let allowed = usize::from(self.may_poll(now));
            self.waits = self.polls.len() > allowed;
            self.polls.truncate(allowed);
            if allowed == 1 {
                self.prohibited_until = now + prohibit;
            }
        }
        split(sns, &self.polls, out);
        if let Some(&sn) = self.polls.last()
            && let Some(after) = self.timer_poll_after
        {
            self.vt_s_polled = vt_s.max(sn + 1);
            self.timer_poll = now + after;
        }
        self.polls.clear();
    }
}

/// Runs of `sns` in which those of `polls` have the P bit.
fn split(sns: SnRange, polls: &[u64], out: &mut Transmission) {
    let mut at = sns.first;
    let mut push = |first: u64, end: u64, poll: bool| {
        let joins = |run: &&mut Run| poll && run.poll && run.sns.end == first;
        if let Some(run) = out.runs.last_mut().filter(joins) {
            run.sns.end = end;
        } else if first < end {
            out.runs.push(Run { sns: SnRange::new(first, end), poll });
        }
    };
    for &sn in polls {
        push(at, sn, false);
        push(sn, sn + 1, true);
        at = sn + 1;
    }
    push(at, sns.end, false);
}

/// Increments the count; returns whether it has reached `threshold`, and then restarts it.
fn counted(count: &mut u32, threshold: Option<u32>) -> bool {
    let Some(threshold) = threshold else { return false };
    *count += 1;
    let reached = *count >= threshold;
    if reached {
        *count = 0;
    }
    reached
}
