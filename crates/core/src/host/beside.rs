//! One end of a path in whose cell some UEs are real and others simulated.
//!
//! Packets of real UEs pass the real end, which leads out of the path. Packets of simulated UEs start and end in the
//! simulator's [`Host`], which contains their endpoints of the scenario's flows. Both are at one place of the path, so
//! positions of elements are as in the simulator.

use super::Host;
use crate::element::{Cx, Element, Layout, Port};
use crate::packet::Packet;

/// A real end combined with simulated UEs.
pub struct Beside<R> {
    real: R,
    /// Numbers of the real UEs.
    ues: Vec<u16>,
    simulated: Host,
    /// Timers of the host; those of the real end follow.
    host_timers: u32,
}

/// A real end that can be combined with simulated UEs.
pub trait RealEnd: Element {
    /// Its timers have keys from here on.
    fn set_first_timer(&mut self, first: u32);
}

impl<R: RealEnd> Beside<R> {
    /// `real` for these UEs, and `simulated` for the others.
    pub fn new(mut real: R, ues: Vec<u16>, simulated: Host) -> Self {
        let host_timers = simulated.layout().timers;
        real.set_first_timer(host_timers);
        Self { real, ues, simulated, host_timers }
    }

    /// The end of the real UEs.
    pub fn real(&self) -> &R {
        &self.real
    }

    /// The ends of the others.
    pub fn simulated(&self) -> &Host {
        &self.simulated
    }
}

impl<R: RealEnd> Element for Beside<R> {
    fn layout(&self) -> Layout {
        Layout { timers: self.host_timers + self.real.layout().timers, ..Layout::default() }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        self.simulated.handle_start(cx);
        self.real.handle_start(cx);
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        if self.ues.contains(&packet.ue) {
            self.real.handle_packet(cx, port, packet);
        } else {
            self.simulated.handle_packet(cx, port, packet);
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        if key < self.host_timers {
            self.simulated.handle_timer(cx, key);
        } else {
            self.real.handle_timer(cx, key);
        }
    }
}
