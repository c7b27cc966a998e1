//! The result. The names of the fields are those of the JSON, with their units.

mod flow;

use std::net::IpAddr;

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::connection::Connection;
use crate::flow::Flow;
use crate::gtp::IN_TUNNEL;
use crate::phases::{Life, Phases, Told, seconds_from};
use crate::segment::{Endpoint, Offer};
use crate::view::{Side, View, Viewpoint};
use flow::of_flow;
pub use flow::{FlowReport, PathReport};

/// Sums over connections that are not reported individually.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Others {
    pub connections: u64,
    pub packets: u64,
    pub payload_bytes: u64,
    /// Smallest data and shortest time among the connections that are reported for them.
    #[serde(skip)]
    pub(crate) least_kept: (u64, f64),
}

impl Others {
    pub(crate) fn add(&mut self, packets: u64, payload_bytes: u64) {
        self.connections += 1;
        self.packets += packets;
        self.payload_bytes = self.payload_bytes.saturating_add(payload_bytes);
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Index in the order of first packets, from 1.
    pub number: u64,
    /// The end that opened the connection, or sent the first packet if that is not known.
    pub client: String,
    pub server: String,
    /// The host that the client requested by TLS or HTTP/1.1; `None` if that was not captured.
    pub name: Option<String>,
    /// Time from the capture's first packet to its own first, seconds.
    pub start_s: f64,
    /// Time from its first packet to its last, seconds.
    pub duration_s: f64,
    /// Packets of both ends, at all interfaces.
    pub packets: u64,
    /// Copies of packets that were recorded more than once; they count nowhere else.
    pub copies: u64,
    /// Segments before the SYN-ACK that belong to no connection, or to an old one.
    pub strays: u64,
    /// Tunnels of GTP-U that carried packets of the connection.
    pub tunnels: Vec<TunnelReport>,
    pub payload_bytes: u64,
    /// Whether the handshake was captured: `whole`, `part` or `none`.
    pub opening: &'static str,
    /// `fin` of both ends, `half_closed`, `rst` or `open` at the end of the capture.
    pub closing: &'static str,
    /// Time from SYN to the end of the handshake, ms.
    pub handshake_rtt_ms: Option<f64>,
    pub syn_retransmissions: u64,
    /// Options of the client's SYN; `None` if it was not captured.
    pub client_offers: Option<Offer>,
    pub server_offers: Option<Offer>,
    /// Keep-alives sent by each end, also by an end that sends no data.
    pub client_keepalives: u64,
    pub server_keepalives: u64,
    /// Interfaces that captured it, in the order of the path from client to server.
    pub views: Vec<ViewReport>,
    /// Phases from its first packet to its last.
    pub phases: Phases,
    /// Directions with data, the client's first.
    pub flows: Vec<FlowReport>,
    pub not_known: Vec<String>,
}

/// A tunnel of GTP-U that carried a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TunnelReport {
    /// `client` or `server`.
    pub sender: &'static str,
    /// The node that receives packets of this end.
    pub to: String,
    pub teid: u32,
}

/// An interface of the capture.
#[derive(Clone, Debug, Serialize)]
pub struct Interface {
    /// Its name, where the file has one.
    #[serde(rename = "interface")]
    pub name: Option<String>,
    /// Index from 0.
    #[serde(rename = "interface_number")]
    pub number: u32,
    /// Whether packets were inside tunnels of GTP-U there.
    pub in_tunnel: bool,
}

impl Interface {
    /// Makes an interface from its number and the bit that marks it as inside tunnels.
    pub(crate) fn of(number: u32) -> Self {
        Self { name: None, number: number & !IN_TUNNEL, in_tunnel: number & IN_TUNNEL != 0 }
    }
}

/// A connection at one interface.
#[derive(Clone, Debug, Serialize)]
pub struct ViewReport {
    #[serde(flatten)]
    pub interface: Interface,
    /// Time from the capture's first packet to the connection's first here, seconds.
    pub start_s: f64,
    /// Packets of both ends.
    pub packets: u64,
}

