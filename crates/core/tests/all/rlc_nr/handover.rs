//! Hand-overs in acknowledged mode: RLC begins from nothing, and PDCP transmits again (TS 38.323 §5.1.2, §5.4, §5.5).

use super::am::config;
use super::link::{Link, NETWORK, UE};
use airpath_core::pdcp::{self, AtHandover};
use airpath_core::rlc::{Config, am_nr};
use airpath_core::time::Duration;

fn link(pdcp: &pdcp::Config) -> Link {
    let quiet = am_nr::Config { t_reassembly: Duration::from_millis(10), poll_pdu: Some(2), ..config() };
    Link::new(&Config::AmNr(quiet), pdcp)
}

/// Six SDUs, one in each TTI from 0 on: 0 arrives and is confirmed, 1 is lost, 2 and 3 arrive and are confirmed, 4 arrives
/// and is not confirmed, 5 is lost. The hand-over is at 22, the first TTI at 30.
fn handover(pdcp: &pdcp::Config, rooms: impl Fn(u64) -> u64) -> Link {
    let mut link = link(pdcp);
    link.take(NETWORK, 0, &[10; 6]);
    for now in 0..4 {
        link.tti(UE, now, 1000, |_| 0);
        link.tti(NETWORK, now, 18, |tti| {
            tti.lose(|| now == 1);
            0
        });
    }
    // SDU 3 polls; t-Reassembly ends at 16, and the STATUS PDU of then arrives at 20.
    for now in 4..17 {
        link.tti(UE, now, 1000, |_| 0);
    }
    link.tti(NETWORK, 17, 18, |_| 0);
    link.tti(NETWORK, 18, 18, |tti| {
        tti.lose(|| true);
        0
    });
    link.arrive(21);
    let done: Vec<_> = link.done[NETWORK].iter().copied().collect();
    assert_eq!(done, [0, 2, 3]);
    link.re_establish(22);
    for now in 30..60 {
        link.tti(UE, now, 1000, |_| 0);
        link.tti(NETWORK, now, rooms(now), |_| 0);
    }
    assert_eq!(link.up[NETWORK], [0, 1, 2, 3, 4, 5]);
    assert_eq!(link.done[NETWORK].len(), 6);
    link
}

fn tx(link: &Link) -> Vec<String> {
    let from = |line: &&String| {
        line.contains("tx") && line.split(' ').next().is_some_and(|ms| ms.len() > 1 && ms >= "30")
    };
    link.log.iter().filter(from).cloned().collect()
}

/// §5.1.2: from the first unconfirmed SDU on, all of them, including confirmed ones after it. The network's own status
/// report goes first; `s`.
#[test]
fn a_hand_over_transmits_again_from_the_first_sdu_that_is_not_confirmed() {
    let without = pdcp::Config { status_report: false, ..pdcp::Config::default() };
    let all = handover(&without, |_| 1000);
    assert_eq!(tx(&all), ["30 tx 0 1p 2 3p 4p"]);
    // 2, 3 and 4 are duplicates.
    assert_eq!(all.received(UE)["discarded_sdus"], 3);
    let with = handover(&pdcp::Config::default(), |_| 1000);
    assert_eq!(tx(&with), ["30 tx 0s 1p 2 3p 4 5p"]);
}

/// §5.4.2: the UE's status report of 30 arrives at 34: FMC = 1, 2 to 4 are there. They are not transmitted again.
#[test]
fn a_status_report_spares_what_has_arrived() {
    // Room for the network's report and SDU 1 until then.
    let link = handover(&pdcp::Config::default(), |now| match now {
        30 => 10 + 18,
        31..35 => 0,
        _ => 1000,
    });
    assert_eq!(tx(&link), ["30 tx 0s 1p", "35 tx 2p"]);
    assert_eq!(link.received(UE)["discarded_sdus"], 0);
    assert_eq!(link.received(UE)["status_reports"], 1);
}

/// §5.5: data recovery transmits what is not confirmed.
#[test]
fn data_recovery_transmits_what_is_not_confirmed() {
    let recovery = pdcp::Config {
        at_handover: AtHandover::DataRecovery,
        status_report: false,
        ..pdcp::Config::default()
    };
    let link = handover(&recovery, |_| 1000);
    // 1, 4 and 5.
    assert_eq!(tx(&link), ["30 tx 0 1p 2p"]);
    assert_eq!(link.received(UE)["discarded_sdus"], 1);
}

/// A segment of an SDU that RLC has dropped is transmitted again from its first octet.
#[test]
fn a_hand_over_within_an_sdu_transmits_all_of_it() {
    let mut link = link(&pdcp::Config { status_report: false, ..pdcp::Config::default() });
    link.take(NETWORK, 0, &[100]);
    link.tti(NETWORK, 0, 50, |_| 0);
    link.arrive(4);
    link.re_establish(5);
    link.run(10, 20, 1000, |_, _| false);
    assert_eq!(link.log[..2], ["0 tx 0[0-45]", "10 tx 0p"]);
    assert_eq!(link.up[NETWORK], [0]);
}
