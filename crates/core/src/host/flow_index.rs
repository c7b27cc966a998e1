//! Which of a run's flows a packet belongs to.

use super::FlowSpec;
use std::ops::Range;

/// Positions of flows that are sorted by UE and numbered from zero at each.
pub(crate) struct FlowIndex {
    /// First flow of each UE and end (exclusive) of its flows: both in one word, for one check and one load per packet.
    of_ue: Vec<[u32; 2]>,
    first_ue: u16,
}

impl FlowIndex {
    /// For the flows of these UEs, which follow each other.
    pub fn new(ues: Range<u16>, flows: &[FlowSpec]) -> Self {
        let first = |ue: u16| flows.partition_point(|flow| flow.ue < ue) as u32;
        let first_ue = ues.start;
        Self { of_ue: ues.map(|ue| [first(ue), first(ue + 1)]).collect(), first_ue }
    }

    /// Index of the first flow of each UE, followed by the total number of flows.
    pub fn first_of_ue(&self) -> Vec<u32> {
        let firsts = self.of_ue.iter().map(|[first, _]| *first);
        firsts.chain(self.of_ue.last().map(|[_, end]| *end)).collect()
    }

    /// Position of flow `flow` of UE `ue`, if there is one.
    #[inline]
    pub fn position(&self, ue: u16, flow: u16) -> Option<usize> {
        let &[first, end] = self.of_ue.get(usize::from(ue.wrapping_sub(self.first_ue)))?;
        let index = first + u32::from(flow);
        (index < end).then_some(index as usize)
    }
}
