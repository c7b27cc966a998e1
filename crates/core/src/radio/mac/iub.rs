//! The Iub between RNC and Node B, with its flow control, and the PDUs queued in the Node B.
//!
//! ```text
//! RNC: entity -> PDUs, as far as credits go -> delay -> Node B: queue -> blocks
//!                credits <- delay <- what of the queue's capacity is free, each interval
//! ```
//!
//! The Node B grants the part of its capacity that is neither queued nor granted before (TS 25.435 §5.1.6,
//! HS-DSCH capacity allocation; the amount is left to the implementation). ASSUMED: grants are per UE, on a
//! grid of intervals, and do not expire; at the start the whole capacity is granted. Left out: frames of the
//! Iub and their loss.

use super::pop_if;
use crate::element::Cx;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::radio::mac::spare::Spare;
use crate::radio::rlc_pair::RlcPair;
use crate::registry::parameters;
use crate::rlc::{Report, Run, SnRange, Tti};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

parameters! {
    /// The interface between RNC and Node B, and the queue in the Node B.
    pub struct Config {
        /// One-way delay.
        pub delay: Duration = Duration::from_millis(15),
        /// How often the Node B grants credits.
        pub interval: Duration = Duration::from_millis(10),
        /// Limit of PDUs of a UE that are granted, in transit, or in the Node B's queue, in total.
        pub capacity: u32 = 500,
    }
}

impl Config {
    pub(in crate::radio) fn validate(&self) -> Result<(), ScenarioError> {
        if self.interval.is_zero() {
            let hint = "write a time such as \"10 ms\"";
            return Err(ScenarioError::new("interval", "grants without end at one instant", hint));
        }
        if self.capacity == 0 {
            let hint = "write a number of PDUs such as 500";
            return Err(ScenarioError::new("capacity", "lets no PDU through", hint));
        }
        Ok(())
    }
}

/// The Iub of one UE.
pub(in crate::radio) struct Iub {
    config: Config,
    /// PDUs that the RNC may send.
    credits: u64,
    /// Credits on their way to it.
    granted: VecDeque<(Instant, u64)>,
    /// PDUs on their way to the Node B.
    on_way: VecDeque<(Instant, Box<Tti>)>,
    /// How many these are.
    pdus_in_transit: u64,
    pub queue: PduQueue,
    next_grant: Instant,
}

impl Iub {
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            credits: config.capacity.into(),
            granted: VecDeque::new(),
            on_way: VecDeque::new(),
            pdus_in_transit: 0,
            queue: PduQueue::default(),
            next_grant: Instant::NEVER,
        }
    }

    /// Time of the next event; `wanted` is when the entity in the RNC has data to send.
    pub fn next_event(&self, wanted: Instant) -> Instant {
        let granted = self.granted.front().map_or(Instant::NEVER, |(at, _)| *at);
        let arrival = self.on_way.front().map_or(Instant::NEVER, |(at, _)| *at);
        let sends = if self.credits > 0 { wanted } else { Instant::NEVER };
        granted.min(arrival).min(self.next_grant).min(sends)
    }

    /// Handles expired timers: credits and PDUs arrive, the RNC sends, the Node B grants.
    pub fn handle_due(
        &mut self,
        cx: &mut Cx<'_>,
        pair: &mut RlcPair,
        report: &mut Report,
        spare: &mut Spare,
    ) {
        while let Some((_, credits)) = pop_if(&mut self.granted, |(at, _)| *at <= cx.now) {
            self.credits += credits;
        }
        while let Some((_, tti)) = pop_if(&mut self.on_way, |(at, _)| *at <= cx.now) {
            self.pdus_in_transit -= tti.pdus();
            self.queue.push(tti);
        }
        while self.credits > 0 && pair.deadline(Dir::Downlink) <= cx.now {
            let mut tti = spare.take();
            pair.fill(cx, Dir::Downlink, self.credits, &mut tti, report);
            if tti.is_empty() {
                spare.keep(tti);
                break;
            }
            let pdus = tti.pdus();
            self.credits -= pdus;
            self.pdus_in_transit += pdus;
            self.on_way.push_back((cx.now + self.config.delay, tti));
        }
        if self.next_grant <= cx.now {
            let free = self.free();
            self.granted.push_back((cx.now + self.config.delay, free));
            self.next_grant = Instant::NEVER;
        }
    }

    fn free(&self) -> u64 {
        let granted: u64 = self.granted.iter().map(|(_, credits)| credits).sum();
        u64::from(self.config.capacity) - self.credits - granted - self.pdus_in_transit - self.queue.pdus
    }

    /// PDUs have left the queue: the Node B grants at its next time.
    pub fn handle_taken(&mut self, now: Instant) {
        if self.next_grant == Instant::NEVER {
            let interval = self.config.interval.as_nanos();
            self.next_grant = Instant::from_nanos((now.as_nanos() / interval + 1) * interval);
        }
    }

    /// The UE leaves this Node B: removes and returns, in order, all PDUs in flight on the Iub or queued at the Node
    /// B. They are lost.
    pub fn flush(&mut self) -> VecDeque<Box<Tti>> {
        let mut lost = std::mem::take(&mut self.queue).ttis;
        lost.extend(self.on_way.drain(..).map(|(_, tti)| tti));
        self.pdus_in_transit = 0;
        self.granted.clear();
        self.credits = self.config.capacity.into();
        self.next_grant = Instant::NEVER;
        lost
    }
}

