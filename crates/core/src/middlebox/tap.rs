//! A tap: counts what passes and changes nothing.
//!
//! It counts segments with data, pure ACKs, and the packets whose TCP header it cannot read, by the
//! reason why. It is also the smallest example of a middlebox.

use super::{Component, Plan};
use crate::element::{Cx, Element, Layout};
use crate::packet::{Dir, Kind, Opaque, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Counts what passes and changes nothing.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Component for Config {
    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        Box::new(Tap::default())
    }
}

#[derive(Default)]
struct Counts {
    data: u64,
    acks: u64,
    bytes: u64,
    other_protocol: u64,
    encrypted: u64,
    fragments: u64,
    malformed: u64,
}

#[derive(Default)]
struct Tap {
    counts: [Counts; 2],
}

impl Element for Tap {
    fn layout(&self) -> Layout {
        Layout { passes_on: true, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        let counts = &mut self.counts[dir.index()];
        counts.bytes += u64::from(packet.len);
        match packet.kind {
            Kind::Tcp if packet.payload > 0 => counts.data += 1,
            Kind::Tcp => counts.acks += 1,
            Kind::Opaque(Opaque::OtherProtocol) => counts.other_protocol += 1,
            Kind::Opaque(Opaque::Encrypted) => counts.encrypted += 1,
            Kind::Opaque(Opaque::Fragment) => counts.fragments += 1,
            Kind::Opaque(Opaque::Malformed) => counts.malformed += 1,
        }
        cx.emit(dir, packet);
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        let [downlink, uplink] = self.counts.each_ref().map(|counts| {
            json!({
                "data_segments": counts.data,
                "pure_acks": counts.acks,
                "bytes": counts.bytes,
                "passed_unread": {
                    "other_protocol": counts.other_protocol,
                    "encrypted": counts.encrypted,
                    "fragment": counts.fragments,
                    "malformed": counts.malformed,
                },
            })
        });
        json!({ "element": "middlebox.tap", "downlink": downlink, "uplink": uplink })
    }
}
