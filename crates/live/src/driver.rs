//! The driver: a path, and a world of clock and devices around it.
//!
//! Each turn passes every packet that has arrived to the path and runs every expired timer, in order of time and
//! each at its own instant; packets that leave in between are written out. A driver that wakes up late therefore
//! catches up in the original order: if the world keeps arrival times, the model is not affected. (Kernel devices
//! do not keep them: a packet that waited there arrives when it is read.)

use airpath_core::flows::Flows;
use airpath_core::packet::{Body, Dir, Packet};
use airpath_core::path::Path;
use airpath_core::time::Instant;
use airpath_core::wire::{encode_header, parse, rewrite};

/// What lies outside the path: a clock, a device at the server's end, and one for each real interface of a UE.
pub trait World {
    /// What time it is, on the scale of the path. Never runs backwards.
    fn now(&mut self) -> Instant;

    /// Reads the next packet that arrived into `bytes`; returns its arrival time, its direction and the index of
    /// its interface. `due` is the path's next deadline if it is not in the future: a packet that arrived after it
    /// may wait.
    fn receive(&mut self, due: Option<Instant>, bytes: &mut Vec<u8>) -> Option<(Instant, Dir, u16)>;

    /// Hands over a packet of an interface that left the path at `at`.
    fn send(&mut self, at: Instant, dir: Dir, interface: u16, bytes: &[u8]);
}

/// Packets taken in or deadlines handled in a turn: then others, such as signals, have their turn.
const STEPS_PER_TURN: u32 = 512;

/// Bodies kept for further packets.
const SPARE_BODIES: usize = 1024;

/// Packets that may be inside the path, whatever its buffers allow: one without limit that is fed faster than
/// it is emptied would take the machine's memory, half a gigabyte per second.
pub use airpath_core::path::MOST_INSIDE;

/// A path that is driven by a clock and by devices.
pub struct Driver {
    /// The path.
    pub path: Path,
    /// Which packets belong together.
    pub flows: Flows,
    /// Packets that were not let in because too many were inside; the model never saw them.
    pub left_out: u64,
    /// Where the next packet is read to.
    next: Box<Body>,
    /// Bodies of packets that have left. Boxes, because packets carry them so.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<Body>>,
}

impl Driver {
    /// Drives `path`, whose ends are open, from its time zero.
    pub fn new(path: Path) -> Self {
        Self { path, flows: Flows::default(), left_out: 0, next: Box::default(), spare: Vec::new() }
    }

    /// Handles all that has arrived or is due. Returns when something may leave next, and so until when there is time
    /// to sleep; it may be in the past where a turn had to end before everything was done.
    pub fn turn(&mut self, world: &mut impl World) -> Option<Instant> {
        for _ in 0..STEPS_PER_TURN {
            let now = world.now();
            let due = self.path.poll_timeout().filter(|at| *at <= now);
            if let Some((at, dir, interface)) = world.receive(due, &mut self.next.bytes) {
                self.take_in(at, dir, interface);
            } else if let Some(at) = due {
                self.path.handle_next(at);
            } else {
                return self.path.poll_wakeup();
            }
            self.put_out(world);
            if self.path.stopped() {
                return None;
            }
        }
        // More may have arrived than was taken in.
        Some(self.path.now())
    }

    fn take_in(&mut self, at: Instant, dir: Dir, interface: u16) {
        if self.path.inside(interface) >= MOST_INSIDE {
            self.left_out += 1;
            return;
        }
        let mut packet = self.path.packet();
        let mut body = std::mem::replace(&mut self.next, self.spare.pop().unwrap_or_default());
        parse(&body.bytes, &mut packet);
        packet.ue = interface;
        packet.flow = self.flows.number(dir, &body.bytes, &packet);
        body.touched = false;
        packet.body = Some(body);
        self.path.handle_packet(at.max(self.path.now()), dir, packet);
    }

    fn put_out(&mut self, world: &mut impl World) {
        while let Some((at, dir, mut packet)) = self.path.poll_output() {
            if let Some(mut body) = packet.body.take() {
                if body.touched {
                    rewrite(&mut body.bytes, &packet);
                }
                world.send(at, dir, packet.ue, &body.bytes);
                if self.spare.len() < SPARE_BODIES {
                    self.spare.push(body);
                }
            } else if let Some(bytes) = self.made(dir, &packet) {
                world.send(at, dir, packet.ue, &bytes);
            }
            self.path.free(packet);
        }
    }

    /// The bytes of a packet that a box on the path made: a header, and zeros for its payload.
    #[cold]
    fn made(&self, dir: Dir, packet: &Packet) -> Option<Vec<u8>> {
        let endpoints = self.flows.endpoints(packet.flow, dir)?;
        let mut bytes = Vec::new();
        encode_header(packet, endpoints, 0, &mut bytes);
        bytes.resize(packet.len as usize, 0);
        Some(bytes)
    }
}
