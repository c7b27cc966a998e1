//! Split bearers of a scenario: `[[ue]]` with `split`.

use super::{Moves, Scenario, Ue};
use crate::error::ScenarioError;
use crate::handover::Bearers;
use crate::link;
use crate::packet::Dir;
use crate::pdcp;
use crate::queue;
use crate::radio;
use crate::scenario::UeChoice;
use crate::split_bearer::{BearerPlan, Config, LegPlan};
use crate::time::{Duration, Instant};

impl Scenario {
    /// UEs with a split bearer: each with its place in the list, its first interface, and its parameters.
    fn split_ues(&self) -> impl Iterator<Item = (usize, u16, &Ue, &Config)> {
        let firsts = self.ue.iter().scan(0, |next, ue| {
            let own = *next;
            *next += ue.attach.len() as u16;
            Some(own)
        });
        let ues = self.ue.iter().enumerate().zip(firsts);
        ues.filter_map(|((place, ue), first)| Some((place, first, ue, ue.split.as_ref()?)))
    }

    /// The queues in front of PDCP, each with its place in the scenario.
    pub(in crate::scenario) fn split_queues(
        &self,
        dir: Dir,
    ) -> impl Iterator<Item = (String, &queue::Config)> {
        self.split_ues().map(move |(place, _, _, split)| {
            let queue = dir.pick(&split.downlink.queue, &split.uplink.queue);
            (format!("ue[{place}].split.{}.queue", dir.name()), queue)
        })
    }

    /// Interfaces that are legs of split bearers, each with PDCP.
    pub(super) fn legs(&self) -> Vec<(u16, pdcp::Config)> {
        self.split_ues()
            .flat_map(|(_, first, _, split)| [(first, split.pdcp.clone()), (first + 1, split.pdcp.clone())])
            .collect()
    }

    pub(super) fn is_leg(&self, interface: u16) -> bool {
        self.split_ues().any(|(_, first, ..)| (first..first + 2).contains(&interface))
    }

    /// Place at which the legs of a UE part: the way above its cells, `None` for the server.
    fn place_of(&self, ue: &Ue) -> Option<&str> {
        let first = ue.attach.first()?;
        self.cell.iter().find(|cell| cell.name == *first)?.behind.as_deref()
    }

