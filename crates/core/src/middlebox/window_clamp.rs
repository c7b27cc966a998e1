//! Window clamping: the box writes a smaller window into passing ACKs, so a sender keeps no more data in flight than
//! the path holds, regardless of its congestion control and the depth of the buffers.
//!
//! L. Kalampoukas, A. Varma and K. K. Ramakrishnan, "Explicit window adaptation: a method to enhance TCP performance",
//! IEEE/ACM ToN 10 (3), 2002, where a router does so. Left out: they recompute the window from the room in the router's
//! buffer; here it is constant, for each connection.
//!
//! Every segment with ACK is an ACK here, in both directions. The field counts in units that the two SYNs agree on (RFC
//! 7323 (2.2)), so the window written is rounded down to a multiple, at least one unit. The field of a SYN counts
//! octets. Packets of a connection whose SYNs the box has not both seen pass unchanged. With `connections` connections,
//! a new one replaces the least recently used one.

use super::acks::{check_limits, to_evict};
use super::{Around, Component, Plan};
use crate::element::{Cx, Element, Layout, Port};
use crate::error::ScenarioError;
use crate::packet::{Dir, Flags, Packet};
use crate::registry::parameters;
use crate::tcp::Handshake;
use crate::units::Bytes;
use serde_json::json;
use std::collections::BTreeMap;

parameters! {
    /// Writes a smaller window into ACKs: after Kalampoukas et al. 2002.
    pub struct Config {
        /// The largest window advertised to senders: a rate times the desired RTT.
        pub window: Bytes = Bytes::from_bytes(65_535),
        /// Maximum number of connections tracked; a further one replaces the least recently used one.
        pub connections: u32 = 1000,
    }
}

impl Component for Config {
    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        Box::new(WindowClamp { config: self.clone(), ..WindowClamp::default() })
    }

    fn validate(&self, around: &Around<'_>) -> Result<(), ScenarioError> {
        check_limits(&[("connections", self.connections)], "no window could be clamped")?;
        let mss = around.tcp.mss;
        if self.window < mss {
            let hint = "write a rate times the round trip that is wanted, such as \"20 kB\"";
            return Err(ScenarioError::new(
                "window",
                format!("no segment of {mss} fits into {}", self.window),
                hint,
            ));
        }
        if around.tcp.handshake != Handshake::ThreeWay {
            let message = "a connection without SYNs does not say in which units its windows are";
            return Err(ScenarioError::new("window", message, "write tcp.handshake = \"three_way\""));
        }
        Ok(())
    }
}

/// The window scale option in each direction's SYN; `None` before the SYN.
#[derive(Default)]
struct Connection {
    syns: [Option<Option<u8>>; 2],
    /// When it was used last, on the box's own count.
    used: u64,
}

impl Connection {
    /// Window scale of a direction, if it is known.
    fn shift(&self, dir: Dir) -> Option<u8> {
        let (own, other) = (self.syns[dir.index()]?, self.syns[dir.reverse().index()]?);
        Some(own.filter(|_| other.is_some()).unwrap_or(0))
    }
}

#[derive(Default)]
struct WindowClamp {
    config: Config,
    /// Connections by UE and flow.
    connections: BTreeMap<(u16, u16), Connection>,
    uses: u64,
    acks_clamped: u64,
    acks_of_unknown_scale: u64,
    connections_evicted: u64,
}

impl WindowClamp {
    /// State of a packet's connection, which may start with this packet.
    fn connection(&mut self, packet: &Packet) -> Option<&mut Connection> {
        let key = (packet.ue, packet.flow);
        if packet.flags.has(Flags::SYN) && !self.connections.contains_key(&key) {
            if let Some(oldest) = to_evict(&self.connections, self.config.connections, |one| one.used) {
                self.connections.remove(&oldest);
                self.connections_evicted += 1;
            }
            self.connections.insert(key, Connection::default());
        }
        self.uses += 1;
        let connection = self.connections.get_mut(&key)?;
        connection.used = self.uses;
        Some(connection)
    }