pub(crate) fn text((address, port): Endpoint) -> String {
    match address {
        IpAddr::V4(address) => format!("{address}:{port}"),
        IpAddr::V6(address) => format!("[{address}]:{port}"),
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn interface(view: &View) -> Interface {
    Interface::of(view.interface)
}

impl ConnectionReport {
    /// Moves the origin of all times `seconds` back.
    pub(crate) fn shift(&mut self, seconds: f64) {
        self.start_s += seconds;
        self.views.iter_mut().for_each(|view| view.start_s += seconds);
    }

    /// Names the interfaces, from their numbers.
    pub(crate) fn name_interfaces(&mut self, name: impl Fn(u32) -> Option<String>) {
        let of_views = self.views.iter_mut().map(|view| &mut view.interface);
        let of_flows = self.flows.iter_mut().flat_map(|flow| {
            std::iter::once(&mut flow.interface).chain(flow.at_receiver.as_mut().map(|it| &mut it.interface))
        });
        for interface in of_views.chain(of_flows) {
            interface.name = name(interface.number);
        }
    }
}

/// Reports a connection of a capture that began at `start`.
pub(crate) fn of_connection(connection: &Connection, start: Instant) -> ConnectionReport {
    let client: Side = connection.opener().unwrap_or(0);
    let order = connection.along(client);
    let first_at = connection.first_at();
    // Both SYNs are the same at every interface that captured them.
    let whole = connection.views.iter().find(|view| view.offers.iter().all(Option::is_some));
    let ends = whole.unwrap_or(&connection.views[0]);
    let (to_peer, to_opener) = ends.handshake;
    let observed: Vec<_> =
        [client, 1 - client].into_iter().filter_map(|side| observe(connection, side)).collect();
    let name = |seen: &Observed| if seen.side == client { "client" } else { "server" };
    let spent: Vec<_> = observed.iter().map(|seen| of_near(connection, seen).spending()).collect();
    let told = observed.iter().zip(&spent).map(|(seen, spending)| {
        let flow = of_near(connection, seen);
        Told {
            sender: name(seen),
            bytes: flow.bytes_acked().max(flow.bytes_known()),
            spending: spending.as_ref(),
        }
    });
    let life = Life {
        first_at,
        latest_at: connection.latest_at(),
        has_syn: connection.opener().is_some(),
        established_at: connection.views.iter().filter_map(|view| view.established_at).min(),
    };
    ConnectionReport {
        number: connection.number,
        client: text(connection.end(client)),
        server: text(connection.end(1 - client)),
        name: connection.name.clone(),
        start_s: seconds_from(start, first_at),
        duration_s: connection.latest_at().since(first_at).as_secs_f64(),
        packets: connection.packets(),
        copies: connection.copied(),
        strays: connection.views.iter().map(|view| view.strays).sum(),
        tunnels: [client, 1 - client]
            .into_iter()
            .flat_map(|side| connection.tunnels[side].iter().map(move |tunnel| (side, tunnel)))
            .map(|(side, tunnel)| TunnelReport {
                sender: if side == client { "client" } else { "server" },
                to: tunnel.to.to_string(),
                teid: tunnel.teid,
            })
            .collect(),
        payload_bytes: connection.payload(),
        opening: match ends.offers {
            [Some(_), Some(_)] => "whole",
            [None, None] => "none",
            _ => "part",
        },
        closing: match (ends.fin, ends.rst) {
            (_, rst) if rst != [false; 2] => "rst",
            ([true, true], _) => "fin",
            ([false, false], _) => "open",
            _ => "half_closed",
        },
        handshake_rtt_ms: to_peer.zip(to_opener).map(|(one, other)| ms(one + other)),
        syn_retransmissions: connection.views.iter().map(|view| view.syns_again).max().unwrap_or(0),
        client_offers: ends.offers[client],
        server_offers: ends.offers[1 - client],
        client_keepalives: keepalives(connection, client),
        server_keepalives: keepalives(connection, 1 - client),
        views: order
            .iter()
            .map(|at| &connection.views[*at])
            .map(|view| ViewReport {
                interface: interface(view),
                start_s: seconds_from(start, view.first_at),
                packets: view.packets.iter().sum(),
            })
            .collect(),
        phases: Phases::of(life, &told.collect::<Vec<_>>()),
        flows: observed
            .iter()
            .zip(&spent)
            .map(|(seen, spending)| of_flow(connection, seen, name(seen), spending.as_ref()))
            .collect(),
        not_known: not_known(connection, ends, &observed),
    }
}

/// The views of one direction of data.
struct Observed {
    side: Side,
    /// Indices of the views nearest to sender and receiver among the connection's.
    near: usize,
    far: Option<usize>,
}

/// Finds the views that captured data of one side; `None` without any.
fn observe(connection: &Connection, side: Side) -> Option<Observed> {
    let flow = |at: usize| &connection.views[at].flows[side];
    let along = connection.along(side);
    let seen: Vec<_> = along
        .into_iter()
        .filter(|&at| flow(at).counters.segments > 0 || flow(at).bytes_known() > 1)
        .collect();
    let near = *seen.iter().find(|&&at| flow(at).counters.segments > 0).or(seen.first())?;
    let far = seen.last().copied().filter(|&far| far != near && flow(far).counters.segments > 0);
    Some(Observed { side, near, far })
}

/// The flow in the view nearest to its sender.
fn of_near<'a>(connection: &'a Connection, seen: &Observed) -> &'a Flow {
    &connection.views[seen.near].flows[seen.side]
}

