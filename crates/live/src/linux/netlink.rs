//! Netlink: sockets, and changes to an interface of the present namespace.

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;

/// A socket that talks to the kernel of the present namespace.
pub fn open(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Brings an interface up.
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
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK;
    let mut request =
        NetlinkMessage::new(header, NetlinkPayload::from(RouteNetlinkMessage::SetLink(message)));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    let socket = open(NETLINK_ROUTE)?;
    socket.send(&bytes, 0)?;
    let mut answer = vec![0; 4096];
    let length = socket.recv(&mut &mut answer[..], 0)?;
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, format!("netlink: {error}"));
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length]).map_err(invalid)?;
    match answer.payload {
        // An error of code zero is an acknowledgment.
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}
