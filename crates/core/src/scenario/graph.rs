//! Scenarios with several cells, wired links and interfaces: `[[way]]`, `[[cell]]` and `[[ue]]`.
//!
//! Ways and cells form a tree whose root is the server. Interfaces of UEs are attached to its leaves, and each has its
//! own index, in the order of the UEs and of `attach`: the `ue` of flows, results and traces. A scenario with one cell
//! has `[wired]`, `[[middlebox]]` and `[radio]` instead, and as many UEs as the cell says.
//!
//! Left out: `[umts]`; the delay of forwarding between cells, and end markers; boxes keep their state across a change
//! of cell.

mod checks;
mod measured;
mod names;
mod plan;
mod split;

use super::Scenario;
use crate::error::ScenarioError;
use crate::handover::{Bearers, Episode, Role};
use crate::link;
use crate::middlebox;
use crate::radio;
use crate::split_bearer;
pub(super) use names::{OF_ONE_CELL, resolve};
pub use plan::Plan;
pub(crate) use plan::{Part, Split};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A wired link from the server, or from the end of another way, to cells, further ways and wired interfaces.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Way {
    /// Name that cells, ways and UEs refer to.
    pub name: String,
    /// Name of the way at whose end it begins; at the server if absent.
    pub behind: Option<String>,
    /// The link.
    pub wired: link::Config,
    /// Boxes after the link, from the server's side.
    pub middlebox: Vec<middlebox::Config>,
}

/// A cell, with the link and boxes that lead only to it.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cell {
    /// Name that UEs and hand-overs refer to.
    pub name: String,
    /// Name of the way at whose end it is; at the server if absent.
    pub behind: Option<String>,
    /// Link to the cell, in addition to those of the ways.
    pub wired: Option<link::Config>,
    /// Boxes between that link and the cell, and between the cell and the UEs, each from the server's side.
    pub middlebox: Vec<middlebox::Config>,
    /// The cell itself; its number of UEs is the number of all interfaces.
    pub radio: radio::Config,
}

/// A UE.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ue {
    /// Name that flows and hand-overs refer to.
    pub name: String,
    /// Names of the cells and ways that it is attached to at the start, each with a separate interface.
    pub attach: Vec<String>,
    /// A bearer that PDCP splits over the two cells it is attached to (EN-DC, NR-DC); its interfaces are the legs. If absent,
    /// each interface has a bearer of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<split_bearer::Config>,
}

impl Cell {
    /// Name of its element in the graph.
    pub(crate) fn node_name(&self) -> String {
        format!("radio.{} {}", self.radio.name(), self.name)
    }
}

impl Scenario {
    /// Whether the scenario has the form with several cells.
    pub(crate) fn is_graph(&self) -> bool {
        !(self.way.is_empty() && self.cell.is_empty() && self.ue.is_empty())
    }

    /// Number of UEs or, in the form with `[[ue]]`, of their interfaces.
    pub fn ues(&self) -> u16 {
        if self.is_graph() { self.interfaces().count() as u16 } else { self.radio.ues() }
    }

    /// Name of each interface, in the form with `[[ue]]`: that of its UE, with the place where it is attached at the start
    /// if the UE has several.
    pub fn interface_names(&self) -> Vec<String> {
        let name = |(ue, to): (&Ue, &String)| match ue.attach.len() {
            1 => ue.name.clone(),
            _ => format!("{} over {to}", ue.name),
        };
        self.interfaces().map(name).collect()
    }

    /// Numbers of the interfaces of a UE, which is given by its name or its number; of the first if absent.
    ///
    /// # Errors
    /// If there is no such UE.
    pub fn interfaces_of(&self, ue: Option<&str>) -> Result<Vec<u16>, ScenarioError> {
        let count = if self.is_graph() { self.ue.len() } else { self.ues().into() };
        let named = |name: &str| self.ue.iter().position(|own| own.name == name);
        let index = match ue {
            None => Some(0),
            Some(ue) => named(ue).or_else(|| ue.parse().ok().filter(|number| *number < count)),
        };
        let Some(index) = index else {
            let message = format!("there is no UE '{}'", ue.unwrap_or_default());
            let names: Vec<_> = self.ue.iter().map(|own| own.name.as_str()).collect();
            let hint = match names[..] {
                [] => format!("write a number below {count}"),
                _ => format!("write one of {}", names.join(", ")),
            };
            return Err(ScenarioError::new("ue", message, hint));
        };
        let attached = |own: &Ue| own.attach.len() as u16;
        let first = match self.ue.get(..index) {
            Some(before) => before.iter().map(attached).sum(),
            None => index as u16,
        };
        Ok((first..first + self.ue.get(index).map_or(1, attached)).collect())
    }

    pub(in crate::scenario) fn interfaces(&self) -> impl Iterator<Item = (&Ue, &String)> {
        self.ue.iter().flat_map(|ue| ue.attach.iter().map(move |to| (ue, to)))
    }

    /// Every cell with its key.
    pub fn cells(&self) -> Vec<(String, &radio::Config)> {
        if !self.is_graph() {
            return vec![("radio".to_owned(), &self.radio)];
        }
        let numbered = self.cell.iter().enumerate();
        numbered.map(|(index, cell)| (format!("cell[{index}].radio"), &cell.radio)).collect()
    }

