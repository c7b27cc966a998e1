//! Timelines and properties of the entities of `rlc::um` and `rlc::tm`.
//!
//! A bearer of 12 PDUs in each TTI of 10 ms, 25 ms from the start of a TTI to its arrival. In a timeline, `tx` is what
//! a TTI carries, `sent` an SDU that left the sender's buffer, `gone` one that it gave up, `up` one handed up
//! and `lost` one that is not.
#![allow(clippy::unwrap_used)]

use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Report, Run, SnRange, Tti, tm, um};
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use airpath_core::wire::rlc::{Begin, UmdPdu, UmdSn};
use proptest::prelude::*;
use std::collections::BTreeSet;

const PDUS: u64 = 12;

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn um(config: &um::Config) -> Bearer {
    config.check().unwrap();
    Bearer::new(Box::new(config.sender()), Box::new(config.receiver()))
}

fn tm(config: &tm::Config) -> Bearer {
    config.check().unwrap();
    Bearer::new(Box::new(config.sender()), Box::new(config.receiver()))
}

/// Both entities of a direction, and what is between them.
struct Bearer {
    tx: Box<dyn Transmit>,
    rx: Box<dyn Receive>,
    on_air: Vec<(u64, Tti)>,
    log: Vec<String>,
    up: Vec<u64>,
    lost: Vec<u64>,
    gone: Vec<u64>,
}

impl Bearer {
    fn new(tx: Box<dyn Transmit>, rx: Box<dyn Receive>) -> Self {
        let (on_air, log) = (Vec::new(), Vec::new());
        Self { tx, rx, on_air, log, up: Vec::new(), lost: Vec::new(), gone: Vec::new() }
    }

    /// The TTI that starts at `now`, with what arrives until then; PDUs that it carried.
    fn tti(&mut self, now: u64, pdus: u64, mut lost: impl FnMut(u64) -> bool) -> u64 {
        while self.on_air.first().is_some_and(|(at, _)| *at <= now) {
            let (at, tti) = self.on_air.remove(0);
            self.arrive(at, &tti);
        }
        if ms(now) < self.tx.deadline() {
            return 0;
        }
        let (mut tti, mut report) = (Tti::default(), Report::default());
        self.tx.build_tti(ms(now), pdus, &mut tti, &mut report);
        let sent = tti.data.pdus();
        let said =
            |sdus: &[u64], word: &str| sdus.iter().map(|n| format!("{now} {word} {n}")).collect::<Vec<_>>();
        report.discarded.append(&mut report.unsent);
        self.log.extend(said(&report.discarded, "gone"));
        if sent > 0 {
            self.log.push(format!("{now} tx{}", written(&tti.data.runs)));
        }
        self.log.extend(said(&report.confirmed, "sent"));
        assert!(tti.control.is_empty());
        self.gone.append(&mut report.discarded);
        let sns: Vec<u64> = tti.data.runs.iter().flat_map(|run| run.sns.first..run.sns.end).collect();
        let mut fates = sns.into_iter().map(&mut lost);
        tti.lose(|| fates.next().unwrap());
        self.on_air.push((now + 25, tti));
        sent
    }

    fn arrive(&mut self, at: u64, tti: &Tti) {
        let mut report = Report::default();
        self.rx.handle_tti(ms(at), tti, &mut report);
        self.log.extend(report.up.iter().map(|sdu| format!("{at} up {sdu}")));
        self.log.extend(report.lost.iter().map(|sdu| format!("{at} lost {sdu}")));
        self.up.append(&mut report.up);
        self.lost.append(&mut report.lost);
    }
}

fn written(runs: &[Run]) -> String {
    let one = |run: &Run| match run.sns {
        SnRange { first, end } if first + 1 == end => format!(" {first}"),
        SnRange { first, end } => format!(" {first}-{}", end - 1),
    };
    runs.iter().map(one).collect()
}

/// What happens until 200 ms when these SDUs (arrival in ms, octets) are sent and these TTIs are lost.
fn timeline(mut bearer: Bearer, sdus: &[(u64, u32)], lost: &[u64]) -> Vec<String> {
    let mut waiting = sdus.iter().peekable();
    for now in (0..200).step_by(10) {
        while let Some((at, octets)) = waiting.next_if(|(at, _)| *at <= now) {
            bearer.tx.handle_sdu(ms(*at), *octets);
        }
        bearer.tti(now, PDUS, |_| lost.contains(&now));
    }
    assert_eq!(bearer.tx.deadline(), Instant::NEVER);
    bearer.log
}

