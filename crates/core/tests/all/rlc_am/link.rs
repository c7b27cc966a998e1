//! Two entities and what is between them, with a log of what happens.
//!
//! Each line begins with a time in ms. `tx` is what a TTI of the downlink carries: control PDUs, then data (`p` after
//! PDUs that poll, `+` before a piggybacked STATUS). `status`, `reset` and `reset_ack` are control PDUs of the uplink,
//! `back` its data. `up` is an SDU of the downlink handed up, `lost` one that never will be, `done` one confirmed to
//! the sender, `discarded` one given up there, `unsent` one that was dropped before transmission; with an apostrophe
//! they are SDUs of the uplink.

use airpath_core::rlc::am::{Config, Entity};
use airpath_core::rlc::control::{Control, Mrw, Status};
use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Report, Run, SnRange, Tti};
use airpath_core::time::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

pub const PDUS: u64 = 12;
pub const NETWORK: usize = 0;
pub const UE: usize = 1;

pub fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub fn range(first: u64, end: u64) -> SnRange {
    SnRange::new(first, end)
}

/// What became of an SDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sdu {
    pub started: bool,
    /// Taken out of the buffer by its owner.
    pub taken: bool,
    /// As told by the sender: `d`one, `x` discarded, `u`nsent.
    pub sender: Option<char>,
    /// As told by the receiver: `u`p or `l`ost.
    pub receiver: Option<char>,
}

pub struct Link {
    pub ends: [Entity; 2],
    in_sequence: [bool; 2],
    /// TTIs in flight from each end, with their arrival in ms.
    air: [VecDeque<(u64, Tti)>; 2],
    pub pdus: u64,
    pub log: Vec<String>,
    /// SDUs sent by each end.
    pub sdus: [BTreeMap<u64, Sdu>; 2],
    highest_up: [Option<u64>; 2],
}

impl Link {
    /// Both directions have the same parameters.
    pub fn new(config: &Config) -> Self {
        Self::of(config, config)
    }

    pub fn of(downlink: &Config, uplink: &Config) -> Self {
        downlink.check().unwrap();
        uplink.check().unwrap();
        let in_sequence =
            [downlink, uplink].map(|config| config.delivery == airpath_core::rlc::am::Delivery::InSequence);
        Self {
            ends: [Entity::at_network(downlink, uplink), Entity::at_network(uplink, downlink)],
            in_sequence,
            air: Default::default(),
            pdus: PDUS,
            log: Vec::new(),
            sdus: Default::default(),
            highest_up: [None; 2],
        }
    }

    /// An end takes an SDU.
    pub fn handle_sdu(&mut self, end: usize, now: u64, octets: u32) {
        let number = self.sdus[end].len() as u64;
        self.sdus[end].insert(number, Sdu::default());
        self.ends[end].handle_sdu(ms(now), octets);
    }

    /// Removes an unsent SDU.
    pub fn take_waiting(&mut self, end: usize, place: usize) -> Option<u64> {
        let taken = self.ends[end].take_waiting(place)?;
        let sdu = self.sdus[end].get_mut(&taken).unwrap();
        assert_eq!(*sdu, Sdu::default(), "SDU {taken} was taken");
        sdu.taken = true;
        Some(taken)
    }

    /// The TTI of an end that starts at `now`, after all arrivals until then; `lose` removes the lost PDUs.
    pub fn tti(&mut self, end: usize, now: u64, lose: impl FnOnce(&mut Tti)) {
        self.arrive(now);
        let (mut tti, mut report) = (Tti::default(), Report::default());
        self.ends[end].build_tti(ms(now), self.pdus, &mut tti, &mut report);
        assert!(tti.pdus() <= self.pdus);
        if tti.is_empty() && self.pdus > 0 {
            assert!(
                self.ends[end].deadline() > ms(now),
                "{now}: end {end} requests a TTI and has nothing to send"
            );
        }
        for started in report.started.clone() {
            let sdu = self.sdus[end].get_mut(&started).unwrap();
            assert!(!sdu.started && sdu.sender.is_none(), "SDU {started} started twice");
            sdu.started = !sdu.taken;
        }
        self.note_sent(end, now, &tti);
        self.settle(end, now, &report);
        if !tti.is_empty() {
            lose(&mut tti);
            self.air[end].push_back((now + 25, tti));
        }
    }

    /// A TTI of each end.
    pub fn ttis(&mut self, now: u64, downlink_lost: bool, uplink_lost: bool) {
        for (end, lost) in [(UE, uplink_lost), (NETWORK, downlink_lost)] {
            self.tti(end, now, |tti| {
                if lost {
                    tti.clear()
                }
            });
        }
    }

    /// What has arrived until `now` is handled.
    pub fn arrive(&mut self, now: u64) {
        loop {
            let next = [0, 1].map(|end| self.air[end].front().map_or(u64::MAX, |(at, _)| *at));
            let end = usize::from(next[1] < next[0]);
            if next[end] > now {
                return;
            }
            let (at, tti) = self.air[end].pop_front().unwrap();
            let mut report = Report::default();
            self.ends[1 - end].handle_tti(ms(at), &tti, &mut report);
            self.settle(1 - end, at, &report);
        }
    }

    /// Whether nothing is in flight.
    pub fn is_quiet(&self) -> bool {
        self.air.iter().all(VecDeque::is_empty)
    }