    /// The split bearers whose legs part at a way, or at the server.
    pub(super) fn split_bearers(&self, place: Option<&str>) -> Vec<BearerPlan<'_>> {
        let here = self.split_ues().filter(|(_, _, ue, _)| self.place_of(ue) == place);
        let plans = here.map(|(_, first, ue, config)| {
            let leg = |number: u16| LegPlan {
                ue: first + number,
                delays: Dir::BOTH.map(|dir| self.delay_to(&ue.attach[usize::from(number)], dir)),
                absences: self.absences(first + number),
            };
            let primary = config.primary.as_ref().and_then(|name| ue.attach.iter().position(|to| to == name));
            BearerPlan {
                name: ue.name.clone(),
                config,
                legs: [leg(0), leg(1)],
                primary: primary.unwrap_or(0),
            }
        });
        plans.collect()
    }

    /// Delay of the link of a cell.
    fn delay_to(&self, cell: &str, dir: Dir) -> Duration {
        let wired = self.cell.iter().find(|own| own.name == cell).and_then(|cell| cell.wired.as_ref());
        wired.map_or(Duration::ZERO, |link: &link::Config| link.half(dir).delay)
    }

    /// When an interface is not there as a leg: during hand-overs to other cells, and while it is released.
    fn absences(&self, interface: u16) -> Vec<(Instant, Instant)> {
        let own = self.handover.iter().filter(|handover| handover.ue == interface);
        let absent = own.filter(|handover| handover.to.is_some() || handover.bearers == Bearers::Release);
        absent.map(|handover| (handover.leaves(), handover.switches())).collect()
    }

    /// Cells behind a way that give packets of legs back to split bearers, in the order of the scenario.
    pub(super) fn returning_cells(&self, moves: &Moves<'_>, place: Option<&str>) -> Vec<&str> {
        let behind = self.cell.iter().filter(|cell| cell.behind.as_deref() == place);
        behind.map(|cell| cell.name.as_str()).filter(|name| self.gives_back(moves, name)).collect()
    }

    fn gives_back(&self, moves: &Moves<'_>, cell: &str) -> bool {
        self.handover.iter().zip(&moves.ends).any(|(handover, ends)| {
            let Some((from, to)) = *ends else { return false };
            let leaves = if from == to { handover.bearers == Bearers::Release } else { !handover.forward };
            from == cell && leaves && self.is_leg(handover.ue)
        })
    }

    /// Refuses releases where nothing can be released.
    pub(super) fn refuse_releases(&self) -> Result<(), ScenarioError> {
        let released = |handover: &crate::handover::Config| {
            handover.bearers == Bearers::Release && !self.is_leg(handover.ue)
        };
        match self.handover.iter().position(released) {
            None => Ok(()),
            Some(index) => {
                let message = "\"release\" is for a leg of a split bearer, and the UE has none";
                let hint = "write \"pause\" or \"lose\", or give the [[ue]] a `split`";
                Err(ScenarioError::new(format!("handover[{index}].bearers"), message, hint))
            }
        }
    }

    /// Refuses split bearers whose legs are not two cells behind one way.
    pub(super) fn validate_split(&self) -> Result<(), ScenarioError> {
        self.refuse_releases()?;
        for (index, _, ue, split) in self.split_ues() {
            let error = |key: &str, message: String, hint: String| {
                Err(ScenarioError::new(format!("ue[{index}].{key}"), message, hint))
            };
            split.validate().map_err(|inner| inner.under("split").under(&format!("ue[{index}]")))?;
            let found: Vec<_> = ue
                .attach
                .iter()
                .filter_map(|to| self.cell.iter().position(|cell| cell.name == *to))
                .collect();
            let [one, other] = found[..] else {
                let message = format!("a split bearer has two legs, and {} of these is a cell", found.len());
                let message =
                    if found.len() > 1 { message.replace(" is a cell", " are cells") } else { message };
                return error("attach", message, "write the names of two cells, or remove `split`".into());
            };
            if ue.attach.len() != 2 || one == other {
                let message = "a split bearer has two legs, in two cells".to_owned();
                return error("attach", message, "write the names of two cells, or remove `split`".into());
            }
            if let Some(name) = split.primary.as_ref().filter(|name| !ue.attach.contains(name)) {
                let hint = format!("write \"{}\" or \"{}\"", ue.attach[0], ue.attach[1]);
                return error("split.primary", format!("the UE is not attached to \"{name}\""), hint);
            }
            if self.cell[one].behind != self.cell[other].behind {
                let message =
                    "its cells are not behind the same way, and PDCP is where the ways to them part";
                let hint = "let both cells be `behind` one [[way]], and write what leads to one of them as its `wired`";
                return error("attach", message.into(), hint.into());
            }
            for place in [one, other] {
                self.check_leg(place)?;
            }
        }
        for (index, flow) in self.flow.iter().enumerate() {
            let UeChoice::One(interface) = flow.ue else { continue };
            if let Some((.., ue, _)) = self.split_ues().find(|(_, first, ..)| interface == first + 1) {
                let name = &ue.name;
                let message =
                    format!("PDCP splits the bearer of \"{name}\" over its cells, and no flow has one alone");
                let hint = "remove the key, or remove `split` from the [[ue]]";
                return Err(ScenarioError::new(format!("flow[{index}].over"), message, hint));
            }
        }
        let moves = self.moves();
        let moved = self.handover.iter().enumerate().filter(|(_, handover)| self.is_leg(handover.ue));
        for (index, handover) in moved {
            let Some(to) = &handover.to else { continue };
            let cell = |name: &str| self.cell.iter().position(|cell| cell.name == name);
            let (Some((from, _)), Some(place)) = (moves.ends[index], cell(to)) else { continue };
            self.check_leg(place)?;
            if cell(from).is_none_or(|from| self.cell[from].behind != self.cell[place].behind) {
                let message = "a leg of a split bearer stays behind the way at whose end PDCP is";
                let hint = "choose a cell behind the same way";
                return Err(ScenarioError::new(format!("handover[{index}].to"), message, hint));
            }
        }
        Ok(())
    }

    /// Refuses a cell that has no leg of a split bearer.
    fn check_leg(&self, place: usize) -> Result<(), ScenarioError> {
        let radio = &self.cell[place].radio;
        let key = format!("cell[{place}].radio");
        match radio {
            radio::Config::Nr(nr) if nr.second_bearer.is_some() => {
                let message = "a leg of a split bearer is the UE's only bearer in the cell";
                Err(ScenarioError::new(format!("{key}.nr.second_bearer"), message, "remove the key"))
            }
            radio::Config::Lte(_) | radio::Config::Nr(_) | radio::Config::Variable(_) => Ok(()),
            other => {
                let message = format!("radio.{} has no leg of a split bearer", other.name());
                Err(ScenarioError::new(key, message, "choose radio.lte, radio.nr or radio.variable"))
            }
        }
    }
}
