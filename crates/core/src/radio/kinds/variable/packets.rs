//! A bearer that sends packets whole over a channel that determines how long each takes: \[chan2002\] section
//! 4, a server of variable rate, followed by a link of variable delay.
//!
//! Where packets leave in order and all of them arrive, the end of a transmission is computed when the packet
//! enters, and it is scheduled only for subscribers. Where flows take turns, packets are lost over the radio
//! link, or the queue discipline drops queued packets, a timer ends each transmission and the next packet is
//! chosen.

use super::{Bearer, BearerConfig};
use crate::channel::{Channel, Service};
use crate::element::{Adopt, Cx, FAR};
use crate::packet::{Dir, Packet};
use crate::radio::Plan;
use crate::radio::buffer::{Buffer, Departures, Gone, report_service, share};
use crate::radio::delay_line::DelayLine;
use crate::radio::flow_buffers::{FlowBuffers, Sharing, Waiting};
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use std::any::Any;

/// One direction of a UE's bearer.
pub(super) struct PacketBearer {
    buffer: Buffer,
    /// Mean of the channel's.
    rate: Bitrate,
    channel: Box<dyn Channel>,
    transmitter: Transmitter,
    line: DelayLine,
    /// Total transmission time of all packets so far.
    busy: Duration,
    /// No transmission starts before this.
    paused_until: Instant,
}

enum Transmitter {
    /// Ends are computed in advance.
    Ahead(Departures),
    /// A timer ends each transmission.
    Timed { waiting: Box<FlowBuffers>, by_flow: bool, in_service: Option<InService> },
}

struct InService {
    entered: Instant,
    service: Service,
    packet: Box<Packet>,
}

impl PacketBearer {
    /// A bearer. `arrivals` is the timer of a line with overtaking.
    pub fn new(config: &BearerConfig, plan: &Plan<'_>, ue: u16, dir: Dir, arrivals: u32) -> Self {
        let run_seed = plan.run_seed;
        let rate = config.channel.mean_rate().unwrap_or_default();
        let place = (rate, Duration::ZERO);
        let buffer = Buffer::new(&config.queue, place, config.delay, run_seed, ue, dir);
        let by_flow = config.buffer == Sharing::PerFlow;
        let is_timed =
            plan.may_change || by_flow || config.channel.loses_packets() || config.queue.needs_line();
        let transmitter = if is_timed {
            let waiting = FlowBuffers::new(&config.queue, config.buffer, run_seed, place, &buffer);
            Transmitter::Timed { waiting: Box::new(waiting), by_flow, in_service: None }
        } else {
            Transmitter::Ahead(Departures::default())
        };
        Self {
            rate,
            channel: config.channel.build(run_seed, &format!("ue{ue}.{}.channel", dir.name())),
            transmitter,
            line: DelayLine::new(config.channel.order(), buffer.index(), arrivals, dir),
            busy: Duration::ZERO,
            paused_until: Instant::ZERO,
            buffer,
        }
    }

    #[inline(never)]
    fn handle_sdu_in_turn(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        // A transmission that ends at this instant counts as finished, as in settled accounting.
        if self.in_service().is_some_and(|present| present.service.end <= cx.now) {
            self.handle_timer(cx);
        }
        let Transmitter::Timed { waiting, in_service, .. } = &mut self.transmitter else { return };
        if waiting.handle_sdu(cx, &mut self.buffer, packet) && in_service.is_none() {
            self.start_next(cx);
        }
    }

    fn in_service(&self) -> Option<&InService> {
        match &self.transmitter {
            Transmitter::Ahead(_) => None,
            Transmitter::Timed { in_service, .. } => in_service.as_ref(),
        }
    }

    #[inline]
    fn send_ahead(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let channel = &mut self.channel;
        let Some((packet, (start, service))) = self.buffer.admit(cx, packet, |accounting, now, sdu| {
            let start = accounting.free_at(now);
            let mut service = channel.serve(start, sdu.len);
            service.end = service.end.min(FAR);
            accounting.depart(service.end, sdu);
            (start, service)
        }) else {
            return;
        };
        let end = service.end;
        self.busy += end.since(start);
        let arrival = self.line.arrival(end, service.delay + self.buffer.delay);
        if cx.watches_bearers()
            && let Transmitter::Ahead(departures) = &mut self.transmitter
        {
            departures.watch(cx, &self.buffer, &packet, (end, arrival));
        }
        self.line.put(cx, arrival, packet);
    }