    fn note_sent(&mut self, end: usize, now: u64, tti: &Tti) {
        let control: Vec<String> = tti.control.iter().map(written_control).collect();
        let rider = tti.piggybacked.as_ref().map_or(String::new(), |(sn, status)| {
            let carries = |run: &Run| (run.sns.first..run.sns.end).contains(sn);
            assert!(tti.data.runs.iter().any(carries), "{now}: PDU {sn} is not sent");
            format!(" + {}", written_status(status))
        });
        if end == NETWORK {
            let parts: String = control.iter().map(|part| format!(" [{part}]")).collect();
            if !tti.is_empty() {
                self.log.push(format!("{now} tx{parts}{}{rider}", written(&tti.data.runs)));
            }
            return;
        }
        self.log.extend(control.iter().map(|part| format!("{now} {part}")));
        if !tti.data.runs.is_empty() {
            self.log.push(format!("{now} back{}{rider}", written(&tti.data.runs)));
        }
    }

    /// Checks the events: each is reported once, and in order where required.
    fn settle(&mut self, end: usize, now: u64, report: &Report) {
        let other = 1 - end;
        let mut note = |word: &str, sent_by: usize, numbers: &[u64]| {
            let mark = if sent_by == NETWORK { "" } else { "'" };
            self.log.extend(numbers.iter().map(|sdu| format!("{now} {word}{mark} {sdu}")));
        };
        note("up", other, &report.up);
        note("lost", other, &report.lost);
        note("done", end, &report.confirmed);
        note("discarded", end, &report.discarded);
        note("unsent", end, &report.unsent);
        for (outcome, numbers) in [('u', &report.up), ('l', &report.lost)] {
            for number in numbers {
                let sdu = self.sdus[other].get_mut(number).unwrap();
                assert_eq!(sdu.receiver, None, "{now}: SDU {number} of end {other} is reported twice");
                assert!(outcome == 'l' || sdu.started, "{now}: SDU {number} of end {other} was never sent");
                sdu.receiver = Some(outcome);
                if outcome == 'u' && self.in_sequence[other] {
                    assert!(self.highest_up[other] < Some(*number), "{now}: SDU {number} comes late");
                    self.highest_up[other] = Some(*number);
                }
            }
        }
        for (outcome, numbers) in [('d', &report.confirmed), ('x', &report.discarded), ('u', &report.unsent)]
        {
            for number in numbers {
                let sdu = self.sdus[end].get_mut(number).unwrap();
                assert!(
                    sdu.sender.is_none() && !sdu.taken,
                    "{now}: SDU {number} of end {end} is reported twice"
                );
                assert_eq!(sdu.started, outcome != 'u', "{now}: SDU {number} of end {end}");
                assert!(
                    outcome != 'd' || sdu.receiver != Some('l'),
                    "{now}: SDU {number} is lost and confirmed"
                );
                sdu.sender = Some(outcome);
            }
        }
    }
}

fn written_control(control: &Control) -> String {
    match control {
        Control::Status(status) => written_status(status),
        Control::Reset(reset) => format!("reset {}", u8::from(reset.rsn)),
        Control::ResetAck(reset) => format!("reset_ack {}", u8::from(reset.rsn)),
    }
}

fn written_status(status: &Status) -> String {
    let missing = status.missing.as_slice().iter().map(|r| format!(" {}-{}", r.first, r.end - 1));
    let window = status.window.map(|wsn| format!(" window {wsn}"));
    let mrw = status.mrw.as_ref().map(written_mrw);
    let mrw_ack = status.mrw_ack.map(|ack| format!(" mrw_ack {}/{}", ack.sn_ack, ack.n));
    let parts = missing.chain(window).chain(mrw).chain(mrw_ack);
    let lsn = status.lsn.map(|lsn| format!(" {lsn}")).unwrap_or_default();
    format!("status{lsn}{}", parts.collect::<String>())
}

fn written_mrw(mrw: &Mrw) -> String {
    let sns: Vec<String> = mrw.sn_mrw.iter().map(u64::to_string).collect();
    let beyond = if mrw.beyond_window { " beyond" } else { "" };
    format!(" mrw {}/{}{beyond}", sns.join(","), mrw.n_length)
}

pub fn written(runs: &[Run]) -> String {
    let one = |run: &Run| {
        let last = run.sns.end - 1;
        let sns =
            if run.sns.first == last { format!(" {last}") } else { format!(" {}-{last}", run.sns.first) };
        if run.poll { sns + "p" } else { sns }
    };
    runs.iter().map(one).collect()
}

/// What happens until `until` ms when the network sends these SDUs (arrival in ms, octets) and these TTIs are lost.
pub fn timeline_until(
    until: u64,
    config: &Config,
    sdus: &[(u64, u32)],
    downlink: &[u64],
    uplink: &[u64],
) -> Link {
    let mut link = Link::new(config);
    let mut waiting = sdus.iter().peekable();
    for now in (0..until).step_by(10) {
        while let Some((at, octets)) = waiting.next_if(|(at, _)| *at <= now) {
            link.handle_sdu(NETWORK, *at, *octets);
        }
        link.ttis(now, downlink.contains(&now), uplink.contains(&now));
    }
    link
}

/// The same until 300 ms.
pub fn timeline(config: &Config, sdus: &[(u64, u32)], downlink: &[u64], uplink: &[u64]) -> Vec<String> {
    timeline_until(300, config, sdus, downlink, uplink).log
}
