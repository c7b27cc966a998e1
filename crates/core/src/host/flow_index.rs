//! Which of a run's flows a packet belongs to.

use super::FlowSpec;

/// Positions of flows that are sorted by UE and numbered from zero at each.
pub(crate) struct FlowIndex {
    /// Index of the first flow of each UE, followed by the total number of flows.
    pub first_of_ue: Vec<u32>,
}

impl FlowIndex {
    /// For the flows of `ues` UEs.
    pub fn new(ues: u16, flows: &[FlowSpec]) -> Self {
        let first = |ue: u16| flows.partition_point(|flow| flow.ue < ue) as u32;
        Self { first_of_ue: (0..=ues).map(first).collect() }
    }

    /// Position of flow `flow` of UE `ue`, if there is one.
    #[inline]
    pub fn position(&self, ue: u16, flow: u16) -> Option<usize> {
        let ue = usize::from(ue);
        let &[first, end] = self.first_of_ue.get(ue..ue + 2)? else { return None };
        let index = first + u32::from(flow);
        (index < end).then_some(index as usize)
    }
}
