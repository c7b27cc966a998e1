//! A run in regions: parts of the path that share only a wired link, each run through a window of time by
//! itself.
//!
//! A path handles one event after the other, so one thread does everything. Where a wired link's delay separates a UE's
//! ends at the server from its bearers, neither side can affect the other sooner than the delay. So a region handles all its events of a window,
//! then the next region does, and then the link gets the packets of all regions in the order of the whole path:
//!
//! ```text
//! ends at the server     link, downlink     bearers, UEs          link, uplink
//! +---- UEs 0 to 3 ----+                    +- UEs 0 to 3 ------+
//! +---- UEs 4 to 7 ----+ -> all in order -> +- UEs 4 to 7 ------+ -> all in order -> ends at the server
//! ```
//!
//! Results are those of the whole path to the byte, for windows of any length, groups of any size and any number of
//! threads: see [`Region`] for the order. [`Cut::of`] tells whether and where a scenario can be cut. No model knows of
//! it.
//!
//! With many UEs that is also faster on one thread. A packet of the whole path is handled after those of all other UEs,
//! whose state has taken its UE's place in the cache; a region handles all packets of a window while its few UEs are there.

mod chunk;
mod cut;
mod order;
mod report;
#[cfg(feature = "threads")]
mod threads;

pub use cut::Cut;
#[cfg(feature = "threads")]
pub use threads::Threads;

use crate::element::{Element, Graph, Layout};
use crate::host::{FlowSpec, Host};
use crate::link::Wire;
use crate::packet::Dir;
use crate::path::{Numbers, Region};
use crate::radio::{self, dch};
use crate::scenario::{Part, Scenario, Split};
use crate::time::{Duration, Instant};
use chunk::{Chunk, Front, Group, Job, Later};
use order::Border;
use std::ops::Range;

/// UEs in a region: few enough that their state and their packets in flight fit into a second-level cache.
const UES_OF_REGION: u16 = 4;

/// How far regions that share nothing run until their packets are counted.
const APART: Duration = Duration::from_secs(1);

/// How to cut and run; nothing of it changes results.
#[derive(Clone, Copy, Debug)]
pub struct Grain {
    /// Longest window.
    pub window: Duration,
    /// UEs in a region of dedicated channels.
    pub ues: u16,
    /// Parts of the work that may run at the same time.
    pub chunks: usize,
}

impl Grain {
    /// For a run in so many chunks.
    pub fn of_chunks(chunks: usize) -> Self {
        Self { window: Duration::LONGEST, ues: UES_OF_REGION, chunks }
    }
}

/// Where chunks are run. Each task is independent of the others.
pub trait Workers: Send + Sync {
    /// Runs all tasks, and returns when the last one is complete.
    fn run(&mut self, tasks: &mut Vec<Task>);
}

/// A piece of work for [`Workers`].
pub struct Task {
    chunk: Box<Chunk>,
    job: Job,
}

impl Task {
    /// Does the work.
    pub fn run(&mut self) {
        self.chunk.run(self.job);
    }
}

/// Workers without threads: one task after the other.
pub struct Here;

impl Workers for Here {
    fn run(&mut self, tasks: &mut Vec<Task>) {
        tasks.iter_mut().for_each(Task::run);
    }
}

/// A run in regions.
pub(crate) struct Windows {
    tasks: Vec<Task>,
    workers: Box<dyn Workers>,
    border: Option<Border>,
    /// Delays of the link between regions.
    delays: [Duration; 2],
    /// The least time from an event behind the link until it sends a packet to the link.
    ahead: Duration,
    longest: Duration,
    /// Most packets that the run may hold.
    most: u64,
    now: Instant,
    /// How reports of the regions become those of the whole path.
    layout: report::Plan,
}

