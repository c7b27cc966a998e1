//! What the kernel knows: TCP's state by connection (sock_diag), counters of a namespace and its device.
//!
//! Everything is opened while the process is in the namespace, and read from outside later.

use super::netlink::{self, Interface};
use airpath_core::trace::Event;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, IPPROTO_UDP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use serde_json::{Map, Value};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;

/// Counters and sockets of a network namespace.
pub struct Namespace {
    pub counters: Counters,
    pub sockets: Sockets,
}

impl Namespace {
    /// Opens the current namespace, in which `devices` are the link's.
    pub fn open(devices: &[impl AsRef<str>]) -> io::Result<Self> {
        Ok(Self { counters: Counters::open(devices)?, sockets: Sockets::open()? })
    }
}

pub struct Counters {
    devices: Vec<Interface>,
    snmp: File,
    netstat: File,
}

/// Counters of TCP that tell how a transfer went, by their names in /proc/net/snmp and /proc/net/netstat.
const TCP_COUNTERS: &[&str] = &[
    "ActiveOpens",
    "PassiveOpens",
    "InSegs",
    "OutSegs",
    "RetransSegs",
    "InErrs",
    "OutRsts",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPLostRetransmit",
    "TCPSpuriousRTOs",
    "TCPSpuriousRtxHostQueues",
    "TCPDSACKRecv",
    "TCPDSACKUndo",
    "TCPFullUndo",
    "TCPPartialUndo",
    "TCPLossUndo",
    "TCPSACKReorder",
    "TCPTSReorder",
    "TCPZeroWindowDrop",
    "InCsumErrors",
];

impl Counters {
    fn open(devices: &[impl AsRef<str>]) -> io::Result<Self> {
        let open = |name| File::open(format!("/proc/thread-self/net/{name}"));
        let devices =
            devices.iter().map(|name| Interface::named(name.as_ref())).collect::<io::Result<_>>()?;
        Ok(Self { devices, snmp: open("snmp")?, netstat: open("netstat")? })
    }

    /// Packets that the link's devices dropped, into the kernel and out of it; removed devices are not counted.
    pub fn dropped(&self) -> [u64; 2] {
        let counts = self.devices.iter().map(|device| device.dropped().unwrap_or_default());
        counts.fold([0; 2], |[into, out_of], [more_into, more_out]| [into + more_into, out_of + more_out])
    }

    /// Counters of TCP that are not zero.
    pub fn tcp(&self) -> Map<String, Value> {
        let mut found = Map::new();
        for text in [read(&self.snmp), read(&self.netstat)] {
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Tcp")).collect();
            // A line of names is followed by one of values.
            for pair in lines.chunks_exact(2) {
                for (name, value) in pair[0].split_whitespace().zip(pair[1].split_whitespace()) {
                    let value = value.parse::<u64>().unwrap_or(0);
                    if TCP_COUNTERS.contains(&name) && value > 0 {
                        found.insert(name.to_owned(), value.into());
                    }
                }
            }
        }
        found
    }
}

/// A file of /proc from its beginning; what it could not tell is left out.
fn read(file: &File) -> String {
    let mut text = Vec::new();
    let mut part = vec![0; 1 << 14];
    while let Ok(length @ 1..) = file.read_at(&mut part, text.len() as u64) {
        text.extend_from_slice(&part[..length]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

pub struct Sockets {
    socket: Socket,
    buffer: Vec<u8>,
}

/// The kernel's number of a socket, which is never used again.
pub type Cookie = [u8; 8];

/// INET_DIAG_NOCOOKIE: whichever socket has the addresses.
const ANY_COOKIE: Cookie = [0xff; 8];

/// include/net/tcp_states.h.
const TCP_LISTEN: u8 = 10;

const INFO: ExtensionFlags = ExtensionFlags::INFO.union(ExtensionFlags::CONG);

/// The kernel's report on one end of a TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    pub cookie: Cookie,
    pub congestion_control: String,
    /// `struct tcp_info`, in the length that this kernel returns.
    raw: Vec<u8>,
}

impl Sockets {
    fn open() -> io::Result<Self> {
        Ok(Self { socket: netlink::open(NETLINK_SOCK_DIAG)?, buffer: vec![0; 1 << 16] })
    }

    /// Whether a program listens for TCP connections or has bound a UDP socket.
    pub fn somebody_listens(&mut self) -> io::Result<bool> {
        let mut found = false;
        for family in [AF_INET, AF_INET6] {
            self.dump(family, IPPROTO_TCP, StateFlags::LISTEN, &mut |_| found = true)?;
            self.dump(family, IPPROTO_UDP, StateFlags::CLOSE, &mut |_| found = true)?;
        }
        Ok(found)
    }

    /// The end of a TCP connection that has these addresses, if it is there. (A dump of all would walk the
    /// tables of the whole machine, for a millisecond and more.)
    pub fn tcp(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<Option<TcpInfo>> {
        let family = if local.is_ipv4() { AF_INET } else { AF_INET6 };
        let mut socket_id = if local.is_ipv4() { SocketId::new_v4() } else { SocketId::new_v6() };
        socket_id.cookie = ANY_COOKIE;
        (socket_id.source_address, socket_id.source_port) = (local.ip(), local.port());
        (socket_id.destination_address, socket_id.destination_port) = (remote.ip(), remote.port());
        let mut found = None;
        let states = StateFlags::all();
        match self.ask(
            0,
            InetRequest { family, protocol: IPPROTO_TCP, extensions: INFO, states, socket_id },
            &mut |answer| {
                found = TcpInfo::read(answer);
            },
        ) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            result => result.map(|()| found),
        }
    }

    fn dump(
        &mut self,
        family: u8,
        protocol: u8,
        states: StateFlags,
        each: &mut dyn FnMut(&InetResponse),
    ) -> io::Result<()> {
        let socket_id = if family == AF_INET { SocketId::new_v4() } else { SocketId::new_v6() };
        let extensions = ExtensionFlags::empty();
        self.ask(NLM_F_DUMP, InetRequest { family, protocol, extensions, states, socket_id }, each)
    }

    /// Asks, and hands out every answer.
    fn ask(
        &mut self,
        flags: u16,
        request: InetRequest,
        each: &mut dyn FnMut(&InetResponse),
    ) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        loop {
            let length = self.socket.recv(&mut &mut self.buffer[..], 0)?;
            let mut rest = &self.buffer[..length.min(self.buffer.len())];
            while !rest.is_empty() {
                let invalid =
                    |error| io::Error::new(io::ErrorKind::InvalidData, format!("sock_diag: {error}"));
                let answer = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(invalid)?;
                match answer.payload {
                    NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                        each(&response);
                        if flags & NLM_F_DUMP == 0 {
                            return Ok(());
                        }
                    }
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    _ => {}
                }
                // Messages are aligned to four bytes.
                let taken = (answer.header.length as usize).next_multiple_of(4).max(16);
                rest = rest.get(taken..).unwrap_or_default();
            }
        }
    }
}

