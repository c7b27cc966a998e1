//! The transmitting side of an AM entity (TS 25.322 §9.4, §9.5, §9.7.1, §11.3).
//!
//! Timers are looked at when something happens. One that ends when a TTI is filled has ended; one that ends
//! when a STATUS PDU arrives has not, so that this STATUS may still stop it (ASSUMED: the standard orders
//! no events of one instant).

use super::Status;
use super::config::Config;
use super::segmentation::{Segmentation, Span};
use crate::rlc::ranges::{Ranges, SnRange};
use crate::rlc::{Run, Transmission};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

/// A STATUS PDU that names PDUs which cannot be meant: §10 has the sender reset the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erroneous {
    /// The sequence number that is out of place.
    pub sn: u64,
    /// VT(A): the lowest one that would be right.
    pub vt_a: u64,
    /// VT(S): the first one not sent yet.
    pub vt_s: u64,
}

impl fmt::Display for Erroneous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sn, vt_a, vt_s } = self;
        write!(f, "STATUS names PDU {sn}; unacknowledged are {vt_a} to below {vt_s}")
    }
}

impl std::error::Error for Erroneous {}

/// The transmitting side.
#[derive(Debug)]
pub struct Sender {
    config: Config,
    /// VT(S): the next new sequence number.
    vt_s: u64,
    /// VT(A): the one after the last acknowledged in sequence.
    vt_a: u64,
    /// VT(PDU): PDUs since the last poll of Poll_PDU.
    vt_pdu: u32,
    /// VT(SDU): SDUs since the last poll of Poll_SDU.
    vt_sdu: u32,
    segmentation: Segmentation,
    /// SDUs wholly in PDUs of which one may be sent again.
    spans: VecDeque<Span>,
    /// The first SDU not yet confirmed.
    confirmed: u64,
    /// PDUs reported missing and not sent again since.
    retransmissions: Ranges,
    /// A poll waits for a PDU, or for the end of Timer_Poll_Prohibit.
    poll_waits: bool,
    /// Timer_Poll, and VT(S) when its poll was sent.
    timer_poll: Option<(Instant, u64)>,
    /// When Timer_Poll_Prohibit ends.
    prohibited_until: Instant,
    /// When Timer_Poll_Periodic ends.
    next_periodic: Instant,
    /// PDUs of the run being sent that poll, lowest first.
    polls: Vec<u64>,
}

impl Sender {
    /// An entity in its initial state at the start of the run.
    pub fn new(config: &Config) -> Self {
        Self {
            segmentation: Segmentation::new(config.payload(), config.li_octets()),
            next_periodic: config.timer_poll_periodic.map_or(Instant::NEVER, |period| Instant::ZERO + period),
            config: config.clone(),
            vt_s: 0,
            vt_a: 0,
            vt_pdu: 0,
            vt_sdu: 0,
            spans: VecDeque::new(),
            confirmed: 0,
            retransmissions: Ranges::default(),
            poll_waits: false,
            timer_poll: None,
            prohibited_until: Instant::ZERO,
            polls: Vec::new(),
        }
    }

    /// VT(S), the next new sequence number.
    pub fn vt_s(&self) -> u64 {
        self.vt_s
    }

    /// VT(A), the sequence number after the last acknowledged in sequence.
    pub fn vt_a(&self) -> u64 {
        self.vt_a
    }

    /// VT(MS), the first sequence number that must not be sent.
    pub fn vt_ms(&self) -> u64 {
        self.vt_a + u64::from(self.config.configured_tx_window_size)
    }

    /// SDUs of which no octet was sent.
    pub fn untransmitted(&self) -> usize {
        self.segmentation.waiting()
    }

    /// The number of the first SDU of which no octet was sent, or of the next to come.
    pub fn first_waiting(&self) -> u64 {
        self.segmentation.first_waiting()
    }

    /// Takes the first SDU out of which no octet was sent; its number. If it was the last one, the PDU sent
    /// before turns out to have emptied the buffer, and its poll is due.
    pub fn take_waiting(&mut self) -> Option<u64> {
        let taken = self.segmentation.take_waiting();
        let emptied = taken.is_some() && self.segmentation.is_empty() && self.vt_s > self.vt_a;
        self.poll_waits |= emptied && self.config.last_pdu_poll;
        taken
    }

    /// Takes an SDU of `octets`; its number, one after that of the SDU before.
    pub fn handle_sdu(&mut self, now: Instant, octets: u32) -> u64 {
        self.handle_deadline(now);
        self.segmentation.push(octets)
    }

