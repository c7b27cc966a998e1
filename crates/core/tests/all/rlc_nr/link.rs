//! Both ends of a link layer and what is between them, with a log of what happens.
//!
//! Each line begins with a time in ms. `tx` is what a TTI of the downlink carries: for each PDU its sequence number,
//! for a segment its octets with `.` after the last one of the SDU, `r` for a retransmission, `p` if it polls. `status`
//! is a STATUS PDU of the uplink: ACK_SN and the missing SDUs, `+` and a number for a NACK range. `up` is an SDU of the
//! downlink handed up by PDCP, `lost` one that never will be, `done` one confirmed to the sender, `unsent` and
//! `discarded` SDUs that it discarded. SDUs of the uplink are not logged.

use airpath_core::pdcp::{self, Content};
use airpath_core::rlc::nr::{Nack, Pdu, Status, mac_octets};
use airpath_core::rlc::{Config, End, Report, Tti, am_nr, um_nr};
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
    /// What is in transit from each end, by its arrival in ms and its number.
    pub air: [BTreeMap<(u64, u64), Tti>; 2],
    sent: u64,
    /// How often each end was established again.
    establishments: [u32; 2],
    rlc: Config,
    pub log: Vec<String>,
    /// Octets of the SDUs sent by each end.
    pub sdus: [Vec<u32>; 2],
    /// SDUs of each end that were handed up, in that order.
    pub up: [Vec<u64>; 2],
    /// Whether SDUs may go up in any order.
    pub any_order: bool,
    pub lost: [BTreeSet<u64>; 2],
    pub gone: [BTreeSet<u64>; 2],
    pub done: [BTreeSet<u64>; 2],
}

pub fn am(config: &am_nr::Config) -> Link {
    Link::new(&Config::AmNr(config.clone()), &pdcp::Config::default())
}

pub fn um(config: &um_nr::Config) -> Link {
    Link::new(&Config::UmNr(config.clone()), &pdcp::Config::default())
}

impl Link {
    /// Both directions have the same parameters.
    pub fn new(config: &Config, pdcp: &pdcp::Config) -> Self {
        (**config).validate(Bitrate::default()).unwrap();
        pdcp.validate().unwrap();
        Self {
            ends: config.ends_with(config, [pdcp, pdcp]).unwrap(),
            air: Default::default(),
            sent: 0,
            establishments: [0; 2],
            rlc: config.clone(),
            log: Vec::new(),
            sdus: Default::default(),
            up: Default::default(),
            any_order: pdcp.out_of_order,
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

    /// Octets of a PDU with its subheader, from the formats of TS 38.322 §6.2.2.3, §6.2.2.4.
    fn octets(&self, pdu: &Pdu) -> u64 {
        let is_whole = pdu.so == 0 && pdu.last;
        let header = match &self.rlc {
            Config::AmNr(config) if config.sn == 12 => 2,
            Config::AmNr(_) => 3,
            Config::UmNr(_) if is_whole => 1,
            Config::UmNr(config) if config.sn == 6 => 1,
            _ => 2,
        };
        let octets = header + if pdu.so > 0 { 2 } else { 0 } + u64::from(pdu.end - pdu.so);
        octets + mac_octets(octets)
    }

    fn status_octets(&self, status: &Status) -> u64 {
        let Config::AmNr(config) = &self.rlc else { panic!("a STATUS PDU in unacknowledged mode") };
        let octets = status.octets(config.sn);
        octets + mac_octets(octets)
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
        let octets = tti.nr.data.iter().map(|pdu| self.octets(pdu)).sum::<u64>()
            + tti.nr.status.as_ref().map_or(0, |status| self.status_octets(status));
        assert!(octets <= room, "{now}: {octets} octets in {room}");
        // After an RLC re-establishment, another SDU comes first.
        let anew = std::mem::replace(&mut self.establishments[end], tti.nr.establishment);
        let is_bounded = anew == tti.nr.establishment && tti.nr.data.len() <= 1;
        assert!(octets <= backlog || !is_bounded, "{now}: {octets} octets of {backlog}");
        assert!(tti.is_empty() || backlog > 0, "{now}: something was sent without a backlog");
        // Waiting SDUs may be discarded instead.
        let fits = room >= backlog.min(20) && report.unsent.is_empty();
        assert!(!tti.is_empty() || backlog == 0 || !fits, "{now}: nothing is sent of {backlog}");
        assert!(tti.data.runs.is_empty() && tti.nr.room == room);
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

    /// The UE goes to another cell: what is in transit is lost.
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
        if end == NETWORK && !tti.nr.data.is_empty() {
            let pdus: String = tti.nr.data.iter().map(written).collect();
            self.log.push(format!("{now} tx{pdus}"));
        }
        if let Some(status) = tti.nr.status.as_ref().filter(|_| end == UE) {
            self.log.push(format!("{now} {}", written_status(status)));
        }
    }

    /// Records and checks the events.
    pub fn settle(&mut self, end: usize, now: u64, report: &Report) {
        let other = 1 - end;
        for &sdu in &report.up {
            assert!(!self.lost[other].contains(&sdu), "{now}: SDU {sdu} of end {other} was lost");
            assert!(!self.up[other].contains(&sdu), "{now}: SDU {sdu} of end {other} comes twice");
            let in_order = self.up[other].last() < Some(&sdu);
            assert!(self.any_order || in_order, "{now}: SDU {sdu} of end {other} comes late");
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
            if self.lost[other].insert(sdu) && other == NETWORK {
                self.log.push(format!("{now} lost {sdu}"));
            }
        }
    }

    pub fn counts(&self, end: usize) -> BTreeMap<String, u64> {
        serde_json::from_value(self.ends[end].report()).unwrap()
    }

    /// What PDCP counted as the receiver at this end.
    pub fn received(&self, end: usize) -> BTreeMap<String, u64> {
        serde_json::from_value(self.ends[end].received().unwrap()).unwrap()
    }
}

pub fn written(pdu: &Pdu) -> String {
    let part = match pdu.so == 0 && pdu.last {
        true => String::new(),
        false => format!("[{}-{}{}]", pdu.so, pdu.end, if pdu.last { "." } else { "" }),
    };
    let status = if matches!(pdu.sdu, Content::Status(_)) { "s" } else { "" };
    let again = if pdu.again { "r" } else { "" };
    let poll = if pdu.poll { "p" } else { "" };
    format!(" {}{status}{part}{again}{poll}", pdu.sn)
}

pub fn written_status(status: &Status) -> String {
    let nack = |nack: &Nack| {
        let range = if nack.range > 1 { format!("+{}", nack.range) } else { String::new() };
        let part = match nack.start > 0 || nack.end.is_some() {
            true => format!("[{}-{}]", nack.start, nack.end.map(|end| end.to_string()).unwrap_or_default()),
            false => String::new(),
        };
        format!(" {}{range}{part}", nack.sn)
    };
    format!("status {}{}", status.ack_sn, status.nacks.iter().map(nack).collect::<String>())
}
