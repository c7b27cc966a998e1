//! One UE at the forward link: its queue, the packet in service, and the path after transmission.

use super::DownlinkConfig;
use super::slots::lasting;
use super::terminal::{Slow, Terminal};
use crate::distribution::Sampler;
use crate::element::Cx;
use crate::packet::{Dir, Packet};
use crate::radio::buffer::{Buffer, Gone, Served, report_service, share};
use crate::radio::delay_line::DelayLine;
use crate::radio::flow_buffers::{FlowBuffers, Sharing, Waiting};
use crate::radio::phy::evdo::PER_SECOND;
use crate::radio::phy::evdo::PHYSICAL_PACKETS;
use crate::radio::phy::evdo::PhysicalPacket;
use crate::rng::{self, Stream, Threshold};
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use serde_json::Value;

/// One UE at the forward link.
pub(super) struct User {
    pub buffer: Buffer,
    by_flow: bool,
    waiting: FlowBuffers,
    in_service: Option<InService>,
    pub terminal: Terminal,
    /// Units of a slot's room per byte of a packet.
    parts: u32,
    /// Mean of the rates that the terminal requests.
    rate: Bitrate,
    /// Whether a physical-layer packet is lost.
    lost: Threshold,
    errors: Stream,
    /// Packets whose last byte is in the current transmission.
    ended: Vec<Waiting>,
    /// Slots of the current transmission.
    slots: u64,
    /// Slots of all earlier transmissions.
    pub slots_served: u64,
    delay: Sampler<Duration>,
    delays: Stream,
    line: DelayLine,
}

struct InService {
    waiting: Waiting,
    /// In the unit of a physical-layer packet's room.
    left: u32,
}

impl User {
    /// `arrivals` is the timer of a delay line with overtaking.
    pub fn new(config: &DownlinkConfig, run_seed: u64, ue: u16, arrivals: u32) -> Self {
        let stream = |part: &str| rng::stream(run_seed, &format!("ue{ue}.downlink.{part}"));
        let fading = config.fading.build(PER_SECOND as f64, stream("fading"));
        let mean_sinr = *config.mean_sinr.of(ue.into());
        let shares = config.probabilities(mean_sinr);
        let slow = Slow::new(config, mean_sinr, run_seed, ue);
        let rates = PHYSICAL_PACKETS.iter().zip(&shares[1..]);
        let rate = rates.map(|(packet, share)| f64::from(packet.rate_bps) * share).sum::<f64>();
        let rate = Bitrate::from_bps(rate as u64);
        let place = (rate, lasting(1));
        let buffer = Buffer::new(&config.queue, place, Duration::ZERO, run_seed, ue, Dir::Downlink);
        Self {
            by_flow: config.buffer == Sharing::PerFlow,
            waiting: FlowBuffers::new(&config.queue, config.buffer, run_seed, place, &buffer),
            in_service: None,
            terminal: Terminal::new((fading, slow), mean_sinr, &config.thresholds, config.slots.packets()),
            parts: config.slots.parts(),
            rate,
            lost: Threshold::from(config.per),
            errors: stream("errors"),
            ended: Vec::new(),
            slots: 0,
            slots_served: 0,
            delay: config.delay.sampler(),
            delays: stream("delay"),
            line: DelayLine::new(config.order, buffer.index(), arrivals, Dir::Downlink),
            buffer,
        }
    }

    pub fn open(&self, cx: &mut Cx<'_>) {
        cx.open_bearer(self.buffer.index() as usize, self.buffer.terms(self.rate, self.by_flow));
    }

    /// Admits or drops a packet. Returns whether it is admitted.
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) -> bool {
        self.waiting.handle_sdu(cx, &mut self.buffer, packet)
    }

    /// Whether data is queued.
    #[inline]
    pub fn waits(&self) -> bool {
        self.in_service.is_some() || !self.waiting.is_empty()
    }

    /// Whether a packet has been sent in part.
    pub fn is_in_service(&self) -> bool {
        self.in_service.is_some()
    }

    /// Room that the rest of the packet in service needs; if there is none, the next packet starts.
    pub fn start_next(&mut self, cx: &mut Cx<'_>) -> Option<u32> {
        if self.in_service.is_none() {
            let waiting = self.waiting.start_next(cx, &mut self.buffer)?;
            let left = waiting.packet.len * self.parts;
            self.in_service = Some(InService { waiting, left });
        }
        self.in_service.as_ref().map(|packet| packet.left)
    }

    /// Sets how much of the packet in service is left after the current transmission.
    pub fn leave(&mut self, left: u32) {
        if let Some(packet) = self.in_service.take() {
            if left == 0 {
                self.ended.push(packet.waiting);
            } else {
                self.in_service = Some(InService { left, ..packet });
            }
        }
    }

    /// Adds a physical-layer packet to the current transmission. Returns the room in it if it arrives.
    pub fn transmit(&mut self, packet: &PhysicalPacket) -> u32 {
        self.slots += packet.slots;
        if self.errors.chance(self.lost) { 0 } else { packet.room }
    }

    /// Ends the transmission at the start of `slot`.
    pub fn finish(&mut self, cx: &mut Cx<'_>, slot: u64) {
        self.slots_served += std::mem::take(&mut self.slots);
        for Waiting { entered, packet } in self.ended.drain(..) {
            self.waiting.finish(cx, &self.buffer, &packet);
            let delay = self.delay.draw(&mut self.delays);
            let arrival = self.line.arrival(cx.now, delay);
            self.buffer.note_delivered(cx, Gone::of(&packet), arrival.since(entered));
            self.line.put(cx, arrival, packet);
        }
        if !self.waits() {
            self.terminal.rest(slot);
        }
    }

    /// Whether packets keep their order after transmission.
    pub fn keeps_order(&self) -> bool {
        self.line.keeps_order()
    }

    /// Handles the timer of a delay line with overtaking.
    pub fn handle_arrival(&mut self, cx: &mut Cx<'_>) {
        self.line.handle_timer(cx);
    }

    pub fn bytes_delivered(&self, cx: &mut Cx<'_>) -> u64 {
        self.buffer.delivered(cx).bytes
    }

    /// `utilisation` is relative to the mean that the UE could have had without the others.
    pub fn report(&self, cx: &mut Cx<'_>) -> Value {
        let delivered = self.buffer.delivered(cx);
        let seconds = cx.now.since(Instant::ZERO).as_secs_f64();
        let throughput = share(delivered.bytes as f64 * 8.0, seconds);
        let served = Served { sdus: delivered.sdus, busy_s: lasting(self.slots_served).as_secs_f64() };
        let mut report = self.buffer.report(self.buffer.delivered(cx));
        let alone = self.rate.as_bps() as f64 * seconds / 8.0;
        report.insert("utilisation".into(), share(delivered.bytes as f64, alone).into());
        report_service(&mut report, Some(served), self.line.mean_delay_ms());
        report.insert("throughput_bps".into(), throughput.into());
        report.insert("slots_served".into(), self.slots_served.into());
        report.insert("drc".into(), self.terminal.report());
        report.into()
    }
}