fn keepalives(connection: &Connection, side: Side) -> u64 {
    connection.views.iter().map(|view| view.flows[side].counters.keepalives).max().unwrap_or(0)
}

fn not_known(connection: &Connection, ends: &View, observed: &[Observed]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |line: &str| lines.push(line.to_owned());
    if ends.opener.is_none() {
        say("the capture begins in the middle of the connection: who opened it, and what was agreed on");
    }
    if connection.views.iter().all(|view| view.packets.contains(&0)) {
        say("one direction was not captured: RTTs, and the causes of retransmissions");
    }
    if ends.opener.is_some() && ends.offers.iter().any(Option::is_none) {
        say("not both SYNs were captured: options");
    }
    let sending: Vec<_> = observed
        .iter()
        .map(|seen| (seen.side, &connection.views[seen.near]))
        .filter(|(side, view)| view.flows[*side].counters.segments > 0)
        .collect();
    if sending.iter().any(|(side, view)| view.flows[*side].window_shift.is_none()) {
        say("the window scale: receive windows are not judged");
    }
    for &(side, view) in &sending {
        let flow = &view.flows[side];
        let name = text(connection.end(side));
        match view.viewpoint(side) {
            Viewpoint::Unknown => say(&format!("from where {name} was seen: taken to be its own side")),
            Viewpoint::Receiver | Viewpoint::Between => say(&format!(
                "what {name} had in flight and when it acted: the capture was not taken at its side, and what was \
                 lost before it is known from gaps alone"
            )),
            Viewpoint::Sender => {}
        }
        if flow.counters.unseen_bytes > 0 {
            let bytes = flow.counters.unseen_bytes;
            say(&format!("{bytes} bytes of {name} were acknowledged and are not in the capture"));
        }
        if view.lacks_options > 0 && flow.counters.retransmissions > 0 {
            say(&format!(
                "the causes of retransmissions of {name}: options of {} segments cannot be read, perhaps SACK blocks among them",
                view.lacks_options
            ));
        }
        if flow.forgotten() > 0 {
            say(&format!("what became of {} segments of {name}: too many were in flight", flow.forgotten()));
        }
        let is_exact = observed.iter().any(|seen| seen.side == side && seen.far.is_some());
        let has_evidence = is_exact || flow.rtt.by_timestamps || flow.counters.dsacks > 0;
        if flow.counters.retransmissions > 0 && !has_evidence {
            say(&format!(
                "whether retransmissions of {name} were spurious, except those acknowledged too soon: neither \
                 timestamps nor DSACK"
            ));
        }
    }
    let went_back: u64 = connection.views.iter().map(|view| view.went_back).sum();
    if went_back > 0 {
        say(&format!("the order of {went_back} packets, whose times go back"));
    }
    lines
}
