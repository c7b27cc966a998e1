//! Both entities of a direction, with losses between them. In a timeline, `tx` is what a TTI carries, `sent` an SDU
//! that left the sender's buffer, `gone` one that it gave up, `up` one handed up and `lost` one that is not.

use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Component, Report, Run, SnRange, Tti, tm, um};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bitrate;
use proptest::prelude::*;
use std::collections::BTreeSet;

pub const PDUS: u64 = 12;

pub fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub fn bearer(config: &impl Component) -> Bearer {
    config.validate(Bitrate::default()).unwrap();
    let (tx, rx) = config.halves().unwrap();
    Bearer::new(tx, rx)
}

pub fn um(config: &um::Config) -> Bearer {
    bearer(config)
}

pub fn tm(config: &tm::Config) -> Bearer {
    bearer(config)
}

/// Both entities of a direction, and what is between them.
pub struct Bearer {
    pub tx: Box<dyn Transmit>,
    rx: Box<dyn Receive>,
    on_air: Vec<(u64, Tti)>,
    log: Vec<String>,
    pub up: Vec<u64>,
    pub lost: Vec<u64>,
    pub gone: Vec<u64>,
}

impl Bearer {
    fn new(tx: Box<dyn Transmit>, rx: Box<dyn Receive>) -> Self {
        let (on_air, log) = (Vec::new(), Vec::new());
        Self { tx, rx, on_air, log, up: Vec::new(), lost: Vec::new(), gone: Vec::new() }
    }

    /// The TTI that starts at `now`, after all arrivals until then; returns the number of PDUs that it carried.
    pub fn tti(&mut self, now: u64, pdus: u64, mut lost: impl FnMut(u64) -> bool) -> u64 {
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
        let mut outcomes = sns.into_iter().map(&mut lost);
        tti.lose(|| outcomes.next().unwrap());
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

pub fn written(runs: &[Run]) -> String {
    let one = |run: &Run| match run.sns {
        SnRange { first, end } if first + 1 == end => format!(" {first}"),
        SnRange { first, end } => format!(" {first}-{}", end - 1),
    };
    runs.iter().map(one).collect()
}

/// What happens until 200 ms when these SDUs (arrival in ms, octets) are sent and these TTIs are lost.
pub fn timeline(mut bearer: Bearer, sdus: &[(u64, u32)], lost: &[u64]) -> Vec<String> {
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

proptest! {
    /// With SDUs that come late, are taken out or discarded: each is handed up, lost, taken or discarded, and what is
    /// handed up keeps its order.
    #[test]
    fn every_sdu_has_one_outcome(
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
                4 => taken.extend(bearer.tx.take_waiting(octets as usize % 3)),
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
        let missed: BTreeSet<u64> = bearer.lost.iter().copied().filter(|sdu| !gone.contains(sdu)).collect();
        prop_assert!(bearer.up.iter().all(|sdu| !gone.contains(sdu) && !missed.contains(sdu)));
        prop_assert_eq!(gone.len() + missed.len() + bearer.up.len(), number as usize);
    }
}
