//! QUIC's loss recovery at exact instants, by hand from RFC 9002, and any loss.

use airpath_core::app::web::h3::Http3;
use airpath_core::app::web::objects::Object;
use airpath_core::packet::Packet;
use airpath_core::quic::{self, Connection, Datagram, Report, Role, Tls};
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::tcp::Config;
use airpath_core::tcp::cc::Config as CcConfig;
use airpath_core::tcp::ecn::Ecn;
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use proptest::prelude::*;
use std::collections::VecDeque;

/// One way, so that a round trip takes 100 ms.
const ONE_WAY: Duration = Duration::from_millis(50);
const OBJECT: Object = Object { size: 0, parent: 0, after: 0, urgency: 3, incremental: false };
const REQUEST: u64 = 300;
const TLS: Tls = Tls { client_hello: 1000, server_flight: 3000, early_data: false };

struct End {
    connection: Connection,
    streams: Http3,
    /// Datagrams that arrive here, and when.
    arriving: VecDeque<(Instant, Datagram)>,
}

/// A browser that requests one response, and its server, over a path without a rate.
struct Pair<F> {
    ends: [End; 2],
    now: Instant,
    /// Whether the path loses this datagram: direction (0 to the server), its number there, when it is sent.
    loses: F,
    /// What the path makes of the ECN field of a datagram.
    field: fn(usize, u64, u8) -> u8,
    /// ECN field of the latest datagram in each direction, as sent.
    latest: [u8; 2],
    sent: [u64; 2],
    response: u64,
    complete: Option<Instant>,
}

fn ms(value: f64) -> Instant {
    Instant::from_nanos((value * 1e6) as u64)
}

impl<F: FnMut(usize, u64, Instant) -> bool> Pair<F> {
    fn new(tls: Tls, response: u64, loses: F) -> Self {
        Self::with((&Config::default(), &quic::Config::default()), tls, response, loses)
    }

    fn with((config, windows): (&Config, &quic::Config), tls: Tls, response: u64, loses: F) -> Self {
        let end = |role| End {
            connection: Connection::new(config, windows, role, tls),
            streams: Http3::default(),
            arriving: VecDeque::new(),
        };
        let mut ends = [end(Role::Server), end(Role::Client)];
        ends[1].connection.open();
        ends[1].streams.send(0, &OBJECT, REQUEST);
        let (now, sent) = (Instant::ZERO, [0; 2]);
        Self { ends, now, loses, field: |_, _, field| field, latest: [0; 2], sent, response, complete: None }
    }

    fn drain(&mut self) {
        for from in [1, 0] {
            let to = 1 - from;
            while let Some(mut datagram) = {
                let End { connection, streams, .. } = &mut self.ends[from];
                connection.poll_transmit(self.now, streams)
            } {
                let number = self.sent[to];
                self.sent[to] += 1;
                self.latest[to] = datagram.ecn;
                datagram.ecn = (self.field)(to, number, datagram.ecn);
                if !(self.loses)(to, number, self.now) {
                    self.ends[to].arriving.push_back((self.now + ONE_WAY, datagram));
                }
            }
        }
    }

    /// Runs until the response is complete and nothing waits, or until `end`. Returns when it was complete.
    fn run(&mut self, end: Instant) -> Option<Instant> {
        let (mut arrived, mut requested) = (0, 0);
        loop {
            self.drain();
            let next = self.ends.iter().flat_map(|of| {
                of.arriving.front().map(|(at, _)| *at).into_iter().chain(of.connection.deadline())
            });
            let Some(next) = next.min().filter(|at| *at <= end) else { return self.complete };
            self.now = self.now.max(next);
            for (index, of) in self.ends.iter_mut().enumerate() {
                while of.arriving.front().is_some_and(|(at, _)| *at <= self.now)
                    && let Some((_, datagram)) = of.arriving.pop_front()
                {
                    of.connection.handle_datagram(self.now, &datagram, &mut of.streams);
                    while let Some((_, bytes)) = of.streams.poll_arrived() {
                        let total = if index == 0 { &mut requested } else { &mut arrived };
                        *total += bytes;
                        if index == 0 && *total == REQUEST {
                            of.streams.send(0, &OBJECT, self.response);
                        }
                        if index == 1 && *total == self.response {
                            self.complete = Some(self.now);
                        }
                    }
                }
                of.connection.handle_deadline(self.now, &mut of.streams);
            }
        }
    }

