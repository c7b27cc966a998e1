//! The link: packets in, packets out, and time between.

use crate::edge::Edge;
use crate::{Arrival, Counts, Datagram, End, Event, Instant, Scenario, Sent, Stats};
use airpath_core::element::{Capture, Element};
use airpath_core::flows::Flows;
use airpath_core::host::{Beside, Host};
use airpath_core::packet::{Body, Dir};
use airpath_core::path::{MOST_INSIDE, Path};
use airpath_core::time::Duration;
use airpath_core::trace::{Outcomes, ProbeMask};
use airpath_core::wire::{Endpoints, encode_datagram, endpoints, octets_of, parse, rewrite};
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt;

/// Octets of a UDP header.
const UDP_HEADER: usize = 8;

/// A hundred years. Later times count as this one, so the models can still add to it.
const LATEST: Instant = Instant::from_nanos(20 * Duration::LONGEST.as_nanos());

/// Events are processed in batches of this many.
const MANY_EVENTS: usize = 4096;

/// A link between a server and UEs, in virtual time.
///
/// Pass it the packets that the ends send, with their send times ([`send`](Self::send), [`send_ip`](Self::send_ip)),
/// and [`advance`](Self::advance) it to the next event. See the [crate's page](crate) for the loop.
///
/// At one instant the link processes its events sequentially, and an arrival interrupts it: packets that you send then
/// precede the link's remaining events of that instant. So the order of calls is part of the result.
pub struct Net {
    path: Path,
    flows: Flows,
    /// UEs whose packets come from outside.
    ues: Vec<u16>,
    mtu: usize,
    most_inside: u64,
    /// Kinds of event that are kept.
    probes: ProbeMask,
    counts: [Counts; 2],
    outcomes: [Outcomes; 2],
    arrived: VecDeque<Arrival>,
    events: Vec<Event>,
    captured: Vec<u8>,
}

/// Options of a link: see [`Net::builder`].
#[derive(Clone, Debug)]
pub struct Builder {
    scenario: Scenario,
    seed: u64,
    mtu: u16,
    most_inside: u64,
    probes: ProbeMask,
    capture: bool,
}

impl Builder {
    /// Seed of all that is random in the link: 1 unless given.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Largest IP packet that passes, in bytes: 1500 unless given.
    pub fn mtu(self, mtu: u16) -> Self {
        Self { mtu, ..self }
    }

    /// Captures the packets that the ends send and receive: see [`Net::capture`].
    pub fn capture(self) -> Self {
        Self { capture: true, ..self }
    }

    /// Records events of these kinds, such as `bearer_enqueued` or `dropped`: see [`Net::trace`].
    ///
    /// # Panics
    /// If there is no such kind.
    pub fn probes(self, kinds: &[&str]) -> Self {
        let probes = self.probes.with_named(kinds).unwrap_or_else(|error| panic!("{error}"));
        Self { probes, ..self }
    }

    /// Maximum number of packets that the link holds for a UE: 2¹⁸ by default. A packet both in a buffer and in flight
    /// counts twice. The limit bounds the memory if a stack floods a link with unlimited buffers; the models do not
    /// depend on it.
    pub fn most_inside(self, packets: u64) -> Self {
        Self { most_inside: packets, ..self }
    }

    /// Makes the link, at time zero.
    pub fn build(self) -> Net {
        let core = &self.scenario.core;
        let ues = self.scenario.own_ues();
        let simulated = core.flows_beside(&ues);
        let end = |dir| -> Box<dyn Element> {
            match simulated.is_empty() {
                true => Box::new(Edge(dir)),
                false => {
                    let host = Host::new(dir, core.ues(), &simulated, self.seed);
                    Box::new(Beside::new(Edge(dir), ues.clone(), host))
                }
            }
        };
        let plan = core.plan(self.seed, [end(Dir::Downlink), end(Dir::Uplink)], Some(&ues));
        // Counted whether or not they are kept.
        let mut path = Path::of(plan.graph, Outcomes::recorded_with(self.probes));
        path.set_capture(Capture::of(self.capture, false, false));
        Net {
            path,
            flows: Flows::default(),
            ues,
            mtu: self.mtu.into(),
            most_inside: self.most_inside,
            probes: self.probes,
            counts: Default::default(),
            outcomes: Default::default(),
            arrived: VecDeque::new(),
            events: Vec::new(),
            captured: Vec::new(),
        }
    }
}

