//! A tap: counts passing packets without changing them.
//!
//! It counts segments with data, pure ACKs, and the packets whose TCP header it cannot read, by the
//! reason why. It is also the smallest example of a middlebox.

use super::{Component, Plan};
use crate::element::{Cx, Early, Element, Layout, Port};
use crate::packet::{Kind, Opaque, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Counts passing packets without changing them.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Component for Config {
    fn follows_connections(&self) -> bool {
        false
    }

    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        Box::new(Tap::default())
    }
}

#[derive(Default, Serialize)]
struct Counts {
    data_segments: u64,
    pure_acks: u64,
    bytes: u64,
    passed_unread: OpaqueCounts,
}

/// Packets whose TCP header could not be read, by the reason why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OpaqueCounts {
    /// Another protocol.
    pub other_protocol: u64,
    /// ESP or AH.
    pub encrypted: u64,
    /// Fragments.
    pub fragment: u64,
    /// Headers that contradict themselves.
    pub malformed: u64,
}

impl OpaqueCounts {
    /// Counts a packet.
    pub fn count(&mut self, why: Opaque) {
        *match why {
            Opaque::OtherProtocol => &mut self.other_protocol,
            Opaque::Encrypted => &mut self.encrypted,
            Opaque::Fragment => &mut self.fragment,
            Opaque::Malformed => &mut self.malformed,
        } += 1;
    }
}

#[derive(Default)]
struct Tap {
    counts: [Counts; 2],
}

impl Element for Tap {
    fn layout(&self) -> Layout {
        Layout { passes_on: true, early: [Early::OfUe; 2], ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let counts = &mut self.counts[dir.index()];
        counts.bytes += u64::from(packet.len);
        match packet.kind() {
            Kind::Tcp if packet.payload > 0 => counts.data_segments += 1,
            Kind::Tcp => counts.pure_acks += 1,
            Kind::Opaque(why) => counts.passed_unread.count(why),
        }
        cx.emit(dir, packet);
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        let [downlink, uplink] = &self.counts;
        json!({ "element": "middlebox.tap", "downlink": downlink, "uplink": uplink })
    }
}