    fn report(&self) -> Report {
        self.ends[0].connection.report()
    }
}

/// The numbers of the server's datagrams: its first flight has three.
const FIRST: u64 = 3;

#[test]
fn a_response_comes_after_two_round_trips_and_with_early_data_after_one() {
    assert_eq!(Pair::new(TLS, 1000, |_, _, _| false).run(ms(9e3)), Some(ms(200.0)));
    let early = Tls { early_data: true, server_flight: 200, ..TLS };
    assert_eq!(Pair::new(early, 1000, |_, _, _| false).run(ms(9e3)), Some(ms(100.0)));
}

#[test]
fn a_server_sends_three_times_what_has_arrived_before_the_address_is_valid() {
    // 1200 bytes arrive, 3600 may go: certificates of 6 kB take one more round trip.
    let long = Tls { server_flight: 6000, ..TLS };
    assert_eq!(Pair::new(long, 1000, |_, _, _| false).run(ms(9e3)), Some(ms(300.0)));
    // With a ClientHello of two datagrams 7200 may go.
    let both = Tls { client_hello: 1917, ..long };
    assert_eq!(Pair::new(both, 1000, |_, _, _| false).run(ms(9e3)), Some(ms(200.0)));
}

#[test]
fn a_packet_is_lost_when_the_third_after_it_is_acknowledged() {
    // Sent at 150 ms, the gap is acknowledged at once at 200 and known at 250, the data arrives at 300.
    let mut pair = Pair::new(TLS, 10_000, |to, number, _| to == 1 && number == FIRST);
    assert_eq!(pair.run(ms(9e3)), Some(ms(300.0)));
    let report = pair.report();
    assert_eq!((report.packets_lost, report.spurious_losses, report.probe_timeouts), (1, 0, 0));
    assert_eq!((report.window_reductions, report.persistent_congestion), (1, 0));
}

#[test]
fn a_packet_with_fewer_after_it_is_lost_after_nine_eighths_of_a_round_trip() {
    // Two packets at 150 ms; the ACK of the second comes at 250. 150 + 112.5 = 262.5 ms, and 50 more.
    let mut pair = Pair::new(TLS, 2000, |to, number, _| to == 1 && number == FIRST);
    assert_eq!(pair.run(ms(9e3)), Some(ms(312.5)));
    assert_eq!((pair.report().packets_lost, pair.report().probe_timeouts), (1, 0));
}

#[test]
fn a_lost_tail_is_probed_after_the_probe_timeout() {
    // Two samples of 100 ms, of Initial and Handshake packets: 100 + 4 x 37.5 + 25 = 275 ms after 150.
    let mut pair = Pair::new(TLS, 1000, |to, number, _| to == 1 && number == FIRST);
    assert_eq!(pair.run(ms(9e3)), Some(ms(475.0)));
    assert_eq!(pair.report().probe_timeouts, 1);
}

#[test]
fn each_probe_timeout_is_twice_the_one_before() {
    // 275 and 550 ms; two probes each: the response and both probes of the first timeout are lost.
    let mut pair = Pair::new(TLS, 1000, |to, number, _| to == 1 && (FIRST..FIRST + 3).contains(&number));
    assert_eq!(pair.run(ms(9e3)), Some(ms(150.0 + 275.0 + 550.0 + 50.0)));
}

#[test]
fn a_long_outage_is_persistent_congestion_and_a_short_one_is_not() {
    for (until, collapses) in [(420.0, 0), (4000.0, 1)] {
        let mut pair = Pair::new(TLS, 300_000, |to, _, at| to == 1 && (ms(400.0)..ms(until)).contains(&at));
        assert!(pair.run(ms(60e3)).is_some());
        assert_eq!(pair.report().persistent_congestion, collapses, "until {until} ms");
        assert_eq!(pair.report().spurious_losses, 0);
    }
}