    fn start_next(&mut self, cx: &mut Cx<'_>) {
        if cx.now < self.paused_until {
            return cx.arm(self.buffer.index(), self.paused_until);
        }
        let Transmitter::Timed { waiting, in_service, .. } = &mut self.transmitter else { return };
        let Some(Waiting { entered, packet }) = waiting.start_next(cx, &mut self.buffer) else { return };
        let mut service = self.channel.serve(cx.now, packet.len);
        service.end = service.end.min(FAR);
        self.busy += service.end.since(cx.now);
        cx.arm(self.buffer.index(), service.end);
        *in_service = Some(InService { entered, service, packet });
    }
}

impl Bearer for PacketBearer {
    fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    fn open(&self, cx: &mut Cx<'_>) {
        let by_flow = matches!(self.transmitter, Transmitter::Timed { by_flow: true, .. });
        cx.open_bearer(self.buffer.index() as usize, self.buffer.terms(self.rate, by_flow));
    }

    fn is_computed(&self) -> bool {
        matches!(self.transmitter, Transmitter::Ahead(_)) && self.line.keeps_order()
    }

    fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        match &mut self.transmitter {
            Transmitter::Ahead(_) => self.send_ahead(cx, packet),
            Transmitter::Timed { .. } => self.handle_sdu_in_turn(cx, packet),
        }
    }

    /// A transmission has ended.
    fn handle_timer(&mut self, cx: &mut Cx<'_>) {
        match &mut self.transmitter {
            Transmitter::Ahead(departures) => departures.handle_end(cx, &self.buffer),
            Transmitter::Timed { waiting, in_service, .. } => {
                // Already done if a packet arrived at its very end.
                if in_service.as_ref().is_some_and(|packet| packet.service.end > cx.now) {
                    return;
                }
                let Some(InService { entered, service, packet }) = in_service.take() else {
                    // A pause has ended.
                    return self.start_next(cx);
                };
                waiting.finish(cx, &self.buffer, &packet);
                if service.lost {
                    self.buffer.lose(cx, packet);
                } else {
                    let arrival = self.line.arrival(cx.now, service.delay + self.buffer.delay);
                    let delay = arrival.since(entered);
                    self.buffer.note_delivered(cx, Gone::of(&packet), delay);
                    self.line.put(cx, arrival, packet);
                }
                self.start_next(cx);
            }
        }
    }

    fn pause(&mut self, cx: &mut Cx<'_>, until: Instant) {
        self.paused_until = until;
        if self.in_service().is_none() {
            cx.arm(self.buffer.index(), until);
        }
    }

    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Bearer>, how: Adopt) -> bool {
        let Ok(fresh) = (fresh as Box<dyn Any>).downcast::<Self>() else { return false };
        let channels = self.channel.adopt(cx.now, fresh.channel, how);
        let limits = match (&mut self.transmitter, fresh.transmitter) {
            (Transmitter::Timed { waiting, .. }, Transmitter::Timed { waiting: fresh, .. }) => {
                waiting.adopt(*fresh, how)
            }
            _ => false,
        };
        self.rate = fresh.rate;
        self.buffer.adopt(cx, fresh.buffer, fresh.rate, how) | limits | channels
    }

    /// Handles the timer of a line with overtaking.
    fn handle_arrival(&mut self, cx: &mut Cx<'_>) {
        self.line.handle_timer(cx);
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let now = cx.now;
        let unsent = match &self.transmitter {
            Transmitter::Ahead(_) => cx.bearer(self.buffer.index() as usize).free_at(now).since(now),
            Transmitter::Timed { .. } => {
                self.in_service().map_or(Duration::ZERO, |packet| packet.service.end.since(now))
            }
        };
        let served = self.buffer.service(cx, self.busy, unsent);
        let mut report = self.buffer.report(self.buffer.delivered(cx));
        let utilisation = share(served.busy_s, now.as_secs_f64());
        report.insert("utilisation".into(), utilisation.into());
        report_service(&mut report, Some(served), self.line.mean_delay_ms());
        report.into()
    }
}