/// PDUs queued for blocks, in order.
#[derive(Default)]
pub(in crate::radio) struct PduQueue {
    ttis: VecDeque<Box<Tti>>,
    pub pdus: u64,
}

impl PduQueue {
    fn push(&mut self, tti: Box<Tti>) {
        self.pdus += tti.pdus();
        self.ttis.push_back(tti);
    }

    /// Moves at most `pdus` PDUs into `out`, which is empty. Used TTIs go to `spare`.
    pub fn take(&mut self, pdus: u64, out: &mut Tti, spare: &mut Spare) {
        let mut room = pdus;
        while room > 0
            && let Some(first) = self.ttis.front_mut()
        {
            room -= move_pdus(first, room, out);
            if first.is_empty()
                && let Some(tti) = self.ttis.pop_front()
            {
                spare.keep(tti);
            }
        }
        self.pdus -= pdus - room;
    }
}

/// Moves the first PDUs, at most `pdus`, with their associated data; returns their number.
fn move_pdus(from: &mut Tti, pdus: u64, out: &mut Tti) -> u64 {
    let control = from.control.len().min(pdus as usize);
    out.control.extend(from.control.drain(..control));
    let mut room = pdus - control as u64;
    let (mut runs, mut ends) = (0, 0);
    for run in &mut from.data.runs {
        let taken = Run { sns: SnRange::new(run.sns.first, run.sns.first + run.sns.len().min(room)), ..*run };
        let within = |sn| (taken.sns.first..taken.sns.end).contains(&sn);
        let mine = from.data.ends[ends..].iter().take_while(|end| within(end.sn)).count();
        out.data.ends.extend_from_slice(&from.data.ends[ends..ends + mine]);
        ends += mine;
        if let Some(piggybacked) = from.piggybacked.take_if(|(sn, _)| within(*sn)) {
            out.piggybacked = Some(piggybacked);
        }
        match out
            .data
            .runs
            .last_mut()
            .filter(|last| last.sns.end == taken.sns.first && last.poll == taken.poll)
        {
            Some(last) => last.sns.end = taken.sns.end,
            None => out.data.runs.push(taken),
        }
        room -= taken.sns.len();
        run.sns.first = taken.sns.end;
        if !run.sns.is_empty() {
            break;
        }
        runs += 1;
        if room == 0 {
            break;
        }
    }
    from.data.runs.drain(..runs);
    from.data.ends.drain(..ends);
    pdus - room
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::SduEnd;
    use crate::rlc::control::{Control, Reset, Status};

    #[test]
    fn pdus_leave_the_queue_in_their_order_with_their_ends() {
        let run = |first, end, poll| Run { sns: SnRange::new(first, end), poll };
        let end = |sdu, first, sn| SduEnd { sdu, first, sn };
        let control = Control::Reset(Reset { rsn: false, hfni: 0, next_sdu: 0 });
        let mut queue = PduQueue::default();
        // Two retransmitted PDUs, out of order, then new ones.
        let mut first = Tti { control: vec![control.clone()], ..Tti::default() };
        first.data.runs = vec![run(7, 9, false), run(3, 4, true), run(20, 25, false)];
        first.data.ends = vec![end(2, 5, 8), end(1, 1, 3), end(6, 18, 20), end(7, 20, 24)];
        first.piggybacked = Some((24, Status::default()));
        let mut second = Tti::default();
        second.data.runs = vec![run(25, 27, false)];
        second.data.ends = vec![end(8, 24, 26)];
        queue.push(Box::new(first));
        queue.push(Box::new(second));
        assert_eq!(queue.pdus, 11);
        let mut spare = Spare::default();
        let mut take = |pdus| {
            let mut out = Tti::default();
            queue.take(pdus, &mut out, &mut spare);
            (out, queue.pdus)
        };
        let (one, left) = take(2);
        assert_eq!((one.control, one.data.runs, left), (vec![control], vec![run(7, 8, false)], 9));
        assert!(one.data.ends.is_empty());
        let (two, _) = take(3);
        assert_eq!(two.data.runs, [run(8, 9, false), run(3, 4, true), run(20, 21, false)]);
        assert_eq!(two.data.ends, [end(2, 5, 8), end(1, 1, 3), end(6, 18, 20)]);
        let (three, none) = take(9);
        assert_eq!((three.data.runs, none), (vec![run(21, 27, false)], 0));
        assert_eq!(three.data.ends, [end(7, 20, 24), end(8, 24, 26)]);
        assert_eq!(three.piggybacked.map(|(sn, _)| sn), Some(24));
        assert_eq!(take(5).0, Tti::default());
    }
}