#[test]
fn a_lost_first_flight_of_either_end_is_retransmitted() {
    // 333 + 4 x 166.5 = 999 ms: RFC 9002 (6.2.2).
    let client = Pair::new(TLS, 1000, |to, number, _| to == 0 && number == 0).run(ms(9e3));
    assert_eq!(client, Some(ms(999.0 + 200.0)));
    let server = Pair::new(TLS, 1000, |to, number, _| to == 1 && number < FIRST).run(ms(9e3));
    // The client probes at 999 ms, the server at 50 + 999; the probe lets the server send sooner than that or not at all.
    assert!(server.is_some_and(|at| at <= ms(50.0 + 999.0 + 200.0)), "{server:?}");
}

/// Windows of these many bytes, of a stream and of the connection.
fn windows(stream: u64, connection: u64) -> quic::Config {
    quic::Config {
        stream_window: Bytes::from_bytes(stream),
        connection_window: Bytes::from_bytes(connection),
        ..quic::Config::default()
    }
}

#[test]
fn a_small_window_is_sent_once_per_round_trip() {
    // A packet has 1460 - 27 B less the headers of frames, about 1420 B of the stream: a window has two packets. The client raises
    // the limit when half of the window is left, with the first of two packets (at 200 ms, to 1420 + 2800 B) and with a single
    // one. So 2800 B leave at 150 ms, up to 4220 B at 250, up to 7020 B at 350, and the rest at 450; it arrives 50 ms later.
    for of in [windows(2800, 1_000_000), windows(1_000_000, 2800)] {
        let mut pair = Pair::with((&Config::default(), &of), TLS, 8400, |_, _, _| false);
        assert_eq!(pair.run(ms(9e3)), Some(ms(500.0)));
        let blocked = pair.report().flow_control.map(|flow| flow.blocked_s);
        assert!(blocked.is_some_and(|blocked| (blocked - 0.3).abs() < 1e-9), "{blocked:?}");
    }
    let mut pair = Pair::new(TLS, 8400, |_, _, _| false);
    assert_eq!((pair.run(ms(9e3)), pair.report().flow_control), (Some(ms(200.0)), None));
}

#[test]
fn a_lost_update_of_a_limit_is_sent_again() {
    let of = windows(2800, 1_000_000);
    let updates = |lost: Option<u64>| {
        let both = (&Config::default(), &of);
        let mut pair = Pair::with(both, TLS, 8400, |to, number, _| to == 0 && Some(number) == lost);
        (
            pair.run(ms(20e3)),
            pair.ends[1].connection.report().flow_control.map_or(0, |flow| flow.updates_sent),
        )
    };
    let (complete, sent) = updates(None);
    for lost in 2..8 {
        let (later, more) = updates(Some(lost));
        assert!(later >= complete && later.is_some() && more >= sent, "{lost}: {later:?}, {more}");
    }
}

/// A response over a path that does this to ECN fields.
fn marked(response: u64, field: fn(usize, u64, u8) -> u8) -> Pair<impl FnMut(usize, u64, Instant) -> bool> {
    let config = Config { ecn: Ecn::Classic, ..Config::default() };
    let mut pair = Pair::with((&config, &quic::Config::default()), TLS, response, |_, _, _| false);
    pair.field = field;
    assert!(pair.run(ms(20e3)).is_some());
    pair
}

#[test]
fn a_mark_halves_the_window_without_a_loss() {
    // CE on the first packet of the response is acknowledged at once. Of the window of 14,600 B 7300 are left, and nothing that was
    // sent before lets it grow.
    let pair =
        marked(10_000, |to, number, field| if (to, number) == (1, FIRST) { Packet::CE } else { field });
    let (report, window) = (pair.report(), &pair.ends[0].connection.state().window);
    assert_eq!((window.cwnd, window.ssthresh), (7300.0, 7300.0));
    assert_eq!((report.packets_lost, report.window_reductions), (0, 1));
    let ecn = report.ecn.map(|ecn| (ecn.marked, ecn.reductions, ecn.is_valid));
    assert_eq!(ecn, Some((1, 1, true)));
    let arrived = pair.ends[1].connection.report().ecn.map(|of| of.arrived);
    assert_eq!(arrived.map(|counts| (counts.ce, counts.ect1)), Some((1, 0)));
    assert!(arrived.is_some_and(|counts| counts.ect0 > 8));
}