    /// When the sender wants a TTI next if nothing else happens: at once, when a timer ends, or never.
    pub fn deadline(&self) -> Instant {
        let may_send_new = !self.segmentation.is_empty() && self.vt_s < self.vt_ms();
        if may_send_new || !self.retransmissions.is_empty() {
            return Instant::ZERO;
        }
        if self.vt_s == self.vt_a {
            return Instant::NEVER;
        }
        if self.poll_waits {
            return self.prohibited_until;
        }
        let timer_poll = self.timer_poll.map_or(Instant::NEVER, |(end, _)| end);
        timer_poll.min(self.next_periodic)
    }

    /// Lets the timers take effect that end at `now` or before.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.timer_poll.is_some_and(|(end, _)| end <= now) {
            self.timer_poll = None;
            self.poll_waits = true;
        }
        if let Some(period) = self.config.timer_poll_periodic
            && self.next_periodic <= now
        {
            let missed = now.since(self.next_periodic).as_nanos() / period.as_nanos();
            self.next_periodic += period.saturating_mul(missed + 1);
            self.poll_waits |= self.vt_s > self.vt_a || !self.segmentation.is_empty();
        }
    }

    /// Fills a TTI with room for `pdus` PDUs (§11.3.2): PDUs reported missing, new ones, and if there are
    /// none of either and a poll waits, the last one again.
    pub fn build_tti(&mut self, now: Instant, pdus: u64, out: &mut Transmission) {
        out.clear();
        self.handle_deadline(now);
        let mut room = pdus;
        while room > 0
            && let Some(sns) = self.retransmissions.pop_first(room)
        {
            room -= sns.len();
            let last = self.config.last_retransmission_poll && self.retransmissions.is_empty();
            self.repeat(now, sns, last, out);
        }
        let new = room.min(self.vt_ms() - self.vt_s);
        if new > 0 && !self.segmentation.is_empty() {
            self.send_new(now, new, out);
        }
        let idle = out.runs.is_empty() && self.vt_s > self.vt_a;
        if idle && room > 0 && self.poll_waits && self.may_poll(now) {
            self.repeat(now, SnRange::new(self.vt_s - 1, self.vt_s), false, out);
        }
    }

    /// Takes a STATUS PDU; the SDUs that it confirms as delivered. An erroneous one changes nothing.
    pub fn handle_status(&mut self, now: Instant, status: &Status) -> Result<Range<u64>, Erroneous> {
        self.check(status)?;
        // Timers that end at this very instant may still be stopped.
        self.handle_deadline(Instant::from_nanos(now.as_nanos().saturating_sub(1)));
        self.retransmissions.remove(SnRange::new(self.vt_a, status.lsn));
        for &range in status.missing.as_slice() {
            self.retransmissions.insert(range);
        }
        let acknowledged = status.missing.first().map_or(status.lsn, |sn| sn.min(status.lsn));
        self.vt_a = self.vt_a.max(acknowledged);
        self.stop_timer_poll(status);
        if self.vt_a == self.vt_s {
            // ASSUMED: a poll that waits has nothing left to ask for.
            self.poll_waits = false;
        }
        Ok(self.confirm())
    }

    /// SDUs whose last octet is acknowledged. Their ends are kept as long as the PDU that tells them may be
    /// sent again.
    fn confirm(&mut self) -> Range<u64> {
        let first = self.confirmed;
        let from = self.spans.partition_point(|span| span.end.sdu < first);
        for span in self.spans.range(from..).take_while(|span| span.last < self.vt_a) {
            self.confirmed = span.end.sdu + 1;
        }
        while self.spans.front().is_some_and(|span| span.end.sn < self.vt_a) {
            self.spans.pop_front();
        }
        first..self.confirmed
    }

    fn check(&self, status: &Status) -> Result<(), Erroneous> {
        let Self { vt_a, vt_s, .. } = *self;
        let lowest = status.missing.first().unwrap_or(status.lsn).min(status.lsn);
        let highest = status.missing.end().map_or(status.lsn, |end| status.lsn.max(end));
        let wrong = [lowest, highest].into_iter().find(|sn| !(vt_a..=vt_s).contains(sn));
        wrong.map_or(Ok(()), |sn| Err(Erroneous { sn, vt_a, vt_s }))
    }

    /// §9.5: only a STATUS stops Timer_Poll that acknowledges all PDUs below VT(S) at the poll, or
    /// reports the last of these missing.
    fn stop_timer_poll(&mut self, status: &Status) {
        let Some((_, x)) = self.timer_poll else { return };
        if self.vt_a >= x || status.missing.meets(SnRange::new(x - 1, x)) {
            self.timer_poll = None;
        }
    }

    fn may_poll(&self, now: Instant) -> bool {
        self.prohibited_until <= now
    }

    fn send_new(&mut self, now: Instant, pdus: u64, out: &mut Transmission) {
        let first = self.vt_s;
        let (poll_sdu, vt_sdu, polls) = (self.config.poll_sdu, &mut self.vt_sdu, &mut self.polls);
        let spans = &mut self.spans;
        let end = self.segmentation.fill(first, pdus, |span| {
            if counted(vt_sdu, poll_sdu) {
                // ASSUMED: if the last segment went before its indicator in another TTI, this one polls.
                polls.push(span.last.max(first));
            }
            out.ends.push(span.end);
            spans.push_back(span);
        });
        let last = self.config.last_pdu_poll && self.segmentation.is_empty();
        self.send(now, SnRange::new(first, end), last, true, out);
    }

    fn repeat(&mut self, now: Instant, sns: SnRange, last: bool, out: &mut Transmission) {
        let from = self.spans.partition_point(|span| span.end.sn < sns.first);
        let ends = self.spans.range(from..).map(|span| span.end);
        out.ends.extend(ends.take_while(|end| end.sn < sns.end));
        self.send(now, sns, last, false, out);
    }

    /// Puts PDUs on the air, with the polls that are due. `self.polls` holds those of Poll_SDU.
    fn send(&mut self, now: Instant, sns: SnRange, last: bool, new: bool, out: &mut Transmission) {
        let all_from = self.window_polls(sns, new);
        self.count_pdus(sns);
        if last {
            self.polls.push(sns.end - 1);
        }
        if self.poll_waits && self.may_poll(now) {
            self.polls.push(sns.first);
        }
        if new {
            self.vt_s = sns.end;
        }
        if self.polls.is_empty() && all_from == sns.end {
            out.runs.push(Run { sns, poll: false });
            return;
        }
        self.send_polls(now, sns, all_from, new, out);
    }

    /// The first of the PDUs from which on each polls as so much of the window is in use.
    fn window_polls(&self, sns: SnRange, new: bool) -> u64 {
        let Some(percent) = self.config.poll_window else { return sns.end };
        let window = u64::from(self.config.configured_tx_window_size);
        // J = (VT(S) + 1 - VT(A)) / VT(WS), VT(S) before the PDU is submitted.
        let from = self.vt_a + (window * u64::from(percent)).div_ceil(100) - 1;
        match new {
            true => from.clamp(sns.first, sns.end),
            false if self.vt_s >= from => sns.first,
            false => sns.end,
        }
    }

    /// Counts PDUs for Poll_PDU.
    fn count_pdus(&mut self, sns: SnRange) {
        if self.config.poll_pdu.is_none() {
            return;
        }
        for sn in sns.first..sns.end {
            if counted(&mut self.vt_pdu, self.config.poll_pdu) {
                self.polls.push(sn);
            }
        }
    }

    /// Splits a run where the P bit changes. While polls are prohibited, those due become one that waits.
    fn send_polls(&mut self, now: Instant, sns: SnRange, all_from: u64, new: bool, out: &mut Transmission) {
        self.polls.extend(all_from..sns.end);
        self.polls.sort_unstable();
        self.polls.dedup();
        self.poll_waits = false;
        if let Some(prohibit) = self.config.timer_poll_prohibit {
            let allowed = usize::from(self.may_poll(now));
            self.poll_waits = self.polls.len() > allowed;
            self.polls.truncate(allowed);
            if allowed == 1 {
                self.prohibited_until = now + prohibit;
            }
        }
        let mut at = sns.first;
        let mut push = |first: u64, end: u64, poll: bool| {
            let joins = |run: &&mut Run| poll && run.poll && run.sns.end == first;
            if let Some(run) = out.runs.last_mut().filter(joins) {
                run.sns.end = end;
            } else if first < end {
                out.runs.push(Run { sns: SnRange::new(first, end), poll });
            }
        };
        for &sn in &self.polls {
            push(at, sn, false);
            push(sn, sn + 1, true);
            at = sn + 1;
        }
        push(at, sns.end, false);
        if let Some(&sn) = self.polls.last() {
            let x = if new { sn + 1 } else { self.vt_s };
            self.timer_poll = self.config.timer_poll.map(|timer: Duration| (now + timer, x));
        }
        self.polls.clear();
    }
}

/// Counts one more; whether the count has reached `threshold` and begins anew.
fn counted(count: &mut u32, threshold: Option<u32>) -> bool {
    let Some(threshold) = threshold else { return false };
    *count += 1;
    let reached = *count >= threshold;
    if reached {
        *count = 0;
    }
    reached
}
