//! How many packets of some UEs were dropped and marked: a count of events.

use super::{Event, Kind, ProbeMask};
use std::collections::BTreeMap;

/// Outcomes of the packets of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Packets that were dropped, by reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Packets that a queue discipline marked instead of dropping.
    pub marked: u64,
}

impl Outcomes {
    /// Adds the kinds of event that are counted.
    pub fn recorded_with(probes: ProbeMask) -> ProbeMask {
        probes.with(Kind::Dropped).with(Kind::Marked)
    }

    /// Counts an event, by direction, if it is about a packet of these UEs.
    pub fn count(both: &mut [Self; 2], event: &Event, ues: &[u16]) {
        match event {
            Event::Dropped { ue, direction, reason, .. } if ues.contains(ue) => {
                *both[direction.index()].reasons.entry(reason.name()).or_default() += 1;
            }
            Event::Marked { ue, direction, .. } if ues.contains(ue) => both[direction.index()].marked += 1,
            _ => {}
        }
    }

    /// Packets that were dropped.
    pub fn dropped(&self) -> u64 {
        self.reasons.values().sum()
    }
}
