//! The world of a live path: the kernel's clock and two TUN devices.

use crate::driver::World;
use crate::lateness::Lateness;
use airpath_core::packet::Dir;
use airpath_core::time::Instant;
use nix::time::{ClockId, clock_gettime};
use std::io;
use tun_rs::SyncDevice;

/// Longer than every packet that a device can hand over.
const BUFFER_BYTES: usize = 1 << 16;

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
    /// The device at our own end, which is not read.
    pub unread: Option<Dir>,
    /// Which device is read next, so that neither waits for the other.
    next: usize,
    buffer: Vec<u8>,
    pub lateness: Lateness,
    /// Packets that the kernel would not take, by the direction in which they went.
    pub refused: [u64; 2],
}

impl Tuns {
    /// Clock zero is now.
    pub fn new(clock: Clock, devices: [SyncDevice; 2]) -> Self {
        let (buffer, lateness) = (vec![0; BUFFER_BYTES], Lateness::default());
        Self {
            clock,
            devices,
            readable: [true; 2],
            gone: [false; 2],
            unread: None,
            next: 0,
            buffer,
            lateness,
            refused: [0; 2],
        }
    }

    /// The devices, by the direction in which packets read from them go.
    pub fn devices(&self) -> &[SyncDevice; 2] {
        &self.devices
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
            if !self.readable[from] || self.unread == Some(Dir::BOTH[from]) {
                continue;
            }
            match self.devices[from].recv(&mut self.buffer) {
                // Never seen, but a packet without a byte would wait in a link layer for ever.
                Ok(0) => self.readable[from] = false,
                Ok(length) => {
                    bytes.clear();
                    bytes.extend_from_slice(&self.buffer[..length]);
                    return Some((self.clock.now(), Dir::BOTH[from]));
                }
                Err(error) => {
                    self.readable[from] = false;
                    self.gone[from] |= error.kind() != io::ErrorKind::WouldBlock;
                }
            }
        }
        None
    }

    fn send(&mut self, at: Instant, dir: Dir, bytes: &[u8]) {
        // What goes downlink is written where uplink packets are read.
        match self.devices[dir.reverse().index()].send(bytes) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                let again = self.devices[dir.reverse().index()].send(bytes);
                self.refused[dir.index()] += u64::from(again.is_err());
            }
            Err(_) => self.refused[dir.index()] += 1,
        }
        self.lateness.record(at, self.clock.now());
    }
}
