//! Reports of regions, joined to those of the whole path.

use super::Windows;
use crate::host::{FlowReport, Host, flow_reports};
use serde_json::Value;
use std::ops::Range;

/// Which nodes of the regions are one node of the whole path.
pub(super) struct Plan {
    /// By region: nodes that other regions do not have. All have the same nodes before and after them.
    pub own: Vec<Range<usize>>,
    /// Name of the link between the regions, if nodes have names.
    pub wire: Option<String>,
    /// Index of the host of the server, and of that of the UEs without nodes of a region's own.
    pub ends: (usize, usize),
}

impl Windows {
    /// Reports of all flows, by UE.
    pub fn flows(&self) -> Vec<FlowReport> {
        let mut flows = Vec::new();
        for (group, own) in self.groups().zip(&self.layout.own) {
            let (first, last) = self.layout.ends;
            let path = &group.radio.path;
            let own_server = group.server.as_ref().map(|region| &region.path);
            let at_server = own_server.unwrap_or(path);
            let ues = path.element::<Host>(last + own.len());
            if let (Some(server), Some(ues)) = (at_server.element::<Host>(first), ues) {
                let dropped = |ue, flow, dir| {
                    let both = own_server.into_iter().chain([path]);
                    both.map(|part| part.datagrams_dropped(ue, flow, dir)).sum()
                };
                flows.extend(flow_reports(server, ues, self.now, dropped));
            }
        }
        flows.sort_by_key(|flow| (flow.ue, flow.flow));
        flows
    }

    /// Reports of all elements, in the order of the whole path.
    pub fn reports(&mut self) -> Vec<Value> {
        let wire = self.border.as_ref().map(|border| {
            let mut report = border.wire.report();
            if let Some(name) = &self.layout.wire {
                report["node"] = name.as_str().into();
            }
            report
        });
        let (mut before, mut inside, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let count = self.tasks.len();
        for (number, own) in self.layout.own.iter().enumerate() {
            let group = &mut self.tasks[number % count].chunk.groups[number / count];
            let mut reports = group.radio.path.reports();
            join(&mut after, reports.split_off(own.end));
            inside.extend(reports.split_off(own.start));
            join(&mut before, reports);
        }
        wire.into_iter().chain(before).chain(inside).chain(after).collect()
    }
}

/// Adds the reports of the same nodes in another region.
fn join(all: &mut Vec<Value>, more: Vec<Value>) {
    if all.is_empty() {
        *all = more;
        return;
    }
    for (own, other) in all.iter_mut().zip(more) {
        add(own, other);
    }
}

/// Adds what one region counted at a node to what others have: UEs follow, packets of ways are added.
fn add(own: &mut Value, other: Value) {
    let Value::Object(other) = other else { return };
    for (key, value) in other {
        match (key.as_str(), own.get_mut(&key), value) {
            ("ues", Some(Value::Array(ues)), Value::Array(more)) => ues.extend(more),
            ("packets", Some(Value::Array(counts)), Value::Array(more)) => {
                for (count, other_count) in counts.iter_mut().zip(more) {
                    *count = (count.as_u64().unwrap_or(0) + other_count.as_u64().unwrap_or(0)).into();
                }
            }
            _ => {}
        }
    }
}
