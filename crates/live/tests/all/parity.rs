//! One set of models, two drivers: the live driver on a fake clock gives the simulator's log.
//!
//! Every bundled scenario runs three times: in the simulator; with its hosts on the path and the live driver woken
//! late at random; and with its hosts outside, like live programs, exchanging bytes with the driver, again woken
//! late at random. The logs are compared event by event. If a cell has more UEs, the host of UE 0 is outside, and
//! the others are simulated on the path.

use airpath_core::element::{Capture, Element};
use airpath_core::host::{Beside, FlowSpec, Host};
use airpath_core::packet::Dir;
use airpath_core::path::Path;
use airpath_core::rng::{Stream, stream};
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Kind, ProbeMask, Value};
use airpath_core::wire::{encode_header, endpoints_of, parse};
use airpath_live::driver::{Driver, World};
use airpath_live::port::Port;
use std::collections::{HashMap, VecDeque};

/// The UE whose host is outside.
const UE: u16 = 0;

/// Longer runs are cut here: each bundled scenario has its first hand-over or change by then, and has recovered.
const LONGEST: Duration = Duration::from_secs(25);

/// Of which bundled scenarios, counted by this step, and how many events of a run.
type Part = (usize, fn(&Scenario) -> Option<usize>);

/// Long enough: a transfer is under way.
const BRIEF: Part = (5, |_| Some(10_000));
const WHOLE: Part = (1, whole);

/// Events of a run in which most things have happened; `None` where the scenario says when something happens.
fn whole(scenario: &Scenario) -> Option<usize> {
    let Scenario { handover, mobility, change, .. } = scenario;
    let has_times = !handover.is_empty() || mobility.is_some() || !change.is_empty();
    if has_times { None } else { Some(60_000) }
}

fn bundled((step, events): Part) -> Vec<(String, Scenario)> {
    let mut found = Vec::new();
    for (name, text) in BUNDLED.iter().step_by(step) {
        let scenario = Scenario::parse(text, &[]).unwrap();
        let most = events(&scenario);
        found.push((name.to_string(), with_events(most, scenario)));
    }
    assert!(found.len() >= 4, "only {} scenarios were found", found.len());
    for (name, text) in [("LTE", LTE), ("HSDPA", HSDPA), ("queues", QUEUES)] {
        found.push((name.to_owned(), Scenario::parse(text, &[]).unwrap()));
    }
    found
}

/// The scenario, cut to a run of so many to about twice as many events, if it is not over before.
fn with_events(events: Option<usize>, mut scenario: Scenario) -> Scenario {
    let whole = scenario.duration.min(LONGEST);
    scenario.duration = if events.is_some() { whole.min(Duration::from_millis(200)) } else { whole };
    while scenario.duration < whole && events.is_some_and(|events| simulated(&scenario).0.len() < events) {
        scenario.duration = whole.min(scenario.duration * 2);
    }
    scenario
}

/// Cells that UEs with traffic of every kind share.
const LTE: &str = r#"
duration = "4 s"
wired = { rate = "100 Mbit/s", delay = "15 ms" }
flow = [
    { app.bulk = {} },
    { ue = 1, start = "37 ms", app.bulk = {} },
    { ue = 1, start = "57 ms", direction = "uplink", app.bulk = {} },
    { ue = 2, start = "411 ms", app.web = {} },
    { ue = 3, start = "83 ms", app.cbr = {} },
    { ue = 3, start = "97 ms", app.ping = {} },
]
[radio.lte]
ues = 5
[radio.lte.downlink]
blocks.bandwidth = "1.4 MHz"
queue.droptail.bytes = "60 kB"
reception = { mean_sinr = ["12 dB", "8 dB", "15 dB", "12 dB", "0 dB"], fading.jakes.doppler = "5.6 Hz" }
[radio.lte.uplink]
bler = "10 %"
"#;

