//! Packets of a network namespace that exists already, or between two of its interfaces: nftables hands them to a queue, and
//! raw sockets put them back.
//!
//! Two chains, in tables owned by one netlink socket, pass every packet that arrives at a device or leaves by one
//! to a queue of nfnetlink. A packet read from a queue is dropped there at once, so no socket accounts for it. When
//! it leaves the path, a raw socket sends it with a mark: uplink packets are routed again, downlink packets reach
//! the namespace's own address over its loopback device. Marked packets and the loopback device are not queued.
//!
//! Between two interfaces (a gateway), only packets from the one for which the routes name the other are queued. They are
//! taken before the kernel would forward them, so it need not be allowed to. Uplink packets get the address of the outer
//! interface when a raw socket sends them. Answers to it have been translated back when they are queued; connection tracking
//! does not see them again.
//!
//! The kernel removes the tables (`NFT_TABLE_F_OWNER`) and the queues when their sockets close, whatever ends the process,
//! and the rules let packets pass while no queue is there. No device, address, route or parameter of the namespace is
//! touched.
//!
//! The kernel would fragment a packet only after it was taken, and a raw socket sends none that is longer than the device's
//! MTU. So what is too long is fragmented here, and the path carries the fragments.
//!
//! Left out: an MTU of a route below that of its device; neighbour discovery, multicast, broadcast and link-local packets, which pass as ever; and ARP, which is not IP.

use super::netlink::mtu;
use super::obstacle::Obstacle;
use crate::fragments::fragments;
use airpath_core::packet::Dir;
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, SockaddrIn6, recv, sendto,
    setsockopt, socket, sockopt,
};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Mark of packets that the raw sockets send.
const MARK: u32 = 0x6169_7270;
/// Mark of those that connection tracking has seen when they came.
const MARK_SEEN: u32 = MARK + 1;
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
/// Behind the translation of answers; before connection tracking; where sources are translated.
const TRANSLATED: (u32, i32) = (0, -90);
const OUTPUT: (u32, i32) = (3, -300);
const TRANSLATION: (u32, i32) = (4, 100);
const NFPROTO_IPV4: u8 = 2;
const NFPROTO_IPV6: u8 = 10;
const META_MARK: u32 = 3;
const META_IIF: u32 = 4;
const META_OIF: u32 = 5;
const CMP_EQ: u32 = 0;
const CMP_NEQ: u32 = 1;
/// Index of the loopback device in every namespace.
const LOOPBACK: u32 = 1;

/// Two interfaces between which packets pass the bearer.
#[derive(Clone, Copy, Debug)]
pub struct Gateway {
    /// Index of the interface at the UE's side.
    inside: u32,
    /// Index of the interface at the world's side.
    outside: u32,
    /// Whether uplink packets get the address of the outer interface.
    translates: bool,
}

impl Gateway {
    /// Between interfaces of the present namespace, by their names.
    pub fn between(names: &[String; 2], translates: bool) -> Result<Self, Obstacle> {
        let index = |name: &String| {
            if_nametoindex(name.as_str()).map_err(|_| {
                let hint = "write the names of two interfaces, as 'ip link' lists them";
                Obstacle::new("--between", format!("there is no interface '{name}'"), hint)
            })
        };
        let [inside, outside] = [index(&names[0])?, index(&names[1])?];
        if inside == outside || [inside, outside].contains(&LOOPBACK) {
            let message = format!("no packet is forwarded from '{}' to '{}'", names[0], names[1]);
            return Err(Obstacle::new("--between", message, "write two interfaces, the one of the UE first"));
        }
        Ok(Self { inside, outside, translates })
    }
}

/// The hooks of the present namespace, while it lives.
pub struct Hooks {
    /// The tables go with it.
    _tables: Socket,
    queue: Socket,
    /// Answers what the MTU of a device is.
    devices: Socket,
    /// By the index of the device.
    mtus: HashMap<u32, usize>,
    /// Identification that fragments of the latest packet have in IPv6.
    identification: u32,
    /// Names the devices that packets leave by; `None` for all packets of the namespace.
    gateway: Option<Gateway>,
    /// By direction and family.
    raw: [[OwnedFd; 2]; 2],
    buffer: Vec<u8>,
    /// Read and not taken.
    read: VecDeque<(Dir, Vec<u8>)>,
    /// Packets that the kernel dropped as they were not read in time, at least.
    pub lost: u64,
}

