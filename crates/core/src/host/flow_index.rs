//! Which of a run's flows a packet belongs to.

use super::FlowSpec;
use std::ops::Range;

/// Positions of flows that are sorted by UE and numbered from zero at each.
pub(crate) struct FlowIndex {
    /// Index of the first flow of each UE, followed by the total number of flows.
    pub first_of_ue: Vec<u32>,
    first_ue: u16,
}

impl FlowIndex {
    /// For the flows of these UEs, which follow each other.
    pub fn new(ues: Range<u16>, flows: &[FlowSpec]) -> Self {
        let first = |ue: u16| flows.partition_point(|flow| flow.ue < ue) as u32;
        Self { first_of_ue: (ues.start..=ues.end).map(first).collect(), first_ue: ues.start }
    }

    /// Position of flow `flow` of UE `ue`, if there is one.
    #[inline]
    pub fn position(&self, ue: u16, flow: u16) -> Option<usize> {
        let ue = usize::from(ue.wrapping_sub(self.first_ue));
        let &[first, end] = self.first_of_ue.get(ue..ue + 2)? else { return None };
        let index = first + u32::from(flow);
        (index < end).then_some(index as usize)
    }
}
