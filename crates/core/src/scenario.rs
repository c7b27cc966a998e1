//! Scenarios: everything that describes a run except its seed, as TOML.
//!
//! A scenario is read in three steps, each with errors that name the key: text to a table (with `path=value` overrides
//! applied, and named files replaced by their contents), table to configuration (unknown keys are refused), and
//! validation of constraints that the types cannot express. The resolved scenario, with every default written out,
//! reads back as the same scenario.

mod buffers;
mod change;
mod choice;
mod files;
mod graph;
mod paths;
mod reader;
mod remarks;
mod size;
mod table;

pub use change::{Change, Prepared, Step};
pub use graph::{Cell, Plan, Ue, Way};
pub(crate) use graph::{Part, Split};
pub use paths::{Multipath, Over, Place as Attachment};
pub use size::check_size;

use crate::app;
use crate::element::{Element, Graph};
use crate::error::ScenarioError;
use crate::handover::{self, Episode};
use crate::host::{FlowSpec, Host};
use crate::link;
use crate::middlebox::{self, Place};
use crate::mobility;
use crate::packet::Dir;
use crate::radio;
use crate::tcp;
use crate::time::{Duration, Instant};
use crate::umts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use toml::Table;

/// Names and texts of the bundled scenarios, sorted: every file of the folder `scenarios`. The first line of each is
/// its title.
pub const BUNDLED: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// Text of the bundled scenario of this name.
pub fn bundled(name: &str) -> Option<&'static str> {
    BUNDLED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Ports of a UE, from 49152 up: RFC 6335 (6).
const MOST_CONNECTIONS: usize = 16_384;

/// A scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The run ends here, or earlier when every transfer is finite and complete.
    pub duration: Duration,
    /// Wired links of a scenario with several cells or interfaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub way: Vec<Way>,
    /// Cells, if there are several or they have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cell: Vec<Cell>,
    /// UEs with names and interfaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ue: Vec<Ue>,
    /// Link between the server and the network-side mechanisms.
    pub wired: link::Config,
    /// Boxes between the wired link and the cell, and between the cell and the UEs, each from the server's side.
    pub middlebox: Vec<middlebox::Config>,
    /// The cell.
    pub radio: radio::Config,
    /// The core network between the wired link and the boxes in the network; without it there are no tunnels.
    pub umts: Option<umts::Config>,
    /// Changes of cell, each at a given time.
    pub handover: Vec<handover::Config>,
    /// Hand-overs between named cells that UEs measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mobility: Option<mobility::Config>,
    /// Changes of parameters, and outages, while it runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<Change>,
    /// TCP endpoints of every flow without settings of its own.
    pub tcp: tcp::Config,
    /// Flows.
    pub flow: Vec<Flow>,
    /// Whether a driver may change the scenario while it runs, in addition to the list of changes.
    #[serde(skip)]
    pub is_steered: bool,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(60),
            way: Vec::new(),
            cell: Vec::new(),
            ue: Vec::new(),
            wired: link::Config::default(),
            middlebox: Vec::new(),
            radio: radio::Config::default(),
            umts: None,
            handover: Vec::new(),
            mobility: None,
            change: Vec::new(),
            tcp: tcp::Config::default(),
            flow: Vec::new(),
            is_steered: false,
        }
    }
}

/// A flow, or the same flow for each UE.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Flow {
    /// Number of the UE, or "each". With `[[ue]]` its name, or the index of the interface; "each" then means each
    /// interface.
    pub ue: UeChoice,
    /// If the UE is given by name and has several interfaces: the cell or way that the interface is attached to at the
    /// start; the UE's first interface if absent. A list of them makes the flow a connection over several paths, which
    /// the first one opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
    /// With a list in `over`: how the paths are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multipath: Option<Multipath>,
    /// Direction of the data.
    pub direction: Dir,
    /// When the application starts.
    pub start: Duration,
    /// From when on the application sends nothing new: what it has sent by then is still repaired. It sends until the run
    /// ends if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// With `ue = "each"`: UE n starts n times this later.
    pub stagger: Duration,
    /// Whether its packets are encrypted end to end, as by ESP (RFC 4303): middleboxes then cannot read TCP and forward
    /// the packets unread. Packets keep their size.
    pub encrypted: bool,
    /// The application of the flow.
    pub app: app::Config,
    /// Keys of the endpoints that differ from `[tcp]`.
    pub tcp: Option<tcp::Config>,
}