/// 1000 octets: 39 beside the indicator of their beginning, 24 PDUs of 40, and one octet with that of the end.
#[test]
fn an_sdu_is_sent_once() {
    let seen = timeline(um(&um::Config::default()), &[(0, 1000)], &[]);
    assert_eq!(seen, ["0 tx 0-11", "10 tx 12-23", "20 tx 24-25", "20 sent 0", "45 up 0"]);
}

#[test]
fn what_is_lost_is_not_sent_again() {
    // The second SDU fills PDU 25, and PDU 26 says so.
    let sdus = [(0, 1000), (0, 38)];
    let all = ["0 tx 0-11", "10 tx 12-23", "20 tx 24-26", "20 sent 0", "20 sent 1"];
    for (lost, fates) in [
        (0, ["45 up 1", "45 lost 0"]),
        (10, ["45 up 1", "45 lost 0"]),
        (20, ["45 lost 0", "45 lost 1"]),
        (30, ["45 up 0", "45 up 1"]),
    ] {
        assert_eq!(timeline(um(&um::Config::default()), &sdus, &[lost]), [&all[..], &fates].concat());
    }
}

/// How many PDUs these SDUs take.
fn pdus_of(config: &um::Config, sdus: &[u32]) -> u64 {
    let mut bearer = um(config);
    sdus.iter().for_each(|&octets| bearer.tx.handle_sdu(ms(0), octets));
    let pdus = bearer.tti(0, 100, |_| false);
    bearer.tti(100, 100, |_| false);
    assert_eq!(bearer.up.len(), sdus.len());
    pdus
}

/// Payloads of 40 octets, and of 198 with indicators of two.
#[test]
fn length_indicators_cost_octets() {
    let short = um::Config::default();
    let untold = um::Config { first_octet_indicator: false, ..short.clone() };
    let long = um::Config { pdu: Bytes::from_bytes(199), ..untold.clone() };
    for (config, sdus, pdus) in [
        (&short, &[38][..], 1),
        // It fills the PDU, and the next one says that it ended there.
        (&short, &[39], 2),
        (&short, &[40], 2),
        (&short, &[78], 2),
        (&short, &[79], 3),
        (&untold, &[39], 1),
        (&untold, &[40], 2),
        (&untold, &[79], 2),
        (&untold, &[80], 3),
        // The second one begins behind an end, or behind the indicator of one: no other tells that.
        (&short, &[18, 19], 1),
        (&short, &[18, 20], 2),
        (&short, &[39, 38], 2),
        (&short, &[39, 39], 3),
        (&long, &[196], 1),
        // An octet is left, in which no indicator of two fits.
        (&long, &[197], 2),
        (&long, &[198], 2),
        (&long, &[199], 2),
        // An octet is left behind the indicator, which is not filled with the next SDU.
        (&long, &[195, 196], 2),
        (&long, &[195, 197], 3),
        (&long, &[194, 1, 195], 3),
    ] {
        assert_eq!(pdus_of(config, sdus), pdus, "{sdus:?} {config:?}");
    }
}

/// The first SDU ends with its PDU's padding, the second begins with the next PDU: whether it survives the loss of
/// the first one depends on the indicator.
#[test]
fn without_the_indicator_of_first_octets_a_loss_costs_the_sdu_behind_it() {
    let told = um::Config::default();
    let untold = um::Config { first_octet_indicator: false, ..told.clone() };
    let sdus = [(0, 30), (10, 30), (20, 30)];
    let fates = |config: &um::Config| {
        let seen = timeline(um(config), &sdus, &[0]);
        seen.into_iter().filter(|line| line.contains("up") || line.contains("lost")).collect::<Vec<_>>()
    };
    assert_eq!(fates(&told), ["25 lost 0", "35 up 1", "45 up 2"]);
    assert_eq!(fates(&untold), ["25 lost 0", "35 lost 1", "45 up 2"]);
}

