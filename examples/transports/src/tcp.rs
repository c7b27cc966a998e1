//! TCP by smoltcp at both ends of a link: whole IP packets, which boxes on the path can read.

use airpath::{End, Instant, Net};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time;
use smoltcp::wire::{HardwareAddress, IpCidr};
use std::collections::VecDeque;

const PORT: u16 = 80;

/// Downloads so many bytes with CUBIC, and says when the client had the last of them.
///
/// # Panics
/// If the transfer stalls.
pub fn download(net: &mut Net, mut bytes: u64) -> Instant {
    let [mut server, mut client] = [End::Server, End::Ue(0)].map(Host::new);
    server.socket().listen(PORT).expect("the port is free");
    let (context, sockets) = (client.interface.context(), &mut client.sockets);
    let socket = sockets.get_mut::<Socket<'_>>(client.handle);
    socket.connect(context, (End::Server.ipv4(), PORT), 40_000).expect("addresses are right");
    let (mut unwritten, mut now) = (bytes, net.now());
    loop {
        for host in [&mut client, &mut server] {
            host.poll(now);
        }
        while unwritten > 0 && server.socket().can_send() {
            let most = unwritten.min(65_536) as usize;
            unwritten -= server.socket().send_slice(&vec![0; most]).expect("it is open") as u64;
        }
        while client.socket().can_recv() {
            bytes -= client.socket().recv(|octets| (octets.len(), octets.len() as u64)).expect("it is open");
        }
        if bytes == 0 {
            return now;
        }
        // What was read and written may have to be sent now.
        for host in [&mut client, &mut server] {
            host.poll(now);
            while let Some(packet) = host.device.sent.pop_front() {
                net.send_ip(now, host.end, &packet);
            }
        }
        let next =
            [net.next_wakeup(), client.deadline(now), server.deadline(now)].into_iter().flatten().min();
        let wake = next.expect("nothing will happen any more").max(now);
        now = match net.advance(wake) {
            Some(arrival) => {
                let host = if arrival.to == End::Server { &mut server } else { &mut client };
                host.device.received.push_back(arrival.packet);
                arrival.at
            }
            None => wake,
        };
    }
}

/// An end with its one socket.
struct Host {
    end: End,
    device: Queues,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
}

impl Host {
    fn new(end: End) -> Self {
        let mut device = Queues::default();
        let mut interface =
            Interface::new(Config::new(HardwareAddress::Ip), &mut device, time::Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(end.ipv4().into(), 0)).expect("it is the first")
        });
        let buffer = || SocketBuffer::new(vec![0; 65_535]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(CongestionControl::Cubic);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Self { end, device, interface, sockets, handle }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    fn poll(&mut self, now: Instant) {
        self.interface.poll(rounded_down(now), &mut self.device, &mut self.sockets);
    }

    fn deadline(&mut self, now: Instant) -> Option<Instant> {
        let at = self.interface.poll_at(rounded_down(now), &self.sockets)?;
        Some(Instant::from_nanos(at.total_micros() as u64 * 1000))
    }
}

/// smoltcp counts microseconds. A deadline is a whole one, so that nothing wakes before it.
fn rounded_down(at: Instant) -> time::Instant {
    time::Instant::from_micros(at.since(Instant::ZERO).as_micros() as i64)
}

/// A device of two queues.
#[derive(Default)]
struct Queues {
    received: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

impl Device for Queues {
    type RxToken<'a> = Received;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _now: time::Instant) -> Option<(Received, Room<'_>)> {
        let packet = self.received.pop_front()?;
        Some((Received(packet), Room(&mut self.sent)))
    }

    fn transmit(&mut self, _now: time::Instant) -> Option<Room<'_>> {
        Some(Room(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, 1500);
        capabilities
    }
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

struct Room<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = vec![0; len];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}
