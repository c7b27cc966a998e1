//! Both ends of a link layer and what is between them, with a log of what happens.
//!
//! Each line begins with a time in ms. `tx` is what a TTI of the downlink carries: for each PDU its sequence number and
//! its octets of the stream, `p` if it polls, and for a segment its offset, with `.` after the last one. `status` is a
//! STATUS PDU of the uplink: ACK_SN and the missing PDUs. `up` is an SDU of the downlink handed up, `lost` one that
//! never will be, `done` one confirmed to the sender, `unsent` and `discarded` SDUs that it discarded. SDUs of the
//! uplink are not logged.

use airpath_core::rlc::lte::{Nack, Pdu, Status};
use airpath_core::rlc::{Config, End, Report, Tti, am_lte, um_lte};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bitrate;
use std::collections::{BTreeMap, BTreeSet};

pub const NETWORK: usize = 0;
pub const UE: usize = 1;
/// From the start of a TTI to its arrival, if HARQ sends it once.
pub const DELAY: u64 = 4;

pub fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub struct Link {
    pub ends: [Box<dyn End>; 2],
    /// TTIs in flight from each end, by arrival in ms and index.
    pub air: [BTreeMap<(u64, u64), Tti>; 2],
    sent: u64,
    /// Octets of the header of a PDU.
    header: u64,
    pub log: Vec<String>,
    /// Octets of the SDUs sent by each end.
    pub sdus: [Vec<u32>; 2],
    /// SDUs of each end that were handed up, in that order; the cell does not hand one up twice.
    pub up: [Vec<u64>; 2],
    pub lost: [BTreeSet<u64>; 2],
    pub gone: [BTreeSet<u64>; 2],
    pub done: [BTreeSet<u64>; 2],
}

pub fn am(config: &am_lte::Config) -> Link {
    Link::new(&Config::AmLte(config.clone()))
}

pub fn um(config: &um_lte::Config) -> Link {
    Link::new(&Config::UmLte(config.clone()))
}

impl Link {
    /// Both directions have the same parameters.
    pub fn new(config: &Config) -> Self {
        (**config).validate(Bitrate::default()).unwrap();
        Self {
            ends: config.ends(config).unwrap(),
            air: Default::default(),
            sent: 0,
            header: if matches!(config, Config::UmLte(config) if config.sn_field_length == 5) {
                1
            } else {
                2
            },
            log: Vec::new(),
            sdus: Default::default(),
            up: Default::default(),
            lost: Default::default(),
            gone: Default::default(),
            done: Default::default(),
        }
    }

    /// An end takes SDUs.
    pub fn take(&mut self, end: usize, now: u64, sdus: &[u32]) {
        for &octets in sdus {
            self.sdus[end].push(octets);
            self.ends[end].handle_sdu(ms(now), octets);
        }
    }

    /// The TTI of an end that starts at `now` after all arrivals until then. `outcome` removes the lost PDUs, and
    /// returns the extra delay of the others. Returns the TTI as sent.
    pub fn tti(&mut self, end: usize, now: u64, room: u64, outcome: impl FnOnce(&mut Tti) -> u64) -> Tti {
        self.arrive(now);
        let (wants, backlog) = (self.ends[end].deadline() <= ms(now), self.ends[end].backlog(ms(now)));
        assert!(wants || backlog == 0, "{now}: {backlog} octets, and no TTI is wanted");
        let (mut tti, mut report) = (Tti::default(), Report::default());
        self.ends[end].build_tti(ms(now), room, &mut tti, &mut report);
        let sent = tti.clone();
        let octets =
            tti.lte.data.iter().map(|pdu| self.header + octets_behind_header(pdu, &tti)).sum::<u64>()
                + tti.lte.status.as_ref().map_or(0, Status::octets);
        assert!(octets <= room, "{now}: {octets} octets in {room}");
        assert!(tti.is_empty() || backlog > 0, "{now}: something was sent without a backlog");
        // Waiting SDUs may be discarded instead.
        let fits = room >= backlog.min(20) && report.unsent.is_empty();
        assert!(!tti.is_empty() || backlog == 0 || !fits, "{now}: nothing is sent of {backlog}");
        assert_eq!(tti.data.runs.len(), tti.lte.data.len());
        self.note(end, now, &tti);
        self.settle(end, now, &report);
        if !tti.is_empty() {
            let later = outcome(&mut tti);
            self.air[end].insert((now + DELAY + later, self.sent), tti);
            self.sent += 1;
        }
        sent
    }

    /// TTIs of both ends until then; `lost` decides for each end and time whether the TTI is lost.
    pub fn run(&mut self, from: u64, until: u64, room: u64, mut lost: impl FnMut(usize, u64) -> bool) {
        for now in from..until {
            for end in [UE, NETWORK] {
                let gone = lost(end, now);
                self.tti(end, now, room, |tti| {
                    tti.lose(|| gone);
                    0
                });
            }
        }
    }

