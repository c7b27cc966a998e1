//! The receiving side of an AM entity (TS 38.322 §5.2.3.2, §5.3.4).

use super::Config;
use crate::pdcp::Content;
use crate::rlc::nr::segments::Received;
use crate::rlc::nr::{Nack, Pdu, Status};
use crate::rlc::reporting::Reporting;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// The receiving side.
#[derive(Debug)]
pub struct Receiver {
    sn_bits: u8,
    window: u64,
    t_reassembly: Duration,
    /// RX_Next: the first SDU that has not arrived completely.
    rx_next: u64,
    /// RX_Next_Status_Trigger: the SDU behind the one that started t-Reassembly.
    rx_next_status_trigger: u64,
    /// RX_Highest_Status: the highest ACK_SN that a STATUS PDU may have.
    rx_highest_status: u64,
    /// SDUs from RX_Next to below RX_Next_Highest.
    sdus: VecDeque<Received>,
    /// When t-Reassembly expires.
    reassembly_ends: Instant,
    reporting: Reporting,
}

impl Receiver {
    /// A side in its initial state. It reports by the parameters of the direction in which it receives.
    pub fn new(config: &Config) -> Self {
        Self {
            sn_bits: config.sn,
            window: config.window(),
            t_reassembly: config.t_reassembly,
            rx_next: 0,
            rx_next_status_trigger: 0,
            rx_highest_status: 0,
            sdus: VecDeque::new(),
            reassembly_ends: Instant::NEVER,
            reporting: Reporting::new(config.t_status_prohibit),
        }
    }

    /// RX_Next: the first SDU that has not arrived completely.
    pub fn rx_next(&self) -> u64 {
        self.rx_next
    }

    /// RX_Highest_Status: the highest ACK_SN that a STATUS PDU may have.
    pub fn rx_highest_status(&self) -> u64 {
        self.rx_highest_status
    }

    /// RX_Next_Highest: the SDU after the highest one with a segment received.
    #[inline]
    pub fn rx_next_highest(&self) -> u64 {
        self.rx_next + self.sdus.len() as u64
    }

    /// When t-Reassembly expires; never if it does not run.
    pub fn reassembly_ends(&self) -> Instant {
        self.reassembly_ends
    }

    /// A PDU arrives. `up` gets its SDU if that is whole.
    #[inline]
    pub fn handle_pdu(&mut self, now: Instant, pdu: &Pdu, up: &mut Vec<Content>) {
        if pdu.sn == self.rx_next && pdu.is_whole() && self.sdus.is_empty() {
            // In order, and nothing is missing: t-Reassembly does not run.
            self.rx_next += 1;
            self.rx_highest_status = self.rx_next;
            up.push(pdu.sdu);
            if pdu.poll {
                self.reporting.trigger();
            }
            return;
        }
        self.place(now, pdu, up);
    }

    fn place(&mut self, now: Instant, pdu: &Pdu, up: &mut Vec<Content>) {
        let place = pdu.sn.checked_sub(self.rx_next).filter(|place| *place < self.window);
        let Some(place) = place.map(|place| place as usize) else { return self.discard(pdu) };
        if self.sdus.get(place).is_some_and(|sdu| sdu.has(pdu)) {
            return self.discard(pdu);
        }
        if self.sdus.len() <= place {
            self.sdus.resize(place + 1, Received::Nothing);
        }
        let sdu = &mut self.sdus[place];
        sdu.place(pdu);
        if sdu.is_whole() {
            up.push(pdu.sdu);
            if pdu.sn == self.rx_highest_status {
                self.rx_highest_status = self.first_missing(pdu.sn);
            }
            while self.sdus.front().is_some_and(Received::is_whole) {
                self.sdus.pop_front();
                self.rx_next += 1;
            }
        }
        self.restart_timer(now);
        if pdu.poll {
            self.reporting.poll(pdu.sn);
        }
        self.settle_polls();
    }

    /// §5.3.4: a PDU that is discarded and polls triggers a STATUS PDU at once.
    fn discard(&mut self, pdu: &Pdu) {
        if pdu.poll {
            self.reporting.trigger();
        }
    }

    /// §5.2.3.2.3: stops and starts t-Reassembly.
    fn restart_timer(&mut self, now: Instant) {
        if self.reassembly_ends != Instant::NEVER {
            let trigger = self.rx_next_status_trigger;
            let outside = !(self.rx_next..=self.rx_next + self.window).contains(&trigger);
            if trigger == self.rx_next
                || outside
                || trigger == self.rx_next + 1 && !self.sdus.front().is_some_and(Received::has_gap)
            {
                self.reassembly_ends = Instant::NEVER;
            }
        }
        if self.reassembly_ends == Instant::NEVER && self.is_missing_below_highest(self.rx_next) {
            self.start_timer(now);
        }
    }

    fn start_timer(&mut self, now: Instant) {
        self.reassembly_ends = now + self.t_reassembly;
        self.rx_next_status_trigger = self.rx_next_highest();
    }

