//! Remarks on configurations that are valid but seldom intended.

use super::Scenario;
use crate::error::ScenarioError;
use crate::radio;

impl Scenario {
    /// Configurations that are valid but seldom intended, in the form of errors.
    pub fn remarks(&self) -> Vec<ScenarioError> {
        let of_cell = |(key, cell): (String, &radio::Config)| {
            cell.remarks().into_iter().map(move |remark| remark.under(&key)).collect::<Vec<_>>()
        };
        let of_cells = self.cells().into_iter().flat_map(of_cell);
        self.buffer_remarks()
            .into_iter()
            .chain(of_cells)
            .chain(self.handover_remarks())
            .chain(self.tcp_remarks())
            .collect()
    }

    /// Hand-overs that the run does not reach.
    fn handover_remarks(&self) -> impl Iterator<Item = ScenarioError> {
        let late = self.handover.iter().enumerate().filter(|(_, handover)| handover.at >= self.duration);
        late.map(|(index, handover)| {
            let message = format!("{} is not before the end of the run at {}", handover.at, self.duration);
            let hint = "write an earlier time, or a longer duration";
            ScenarioError::new(format!("handover[{index}].at"), message, hint)
        })
    }

    /// Receive buffers that bound the window only at first.
    fn tcp_remarks(&self) -> impl Iterator<Item = ScenarioError> {
        let flows = self.flow.iter().enumerate();
        let flows =
            flows.filter_map(|(index, flow)| Some((format!("flow[{index}].tcp"), flow.tcp.as_ref()?)));
        let all = std::iter::once(("tcp".to_owned(), &self.tcp)).chain(flows);
        all.filter_map(|(key, tcp)| Some(tcp.remark()?.under(&key)))
    }
}
