//! UDP between two ends, at each interface that saw it: packets, rate, delay and loss.
//!
//! For QUIC, only versions in long headers and, with the spin bit, RTTs are visible from outside. Payload is only used
//! to find a datagram again at another interface.

use std::cmp::Reverse;
use std::collections::HashMap;

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::between::Between;
use crate::connection::Ends;
use crate::copies::{Copies, Look};
use crate::crossing::{self, Packet};
use crate::datagram::Datagram;
use crate::delivery::{self, Delivery};
use crate::phases::seconds_from;
use crate::report::{Interface, Others, PathReport, ViewReport, text};
use crate::series::{Curve, Rates, Series};
use crate::sketch::Distribution;
use crate::spin::{self, Spin};
use crate::view::Side;

/// Minimum pause that restarts the measurement of the delivery rate.
const PAUSE: Duration = Duration::from_secs(1);
/// Number of datagrams after which the memory of a conversation is computed again.
const BETWEEN_ACCOUNTS: u64 = 64;

/// Datagrams of one end at one interface.
#[derive(Clone, Debug, Default)]
struct Flow {
    datagrams: u64,
    bytes: u64,
    largest: u32,
    first_at: Option<Instant>,
    latest_at: Instant,
    delivery: Delivery,
    progress: Series,
    copies: Copies,
}

/// A conversation at one interface.
#[derive(Clone, Debug, Default)]
struct View {
    interface: u32,
    first_at: Instant,
    latest_at: Instant,
    flows: [Flow; 2],
    spin: Spin,
}

/// UDP between two ends.
#[derive(Clone, Debug)]
struct Conversation {
    ends: Ends,
    number: u64,
    /// Who sent the first datagram.
    client: Side,
    quic: Option<&'static str>,
    views: Vec<View>,
    between: Between,
    datagrams: u64,
    copied: u64,
    accounted: usize,
}

/// The conversations of a capture, as many at a time as memory allows.
#[derive(Debug, Default)]
pub struct Conversations {
    open: HashMap<Ends, Conversation>,
    opened: u64,
    accounted: usize,
    done: Vec<Report>,
    others: Others,
}

/// Report of a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// In the order of first datagrams, from 1.
    pub number: u64,
    /// Who sent the first datagram.
    pub client: String,
    pub server: String,
    /// The version of QUIC, by a long header: `1`, `2` or `draft`; `None` if there was none.
    pub quic: Option<&'static str>,
    /// Time from the capture's first packet to its own first, seconds.
    pub start_s: f64,
    pub duration_s: f64,
    /// Datagrams of both ends, at all interfaces.
    pub datagrams: u64,
    /// Datagrams recorded more than once: copies beyond the first, which count nowhere else.
    pub copies: u64,
    pub payload_bytes: u64,
    /// The interfaces that saw it, in the order of the path from client to server.
    pub views: Vec<ViewReport>,
    /// Round trips by the spin bit; `None` without QUIC, or if its ends do not spin.
    pub spin: Option<spin::Report>,
    /// The shortest delays of both ways between the outermost interfaces together, and the median ones.
    pub path_rtt_ms: Option<PathRtt>,
    /// Directions with datagrams, the client's first.
    pub flows: Vec<FlowReport>,
}

/// RTT between two interfaces, without the response times of the ends, ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathRtt {
    pub min: f64,
    pub median: f64,
}

/// One direction of a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// `client` or `server`.
    pub sender: &'static str,
    /// The interface nearest to the sender, and its counts.
    #[serde(flatten)]
    pub interface: Interface,
    pub datagrams: u64,
    /// Payload.
    pub bytes: u64,
    pub largest_bytes: u32,
    /// Time from its first datagram to its last, seconds.
    pub duration_s: f64,
    /// `bytes` over `duration_s`.
    pub rate_bps: Option<f64>,
    /// Rates over stretches of 16 datagrams, at the interface nearest to the receiver.
    pub rate: delivery::Report,
    /// Bytes over time.
    pub progress: Curve,
    /// Bytes seen over time, as a rate.
    pub throughput: Rates,
    /// Outcomes of datagrams up to the interface nearest to the receiver.
    pub path: Option<PathReport>,
    /// Mean bytes in flight between the two: arrival rate times mean delay.
    pub bytes_on_path: Option<f64>,
    /// Bytes sent from one edge of the sender's spin bit to the next: approximately its flight.
    pub bytes_in_round_trip: Option<Distribution>,
}

