//! Hand-overs that UEs measure, in a scenario with several cells.

use super::Scenario;
use crate::error::ScenarioError;
use crate::mobility::{self, CellAir, Walker};
use crate::radio;

impl Scenario {
    /// Adds the hand-overs that UEs measure. Returns what they receive, by cell; nothing without `[mobility]`.
    pub(super) fn measure(&mut self, run_seed: u64) -> Vec<CellAir> {
        let Some(config) = &self.mobility else { return Vec::new() };
        let cells: Vec<&str> = self.cell.iter().map(|cell| cell.name.as_str()).collect();
        let walkers: Vec<_> = self.walkers(config).collect();
        let measured = self.cell.get(walkers.first().map_or(0, |walker| walker.cell));
        let subcarrier_hz = measured.and_then(|cell| cell.radio.subcarrier_hz()).unwrap_or(15e3);
        let about = (self.duration, subcarrier_hz, self.ues());
        let (handovers, airs) = mobility::plan(config, run_seed, about, &cells, &walkers);
        self.handover.extend(handovers);
        airs
    }

    /// Interfaces attached to cells that their UEs receive.
    fn walkers<'a>(&'a self, config: &'a mobility::Config) -> impl Iterator<Item = Walker<'a>> {
        let attached = (0..).zip(self.interfaces());
        attached.filter_map(|(number, (ue, to))| {
            let cell = self.cell.iter().position(|cell| cell.name == *to)?;
            let hears = config.series.rows.hears(&ue.name, to);
            hears.then_some(Walker { ue: number, name: &ue.name, cell })
        })
    }

    /// Refuses measurements of nothing, and of cells that cannot be compared.
    pub(in crate::scenario) fn validate_mobility(&self) -> Result<(), ScenarioError> {
        let Some(config) = &self.mobility else { return Ok(()) };
        let error = |key: &str, message: String, hint: String| {
            Err(ScenarioError::new(format!("mobility{key}"), message, hint))
        };
        if !self.is_graph() {
            let message = "the scenario has one cell, and no other one to measure".into();
            return error("", message, "remove the table, or write [[cell]] and [[ue]]".into());
        }
        config.validate().map_err(|inner| inner.under("mobility"))?;
        let cells: Vec<_> = self.cell.iter().map(|cell| cell.name.as_str()).collect();
        let ues: Vec<_> = self.ue.iter().map(|ue| ue.name.as_str()).collect();
        let is_known = |name: &str| {
            let of_ue = |ue: &str| name.strip_prefix(ue).and_then(|rest| rest.strip_prefix('.'));
            cells.contains(&name) || ues.iter().any(|ue| of_ue(ue).is_some_and(|cell| cells.contains(&cell)))
        };
        if let Some(name) = config.series.rows.names().find(|name| !is_known(name)) {
            let message = format!("the column {name}_dbm is of no cell");
            let hint = format!("write CELL_dbm or UE.CELL_dbm; cells: {}", cells.join(", "));
            return error(".series.rows", message, hint);
        }
        let walkers: Vec<_> = self.walkers(config).collect();
        if walkers.is_empty() {
            let message = "no UE is attached to a cell that it hears".into();
            let hint = "write a column NAME_dbm for each cell, that of the UEs' start among them";
            return error(".series", message, hint.into());
        }
        let twice =
            |walker: &&Walker<'_>| walkers.iter().filter(|other| other.name == walker.name).count() > 1;
        if let Some(walker) = walkers.iter().find(twice) {
            let message = format!("the UE \"{}\" hears cells with two interfaces", walker.name);
            return error(".series", message, "attach it to one of the cells".into());
        }
        let moved = |ue: u16| walkers.iter().any(|walker| walker.ue == ue);
        if let Some(index) = self.handover.iter().position(|handover| moved(handover.ue)) {
            let message = "the UE measures, and its hand-overs follow from that";
            let hint = "remove the hand-over, or the columns of its cells from mobility.series";
            return Err(ScenarioError::new(format!("handover[{index}].ue"), message, hint));
        }
        let is_heard = |name: &str| walkers.iter().any(|walker| config.series.rows.hears(walker.name, name));
        let mut kinds: Vec<(usize, &radio::Config, f64)> = Vec::new();
        for (index, cell) in self.cell.iter().enumerate().filter(|(_, cell)| is_heard(&cell.name)) {
            let key = format!("cell[{index}].radio");
            let Some(subcarrier_hz) = cell.radio.subcarrier_hz() else {
                let message = format!("UEs do not measure radio.{}", cell.radio.name());
                let hint = "choose radio.lte or radio.nr, or remove its column from mobility.series";
                return Err(ScenarioError::new(key, message, hint));
            };
            if let Some((first, other, hz)) = kinds.first()
                && (other.name() != cell.radio.name() || *hz != subcarrier_hz)
            {
                let message =
                    format!("is of another kind, or has other subcarriers, than cell[{first}].radio");
                let hint = "let all cells that UEs measure be alike in both";
                return Err(ScenarioError::new(key, message, hint));
            }
            kinds.push((index, &cell.radio, subcarrier_hz));
        }
        Ok(())
    }
}
