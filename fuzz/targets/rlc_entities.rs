//! A pair of ends under arbitrary operations: every SDU leaves its buffer once, is handed up at most once and in
//! order, and once nothing is lost any more all of them have been seen to.
#![no_main]

use airpath_core::rlc::{self, End, Report, Tti, am, tm, um};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;

/// In TTIs: from the start of one to its arrival.
const DELAY: u64 = 3;
const TTI: Duration = Duration::from_millis(10);
/// So many TTIs without loss, not counting idle ones, are enough for whatever the input left to do.
const PATIENCE: u64 = 100_000;
const MOST_SDUS: usize = 60;

#[derive(Arbitrary, Debug)]
struct Input {
    modes: Modes,
    ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
enum Modes {
    Am([Am; 2]),
    /// Unacknowledged or transparent, each by itself.
    Others([Other; 2]),
}

#[derive(Arbitrary, Debug)]
struct Am {
    pdu: u8,
    window: u8,
    out_of_sequence: bool,
    discard: u8,
    max_dat: Option<u8>,
    timer_discard: u8,
    poll: u8,
    poll_pdu: Option<u8>,
    poll_sdu: Option<u8>,
    poll_window: Option<u8>,
    prohibit: [Option<u8>; 2],
    periodic_status: Option<u8>,
    missing_pdu_indicator: bool,
    send_mrw: bool,
    piggybacked_status: bool,
    special_he: bool,
    max_mrw: u8,
}

#[derive(Arbitrary, Debug)]
struct Other {
    transparent: bool,
    pdu: u8,
    /// Of UM the indicator of first octets, of TM segmentation.
    option: bool,
    timer_discard: Option<u8>,
}

#[derive(Arbitrary, Debug)]
enum Op {
    Sdu {
        end: bool,
        octets: u16,
    },
    Take {
        end: bool,
        place: u8,
    },
    /// The next TTI in both directions: PDUs that fit, and which are lost.
    Tti {
        pdus: [u8; 2],
        lost: [u16; 2],
    },
    /// So many without loss.
    Ttis(u8),
}

fn millis(value: u8) -> Duration {
    Duration::from_millis(u64::from(value) + 1)
}

fn pick<const N: usize>(of: [u64; N], index: u8) -> u64 {
    of[usize::from(index) % N]
}

impl Am {
    fn config(&self) -> rlc::Config {
        let defaults = am::Config::default();
        let discards = [am::SduDiscard::NoDiscard, am::SduDiscard::MaxDat, am::SduDiscard::Timer];
        // One of the timers saves what a lost poll would leave.
        let periodic = self.poll.is_multiple_of(2);
        let window = pick([1, 5, 64, 2048], self.window) as u32;
        let config = am::Config {
            pdu: Bytes::from_bytes(pick([16, 42, 126, 127, 200], self.pdu)),
            configured_tx_window_size: window,
            configured_rx_window_size: window.max(64),
            timer_poll: (!periodic).then(|| millis(self.poll)),
            timer_poll_periodic: periodic.then(|| millis(self.poll)),
            timer_poll_prohibit: self.prohibit[0].map(millis),
            timer_status_prohibit: self.prohibit[1].map(millis),
            timer_status_periodic: self.periodic_status.map(millis),
            poll_pdu: self.poll_pdu.map(|count| u32::from(count) + 1),
            poll_sdu: self.poll_sdu.map(|count| u32::from(count) + 1),
            // A window that fills up without a poll would stay full.
            poll_window: match (periodic, self.poll_window) {
                (false, None) => Some(50),
                (_, percent) => percent.map(|percent| u32::from(percent) % 100 + 1),
            },
            missing_pdu_indicator: self.missing_pdu_indicator,
            delivery: match self.out_of_sequence {
                true => am::Delivery::OutOfSequence,
                false => am::Delivery::InSequence,
            },
            sdu_discard: discards[usize::from(self.discard) % 3],
            max_dat: match (self.discard % 3, self.max_dat) {
                (1, None) => Some(4),
                (_, max_dat) => max_dat.map(|count| u32::from(count) % 20 + 2),
            },
            timer_discard: (self.discard % 3 == 2).then(|| millis(self.timer_discard)),
            send_mrw: self.send_mrw,
            max_mrw: u32::from(self.max_mrw) % 6 + 2,
            piggybacked_status: self.piggybacked_status,
            special_he: self.special_he,
            ..defaults
        };
        rlc::Config::Am(config)
    }
}

impl Other {
    fn config(&self) -> rlc::Config {
        let timer_discard = self.timer_discard.map(millis);
        let pdu = Bytes::from_bytes(pick([10, 41, 125, 126, 200], self.pdu));
        if self.transparent {
            let segmentation = self.option;
            return rlc::Config::Tm(tm::Config { pdu, segmentation, timer_discard, ..tm::Config::default() });
        }
        let first_octet_indicator = self.option;
        rlc::Config::Um(um::Config { pdu, first_octet_indicator, timer_discard, ..um::Config::default() })
    }
}

/// What became of an SDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sdu {
    /// It left its sender's buffer.
    released: bool,
    confirmed: bool,
    /// It left before any octet was sent.
    unsent: bool,
    up: bool,
    lost: bool,
}

