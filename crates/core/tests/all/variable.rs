//! The cell of variable rate, against hand computation and against a walk over all opportunities.

use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::radio;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// A path of one cell, whose downlink has these keys.
fn cell(downlink: &Value) -> Path {
    let config: radio::Config =
        serde_json::from_value(json!({"variable": {"ues": 1, "downlink": downlink}})).unwrap();
    config.validate().unwrap();
    Path::new(vec![config.build(&radio::Plan::of(1))], ProbeMask::ALL)
}

fn with_trace(trace: &str) -> Value {
    json!({"channel": {"trace_file": {"trace": trace}}})
}

fn send(path: &mut Path, at_micros: u64, number: u32, len: u32) {
    let mut packet = path.packet();
    (packet.seq, packet.len) = (number, len);
    path.handle_packet(Instant::from_nanos(1000 * at_micros), Dir::Downlink, packet);
}

fn run_to(path: &mut Path, millis: u64) {
    path.handle_timeout(Instant::from_nanos(1_000_000 * millis));
}

/// Output: microseconds and number of each packet.
fn outputs(path: &mut Path) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| path.poll_output())
        .map(|(at, _, packet)| (at.as_nanos() / 1000, packet.seq))
        .collect()
}

fn report(path: &mut Path) -> Value {
    path.reports()[0]["ues"][0]["downlink"].clone()
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_go_on_in_the_next() {
    let mut path = cell(&with_trace("10\n20\n30\n40\n"));
    // 1500 of the first; 400 of these are left for packet 2, which has 600 to go.
    for (number, len) in [(0, 100), (1, 1000), (2, 1000), (3, 900), (4, 1)] {
        send(&mut path, 5_000, number, len);
    }
    run_to(&mut path, 45);
    assert_eq!(outputs(&mut path), [(10_000, 0), (10_000, 1), (20_000, 2), (20_000, 3), (30_000, 4)]);
    let report = report(&mut path);
    assert_eq!(report["opportunities"], 4);
    assert_eq!(report["utilisation"], 3001.0 / 6000.0);
}

#[test]
fn an_opportunity_that_finds_the_buffer_empty_is_lost() {
    let mut path = cell(&with_trace("10\n"));
    send(&mut path, 10_001, 0, 1500);
    run_to(&mut path, 35);
    // In time for 40, at the very instant.
    send(&mut path, 40_000, 1, 40);
    run_to(&mut path, 40);
    // What was left of it is gone.
    send(&mut path, 40_000, 2, 40);
    run_to(&mut path, 100);
    assert_eq!(outputs(&mut path), [(20_000, 0), (40_000, 1), (50_000, 2)]);
}

#[test]
fn the_delay_comes_behind_the_opportunity() {
    let mut downlink = with_trace("10\n");
    downlink["delay"] = "35 ms".into();
    let mut path = cell(&downlink);
    send(&mut path, 0, 0, 1501);
    run_to(&mut path, 100);
    assert_eq!(outputs(&mut path), [(55_000, 0)]);
    let delays: Vec<u64> = path
        .take_trace()
        .iter()
        .filter_map(|(_, event)| match event {
            Event::BearerDelivered { delay_ns, .. } => Some(*delay_ns),
            _ => None,
        })
        .collect();
    assert_eq!(delays, [55_000_000]);
}

#[test]
fn mahimahi_counts_four_bytes_for_each_packet() {
    let mut downlink = with_trace("10\n");
    downlink["channel"]["trace_file"]["accounting"] = "tun_1504".into();
    let mut path = cell(&downlink);
    // 750 + 4 twice is more than 1504 by 4 bytes; a third shares the second opportunity.
    for number in 0..3 {
        send(&mut path, 0, number, 750);
    }
    run_to(&mut path, 30);
    assert_eq!(outputs(&mut path), [(10_000, 0), (20_000, 1), (20_000, 2)]);
    assert_eq!(report(&mut path)["utilisation"], 3.0 * 754.0 / (3.0 * 1504.0));
}

#[test]
fn behind_the_end_of_a_trace_packets_stay_in_the_buffer() {
    let mut downlink = with_trace("10\n20\n");
    downlink["channel"]["trace_file"]["once"] = true.into();
    downlink["queue"] = json!({"droptail": {"packets": 3}});
    let mut path = cell(&downlink);
    for number in 0..3 {
        send(&mut path, 0, number, 1500);
    }
    run_to(&mut path, 1000);
    assert_eq!(outputs(&mut path), [(10_000, 0), (20_000, 1)]);
    assert_eq!(path.poll_timeout(), None, "nothing can happen any more");
    for number in 3..6 {
        send(&mut path, 1_000_000, number, 1500);
    }
    assert_eq!(path.poll_timeout(), None);
    let report = report(&mut path);
    let keys = ["sdus_in", "sdus_delivered", "sdus_dropped", "opportunities", "peak_queued_sdus"];
    assert_eq!(keys.map(|key| report[key].as_u64().unwrap()), [5, 2, 1, 2, 3]);
    assert_eq!(report["utilisation"], 1.0);
}

#[test]
fn an_idle_cell_has_nothing_to_do() {
    let mut path = cell(&with_trace("1\n"));
    assert_eq!(path.poll_timeout(), None);
    run_to(&mut path, 3_600_000);
    send(&mut path, 3_600_000_500, 0, 40);
    assert_eq!(path.poll_timeout(), Some(Instant::from_nanos(3_600_001_000_000)));
    run_to(&mut path, 3_700_000);
    assert_eq!(path.poll_timeout(), None);
    // Counted without having been walked over.
    assert_eq!(report(&mut path)["opportunities"], 3_700_000);
}

#[test]
fn the_end_of_a_cell_is_that_of_its_first_trace_to_end() {
    let ends = |downlink: Value, uplink: Value| {
        let config = json!({"variable": {"downlink": downlink, "uplink": uplink}});
        serde_json::from_value::<radio::Config>(config).unwrap().ends()
    };
    let once = |trace: &str| json!({"channel": {"trace_file": {"trace": trace, "once": true}}});
    let millis = |millis: u64| Some(Instant::from_nanos(millis * 1_000_000));
    assert_eq!(ends(with_trace("1\n"), json!({})), None);
    assert_eq!(ends(once("9\n"), with_trace("1\n")), millis(9));
    assert_eq!(ends(once("9\n"), once("3\n7\n")), millis(7));
    assert_eq!(radio::Config::default().ends(), None);
}

/// A bulk download over 12 Mbit/s whose buffer holds more than the bandwidth-delay product. Slow start
/// ends before it floods the buffer: how long a recovery takes is another matter.
#[test]
fn a_bulk_download_fills_a_constant_trace() {
    let trace = airpath_core::channel::trace_file::constant("12 Mbit/s".parse().unwrap()).unwrap();
    let text = format!(
        "duration = \"60 s\"\n[wired]\ndelay = \"20 ms\"\n[radio.variable.downlink]\n\
         queue.droptail.packets = 100\nchannel.trace_file.trace = {:?}\n\
         [tcp]\nreceive_buffer = \"1 MB\"\ninitial_ssthresh = \"150 kB\"\n[[flow]]\n",
        trace.to_text()
    );
    let mut simulation = Simulation::new(&Scenario::parse(&text, &[]).unwrap(), 1, Observe::default());
    simulation.run();
    let results = simulation.results();
    let cell = results.elements.iter().find(|element| element["element"] == "radio.variable").unwrap();
    let downlink = &cell["ues"][0]["downlink"];
    assert!(downlink["utilisation"].as_f64().unwrap() > 0.95, "{downlink}");
    assert!(downlink["sdus_dropped"].as_u64().unwrap() > 0, "the buffer never overflowed: {downlink}");
    // 12 Mbit/s for a minute.
    assert_eq!(downlink["opportunities"], 60_000);
    assert!(downlink["bytes_delivered"].as_u64().unwrap() <= 90_000_000);
}

/// The cell, implemented only by a list of opportunities that is walked one by one.
struct Reference {
    opportunities: VecDeque<u64>,
    bytes: u32,
    overhead: u32,
    limit: usize,
    waiting: VecDeque<(u32, u32)>,
    out: Vec<(u64, u32)>,
}

impl Reference {
    /// Uses every opportunity before `until`.
    fn walk(&mut self, until: u64) {
        while let Some(&time) = self.opportunities.front().filter(|time| **time < until) {
            self.opportunities.pop_front();
            let mut room = self.bytes;
            while room > 0
                && let Some((number, left)) = self.waiting.front_mut()
            {
                let taken = room.min(*left);
                room -= taken;
                *left -= taken;
                if *left == 0 {
                    self.out.push((time / 1000, *number));
                    self.waiting.pop_front();
                }
            }
        }
    }

    /// A packet that arrives at the instant of an opportunity is in time for it.
    fn send(&mut self, at: u64, number: u32, len: u32) {
        self.walk(at);
        if self.waiting.len() < self.limit {
            self.waiting.push_back((number, len + self.overhead));
        }
    }
}

/// Instants of opportunities in ns, as the module documentation tells: by counting, round after round.
fn opportunities(lines: &[u64], once: bool, even: bool, rounds: u64) -> Vec<u64> {
    let period = lines[lines.len() - 1];
    let rounds = if once { 1 } else { rounds };
    let all: Vec<u64> =
        (0..rounds).flat_map(|round| lines.iter().map(move |line| round * period + line)).collect();
    let mut instants = Vec::new();
    for (number, ms) in all.iter().enumerate() {
        let count = all.iter().filter(|other| *other == ms).count() as u64;
        let place = all[..number].iter().filter(|other| *other == ms).count() as u64;
        instants.push(ms * 1_000_000 + if even { place * 1_000_000 / count } else { 0 });
    }
    instants
}

proptest! {
    #[test]
    fn nothing_is_late_or_beyond_what_was_offered(
        mut lines in prop::collection::vec(0..30_u64, 0..10),
        last in 1..40_u64,
        (once, even, tun) in any::<(bool, bool, bool)>(),
        limit in 1..12_usize,
        // Steps of half a millisecond, so that many arrivals fall on an opportunity.
        arrivals in prop::collection::vec((0..20_u64, 1..4000_u32), 1..40),
    ) {
        lines.push(last);
        lines.iter_mut().for_each(|line| *line = (*line).min(last));
        lines.sort_unstable();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut downlink = with_trace(&text);
        let channel = &mut downlink["channel"]["trace_file"];
        channel["once"] = once.into();
        channel["spacing"] = if even { "even" } else { "at_once" }.into();
        channel["accounting"] = if tun { "tun_1504" } else { "ip_1500" }.into();
        downlink["queue"] = json!({"droptail": {"packets": limit}});
        let mut path = cell(&downlink);

        // Every packet takes at most three opportunities; the last arrival is before 400 ms.
        let rounds = 3 + 410 / last + 3 * 40 / lines.len() as u64;
        let all = opportunities(&lines, once, even, rounds);
        // The last round lacks the part shared with the next one.
        let walked = all[..if once { all.len() } else { all.len() - lines.len() }].to_vec();
        let mut reference = Reference {
            opportunities: walked.into(),
            bytes: if tun { 1504 } else { 1500 },
            overhead: if tun { 4 } else { 0 },
            limit,
            waiting: VecDeque::new(),
            out: Vec::new(),
        };
        let mut clock = 0;
        for (number, (gap, len)) in (0..).zip(&arrivals) {
            clock += gap * 500;
            send(&mut path, clock, number, *len);
            reference.send(clock * 1000, number, *len);
        }
        let end = (rounds - 1) * last;
        run_to(&mut path, end);
        reference.walk(end * 1_000_000 + 1);
        let out = outputs(&mut path);
        prop_assert_eq!(&out, &reference.out);

        // What was delivered until an instant never exceeds what was offered until then.
        let mut carried = 0;
        for (at, number) in out {
            carried += u64::from(arrivals[number as usize].1 + reference.overhead);
            let passed = all.iter().filter(|time| **time / 1000 <= at).count() as u64;
            prop_assert!(carried <= passed * u64::from(reference.bytes));
        }
        let report = report(&mut path);
        let passed = all.iter().filter(|time| **time <= end * 1_000_000).count();
        prop_assert_eq!(&report["opportunities"], &json!(passed));
        prop_assert_eq!(report["sdus_in"].as_u64().unwrap() as usize - reference.waiting.len(), reference.out.len());
        let enqueued = path.take_trace().iter().filter(|(_, event)| event.kind() == Kind::BearerEnqueued).count();
        prop_assert_eq!(enqueued, reference.out.len() + reference.waiting.len());
    }
}

/// A packet for a UE that the cell does not have.
#[test]
fn a_packet_for_a_ue_that_is_not_there_is_dropped() {
    let mut path = cell(&with_trace("1\n"));
    let packet = Box::new(Packet { ue: 1, len: 40, ..Packet::default() });
    path.handle_packet(Instant::ZERO, Dir::Downlink, packet);
    assert_eq!(path.poll_timeout(), None);
    assert_eq!(path.drops(0, airpath_core::trace::Reason::UnknownUe), 1);
}