    fn clamp(&mut self, dir: Dir, packet: &mut Packet) {
        let is_syn = packet.flags.has(Flags::SYN);
        let connection = self.connection(packet);
        let shift = match connection {
            Some(connection) if is_syn => {
                connection.syns[dir.index()] = Some(packet.options().window_scale_plus_1.checked_sub(1));
                Some(0)
            }
            Some(connection) => connection.shift(dir),
            None => None,
        };
        let Some(shift) = shift else {
            self.acks_of_unknown_scale += 1;
            return;
        };
        let most = (self.config.window.as_u64() >> shift).clamp(1, u16::MAX.into()) as u16;
        if packet.window > most {
            packet.write_ack(packet.ack, most);
            self.acks_clamped += 1;
        }
    }
}

impl Element for WindowClamp {
    fn layout(&self) -> Layout {
        Layout { passes_on: true, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        if packet.is_tcp() && (packet.flags.has(Flags::ACK) || packet.flags.has(Flags::SYN)) {
            self.clamp(dir, &mut packet);
        }
        cx.emit(dir, packet);
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        json!({
            "element": "middlebox.window_clamp",
            "acks_clamped": self.acks_clamped,
            "acks_of_unknown_scale": self.acks_of_unknown_scale,
            "connections_evicted": self.connections_evicted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Path;
    use crate::time::Instant;
    use crate::trace::ProbeMask;

    const CLIENT: Dir = Dir::Uplink;
    const SERVER: Dir = Dir::Downlink;

    fn box_of(window: u64, connections: u32) -> Path {
        let config = Config { window: Bytes::from_bytes(window), connections };
        Path::new(vec![config.build(&Plan::of(1, &[]))], ProbeMask::NONE)
    }

    /// The window with which a segment leaves the box.
    fn told(path: &mut Path, dir: Dir, packet: Packet) -> u16 {
        path.handle_packet(Instant::ZERO, dir, Box::new(packet));
        path.poll_output().unwrap().2.window
    }

    fn syn(flags: Flags, scale: Option<u8>, flow: u16) -> Packet {
        let mut packet = Packet { flags, window: 64_000, flow, ..Packet::default() };
        packet.options_mut().window_scale_plus_1 = scale.map_or(0, |shift| shift + 1);
        packet
    }

    fn ack(window: u16, flow: u16) -> Packet {
        Packet { flags: Flags::ACK, window, flow, ..Packet::default() }
    }

    fn open(path: &mut Path, client: Option<u8>, server: Option<u8>, flow: u16) {
        assert_eq!(told(path, CLIENT, syn(Flags::SYN, client, flow)), 20_000);
        assert_eq!(told(path, SERVER, syn(Flags::SYN | Flags::ACK, server, flow)), 20_000);
    }

    #[test]
    fn a_window_is_clamped_in_the_units_on_which_both_syns_agree() {
        // Scales of client and server; window fields written for 20,000 octets, from the client and from the server.
        let cases = [
            (Some(7), Some(3), 156, 2500),
            (Some(14), Some(0), 1, 20_000),
            (Some(7), None, 20_000, 20_000),
            (None, Some(7), 20_000, 20_000),
        ];
        for (client, server, by_client, by_server) in cases {
            let mut path = box_of(20_000, 10);
            open(&mut path, client, server, 0);
            assert_eq!(told(&mut path, CLIENT, ack(60_000, 0)), by_client, "{client:?} {server:?}");
            assert_eq!(told(&mut path, SERVER, ack(60_000, 0)), by_server, "{client:?} {server:?}");
            assert_eq!(told(&mut path, CLIENT, ack(0, 0)), 0, "a closed window stays closed");
        }
    }

    #[test]
    fn a_connection_whose_syns_the_box_does_not_know_passes_as_it_came() {
        let mut path = box_of(20_000, 1);
        assert_eq!(told(&mut path, CLIENT, ack(60_000, 0)), 60_000);
        open(&mut path, Some(7), Some(7), 0);
        open(&mut path, Some(7), Some(7), 1);
        assert_eq!(told(&mut path, CLIENT, ack(60_000, 1)), 156);
        assert_eq!(told(&mut path, CLIENT, ack(60_000, 0)), 60_000, "it had to go for the other");
        let report = &path.reports()[0];
        assert_eq!(
            (&report["acks_of_unknown_scale"], &report["connections_evicted"]),
            (&json!(2), &json!(1))
        );
    }
}
