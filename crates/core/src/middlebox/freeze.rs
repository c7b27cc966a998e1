//! Freezes TCP senders during an outage: the box advertises a zero window, so the sender enters persist state instead
//! of timing out. When the window reopens it resumes with its congestion window unchanged.
//!
//! * `at = "network"`, after M-TCP (K. Brown and S. Singh, "M-TCP: TCP for mobile cellular networks", ACM CCR 27(5),
//!   1997): the box is located at the RNC. It **withholds** the last octet of the UE's acknowledgments, so that at the
//!   start of an outage it can send an ACK that advertises a zero window. ACKs still arriving from the radio advertise
//!   it too, as does the reply to each probe of the sender (one octet, or data sent before), which is not forwarded.
//!   After the outage the true window is advertised again.
//! * `at = "ue"`, after Freeze-TCP (T. Goff, J. Moronski, D. S. Phatak and V. Gupta, "Freeze-TCP: a true end-to-end TCP
//!   enhancement mechanism for mobile environments", INFOCOM 2000): the UE foresees the outage, by the hand-over's
//!   `warning`, which should be a round-trip time. From then on its ACKs say that the window is zero, the first at
//!   once. After the outage it sends its last ACK three times with the true window. It cannot announce an outage that
//!   comes without warning, but the three ACKs follow anyway.
//!
//! DEVIATION: if the three ACKs of Freeze-TCP open a closed window, they advertise windows that differ by a unit, the
//! last one the true window. Otherwise two of them would be duplicates of the first, and the reply to a probe in flight
//! a third: a spurious fast retransmit, which halves the window that was to be kept. Without a warning they are as in
//! the paper, and cause the fast retransmit of the segments that the outage has destroyed.
//!
//! The box freezes downlink senders, whose ACKs travel uplink. DEVIATION: M-TCP splits the connection at a supervisor
//! host, and both schemes detect an outage by themselves, from missing ACKs or signal strengths; here the cell says
//! when it begins (at the network `notice` later), and connections stay whole.
//!
//! The withheld octet is that of the newest ACK, for `hold` at most: then the ACK is sent unchanged. Withholding makes
//! ACKs look as if each segment arrived in two parts, the last octet with the next segment: measured RTTs increase by
//! the time between two ACKs. Repeated ACKs stay repeated, and no acknowledgment is ever taken back.
//!
//! The box changes a window and an acknowledgment number and nothing else. The ACKs that it makes are copies of the
//! UE's last pure ACK, with the newest numbers: real packets too, except where SACK blocks of an old ACK would come
//! with a new number. FIN ends the withholding; SYN, RST and the ACK of the server's FIN end the connection. With
//! `connections` connections, a new one replaces the least recently used one, whose withheld octet is acknowledged.
//!
//! The sender's response to a window that closes over data in flight is set by `tcp.shrunk_window`.
//!
//! Left out: uplink data, whose sender is in the UE and learns of outages from its modem.

mod connection;

use super::acks::{Deadlines, Place, Segment, check_limits, to_evict};
use super::{Around, Component, Plan};
use crate::element::{Cx, Element, Layout, Outage, Port, with_counters};
use crate::error::ScenarioError;
use crate::packet::{Dir, Flags, Packet};
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use connection::{Connection, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Freezes senders for as long as a UE is out of reach: M-TCP, Freeze-TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Location of the box: in the network as in M-TCP, or at the UE as in Freeze-TCP.
    pub at: Place,
    /// In the network: whether the ACK of the last octet is withheld.
    pub withhold: bool,
    /// In the network: how long an octet's ACK is withheld if no newer one comes.
    pub hold: Duration,
    /// In the network: delay from the start of an outage until the box detects it.
    pub notice: Duration,
    /// At the UE: number of copies of the last ACK sent after an outage.
    pub copies: u32,
    /// Maximum number of connections tracked; a further one replaces the least recently used one.
    pub connections: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            at: Place::Network,
            withhold: true,
            hold: Duration::from_millis(200),
            notice: Duration::ZERO,
            copies: 3,
            connections: 1000,
        }
    }
}

/// Timers of the box.
const RELEASE: u32 = 0;
const NOTICE: u32 = 1;

impl Component for Config {
    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        Box::new(Freeze { config: self.clone(), ..Freeze::default() })
    }

    fn place(&self) -> Place {
        self.at
    }

    fn validate(&self, _around: &Around<'_>) -> Result<(), ScenarioError> {
        let error = |key: &str, message: &str, hint: &str| Err(ScenarioError::new(key, message, hint));
        check_limits(&[("connections", self.connections)], "the box could freeze nothing")?;
        if self.copies > 100 {
            return error("copies", "no loss is so long", "write 3, or at most 100");
        }
        if self.copies == 0 {
            let message = "a frozen sender would never learn the true window";
            return error("copies", message, "write 3, or at least 1");
        }
        if self.withhold && self.hold.is_zero() {
            let hint = "write a time such as \"200 ms\", or withhold = false";
            return error("hold", "an ACK withheld for no time", hint);
        }
        Ok(())
    }
}

