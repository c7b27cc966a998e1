//! Packets of a network namespace that exists already: nftables hands them to a queue, and raw sockets put them back.
//!
//! Two chains, in tables owned by one netlink socket, pass every packet that arrives at a device or leaves by one
//! to a queue of nfnetlink. A packet read from a queue is dropped there at once, so no socket accounts for it. When
//! it leaves the path, a raw socket sends it with a mark: uplink packets are routed again, downlink packets reach
//! the namespace's own address over its loopback device. Marked packets and the loopback device are not queued.
//!
//! The kernel removes the tables (`NFT_TABLE_F_OWNER`) and the queues when their sockets close, whatever ends the process,
//! and the rules let packets pass while no queue is there. No device, address, route or parameter of the namespace is
//! touched.
//!
//! Left out: neighbour discovery, multicast, broadcast and link-local packets, which pass as ever; and ARP, which is not IP.

use super::obstacle::Obstacle;
use airpath_core::packet::Dir;
use netlink_sys::Socket;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, SockaddrIn6, recv, sendto,
    setsockopt, socket, sockopt,
};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Mark of packets that the raw sockets send.
const MARK: u32 = 0x6169_7270;
/// netlink(7).
const NETLINK_NETFILTER: isize = 12;
/// Bytes of packets that wait to be read.
const RECEIVE_BUFFER: usize = 16 << 20;
/// Packets that wait in the kernel.
const QUEUE_PACKETS: u32 = 16_384;

const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;
const NLMSG_ERROR: u16 = 2;
const HEADER: usize = 16;
/// A netlink header, and that of nfnetlink: family, version, resource.
const NFGEN: usize = 4;

const SUBSYSTEM_QUEUE: u16 = 3 << 8;
const SUBSYSTEM_TABLES: u16 = 10 << 8;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const NEW_TABLE: u16 = SUBSYSTEM_TABLES;
const NEW_CHAIN: u16 = SUBSYSTEM_TABLES | 3;
const NEW_RULE: u16 = SUBSYSTEM_TABLES | 6;
const TABLE_F_OWNER: u32 = 2;
const QUEUE_PACKET: u16 = SUBSYSTEM_QUEUE;
const QUEUE_VERDICT: u16 = SUBSYSTEM_QUEUE | 1;
const QUEUE_CONFIG: u16 = SUBSYSTEM_QUEUE | 2;
const NF_DROP: u32 = 0;
const NF_ACCEPT: u32 = 1;
/// linux/netfilter_ipv4.h: before connection tracking, and behind address translation.
const PREROUTING: (u32, i32) = (0, -450);
const POSTROUTING: (u32, i32) = (4, 300);
const NFPROTO_IPV4: u8 = 2;
const NFPROTO_IPV6: u8 = 10;
const META_MARK: u32 = 3;
const META_IIF: u32 = 4;
const META_OIF: u32 = 5;
const CMP_NEQ: u32 = 1;
/// Index of the loopback device in every namespace.
const LOOPBACK: u32 = 1;

/// The hooks of the present namespace, while it lives.
pub struct Hooks {
    /// The tables go with it.
    _tables: Socket,
    queue: Socket,
    raw: [OwnedFd; 2],
    buffer: Vec<u8>,
    /// Read and not taken.
    read: VecDeque<(Dir, Vec<u8>)>,
    /// Packets that the kernel dropped as they were not read in time, at least.
    pub lost: u64,
}

impl Hooks {
    /// Sets them in the present network namespace.
    pub fn set() -> Result<Self, Obstacle> {
        let failed = |what: &'static str| {
            move |error: io::Error| {
                let hint = "needs root, and a kernel with nf_tables and nfnetlink_queue (modprobe nft_queue)";
                Obstacle::refused("--attach", what, error, hint)
            }
        };
        let raw = raw_sockets().map_err(failed("there can be no raw sockets"))?;
        let queue = queues().map_err(failed("there can be no queue of packets"))?;
        let tables = tables(Expression::Queue)
            .or_else(|_| tables(Expression::Target))
            .map_err(failed("there can be no rules"))?;
        Ok(Self { _tables: tables, queue, raw, buffer: vec![0; 1 << 17], read: VecDeque::new(), lost: 0 })
    }

    /// Readable when packets wait.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    /// The next packet, and the direction in which it goes.
    pub fn receive(&mut self, bytes: &mut Vec<u8>) -> Option<Dir> {
        if self.read.is_empty() {
            self.fill();
        }
        let (dir, packet) = self.read.pop_front()?;
        *bytes = packet;
        Some(dir)
    }

    fn fill(&mut self) {
        let length = match recv(self.queue.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => length,
            Err(Errno::ENOBUFS) => {
                self.lost += 1;
                return;
            }
            Err(_) => return,
        };
        let buffer = std::mem::take(&mut self.buffer);
        let mut verdicts = Vec::new();
        for (kind, body) in messages(&buffer[..length]) {
            if kind == QUEUE_PACKET
                && let Some(packet) = Queued::parse(body)
            {
                let passes = is_local(packet.bytes);
                verdict(&mut verdicts, &packet, if passes { NF_ACCEPT } else { NF_DROP });
                if !passes {
                    self.read.push_back((packet.dir, packet.bytes.to_vec()));
                }
            }
        }
        self.buffer = buffer;
        if !verdicts.is_empty() {
            let _ = self.queue.send(&verdicts, 0);
        }
    }

    /// Sends a packet that has left the path; returns whether the kernel took it.
    pub fn send(&self, packet: &[u8]) -> bool {
        let [v4, v6] = &self.raw;
        let sent = match packet.first().map(|first| first >> 4) {
            Some(4) if packet.len() >= 20 => {
                let to = Ipv4Addr::from(<[u8; 4]>::try_from(&packet[16..20]).unwrap_or_default());
                sendto(
                    v4.as_raw_fd(),
                    packet,
                    &SockaddrIn::from(SocketAddrV4::new(to, 0)),
                    MsgFlags::MSG_DONTWAIT,
                )
            }
            Some(6) if packet.len() >= 40 => {
                let to = Ipv6Addr::from(<[u8; 16]>::try_from(&packet[24..40]).unwrap_or_default());
                let to = SockaddrIn6::from(SocketAddrV6::new(to, 0, 0, 0));
                sendto(v6.as_raw_fd(), packet, &to, MsgFlags::MSG_DONTWAIT)
            }
            _ => return false,
        };
        sent.is_ok()
    }
}