/// Where the second SDU begins behind the end of the first, that end tells it.
#[test]
fn an_end_tells_where_the_next_sdu_begins() {
    let config = um::Config { first_octet_indicator: false, ..um::Config::default() };
    // 500 octets: 12 PDUs in the first TTI, then 20 octets and their end; 19 octets more fill PDU 12.
    let seen = timeline(um(&config), &[(0, 500), (0, 18)], &[0]);
    assert_eq!(seen, ["0 tx 0-11", "10 tx 12", "10 sent 0", "10 sent 1", "35 up 1", "35 lost 0"]);
    // 39 more leave 20 octets to PDU 13, and the loss of PDU 12 costs both.
    let mut bearer = um(&config);
    bearer.tx.handle_sdu(ms(0), 500);
    bearer.tx.handle_sdu(ms(0), 39);
    bearer.tti(0, 100, |sn| sn == 12);
    bearer.tti(100, 100, |_| false);
    assert_eq!((bearer.up, bearer.lost), (vec![], vec![0, 1]));
}

#[test]
fn the_first_of_the_waiting_sdus_can_be_taken_out() {
    let mut bearer = um(&um::Config::default());
    for octets in [1000, 20, 30] {
        bearer.tx.handle_sdu(ms(0), octets);
    }
    bearer.tti(0, PDUS, |_| false);
    // The first one is being sent.
    assert_eq!(bearer.tx.take_waiting(), Some(1));
    for now in [10, 20, 100] {
        bearer.tti(now, PDUS, |_| false);
    }
    assert_eq!((bearer.tx.take_waiting(), bearer.up, bearer.lost), (None, vec![0, 2], vec![1]));
}

fn discarding(after: u64) -> um::Config {
    um::Config { timer_discard: Some(Duration::from_millis(after)), ..um::Config::default() }
}

/// §11.2.4.3. At 20 the first SDU is late, of which 24 PDUs are sent. The next PDU leaves a gap, so that what arrived
/// of it is not taken for the beginning of the second.
#[test]
fn a_late_sdu_is_broken_off_with_a_gap() {
    let seen = timeline(um(&discarding(20)), &[(0, 1000), (15, 38)], &[]);
    let right = ["0 tx 0-11", "10 tx 12-23", "20 gone 0", "20 tx 25", "20 sent 1", "45 up 1", "45 lost 0"];
    assert_eq!(seen, right);
}

/// The first SDU fills twelve PDUs, and the next one tells its end: no gap may come between.
#[test]
fn nothing_is_told_of_a_late_sdu_that_was_not_begun() {
    let seen = timeline(um(&discarding(8)), &[(0, 479), (1, 30), (2, 30), (25, 30)], &[]);
    let right = [
        "0 tx 0-11",
        "0 sent 0",
        "10 gone 1",
        "10 gone 2",
        "10 tx 12",
        "30 tx 13",
        "30 sent 3",
        "35 up 0",
        "55 up 3",
        "55 lost 1",
        "55 lost 2",
    ];
    assert_eq!(seen, right);
    // A nanosecond more, and the second of the late ones is sent.
    let config = um::Config { timer_discard: Some(Duration::from_nanos(8_000_001)), ..um::Config::default() };
    let seen = timeline(um(&config), &[(0, 479), (1, 30), (2, 30)], &[]);
    assert_eq!(seen[2..5], ["10 gone 1", "10 tx 12", "10 sent 2"]);
}

#[test]
fn a_gap_waits_for_data_behind_it() {
    let seen = timeline(um(&discarding(10)), &[(0, 1000), (45, 38)], &[]);
    assert_eq!(seen, ["0 tx 0-11", "10 gone 0", "50 tx 13", "50 sent 1", "75 up 1", "75 lost 0"]);
}

/// 480 octets in a TTI.
#[test]
fn sdus_of_one_length_share_a_tti() {
    let config = tm::Config::default();
    let seen = timeline(tm(&config), &[(0, 100), (0, 100), (0, 60), (0, 60)], &[]);
    let right = [
        "0 tx 0-1",
        "0 sent 0",
        "0 sent 1",
        "10 tx 2-3",
        "10 sent 2",
        "10 sent 3",
        "25 up 0",
        "25 up 1",
        "35 up 2",
        "35 up 3",
    ];
    assert_eq!(seen, right);
    let seen = timeline(tm(&config), &[(0, 160); 4], &[10]);
    let right = ["0 tx 0-2", "0 sent 0", "0 sent 1", "0 sent 2", "10 tx 3", "10 sent 3"];
    assert_eq!(seen[..6], right);
    assert_eq!(seen[6..], ["25 up 0", "25 up 1", "25 up 2", "35 lost 3"]);
}