const QUEUES: &str = r#"
duration = "6 s"
tcp = { ecn = true }
wired = { rate = "5 Mbit/s", delay = "15 ms", queue.pie.ecn = true, uplink = { rate = "1 Mbit/s", queue.dualpi2 = {} } }
flow = [{ app.bulk = {} }, { app.bulk = {} }, { app.ping.interval = "70 ms" }, { ue = 1, app.bulk = {} }]
[radio.dch]
ues = 2
downlink = { rate = "992 kbit/s", rlc.am = {}, queue.fq_codel.target = "auto", channel.bernoulli.bler = "10 %" }
uplink = { rate = "192 kbit/s", rlc.am = {}, queue.codel.target = "auto" }
"#;

const HSDPA: &str = r#"
duration = "6 s"
wired = { rate = "100 Mbit/s", delay = "15 ms" }
flow = [
    { app.bulk = {} },
    { ue = 1, start = "37 ms", app.bulk = {} },
    { ue = 2, start = "83 ms", app.file.size = "100 kB" },
]
[radio.hsdpa]
ues = 3
[radio.hsdpa.downlink]
queue.droptail.bytes = "60 kB"
reception = { mean_sinr = "4 dB", fading.jakes.doppler = "5.6 Hz" }
[radio.hsdpa.uplink]
rate = "64 kbit/s"
channel.bernoulli.bler = "1 %"
"#;

type Events = Vec<(Instant, Event)>;

/// What of a log concerns one part of the world.
fn part_of(events: &Events, part: impl Fn(&Event) -> bool) -> Events {
    events.iter().filter(|(_, event)| part(event)).copied().collect()
}

/// Says where two logs part, instead of printing both.
fn assert_same(what: &str, simulated: &Events, live: &Events) {
    if let Some(number) = simulated.iter().zip(live).position(|(one, other)| one != other) {
        panic!(
            "{what}, event {number}:\n  simulated {:?}\n  live      {:?}",
            simulated[number], live[number]
        );
    }
    assert_eq!(simulated.len(), live.len(), "{what}: one log is longer");
    assert!(!simulated.is_empty(), "{what}: nothing happened");
}

/// Whether the hosts outside record this; the path records the others.
fn is_hosts(event: &Event) -> bool {
    let of_tcp = [Kind::TcpState, Kind::RttSample, Kind::SegmentSent, Kind::SegmentReceived];
    let kinds = [&of_tcp[..], &[Kind::AckReceived, Kind::SackBlock]].concat();
    kinds.contains(&event.kind()) && ue_of(event) == UE
}

/// All that an event says, in an order of its own.
fn numbers_of(event: &Event) -> Vec<(u64, &'static str)> {
    let mut found = Vec::new();
    event.values(|value| {
        found.push(match value {
            Value::Number(number) => (number, ""),
            Value::Word(word) => (0, word),
        });
    });
    found
}