#[test]
fn marks_of_one_round_trip_reduce_the_window_once() {
    let same =
        marked(
            40_000,
            |to, number, field| {
                if to == 1 && (FIRST..FIRST + 5).contains(&number) { Packet::CE } else { field }
            },
        );
    assert_eq!((same.report().window_reductions, same.report().ecn.map(|ecn| ecn.marked)), (1, Some(5)));
    // Ten packets fill the first window: the fifteenth leaves after the reduction.
    let later =
        marked(
            40_000,
            |to, number, field| {
                if to == 1 && [FIRST, FIRST + 15].contains(&number) { Packet::CE } else { field }
            },
        );
    assert_eq!(later.report().window_reductions, 2);
}

#[test]
fn where_the_path_clears_the_field_nothing_is_marked_any_more() {
    let pair = marked(40_000, |_, _, _| Packet::NOT_ECT);
    let ecn = pair.report().ecn;
    assert!(ecn.is_some_and(|ecn| !ecn.is_valid && ecn.marked == 0), "{ecn:?}");
    assert_eq!((pair.latest, pair.report().window_reductions), ([Packet::NOT_ECT; 2], 0));
    // And where it sets all to CE, all windows are halved, but the path is valid.
    let all = marked(40_000, |_, _, _| Packet::CE);
    assert!(all.report().ecn.is_some_and(|of| of.is_valid && of.reductions > 2));
    assert_eq!(all.latest, [Packet::ECT_0; 2]);
}

/// A page of one large response over a slow link.
const PAGE: &str = r#"
duration = "60 s"
wired = { rate = "5 Mbit/s", delay = "20 ms" }
radio.dch = { downlink.rate = "1 Gbit/s", uplink.rate = "1 Gbit/s" }
[[flow]]
app.web = { http = "3", page = "4 MB", objects = 0 }
"#;

fn page(overrides: &[(&str, &str)]) -> Results {
    let owned: Vec<_> = overrides.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
    let scenario = Scenario::parse(PAGE, &owned).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    simulation.results()
}

#[test]
fn a_queue_marks_the_packets_of_a_page_instead_of_dropping_them() {
    let queue = ("wired.queue", "{ codel = { ecn = true } }");
    let [without, with] = ["false", "true"].map(|ecn| page(&[queue, ("tcp.ecn", ecn)]).flows.remove(0));
    let server = |flow: &airpath_core::host::FlowReport| {
        flow.quic.as_ref().map(|quic| quic.server.clone()).unwrap_or_default()
    };
    assert!(server(&without).ecn.is_none() && server(&without).packets_lost > 0);
    let ecn = server(&with).ecn.filter(|ecn| ecn.is_valid).map_or((0, 0), |ecn| (ecn.marked, ecn.reductions));
    assert!(server(&with).packets_lost == 0 && ecn.0 > 5 && ecn.1 > 5 && ecn.1 <= ecn.0, "{ecn:?}");
    // Both fill the link: 4 MB at 5 Mbit/s are 6.4 s, and headers add 5 %.
    for flow in [with, without] {
        assert!(flow.received_s.is_some_and(|at| (6.5..8.5).contains(&at)), "{:?}", flow.received_s);
    }
}

#[test]
fn a_window_limits_the_page_unless_it_grows() {
    let window = [("wired.delay", "100 ms"), ("flow.0.app.web.quic.stream_window", "50 kB")];
    let (fixed, _) = speed_and_delay(&window);
    // The first update comes with the 18th packet, when 25.6 kB are read, the second when 25.6 kB more are. But the sender has to
    // stop at 50 kB, just before that. So it gets half of a window per round trip of 204 ms: 126 kB/s.
    assert!((120.0..130.0).contains(&fixed), "{fixed}");
    // It doubles with each update until it holds the round trip: seven times, then the link's 625 kB/s are the limit.
    let grows = ("flow.0.app.web.quic.stream_window_max", "6 MB");
    let (grown, _) = speed_and_delay(&[&window[..], &[grows]].concat());
    let (free, _) = speed_and_delay(&window[..1]);
    assert!(grown > 450.0 && grown > 0.9 * free, "{grown} of {free}");
}