#[test]
fn with_segmentation_a_tti_is_for_one_sdu() {
    let config = tm::Config { segmentation: true, ..tm::Config::default() };
    // One octet more than a TTI holds is refused, wherever it stands.
    let seen = timeline(tm(&config), &[(0, 481), (0, 480), (0, 41), (0, 481), (0, 40)], &[]);
    let right = [
        "0 gone 0",
        "0 tx 0-11",
        "0 sent 1",
        "10 tx 12-13",
        "10 sent 2",
        "20 gone 3",
        "20 tx 14",
        "20 sent 4",
        "25 up 1",
        "25 lost 0",
        "35 up 2",
        "45 up 4",
        "45 lost 3",
    ];
    assert_eq!(seen, right);
    let mut bearer = tm(&config);
    for octets in [100, 100] {
        bearer.tx.handle_sdu(ms(0), octets);
    }
    for now in [0, 10, 100] {
        bearer.tti(now, PDUS, |sn| sn == 2);
    }
    assert_eq!((bearer.up, bearer.lost), (vec![1], vec![0]));
}

/// §9.7.3.5: without a timer a new SDU discards those of earlier TTIs, not those of its own.
#[test]
fn a_new_sdu_discards_older_ones_unless_a_timer_does() {
    let sdus = [(0, 400), (0, 300), (0, 200), (15, 100), (16, 90)];
    let gone = |config: &tm::Config| {
        let seen = timeline(tm(config), &sdus, &[]);
        seen.into_iter().filter(|line| line.contains("gone")).collect::<Vec<_>>()
    };
    assert_eq!(gone(&tm::Config::default()), ["20 gone 2"]);
    let timer =
        |after| tm::Config { timer_discard: Some(Duration::from_millis(after)), ..tm::Config::default() };
    assert_eq!(gone(&timer(50)), Vec::<String>::new());
    // The last one waits until 40, for as long as the timer runs.
    assert_eq!(gone(&timer(24)), ["40 gone 4"]);
    assert_eq!(gone(&timer(20)), ["20 gone 2"]);
    // TTIs that begin at 5, 15 and so on: these came in one.
    let offset = tm::Config { offset: Duration::from_millis(5), ..tm::Config::default() };
    let seen = timeline(tm(&offset), &[(6, 400), (6, 300), (14, 200)], &[]);
    assert_eq!(seen.iter().filter(|line| line.contains("up")).count(), 3, "{seen:?}");
}

/// SDUs into octets of PDUs, octet by octet; the numbers of PDUs of each batch.
struct Writer {
    octets: usize,
    li: usize,
    indicator: bool,
    begin: Begin,
    pdus: Vec<Vec<u8>>,
}

impl Writer {
    /// All of these, with padding at the end.
    fn write(&mut self, sdus: &[Vec<u8>]) {
        let mut rest: Vec<(usize, u8, bool)> = Vec::new();
        for sdu in sdus {
            rest.extend(sdu.iter().enumerate().map(|(i, &octet)| (i, octet, i + 1 == sdu.len())));
        }
        let mut rest = rest.into_iter().peekable();
        while rest.peek().is_some() || self.begin != Begin::Untold {
            let mut begin = std::mem::replace(&mut self.begin, Begin::Untold);
            if begin == Begin::Untold && self.indicator && rest.peek().is_some_and(|(i, ..)| *i == 0) {
                begin = Begin::FirstOctet;
            }
            let mut room = self.octets - 1 - if begin == Begin::Untold { 0 } else { self.li };
            let (mut data, mut ends) = (Vec::new(), Vec::new());
            while room > 0 {
                let Some((_, octet, last)) = rest.next() else { break };
                data.push(octet);
                room -= 1;
                if last && room >= self.li {
                    ends.push(data.len() as u16);
                    room -= self.li;
                } else if last {
                    self.begin = if room == 0 { Begin::PreviousExact } else { Begin::PreviousOneOctetShort };
                }
                if last && self.li == 2 && room == 1 {
                    data.push(0);
                    room = 0;
                }
            }
            let sn = UmdSn::wrap(self.pdus.len() as u64);
            let mut bytes = vec![0; self.octets];
            UmdPdu { sn, begin, ends, data, padding: room > 0 }.encode(&mut bytes).unwrap();
            self.pdus.push(bytes);
        }
    }
}