/// A packet in a queue.
struct Queued<'a> {
    id: [u8; 4],
    dir: Dir,
    bytes: &'a [u8],
}

impl<'a> Queued<'a> {
    fn parse(body: &'a [u8]) -> Option<Self> {
        const PACKET_HEADER: u16 = 1;
        const PAYLOAD: u16 = 10;
        let dir =
            if body.get(2..4)? == number_of(Dir::Uplink).to_be_bytes() { Dir::Uplink } else { Dir::Downlink };
        let find =
            |wanted| attributes(&body[NFGEN..]).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
        let id = find(PACKET_HEADER)?.get(..4)?.try_into().ok()?;
        Some(Self { id, dir, bytes: find(PAYLOAD)? })
    }
}

const fn number_of(dir: Dir) -> u16 {
    match dir {
        Dir::Downlink => 0,
        Dir::Uplink => 1,
    }
}

/// Whether a packet concerns its own link alone, which has no bearer.
fn is_local(packet: &[u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let to = Ipv4Addr::from(<[u8; 4]>::try_from(&packet[16..20]).unwrap_or_default());
            to.is_multicast() || to.is_broadcast() || to.is_link_local()
        }
        Some(6) if packet.len() >= 40 => {
            let address =
                |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap_or_default());
            let (from, to) = (address(8), address(24));
            // Neighbour discovery (RFC 4861) may have any addresses.
            let is_discovery =
                packet[6] == 58 && packet.get(40).is_some_and(|kind| (133..=137).contains(kind));
            is_discovery || to.is_multicast() || to.is_unicast_link_local() || from.is_unicast_link_local()
        }
        _ => true,
    }
}

fn verdict(message: &mut Vec<u8>, packet: &Queued<'_>, verdict: u32) {
    let mut value = verdict.to_be_bytes().to_vec();
    value.extend_from_slice(&packet.id);
    write(message, QUEUE_VERDICT, 0, (0, number_of(packet.dir)), |body| attribute(body, 2, &value));
}

fn raw_sockets() -> io::Result<[OwnedFd; 2]> {
    let open = |family| {
        let raw = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Raw)?;
        setsockopt(&raw, sockopt::Mark, &MARK)?;
        Ok::<_, Errno>(raw)
    };
    Ok([open(AddressFamily::Inet)?, open(AddressFamily::Inet6)?])
}

/// A socket with both queues.
fn queues() -> io::Result<Socket> {
    let socket = super::netlink::open(NETLINK_NETFILTER)?;
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER);
    for dir in Dir::BOTH {
        let config = |kind: u16, value: &[u8]| {
            let mut message = Vec::new();
            let resource = (0, number_of(dir));
            write(&mut message, QUEUE_CONFIG, NLM_F_ACK, resource, |body| attribute(body, kind, value));
            socket.send(&message, 0)?;
            acknowledged(&socket)
        };
        // Bind; copy whole packets; room.
        config(1, &[1, 0, 0, 0])?;
        config(2, &[0, 0, 0xff, 0xff, 2])?;
        config(3, &QUEUE_PACKETS.to_be_bytes())?;
    }
    Ok(socket)
}

/// How a rule hands a packet to a queue: by nftables' own expression, or by that of iptables where a kernel lacks it.
#[derive(Clone, Copy)]
enum Expression {
    Queue,
    Target,
}