/// Splits an event into the ID of its packet and its other fields.
///
/// A path and hosts outside it number packets each by itself.
fn apart(event: &Event) -> (Option<u64>, Vec<(u64, &'static str)>) {
    let mut rest = numbers_of(event);
    let packet = event.kind().columns().iter().position(|column| column.name == "packet");
    (packet.map(|place| rest.remove(place).0), rest)
}

/// As [`assert_same`], of logs that number packets differently: each packet of one is a packet of the other.
fn assert_same_but_for_numbers(what: &str, simulated: &Events, live: &Events) {
    let (mut forth, mut back) = (HashMap::new(), HashMap::new());
    for (number, (one, other)) in simulated.iter().zip(live).enumerate() {
        let ((packet, said), (live_packet, live_said)) = (apart(&one.1), apart(&other.1));
        assert!(
            (one.0, one.1.kind(), said) == (other.0, other.1.kind(), live_said)
                && *forth.entry(packet).or_insert(live_packet) == live_packet
                && *back.entry(live_packet).or_insert(packet) == packet,
            "{what}, event {number}:\n  simulated {one:?}\n  live      {other:?}"
        );
    }
    assert_eq!(simulated.len(), live.len(), "{what}: one log is longer");
    assert!(!simulated.is_empty(), "{what}: nothing happened");
}

fn ue_of(event: &Event) -> u16 {
    let (mut columns, mut found) = (event.kind().columns().iter().map(|column| column.name), None);
    event.values(|value| {
        if let (Some("ue"), Value::Number(ue)) = (columns.next(), value) {
            found = Some(ue as u16);
        }
    });
    found.unwrap()
}

/// The log, the capture, the reports of flows, and the end of a run.
fn simulated(scenario: &Scenario) -> (Events, Vec<u8>, String, Instant) {
    let mut simulation =
        Simulation::new(scenario, 1, Observe { probes: ProbeMask::ALL, capture: Capture::Packets });
    simulation.run();
    let flows = serde_json::to_string(&simulation.flows()).unwrap();
    (simulation.take_trace(), simulation.take_capture(), flows, simulation.now())
}

/// A clock that stands still during a turn and is woken late by 0 to 5 ms, now and then by 300 ms.
struct LateClock {
    now: Instant,
    lateness: Stream,
}

impl LateClock {
    fn new() -> Self {
        Self { now: Instant::ZERO, lateness: stream(1, "lateness") }
    }

    /// Sleeps until `deadline` and longer.
    fn sleep(&mut self, deadline: Instant) {
        let longest = if self.lateness.next_u64().is_multiple_of(20) { 300_000_000 } else { 5_000_000 };
        let late = Duration::from_nanos(self.lateness.next_u64() % longest);
        self.now = self.now.max(deadline) + late;
    }
}

/// A world in which nothing arrives.
impl World for LateClock {
    fn now(&mut self) -> Instant {
        self.now
    }

    fn receive(&mut self, _due: Option<Instant>, _bytes: &mut Vec<u8>) -> Option<(Instant, Dir, u16)> {
        None
    }

    fn send(&mut self, _at: Instant, _dir: Dir, _interface: u16, _bytes: &[u8]) {
        panic!("a packet left a path that ends in hosts");
    }
}

fn hosts(scenario: &Scenario, flows: &[FlowSpec]) -> [Host; 2] {
    Dir::BOTH.map(|dir| Host::new(dir, scenario.ues(), flows, 1))
}

#[test]
fn with_hosts_on_the_path_the_late_driver_writes_the_simulators_log_in_brief() {
    with_hosts_on_the_path(BRIEF);
}

#[test]
#[ignore = "slow"]
fn with_hosts_on_the_path_the_late_driver_writes_the_simulators_log_at_length() {
    with_hosts_on_the_path(WHOLE);
}

fn with_hosts_on_the_path(part: Part) {
    for (name, scenario) in bundled(part) {
        let (events, capture, flows, _) = simulated(&scenario);
        let boxed = hosts(&scenario, &scenario.flows()).map(|host| Box::new(host) as Box<dyn Element>);
        let plan = scenario.plan(1, boxed, None);
        let last = usize::from(plan.ues.0);
        let mut path = Path::of(plan.graph, ProbeMask::ALL);
        path.set_capture(Capture::Packets);
        path.stop_after_transfers(2 * scenario.flows().len() as u32);
        let (mut driver, mut clock) = (Driver::new(path), LateClock::new());
        let end = Instant::ZERO + scenario.duration;
        let steps = scenario.steps().unwrap();
        let mut steps = steps.iter().peekable();
        loop {
            let change = steps.peek().map(|step| step.at);
            let deadline = driver.path.poll_timeout().into_iter().chain(change).min();
            let Some(deadline) = deadline.filter(|at| *at <= end && !driver.path.stopped()) else { break };
            clock.sleep(deadline);
            // Events after the end of the run are not part of it, even if the driver was late. Nor is a change late,
            // which a session applies when it wakes up.
            clock.now = clock.now.min(end).min(change.unwrap_or(end));
            driver.turn(&mut clock);
            if let Some(step) = steps.next_if(|step| step.at <= clock.now) {
                driver.path.handle_timeout(step.at);
                step.prepare(None).apply(&mut driver.path);
            }
        }
        driver.path.handle_timeout(end);
        assert_same(&name, &events, &driver.path.take_trace());
        assert!(capture == driver.path.take_capture(), "{name}: captures differ");
        let ends = [0, last].map(|index| driver.path.element::<Host>(index).unwrap());
        let dropped = |user, flow, dir| driver.path.datagrams_dropped(user, flow, dir);
        let mut reports = airpath_core::host::flow_reports(ends[0], ends[1], driver.path.now(), dropped);
        let names = scenario.interface_names();
        reports.iter_mut().for_each(|report| report.name_interfaces(&names));
        assert_eq!(flows, serde_json::to_string(&reports).unwrap(), "{name}");
    }
}

/// The simulator's hosts as programs at the ends of two wires that know when each packet was sent.
struct Wires {
    clock: LateClock,
    /// By the direction in which they send.
    hosts: [Path; 2],
    /// Bytes on their way to the driver.
    sent: VecDeque<(Instant, Dir, Vec<u8>)>,
    longest: Duration,
    end: Instant,
    /// Whether the cell's packets come to a host by a lane.
    by_lane: bool,
}

impl Wires {
    fn new(scenario: &Scenario) -> Self {
        let flows: Vec<_> = scenario.flows().into_iter().filter(|flow| flow.ue == UE).collect();
        let hosts = hosts(scenario, &flows).map(|host| Path::new(vec![Box::new(host)], ProbeMask::ALL));
        let (sent, longest) = (VecDeque::new(), Duration::ZERO);
        let end = Instant::ZERO + scenario.duration;
        let by_lane = scenario.radio.name() == "variable";
        Self { clock: LateClock::new(), hosts, sent, longest, end, by_lane }
    }

    /// When a host has something to do next.
    fn deadline(&mut self) -> Option<Instant> {
        let on_wire = self.sent.front().map(|(at, ..)| *at);
        self.hosts.iter_mut().filter_map(Path::poll_timeout).chain(on_wire).min()
    }

    fn stopped(&self) -> bool {
        self.hosts.iter().any(Path::stopped)
    }

    /// Transmits the hosts' pending packets on their wired links.
    fn collect(&mut self) {
        for host in &mut self.hosts {
            while let Some((at, dir, packet)) = host.poll_output() {
                let mut bytes = Vec::new();
                encode_header(&packet, endpoints_of(&packet, dir), 0, &mut bytes);
                bytes.resize(packet.len as usize, 0);
                self.sent.push_back((at, dir, bytes));
                host.free(packet);
            }
        }
    }
}

impl World for Wires {
    fn now(&mut self) -> Instant {
        self.clock.now
    }

    fn receive(&mut self, due: Option<Instant>, bytes: &mut Vec<u8>) -> Option<(Instant, Dir, u16)> {
        // At equal instants the order is that of the line: the server, the path, the UE.
        let path = due.unwrap_or(Instant::NEVER).min(self.end.min(self.clock.now));
        while self.sent.is_empty() && !self.stopped() {
            let [server, ue] =
                self.hosts.each_mut().map(|host| host.poll_timeout().unwrap_or(Instant::NEVER));
            if server <= ue && server <= path {
                self.hosts[0].handle_next(server);
            } else if ue < path || (ue == path && due.is_none()) {
                self.hosts[1].handle_next(ue);
            } else {
                return None;
            }
            self.collect();
        }
        let (at, dir, packet) = self.sent.pop_front()?;
        bytes.clear();
        bytes.extend_from_slice(&packet);
        Some((at, dir, UE))
    }

    fn send(&mut self, at: Instant, dir: Dir, _interface: u16, bytes: &[u8]) {
        if at > self.end || self.stopped() {
            return;
        }
        self.longest = self.longest.max(self.clock.now.since(at));
        let host = &mut self.hosts[dir.reverse().index()];
        // Timers go before lanes; a cell of variable delay hands packets over by a lane, the others at once.
        while let Some(due) = host.poll_timeout().filter(|due| self.by_lane && *due <= at) {
            host.handle_next(due);
        }
        let mut packet = host.packet();
        parse(bytes, &mut packet);
        (packet.ue, packet.flow) = (0, 0);
        host.handle_packet(at, dir, packet);
        self.collect();
    }
}

/// An end of the path for UE 0, combined with the hosts of the other UEs.
fn live_end(dir: Dir, simulated: Option<Host>) -> Box<dyn Element> {
    let port = Port::new(dir, 128);
    match simulated {
        Some(host) => Box::new(Beside::new(port, vec![UE], host)),
        None => Box::new(port),
    }
}

#[test]
fn with_hosts_outside_the_late_driver_writes_the_simulators_log_in_brief() {
    with_hosts_outside(BRIEF);
}

#[test]
#[ignore = "slow"]
fn with_hosts_outside_the_late_driver_writes_the_simulators_log_at_length() {
    with_hosts_outside(WHOLE);
}

fn with_hosts_outside(part: Part) {
    for (name, scenario) in bundled(part) {
        // Both ends number the flows of UE 0 as they see them.
        let flows = scenario.flows();
        if flows.iter().filter(|flow| flow.ue == UE).count() != 1
            || flows.iter().any(|flow| flow.several.is_some())
        {
            continue;
        }
        let (events, .., ended) = simulated(&scenario);
        let others = scenario.flows_beside(&[UE]);
        let beside = if others.is_empty() { [None, None] } else { hosts(&scenario, &others).map(Some) };
        let [first, last] = beside;
        let plan = scenario.plan(1, [live_end(Dir::Downlink, first), live_end(Dir::Uplink, last)], None);
        let (mut driver, mut wires) =
            (Driver::new(Path::of(plan.graph, ProbeMask::ALL)), Wires::new(&scenario));
        if others.is_empty() {
            wires.hosts[0].stop_after_transfers(flows.len() as u32);
        } else {
            wires.end = ended;
        }
        let end = wires.end;
        loop {
            let deadline = driver.path.poll_timeout().into_iter().chain(wires.deadline()).min();
            let Some(deadline) = deadline.filter(|at| *at <= end && !wires.stopped()) else { break };
            wires.clock.sleep(deadline);
            wires.clock.now = wires.clock.now.min(end);
            driver.turn(&mut wires);
        }
        // The simulator stops with the last transfer. The path has no such condition and was not stopped, so its
        // later events at that instant are left out.
        let path = driver.path.take_trace();
        let [at_server, at_ue] = wires.hosts.each_mut().map(Path::take_trace);
        let (stopped, cut) =
            if others.is_empty() { (wires.hosts[0].now(), wires.stopped()) } else { (ended, true) };
        let before_stop =
            |all: &Events| all.iter().filter(|(at, _)| *at < stopped || !cut).copied().collect::<Events>();
        let is_paths = |event: &Event| !is_hosts(event) && event.kind() != Kind::Packet;
        // At one instant, packets from outside and events of other UEs, or of another leg, may be ordered differently: sort
        // by UE.
        let by_ue = |all: &Events| {
            let mut all = before_stop(all);
            if scenario.ues() > 1 {
                all.sort_by_cached_key(|(at, event)| (*at, ue_of(event)));
            }
            part_of(&all, is_paths)
        };
        assert_same_but_for_numbers(&name, &by_ue(&events), &by_ue(&path));
        // At one instant, packets from outside are handled first: compare the packets of each place and time as a
        // sorted list.
        let sorted = |all: &Events| {
            let mut packets = part_of(&before_stop(all), |event| event.kind() == Kind::Packet);
            packets.sort_by_cached_key(|(at, event)| {
                let (packet, said) = apart(event);
                (*at, said, packet)
            });
            packets
        };
        assert_same_but_for_numbers(&name, &sorted(&events), &sorted(&path));
        // The last ACK arrives at the instant of the run's end.
        let of_hosts = |all: &Events| if others.is_empty() { all.clone() } else { before_stop(all) };
        let receiver = |event: &Event| is_hosts(event) && event.kind() == Kind::SegmentReceived;
        let sender = |event: &Event| is_hosts(event) && !receiver(event);
        let is_upload = flows.iter().any(|flow| flow.ue == UE && flow.dir == Dir::Uplink);
        let [at_sender, at_receiver] = if is_upload { [&at_ue, &at_server] } else { [&at_server, &at_ue] };
        let of_simulated = of_hosts(&events);
        for (at, who) in [(at_sender, &sender as &dyn Fn(&Event) -> bool), (at_receiver, &receiver)] {
            assert_same_but_for_numbers(&name, &part_of(&of_simulated, who), &part_of(&of_hosts(at), who));
        }
        assert!(wires.longest > Duration::from_millis(50), "{name}: the driver was never late");
    }
}