/// One direction: the SDUs, and the TTIs in flight.
struct Line {
    config: rlc::Config,
    sdus: Vec<Sdu>,
    started: u64,
    /// The last one handed up.
    last_up: Option<u64>,
    on_air: VecDeque<(u64, Tti)>,
}

impl Line {
    fn new(config: rlc::Config) -> Self {
        Self { config, sdus: Vec::new(), started: 0, last_up: None, on_air: VecDeque::new() }
    }

    fn retransmits(&self) -> bool {
        matches!(self.config, rlc::Config::Am(_))
    }

    fn release(&mut self, number: u64) -> &mut Sdu {
        let sdu = &mut self.sdus[number as usize];
        assert!(!sdu.released, "SDU {number} leaves its buffer twice");
        sdu.released = true;
        sdu
    }

    fn sent(&mut self, report: &mut Report) {
        for number in report.unsent.drain(..) {
            assert!(number >= self.started, "SDU {number} was sent");
            self.release(number).unsent = true;
        }
        if !report.started.is_empty() {
            assert!(report.started.start >= self.started, "SDUs {:?} start again", report.started);
            self.started = report.started.end;
        }
        for number in report.confirmed.drain(..) {
            self.release(number).confirmed = true;
        }
        for number in report.discarded.drain(..) {
            self.release(number);
        }
        report.started = 0..0;
    }

    fn received(&mut self, report: &mut Report) {
        let any_order =
            matches!(&self.config, rlc::Config::Am(am) if am.delivery == am::Delivery::OutOfSequence);
        for number in report.up.drain(..) {
            let sdu = &mut self.sdus[number as usize];
            assert!(!sdu.up && !sdu.lost && !sdu.unsent, "SDU {number} is handed up: {sdu:?}");
            sdu.up = true;
            assert!(any_order || self.last_up < Some(number), "SDU {number} is handed up out of order");
            self.last_up = Some(number);
        }
        for number in report.lost.drain(..) {
            let sdu = &mut self.sdus[number as usize];
            assert!(!sdu.up && !sdu.lost, "SDU {number} is lost: {sdu:?}");
            sdu.lost = true;
        }
    }

    /// Whether all SDUs have left the buffer and arrived or not.
    fn is_done(&self) -> bool {
        self.sdus.iter().all(|sdu| {
            // Without retransmission, a partly transmitted SDU that was discarded is found missing with the next one.
            sdu.released && (sdu.up || sdu.lost || sdu.unsent || (!self.retransmits() && !sdu.confirmed))
        })
    }
}

struct Link {
    ends: [Box<dyn End>; 2],
    lines: [Line; 2],
    tti: u64,
}

impl Link {
    fn new(configs: [rlc::Config; 2]) -> Self {
        let ends = configs[0].ends(&configs[1]).expect("modes that work together");
        Self { ends, lines: configs.map(Line::new), tti: 0 }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + TTI.saturating_mul(self.tti)
    }

