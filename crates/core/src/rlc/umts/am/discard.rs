//! The transmitting side of the discard of SDUs with explicit signalling (TS 25.322 §11.6).
//!
//! SDUs are segmented when a PDU is built, so the end of a partly sent SDU is in no PDU yet. ASSUMED: its other octets
//! count as one PDU. That PDU is never transmitted: SN_MRW, and with it VT(S), refer to the PDU after it (§11.6.2).

use super::config::Config;
use crate::rlc::pdus::control::{Mrw, MrwAck};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// SN_MRW fields of one MRW at most (§9.2.2.11.8).
const MOST: u64 = 15;

/// A discarded SDU that was sent at least in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discarded {
    pub sdu: u64,
    /// The PDU with its end.
    pub end: u64,
    /// SN_MRW if it is the last one: the first PDU that the receiver needs.
    pub sn: u64,
    /// N_LENGTH if it is the last one.
    pub n: u64,
}

/// VT(MRW) has reached MaxMRW: the sender resets the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// Tells the receiver which SDUs were discarded.
#[derive(Debug, Default)]
pub struct Discard {
    send_mrw: bool,
    timer_mrw: Duration,
    max_mrw: u32,
    window: u64,
    /// SN_MRW fields that fit a STATUS PDU.
    fields: usize,
    /// SDUs to signal once the outstanding MRW is answered.
    waiting: VecDeque<Discarded>,
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    mrw: Mrw,
    /// VT(MRW).
    vt_mrw: u32,
    /// When Timer_MRW ends; before the first transmission it has.
    timer: Instant,
}

impl Discard {
    pub fn new(config: &Config) -> Self {
        Self {
            send_mrw: config.send_mrw,
            timer_mrw: config.timer_mrw,
            max_mrw: config.max_mrw,
            window: u64::from(config.configured_tx_window_size),
            fields: config.mrw_fields().min(MOST) as usize,
            ..Self::default()
        }
    }

    /// §11.4: nothing is left to signal.
    pub fn reset(&mut self) {
        self.waiting.clear();
        self.current = None;
    }

    /// SDUs were discarded, in order.
    pub fn start(&mut self, discarded: impl IntoIterator<Item = Discarded>, vt_a: u64) {
        self.waiting.extend(discarded);
        self.next(vt_a);
    }

    /// When an MRW is to be sent next.
    pub fn deadline(&self) -> Instant {
        self.current.as_ref().map_or(Instant::NEVER, |current| current.timer)
    }

    /// The MRW to send now, if there is one (§11.6.2, §11.6.5).
    pub fn build(&mut self, now: Instant) -> Result<Option<Mrw>, Exhausted> {
        let Some(current) = self.current.as_mut().filter(|current| current.timer <= now) else {
            return Ok(None);
        };
        // VT(MRW) counts the ends of Timer_MRW (§9.4): the first transmission has none.
        if current.timer > Instant::ZERO {
            current.vt_mrw += 1;
        }
        if current.vt_mrw >= self.max_mrw {
            return Err(Exhausted);
        }
        current.timer = now + self.timer_mrw;
        Ok(Some(current.mrw.clone()))
    }

    /// §11.6.4: whether an MRW_ACK ends the procedure; it does if it is no answer to another MRW.
    pub fn is_ended_by(&self, ack: MrwAck) -> bool {
        self.current.as_ref().is_some_and(|Current { mrw, .. }| {
            let moved = ack.sn_ack > mrw.last() && ack.n == 0;
            moved || (ack.sn_ack == mrw.last() && ack.n == mrw.n_length)
        })
    }

    /// §11.6.4: whether all below `vt_a` leaves nothing to be discarded in whole PDUs.
    pub fn is_acknowledged_by(&self, vt_a: u64) -> bool {
        self.current.as_ref().is_some_and(|current| vt_a >= current.mrw.last())
    }

    /// The procedure has ended; the next one begins if there is more to tell.
    pub fn end(&mut self, vt_a: u64) {
        self.current = None;
        self.next(vt_a);
    }

    fn next(&mut self, vt_a: u64) {
        if self.current.is_some() || self.waiting.is_empty() {
            return;
        }
        let beyond = |told: &Discarded| told.sn >= vt_a + self.window;
        let mut count = self.waiting.len();
        if self.send_mrw {
            // Only an MRW of one SDU can name a PDU beyond the window.
            let within = self.waiting.partition_point(|told| !beyond(told));
            count = self.fields.min(within).max(1);
        }
        let told: Vec<Discarded> = self.waiting.drain(..count).collect();
        let Some(last) = told.last() else { return };
        let mut sn_mrw: Vec<u64> = Vec::new();
        if self.send_mrw {
            sn_mrw.extend(told[..told.len() - 1].iter().map(|told| told.end));
        }
        sn_mrw.push(last.sn);
        let mrw = Mrw { sn_mrw, n_length: last.n, beyond_window: beyond(last), next_sdu: last.sdu + 1 };
        self.current = Some(Current { mrw, vt_mrw: 0, timer: Instant::ZERO });
    }
}