impl Windows {
    /// Cuts the scenario, for a run that holds at most `most` packets.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        cut: &Cut,
        (grain, most): (Grain, u64),
        workers: Box<dyn Workers>,
    ) -> Self {
        let flows = scenario.flows();
        let built = match cut {
            Cut::Ues(cell) => ues(scenario, cell, &flows, seed, grain.ues),
            Cut::Behind(way) => parts(scenario, &flows, seed, Some(way)),
            Cut::Apart => parts(scenario, &flows, seed, None),
        };
        let Built { mut groups, border, ahead, layout } = built;
        if border.is_none() {
            groups.iter_mut().for_each(|group| group.radio.path.stop_above(most));
        }
        let delays = border.as_ref().map(|border| border.wire.delays()).unwrap_or_default();
        // In turn: neighbours often have much to do at the same time, as where flows start one after the other.
        let count = grain.chunks.clamp(1, groups.len().max(1));
        let mut chunks: Vec<_> = (0..count).map(|_| Box::<Chunk>::default()).collect();
        for (number, group) in groups.into_iter().enumerate() {
            chunks[number % count].groups.push(group);
        }
        let tasks = chunks.into_iter().map(|chunk| Task { chunk, job: Job::End(Instant::ZERO) }).collect();
        let (longest, now) = (grain.window, Instant::ZERO);
        Self { tasks, workers, border, delays, ahead, longest, most, now, layout }
    }

    /// Runs up to `until`, inclusive. Returns whether no more packets were in use than may be, by a bound from above;
    /// otherwise the run is not complete.
    pub fn advance(&mut self, until: Instant) -> bool {
        let stop = Instant::from_nanos(until.as_nanos().saturating_add(1));
        let mut fits = true;
        if self.border.is_none() {
            while fits && self.now < until {
                self.now = until.min(self.now + APART);
                self.run(Job::Apart(self.now));
                fits = self.packets() <= self.most;
            }
        } else {
            self.run(Job::Begin(until));
            // Everything before the present is handled, and the present itself, except at the start.
            let begun = if self.now == Instant::ZERO { 0 } else { self.now.as_nanos() + 1 };
            let mut front = Front::at(Instant::from_nanos(begun));
            while fits && front.is_before(stop) {
                front.advance(self.delays, self.ahead, stop, self.longest);
                self.run(Job::Servers(front.server));
                self.exchange(Dir::Downlink);
                self.run(Job::Radios(front.radio, front.known));
                self.exchange(Dir::Uplink);
                fits = self.packets() <= self.most;
            }
            self.run(Job::End(until));
        }
        self.now = until;
        fits
    }

    fn run(&mut self, job: Job) {
        self.tasks.iter_mut().for_each(|task| task.job = job);
        self.workers.run(&mut self.tasks);
    }

    fn exchange(&mut self, dir: Dir) {
        let orders = self.tasks.iter_mut().map(|task| &mut task.chunk.orders[dir.index()]);
        if let Some(border) = &mut self.border {
            border.pass_all(dir, &mut orders.collect::<Vec<_>>());
        }
    }

    fn groups(&self) -> impl Iterator<Item = &Group> {
        let count = self.tasks.len();
        (0..).map_while(move |number| self.tasks[number % count].chunk.groups.get(number / count))
    }

    /// Packets that all regions may hold at once, by a bound from above.
    pub fn packets(&self) -> u64 {
        self.tasks.iter().map(|task| task.chunk.packets).sum()
    }

    /// Time so far.
    pub fn now(&self) -> Instant {
        self.now
    }
}

/// Regions of a scenario.
struct Built {
    groups: Vec<Group>,
    border: Option<Border>,
    ahead: Duration,
    layout: report::Plan,
}

/// Regions of a line with dedicated channels: host, link, cell, host.
fn ues(scenario: &Scenario, cell: &dch::Config, flows: &[FlowSpec], seed: u64, size: u16) -> Built {
    // Numbers in the whole path: timers of the server, the bearers and the UEs, lanes of the link and the bearers.
    let bearers = flows.len() as u32;
    let at_ues = bearers + 2 * u32::from(cell.ues);
    let mut ahead = Duration::LONGEST;
    let firsts: Vec<u16> = (0..cell.ues).step_by(size.max(1).into()).collect();
    let groups = firsts.iter().map(|&first| {
        let count = size.max(1).min(cell.ues - first);
        let ues = first..first + count;
        let from = flows.partition_point(|flow| flow.ue < ues.start);
        let own = &flows[from..flows.partition_point(|flow| flow.ue < ues.end)];
        let host = |dir| Box::new(Host::of_ues(dir, ues.clone(), own, seed)) as Box<dyn Element>;
        let config = radio::Config::Dch(dch::Config { ues: count, ..cell.clone() });
        let part = config.build(&radio::Plan { first_ue: first, ..radio::Plan::of(seed) });
        let layout = part.layout();
        ahead = ahead.min(ahead_of(&layout));
        let (timers, lanes) = (bearers + 2 * u32::from(first), LANES_OF_LINK + 2 * u32::from(first));
        let numbers = from as u32..(from + own.len()) as u32;
        let of_bearers = timers..timers + timers_of(&layout, false);
        let at_server = Numbers { timers: numbers.clone().collect(), lanes: Vec::new() };
        let behind = Numbers {
            timers: of_bearers.chain(numbers.map(|flow| at_ues + flow)).collect(),
            lanes: (lanes..).take(layout.lanes.len()).collect(),
        };
        let server = Region::new(Graph::from(vec![host(Dir::Downlink)]), Dir::Uplink, at_server);
        let radio = Graph::from(vec![part, host(Dir::Uplink)]);
        group(Some(server), Region::new(radio, Dir::Downlink, behind), true)
    });
    let groups = groups.collect();
    let wire = Wire::new(&scenario.wired, seed, "wired");
    let layout = report::Plan { own: vec![1..1; firsts.len()], wire: None, ends: (0, 1) };
    Built { groups, border: wire.map(Border::new), ahead, layout }
}

/// Lanes of the link, which come first: its lane in a direction has the index of the direction.
const LANES_OF_LINK: u32 = 2;

/// Timers that a path has for an element.
fn timers_of(layout: &Layout, is_watched: bool) -> u32 {
    if layout.timers_tell && !is_watched { 0 } else { layout.timers }
}

