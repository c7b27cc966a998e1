//! Ends of transmissions that were computed ahead, as events: for those who look into the buffer of a bearer that
//! sends packets whole.

use super::buffer::Buffer;
use crate::element::{Cx, RadioEventKind};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// The packets in a buffer whose ends of transmission somebody wants to know, in their order.
#[derive(Default)]
pub(super) struct Departures(VecDeque<Watched>);

#[derive(Clone, Copy)]
struct Watched {
    entered: Instant,
    end: Instant,
    /// From there to its arrival.
    behind: Duration,
    seq: u32,
    len: u32,
    flow: u16,
}

impl Departures {
    /// A packet came that will be sent until `end` and arrive at `arrival`; it starts now if nothing is before it.
    /// A transmission that ends at this very instant is, until its end has been told.
    #[cold]
    pub fn watch(
        &mut self,
        cx: &mut Cx<'_>,
        buffer: &Buffer,
        packet: &Packet,
        (end, arrival): (Instant, Instant),
    ) {
        let starts = self.0.is_empty();
        let behind = arrival.since(end);
        let (seq, len, flow) = (packet.seq, packet.len, packet.flow);
        let watched = Watched { entered: cx.now, end, behind, seq, len, flow };
        self.0.push_back(watched);
        if starts {
            Self::start(cx, buffer, watched);
        }
    }

    /// The first transmission has ended.
    pub fn handle_end(&mut self, cx: &mut Cx<'_>, buffer: &Buffer) {
        if let Some(gone) = self.0.pop_front() {
            let delay = cx.now.since(gone.entered) + gone.behind;
            buffer.note_delivered(cx, gone.flow, gone.seq, gone.len, delay);
        }
        if let Some(next) = self.0.front() {
            Self::start(cx, buffer, *next);
        }
    }

    fn start(cx: &mut Cx<'_>, buffer: &Buffer, packet: Watched) {
        buffer.tell(cx, RadioEventKind::Started, packet.flow, packet.seq, packet.len);
        cx.arm(buffer.index(), packet.end);
    }
}
