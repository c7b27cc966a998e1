//! Packets sent whole, one after the other, each with an end of its own: for a dedicated channel without link layer
//! whose UE has outages. (Without, ends of transmission are computed ahead, see [`super`].)

use crate::channel::Channel;
use crate::packet::Packet;
use crate::radio::outages::Silences;
use crate::rlc::{Rlc, Slot, SlotReport};
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use std::collections::VecDeque;

/// A line of packets in front of a transmitter. What is lost is told as discarded.
pub(super) struct Whole {
    rate: Bitrate,
    silences: Silences,
    /// With their time of arrival; the first may be on the air.
    waiting: VecDeque<(Instant, Box<Packet>)>,
    /// How long the first takes, while it is on the air.
    air: Option<Duration>,
}

impl Whole {
    pub fn new(rate: Bitrate, silences: Silences) -> Self {
        Self { rate, silences, waiting: VecDeque::new(), air: None }
    }
}

impl Rlc for Whole {
    fn handle_sdu(&mut self, now: Instant, sdu: Box<Packet>) {
        self.waiting.push_back((now, sdu));
    }

    fn take_waiting(&mut self) -> Option<Box<Packet>> {
        self.waiting.remove(usize::from(self.air.is_some())).map(|(_, packet)| packet)
    }

    fn start_slot(&mut self, now: Instant, _boundary: bool, report: &mut SlotReport) -> Slot {
        let Some((_, packet)) = self.waiting.front() else { return Slot::Idle };
        let air = self.rate.time_to_send(u64::from(packet.len));
        self.air = Some(air);
        report.started.push((packet.flow, packet.seq, packet.len));
        Slot::BusyUntil(now + air)
    }

    fn end_slot(&mut self, now: Instant, _channel: &mut dyn Channel, report: &mut SlotReport) {
        let (Some(air), Some((entered, packet))) = (self.air.take(), self.waiting.pop_front()) else {
            return;
        };
        if self.silences.cover(air, now) {
            report.discarded.push(packet);
        } else {
            report.delivered.push((packet, now.since(entered)));
        }
    }
}
