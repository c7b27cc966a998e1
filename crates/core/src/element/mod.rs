//! The seam: a node of the path, and what it may do.
//!
//! Every link, middlebox, cell and host is an [`Element`]. A middlebox has two ports, towards the server and towards
//! the UE. The path calls an element when a packet arrives, when one of its timers expires, and for the events that its
//! [`Layout`] subscribes to. The call passes a [`Cx`] to emit packets, arm timers, drop and trace. An element owns
//! neither a clock nor a queue of events: packets in flight and timers belong to the path.
//!
//! ```
//! use airpath_core::element::{Cx, Element, Layout, Port};
//! use airpath_core::packet::{Dir, Packet};
//! use airpath_core::time::Duration;
//!
//! /// Delays each packet towards the UE by 5 ms.
//! struct Delay;
//!
//! impl Element for Delay {
//!     fn layout(&self) -> Layout {
//!         Layout { lanes: vec![Dir::Downlink], ..Layout::default() }
//!     }
//!
//!     fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
//!         match port.dir() {
//!             Dir::Downlink => cx.emit_at(cx.now + Duration::from_millis(5), 0, packet),
//!             Dir::Uplink => cx.emit(port.through(), packet),
//!         }
//!     }
//! }
//! ```
//!
//! Contract, tested for everything registered: each packet that comes in goes out, is held, or is dropped with a
//! reason; the work at one instant is bounded; the same seed gives the same trace.

mod bearer;
mod capture;
mod change;
mod early;
mod engine;
mod graph;
mod layout;
mod lookahead;

pub use crate::port::Port;
pub use crate::trace::Outage;
pub use bearer::{Bearer, BearerView, FlowView, RadioEvent, RadioEventKind};
pub(crate) use bearer::{FAR, Terms};
pub use capture::Capture;
pub(crate) use capture::PDU_INTERFACE;
pub use change::{Adopt, Change, adopt, as_same};
pub(crate) use early::{keeps_order, lanes_ahead};
pub use engine::Cx;
pub(crate) use engine::{Base, Engine, Handover, bearer_index};
pub(crate) use graph::Topology;
pub use graph::{Graph, Joint, NodeId};
pub(crate) use layout::watches_bearers;
pub use layout::{Early, Layout};
pub(crate) use lookahead::Lookahead;

use crate::packet::Packet;
use serde::Serialize;
use serde_json::Value;
use std::any::Any;

/// A box on the path.
pub trait Element: Any + Send + Sync {
    /// What the element needs from the path; asked once, at build.
    fn layout(&self) -> Layout;

    /// Connected ports: both ports of an inline element by default. Called once, at build.
    fn ports(&self) -> Vec<Port> {
        vec![Port::UP, Port::DOWN]
    }

    /// Called once before anything else, at the start of the run.
    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        let _ = cx;
    }

    /// A packet arrived at a port.
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>);

    /// The timer armed under `key` expired; `cx.now` is the instant it was armed for.
    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        let _ = (cx, key);
    }

    /// Something happened in a bearer's buffer. Only called if the layout subscribes, to all or to drops.
    fn handle_radio(&mut self, cx: &mut Cx<'_>, event: &RadioEvent) {
        let _ = (cx, event);
    }

    /// A capture begins: what was before it may be announced.
    fn handle_capture(&mut self, cx: &mut Cx<'_>) {
        let _ = cx;
    }

    /// A hand-over of a UE. Only called if the layout subscribes.
    fn handle_outage(&mut self, cx: &mut Cx<'_>, ue: u16, phase: Outage) {
        let _ = (cx, ue, phase);
    }

    /// A parameter changes, or an outage starts, while the path runs: see [`Change`]. Returns whether anything is
    /// different from now on. Only called on a path that may change ([`Graph::set_may_change`]).
    fn handle_change(&mut self, cx: &mut Cx<'_>, change: Change) -> bool {
        let _ = (cx, change);
        false
    }

    /// Starts to load what the next events need and is so many pointers away from the element. Called with rising depths
    /// before a region of few UEs is run, see [`windows`](crate::windows): the pointers of one depth are on their way
    /// for all elements before the next depth follows them. A hint, on which nothing depends.
    fn prefetch(&self, depth: u8) {
        let _ = depth;
    }

    /// What the element counted, for the results of the run.
    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let _ = cx;
        serde_json::Value::Null
    }

    /// Returns a report for each element that this one represents, from the server's side.
    fn reports(&self, cx: &mut Cx<'_>) -> Vec<serde_json::Value> {
        vec![self.report(cx)]
    }
}

/// Appends counters to a report.
pub fn with_counters(mut report: Value, counters: &impl Serialize) -> Value {
    if let (Some(all), Ok(Value::Object(counted))) = (report.as_object_mut(), serde_json::to_value(counters))
    {
        all.extend(counted);
    }
    report
}