/// Octets of PDUs into SDUs (§11.2.3.1).
struct Reader {
    expected: UmdSn,
    /// What has come of an SDU whose beginning was seen.
    partial: Option<Vec<u8>>,
    up: Vec<Vec<u8>>,
}

impl Reader {
    fn read(&mut self, bytes: &[u8], li: usize) {
        let UmdPdu { sn, begin, ends, mut data, padding } = UmdPdu::decode(bytes).unwrap();
        if sn != self.expected {
            self.partial = None;
        }
        self.expected = UmdSn::wrap(u64::from(sn.value()) + 1);
        match begin {
            Begin::Untold => {}
            Begin::FirstOctet => self.partial = Some(Vec::new()),
            Begin::PreviousExact => self.end(),
            Begin::PreviousOneOctetShort => {
                self.partial.as_mut().map(Vec::pop);
                self.end();
            }
        }
        let mut taken = 0;
        for end in ends {
            let part = data[taken..usize::from(end)].to_vec();
            taken = usize::from(end);
            self.partial.iter_mut().for_each(|partial| partial.extend(&part));
            self.end();
        }
        data.drain(..taken);
        // A single octet behind an end is padding that no indicator of two could tell.
        if !padding && !(li == 2 && taken > 0 && data.len() == 1) {
            self.partial.iter_mut().for_each(|partial| partial.extend(&data));
        }
    }

    fn end(&mut self) {
        self.up.extend(self.partial.replace(Vec::new()));
    }
}

/// A batch of SDUs, by their lengths; it is sent before the next one comes.
fn batches() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let near_a_pdu = prop_oneof![1u32..60, 30u32..45, 190u32..203, 1u32..500];
    prop::collection::vec(prop::collection::vec(near_a_pdu, 1..6), 1..12)
}

