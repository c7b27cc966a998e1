//! The world of a live path: the kernel's clock and TUN devices, one at the server and one for each interface of the UE; or
//! the packets of a namespace that exists already (`netfilter`).
//!
//! Kernels with offloads pass up to 64 kB of a flow at once. The path handles the packets in it separately: each
//! has its own time and outcome, regardless of the cost of reading and writing.

use super::namespaces::interface_of;
use super::netfilter::Hooks;
use crate::driver::World;
use crate::lateness::Lateness;
use crate::rebinding::{Rebind, Rebinding};
use crate::segments::{Large, Run};
use airpath_core::packet::Dir;
use airpath_core::time::{Duration, Instant};
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::SyncDevice;

/// From this many packets per millisecond and direction (1.5 Gbit/s), packets of one turn are coalesced when
/// written. The receiver acknowledges several coalesced packets once, as with a fast network card; below this rate
/// it acknowledges them as single packets.
const MANY: u32 = 128;
/// Packets that are later than this are coalesced at any rate, as a busy receiver does: what a cell delivers at once after a
/// retransmission would be later still if each packet were written by itself.
const LATE: Duration = Duration::from_nanos(100_000);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A clock that counts from the moment it was started; copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: u64,
}

impl Clock {
    pub fn start() -> Self {
        Self { epoch: monotonic_ns() }
    }

    pub fn now(self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.epoch))
    }
}