impl Conversations {
    /// A datagram of one side passes an interface, which may be one of several. The memory of all conversations and the
    /// number reported are limited. Returns whether it is counted, i.e. no copy of an earlier one.
    pub fn handle(
        &mut self,
        now: Instant,
        interface: (u32, bool),
        (ends, side): (Ends, Side),
        datagram: &Datagram,
        (memory_bytes, most): (usize, usize),
        start: Instant,
    ) -> bool {
        let opened = &mut self.opened;
        let conversation = self.open.entry(ends).or_insert_with(|| {
            *opened += 1;
            Conversation::new(ends, *opened, side)
        });
        let is_counted = conversation.handle(now, interface, side, datagram);
        if conversation.datagrams % BETWEEN_ACCOUNTS == 1 {
            let bytes = conversation.bytes();
            self.accounted = (self.accounted + bytes).saturating_sub(conversation.accounted);
            conversation.accounted = bytes;
        }
        if self.accounted > memory_bytes {
            self.make_room(memory_bytes / 2, most, start);
        }
        is_counted
    }

    /// Reports the conversations that are idle for longest.
    fn make_room(&mut self, wanted_bytes: usize, most: usize, start: Instant) {
        let mut keys: Vec<_> = self.open.values().map(|one| (one.latest_at(), one.ends)).collect();
        keys.sort_unstable();
        for (_, ends) in keys {
            if self.accounted <= wanted_bytes {
                break;
            }
            if let Some(conversation) = self.open.remove(&ends) {
                self.finish(&conversation, most, start);
            }
        }
    }

    fn finish(&mut self, conversation: &Conversation, most: usize, start: Instant) {
        self.accounted = self.accounted.saturating_sub(conversation.accounted);
        self.done.push(conversation.report(start));
        if self.done.len() >= 2 * most.max(1) {
            self.keep_largest(most);
        }
    }

    fn keep_largest(&mut self, most: usize) {
        self.done.sort_by_key(|done| (Reverse(done.payload_bytes), done.number));
        for dropped in self.done.drain(most.min(self.done.len())..) {
            self.others.add(dropped.datagrams, dropped.payload_bytes);
        }
    }

    /// The conversations with most data, in order; how many there were; and the rest in sum.
    pub fn into_reports(mut self, most: usize, start: Instant) -> (Vec<Report>, u64, Others) {
        let mut rest: Vec<_> = self.open.drain().map(|(_, conversation)| conversation).collect();
        rest.sort_by_key(|conversation| conversation.number);
        for conversation in &rest {
            self.finish(conversation, most, start);
        }
        self.keep_largest(most);
        self.done.sort_by_key(|done| done.number);
        (self.done, self.opened, self.others)
    }
}

impl Conversation {
    fn new(ends: Ends, number: u64, client: Side) -> Self {
        Self {
            ends,
            number,
            client,
            quic: None,
            views: Vec::new(),
            between: Between::default(),
            datagrams: 0,
            copied: 0,
            accounted: 0,
        }
    }

    fn handle(
        &mut self,
        now: Instant,
        (interface, is_one_of_several): (u32, bool),
        side: Side,
        datagram: &Datagram,
    ) -> bool {
        self.quic = self.quic.or(datagram.quic());
        let at = self.views.iter().position(|view| view.interface == interface).unwrap_or_else(|| {
            self.views.push(View { interface, first_at: now, latest_at: now, ..View::default() });
            if self.views.len() > 1 {
                self.between.add_place();
            }
            self.views.len() - 1
        });
        let view = &mut self.views[at];
        view.latest_at = view.latest_at.max(now);
        let look = Look::of_datagram(datagram);
        if look.is_some_and(|look| view.flows[side].copies.is_copy(view.latest_at, look, true)) {
            self.copied += 1;
            return false;
        }
        self.datagrams += 1;
        view.flows[side].handle(view.latest_at, datagram);
        if let Some(bit) = datagram.spin.filter(|_| self.quic.is_some()) {
            view.spin.on_packet(view.latest_at, side, bit, datagram.payload);
        }
        if let Some(packet) = Packet::of_datagram(datagram).filter(|_| is_one_of_several) {
            let (at_time, packets) = (view.latest_at, view.datagrams());
            self.between.pass(at, side, at_time, packet, packets);
        }
        true
    }

    fn latest_at(&self) -> Instant {
        self.views.iter().map(|view| view.latest_at).max().unwrap_or(Instant::ZERO)
    }