/// A cell's bearers put packets on lanes this long before they leave, towards the server.
fn ahead_of(cell: &Layout) -> Duration {
    let up = Dir::Uplink.index();
    if cell.by_lanes[up] { cell.ahead[up] } else { Duration::ZERO }
}

fn group(server: Option<Region>, radio: Region, is_small: bool) -> Group {
    Group { server, radio, later: Later::default(), is_small }
}

/// Flows of one part, and their numbers among all flows.
#[derive(Default)]
struct FlowsOfPart {
    specs: Vec<FlowSpec>,
    numbers: Vec<u32>,
}

/// Regions of a graph that falls into parts below the server or the way `place`.
fn parts(scenario: &Scenario, flows: &[FlowSpec], seed: u64, place: Option<&str>) -> Built {
    let count = match scenario.split() {
        Split::Apart(count) | Split::Behind(_, count) => count,
        Split::Whole => 1,
    };
    let of_interface = scenario.parts_of_interfaces(place);
    let mut flows_of: Vec<FlowsOfPart> = (0..count).map(|_| FlowsOfPart::default()).collect();
    for (number, flow) in (0_u32..).zip(flows) {
        let of_part = &mut flows_of[usize::from(of_interface[usize::from(flow.ue)])];
        of_part.specs.push(flow.clone());
        of_part.numbers.push(number);
    }
    let host =
        |dir, own: &[FlowSpec]| Box::new(Host::new(dir, scenario.ues(), own, seed)) as Box<dyn Element>;
    let build = |(child, FlowsOfPart { specs, .. }): (usize, &FlowsOfPart)| {
        let server = place.is_none().then(|| host(Dir::Downlink, specs));
        scenario.part(seed, place, child, server, host(Dir::Uplink, specs))
    };
    let parts: Vec<Part> = flows_of.iter().enumerate().map(build).collect();
    let own: Vec<Range<usize>> = parts.iter().map(|part| part.own.clone()).collect();
    let last = parts.first().map_or(0, |part| usize::from(part.ues.0) - part.own.len());
    let way = place.and_then(|place| scenario.way.iter().find(|way| way.name == place));
    let wire = way.and_then(|way| Wire::new(&way.wired, scenario.link_seed(seed, &way.name), "wired"));
    let behind = match place {
        Some(_) => numbers(&parts, flows.len() as u32, &flows_of),
        None => parts.iter().map(|_| Numbers::default()).collect(),
    };
    let mut groups = Vec::new();
    for ((part, of_radio), FlowsOfPart { specs, numbers }) in parts.into_iter().zip(behind).zip(flows_of) {
        let server = place.map(|_| {
            let of_server = Numbers { timers: numbers, lanes: Vec::new() };
            Region::new(Graph::from(vec![host(Dir::Downlink, &specs)]), Dir::Uplink, of_server)
        });
        groups.push(group(server, Region::new(part.graph, Dir::Downlink, of_radio), false));
    }
    let layout = report::Plan { own, wire: way.map(|way| format!("link {}", way.name)), ends: (0, last) };
    Built { groups, border: wire.map(Border::new), ahead: Duration::ZERO, layout }
}

/// Numbers of timers and lanes of each part behind the link, as in the whole path: what is in front of the parts, one
/// part after the other, what is behind them.
fn numbers(parts: &[Part], flows: u32, flows_of: &[FlowsOfPart]) -> Vec<Numbers> {
    let layouts: Vec<Vec<Layout>> = parts.iter().map(|part| part.graph.layouts()).collect();
    let (Some(first), Some(own)) = (layouts.first(), parts.first().map(|part| part.own.clone())) else {
        return Vec::new();
    };
    let mut next = (flows, LANES_OF_LINK);
    let mut number = |nodes: &[Layout]| -> Vec<(u32, u32)> {
        let own_firsts = |layout: &Layout| {
            let firsts = next;
            next = (next.0 + layout.timers, next.1 + layout.lanes.len() as u32);
            firsts
        };
        nodes.iter().map(own_firsts).collect()
    };
    let before = number(&first[..own.start]);
    let inside: Vec<_> =
        parts.iter().zip(&layouts).map(|(part, all)| number(&all[part.own.clone()])).collect();
    let after = number(&first[own.end..]);
    let mut all_numbers = Vec::new();
    for ((of_part, nodes), flows_of_part) in inside.iter().zip(&layouts).zip(flows_of) {
        let is_watched = nodes.iter().any(|layout| layout.radio_events);
        let mut of_region = Numbers::default();
        let firsts = before.iter().chain(of_part).chain(&after);
        for (at, (&(timer, lane), layout)) in (1..).zip(firsts.zip(nodes)) {
            match at < nodes.len() {
                true => of_region.timers.extend((timer..).take(timers_of(layout, is_watched) as usize)),
                false => of_region.timers.extend(flows_of_part.numbers.iter().map(|flow| timer + flow)),
            }
            of_region.lanes.extend((lane..).take(layout.lanes.len()));
        }
        all_numbers.push(of_region);
    }
    all_numbers
}
