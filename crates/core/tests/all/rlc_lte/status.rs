//! STATUS PDUs: when they are sent, and what is in them.

use super::am::config;
use super::link::{NETWORK, UE, am, ms};
use airpath_core::rlc::am_lte::Config;
use airpath_core::time::Duration;

/// A poll behind a gap is answered when t-Reordering has ended, not before: HARQ may still bring the missing PDU.
#[test]
fn a_poll_behind_a_gap_waits_for_t_reordering() {
    let mut link = am(&Config { t_reordering: Duration::from_millis(30), ..config() });
    link.take(NETWORK, 0, &[20, 20]);
    link.tti(NETWORK, 0, 22, |tti| {
        tti.lose(|| true);
        0
    });
    link.tti(NETWORK, 1, 22, |_| 0);
    link.arrive(5);
    assert_eq!(link.ends[UE].deadline(), ms(35));
    assert!(link.tti(UE, 34, 100, |_| 0).is_empty());
    link.tti(UE, 35, 100, |_| 0);
    assert_eq!(link.log.last().unwrap(), "35 status 2 0");
}

/// The gap closes: the poll is answered at once, and t-Reordering stops.
#[test]
fn t_reordering_stops_when_the_gap_closes() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[20, 20]);
    link.tti(NETWORK, 0, 22, |_| 8);
    link.tti(NETWORK, 1, 22, |_| 0);
    link.arrive(11);
    assert_eq!(link.ends[UE].deadline(), ms(55));
    link.arrive(12);
    link.tti(UE, 12, 100, |_| 0);
    assert_eq!(link.log.last().unwrap(), "12 status 2");
    assert_eq!(link.ends[UE].deadline(), airpath_core::time::Instant::NEVER);
}

/// PDUs missing above VR(X) when t-Reordering expires start it again.
#[test]
fn t_reordering_starts_anew_for_a_later_gap() {
    let mut link = am(&Config { t_reordering: Duration::from_millis(20), ..config() });
    link.take(NETWORK, 0, &[20; 5]);
    for now in 0..5 {
        link.tti(NETWORK, now, 22, |tti| {
            tti.lose(|| now == 1 || now == 3);
            0
        });
    }
    // PDU 2 starts it at 6 ms; PDU 4 comes at 8 ms.
    link.run(5, 26, 0, |_, _| false);
    link.tti(UE, 26, 100, |_| 0);
    assert_eq!(link.log.last().unwrap(), "26 status 3 1");
    assert_eq!(link.ends[UE].deadline(), ms(46));
    link.tti(UE, 46, 100, |_| 0);
    assert_eq!(link.log.last().unwrap(), "46 status 5 1 3");
}

/// t-StatusProhibit 25 ms: polls in that time are answered by one STATUS PDU at its end.
#[test]
fn t_status_prohibit_holds_reports_back() {
    let mut link = am(&Config { t_status_prohibit: Duration::from_millis(25), ..config() });
    for now in [0, 5, 10] {
        link.take(NETWORK, now, &[20]);
        link.run(now, now + 5, 100, |_, _| false);
    }
    link.run(15, 60, 100, |_, _| false);
    let reports: Vec<_> = link.log.iter().filter(|line| line.contains("status")).collect();
    assert_eq!(reports, ["4 status 1", "29 status 3"]);
    assert_eq!(link.counts(UE)["status_pdus"], 2);
}

/// Each missing PDU takes 12 bits in addition to 15 of the header. PDUs without room are not acknowledged either:
/// ACK_SN is the first missing PDU that is not named.
#[test]
fn a_status_pdu_is_cut_to_its_room() {
    let status = |room| {
        let mut link = am(&Config { t_reordering: Duration::from_millis(20), ..config() });
        link.take(NETWORK, 0, &[20; 9]);
        for now in 0..9 {
            link.tti(NETWORK, now, 22, |tti| {
                tti.lose(|| [1, 3, 4, 7].contains(&now));
                0
            });
        }
        link.run(9, 60, 0, |_, _| false);
        link.tti(UE, 60, room, |_| 0);
        link.log.last().unwrap().clone()
    };
    // 63 bits.
    assert_eq!(status(8), "60 status 9 1 3 4 7");
    assert_eq!(status(7), "60 status 7 1 3 4");
    assert_eq!(status(6), "60 status 4 1 3");
    assert_eq!(status(4), "60 status 3 1");
    assert_eq!(status(2), "60 status 1");
    assert!(!status(1).contains("status"));
}

/// PDUs that a truncated STATUS PDU does not name are neither retransmitted nor considered received.
#[test]
fn what_a_cut_status_pdu_leaves_out_follows_later() {
    let mut link = am(&Config { t_reordering: Duration::from_millis(20), ..config() });
    link.take(NETWORK, 0, &[20; 9]);
    for now in 0..9 {
        link.tti(NETWORK, now, 22, |tti| {
            tti.lose(|| [1, 3, 4, 7].contains(&now));
            0
        });
    }
    for now in 9..400 {
        link.tti(UE, now, 4, |_| 0);
        link.tti(NETWORK, now, 22, |_| 0);
    }
    assert_eq!(link.up[NETWORK], (0..9).collect::<Vec<_>>());
    assert_eq!(link.done[NETWORK].len(), 9);
    let again: Vec<_> = link.log.iter().filter(|line| line.contains("tx")).skip(9).collect();
    assert_eq!(again[0], "30 tx 1[20-40]p");
    assert_eq!(link.counts(NETWORK)["radio_link_failures"], 0);
}

/// A STATUS PDU that HARQ has overtaken tells nothing new.
#[test]
fn an_old_status_pdu_changes_nothing() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[20]);
    link.tti(NETWORK, 0, 22, |_| 0);
    link.tti(UE, 4, 100, |_| 10);
    link.take(NETWORK, 5, &[20]);
    link.tti(NETWORK, 5, 22, |_| 0);
    link.tti(UE, 9, 100, |_| 0);
    link.run(10, 30, 100, |_, _| false);
    assert_eq!(
        link.log[2..],
        ["4 status 1", "5 tx 1[20-40]p", "9 up 1", "9 status 2", "13 done 0", "13 done 1"]
    );
}
