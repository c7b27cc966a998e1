//! Pages over HTTP/1.1, 2 and 3: round trips by hand, what a loss delays, priorities, and every byte arrives whatever is lost.

use airpath_core::app::web::{Breakdown, Report};
use airpath_core::element::{Cx, Element, Layout, Port};
use airpath_core::host::{FlowReport, Host, flow_reports};
use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{ProbeMask, Reason};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// A packet as it enters the line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    ms: u64,
    dir: Dir,
    len: u32,
}

/// 50 ms each way at any rate; loses packets with these numbers, from 0.
struct Line {
    lost: Vec<usize>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Element for Line {
    fn layout(&self) -> Layout {
        Layout { lanes: Dir::BOTH.to_vec(), ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let mut seen = self.seen.lock().unwrap();
        seen.push(Seen { ms: cx.now.as_nanos() / 1_000_000, dir, len: packet.len });
        if self.lost.contains(&(seen.len() - 1)) {
            return cx.drop(dir, packet, Reason::LinkLoss);
        }
        cx.emit_at(cx.now + Duration::from_millis(50), dir.index() as u32, packet);
    }
}

/// Loads a page over the line; what was seen, and the reports.
fn load(web: &str, tcp: &str, lost: &[usize]) -> (Vec<Seen>, Vec<FlowReport>) {
    let text = format!("[tcp]\nsack = true\nrecovery = \"sack\"\n{tcp}\n[[flow]]\napp.web = {{ {web} }}");
    let flows = Scenario::parse(&text, &[]).unwrap().flows();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let line = Line { lost: lost.to_vec(), seen: seen.clone() };
    let [server, ues] = Dir::BOTH.map(|dir| Box::new(Host::new(dir, 1, &flows, 1)) as Box<dyn Element>);
    let mut path = Path::new(vec![server, Box::new(line), ues], ProbeMask::NONE);
    path.handle_timeout(Instant::ZERO + Duration::from_secs(60));
    let ends = [0, 2].map(|index| path.element::<Host>(index).unwrap());
    let reports =
        flow_reports(ends[0], ends[1], path.now(), |ue, flow, dir| path.datagrams_dropped(ue, flow, dir));
    let all_seen = seen.lock().unwrap().clone();
    (all_seen, reports)
}

fn page(reports: &[FlowReport]) -> &Report {
    reports[0].web.as_ref().unwrap()
}

fn breakdown(reports: &[FlowReport]) -> &Breakdown {
    page(reports).breakdown.as_ref().unwrap()
}

/// Round trips of 100 ms until the first byte of a response.
#[test]
fn round_trips_before_the_first_byte_are_those_of_the_protocols() {
    let cases = [
        ("http = \"1.1\"", 2),
        ("http = \"1.1\", tls = \"1.2\"", 4),
        ("http = \"1.1\", tls = \"1.2\", resumption = \"session\"", 3),
        ("http = \"1.1\", tls = \"1.3\"", 3),
        ("http = \"1.1\", tls = \"1.3\", resumption = \"session\"", 3),
        ("http = \"1.1\", tls = \"1.3\", resumption = \"early_data\"", 2),
        ("http = \"1.1\", connections = \"pool\", tls = \"1.2\"", 4),
        ("http = \"2\", tls = \"none\"", 2),
        ("http = \"2\"", 3),
        ("http = \"2\", resumption = \"early_data\"", 2),
        ("http = \"3\"", 2),
        ("http = \"3\", resumption = \"session\"", 2),
        ("http = \"3\", resumption = \"early_data\"", 1),
    ];
    for (web, round_trips) in cases {
        let (_, reports) = load(web, "", &[]);
        assert_eq!(page(&reports).first_byte_s, Some(f64::from(round_trips) / 10.0), "{web}");
        assert_eq!((page(&reports).requests, page(&reports).objects), (9, 8), "{web}");
        assert!(page(&reports).page_load_s.is_some() && reports[0].received_s.is_some(), "{web}");
    }
}

#[test]
fn the_breakdown_has_the_times_of_each_step() {
    let (_, reports) = load("http = \"2\", objects = 2, think = \"30 ms\"", "", &[]);
    let times = breakdown(&reports);
    assert_eq!((times.connect_s, times.tls_s), (Some(0.1), Some(0.2)));
    let [html, first, second] = &times.waterfall[..] else { panic!("{times:?}") };
    // 20 kB do not fit into the initial window: a round trip more.
    assert_eq!((html.known_s, html.requested_s, html.first_byte_s), (Some(0.0), Some(0.2), Some(0.33)));
    assert_eq!(html.complete_s, Some(0.43));
    assert_eq!((first.known_s, first.requested_s, second.requested_s), (Some(0.43), Some(0.43), Some(0.43)));
    // Both are worked on at once.
    assert_eq!(
        (first.first_byte_s, second.complete_s, page(&reports).page_load_s),
        (Some(0.56), Some(0.56), Some(0.56))
    );
    let (_, of_quic) = load("http = \"3\", objects = 2", "", &[]);
    let over_quic = breakdown(&of_quic);
    assert_eq!((over_quic.connect_s, over_quic.tls_s, over_quic.waterfall.len()), (Some(0.1), Some(0.1), 3));
    let (_, plain) = load("http = \"1.1\"", "", &[]);
    assert_eq!(page(&plain).breakdown, None);
}

/// Ten objects of a packet each, requested at once; the first packet of the responses is lost. By hand: over TCP nothing after
/// it is of use before it is repaired, a round trip later; in streams of their own it delays only those whose data it had.
#[test]
fn a_loss_delays_all_objects_over_http_2_and_one_or_two_over_http_3() {
    for (http, late) in [("2", 10..=10), ("3", 1..=2)] {
        let web = format!("http = \"{http}\", page = \"1 kB\", objects = 10, object = \"1200 B\"");
        let (seen, without) = load(&web, "", &[]);
        let asked_ms = (breakdown(&without).waterfall[1].requested_s.unwrap() * 1e3).round() as u64;
        let first = seen.iter().position(|packet| {
            packet.dir == Dir::Downlink && packet.ms == asked_ms + 50 && packet.len > 1000
        });
        let (_, with) = load(&web, "", &[first.unwrap()]);
        let delays = breakdown(&with).waterfall.iter().zip(&breakdown(&without).waterfall).skip(1);
        let delays: Vec<f64> = delays
            .map(|(disturbed, undisturbed)| {
                (disturbed.complete_s.unwrap() - undisturbed.complete_s.unwrap()).abs()
            })
            .collect();
        let delayed: Vec<f64> = delays.into_iter().filter(|delay_s| *delay_s > 1e-9).collect();
        assert!(late.contains(&delayed.len()), "HTTP/{http}: {delayed:?}");
        assert!(delayed.iter().all(|delay_s| (delay_s - 0.1).abs() < 1e-9), "HTTP/{http}: {delayed:?}");
    }
}

/// A pool of six pays for five more handshakes at once, and then has six requests in each round trip.
#[test]
fn a_pool_has_so_many_requests_at_once() {
    let pool = "http = \"1.1\", connections = \"pool\", parallel = 6, page = \"1 kB\", objects = 12, object = \"1 kB\"";
    let (_, reports) = load(pool, "", &[]);
    // The page at 200 ms. The first connection has an object after 300 and each 100 ms; five others are open at 300, and have
    // theirs at 400 and each 100 ms: 1 + 6 + 5 are there at 500 ms.
    assert_eq!(page(&reports).page_load_s, Some(0.5));
    assert_eq!((page(&reports).connections, page(&reports).requests), (6, 13));
    let (_, streams) =
        load("http = \"2\", tls = \"none\", page = \"1 kB\", objects = 12, object = \"1 kB\"", "", &[]);
    assert_eq!(page(&streams).page_load_s, Some(0.3));
}

/// At 2 Mbit/s a mobile page takes ten seconds; what blocks it comes first with priorities.
#[test]
fn what_blocks_the_page_comes_before_its_images() {
    for http in ["2", "3"] {
        let text = format!(
            "duration = \"60 s\"\n[wired]\ndelay = \"20 ms\"\n[radio.dch]\ndownlink = {{ rate = \"2 Mbit/s\", delay = \"5 ms\" }}\n\
             uplink = {{ rate = \"1 Mbit/s\", delay = \"5 ms\" }}\n[[flow]]\napp.web = {{ http = \"{http}\", composition = \"mobile\" }}"
        );
        let mut simulation = Simulation::new(&Scenario::parse(&text, &[]).unwrap(), 1, Observe::default());
        simulation.run();
        let results = simulation.results();
        let times = breakdown(&results.flows);
        let blocking_s = times.blocking_s.unwrap();
        let load_s = page(&results.flows).page_load_s.unwrap();
        // HTML, CSS, half of the scripts and fonts: 537 kB, and 2.56 MB in all, at 250 kB/s.
        assert!((2.1..3.2).contains(&blocking_s), "HTTP/{http}: {blocking_s}");
        assert!((10.2..11.5).contains(&load_s), "HTTP/{http}: {load_s}");
        assert_eq!(page(&results.flows).requests, 66);
    }
}

#[test]
fn keys_that_do_not_go_together_are_refused() {
    let error = |web: &str, tcp: &str| {
        let text = format!("[tcp]\n{tcp}\n[[flow]]\napp.web = {{ {web} }}");
        let error = Scenario::parse(&text, &[]).unwrap_err();
        (error.path.clone(), error.to_string())
    };
    for (web, tcp, path) in [
        ("http = \"3\", tls = \"1.2\"", "", "flow[0].app.web.tls"),
        ("resumption = \"session\"", "", "flow[0].app.web.resumption"),
        ("http = \"2\", tls = \"1.2\", resumption = \"early_data\"", "", "flow[0].app.web.resumption"),
        ("http = \"2\", connections = \"pool\"", "", "flow[0].app.web.connections"),
        ("http = \"3\", pipelining = true", "", "flow[0].app.web.pipelining"),
        ("http = \"3\"", "profile = \"linux-prague\"", "flow[0].app.web.http"),
        ("certificates = \"0 B\"", "", "flow[0].app.web.certificates"),
    ] {
        let (found, message) = error(web, tcp);
        assert_eq!(found, path, "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_object_arrives_whatever_is_lost(
        form in prop::sample::select(vec![
            "http = \"3\"", "http = \"2\"", "http = \"3\", resumption = \"early_data\"", "tls = \"1.2\"",
            "connections = \"pool\", parallel = 3, tls = \"1.3\"", "http = \"2\", composition = \"mobile\"",
        ]),
        loss in 0..15_u32, seed in any::<u64>(),
    ) {
        let text = format!(
            "duration = \"30 min\"\n[wired]\nloss = \"{loss} %\"\ndelay = \"20 ms\"\n[radio.dch]\n\
             downlink = {{ rate = \"8 Mbit/s\", delay = \"5 ms\" }}\nuplink = {{ rate = \"1 Mbit/s\", delay = \"5 ms\" }}\n\
             [[flow]]\napp.web = {{ {form} }}"
        );
        let mut simulation = Simulation::new(&Scenario::parse(&text, &[]).unwrap(), seed, Observe::default());
        simulation.run();
        let results = simulation.results();
        let page = page(&results.flows);
        prop_assert!(page.page_load_s.is_some(), "{form}: {page:?}");
        prop_assert_eq!(page.requests, page.objects + 1);
    }
}