/// One UE or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "not a UE; write its number, or \"each\"")]
pub enum UeChoice {
    /// The UE with this number, from 0.
    One(u16),
    /// Every UE.
    Each(Each),
}

/// The word "each".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Each {
    /// Every UE.
    Each,
}

impl UeChoice {
    /// Whether the UE with this number has the flow.
    pub fn includes(self, ue: u16) -> bool {
        match self {
            Self::One(one) => one == ue,
            Self::Each(Each::Each) => true,
        }
    }
}

impl Default for UeChoice {
    fn default() -> Self {
        Self::One(0)
    }
}

impl Scenario {
    /// Reads a scenario and applies overrides, each a dotted path and a value in TOML or a bare word.
    ///
    /// # Errors
    /// The error names the key, the problem, and a valid value. A scenario that names files is refused: see
    /// [`Scenario::parse_with`].
    pub fn parse(text: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        Self::read(text, overrides, None)?.with_flow()
    }

    /// Like [`Scenario::parse`], for a link that carries packets from outside: no flow is needed.
    ///
    /// # Errors
    /// The error names the key, the problem, and a valid value.
    pub fn parse_link(text: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        Self::read(text, overrides, None)
    }

    /// Like [`Scenario::parse`]; `read` returns the text of each file that the scenario names, or an error text that
    /// follows its name.
    ///
    /// # Errors
    /// The error names the key, the problem, and a valid value.
    pub fn parse_with(
        text: &str,
        overrides: &[(String, String)],
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        Self::read(text, overrides, Some(read))?.with_flow()
    }

    fn read(
        text: &str,
        overrides: &[(String, String)],
        mut read: Option<files::Read<'_>>,
    ) -> Result<Self, ScenarioError> {
        check_size(text)?;
        let mut table = table::parse(text)?;
        let mut assumed = Vec::new();
        for (path, value) in overrides {
            table::set(&mut table, path, value, &mut assumed)?;
        }
        files::inline(&mut table, &mut read)?;
        choice::check(&table, &assumed, |table| Self::from_table(table)?.to_table())?;
        let scenario = Self::from_table(table)?;
        scenario.validate()?;
        Ok(scenario)
    }

    fn from_table(mut table: Table) -> Result<Self, ScenarioError> {
        graph::resolve(&mut table)?;
        table::inherit(&mut table);
        table::deserialize(table)
    }

    fn to_table(&self) -> Result<Table, ScenarioError> {
        let table = Table::try_from(self).map_err(|error| ScenarioError::new("", error.to_string(), ""));
        table.map(|mut table| {
            if self.is_graph() {
                graph::OF_ONE_CELL.into_iter().for_each(|key| drop(table.remove(key)));
            }
            table
        })
    }

    /// The scenario with every default written out. Reading the text gives the same scenario: keys that would inherit a
    /// value are written as absent.
    ///
    /// # Errors
    /// If a value cannot be written as TOML, which no valid scenario holds.
    pub fn to_toml(&self) -> Result<String, ScenarioError> {
        let mut table = self.to_table()?;
        let read = Self::from_table(table.clone())?.to_table()?;
        let text = if read == table && !self.is_graph() {
            toml::to_string(self)
        } else {
            table::mark_absent(&mut table, &read);
            toml::to_string(&table)
        };
        text.map_err(|error| ScenarioError::new("", error.to_string(), ""))
    }