    /// What has arrived until `now` is handled, and the timers that end before.
    pub fn arrive(&mut self, now: u64) {
        loop {
            let next = [0, 1].map(|end| self.air[end].first_key_value().map_or(u64::MAX, |(key, _)| key.0));
            let from = usize::from(next[1] < next[0]);
            let expiry = [0, 1].map(|end| self.ends[end].expiry());
            let first = usize::from(expiry[1] < expiry[0]);
            let mut report = Report::default();
            if expiry[first] < ms(next[from].min(now + 1)) {
                let at = expiry[first];
                self.ends[first].handle_expiry(at, &mut report);
                assert!(self.ends[first].expiry() > at, "a timer that has ended must not end again");
                self.settle(first, at.as_nanos() / 1_000_000, &report);
            } else if next[from] <= now {
                let ((at, _), tti) = self.air[from].pop_first().unwrap();
                self.ends[1 - from].handle_tti(ms(at), &tti, &mut report);
                self.settle(1 - from, at, &report);
            } else {
                return;
            }
        }
    }

    /// The UE goes to another cell: all PDUs in flight are lost.
    pub fn re_establish(&mut self, now: u64) {
        for end in [NETWORK, UE] {
            self.air[end].clear();
            let mut report = Report::default();
            self.ends[end].re_establish(ms(now), &mut report);
            assert!(report.began_anew);
            self.settle(end, now, &report);
        }
    }

    fn note(&mut self, end: usize, now: u64, tti: &Tti) {
        if end == NETWORK && !tti.lte.data.is_empty() {
            let pdus: String = tti.lte.data.iter().map(written).collect();
            self.log.push(format!("{now} tx{pdus}"));
        }
        if let Some(status) = tti.lte.status.as_ref().filter(|_| end == UE) {
            self.log.push(format!("{now} {}", written_status(status)));
        }
    }

    /// Records and checks the events.
    pub fn settle(&mut self, end: usize, now: u64, report: &Report) {
        let other = 1 - end;
        for &sdu in &report.up {
            assert!(!self.lost[other].contains(&sdu), "{now}: SDU {sdu} of end {other} was lost");
            if self.up[other].contains(&sdu) {
                continue;
            }
            assert!(self.up[other].last() < Some(&sdu), "{now}: SDU {sdu} of end {other} comes late");
            self.up[other].push(sdu);
            if other == NETWORK {
                self.log.push(format!("{now} up {sdu}"));
            }
        }
        for (word, numbers) in
            [("done", &report.confirmed), ("unsent", &report.unsent), ("discarded", &report.discarded)]
        {
            for &sdu in numbers {
                let accounting = if word == "done" { &mut self.done[end] } else { &mut self.gone[end] };
                assert!(accounting.insert(sdu), "{now}: SDU {sdu} of end {end} is {word} twice");
                if end == NETWORK {
                    self.log.push(format!("{now} {word} {sdu}"));
                }
            }
        }
        for &sdu in &report.lost {
            assert!(!self.up[other].contains(&sdu), "{now}: SDU {sdu} was handed up");
            assert!(self.lost[other].insert(sdu), "{now}: SDU {sdu} is lost twice");
            if other == NETWORK {
                self.log.push(format!("{now} lost {sdu}"));
            }
        }
    }

    pub fn counts(&self, end: usize) -> BTreeMap<String, u64> {
        serde_json::from_value(self.ends[end].report()).unwrap()
    }
}

/// Octets of a PDU over the air, without the fixed part of the header.
pub fn octets_behind_header(pdu: &Pdu, tti: &Tti) -> u64 {
    let ends = tti.lte.ends_of(pdu);
    let elements = ends.len() + usize::from(ends.last().is_none_or(|end| end.at != pdu.octets.end));
    let part = if pdu.part.is_some() { 2 } else { 0 };
    part + (elements as u64 - 1) * 12 / 8 + (elements as u64 - 1) % 2 + pdu.octets.len()
}

pub fn written(pdu: &Pdu) -> String {
    let part = pdu.part.map(|part| format!("@{}{}", part.so, if part.last { "." } else { "" }));
    let (poll, octets) = (if pdu.poll { "p" } else { "" }, pdu.octets);
    format!(" {}{}[{}-{}]{poll}", pdu.sn, part.unwrap_or_default(), octets.first, octets.end)
}

pub fn written_status(status: &Status) -> String {
    let part = |nack: &Nack| match nack.part {
        None => format!(" {}", nack.sn),
        Some((start, end)) => {
            format!(" {}[{start}-{}]", nack.sn, end.map(|end| end.to_string()).unwrap_or_default())
        }
    };
    format!("status {}{}", status.ack_sn, status.nacks.iter().map(part).collect::<String>())
}