impl Hooks {
    /// Sets them in the present network namespace: for all its packets, or for those that a gateway passes on.
    pub fn set(gateway: Option<Gateway>) -> Result<Self, Obstacle> {
        let failed = |what: &'static str| {
            move |error: io::Error| {
                let (option, hint) = match gateway {
                    None => (
                        "--attach",
                        "needs root, and a kernel with nf_tables and nfnetlink_queue (modprobe nft_queue)",
                    ),
                    Some(_) => (
                        "--between",
                        "needs root, and a kernel with nf_tables, nfnetlink_queue, nft_fib and nft_masq",
                    ),
                };
                Obstacle::refused(option, what, error, hint)
            }
        };
        let seen = if gateway.is_some() { MARK_SEEN } else { MARK };
        let both = raw_sockets(seen).and_then(|downlink| Ok([downlink, raw_sockets(MARK)?]));
        let raw = both.map_err(failed("there can be no raw sockets"))?;
        let queue = queues().map_err(failed("there can be no queue of packets"))?;
        let tables = tables(gateway, Expression::Queue)
            .or_else(|_| tables(gateway, Expression::Target))
            .map_err(failed("there can be no rules"))?;
        let devices = super::netlink::open(NETLINK_ROUTE).map_err(failed("the MTUs cannot be read"))?;
        Ok(Self {
            _tables: tables,
            queue,
            devices,
            mtus: HashMap::new(),
            identification: 0,
            gateway,
            raw,
            buffer: vec![0; 1 << 17],
            read: VecDeque::new(),
            lost: 0,
        })
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
                    self.take(&packet);
                }
            }
        }
        self.buffer = buffer;
        if !verdicts.is_empty() {
            let _ = self.queue.send(&verdicts, 0);
        }
    }

    /// Takes a packet, in fragments if it is too long for the device that it is to leave by.
    fn take(&mut self, packet: &Queued<'_>) {
        let leaves_by = match (self.gateway, packet.dir) {
            (None, _) => packet.leaves_by,
            (Some(gateway), Dir::Uplink) => Some(gateway.outside),
            (Some(gateway), Dir::Downlink) => Some(gateway.inside),
        };
        let mtu = leaves_by.map_or(usize::MAX, |device| self.mtu(device, packet.bytes.len()));
        self.identification = self.identification.wrapping_add(1);
        let fragments = fragments(packet.bytes, mtu, self.identification);
        self.read.extend(fragments.into_iter().map(|fragment| (packet.dir, fragment)));
    }

    /// MTU of a device; read again for a packet that it was too small for.
    fn mtu(&mut self, device: u32, length: usize) -> usize {
        match self.mtus.get(&device) {
            Some(known) if length <= *known => *known,
            _ => {
                let octets = mtu(&self.devices, device).unwrap_or(usize::MAX);
                self.mtus.insert(device, octets);
                octets
            }
        }
    }

    /// Sends a packet that has left the path; returns whether the kernel took it.
    pub fn send(&self, dir: Dir, packet: &[u8]) -> bool {
        let [v4, v6] = &self.raw[dir.index()];
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
    /// Index of the device that it would leave by, where it is known already.
    leaves_by: Option<u32>,
    bytes: &'a [u8],
}