impl Expression {
    fn write(self, list: &mut Vec<u8>, queue: u16) {
        match self {
            Self::Queue => expression(list, "queue", |data| {
                attribute(data, 1, &queue.to_be_bytes());
                attribute(data, 2, &1_u16.to_be_bytes());
                // Without a reader of the queue, packets pass.
                attribute(data, 3, &1_u16.to_be_bytes());
            }),
            Self::Target => expression(list, "target", |data| {
                attribute(data, 1, b"NFQUEUE\0");
                attribute(data, 2, &3_u32.to_be_bytes());
                // struct xt_NFQ_info_v3, padded: number, count, bypass.
                let words = [queue, 1, 1, 0];
                let info: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                attribute(data, 3, &info);
            }),
        }
    }
}

/// A socket that owns the tables of both families.
fn tables(queue: Expression) -> io::Result<Socket> {
    let socket = super::netlink::open(NETLINK_NETFILTER)?;
    let name = format!("airpath-{}\0", std::process::id());
    let name = name.as_bytes();
    let mut batch = Vec::new();
    write(&mut batch, BATCH_BEGIN, 0, (0, SUBSYSTEM_TABLES >> 8), |_| {});
    for family in [NFPROTO_IPV4, NFPROTO_IPV6] {
        write(&mut batch, NEW_TABLE, NLM_F_CREATE | NLM_F_ACK, (family, 0), |body| {
            attribute(body, 1, name);
            attribute(body, 2, &TABLE_F_OWNER.to_be_bytes());
        });
        for (dir, chain, (hook, priority), device) in [
            (Dir::Downlink, "downlink\0", PREROUTING, META_IIF),
            (Dir::Uplink, "uplink\0", POSTROUTING, META_OIF),
        ] {
            write(&mut batch, NEW_CHAIN, NLM_F_CREATE | NLM_F_ACK, (family, 0), |body| {
                attribute(body, 1, name);
                attribute(body, 3, chain.as_bytes());
                nested(body, 4, |hooks| {
                    attribute(hooks, 1, &hook.to_be_bytes());
                    attribute(hooks, 2, &priority.to_be_bytes());
                });
                attribute(body, 7, b"filter\0");
            });
            write(&mut batch, NEW_RULE, NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK, (family, 0), |body| {
                attribute(body, 1, name);
                attribute(body, 2, chain.as_bytes());
                nested(body, 4, |list| {
                    differs(list, device, LOOPBACK);
                    differs(list, META_MARK, MARK);
                    queue.write(list, number_of(dir));
                });
            });
        }
    }
    write(&mut batch, BATCH_END, 0, (0, SUBSYSTEM_TABLES >> 8), |_| {});
    socket.send(&batch, 0)?;
    // Two tables, each with two chains and two rules.
    (0..10).try_for_each(|_| acknowledged(&socket))?;
    Ok(socket)
}

/// Continues the rule if this field of a packet is not `value`.
fn differs(list: &mut Vec<u8>, datum: u32, value: u32) {
    const REGISTER: u32 = 1;
    expression(list, "meta", |data| {
        attribute(data, 1, &REGISTER.to_be_bytes());
        attribute(data, 2, &datum.to_be_bytes());
    });
    expression(list, "cmp", |data| {
        attribute(data, 1, &REGISTER.to_be_bytes());
        attribute(data, 2, &CMP_NEQ.to_be_bytes());
        nested(data, 3, |inner| attribute(inner, 1, &value.to_ne_bytes()));
    });
}

fn expression(list: &mut Vec<u8>, name: &str, data: impl FnOnce(&mut Vec<u8>)) {
    nested(list, 1, |element| {
        attribute(element, 1, format!("{name}\0").as_bytes());
        nested(element, 2, data);
    });
}

/// Adds a message of a family and a resource.
fn write(
    batch: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    (family, resource): (u8, u16),
    fill: impl FnOnce(&mut Vec<u8>),
) {
    let start = batch.len();
    batch.extend_from_slice(&[0; HEADER]);
    batch.extend_from_slice(&[family, 0]);
    batch.extend_from_slice(&resource.to_be_bytes());
    fill(batch);
    let length = (batch.len() - start) as u32;
    let header = &mut batch[start..start + 8];
    header[..4].copy_from_slice(&length.to_ne_bytes());
    header[4..6].copy_from_slice(&kind.to_ne_bytes());
    header[6..8].copy_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
}

fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn nested(body: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    const NESTED: u16 = 1 << 15;
    let mut inner = Vec::new();
    fill(&mut inner);
    attribute(body, kind | NESTED, &inner);
}

/// Types and bodies of messages.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        let body = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & 0x3fff, value))
    })
}

/// Takes an acknowledgment, or the error in its place.
fn acknowledged(socket: &Socket) -> io::Result<()> {
    let mut answer = vec![0; 1 << 13];
    let length = socket.recv(&mut &mut answer[..], 0)?;
    let code = |body: &[u8]| Some(i32::from_ne_bytes(body.get(..4)?.try_into().ok()?));
    let mut codes =
        messages(&answer[..length]).filter(|(kind, _)| *kind == NLMSG_ERROR).map(|(_, body)| code(body));
    match codes.next().flatten() {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "netlink: no acknowledgment")),
    }
}
