//! One split connection: a receiver towards the data's source, a sender towards its destination, and the bytes
//! between them. Packets carry no payload, so the buffer is two offsets.

use super::Wire;
use crate::element::Cx;
use crate::host::{FlowSpec, arm};
use crate::packet::{Dir, Packet};
use crate::rng::Stream;
use crate::tcp::handshake::Role;
use crate::tcp::{self, Receiver, Sender};
use crate::time::{Duration, Instant};
use serde_json::json;

/// Parameters of a connection.
pub(super) struct Endpoints {
    /// Towards the data's source.
    pub receives: tcp::Config,
    /// Towards its destination.
    pub sends: tcp::Config,
    /// Bytes that are held in between.
    pub buffer: u64,
}

/// Timers of the two endpoints.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    receiver: u32,
    sender: u32,
}

impl Keys {
    /// The timers of the connection at a position.
    pub fn of(position: usize) -> Self {
        let receiver = 2 * position as u32;
        Self { receiver, sender: receiver + 1 }
    }
}

/// Packets that arrived during the transfer of the state, with their directions.
type Waiting = Vec<(Dir, Box<Packet>)>;

/// A connection that the box has ended, with its continuation.
pub(super) struct Connection {
    ue: u16,
    flow: u16,
    /// Direction of the data.
    dir: Dir,
    receiver: Receiver,
    sender: Sender,
    /// Bytes that the sender has been given.
    supplied: u64,
    peak_buffer: u64,
    peak_ahead: u64,
    /// End of the move to another RNC, and the packets that arrived meanwhile.
    moving: Option<(Instant, Waiting)>,
    moves: u64,
    moved_bytes: u64,
    /// The state is lost: octets that the sender considers delivered but the receiver has not acknowledged. Octets in
    /// flight may still arrive.
    lost_bytes: Option<u64>,
}

impl Connection {
    /// A connection at whose first segment the box opens both sides: it is the server towards the UE, and the
    /// UE towards the server. A congestion control that draws has the `stream`.
    pub fn new(spec: &FlowSpec, endpoints: &Endpoints, stream: impl FnOnce() -> Stream) -> Self {
        let (receives_as, sends_as) = match spec.dir {
            Dir::Downlink => (Role::Active, Role::Passive),
            Dir::Uplink => (Role::Passive, Role::Active),
        };
        let mut receiver = Receiver::new(&endpoints.receives, receives_as);
        receiver.hold(endpoints.buffer);
        receiver.open();
        let mut sender = Sender::new(&endpoints.sends, sends_as);
        sender.seed(stream);
        sender.open();
        Self {
            ue: spec.ue,
            flow: spec.flow,
            dir: spec.dir,
            receiver,
            sender,
            supplied: 0,
            peak_buffer: 0,
            peak_ahead: 0,
            moving: None,
            moves: 0,
            moved_bytes: 0,
            lost_bytes: None,
        }
    }

    /// A segment has reached the box.
    pub fn take(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>, keys: Keys, wire: Wire) {
        if let Some((_, waiting)) = &mut self.moving {
            return waiting.push((dir, packet));
        }
        self.handle_packet(cx.now, dir, &packet);
        cx.keep(dir, packet);
        self.pump(cx, keys, wire);
    }

    /// A timer of either endpoint has expired, or the connection has arrived at another RNC.
    pub fn handle_timer(&mut self, cx: &mut Cx<'_>, keys: Keys, wire: Wire) {
        if self.moving.as_ref().is_some_and(|(until, _)| *until > cx.now) || self.is_lost() {
            return;
        }
        for (dir, packet) in self.moving.take().map(|(_, waiting)| waiting).into_iter().flatten() {
            self.handle_packet(cx.now, dir, &packet);
            cx.keep(dir, packet);
        }
        self.handle_deadlines(cx.now);
        self.pump(cx, keys, wire);
    }