/// A download over bearers of 384 and 64 kbit/s at IP level, as in \[alcaraz2006\], with this link layer and channel.
const SCENARIO: &str = r#"
duration = "60 s"
wired = { rate = "10 Mbit/s", delay = "50 ms" }
[radio.dch.downlink]
rate = "384 kbit/s"
delay = "15 ms"
queue.droptail.packets = 50
[radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"
[[flow]]
app.bulk = {}
"#;

fn results(overrides: &[(&str, &str)]) -> Results {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::parse(SCENARIO, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    simulation.results()
}

fn downlink(results: &Results, key: &str) -> u64 {
    let cell = results.elements.iter().find(|report| report["element"] == "radio.dch").unwrap();
    cell["ues"][0]["downlink"][key].as_u64().unwrap_or_else(|| panic!("{key} in {cell:#}"))
}

const UM: [(&str, &str); 2] = [("radio.dch.downlink.rlc.um", "{}"), ("radio.dch.uplink.rlc.um", "{}")];

/// Without errors TCP fills the bearer: 1460 of 1500 bytes, which cost 38.5 PDUs of 40 with their indicators.
#[test]
fn tcp_over_um_without_errors_loses_nothing() {
    let results = results(&UM);
    let flow = &results.flows[0];
    assert_eq!((flow.retransmissions.total, downlink(&results, "pdus_lost")), (0, 0));
    let most = 384e3 * 1460.0 / 1502.0;
    assert!((0.97 * most..most).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
}

/// What AM would have sent again TCP has to, and takes for congestion.
#[test]
fn tcp_over_um_sees_the_losses_of_the_channel() {
    let lossy = |channel: &str| {
        let mut overrides = UM.to_vec();
        overrides.push(("radio.dch.downlink.channel", channel));
        let results = results(&overrides);
        (
            results.flows[0].clone(),
            ["sdus_discarded", "sdus_delivered", "slots"].map(|key| downlink(&results, key)),
        )
    };
    for (channel, least, most) in [
        // A packet of 38 PDUs lies in four or five TTIs: 1 - 0.99^4 to 1 - 0.99^5, 4 to 5 % are lost.
        (r#"{ bernoulli = { bler = "1 %" } }"#, 0.03, 0.065),
        // Losses in bursts of several TTIs fall on fewer packets.
        (r#"{ markov_fading = { bler = "1 %", doppler = "2 Hz", step = "10 ms" } }"#, 0.01, 0.035),
    ] {
        let (flow, [lost, delivered, slots]) = lossy(channel);
        let share = lost as f64 / (lost + delivered) as f64;
        assert!((least..most).contains(&share), "{channel}: {lost} of {}", lost + delivered);
        assert!(flow.retransmissions.total >= lost && flow.goodput_bps < 300e3, "{channel}: {flow:?}");
        assert!(delivered > 300 && slots < 6001, "{channel}: {delivered} in {slots}");
    }
}

/// A TTI of 80 ms holds two packets. Losses are those of the same channel whatever the mode.
#[test]
fn tcp_over_tm_needs_ttis_that_hold_a_packet() {
    let tm = r#"{ tm = { tti = "80 ms", timer_discard = "10 s" } }"#;
    let um = r#"{ um = { tti = "80 ms" } }"#;
    let results = results(&[("radio.dch.downlink.rlc", tm), ("radio.dch.uplink.rlc", um)]);
    let goodput = results.flows[0].goodput_bps;
    // Two of 1460 in 80 ms; those of 3840 octets that a third would need stay unused.
    assert!((270e3..=292e3).contains(&goodput), "{goodput}");
    let short = r#"{ tm = { tti = "10 ms", timer_discard = "10 s" } }"#;
    let short = self::results(&[("radio.dch.downlink.rlc", short), ("radio.dch.uplink.rlc", "{ tm = {} }")]);
    assert_eq!(short.flows[0].goodput_bps, 0.0);
}

#[test]
fn what_cannot_work_is_refused_with_a_remedy() {
    let error = |overrides: &[(&str, &str)]| {
        let overrides: Vec<_> =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::parse(SCENARIO, &overrides).unwrap_err().to_string()
    };
    let both = |key, value| error(&[UM[0], UM[1], (key, value)]);
    let pdu = "carries 480 B, which is no whole number of PDUs with 39 B of payload; change the PDU's size, the TTI or \
               the rate of the bearer";
    assert_eq!(
        both("radio.dch.downlink.rlc.um.pdu", "40 B"),
        format!("radio.dch.downlink.rlc.um.pdu: a TTI of 10 ms at 384 kbit/s {pdu}")
    );
    assert_eq!(
        both("radio.dch.uplink.rlc.um.pdu", "9 B"),
        "radio.dch.uplink.rlc.um.pdu: is no size of a PDU; write 10 to 4096 bytes"
    );
    assert_eq!(
        both("radio.dch.uplink.rlc.um.tti", "0 ms"),
        "radio.dch.uplink.rlc.um.tti: is zero; write a TTI such as \"10 ms\""
    );
    let tm = r#"{ tm = { pdu = "0 B" } }"#;
    assert_eq!(
        error(&[("radio.dch.downlink.rlc", tm), UM[1]]),
        "radio.dch.downlink.rlc.tm.pdu: is zero; write a size such as \"40 B\""
    );
    assert_eq!(
        error(&UM[..1]),
        "radio.dch.uplink.rlc: rlc.none does not work with rlc.um in the downlink; write rlc.um or rlc.tm in both \
         directions"
    );
    assert_eq!(
        error(&[UM[0], ("radio.dch.uplink.rlc.am", "{}")]),
        "radio.dch.uplink.rlc: rlc.am does not work with rlc.um in the downlink; write rlc.am in both directions: its \
         STATUS PDUs go the other way"
    );
    assert!(both("radio.dch.uplink.rlc.um.poll_window", "50").contains("poll_window"));
}

proptest! {
    /// Entities, which carry no octets, hand up what octets say: PDUs written one by one and read by the rules of the
    /// standard, with the same ones lost. No gap is as long as the sequence numbers.
    #[test]
    fn um_agrees_with_the_octets_of_pdus(
        batches in batches(),
        pdu in prop::sample::select(vec![11u64, 41, 42, 125, 126, 199]),
        indicator: bool,
        losses in prop::collection::vec(prop::bool::weighted(0.15), 100),
        grants in prop::collection::vec(1u64..9, 1..9),
    ) {
        let config = um::Config {
            pdu: Bytes::from_bytes(pdu), first_octet_indicator: indicator, ..um::Config::default()
        };
        let li = if pdu <= 125 { 1 } else { 2 };
        let lost = |sn: u64| losses[sn as usize % losses.len()] && sn % 100 > 0;
        let mut writer =
            Writer { octets: pdu as usize, li, indicator, begin: Begin::Untold, pdus: Vec::new() };
        let mut bearer = um(&config);
        let (mut now, mut number) = (0, 0u64);
        let mut grants = grants.into_iter().cycle();
        for batch in &batches {
            let first = number;
            number += batch.len() as u64;
            let sdus: Vec<_> =
                (first..number).zip(batch).map(|(n, &octets)| vec![n as u8; octets as usize]).collect();
            writer.write(&sdus);
            batch.iter().for_each(|&octets| bearer.tx.handle_sdu(ms(now), octets));
            while bearer.tx.deadline() != Instant::NEVER {
                bearer.tti(now, grants.next().unwrap(), lost);
                now += 10;
            }
        }
        bearer.tti(now + 100, 1, lost);
        let mut reader = Reader { expected: UmdSn::wrap(0), partial: Some(Vec::new()), up: Vec::new() };
        for (_, bytes) in (0..).zip(&writer.pdus).filter(|(sn, _)| !lost(*sn)) {
            reader.read(bytes, li);
        }
        let octets: Vec<u32> = batches.concat();
        let up: Vec<_> = bearer.up.iter().map(|&n| vec![n as u8; octets[n as usize] as usize]).collect();
        prop_assert_eq!(&up, &reader.up);
        // Each is handed up once, in order, or lost.
        prop_assert!(bearer.up.is_sorted() && bearer.lost.is_sorted());
        let told: BTreeSet<u64> = bearer.up.iter().chain(&bearer.lost).copied().collect();
        prop_assert_eq!(told.len(), bearer.up.len() + bearer.lost.len());
        prop_assert_eq!(told, (0..number).collect());
    }

    /// With SDUs that come late, are taken out or discarded: each is handed up, lost, taken or discarded, and what is
    /// handed up keeps its order.
    #[test]
    fn every_sdu_has_one_fate(
        ops in prop::collection::vec((0u8..8, 1u32..700), 1..80),
        losses in prop::collection::vec(prop::bool::weighted(0.2), 64),
        timer in prop::option::of(5u64..40),
        mode in 0..3,
    ) {
        let timer_discard = timer.map(Duration::from_millis);
        let mut bearer = match mode {
            0 => um(&um::Config { timer_discard, ..um::Config::default() }),
            _ => tm(&tm::Config { timer_discard, segmentation: mode == 1, ..tm::Config::default() }),
        };
        let lost = |sn: u64| losses[sn as usize % losses.len()];
        let (mut now, mut number, mut taken) = (0, 0u64, Vec::new());
        for (op, octets) in ops {
            match op {
                0..4 => {
                    bearer.tx.handle_sdu(ms(now), octets);
                    number += 1;
                }
                4 => taken.extend(bearer.tx.take_waiting()),
                _ => {
                    now += 10;
                    prop_assert!(bearer.tti(now, PDUS, lost) <= PDUS || mode == 2);
                }
            }
        }
        while bearer.tx.deadline() != Instant::NEVER {
            now += 10;
            bearer.tti(now, PDUS, lost);
        }
        bearer.tti(now + 100, PDUS, lost);
        prop_assert!(bearer.up.is_sorted());
        let gone: BTreeSet<u64> = taken.iter().chain(&bearer.gone).copied().collect();
        prop_assert_eq!(gone.len(), taken.len() + bearer.gone.len());
        let lost: BTreeSet<u64> = bearer.lost.iter().copied().filter(|sdu| !gone.contains(sdu)).collect();
        prop_assert!(bearer.up.iter().all(|sdu| !gone.contains(sdu) && !lost.contains(sdu)));
        prop_assert_eq!(gone.len() + lost.len() + bearer.up.len(), number as usize);
    }
}
