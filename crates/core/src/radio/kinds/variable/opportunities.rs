//! A bearer whose channel provides transmission opportunities: the link of \[mahimahi\].
//!
//! Packets leave in order. Several small packets share an opportunity. A packet that is larger than the rest
//! of an opportunity uses that rest and continues in the next one; it is delivered with its last byte. An
//! opportunity with an empty buffer is lost, and so is the rest of one when the buffer becomes empty. A
//! packet that enters an empty buffer at the instant of an opportunity can use it. The timer of a bearer is
//! armed only while data is queued, so an idle bearer costs nothing.
//!
//! Left out: radio losses, which a trace of deliveries does not show. Source: mm-link(1) of mahimahi, which
//! this models with `channel.trace_file`.

use super::{Bearer, BearerConfig};
use crate::channel::{Channel, Opportunity};
use crate::element::{Adopt, Cx, FAR};
use crate::packet::{Dir, Packet};
use crate::radio::buffer::{Admitted, Buffer, report_service, share};
use crate::radio::flow_buffers::Waiting;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use std::any::Any;
use std::collections::VecDeque;

/// One direction of a UE's bearer.
pub(super) struct OpportunityBearer {
    buffer: Buffer,
    /// Mean of the channel's.
    rate: Bitrate,
    channel: Box<dyn Channel>,
    /// The packet in transmission, if the discipline holds packets; otherwise all queued packets.
    waiting: VecDeque<Waiting>,
    /// Bytes of the packet at the head that opportunities have carried.
    sent: u32,
    /// The next opportunity for the packets at the head; `None` while none is queued, and when the channel
    /// has ended.
    next: Option<Opportunity>,
    /// Opportunities before this are lost.
    paused_until: Instant,
}

impl OpportunityBearer {
    pub fn new(config: &BearerConfig, run_seed: u64, ue: u16, dir: Dir) -> Self {
        let rate = config.channel.mean_rate().unwrap_or_default();
        Self {
            buffer: Buffer::new(&config.queue, (rate, Duration::ZERO), config.delay, run_seed, ue, dir),
            rate,
            channel: config.channel.build(run_seed, &format!("ue{ue}.{}.channel", dir.name())),
            waiting: VecDeque::new(),
            sent: 0,
            next: None,
            paused_until: Instant::ZERO,
        }
    }
}

impl Bearer for OpportunityBearer {
    fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    fn open(&self, cx: &mut Cx<'_>) {
        cx.open_bearer(self.buffer.index() as usize, self.buffer.terms(self.rate, false));
    }

    fn is_computed(&self) -> bool {
        false
    }

    fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let (waiting, sent) = (&mut self.waiting, self.sent);
        // The packet at the head may have started.
        let first = usize::from(sent > 0);
        let take_waiting = || waiting.remove(first).map(|taken| taken.packet);
        let Some(Admitted { packet, queued_sdus, .. }) = self.buffer.admit_or_evict(cx, packet, take_waiting)
        else {
            return;
        };
        if let Some(packet) = self.buffer.hold(cx, packet) {
            self.waiting.push_back(Waiting { entered: cx.now, packet });
        }
        // A removed packet leaves its opportunity in `next`.
        if queued_sdus == 1 && self.next.is_none() {
            self.await_opportunity(cx);
        }
    }

    /// Handles an opportunity.
    fn handle_timer(&mut self, cx: &mut Cx<'_>) {
        let Some(opportunity) = self.next.take() else { return };
        self.send(cx, opportunity.bytes);
        if !self.waiting.is_empty() || self.buffer.held_bytes() > 0 {
            self.await_opportunity(cx);
        }
    }

    fn pause(&mut self, cx: &mut Cx<'_>, until: Instant) {
        self.paused_until = until;
        if self.next.is_some() || !self.waiting.is_empty() || self.buffer.held_bytes() > 0 {
            self.await_opportunity(cx);
        }
    }

    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Bearer>, how: Adopt) -> bool {
        let Ok(fresh) = (fresh as Box<dyn Any>).downcast::<Self>() else { return false };
        let limits = self.buffer.adopt(cx, fresh.buffer, fresh.rate, how);
        if !self.channel.adopt(cx.now, fresh.channel, how) {
            return limits;
        }
        self.rate = fresh.rate;
        if !self.waiting.is_empty() || self.buffer.held_bytes() > 0 {
            self.await_opportunity(cx);
        }
        true
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let delivered = self.buffer.delivered(cx);
        let offered = self.channel.offered(cx.now);
        // In the channel's units, with its overhead per packet.
        let overhead = u64::from(self.channel.packet_bytes(0));
        let carried = delivered.bytes + delivered.sdus * overhead;
        let mut report = self.buffer.report(self.buffer.delivered(cx));
        report.insert("opportunities".into(), offered.opportunities.into());
        report.insert("utilisation".into(), share(carried as f64, offered.bytes as f64).into());
        // Opportunities pass, sent or not; no time is spent.
        let mean_delay_ms = (delivered.sdus > 0).then(|| self.buffer.delay.as_secs_f64() * 1e3);
        report_service(&mut report, None, mean_delay_ms);
        report.into()
    }
}

impl OpportunityBearer {
    fn await_opportunity(&mut self, cx: &mut Cx<'_>) {
        if self.paused_until >= FAR {
            // The channel goes forward only.
            self.next = None;
            return;
        }
        self.next = self.channel.next_opportunity(cx.now.max(self.paused_until));
        if let Some(opportunity) = self.next {
            cx.arm(self.buffer.index(), opportunity.at);
        }
    }

    fn send(&mut self, cx: &mut Cx<'_>, mut room: u32) {
        while room > 0 {
            if self.waiting.is_empty()
                && let Some(next) = self.buffer.pull(cx, 1)
            {
                self.waiting.push_back(Waiting { entered: next.entered, packet: next.packet });
            }
            let Some(Waiting { packet, .. }) = self.waiting.front() else { return };
            if self.sent == 0 {
                self.buffer.start(cx, packet.flow, packet.seq, packet.len);
            }
            let left = self.channel.packet_bytes(packet.len) - self.sent;
            if left > room {
                self.sent += room;
                return;
            }
            room -= left;
            self.sent = 0;
            if let Some(gone) = self.waiting.pop_front() {
                let waited = cx.now.since(gone.entered);
                self.buffer.deliver(cx, gone.packet, waited);
            }
        }
    }
}