    fn bytes(&self) -> usize {
        let of_view = |view: &View| {
            let of_flow = |flow: &Flow| flow.delivery.bytes() + flow.progress.bytes() + flow.copies.bytes();
            let flows = view.flows.iter().map(of_flow);
            size_of::<View>() + view.spin.bytes() + flows.sum::<usize>()
        };
        size_of::<Self>() + self.views.iter().map(of_view).sum::<usize>() + self.between.bytes()
    }

    fn report(&self, start: Instant) -> Report {
        let first_at = self.views.iter().map(|view| view.first_at).min().unwrap_or(start);
        let along = self.between.along(self.client, self.client);
        let flows: Vec<_> = [self.client, 1 - self.client]
            .into_iter()
            .filter_map(|side| self.of_flow(side, first_at))
            .collect();
        let [client, server] = [self.client, 1 - self.client].map(|side| text(self.end(side)));
        let delays: Vec<_> = flows.iter().filter_map(FlowReport::delay_ms).collect();
        Report {
            number: self.number,
            client,
            server,
            quic: self.quic,
            start_s: seconds_from(start, first_at),
            duration_s: self.latest_at().since(first_at).as_secs_f64(),
            datagrams: self.datagrams,
            copies: self.copied,
            payload_bytes: flows.iter().map(|flow| flow.bytes).sum(),
            spin: along.iter().find_map(|at| self.views[*at].spin.report(first_at)),
            path_rtt_ms: match delays[..] {
                [one, other] => Some(PathRtt { min: one.min + other.min, median: one.median + other.median }),
                _ => None,
            },
            views: along
                .iter()
                .map(|at| &self.views[*at])
                .map(|view| ViewReport {
                    interface: Interface::of(view.interface),
                    start_s: seconds_from(start, view.first_at),
                    packets: view.datagrams(),
                })
                .collect(),
            flows,
        }
    }

    /// Reports one direction, times from `start` on; `None` if there was nothing.
    fn of_flow(&self, side: Side, start: Instant) -> Option<FlowReport> {
        let along = self.between.along(side, self.client);
        let seen: Vec<_> = along.into_iter().filter(|at| self.views[*at].flows[side].datagrams > 0).collect();
        let (&near, &far) = (seen.first()?, seen.last()?);
        let (view, arrived) = (&self.views[near], &self.views[far].flows[side]);
        let flow = &view.flows[side];
        let passage = (near != far)
            .then(|| self.between.passage(side, near, far, start, self.views[far].latest_at))
            .flatten();
        let path = passage.map(|crossing::Report { data, delay_over_time, lost_over_time, .. }| PathReport {
            data,
            acks: None,
            delay_over_time,
            lost_over_time,
        });
        let delay_s = path.as_ref().and_then(PathReport::delay_ms).map(|delay| delay.mean / 1e3);
        Some(FlowReport {
            sender: if side == self.client { "client" } else { "server" },
            interface: Interface::of(view.interface),
            datagrams: flow.datagrams,
            bytes: flow.bytes,
            largest_bytes: flow.largest,
            duration_s: flow.duration_s(),
            rate_bps: flow.bytes_per_s().map(|rate| rate * 8.0),
            rate: arrived.delivery.report(),
            progress: flow.progress.curve(start, 1.0),
            throughput: flow.progress.rates(start),
            path,
            bytes_on_path: delay_s.zip(arrived.bytes_per_s()).map(|(delay, rate)| delay * rate),
            bytes_in_round_trip: view.spin.in_round_trip(side),
        })
    }

    fn end(&self, side: Side) -> crate::segment::Endpoint {
        if side == 0 { self.ends.0 } else { self.ends.1 }
    }
}

impl View {
    fn datagrams(&self) -> u64 {
        self.flows.iter().map(|flow| flow.datagrams).sum()
    }
}

impl Flow {
    fn handle(&mut self, now: Instant, datagram: &Datagram) {
        self.first_at.get_or_insert(now);
        if now.since(self.latest_at) > PAUSE {
            self.delivery.pause();
        }
        self.latest_at = now;
        self.datagrams += 1;
        self.bytes += u64::from(datagram.payload);
        self.largest = self.largest.max(datagram.payload);
        self.delivery.on_ack(now, self.bytes, None);
        self.progress.add(now, self.bytes as f64);
    }