impl Net {
    /// The link of a scenario at time zero, with an MTU of 1500 bytes. Everything random follows from the seed.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        Self::builder(scenario).seed(seed).build()
    }

    /// Like `new`, with further options.
    ///
    /// ```
    /// # use airpath::{Net, Scenario};
    /// # let scenario = Scenario::bundled("umts-384").unwrap();
    /// let mut net = Net::builder(&scenario).seed(7).mtu(1280).capture().probes(&["dropped"]).build();
    /// ```
    pub fn builder(scenario: &Scenario) -> Builder {
        let (scenario, probes) = (scenario.clone(), ProbeMask::NONE);
        Builder { scenario, seed: 1, mtu: 1500, most_inside: MOST_INSIDE, probes, capture: false }
    }

    /// An end sends a UDP datagram at `at`, or [now](Self::now) if that is later. The link carries it with headers of
    /// 28 octets over IPv4, or 48 over IPv6.
    ///
    /// A datagram of the server goes to the UE whose [address](End::ipv4) is its destination, and to UE 0 if no UE has
    /// this address: in a cell with one UE, addresses may be any.
    ///
    /// # Panics
    /// If `from` is no UE of [`Scenario::own_ues`].
    pub fn send(&mut self, at: Instant, from: End, datagram: Datagram) -> Sent {
        let ip = datagram.ip();
        let Datagram { src, dst, ecn, payload } = datagram;
        let len = ip.header_bytes() as usize + UDP_HEADER + payload.len();
        if len > self.mtu {
            return self.refuse(from, Sent::TooBig);
        }
        let mut bytes = Vec::with_capacity(len);
        let id = self.counts[dir(from).index()].sent as u16;
        encode_datagram(ip, ecn.bits(), Endpoints { src, dst }, id, &payload, &mut bytes);
        self.enter(at, from, bytes)
    }

    /// An end sends an IP packet. Boxes read TCP in it, and may change it. One that is larger than the MTU is refused,
    /// also where IPv4 would allow a router to fragment it. Otherwise as [`send`](Self::send).
    ///
    /// # Panics
    /// If `from` is no UE of [`Scenario::own_ues`].
    pub fn send_ip(&mut self, at: Instant, from: End, packet: &[u8]) -> Sent {
        if packet.len() > self.mtu {
            return self.refuse(from, Sent::TooBig);
        }
        self.enter(at, from, packet.to_vec())
    }

    fn enter(&mut self, at: Instant, from: End, bytes: Vec<u8>) -> Sent {
        let (ue, dir) = (self.ue(from, &bytes), dir(from));
        if self.path.inside(ue) >= self.most_inside {
            return self.refuse(from, Sent::Full);
        }
        let mut packet = self.path.packet();
        parse(&bytes, &mut packet);
        packet.ue = ue;
        packet.flow = self.flows.number(dir, &bytes, &packet);
        let counts = &mut self.counts[dir.index()];
        counts.sent += 1;
        counts.sent_bytes += u64::from(packet.len);
        counts.opaque += u64::from(!packet.is_tcp());
        packet.body = Some(Box::new(Body::new(bytes)));
        self.path.handle_packet(at.clamp(self.path.now(), LATEST), dir, packet);
        self.collect();
        Sent::Accepted
    }

    fn refuse(&mut self, from: End, why: Sent) -> Sent {
        let counts = &mut self.counts[dir(from).index()];
        *if why == Sent::Full { &mut counts.full } else { &mut counts.too_big } += 1;
        why
    }

    /// The UE that sends or is to receive this packet.
    fn ue(&self, from: End, bytes: &[u8]) -> u16 {
        match from {
            End::Ue(ue) => {
                assert!(self.ues.contains(&ue), "UE {ue} is not yours: your UEs are {:?}", self.ues);
                ue
            }
            End::Server if self.ues.len() == 1 => self.ues[0],
            End::Server => {
                let dst = endpoints(bytes).map(|(_, ends)| ends.dst.ip());
                let is_its = |ue: &&u16| {
                    let end = End::Ue(**ue);
                    dst == Some(end.ipv4().into()) || dst == Some(end.ipv6().into())
                };
                self.ues.iter().find(is_its).copied().unwrap_or_default()
            }
        }
    }

    /// Time until which nothing can arrive unless something is sent: the next argument of [`advance`](Self::advance).
    /// An arrival then is possible, not certain. `None` if the link is empty and silent.
    pub fn next_wakeup(&mut self) -> Option<Instant> {
        let arrived = self.arrived.front().map(|_| self.now());
        arrived.or_else(|| self.path.poll_wakeup().map(|at| at.max(self.path.now())))
    }

    /// Advances the time to `until`, or to the first arrival if there is one by then: it is returned, and
    /// [now](Self::now) is its time. Otherwise `now` becomes `until`, unless that is in the past.
    ///
    /// Flows of simulated UEs may never end. In that case pass a near time instead of `Instant::NEVER`.
    ///
    /// If [`send`](Self::send) was given a time after `now`, the link has run up to it; arrivals until then are
    /// returned here one by one, with their times.
    pub fn advance(&mut self, until: Instant) -> Option<Arrival> {
        let until = until.min(LATEST);
        while self.arrived.is_empty() && self.path.handle_next(until) {
            self.collect();
        }
        if self.arrived.is_empty() && until > self.path.now() {
            self.path.handle_timeout(until);
        }
        self.arrived.pop_front()
    }

    /// Present time of the link.
    pub fn now(&self) -> Instant {
        self.path.now()
    }

    /// Collects the packets that have left the path.
    fn collect(&mut self) {
        while let Some((at, dir, mut packet)) = self.path.poll_output() {
            let octets = match packet.body.take() {
                Some(mut body) => {
                    if body.touched {
                        rewrite(&mut body.bytes, &packet);
                    }
                    body.bytes
                }
                None => octets_of(&packet, dir, 0),
            };
            let counts = &mut self.counts[dir.index()];
            counts.delivered += 1;
            counts.delivered_bytes += u64::from(packet.len);
            let to = dir.pick(End::Ue(packet.ue), End::Server);
            self.arrived.push_back(Arrival { at, to, packet: octets });
            self.path.free(packet);
        }
        if self.path.recorded() >= MANY_EVENTS {
            self.take_events();
        }
    }

    /// Counts drops and marks, and stores the events that were requested.
    fn take_events(&mut self) {
        for (at, core) in self.path.take_trace() {
            Outcomes::count(&mut self.outcomes, &core, &self.ues);
            if self.probes.has(core.kind()) {
                self.events.push(Event { at, core });
            }
        }
    }

    /// Counters of your packets so far.
    pub fn stats(&mut self) -> Stats {
        self.take_events();
        let [mut downlink, mut uplink] = self.counts.clone();
        for (dir, counts) in Dir::BOTH.into_iter().zip([&mut downlink, &mut uplink]) {
            let outcomes = &self.outcomes[dir.index()];
            (counts.dropped, counts.marked) = (outcomes.dropped(), outcomes.marked);
            counts.reasons.clone_from(&outcomes.reasons);
            for ue in &self.ues {
                let bearer = self.path.radio(*ue, dir);
                counts.queued += u64::from(bearer.sdus);
                counts.queued_bytes += bearer.bytes;
            }
        }
        Stats { downlink, uplink }
    }

    /// Events of the kinds of [`Builder::probes`] since the last call, in the order in which they happened.
    pub fn trace(&mut self) -> Vec<Event> {
        self.take_events();
        std::mem::take(&mut self.events)
    }

    /// The capture so far, as a file in pcapng: with the packets that the ends sent and received on the interfaces
    /// `server` and `ue`. Empty without [`Builder::capture`].
    pub fn capture(&mut self) -> &[u8] {
        self.captured.extend(self.path.take_capture());
        &self.captured
    }

    /// Report of each part of the link, from the server's side: `elements` of a run's `results.json`.
    pub fn report(&mut self) -> Vec<Value> {
        self.path.reports().into_iter().filter(|report| !report.is_null()).collect()
    }
}

/// The direction in which an end sends.
fn dir(from: End) -> Dir {
    match from {
        End::Server => Dir::Downlink,
        End::Ue(_) => Dir::Uplink,
    }
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net").field("now", &self.now()).field("ues", &self.ues).finish_non_exhaustive()
    }
}
