//! Looks at the kernel's TCP again and again, in a thread of its own.

use super::kernel::{Cookie, Sockets, TcpInfo};
use super::tuns::Clock;
use super::writer::{Outbox, Record};
use airpath_core::flows::FlowKey;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The kernel's last report on each connection's sending end, by flow index.
pub type LastSeen = HashMap<u16, TcpInfo>;

pub struct Sampler {
    /// Connections to look at; the thread ends when this is gone.
    connections: Sender<Connection>,
    thread: JoinHandle<LastSeen>,
}

impl Sampler {
    /// Looks at both ends of each connection once in an interval. Samples go to the outbox if wanted there.
    ///
    /// Where one end is `ours`, the kernel's may only receive, and the sender reports itself: then there is no sample.
    pub fn start(
        sockets: [Sockets; 2],
        clock: Clock,
        interval: Duration,
        outbox: Option<Outbox>,
        ours: bool,
    ) -> Self {
        let (connections, new) = channel();
        let watch = Watch { sockets, clock, outbox, ours, open: Vec::new(), last: LastSeen::new() };
        let thread = std::thread::spawn(move || watch.run(interval, &new));
        Self { connections, thread }
    }

    /// From now on also looks at this connection over interface `ue`, until it has ended.
    pub fn add(&self, ue: u16, number: u16, key: FlowKey) {
        let _ = self.connections.send(Connection { ue, number, key, ends: [None; 2] });
    }

    /// Ends the thread and returns what was seen last.
    pub fn stop(self) -> LastSeen {
        drop(self.connections);
        self.thread.join().unwrap_or_default()
    }
}

struct Watch {
    sockets: [Sockets; 2],
    clock: Clock,
    outbox: Option<Outbox>,
    ours: bool,
    open: Vec<Connection>,
    last: LastSeen,
}

/// A connection that has not ended.
struct Connection {
    ue: u16,
    number: u16,
    key: FlowKey,
    /// Which sockets are its ends, on the server's side and on the UE's, once they have been seen.
    ends: [Option<Cookie>; 2],
}

impl Watch {
    fn run(mut self, interval: Duration, new: &Receiver<Connection>) -> LastSeen {
        loop {
            self.look();
            match new.recv_timeout(interval) {
                Ok(first) => {
                    std::iter::once(first).chain(new.try_iter()).for_each(|connection| self.add(connection));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.last,
            }
        }
    }

    fn add(&mut self, connection: Connection) {
        // Over the same ports, the one before has ended.
        self.open.retain(|other| other.key != connection.key);
        self.open.push(connection);
    }

    fn look(&mut self) {
        let Self { sockets, clock, outbox, ours, open, last } = self;
        open.retain_mut(|connection| {
            let Some(info) = connection.sending_end(sockets) else { return false };
            // The sender may be gone before the receiver, whose window never mattered.
            if last.get(&connection.number).is_some_and(|before| before.bytes_acked() > info.bytes_acked()) {
                return true;
            }
            // The SYN counts as an octet in some kernels.
            let only_receives = *ours && info.bytes_acked() <= 1;
            if let Some(outbox) = outbox.as_ref().filter(|_| !only_receives) {
                outbox.put(Record::Sample(clock.now(), info.event(connection.ue, connection.number)));
            }
            last.insert(connection.number, info);
            true
        });
    }
}

impl Connection {
    /// The end that has had more acknowledged, whose window is the one that matters. `None` if the connection
    /// has ended, also if another one already uses its ports.
    fn sending_end(&mut self, sockets: &mut [Sockets; 2]) -> Option<TcpInfo> {
        let [server, ue] = sockets;
        let FlowKey { server: server_address, ue: ue_address, .. } = self.key;
        let found = [server.tcp(server_address, ue_address), ue.tcp(ue_address, server_address)];
        let found = found.map(|end| end.ok().flatten());
        for (known, info) in self.ends.iter_mut().zip(&found) {
            if let Some(info) = info
                && *known.get_or_insert(info.cookie) != info.cookie
            {
                return None;
            }
        }
        found.into_iter().flatten().max_by_key(TcpInfo::bytes_acked)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::kernel::Namespace;
    use super::*;
    use nix::sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, setsockopt, socket, sockopt,
    };
    use std::io::{Read, Write};
    use std::net::{SocketAddrV4, TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    /// A connection from `local`, over which this many bytes have come: the server's end and the UE's.
    fn connected(local: SocketAddrV4, listener: &TcpListener, bytes: usize) -> [TcpStream; 2] {
        let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
        // It is closed without TIME-WAIT, and its port can be used again at once.
        setsockopt(&fd, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).unwrap();
        bind(fd.as_raw_fd(), &SockaddrIn::from(local)).unwrap();
        let remote = listener.local_addr().unwrap().to_string().parse::<SocketAddrV4>().unwrap();
        connect(fd.as_raw_fd(), &SockaddrIn::from(remote)).unwrap();
        let (mut ue, (mut server, _)) = (TcpStream::from(fd), listener.accept().unwrap());
        ue.write_all(&vec![0; bytes]).unwrap();
        server.read_exact(&mut vec![0; bytes]).unwrap();
        [server, ue]
    }

    /// Polls until this many bytes of a flow have been acknowledged; the SYN counts as one in some kernels.
    fn look_until(watch: &mut Watch, number: u16, bytes: u64) {
        while watch.last.get(&number).is_none_or(|info| info.bytes_acked() < bytes) {
            assert!(watch.clock.now().as_secs_f64() < 10.0, "{:?}", watch.last);
            watch.look();
        }
    }

    /// Needs no privilege: looks at this test's own sockets.
    #[test]
    fn connections_over_the_same_ports_are_told_apart() {
        let sockets = [(); 2].map(|()| Namespace::open(&["lo"]).unwrap().sockets);
        let (clock, open, last) = (Clock::start(), Vec::new(), LastSeen::new());
        let mut watch = Watch { sockets, clock, outbox: None, ours: false, open, last };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let first = connected("127.1.2.3:0".parse().unwrap(), &listener, 1000);
        let ue = first[1].local_addr().unwrap();
        let key = FlowKey { protocol: 6, server: listener.local_addr().unwrap(), ue };
        watch.add(Connection { ue: 0, number: 0, key, ends: [None; 2] });
        look_until(&mut watch, 0, 1000);
        drop(first);
        let _second = connected(ue.to_string().parse().unwrap(), &listener, 5000);
        watch.look();
        assert!(watch.open.is_empty(), "the ports are another connection's by now");
        watch.add(Connection { ue: 0, number: 1, key, ends: [None; 2] });
        look_until(&mut watch, 1, 5000);
        assert!((1000..=1001).contains(&watch.last[&0].bytes_acked()), "{:?}", watch.last);
    }
}