    /// The connection moves to another RNC for a time of `takes`, even if another move is in progress.
    #[cold]
    pub fn begin_move(&mut self, cx: &mut Cx<'_>, keys: Keys, takes: Duration) {
        let until = cx.now + takes;
        self.moves += 1;
        self.moved_bytes += self.held();
        let waiting = self.moving.take().map(|(_, waiting)| waiting).unwrap_or_default();
        self.moving = Some((until, waiting));
        cx.arm(keys.sender, until);
        cx.disarm(keys.receiver);
    }

    /// The connection's state is lost.
    #[cold]
    pub fn lose(&mut self, cx: &mut Cx<'_>, keys: Keys) {
        self.lost_bytes = Some(self.ahead());
        cx.disarm(keys.sender);
        cx.disarm(keys.receiver);
    }

    /// Whether the connection's state is lost.
    pub fn is_lost(&self) -> bool {
        self.lost_bytes.is_some()
    }

    /// A segment towards `dir` arrived: data or an ACK.
    fn handle_packet(&mut self, now: Instant, dir: Dir, packet: &Packet) {
        if dir == self.dir {
            self.receiver.handle_segment(now, packet);
            let received = self.receiver.rcv_nxt();
            self.sender.supply(received - self.supplied);
            self.supplied = received;
            self.peak_buffer = self.peak_buffer.max(self.held());
        } else {
            self.sender.handle_segment(now, packet);
            self.receiver.take(self.sender.state().una);
        }
    }

    /// A deadline of either endpoint has passed.
    fn handle_deadlines(&mut self, now: Instant) {
        self.receiver.handle_deadline(now);
        self.sender.handle_deadline(now);
    }

    /// Sends the pending segments on both sides and arms the timers.
    fn pump(&mut self, cx: &mut Cx<'_>, keys: Keys, wire: Wire) {
        let now = cx.now;
        while let Some(transmit) = self.sender.poll_transmit(now) {
            let mut packet = self.packet(cx);
            self.sender.write(now, &transmit, &mut packet);
            packet.sent_at = now;
            wire.emit(cx, self.dir, packet);
        }
        while let Some(cause) = self.receiver.poll_transmit(now) {
            let mut packet = self.packet(cx);
            self.receiver.write(now, cause, &mut packet);
            wire.emit(cx, self.dir.reverse(), packet);
        }
        arm(cx, keys.sender, self.sender.deadline());
        arm(cx, keys.receiver, self.receiver.deadline());
        self.peak_ahead = self.peak_ahead.max(self.ahead());
    }

    fn packet(&self, cx: &mut Cx<'_>) -> Box<Packet> {
        let mut packet = cx.packet();
        packet.ue = self.ue;
        packet.flow = self.flow;
        cx.tell_made(&packet, 0);
        packet
    }

    /// Bytes in the buffer, including out-of-order ones.
    pub fn held(&self) -> u64 {
        self.receiver.rcv_nxt() + self.receiver.out_of_order_bytes() - self.sender.state().una
    }

    /// Bytes acknowledged to their sender that their receiver has not acknowledged.
    fn ahead(&self) -> u64 {
        self.receiver.acknowledged().saturating_sub(self.sender.state().una)
    }

    /// The counters.
    pub fn report(&self) -> serde_json::Value {
        let counters = self.sender.counters();
        json!({
            "ue": self.ue,
            "flow": self.flow,
            "direction": self.dir.name(),
            "buffer_bytes": { "peak": self.peak_buffer, "at_end": self.held() },
            "acked_ahead_bytes": { "peak": self.peak_ahead, "at_end": self.ahead() },
            "moves": { "number": self.moves, "bytes": self.moved_bytes },
            "lost_bytes": self.lost_bytes,
            "segments_sent": counters.segments_sent,
            "retransmissions": counters.retransmissions(),
            "fast_retransmits": counters.fast_retransmits,
            "timeouts": counters.timeouts,
            "loss_episodes": self.sender.state().losses.report(),
            "window_probes": counters.window_probes,
            "receiver": self.receiver.counters(),
        })
    }
}