impl<'a> Queued<'a> {
    fn parse(body: &'a [u8]) -> Option<Self> {
        const PACKET_HEADER: u16 = 1;
        const OUT_DEVICE: u16 = 6;
        const PAYLOAD: u16 = 10;
        let dir =
            if body.get(2..4)? == number_of(Dir::Uplink).to_be_bytes() { Dir::Uplink } else { Dir::Downlink };
        let find =
            |wanted| attributes(&body[NFGEN..]).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
        let id = find(PACKET_HEADER)?.get(..4)?.try_into().ok()?;
        let device = find(OUT_DEVICE).and_then(|index| Some(u32::from_be_bytes(index.try_into().ok()?)));
        Some(Self { id, dir, leaves_by: device, bytes: find(PAYLOAD)? })
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

/// A raw socket of each family, whose packets have this mark.
fn raw_sockets(mark: u32) -> io::Result<[OwnedFd; 2]> {
    let open = |family| {
        let raw = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Raw)?;
        setsockopt(&raw, sockopt::Mark, &mark)?;
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

/// A chain of a table, and its rules.
struct Chain {
    name: &'static str,
    kind: &'static str,
    place: (u32, i32),
    rules: Vec<Vec<u8>>,
}

impl Chain {
    fn new(name: &'static str, kind: &'static str, place: (u32, i32), rules: Vec<Vec<u8>>) -> Self {
        Self { name, kind, place, rules }
    }
}

/// The expressions of a rule.
fn rule(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut list = Vec::new();
    fill(&mut list);
    list
}

/// Chains that queue all packets of a namespace.
fn of_all(queue: Expression) -> Vec<Chain> {
    let each = [
        (Dir::Downlink, "downlink\0", PREROUTING, META_IIF),
        (Dir::Uplink, "uplink\0", POSTROUTING, META_OIF),
    ];
    let chain = |(dir, name, place, device)| {
        let passed = rule(|list| {
            compare(list, device, CMP_NEQ, LOOPBACK);
            compare(list, META_MARK, CMP_NEQ, MARK);
            queue.write(list, number_of(dir));
        });
        Chain::new(name, "filter\0", place, vec![passed])
    };
    each.map(chain).into()
}

/// Chains that queue the packets of a gateway, and translate them.
fn of_gateway(gateway: Gateway, queue: Expression) -> Vec<Chain> {
    let Gateway { inside, outside, translates } = gateway;
    let passed = |from, to, dir| {
        rule(|list| {
            compare(list, META_IIF, CMP_EQ, from);
            is_routed_to(list, to);
            queue.write(list, number_of(dir));
        })
    };
    let both = vec![passed(inside, outside, Dir::Uplink), passed(outside, inside, Dir::Downlink)];
    let mut chains = vec![Chain::new("bearer\0", "filter\0", TRANSLATED, both)];
    if translates {
        let seen = rule(|list| {
            compare(list, META_MARK, CMP_EQ, MARK_SEEN);
            expression(list, "notrack", |_| {});
        });
        let leaves = rule(|list| {
            compare(list, META_OIF, CMP_EQ, outside);
            compare(list, META_MARK, CMP_EQ, MARK);
            expression(list, "masq", |_| {});
        });
        chains.push(Chain::new("seen\0", "filter\0", OUTPUT, vec![seen]));
        chains.push(Chain::new("translation\0", "nat\0", TRANSLATION, vec![leaves]));
    }
    chains
}

/// A socket that owns the tables of both families.
fn tables(gateway: Option<Gateway>, queue: Expression) -> io::Result<Socket> {
    let socket = super::netlink::open(NETLINK_NETFILTER)?;
    let table = format!("airpath-{}\0", std::process::id());
    let mut batch = Vec::new();
    let mut asked = 0;
    let mut ask = |kind: u16, flags: u16, family: u8, fill: &dyn Fn(&mut Vec<u8>)| {
        asked += 1;
        write(&mut batch, kind, flags | NLM_F_CREATE | NLM_F_ACK, (family, 0), |body| {
            attribute(body, 1, table.as_bytes());
            fill(body);
        });
    };
    let chains = gateway.map_or_else(|| of_all(queue), |gateway| of_gateway(gateway, queue));
    for family in [NFPROTO_IPV4, NFPROTO_IPV6] {
        ask(NEW_TABLE, 0, family, &|body| attribute(body, 2, &TABLE_F_OWNER.to_be_bytes()));
        for Chain { name, kind, place: (hook, priority), rules } in &chains {
            ask(NEW_CHAIN, 0, family, &|body| {
                attribute(body, 3, name.as_bytes());
                nested(body, 4, |hooks| {
                    attribute(hooks, 1, &hook.to_be_bytes());
                    attribute(hooks, 2, &priority.to_be_bytes());
                });
                attribute(body, 7, kind.as_bytes());
            });
            for expressions in rules {
                ask(NEW_RULE, NLM_F_APPEND, family, &|body| {
                    attribute(body, 2, name.as_bytes());
                    nested(body, 4, |list| list.extend_from_slice(expressions));
                });
            }
        }
    }
    let mut whole = Vec::new();
    write(&mut whole, BATCH_BEGIN, 0, (0, SUBSYSTEM_TABLES >> 8), |_| {});
    whole.append(&mut batch);
    write(&mut whole, BATCH_END, 0, (0, SUBSYSTEM_TABLES >> 8), |_| {});
    socket.send(&whole, 0)?;
    (0..asked).try_for_each(|_| acknowledged(&socket))?;
    Ok(socket)
}

const REGISTER: u32 = 1;

/// Continues the rule if this field of a packet compares so with `value`.
fn compare(list: &mut Vec<u8>, datum: u32, how: u32, value: u32) {
    expression(list, "meta", |data| {
        attribute(data, 1, &REGISTER.to_be_bytes());
        attribute(data, 2, &datum.to_be_bytes());
    });
    compare_register(list, how, value);
}

/// Continues the rule if the routes lead the packet to this interface.
fn is_routed_to(list: &mut Vec<u8>, interface: u32) {
    const RESULT_OIF: u32 = 1;
    const BY_DESTINATION: u32 = 2;
    expression(list, "fib", |data| {
        attribute(data, 1, &REGISTER.to_be_bytes());
        attribute(data, 2, &RESULT_OIF.to_be_bytes());
        attribute(data, 3, &BY_DESTINATION.to_be_bytes());
    });
    compare_register(list, CMP_EQ, interface);
}

fn compare_register(list: &mut Vec<u8>, how: u32, value: u32) {
    expression(list, "cmp", |data| {
        attribute(data, 1, &REGISTER.to_be_bytes());
        attribute(data, 2, &how.to_be_bytes());
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