/// Kilobytes per second of the page, and the 90th percentile of its queueing delay in ms.
fn speed_and_delay(overrides: &[(&str, &str)]) -> (f64, f64) {
    let flow = page(overrides).flows.remove(0);
    let Some(seconds) = flow.received_s else { panic!("{overrides:?}: the page is not complete") };
    (4000.0 / seconds, flow.queueing_delay_ms.p90.unwrap_or_default())
}

/// `profile = "linux"` has the loss recovery that TCP wants with such controls; QUIC has its own.
fn with_cc<'a>(cc: &'a str, http: &'a str, more: &[(&'a str, &'a str)]) -> (f64, f64) {
    let common = [("tcp.profile", "linux"), ("tcp.cc", cc), ("flow.0.app.web.http", http)];
    speed_and_delay(&[&common, more].concat())
}

#[test]
fn controls_that_model_the_path_fill_a_link_with_a_short_queue() {
    let deep = [("wired.queue", "{ droptail = { packets = 1000 } }")];
    let cubic = with_cc("cubic", "\"3\"", &deep);
    assert!(cubic.0 > 500.0 && cubic.1 > 200.0, "{cubic:?}");
    // 5 Mbit/s are 625 kB/s, and headers and slow start take some of it. Two round trips of 41 ms hold what BBR has in flight.
    for cc in ["bbr", "bbr3", "copa"] {
        let (speed, delay) = with_cc(cc, "\"3\"", &deep);
        assert!(speed > 500.0 && delay < 90.0, "{cc}: {speed}, {delay}");
    }
}

#[test]
#[ignore = "slow"]
fn bbr_over_quic_is_as_fast_as_over_tcp_and_keeps_its_rate_with_losses() {
    for cc in ["bbr", "bbr3"] {
        for loss in ["0 %", "1 %"] {
            let lossy = [("wired.loss", loss), ("wired.queue", "{ droptail = { packets = 100 } }")];
            let [tcp, quic] = ["\"2\"", "\"3\""].map(|http| with_cc(cc, http, &lossy).0);
            assert!((quic / tcp - 1.0).abs() < 0.15 && quic > 450.0, "{cc}, {loss}: {quic}, {tcp}");
        }
    }
    let (cubic, _) = with_cc("cubic", "\"3\"", &[("wired.loss", "1 %")]);
    assert!(cubic < 400.0, "{cubic}");
}

#[test]
fn a_control_that_needs_the_bytes_marked_is_refused() {
    let overrides = ["prague", "dctcp"].map(|cc| {
        [("tcp.profile", "linux"), ("tcp.ecn", "accurate"), ("tcp.cc", cc)]
            .map(|(key, value)| (key.into(), value.into()))
    });
    for of in overrides {
        let refused = Scenario::parse(PAGE, &of).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("app.web.http") && refused.contains("bytes marked"), "{refused}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_byte_arrives_whatever_is_lost(
        lost in prop::collection::vec(prop::collection::vec(any::<bool>(), 60), 2),
        response in 1..200_000_u64, early_data in any::<bool>(), hello in 100..3000_u64, flight in 200..8000_u64,
        stream in 1..400_000_u64, connection in 1..400_000_u64, ecn in any::<bool>(),
        cc in prop::sample::select(CcConfig::defaults()),
    ) {
        let tls = Tls { client_hello: hello, server_flight: flight, early_data };
        let loses = |to: usize, number: u64, _: Instant| {
            // Half of the first sixty in each direction, then none.
            lost[to].get(number as usize).copied().unwrap_or(false)
        };
        // A window of one byte would take a packet for each byte.
        let windows = windows(stream.max(response / 100), connection.max(response / 100));
        let config = Config { ecn: if ecn { Ecn::Classic } else { Ecn::Off }, cc, ..Config::default() };
        let mut pair = Pair::with((&config, &windows), tls, response, loses);
        pair.field = |_, number, field| if field != 0 && number % 5 == 0 { Packet::CE } else { field };
        // Thirty probe timeouts that double are years.
        prop_assert!(pair.run(ms(1e12)).is_some());
        let ends = [0, 1].map(|index| pair.ends[index].streams.acked().1);
        prop_assert_eq!(ends, [1, 1], "both ends know that everything arrived");
        prop_assert!(pair.report().ecn.is_none_or(|of| of.is_valid), "marks are no reason to stop");
    }
}
