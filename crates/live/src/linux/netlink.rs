//! Netlink: sockets, an interface and its routes in the present namespace.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::net::if_::if_nametoindex;
use std::io;
use std::net::IpAddr;

/// A socket that talks to the kernel of the present namespace.
pub fn open(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

pub fn bring_up(interface: &str) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    set_link(interface, message)
}

/// Sets how many packets wait at an interface. (The ioctl for it is root's alone, also in a user
/// namespace; this is not.)
pub fn set_queue_length(interface: &str, packets: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::TxQueueLen(packets));
    set_link(interface, message)
}

fn set_link(interface: &str, mut message: LinkMessage) -> io::Result<()> {
    message.attributes.push(LinkAttribute::IfName(interface.to_owned()));
    ask(&open(NETLINK_ROUTE)?, NLM_F_ACK, RouteNetlinkMessage::SetLink(message)).map(drop)
}

/// Adds an address to an interface, with the route to its neighbours.
pub fn add_address(interface: &str, address: IpAddr, prefix_bits: u8) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    message.header.prefix_len = prefix_bits;
    message.header.index = if_nametoindex(interface)?;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    ask(&open(NETLINK_ROUTE)?, flags, RouteNetlinkMessage::NewAddress(message)).map(drop)
}

/// Has TCP connections to `to` use this congestion control, unless a program chooses another. A route may name one that
/// unprivileged programs may not choose, and that cannot be a namespace's default for that reason.
pub fn set_congestion_control(interface: &str, to: IpAddr, name: &str) -> io::Result<()> {
    let (address, family, bits) = match to {
        IpAddr::V4(address) => (RouteAddress::Inet(address), AddressFamily::Inet, 32),
        IpAddr::V6(address) => (RouteAddress::Inet6(address), AddressFamily::Inet6, 128),
    };
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: family,
        destination_prefix_length: bits,
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope: RouteScope::Link,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    message.attributes = vec![
        RouteAttribute::Destination(address),
        RouteAttribute::Oif(if_nametoindex(interface)?),
        RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(name.to_owned())]),
    ];
    let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    ask(&open(NETLINK_ROUTE)?, flags, RouteNetlinkMessage::NewRoute(message)).map(drop)
}

/// Sends what comes from an address over its interface, to whatever address: a rule, and a routing table for it.
pub fn route_by_source(interface: &str, from: IpAddr, table: u8) -> io::Result<()> {
    let (family, bits) = match from {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    let mut route = RouteMessage::default();
    route.header = RouteHeader {
        address_family: family,
        table,
        protocol: RouteProtocol::Static,
        scope: RouteScope::Link,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    route.attributes = vec![RouteAttribute::Oif(if_nametoindex(interface)?)];
    let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    ask(&open(NETLINK_ROUTE)?, flags, RouteNetlinkMessage::NewRoute(route))?;
    let mut rule = RuleMessage::default();
    rule.header.family = family;
    rule.header.src_len = bits;
    rule.header.table = table;
    rule.header.action = RuleAction::ToTable;
    rule.attributes = vec![RuleAttribute::Source(from)];
    ask(&open(NETLINK_ROUTE)?, NLM_F_ACK | NLM_F_CREATE, RouteNetlinkMessage::NewRule(rule)).map(drop)
}

/// An interface, whatever it is called by now.
pub struct Interface {
    socket: Socket,
    index: u32,
}

impl Interface {
    /// The one that has this name in the present namespace.
    pub fn named(name: &str) -> io::Result<Self> {
        Ok(Self { socket: open(NETLINK_ROUTE)?, index: if_nametoindex(name)? })
    }

    /// Packets that the device dropped, into the kernel and out of it.
    pub fn dropped(&self) -> io::Result<[u64; 2]> {
        let counts =
            attributes_of(&self.socket, self.index)?.into_iter().find_map(|attribute| match attribute {
                LinkAttribute::Stats64(counts) => Some([counts.rx_dropped, counts.tx_dropped]),
                _ => None,
            });
        Ok(counts.unwrap_or_default())
    }
}

/// MTU of an interface of the socket's namespace, by its index.
pub fn mtu(socket: &Socket, index: u32) -> io::Result<usize> {
    let mtu = attributes_of(socket, index)?.into_iter().find_map(|attribute| match attribute {
        LinkAttribute::Mtu(octets) => Some(octets as usize),
        _ => None,
    });
    Ok(mtu.unwrap_or(usize::MAX))
}

fn attributes_of(socket: &Socket, index: u32) -> io::Result<Vec<LinkAttribute>> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    match ask(socket, 0, RouteNetlinkMessage::GetLink(message))? {
        Some(RouteNetlinkMessage::NewLink(link)) => Ok(link.attributes),
        _ => Ok(Vec::new()),
    }
}

/// Sends a request and takes the answer, if it is more than an acknowledgment.
fn ask(socket: &Socket, flags: u16, request: RouteNetlinkMessage) -> io::Result<Option<RouteNetlinkMessage>> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answer = vec![0; 1 << 15];
    let length = socket.recv(&mut &mut answer[..], 0)?;
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, format!("netlink: {error}"));
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length]).map_err(invalid)?;
    match answer.payload {
        // An error of code zero is an acknowledgment.
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        NetlinkPayload::InnerMessage(inner) => Ok(Some(inner)),
        _ => Ok(None),
    }
}