impl TcpInfo {
    fn read(response: &InetResponse) -> Option<Self> {
        let (mut raw, mut congestion_control) = (None, String::new());
        for nla in &response.nlas {
            match nla {
                Nla::TcpInfo(bytes) => raw = Some(bytes.clone()),
                Nla::Congestion(name) => congestion_control.clone_from(name),
                _ => {}
            }
        }
        // Where the connection is gone, the kernel answers with the socket that listens on the port.
        let cookie = response.header.socket_id.cookie;
        (response.header.state != TCP_LISTEN).then_some(Self { cookie, congestion_control, raw: raw? })
    }

    pub fn bytes_acked(&self) -> u64 {
        u64::from_ne_bytes(self.field(120))
    }

    /// Retransmission timeouts so far (Linux 6.7 and later), else 0.
    pub fn timeouts(&self) -> u64 {
        u16::from_ne_bytes(self.field(240)).into()
    }

    /// The sender's state as an event, in the form of the simulator's senders.
    pub fn event(&self, ue: u16, flow: u16) -> Event {
        let (cwnd, mss) = (self.word(80), self.word(16).max(1));
        // Linux 5.4 and later; before, the congestion window alone is known.
        let peer_window = if self.raw.len() >= 232 { self.word(228) / mss } else { cwnd };
        Event::TcpState {
            ue,
            flow,
            tcpi_snd_cwnd: cwnd,
            tcpi_snd_ssthresh: self.word(76),
            tcpi_unacked: self.word(24),
            send_window: cwnd.min(peer_window),
            tcpi_rtt: self.word(68),
            tcpi_rttvar: self.word(72),
            tcpi_rto: self.word(8),
            tcpi_ca_state: u32::from(self.raw.get(1).copied().unwrap_or(0)),
            snd_una: self.bytes_acked(),
        }
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.field(at))
    }

    /// The field at a place of `struct tcp_info` (include/uapi/linux/tcp.h, which only grows), zeros where
    /// this kernel ends before it.
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        self.raw.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    /// Needs no privilege: looks at this test's own sockets.
    #[test]
    fn the_kernel_tells_of_both_ends_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _accepted = listener.accept().unwrap();
        client.write_all(&[0; 1000]).unwrap();
        let mut sockets = Sockets::open().unwrap();
        assert!(sockets.somebody_listens().unwrap());
        let ends = (client.local_addr().unwrap(), listener.local_addr().unwrap());
        let info = sockets.tcp(ends.0, ends.1).unwrap().unwrap();
        assert!(sockets.tcp(ends.1, ends.0).unwrap().is_some(), "the end that was accepted");
        let nobody = SocketAddr::new(ends.0.ip(), 1);
        assert_eq!(sockets.tcp(nobody, ends.1).unwrap(), None);
        assert_eq!(sockets.tcp(ends.1, nobody).unwrap(), None, "who listens is no connection");
        assert!((1000..=1001).contains(&info.bytes_acked()), "{}", info.bytes_acked());
        assert!(!info.congestion_control.is_empty());
        let Event::TcpState { tcpi_snd_cwnd, tcpi_rtt, .. } = info.event(0, 0) else { panic!() };
        assert!(tcpi_snd_cwnd >= 2 && tcpi_rtt > 0);
    }

    /// Offsets are those of Linux 6.7: `tcpi_bytes_acked` of 64 bits at 120, `tcpi_total_rto` of 16 at 240.
    #[test]
    fn fields_of_every_width_are_read_and_those_a_kernel_does_not_have_are_zero() {
        let mut raw = vec![0xff; 248];
        raw[120..128].copy_from_slice(&0x0102_0304_0506_0708_u64.to_ne_bytes());
        raw[240..242].copy_from_slice(&0x0203_u16.to_ne_bytes());
        let mut info = TcpInfo { cookie: ANY_COOKIE, congestion_control: String::new(), raw };
        assert_eq!((info.bytes_acked(), info.timeouts()), (0x0102_0304_0506_0708, 0x0203));
        info.raw.truncate(241);
        assert_eq!((info.bytes_acked(), info.timeouts()), (0x0102_0304_0506_0708, 0));
    }

    #[test]
    fn counters_are_read_by_their_names() {
        let counters = Counters::open(&["lo"]).unwrap();
        assert!(counters.tcp().keys().all(|name| TCP_COUNTERS.contains(&name.as_str())));
        assert_eq!(counters.devices[0].dropped().unwrap(), [0; 2]);
        assert!(Counters::open(&["no such interface"]).is_err());
    }
}