    /// JSON Schema of a scenario.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Self).into()
    }

    /// Refuses a run in which nothing happens.
    fn with_flow(self) -> Result<Self, ScenarioError> {
        if self.flow.is_empty() {
            let (message, hint) = (
                "nothing to send: the scenario has no flow",
                "add [[flow]] with a ue, a direction and an app",
            );
            return Err(ScenarioError::new("flow", message, hint));
        }
        Ok(self)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.duration.is_zero() {
            let (message, hint) = ("the run would end at once", "write a time such as \"60 s\"");
            return Err(ScenarioError::new("duration", message, hint));
        }
        self.validate_graph()?;
        for (key, link) in self.wires() {
            self.validate_link(&key, link)?;
        }
        for (key, cell) in self.cells() {
            cell.validate().map_err(|inner| inner.under(&key))?;
        }
        for (index, handover) in self.handover.iter().enumerate() {
            handover.validate(self.ues()).map_err(|inner| inner.under(&format!("handover[{index}]")))?;
        }
        self.validate_mobility()?;
        self.validate_core_network()?;
        handover::check_apart(&self.handover)?;
        if !self.is_graph() {
            self.radio.check_handovers(&self.handover)?;
        }
        self.tcp.validate().map_err(|inner| inner.under("tcp"))?;
        for (index, flow) in self.flow.iter().enumerate() {
            flow.validate(self.ues()).map_err(|inner| inner.under(&format!("flow[{index}]")))?;
            flow.validate_quic(flow.tcp.as_ref().unwrap_or(&self.tcp))
                .map_err(|inner| inner.under(&format!("flow[{index}]")))?;
        }
        self.validate_multipaths()?;
        let flows = self.flows();
        for (key, config, cells) in self.boxes() {
            let each = cells.iter().copied().map(Some);
            for radio in each.chain(cells.is_empty().then_some(None)) {
                let around = middlebox::Around { tcp: &self.tcp, flows: &flows, radio };
                config.validate(&around).map_err(|inner| inner.under(&key))?;
            }
        }
        self.check_buffers()?;
        self.validate_connections()?;
        // Before the scenario after each change, which would have the same error under the change's key.
        self.validate_reuse()?;
        self.steps().map(drop)
    }

    /// Refuses middleboxes between endpoints that reuse a connection ID: they would mistake the new connection for the
    /// old one.
    fn validate_reuse(&self) -> Result<(), ScenarioError> {
        let reuses = self.flow.iter().position(|flow| flow.app.reuses_connections());
        let follows = |(_, config, _): &(String, &middlebox::Config, _)| config.follows_connections();
        match reuses.filter(|_| self.boxes().iter().any(follows)) {
            Some(index) => {
                let message = "files would use connections again whose state a middlebox keeps";
                let hint = "write a count of at most connections, or remove the middlebox";
                let key = format!("flow[{index}].app.{}.connections", self.flow[index].app.name());
                Err(ScenarioError::new(key, message, hint))
            }
            None => Ok(()),
        }
    }

    fn validate_link(&self, key: &str, link: &link::Config) -> Result<(), ScenarioError> {
        for dir in Dir::BOTH {
            let own_uplink = link.uplink.is_some() && dir == Dir::Uplink;
            let place = if own_uplink { format!("{key}.uplink") } else { key.to_owned() };
            let half = link.half(dir);
            if half.rate.is_some_and(|rate| rate.as_bps() == 0) {
                let hint = "write a positive rate such as \"100 Mbit/s\", or remove the key for no limit";
                let message = "a link of rate zero never sends";
                return Err(ScenarioError::new(format!("{place}.rate"), message, hint));
            }
            let locate = |inner: ScenarioError| inner.under("queue").under(&place);
            half.validate_queue().map_err(locate)?;
            if self.umts.is_some() {
                half.check_to_core().map_err(locate)?;
            }
        }
        Ok(())
    }

    /// Refuses an impossible core network, and keys that are of no use without one.
    fn validate_core_network(&self) -> Result<(), ScenarioError> {
        if let Some(umts) = &self.umts {
            return umts.validate(self.radio.ues()).map_err(|inner| inner.under("umts"));
        }
        for (key, cell) in self.cells() {
            cell.check_without_core().map_err(|inner| inner.under(&key))?;
        }
        match self.handover.iter().position(|handover| handover.relocation.is_some()) {
            Some(index) => {
                let message = "the serving RNC changes in a core network, and there is none";
                let key = format!("handover[{index}].relocation");
                Err(ScenarioError::new(key, message, "add [umts], or remove the key"))
            }
            None => Ok(()),
        }
    }

    /// Refuses more connections than a UE has ports.
    fn validate_connections(&self) -> Result<(), ScenarioError> {
        for ue in 0..self.ues() {
            let mine = self.flow.iter().filter(|flow| flow.is_at(ue));
            let connections: usize = mine.map(|flow| usize::from(flow.app.connections())).sum();
            if connections > MOST_CONNECTIONS {
                let message = format!("{connections} connections at UE {ue}");
                let hint = format!("write flows of at most {MOST_CONNECTIONS} connections for each UE");
                return Err(ScenarioError::new("flow", message, hint));
            }
        }
        Ok(())
    }

    /// The elements between the hosts of a scenario with one cell, from the server's side: link, core network, boxes, cell, boxes at the UEs.
    pub fn network(&self, run_seed: u64) -> Vec<Box<dyn Element>> {
        let active = (0..self.ues()).map(|ue| self.active(ue)).collect();
        let flows = if self.middlebox.is_empty() { Vec::new() } else { self.flows() };
        self.elements(run_seed, active, &flows, None)
    }

    /// Names of all places on the path, from the server to the UEs: for each node between the hosts, the name in its
    /// report. The core network of UMTS is at the place of the wired link.
    pub fn path(&self) -> Vec<String> {
        if self.is_graph() {
            return self.bare_graph().names().to_vec();
        }
        let boxes = |place: Place| {
            let there = self.middlebox.iter().filter(move |config| config.place() == place);
            there.map(|config| format!("middlebox.{}", config.name()))
        };
        let mut path =
            vec!["server".to_owned(), if self.umts.is_some() { "link+umts" } else { "link" }.to_owned()];
        path.extend(boxes(Place::Network));
        path.push(format!("radio.{}", self.radio.name()));
        path.extend(boxes(Place::Ue));
        path.push("ue".to_owned());
        path
    }

    /// Indices of neighbouring places of [`Scenario::path`], the place nearer to the server first.
    pub fn edges(&self) -> Vec<[u16; 2]> {
        if self.is_graph() {
            return self.graph_edges();
        }
        (1..self.path().len() as u16).map(|place| [place - 1, place]).collect()
    }

    /// The edges of the graph, as a tree: a split bearer is at the place where its legs part, and the edges that lead through
    /// it a second time, below the legs, lead on to the UEs.
    fn graph_edges(&self) -> Vec<[u16; 2]> {
        let graph = self.bare_graph();
        let last = graph.names().len() as u16 - 1;
        let is_split = |place: u16| graph.names()[usize::from(place)].starts_with("split_bearers ");
        let (mut entered, mut left) = (BTreeSet::new(), BTreeSet::new());
        let edges = graph.edges().filter_map(|[upper, lower]| {
            let enters_again = is_split(lower) && !entered.insert(lower);
            let leaves_again = is_split(upper) && !left.insert(upper);
            (!leaves_again).then_some([upper, if enters_again { last } else { lower }])
        });
        edges.collect()
    }

    /// The graph of a scenario with several cells, between hosts without flows.
    fn bare_graph(&self) -> Graph {
        let ends =
            [Dir::Downlink, Dir::Uplink].map(|dir| Box::new(Host::new(dir, 0, &[], 0)) as Box<dyn Element>);
        self.plan(0, ends, None).graph
    }

    /// Like [`Scenario::network`], for a driver whose UEs `real` are not simulated: they may send from time zero, since
    /// their programs start at any time, and boxes learn their connections only from the packets.
    pub fn network_in_session(&self, run_seed: u64, real: &[u16]) -> Vec<Box<dyn Element>> {
        let since = |ue| if real.contains(&ue) { Some(Instant::ZERO) } else { self.active(ue) };
        let active = (0..self.ues()).map(since).collect();
        self.elements(run_seed, active, &self.flows_beside(real), Some(&self.tcp))
    }

    /// Refuses boxes that work only with simulated ends.
    ///
    /// # Errors
    /// The error names the key, the problem, and a valid value.
    pub fn validate_session(&self, real: &[u16]) -> Result<(), ScenarioError> {
        let simulated = self.flows_beside(real);
        self.boxes().into_iter().try_for_each(|(key, config, _)| {
            config.validate_session(&simulated).map_err(|inner| inner.under(&key))
        })
    }

    /// The flows of all UEs but the real ones.
    pub fn flows_beside(&self, real: &[u16]) -> Vec<FlowSpec> {
        self.flows().into_iter().filter(|flow| !real.contains(&flow.ue)).collect()
    }

    /// `active` returns when a UE's PDP context becomes active, if ever; `flows` are the flows that boxes may expect.
    fn elements(
        &self,
        run_seed: u64,
        active: Vec<Option<Instant>>,
        flows: &[FlowSpec],
        session: Option<&tcp::Config>,
    ) -> Vec<Box<dyn Element>> {
        let boxes = |place: Place| {
            let there = self.middlebox.iter().enumerate().filter(move |(_, config)| config.place() == place);
            there.map(|(number, config)| config.build(&middlebox::Plan { run_seed, number, flows, session }))
        };
        let mut elements = vec![match &self.umts {
            None => self.wired.build_for(run_seed, "wired", self.may_change()),
            Some(umts) => {
                let handovers = self.handover.iter();
                let relocations = handovers
                    .filter_map(|handover| {
                        Some((handover.ue, handover.ends(), handover.relocation.as_ref()?))
                    })
                    .collect();
                self.wired.build_to(umts.build(&umts::Plan { active, relocations }), run_seed, "wired")
            }
        }];
        elements.extend(boxes(Place::Network));
        let classes = self.umts.as_ref().map_or(&[][..], |umts| &umts.qos);
        let handovers = Episode::stays(&self.handover);
        elements.push(self.radio.build(&radio::Plan {
            run_seed,
            first_ue: 0,
            handovers: &handovers,
            classes,
            air: None,
            may_change: self.may_change(),
            legs: &[],
        }));
        elements.extend(boxes(Place::Ue));
        elements
    }

    /// Whether its cell has PDUs that a capture can show.
    pub fn has_pdus(&self) -> bool {
        self.cells().iter().any(|(_, cell)| cell.has_pdus())
    }

    /// When a UE's PDP context becomes active: it attaches when its first flow starts. `None` without flows.
    fn active(&self, ue: u16) -> Option<Instant> {
        let mine = self.flow.iter().filter(|flow| flow.is_at(ue));
        let first = mine.map(|flow| flow.start_of(ue)).min()?;
        let set_up = self.umts.as_ref().map_or(Duration::ZERO, umts::Config::set_up);
        Some(Instant::ZERO + first + set_up)
    }

    /// Every flow with its number at its UE, sorted by UE. None starts before its UE may send.
    pub fn flows(&self) -> Vec<FlowSpec> {
        let shared = Arc::new(self.tcp.clone());
        let of_flow = |flow: &Flow| {
            let tcp = flow.tcp.clone().map_or_else(|| shared.clone(), Arc::new);
            (Arc::new(flow.app.clone()), tcp)
        };
        let configs: Vec<_> = self.flow.iter().map(of_flow).collect();
        let number_of =
            |flow: &Flow| self.flow.iter().position(|own| std::ptr::eq(own, flow)).unwrap_or(0) as u16;
        let mut specs = Vec::new();
        for ue in 0..self.ues() {
            let mine = self.flow.iter().zip(&configs).filter(|(flow, _)| flow.is_at(ue));
            let connections =
                mine.flat_map(|(flow, config)| (0..flow.app.connections()).map(move |n| (n, flow, config)));
            let ready = self.active(ue).filter(|_| self.umts.is_some()).unwrap_or_default();
            specs.extend((0..).zip(connections).map(|(number, (connection, flow, (app, tcp)))| FlowSpec {
                ue,
                flow: number,
                dir: flow.direction,
                start: ready.max(Instant::ZERO + flow.start_of(ue)),
                stop: flow.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop),
                app: app.clone(),
                connection,
                encrypted: flow.encrypted,
                tcp: tcp.clone(),
                several: flow.several(number_of(flow), ue),
            }));
        }
        specs
    }
}