    /// Whether something is missing from SDU `sn` on, which has not arrived completely, before the last octet received.
    fn is_missing_below_highest(&self, sn: u64) -> bool {
        match self.rx_next_highest().checked_sub(sn) {
            None | Some(0) => false,
            Some(1) => self.sdus.back().is_some_and(Received::has_gap),
            Some(_) => true,
        }
    }

    /// The first SDU from this one on that has not arrived completely.
    fn first_missing(&self, from: u64) -> u64 {
        let from = from.max(self.rx_next);
        let behind = self.sdus.iter().skip((from - self.rx_next) as usize);
        from + behind.take_while(|sdu| sdu.is_whole()).count() as u64
    }

    /// §5.3.4: polls trigger a STATUS PDU when HARQ had its time.
    fn settle_polls(&mut self) {
        self.reporting.settle(self.rx_highest_status, self.rx_next + self.window);
    }

    /// §5.2.3.2.4: t-Reassembly has expired before `until`; missing SDUs and segments below RX_Next_Status_Trigger are
    /// reported.
    pub fn expire(&mut self, until: Instant) {
        while self.reassembly_ends < until {
            let ended = std::mem::replace(&mut self.reassembly_ends, Instant::NEVER);
            self.rx_highest_status = self.first_missing(self.rx_next_status_trigger);
            self.reporting.trigger();
            if self.is_missing_below_highest(self.rx_highest_status) {
                self.start_timer(ended);
            }
            self.settle_polls();
        }
    }

    /// When a STATUS PDU is due.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.reporting.deadline(self.reassembly_ends)
    }

    /// Octets of the STATUS PDU that is due: none, or about so many.
    pub fn backlog(&self, now: Instant) -> u64 {
        if self.deadline() > now {
            return 0;
        }
        // RX_Highest_Status moves up when t-Reassembly expires.
        let has_expired = self.reassembly_ends <= now;
        let highest = if has_expired { self.rx_next_highest() } else { self.rx_highest_status };
        let below = self.sdus.iter().take((highest - self.rx_next) as usize);
        let (mut nacks, mut is_whole) = (0, true);
        for sdu in below {
            nacks += sdu.gaps(!is_whole);
            is_whole = sdu.is_whole();
        }
        let largest = Nack { sn: 0, range: 2, start: 1, end: None };
        Status::HEADER_OCTETS + nacks * largest.octets(self.sn_bits)
    }

    /// The STATUS PDU, if it is due and `room` has any.
    #[inline]
    pub fn build_status(&mut self, now: Instant, room: u64) -> Option<Status> {
        self.expire(now + Duration::from_nanos(1));
        if !self.reporting.is_due(now) {
            return None;
        }
        let left = room.checked_sub(Status::HEADER_OCTETS)?;
        self.reporting.sent(now);
        Some(self.status(left))
    }

    /// §5.3.4: reports missing SDUs and segments below RX_Highest_Status, up to this many octets after the header.
    fn status(&self, mut left: u64) -> Status {
        let mut nacks: Vec<Nack> = Vec::new();
        for (sn, sdu) in (self.rx_next..self.rx_highest_status).zip(&self.sdus) {
            let mut is_named = false;
            let fits = sdu.missing(|start, end| {
                let fits = name(&mut nacks, (sn, start, end), self.sn_bits, &mut left);
                is_named |= fits;
                fits
            });
            if !fits {
                // ACK_SN: the next SDU that is missing and not named.
                let ack_sn = if is_named { self.first_missing(sn + 1) } else { sn };
                return Status { ack_sn: ack_sn.min(self.rx_highest_status), nacks };
            }
        }
        Status { ack_sn: self.rx_highest_status, nacks }
    }

    /// §5.1.2: drops what was not handed up.
    pub fn re_establish(&mut self) {
        (self.rx_next, self.rx_next_status_trigger, self.rx_highest_status) = (0, 0, 0);
        self.sdus.clear();
        self.reassembly_ends = Instant::NEVER;
        self.reporting.restart();
    }
}

/// Names missing octets of an SDU, in the range of the NACK before if they continue it; whether that fits.
fn name(
    nacks: &mut Vec<Nack>,
    (sn, start, end): (u64, u32, Option<u32>),
    sn_bits: u8,
    left: &mut u64,
) -> bool {
    if let Some(nack) = nacks.last_mut()
        && start == 0
        && nack.end.is_none()
        && nack.range < u8::MAX
        && nack.sn + u64::from(nack.range) == sn
    {
        let longer = Nack { range: nack.range + 1, end, ..*nack };
        let more = longer.octets(sn_bits) - nack.octets(sn_bits);
        let fits = more <= *left;
        if fits {
            *left -= more;
            *nack = longer;
        }
        return fits;
    }
    let nack = Nack { sn, range: 1, start, end };
    let octets = nack.octets(sn_bits);
    let fits = octets <= *left;
    if fits {
        *left -= octets;
        nacks.push(nack);
    }
    fits
}