    /// Delivers the given PDUs, and sends a TTI in each direction if requested.
    fn step(&mut self, pdus: [u64; 2], lost: [u16; 2]) {
        let mut report = Report::default();
        for dir in 0..2 {
            let now = self.now();
            while self.lines[dir].on_air.front().is_some_and(|(at, _)| *at <= self.tti) {
                let Some((_, tti)) = self.lines[dir].on_air.pop_front() else { break };
                self.ends[1 - dir].handle_tti(now, &tti, &mut report);
                self.lines[dir].received(&mut report);
                self.lines[1 - dir].sent(&mut report);
            }
        }
        for dir in 0..2 {
            self.send(dir, pdus[dir], lost[dir], &mut report);
        }
        self.tti += 1;
    }

    fn send(&mut self, dir: usize, pdus: u64, lost: u16, report: &mut Report) {
        let now = self.now();
        if self.ends[dir].deadline() > now {
            return;
        }
        let mut tti = Tti::default();
        self.ends[dir].build_tti(now, pdus, &mut tti, report);
        let line = &mut self.lines[dir];
        line.sent(report);
        assert!(report.up.is_empty() && report.lost.is_empty());
        // Transparent PDUs have sizes of their own.
        assert!(tti.pdus() <= pdus || matches!(line.config, rlc::Config::Tm(_)), "{} PDUs", tti.pdus());
        let mut bit = 0;
        tti.lose(|| {
            bit += 1;
            lost == u16::MAX || lost >> (bit % 16) & 1 == 1
        });
        if !tti.is_empty() || !line.retransmits() {
            line.on_air.push_back((self.tti + DELAY, tti));
        }
    }

    /// On to the next TTI in which something arrives or is wanted.
    fn skip_idle(&mut self) {
        let arrival = self.lines.iter().filter_map(|line| line.on_air.front()).map(|(at, _)| *at).min();
        let wanted = self.ends.iter().map(|end| end.deadline()).min().unwrap_or(Instant::NEVER);
        let wanted = (wanted != Instant::NEVER).then(|| wanted.as_nanos().div_ceil(TTI.as_nanos()));
        if let Some(next) = arrival.into_iter().chain(wanted).min() {
            self.tti = self.tti.max(next);
        }
    }

    fn is_dead(&self) -> bool {
        let dead = |end: &dyn End| end.report()["unrecoverable_errors"].as_u64().unwrap_or(0) > 0;
        self.ends.iter().any(|end| dead(end.as_ref()))
    }
}

fuzz_target!(|input: Input| {
    let configs = match &input.modes {
        Modes::Am(both) => [both[0].config(), both[1].config()],
        Modes::Others(both) => [both[0].config(), both[1].config()],
    };
    for config in &configs {
        if matches!(config, rlc::Config::Am(am) if am.check().is_err()) {
            return;
        }
    }
    let mut link = Link::new(configs);
    for op in input.ops.iter().take(600) {
        match *op {
            Op::Sdu { end, octets } => {
                let dir = usize::from(end);
                if link.lines[dir].sdus.len() < MOST_SDUS {
                    link.ends[dir].handle_sdu(link.now(), u32::from(octets) % 600 + 1);
                    link.lines[dir].sdus.push(Sdu::default());
                }
            }
            Op::Take { end, place } => {
                let dir = usize::from(end);
                if let Some(number) = link.ends[dir].take_waiting(usize::from(place)) {
                    assert!(number >= link.lines[dir].started, "SDU {number} was sent");
                    link.lines[dir].release(number).unsent = true;
                }
            }
            Op::Tti { pdus, lost } => link.step(pdus.map(|count| u64::from(count) % 30 + 1), lost),
            Op::Ttis(count) => (0..count).for_each(|_| link.step([12, 12], [0, 0])),
        }
    }
    let mut patience = PATIENCE;
    while !link.lines.iter().all(Line::is_done) && !link.is_dead() {
        link.skip_idle();
        link.step([30, 30], [0, 0]);
        patience -= 1;
        assert!(patience > 0, "nothing is lost, and SDUs stay: {:?}", link.lines.map(|line| line.sdus));
    }
});