impl Flow {
    fn start_of(&self, ue: u16) -> Duration {
        match self.ue {
            UeChoice::One(_) => self.start,
            UeChoice::Each(Each::Each) => {
                self.start + self.stagger.saturating_mul(u64::from(ue)).min(Duration::LONGEST)
            }
        }
    }

    fn validate(&self, ues: u16) -> Result<(), ScenarioError> {
        if let UeChoice::One(ue) = self.ue
            && ue >= ues
        {
            let message = format!("there is no UE {ue}: the cell has {ues}, counted from 0");
            let hint = "raise the cell's number of UEs, or choose another";
            return Err(ScenarioError::new("ue", message, hint));
        }
        self.app.validate().map_err(|error| error.under("app"))?;
        if let Some(stop) = self.stop {
            if stop <= self.start {
                let hint = "write a time after start, or remove the key";
                return Err(ScenarioError::new("stop", "the flow would stop before it starts", hint));
            }
            if matches!(self.app, app::Config::Web(_)) {
                let message = "a page ends by itself, with its last object";
                return Err(ScenarioError::new("stop", message, "remove the key, or choose another app"));
            }
        }
        self.validate_paths(ues)?;
        self.app.check_direction(self.direction)?;
        self.tcp.as_ref().map_or(Ok(()), |tcp| tcp.validate().map_err(|error| error.under("tcp")))
    }

    /// Refuses a congestion control that QUIC cannot drive.
    fn validate_quic(&self, tcp: &tcp::Config) -> Result<(), ScenarioError> {
        let is_quic = matches!(&self.app, app::Config::Web(web) if web.http == app::web::Http::Http3);
        if is_quic && tcp.cc.counts_marks() {
            let message = format!("HTTP/3 over QUIC has no {}, which needs the bytes marked", tcp.cc.name());
            let hint = "choose another tcp.cc, such as cubic or bbr, or http = \"2\"";
            return Err(ScenarioError::new("app.web.http", message, hint));
        }
        Ok(())
    }
}