/// Counters, as reported.
#[derive(Default, Serialize)]
struct Counters {
    freezes: u64,
    zero_window_acks_made: u64,
    windows_closed: u64,
    probes_answered: u64,
    opening_acks_made: u64,
    acks_withheld: u64,
    withheld_given: u64,
    peak_connections: usize,
    connections_evicted: u64,
}

/// UE and flow.
type Key = (u16, u16);

#[derive(Default)]
struct Freeze {
    config: Config,
    connections: BTreeMap<Key, Connection>,
    /// When the withheld ACK is released.
    releases: Deadlines<Key>,
    /// UEs whose outage has begun and is not known yet, in order of time.
    unnoticed: VecDeque<(Instant, u16)>,
    /// UEs whose senders are sent a closed window.
    closed: BTreeSet<u16>,
    /// Use counter of connections; later uses have larger values.
    uses: u64,
    counters: Counters,
}

impl Freeze {
    fn withholds(&self) -> bool {
        self.config.withhold && self.config.at == Place::Network
    }

    /// Connections of a UE with data on the way to it.
    fn of_ue(&self, ue: u16) -> Vec<Key> {
        let mine = self.connections.range((ue, 0)..=(ue, u16::MAX));
        mine.filter(|(_, connection)| connection.has_data()).map(|(key, _)| *key).collect()
    }

    /// Sends a copy of the connection's last ACK with this window. Whether there was one to copy.
    fn send(&mut self, cx: &mut Cx<'_>, key: Key, window: Window) -> bool {
        let Some(connection) = self.connections.get_mut(&key) else { return false };
        let before = connection.release_at;
        let mut packet = cx.packet();
        let is_made = connection.make_ack(&mut packet, window);
        if is_made {
            self.releases.change(cx, key, before, None);
            cx.number(&mut packet);
            cx.emit(Dir::Uplink, packet);
        } else {
            cx.free(packet);
        }
        is_made
    }

    /// Starts advertising a closed window to senders to this UE.
    fn close(&mut self, cx: &mut Cx<'_>, ue: u16) {
        self.closed.insert(ue);
        for key in self.of_ue(ue) {
            if self.send(cx, key, Window::Closed) {
                self.counters.zero_window_acks_made += 1;
                self.freeze(key);
            }
        }
    }

    fn freeze(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(&key).filter(|connection| !connection.is_frozen) {
            connection.is_frozen = true;
            self.counters.freezes += 1;
        }
    }

    /// The UE can be reached again.
    fn open(&mut self, cx: &mut Cx<'_>, ue: u16) {
        let was_closed = self.closed.remove(&ue);
        self.unnoticed.retain(|(_, unnoticed)| *unnoticed != ue);
        let copies = match self.config.at {
            Place::Network => u32::from(was_closed),
            Place::Ue => self.config.copies,
        };
        for key in self.of_ue(ue) {
            let was_frozen = self.connections.get(&key).is_some_and(|connection| connection.is_frozen);
            for left in (0..copies as u16).rev() {
                let window = Window::Narrower(if was_frozen { left } else { 0 });
                self.counters.opening_acks_made += u64::from(self.send(cx, key, window));
            }
            if let Some(connection) = self.connections.get_mut(&key) {
                connection.is_frozen = false;
            }
        }
    }

    /// Sends the withheld acknowledgment: no newer one has arrived for a while, or none will.
    fn give(&mut self, cx: &mut Cx<'_>, key: Key) {
        let withheld = self.connections.get(&key).and_then(|connection| connection.release_at);
        if withheld.is_some() {
            if self.send(cx, key, Window::Narrower(0)) {
                self.counters.withheld_given += 1;
            } else if let Some(connection) = self.connections.get_mut(&key) {
                connection.release_at = None;
                self.releases.change(cx, key, withheld, None);
            }
        }
    }

    fn forget(&mut self, cx: &mut Cx<'_>, key: Key) {
        if let Some(connection) = self.connections.remove(&key) {
            self.releases.change(cx, key, connection.release_at, None);
        }
    }

    /// The connection of a packet, created if there is none.
    fn connection(&mut self, cx: &mut Cx<'_>, key: Key) -> Option<&mut Connection> {
        if !self.connections.contains_key(&key) {
            if let Some(oldest) = to_evict(&self.connections, self.config.connections, |one| one.used) {
                self.give(cx, oldest);
                self.forget(cx, oldest);
                self.counters.connections_evicted += 1;
            }
            self.connections.insert(key, Connection::default());
            self.counters.peak_connections = self.counters.peak_connections.max(self.connections.len());
        }
        self.uses += 1;
        let connection = self.connections.get_mut(&key)?;
        connection.used = self.uses;
        Some(connection)
    }