    fn duration_s(&self) -> f64 {
        self.first_at.map_or(0.0, |first| self.latest_at.since(first).as_secs_f64())
    }

    fn bytes_per_s(&self) -> Option<f64> {
        Some(self.duration_s()).filter(|seconds| *seconds > 0.0).map(|seconds| self.bytes as f64 / seconds)
    }
}

impl FlowReport {
    fn delay_ms(&self) -> Option<&Distribution> {
        self.path.as_ref().and_then(PathReport::delay_ms)
    }
}

impl Report {
    /// Shifts the origin of times `seconds` back.
    pub fn shift(&mut self, seconds: f64) {
        self.start_s += seconds;
        self.views.iter_mut().for_each(|view| view.start_s += seconds);
    }

    /// Names the interfaces, from their numbers.
    pub fn name_interfaces(&mut self, name: impl Fn(u32) -> Option<String>) {
        let of_views = self.views.iter_mut().map(|view| &mut view.interface);
        for interface in of_views.chain(self.flows.iter_mut().map(|flow| &mut flow.interface)) {
            interface.name = name(interface.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::Mark;

    fn mark(identification: u16) -> Mark {
        Mark { identification, hops: 64 }
    }

    fn ends() -> Ends {
        let end = |last: u8, port: u16| ([10, 0, 0, last].into(), port);
        (end(1, 40_000), end(2, 443))
    }

    /// Two interfaces 40 ms apart; the client, side 0, asks, and of 100 datagrams every tenth is lost.
    fn conversations(memory_bytes: usize, conversations: u16) -> (Vec<Report>, u64, Others) {
        let mut found = Conversations::default();
        for number in 0..conversations {
            let mut ends = ends();
            ends.0.1 += number;
            let mut pass = |ms: u64, interface: u32, side: Side, datagram: &Datagram| {
                let now = Instant::from_nanos((2000 * u64::from(number) + ms) * 1_000_000);
                found.handle(
                    now,
                    (interface, true),
                    (ends, side),
                    datagram,
                    (memory_bytes, 2),
                    Instant::ZERO,
                );
            };
            let ask = Datagram::new(&[0xC3, 0, 0, 0, 1], 1200, mark(1));
            pass(0, 1, 0, &ask);
            pass(40, 0, 0, &ask);
            for at in 0..100_u16 {
                let datagram = Datagram::new(&[0x40, 7], 1000, mark(at + 1));
                pass(50 + 10 * u64::from(at), 0, 1, &datagram);
                if at % 10 != 3 {
                    pass(90 + 10 * u64::from(at), 1, 1, &datagram);
                }
            }
        }
        found.into_reports(2, Instant::ZERO)
    }

    #[test]
    fn what_is_lost_between_two_interfaces_is_known_with_the_delay() {
        let (reports, seen, _) = conversations(1 << 20, 1);
        let [report] = &reports[..] else { panic!("{seen}") };
        assert_eq!((report.client.as_str(), report.quic), ("10.0.0.1:40000", Some("1")));
        let views: Vec<_> = report.views.iter().map(|view| view.interface.number).collect();
        assert_eq!(views, [1, 0]);
        let server = report.flows.iter().find(|flow| flow.sender == "server").expect("answers");
        assert_eq!((server.datagrams, server.bytes, server.interface.number), (100, 100_000, 0));
        let passed = server.path.as_ref().and_then(|path| path.data.as_ref()).expect("two interfaces");
        assert_eq!((passed.lost, passed.late, passed.added), (10, 0, 0));
        let delay = passed.delay_ms.as_ref().expect("arrivals");
        assert!((delay.median - 40.0).abs() < 0.2, "{}", delay.median);
        // 1000 bytes every 10 ms, nine tenths of which arrive 40 ms later.
        let on_path = server.bytes_on_path.expect("a delay");
        assert!((on_path - 0.9 * 4000.0).abs() < 50.0, "{on_path}");
        let rtt = report.path_rtt_ms.expect("both ways");
        assert!((rtt.median - 80.0).abs() < 0.4 && report.spin.is_none(), "{rtt:?}");
    }

    #[test]
    fn with_little_memory_every_conversation_is_reported_or_summed_up() {
        let (reports, seen, others) = conversations(100_000, 50);
        assert_eq!((reports.len(), seen, others.connections), (2, 50, 48));
        let datagrams: u64 = reports.iter().map(|one| one.datagrams).sum();
        assert_eq!(datagrams + others.packets, 50 * 192);
    }
}
