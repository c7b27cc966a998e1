//! Both ends of a link layer of LTE or NR and what is between them, with a log of what happens; and what properties have in
//! common.
//!
//! TTIs of 1 ms in both directions. Each line of the log begins with a time in ms: `tx` and `status` are what a TTI of the
//! downlink and of the uplink carries, as [`System`] writes it, `up` is an SDU of the downlink handed up, `lost` one that
//! never will be, `done` one confirmed to the sender, `unsent` and `discarded` SDUs that it discarded. SDUs of the uplink
//! are not logged.

use airpath_core::rlc::{Config, End, Report, Tti};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bitrate;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

pub const NETWORK: usize = 0;
pub const UE: usize = 1;
/// From the start of a TTI to its arrival, if HARQ sends it once.
pub const DELAY: u64 = 4;

pub fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// What differs between the systems.
pub trait System {
    /// With PDCP, which hands up an SDU once but may report it lost as RLC did before; without it the reverse holds, as the
    /// cell does not hand an SDU up twice.
    const HAS_PDCP: bool;

    /// Octets of what the TTI of an end carries, and whether the backlog bounds them.
    fn octets(&mut self, end: usize, tti: &Tti, room: u64) -> (u64, bool);

    /// Data and STATUS PDU of a TTI for the log.
    fn written(tti: &Tti) -> [Option<String>; 2];
}

pub struct Link<S> {
    system: S,
    pub ends: [Box<dyn End>; 2],
    /// What is in transit from each end, by its arrival in ms and its number.
    pub air: [BTreeMap<(u64, u64), Tti>; 2],
    sent: u64,
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

impl<S: System> Link<S> {
    /// Both ends have the same parameters.
    pub fn between(ends: [Box<dyn End>; 2], config: &Config, system: S) -> Self {
        (**config).validate(Bitrate::default()).unwrap();
        Self {
            system,
            ends,
            air: Default::default(),
            sent: 0,
            log: Vec::new(),
            sdus: Default::default(),
            up: Default::default(),
            any_order: false,
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
        let (octets, is_bounded) = self.system.octets(end, &tti, room);
        assert!(octets <= room, "{now}: {octets} octets in {room}");
        assert!(octets <= backlog || !is_bounded, "{now}: {octets} octets of {backlog}");
        assert!(tti.is_empty() || backlog > 0, "{now}: something was sent without a backlog");
        // Waiting SDUs may be discarded instead.
        let fits = room >= backlog.min(20) && report.unsent.is_empty();
        assert!(!tti.is_empty() || backlog == 0 || !fits, "{now}: nothing is sent of {backlog}");
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
        let written = S::written(tti);
        self.log.extend(written[end].as_ref().map(|text| format!("{now} {text}")));
    }

    /// Records and checks the events.
    pub fn settle(&mut self, end: usize, now: u64, report: &Report) {
        let other = 1 - end;
        for &sdu in &report.up {
            assert!(!self.lost[other].contains(&sdu), "{now}: SDU {sdu} of end {other} was lost");
            if self.up[other].contains(&sdu) {
                assert!(!S::HAS_PDCP, "{now}: SDU {sdu} of end {other} comes twice");
                continue;
            }
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
            let is_new = self.lost[other].insert(sdu);
            assert!(is_new || S::HAS_PDCP, "{now}: SDU {sdu} is lost twice");
            if is_new && other == NETWORK {
                self.log.push(format!("{now} lost {sdu}"));
            }
        }
    }

    pub fn counts(&self, end: usize) -> BTreeMap<String, u64> {
        serde_json::from_value(self.ends[end].report()).unwrap()
    }
}

/// Time, whether it is of the downlink, and octets of each SDU; for each TTI of both ends room, losses (all, single PDUs by
/// bits, or none), and the number of HARQ retransmissions; times of hand-overs.
pub type Traffic = (Vec<(u64, bool, u32)>, Vec<[(u64, u8, u64, u64); 2]>, Vec<u64>);

/// Traffic with less than so much room in each TTI.
pub fn traffic(rooms: u64) -> impl Strategy<Value = Traffic> {
    let outcome = move || (0..rooms, 0_u8..4, any::<u64>(), 0_u64..4);
    (
        prop::collection::vec((0_u64..150, any::<bool>(), 1_u32..400), 1..60),
        prop::collection::vec([outcome(), outcome()], 150..300),
        prop::collection::vec(0_u64..150, 0..3),
    )
}

/// SDUs of both directions at these times, TTIs with these outcomes, hand-overs at these times.
pub fn run<S: System>(link: &mut Link<S>, (sdus, outcomes, handovers): &Traffic) {
    for (now, both) in (0_u64..).zip(outcomes) {
        if handovers.contains(&now) {
            link.arrive(now);
            link.re_establish(now);
        }
        for &(_, downlink, octets) in sdus.iter().filter(|(at, ..)| *at == now) {
            link.take(usize::from(!downlink), now, &[octets]);
        }
        for end in [UE, NETWORK] {
            let (room, lost, bits, repetitions) = both[end];
            link.tti(end, now, room, |tti| {
                let mut bit = 0;
                tti.lose(|| {
                    bit += 1;
                    lost == 0 || (lost == 1 && bits >> (bit % 64) & 1 == 1)
                });
                8 * repetitions
            });
        }
    }
}

/// Unacknowledged mode: an SDU is handed up, or reported lost.
pub fn check_unacknowledged<S: System>(link: &mut Link<S>, traffic: &Traffic) -> Result<(), TestCaseError> {
    run(link, traffic);
    let now = traffic.1.len() as u64;
    link.run(now, now + 200, 2000, |_, _| false);
    // The last poll covers all before it.
    link.take(NETWORK, now + 200, &[10]);
    link.take(UE, now + 200, &[10]);
    link.run(now + 200, now + 400, 2000, |_, _| false);
    for end in [NETWORK, UE] {
        let sent = link.sdus[end].len() as u64;
        prop_assert!(link.up[end].contains(&(sent - 1)));
        for sdu in 0..sent {
            let [up, lost] = [link.up[end].contains(&sdu), link.lost[end].contains(&sdu)];
            prop_assert!(up != lost, "SDU {} of end {}: {} and {}", sdu, end, up, lost);
            // An SDU that left the buffer unsent, or partly sent, does not arrive.
            prop_assert!(!(up && link.gone[end].contains(&sdu)));
        }
    }
    Ok(())
}

/// A link in acknowledged mode brings every SDU, up to 95 % of PDUs lost.
pub fn check_whatever_is_lost<S: System>(new: impl Fn() -> Link<S>) {
    for percent in [0, 5, 10, 25, 50, 75, 90, 95] {
        let mut link = new();
        let mut state = 12_345_u64 + percent;
        let mut lost = || {
            // Knuth's MMIX.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100 < percent
        };
        link.take(NETWORK, 0, &[100, 200, 10, 300]);
        let mut now = 0;
        while link.done[NETWORK].len() < 4 && now < 10_000_000 {
            for end in [UE, NETWORK] {
                link.tti(end, now, 60, |tti| {
                    tti.lose(&mut lost);
                    0
                });
            }
            now += 1;
        }
        assert_eq!(link.up[NETWORK], [0, 1, 2, 3], "{percent} %, {now} ms");
        assert_eq!(link.done[NETWORK].len(), 4, "{percent} %, {now} ms");
        assert_eq!(link.counts(NETWORK)["radio_link_failures"], 0, "{percent} %, {now} ms");
    }
}
