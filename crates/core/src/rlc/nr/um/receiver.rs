//! The receiving UM entity (TS 38.322 §5.2.2.2), with PDCP above it.

use super::Config;
use crate::pdcp::{self, Content};
use crate::rlc::Tti;
use crate::rlc::entities::{Receive, Report};
use crate::rlc::nr::Pdu;
use crate::rlc::nr::segments::Received;
use crate::time::{Duration, Instant};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The receiving entity.
#[derive(Debug)]
pub struct Receiver {
    pdcp: pdcp::Receiver,
    /// UM_Window_Size.
    window: u64,
    t_reassembly: Duration,
    /// RX_Next_Reassembly: the earliest SDU that is still waited for.
    rx_next_reassembly: u64,
    /// RX_Timer_Trigger: the SDU behind the one that started t-Reassembly.
    rx_timer_trigger: u64,
    /// SDUs from RX_Next_Reassembly to below RX_Next_Highest.
    sdus: VecDeque<Received>,
    /// When t-Reassembly expires.
    reassembly_ends: Instant,
    establishment: u32,
}

impl Receiver {
    /// An entity in its initial state.
    pub fn new(config: &Config, pdcp: &pdcp::Config) -> Self {
        Self {
            pdcp: pdcp::Receiver::new(pdcp),
            window: config.window(),
            t_reassembly: config.t_reassembly,
            rx_next_reassembly: 0,
            rx_timer_trigger: 0,
            sdus: VecDeque::new(),
            reassembly_ends: Instant::NEVER,
            establishment: 0,
        }
    }

    /// RX_Next_Reassembly: the earliest SDU that is still waited for.
    pub fn rx_next_reassembly(&self) -> u64 {
        self.rx_next_reassembly
    }

    /// RX_Next_Highest: the SDU after the highest one with a segment received.
    pub fn rx_next_highest(&self) -> u64 {
        self.rx_next_reassembly + self.sdus.len() as u64
    }

    /// When t-Reassembly expires; never if it does not run.
    pub fn reassembly_ends(&self) -> Instant {
        self.reassembly_ends
    }

    #[inline]
    fn receive(&mut self, now: Instant, pdu: &Pdu, report: &mut Report) {
        if pdu.is_whole() || self.receive_segment(now, pdu, report) {
            self.hand_up(now, pdu, report);
        }
    }

    #[inline]
    fn hand_up(&mut self, now: Instant, pdu: &Pdu, report: &mut Report) {
        if let Content::Data { count, number } = pdu.sdu {
            self.pdcp.handle(now, count, number, &mut report.up, &mut report.lost);
        }
    }

    /// A PDU with a sequence number arrives; whether its SDU is whole with it.
    fn receive_segment(&mut self, now: Instant, pdu: &Pdu, report: &mut Report) -> bool {
        // Nothing is waited for below RX_Next_Reassembly, nor what was received before.
        let Some(place) = pdu.sn.checked_sub(self.rx_next_reassembly) else { return false };
        let place = place as usize;
        if self.sdus.get(place).is_some_and(|sdu| sdu.has(pdu)) {
            return false;
        }
        if self.sdus.len() <= place {
            self.sdus.resize(place + 1, Received::Nothing);
        }
        self.sdus[place].place(pdu);
        let is_whole = self.sdus[place].is_whole();
        let outside = (self.sdus.len() as u64).saturating_sub(self.window);
        self.move_to(self.rx_next_reassembly + outside, report);
        self.restart_timer(now);
        is_whole
    }

    /// RX_Next_Reassembly moves to this SDU or to the first later one that is not whole; SDUs below are discarded.
    fn move_to(&mut self, sn: u64, report: &mut Report) {
        while !self.sdus.is_empty()
            && (self.rx_next_reassembly < sn || self.sdus.front().is_some_and(Received::is_whole))
        {
            if let Some(Content::Data { number, .. }) = self.sdus.pop_front().and_then(|sdu| sdu.content()) {
                report.lost.push(number);
            }
            self.rx_next_reassembly += 1;
        }
    }

    /// Stops and starts t-Reassembly.
    fn restart_timer(&mut self, now: Instant) {
        let is_missing = self.is_missing();
        if self.rx_timer_trigger <= self.rx_next_reassembly || !is_missing {
            self.reassembly_ends = Instant::NEVER;
        }
        if self.reassembly_ends == Instant::NEVER && is_missing {
            self.reassembly_ends = now + self.t_reassembly;
            self.rx_timer_trigger = self.rx_next_highest();
        }
    }

    /// Whether something is missing before the last octet received.
    fn is_missing(&self) -> bool {
        self.sdus.len() > 1 || self.sdus.front().is_some_and(Received::has_gap)
    }

    /// SDUs whose last PDU is lost: it is not retransmitted. A real receiver finds that out later, if at all.
    fn lose(tti: &Tti, report: &mut Report) {
        let mut arrived = tti.nr.data.iter().filter(|pdu| pdu.last).peekable();
        for end in &tti.data.ends {
            let of_end = |pdu: &&Pdu| matches!(pdu.sdu, Content::Data { number, .. } if number == end.sdu);
            if arrived.next_if(of_end).is_none() {
                report.lost.push(end.sdu);
            }
        }
    }
}

impl Receive for Receiver {
    fn handle_tti(&mut self, now: Instant, tti: &Tti, report: &mut Report) -> bool {
        if tti.nr.establishment > self.establishment {
            self.re_establish_receiver(now, report);
            self.establishment = tti.nr.establishment;
        }
        if tti.nr.establishment < self.establishment {
            report.lost.extend(tti.data.ends.iter().map(|end| end.sdu));
            return false;
        }
        Self::lose(tti, report);
        for pdu in &tti.nr.data {
            self.receive(now, pdu, report);
        }
        false
    }

    fn expiry(&self) -> Instant {
        self.reassembly_ends.min(self.pdcp.expiry())
    }

    fn handle_expiry(&mut self, now: Instant, report: &mut Report) {
        if self.reassembly_ends <= now {
            self.reassembly_ends = Instant::NEVER;
            self.move_to(self.rx_timer_trigger, report);
            self.restart_timer(now);
        }
        self.pdcp.handle_expiry(now, &mut report.up, &mut report.lost);
    }

    /// TS 38.322 §5.1.2, TS 38.323 §5.1.2: segments are dropped, and what PDCP holds goes up.
    fn re_establish_receiver(&mut self, _now: Instant, report: &mut Report) {
        self.move_to(self.rx_next_highest(), report);
        (self.rx_next_reassembly, self.rx_timer_trigger) = (0, 0);
        self.reassembly_ends = Instant::NEVER;
        self.pdcp.restart(&mut report.up, &mut report.lost);
        self.establishment += 1;
    }

    fn received(&self) -> Option<Value> {
        Some(json!(self.pdcp.counts()))
    }
}
