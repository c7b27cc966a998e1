//! Data from the UE: detection of radio losses before the box, and NACKs to the UE.

use super::downlink::Limits;
use crate::middlebox::acks::{are_far_apart, is_after};
use crate::packet::{Body, Flags, Form, Packet, SackBlocks};
use crate::tcp::rto::{self, Rto};
use crate::time::Instant;
use crate::wire::{Endpoints, encode_header, endpoints, tcp_header_bytes};

/// Gaps of one connection that the box remembers: later ones are the server's to find.
const MOST_GAPS: usize = 32;

/// Missing data of the UE: first octet and end (exclusive).
struct Gap {
    start: u32,
    end: u32,
    /// NACKs so far, and when the latest left.
    nacks: u32,
    nack_at: Instant,
}

/// Data of one connection that comes from the UE.
pub(super) struct Uplink {
    /// In the order of their sequence numbers.
    gaps: Vec<Gap>,
    /// Behind the highest octet seen; `None` before the first.
    end: Option<u32>,
    /// Template of a NACK: the fields of the server's latest ACK, without blocks.
    template: Option<Packet>,
    /// Endpoints of real packets, from the server to the UE.
    endpoints: Option<Endpoints>,
    /// Round-trip time of the radio, from a NACK until the gap is filled.
    rto: Rto,
}

impl Uplink {
    pub fn new(timer: &rto::Config) -> Self {
        Self { gaps: Vec::new(), end: None, template: None, endpoints: None, rto: Rto::new(timer) }
    }

    /// The server acknowledges.
    pub fn on_server_ack(&mut self, packet: &Packet) {
        let ack = packet.ack;
        if self.end.is_some_and(|end| are_far_apart(ack, end)) {
            return;
        }
        if self.template.as_ref().is_some_and(|template| is_after(template.ack, ack)) {
            return;
        }
        if self.endpoints.is_none() {
            self.endpoints =
                packet.body.as_ref().and_then(|body| endpoints(&body.bytes)).map(|(_, ends)| ends);
        }
        let fin = u32::from(packet.flags.has(Flags::FIN) || packet.flags.has(Flags::SYN));
        let timestamps = packet.has_timestamps.then_some((packet.ts_val, packet.ts_ecr));
        let (ts_val, ts_ecr) = timestamps.unwrap_or_default();
        self.template = Some(Packet {
            ack,
            seq: packet.seq.wrapping_add(packet.payload).wrapping_add(fin),
            window: packet.window,
            flags: Flags::ACK | Flags::NACK,
            has_timestamps: packet.has_timestamps,
            ts_val,
            ts_ecr,
            form: Form::TCP.with_ip(packet.ip()),
            ue: packet.ue,
            flow: packet.flow,
            ..Packet::default()
        });
        for gap in &mut self.gaps {
            if is_after(ack, gap.start) {
                gap.start = ack;
            }
        }
        self.gaps.retain(|gap| is_after(gap.end, gap.start));
    }

    /// A segment with data arrived over the radio.
    pub fn on_data(&mut self, now: Instant, packet: &Packet) {
        let start = packet.seq.wrapping_add(u32::from(packet.flags.has(Flags::SYN)));
        let end = start.wrapping_add(packet.payload);
        let Some(known) = self.end.filter(|known| !are_far_apart(start, *known)) else {
            (self.end, self.gaps) = (Some(end), Vec::new());
            self.template.take_if(|template| are_far_apart(template.ack, end));
            return;
        };
        if is_after(start, known) && self.gaps.len() < MOST_GAPS {
            self.gaps.push(Gap { start: known, end: start, nacks: 0, nack_at: Instant::ZERO });
        }
        if is_after(end, known) {
            self.end = Some(end);
        }
        if !self.gaps.is_empty() {
            self.fill(now, start, end);
        }
    }

    /// Octets have come.
    fn fill(&mut self, now: Instant, start: u32, end: u32) {
        let mut left = Vec::with_capacity(self.gaps.len() + 1);
        for gap in self.gaps.drain(..) {
            if !is_after(end, gap.start) || !is_after(gap.end, start) {
                left.push(gap);
                continue;
            }
            // Karn's algorithm.
            if gap.nacks == 1 {
                self.rto.on_sample(now, gap.nack_at);
            }
            if is_after(start, gap.start) {
                left.push(Gap { end: start, ..gap });
            }
            if is_after(gap.end, end) && left.len() < MOST_GAPS {
                left.push(Gap { start: end, ..gap });
            }
        }
        self.gaps = left;
    }

    /// Gaps that one NACK can name: there is room for three blocks, and one may be that before the first gap.
    fn nameable(&self) -> usize {
        let first = self.gaps.first().zip(self.template.as_ref());
        let begins_at_ack = first.is_some_and(|(gap, template)| gap.start == template.ack);
        SackBlocks::MAX - usize::from(!begins_at_ack)
    }

    /// When a NACK is to be sent: at once for a new gap, otherwise when the radio has had time to fill it.
    pub fn deadline(&self, limits: &Limits) -> Option<Instant> {
        self.template.as_ref()?;
        let named = self.gaps.iter().take(self.nameable()).filter(|gap| gap.nacks < limits.retransmissions);
        named.map(|gap| if gap.nacks == 0 { Instant::ZERO } else { gap.nack_at + self.rto.value() }).min()
    }

    /// The NACK to be sent now, if any.
    pub fn poll_nack(&mut self, now: Instant, limits: &Limits) -> Option<Packet> {
        if self.deadline(limits).is_none_or(|at| at > now) {
            return None;
        }
        let named = self.nameable();
        let wait = self.rto.value();
        let mut is_again = false;
        for gap in self.gaps.iter_mut().take(named).filter(|gap| gap.nacks < limits.retransmissions) {
            if gap.nacks == 0 || gap.nack_at + wait <= now {
                is_again |= gap.nacks > 0;
                (gap.nacks, gap.nack_at) = (gap.nacks + 1, now);
            }
        }
        if is_again {
            self.rto.on_timeout();
        }
        self.nack(named)
    }

    /// An ACK that names the first gaps by the ranges received between them and before the first.
    fn nack(&self, named: usize) -> Option<Packet> {
        let (mut packet, end) = (self.template.clone()?, self.end?);
        let first = self.gaps.first()?;
        let mut blocks = SackBlocks::default();
        // A block never starts at the ACK: a sender would conclude that the receiver has reneged.
        let before = packet.ack.wrapping_add(1);
        if is_after(first.start, before) {
            blocks.push(before, first.start);
        }
        let ends = self.gaps.iter().skip(1).map(|gap| gap.start).chain([end]);
        for (gap, next) in self.gaps.iter().take(named).zip(ends) {
            blocks.push(gap.end, next);
        }
        packet.options_mut().sack = blocks;
        packet.len = packet.ip().header_bytes() + tcp_header_bytes(&packet);
        if let Some(endpoints) = self.endpoints {
            let mut bytes = Vec::new();
            encode_header(&packet, endpoints, 0, &mut bytes);
            packet.body = Some(Box::new(Body::new(bytes)));
        }
        Some(packet)
    }
}
