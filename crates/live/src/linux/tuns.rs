//! The world of a live path: the kernel's clock and two TUN devices.
//!
//! Where the kernel has offloads it hands over up to 64 kB of a flow at once. The path sees the packets in it one by
//! one: each has a time and a fate of its own, whatever they cost to read and to write.

use crate::driver::World;
use crate::lateness::Lateness;
use crate::segments::{Large, Run};
use airpath_core::packet::Dir;
use airpath_core::time::{Duration, Instant};
use nix::time::{ClockId, clock_gettime};
use std::io;
use tun_rs::SyncDevice;

/// From so many packets in a millisecond and a direction on, which are 1.5 Gbit/s, those that are due together are written
/// together. Who gets several at once acknowledges them once, as behind a fast network card: short of this a link has
/// the acknowledgments of single packets.
const MANY: u32 = 128;
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

pub struct Tuns {
    clock: Clock,
    /// By the direction in which packets read from them go.
    devices: [SyncDevice; 2],
    /// Whether a device may have something to read.
    pub readable: [bool; 2],
    /// Whether a device has been removed, by a program in its namespace: nothing will come any more.
    pub gone: [bool; 2],
    /// Whether a device is at an end of ours, and so is not read.
    pub unread: [bool; 2],
    /// Which device is read next, so that neither waits for the other.
    next: usize,
    /// What was read from each device, and when.
    read: [(Instant, Large); 2],
    /// What is to be written, by the direction in which it goes, with the times at which the packets left.
    runs: [(Vec<Instant>, Run); 2],
    /// How many packets have left since when, by the direction in which they went.
    sent: [u32; 2],
    since: Instant,
    /// Whether packets are written together.
    joins: [bool; 2],
    pub lateness: Lateness,
    /// Packets that the kernel would not take, by the direction in which they went.
    pub refused: [u64; 2],
}

impl Tuns {
    /// Clock zero is now.
    pub fn new(clock: Clock, devices: [SyncDevice; 2]) -> Self {
        let read = devices.each_ref().map(|device| (Instant::ZERO, Large::new(device.tcp_gso())));
        // What goes downlink is written where uplink packets are read.
        let runs = Dir::BOTH.map(|dir| (Vec::new(), Run::new(devices[dir.reverse().index()].tcp_gso())));
        Self {
            clock,
            devices,
            readable: [true; 2],
            gone: [false; 2],
            unread: [false; 2],
            next: 0,
            read,
            runs,
            sent: [0; 2],
            since: Instant::ZERO,
            joins: [false; 2],
            lateness: Lateness::default(),
            refused: [0; 2],
        }
    }

    /// The devices, by the direction in which packets read from them go.
    pub fn devices(&self) -> &[SyncDevice; 2] {
        &self.devices
    }

    /// Whether a device has handed over something that has not been taken yet.
    fn fill(&mut self, from: usize) -> bool {
        let (at, large) = &mut self.read[from];
        if !large.is_empty() {
            return true;
        }
        if !self.readable[from] || self.unread[from] {
            return false;
        }
        match self.devices[from].recv(large.buffer()) {
            Ok(length) => large.fill(length),
            Err(error) => self.gone[from] |= error.kind() != io::ErrorKind::WouldBlock,
        }
        // Never seen, but a packet without a byte would wait in a link layer for ever.
        self.readable[from] = !large.is_empty();
        *at = self.clock.now();
        self.readable[from]
    }

    /// What was due by `now` is done: writes what is still to be written.
    pub fn flush(&mut self, now: Instant) {
        Dir::BOTH.into_iter().for_each(|dir| self.write(dir));
        let milliseconds = now.since(self.since).as_nanos() / MILLISECOND.as_nanos();
        if milliseconds > 0 {
            self.joins = self.sent.map(|sent| u64::from(sent) >= milliseconds * u64::from(MANY));
            (self.sent, self.since) = ([0; 2], now);
        }
    }

    fn write(&mut self, dir: Dir) {
        let (left, run) = &mut self.runs[dir.index()];
        if left.is_empty() {
            return;
        }
        let device = &self.devices[dir.reverse().index()];
        let bytes = run.take();
        let is_interrupted = |error: &io::Error| error.kind() == io::ErrorKind::Interrupted;
        let written = device
            .send(bytes)
            .or_else(|error| if is_interrupted(&error) { device.send(bytes) } else { Err(error) });
        if written.is_err() {
            self.refused[dir.index()] += left.len() as u64;
        }
        let now = self.clock.now();
        left.drain(..).for_each(|at| self.lateness.record(at, now));
    }
}

impl World for Tuns {
    #[inline]
    fn now(&mut self) -> Instant {
        self.clock.now()
    }

    /// A packet arrives when it is read: devices do not say since when they have held it.
    fn receive(&mut self, _due: Option<Instant>, bytes: &mut Vec<u8>) -> Option<(Instant, Dir)> {
        for _ in 0..2 {
            let from = self.next;
            self.next = 1 - self.next;
            if self.fill(from) {
                let (at, large) = &mut self.read[from];
                large.take(bytes);
                return Some((*at, Dir::BOTH[from]));
            }
        }
        None
    }

    fn send(&mut self, at: Instant, dir: Dir, bytes: &[u8]) {
        if !self.runs[dir.index()].1.add(bytes) {
            self.write(dir);
            self.runs[dir.index()].1.add(bytes);
        }
        self.runs[dir.index()].0.push(at);
        self.sent[dir.index()] += 1;
        if !self.joins[dir.index()] {
            self.write(dir);
        }
    }
}