    /// Every wired link with its key.
    pub(super) fn wires(&self) -> Vec<(String, &link::Config)> {
        if !self.is_graph() {
            return vec![("wired".to_owned(), &self.wired)];
        }
        let ways =
            self.way.iter().enumerate().map(|(index, way)| (format!("way[{index}].wired"), &way.wired));
        let cells = self.cell.iter().enumerate();
        let cells =
            cells.filter_map(|(index, cell)| Some((format!("cell[{index}].wired"), cell.wired.as_ref()?)));
        ways.chain(cells).collect()
    }

    /// Every box with its key and the cells whose bearers it may read.
    pub(super) fn boxes(&self) -> Vec<(String, &middlebox::Config, Vec<&radio::Config>)> {
        let keyed = |place: String, boxes: &'_ [middlebox::Config]| {
            (0..boxes.len()).map(move |index| format!("{place}middlebox[{index}]")).collect::<Vec<_>>()
        };
        let mut all = Vec::new();
        let mut add = |place: String, boxes, cells: Vec<_>| {
            for (key, config) in keyed(place, boxes).into_iter().zip(boxes) {
                all.push((key, config, cells.clone()));
            }
        };
        if !self.is_graph() {
            add(String::new(), &self.middlebox[..], vec![&self.radio]);
        }
        for (index, way) in self.way.iter().enumerate() {
            let below = self.cell.iter().filter(|cell| self.is_behind(cell.behind.as_deref(), &way.name));
            add(format!("way[{index}]."), &way.middlebox, below.map(|cell| &cell.radio).collect());
        }
        for (index, cell) in self.cell.iter().enumerate() {
            add(format!("cell[{index}]."), &cell.middlebox, vec![&cell.radio]);
        }
        all
    }

    /// Whether `place` is below the way `name`, at any distance.
    fn is_behind(&self, place: Option<&str>, name: &str) -> bool {
        let mut here = place;
        for _ in 0..=self.way.len() {
            match here {
                Some(at) if at == name => return true,
                Some(at) => {
                    here = self.way.iter().find(|way| way.name == at).and_then(|way| way.behind.as_deref())
                }
                None => return false,
            }
        }
        false
    }

    /// Where the hand-overs lead.
    fn moves(&self) -> Moves<'_> {
        let mut here: Vec<&str> = self.interfaces().map(|(_, to)| to.as_str()).collect();
        let mut in_time: Vec<usize> = (0..self.handover.len()).collect();
        in_time.sort_by_key(|number| self.handover[*number].at);
        let mut ends = vec![None; self.handover.len()];
        // Of hand-overs at the same time, none follows another.
        for same in in_time.chunk_by(|one, other| self.handover[*one].at == self.handover[*other].at) {
            for number in same {
                let handover = &self.handover[*number];
                let from = here.get(usize::from(handover.ue));
                ends[*number] = from.map(|from| (*from, handover.to.as_deref().unwrap_or(from)));
            }
            for handover in same.iter().map(|number| &self.handover[*number]) {
                if let (Some(here), Some(to)) = (here.get_mut(usize::from(handover.ue)), &handover.to) {
                    *here = to;
                }
            }
        }
        let mut neighbours: Vec<[&str; 2]> = Vec::new();
        let forwarded = self.handover.iter().zip(&ends).filter(|(handover, _)| handover.forward);
        for (from, to) in forwarded.filter_map(|(_, own)| *own) {
            if from != to && !neighbours.contains(&[from, to]) && !neighbours.contains(&[to, from]) {
                neighbours.push([from, to]);
            }
        }
        Moves { ends, neighbours }
    }

    /// The hand-overs as seen by one cell.
    fn episodes(&self, moves: &Moves<'_>, cell: &str) -> Vec<Episode> {
        let each = self.handover.iter().zip(&moves.ends).filter_map(|(handover, ends)| {
            let (from, to) = (*ends)?;
            let role = match (from == cell, to == cell) {
                (true, true) if handover.bearers == Bearers::Release => Role::Release,
                (true, true) => Role::Stay,
                (true, false) => Role::Leave,
                (false, true) => Role::Enter,
                (false, false) => return None,
            };
            let forward = match role {
                Role::Leave if handover.forward => moves.side(cell, to),
                Role::Leave | Role::Release => self.is_leg(handover.ue).then(|| moves.last_side(cell)),
                Role::Stay | Role::Enter => None,
            };
            Some(Episode { handover: handover.clone(), role, forward })
        });
        each.collect()
    }
}

/// Where hand-overs lead. Found once for all of them, as `[mobility]` makes thousands.
struct Moves<'a> {
    /// By hand-over: attachment of the interface before and after it.
    ends: Vec<Option<(&'a str, &'a str)>>,
    /// Pairs of cells between which packets are forwarded, in either order, each once.
    neighbours: Vec<[&'a str; 2]>,
}

impl Moves<'_> {
    /// Index of the pair of ports that a cell uses to forward to another one, from 1.
    fn side(&self, cell: &str, to: &str) -> Option<u16> {
        let mut own = self.neighbours.iter().filter(|pair| pair.contains(&cell));
        own.position(|pair| pair.contains(&to)).map(|index| index as u16 + 1)
    }

    /// Index of the pair of ports that a cell uses to give packets back to a split bearer: after those to other cells.
    fn last_side(&self, cell: &str) -> u16 {
        self.neighbours.iter().filter(|pair| pair.contains(&cell)).count() as u16 + 1
    }
}