    /// A segment towards the UE. Returns whether it is a probe that the box has answered.
    fn note_data(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> bool {
        let key = (packet.ue, packet.flow);
        if packet.flags.has(Flags::SYN) || packet.flags.has(Flags::RST) {
            self.forget(cx, key);
        }
        if packet.flags.has(Flags::RST) {
            return false;
        }
        if packet.flags.has(Flags::FIN) {
            self.give(cx, key);
            if let Some(connection) = self.connections.get_mut(&key) {
                connection.is_ending = true;
                connection.fin = Some(packet.seq.wrapping_add(packet.payload + 1));
            }
        }
        let asks = self.config.at == Place::Network && self.closed.contains(&packet.ue);
        if packet.payload == 0 && (!asks || Segment::of(packet) != Segment::PureAck) {
            return false;
        }
        let is_known = self.connections.contains_key(&key);
        if packet.payload == 0 && !is_known {
            return false;
        }
        let Some(connection) = self.connection(cx, key) else { return false };
        let is_answered =
            asks && connection.is_frozen && connection.is_probe(packet) && self.send(cx, key, Window::Closed);
        if is_answered {
            self.counters.probes_answered += 1;
        } else if let Some(watched) = self.connections.get_mut(&key).filter(|_| packet.payload > 0) {
            watched.note_data(packet);
        }
        is_answered
    }

    /// A segment from the UE. Its window may be closed, and the ACK of its last octet withheld.
    fn handle_ack(&mut self, cx: &mut Cx<'_>, packet: &mut Packet) {
        let key = (packet.ue, packet.flow);
        if packet.flags.has(Flags::SYN) || packet.flags.has(Flags::RST) {
            return self.forget(cx, key);
        }
        if !packet.flags.has(Flags::ACK) {
            return;
        }
        let known = self.connections.get(&key);
        if known.is_some_and(|connection| connection.has_ended(packet.ack)) {
            return self.forget(cx, key);
        }
        if known.is_none() && packet.flags.has(Flags::FIN) {
            return;
        }
        let (is_closed, withholds) = (self.closed.contains(&packet.ue), self.withholds());
        let hold = self.config.hold;
        let Some(connection) = self.connection(cx, key) else { return };
        let before = connection.release_at;
        connection.note_ack(packet, Segment::of(packet) == Segment::PureAck);
        connection.is_ending |= packet.flags.has(Flags::FIN);
        if !connection.has_data() {
            return;
        }
        let withheld = match connection.withhold(packet.ack) {
            Some(ack) if withholds && !is_closed && !connection.is_ending => {
                packet.write_ack(ack, packet.window);
                connection.told = ack;
                connection.release_at = Some(cx.now + hold);
                true
            }
            _ => {
                connection.tell(packet.ack);
                false
            }
        };
        let after = connection.release_at;
        self.releases.change(cx, key, before, after);
        self.counters.acks_withheld += u64::from(withheld);
        if is_closed {
            packet.write_ack(packet.ack, 0);
            self.counters.windows_closed += 1;
            self.freeze(key);
        }
    }
}

impl Element for Freeze {
    fn layout(&self) -> Layout {
        Layout { timers: 2, outages: true, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        match dir {
            _ if !packet.is_tcp() => cx.emit(dir, packet),
            Dir::Downlink => {
                if self.note_data(cx, &packet) {
                    cx.drop(dir, packet, Reason::ProbeAnswered);
                } else {
                    cx.emit(dir, packet);
                }
            }
            Dir::Uplink => {
                self.handle_ack(cx, &mut packet);
                cx.emit(dir, packet);
            }
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        if key == RELEASE {
            while let Some(connection) = self.releases.expired(cx.now) {
                self.give(cx, connection);
            }
            return;
        }
        while let Some(&(at, ue)) = self.unnoticed.front() {
            if at > cx.now {
                return cx.arm(NOTICE, at);
            }
            self.unnoticed.pop_front();
            self.close(cx, ue);
        }
    }

    fn handle_outage(&mut self, cx: &mut Cx<'_>, ue: u16, phase: Outage) {
        match (self.config.at, phase) {
            (Place::Network, Outage::Began) if self.config.notice.is_zero() => self.close(cx, ue),
            (Place::Network, Outage::Began) => {
                self.unnoticed.push_back((cx.now + self.config.notice, ue));
                if self.unnoticed.len() == 1 {
                    cx.arm(NOTICE, cx.now + self.config.notice);
                }
            }
            (Place::Ue, Outage::Expected) => self.close(cx, ue),
            (Place::Network, Outage::Expected) | (Place::Ue, Outage::Began) => {}
            (_, Outage::Ended) => self.open(cx, ue),
        }
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        with_counters(json!({ "element": "middlebox.freeze", "at": self.config.at }), &self.counters)
    }
}

#[cfg(test)]
mod tests;