fn monotonic_ns() -> u64 {
    // Linux always has this clock.
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// A TUN device, with what was read from it and what is to be written to it.
struct Device {
    tun: SyncDevice,
    /// It may have something to read.
    is_readable: bool,
    /// A program in its namespace has removed it: nothing will come any more.
    is_gone: bool,
    /// What was read from it, and when.
    read: (Instant, Large),
    /// Packets to be written, with their departure times from the path.
    run: (Vec<Instant>, Run),
}

impl Device {
    fn new(tun: SyncDevice) -> Self {
        let (read, run) = (Large::new(tun.tcp_gso()), Run::new(tun.tcp_gso()));
        Self { tun, is_readable: true, is_gone: false, read: (Instant::ZERO, read), run: (Vec::new(), run) }
    }

    /// Whether it has handed over something that has not been taken yet.
    fn fill(&mut self, clock: Clock) -> bool {
        let (at, large) = &mut self.read;
        if !large.is_empty() {
            return true;
        }
        if !self.is_readable {
            return false;
        }
        match self.tun.recv(large.buffer()) {
            Ok(length) => large.fill(length),
            Err(error) => self.is_gone |= error.kind() != io::ErrorKind::WouldBlock,
        }
        // Never seen, but a packet without a byte would wait in a link layer for ever.
        self.is_readable = !large.is_empty();
        *at = clock.now();
        self.is_readable
    }

    /// Writes what is to be written, if there is anything; returns when that was, and how many packets the kernel would not
    /// take.
    fn write(&mut self, clock: Clock, lateness: &mut Lateness) -> Option<(Instant, u64)> {
        let (left, run) = &mut self.run;
        if left.is_empty() {
            return None;
        }
        let bytes = run.take();
        let is_interrupted = |error: &io::Error| error.kind() == io::ErrorKind::Interrupted;
        let written = self
            .tun
            .send(bytes)
            .or_else(|error| if is_interrupted(&error) { self.tun.send(bytes) } else { Err(error) });
        let refused = if written.is_err() { left.len() as u64 } else { 0 };
        let now = clock.now();
        left.drain(..).for_each(|at| lateness.record(at, now));
        Some((now, refused))
    }
}

pub struct Tuns {
    clock: Clock,
    /// The server's device, then those of the UE's interfaces; none with hooks.
    devices: Vec<Device>,
    hooks: Option<Hooks>,
    /// Number of the first of these interfaces; the others follow.
    first: u16,
    /// Whether the devices are not read, because airpath's endpoint replaces their end, by the direction of their
    /// packets.
    unread: [bool; 2],
    /// Which device is read next, so that none waits for the others.
    next: usize,
    /// How many packets have left since when, by the direction in which they went.
    sent: [u32; 2],
    since: Instant,
    /// Whether packets are written together.
    joins: [bool; 2],
    /// What time it was when the driver last asked, or something was written.
    now: Instant,
    /// Between the path and the server's device.
    pub rebinding: Rebinding,
    /// Reused: a packet that is translated.
    translated: Vec<u8>,
    pub lateness: Lateness,
    /// Packets that the kernel would not take, by the direction in which they went.
    pub refused: [u64; 2],
}

impl Tuns {
    /// Clock zero is now. `first` is the number of the first of the UE's interfaces; `unread` says which ends are ours, by
    /// the direction in which they send.
    pub fn new(clock: Clock, server: SyncDevice, ue: Vec<SyncDevice>, first: u16, unread: [bool; 2]) -> Self {
        let mut devices: Vec<_> = std::iter::once(server).chain(ue).map(Device::new).collect();
        for (number, device) in devices.iter_mut().enumerate() {
            device.is_readable = !unread[dir_of(number).index()];
        }
        Self {
            clock,
            devices,
            hooks: None,
            first,
            unread,
            next: 0,
            sent: [0; 2],
            since: Instant::ZERO,
            joins: [false; 2],
            now: Instant::ZERO,
            rebinding: Rebinding::default(),
            translated: Vec::new(),
            lateness: Lateness::default(),
            refused: [0; 2],
        }
    }

    /// The packets of a namespace with hooks, as those of this interface.
    pub fn hooked(clock: Clock, hooks: Hooks, first: u16) -> Self {
        Self {
            clock,
            devices: Vec::new(),
            hooks: Some(hooks),
            first,
            unread: [false; 2],
            next: 0,
            sent: [0; 2],
            since: Instant::ZERO,
            joins: [false; 2],
            now: Instant::ZERO,
            rebinding: Rebinding::default(),
            translated: Vec::new(),
            lateness: Lateness::default(),
            refused: [0; 2],
        }
    }

    /// Packets that the kernel dropped as hooks were not read in time, at least.
    pub fn unhooked(&self) -> u64 {
        self.hooks.as_ref().map_or(0, |hooks| hooks.lost)
    }

    /// Whether packets of the end that sends in this direction are not read.
    pub fn is_unread(&self, dir: Dir) -> bool {
        self.unread[dir.index()]
    }

    /// Whether a device has been removed.
    pub fn is_gone(&self) -> bool {
        self.devices.iter().any(|device| device.is_gone)
    }

    /// The devices that are read.
    pub fn read(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let devices = self.devices.iter().enumerate();
        let read = devices.filter(|(number, _)| !self.is_unread(dir_of(*number)));
        read.map(|(_, device)| device.tun.as_fd()).chain(self.hooks.iter().map(Hooks::fd))
    }

    /// Records which of the devices in use are readable.
    pub fn set_readable(&mut self, mut ready: impl Iterator<Item = bool>) {
        for (number, device) in self.devices.iter_mut().enumerate() {
            if !self.unread[dir_of(number).index()] {
                device.is_readable |= ready.next().unwrap_or(true);
            }
        }
    }

    /// Writes the coalesced packets that are left, after the timers up to `now` have run.
    pub fn flush(&mut self, now: Instant) {
        (0..self.devices.len()).for_each(|number| self.write(number));
        let milliseconds = now.since(self.since).as_nanos() / MILLISECOND.as_nanos();
        if milliseconds > 0 {
            self.joins = self.sent.map(|sent| u64::from(sent) >= milliseconds * u64::from(MANY));
            (self.sent, self.since) = ([0; 2], now);
        }
    }

    fn write(&mut self, number: usize) {
        if let Some((now, refused)) = self.devices[number].write(self.clock, &mut self.lateness) {
            self.now = now;
            self.refused[dir_of(number).reverse().index()] += refused;
        }
    }
}

/// The direction of the packets that are read from a device.
fn dir_of(device: usize) -> Dir {
    if device == 0 { Dir::Downlink } else { Dir::Uplink }
}

impl World for Tuns {
    #[inline]
    fn now(&mut self) -> Instant {
        self.now = self.clock.now();
        self.now
    }

    /// A packet arrives when it is read: devices do not say since when they have held it.
    fn receive(&mut self, _due: Option<Instant>, bytes: &mut Vec<u8>) -> Option<(Instant, Dir, u16)> {
        if let Some(hooks) = &mut self.hooks {
            return hooks.receive(bytes).map(|dir| (self.clock.now(), dir, self.first));
        }
        let interfaces = self.devices.len() - 1;
        for _ in 0..self.devices.len() {
            let number = self.next;
            self.next = if number + 1 < self.devices.len() { number + 1 } else { 0 };
            let device = &mut self.devices[number];
            while device.fill(self.clock) {
                let (at, large) = &mut device.read;
                large.take(bytes);
                if number == 0
                    && self.rebinding.is_active()
                    && !self.rebinding.translate(Dir::Downlink, bytes)
                {
                    continue;
                }
                let interface = match number.checked_sub(1) {
                    Some(interface) => interface as u16,
                    // Others than the UE's have simulated packets.
                    None => Some(interface_of(bytes))
                        .filter(|interface| usize::from(*interface) < interfaces)
                        .unwrap_or(0),
                };
                return Some((*at, dir_of(number), self.first + interface));
            }
        }
        None
    }

    fn send(&mut self, at: Instant, dir: Dir, interface: u16, bytes: &[u8]) {
        if dir == Dir::Uplink && self.rebinding.is_active() {
            let mut packet = std::mem::take(&mut self.translated);
            packet.clear();
            packet.extend_from_slice(bytes);
            self.rebinding.translate(dir, &mut packet);
            self.put(at, dir, interface, &packet);
            self.translated = packet;
            return;
        }
        self.put(at, dir, interface, bytes);
    }
}

impl Tuns {
    /// The translator loses its state; what that is, for people. `None` with hooks.
    pub fn rebind(&mut self, what: Rebind) -> Option<&'static str> {
        self.hooks.is_none().then(|| self.rebinding.rebind(what))
    }

    fn put(&mut self, at: Instant, dir: Dir, interface: u16, bytes: &[u8]) {
        if let Some(hooks) = &self.hooks {
            self.refused[dir.index()] += u64::from(!hooks.send(dir, bytes));
            self.lateness.record(at, self.clock.now());
            return;
        }
        // Uplink packets are written to the device that downlink packets are read from.
        let number = if dir == Dir::Uplink { 0 } else { 1 + usize::from(interface - self.first) };
        if !self.devices[number].run.1.add(bytes) {
            self.write(number);
            self.devices[number].run.1.add(bytes);
        }
        self.devices[number].run.0.push(at);
        self.sent[dir.index()] += 1;
        if !self.joins[dir.index()] && self.now.since(at) <= LATE {
            self.write(number);
        }
    }
}
