//! What a STATUS PDU has retransmitted (TS 38.322 §5.3.2), and when that ends.

use super::am::config;
use super::link::{Link, NETWORK, UE, am};
use airpath_core::rlc::am_nr::Config;
use airpath_core::time::Duration;

fn quiet() -> Config {
    Config { poll_pdu: None, poll_byte: None, t_reassembly: Duration::from_millis(10), ..config() }
}

fn tx(link: &Link) -> Vec<&String> {
    link.log.iter().filter(|line| line.contains("tx")).collect()
}

/// An SDU of 100 octets is lost; the TTIs for its retransmission have these rooms.
fn again(rooms: &[u64]) -> Link {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[97, 10]);
    link.tti(NETWORK, 0, 105, |tti| tti.lose(|| true));
    link.tti(NETWORK, 1, 18, |_| 0);
    for now in 2..19 {
        link.tti(UE, now, 1000, |_| 0);
    }
    for (now, &room) in (19..).zip(rooms.iter().chain(&[0; 20])) {
        link.tti(UE, now, 1000, |_| 0);
        link.tti(NETWORK, now, room, |_| 0);
    }
    assert_eq!(link.up[NETWORK], [0, 1]);
    link
}

#[test]
fn a_missing_sdu_is_retransmitted_whole_or_in_new_segments() {
    assert_eq!(tx(&again(&[105]))[2..], ["19 tx 0rp"]);
    // 5 of header and subheader, and two more after the first segment.
    assert_eq!(tx(&again(&[104, 50]))[2..], ["19 tx 0[0-99]r", "20 tx 0[99-100.]rp"]);
    assert_eq!(tx(&again(&[35, 47, 37]))[2..], ["19 tx 0[0-30]r", "20 tx 0[30-70]r", "21 tx 0[70-100.]rp"]);
    assert_eq!(again(&[35, 47, 37]).counts(NETWORK)["segments"], 3);
}

/// An SDU in three segments: the middle one is lost, and only that is retransmitted.
#[test]
fn a_missing_segment_is_retransmitted_alone_and_segmented_again() {
    let run = |rooms: [u64; 2]| {
        let mut link = am(&quiet());
        link.take(NETWORK, 0, &[97]);
        link.tti(NETWORK, 0, 45, |_| 0);
        link.tti(NETWORK, 1, 47, |tti| tti.lose(|| true));
        link.tti(NETWORK, 2, 27, |_| 0);
        for now in 3..20 {
            link.tti(UE, now, 1000, |_| 0);
        }
        for (now, room) in (20..).zip(rooms.into_iter().chain([0; 8])) {
            link.tti(NETWORK, now, room, |_| 0);
        }
        assert_eq!(link.up[NETWORK], [0]);
        link.log
    };
    let log = run([47, 0]);
    assert_eq!(
        log[..5],
        ["0 tx 0[0-40]", "1 tx 0[40-80]", "2 tx 0[80-100.]p", "16 status 1 0[40-80]", "20 tx 0[40-80]rp"]
    );
    assert_eq!(run([27, 27])[4..6], ["20 tx 0[40-60]r", "21 tx 0[60-80]rp"]);
}

/// Retransmissions go before new SDUs.
#[test]
fn retransmissions_go_first() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[10; 6]);
    link.tti(NETWORK, 0, 36, |tti| tti.lose(|| true));
    link.tti(NETWORK, 1, 18, |_| 0);
    for now in 2..19 {
        link.tti(UE, now, 1000, |_| 0);
    }
    link.tti(NETWORK, 19, 1000, |_| 0);
    assert_eq!(tx(&link)[2..], ["19 tx 0r 1r 3 4 5p"]);
}

/// A STATUS PDU confirms SDUs beyond a gap at once, and RLC sends them no more.
#[test]
fn an_sdu_acknowledged_beyond_a_gap_is_confirmed() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[10; 3]);
    link.tti(NETWORK, 0, 18, |tti| tti.lose(|| true));
    link.tti(NETWORK, 1, 36, |_| 0);
    link.run(2, 25, 1000, |_, _| false);
    let done: Vec<_> = link.log.iter().filter(|line| line.contains("done")).collect();
    assert_eq!(done, ["19 done 1", "19 done 2"]);
    link.run(25, 40, 1000, |_, _| false);
    assert_eq!(link.done[NETWORK].len(), 3);
}

/// RETX_COUNT is 0 when an SDU is considered for the first time, and 2 is reached by the third: it is retransmitted
/// twice. Then RLC is re-established, preceded by a status report of PDCP.
#[test]
fn max_retx_threshold_is_a_radio_link_failure() {
    let mut link =
        am(&Config { max_retx_threshold: 2, t_poll_retransmit: Duration::from_millis(20), ..quiet() });
    link.take(NETWORK, 0, &[10]);
    link.run(0, 70, 1000, |end, now| end == NETWORK && now < 60);
    assert_eq!(tx(&link), ["0 tx 0p", "20 tx 0rp", "40 tx 0rp", "60 tx 0s 1p"]);
    assert_eq!((link.counts(NETWORK)["radio_link_failures"], link.counts(UE)["re_establishments"]), (1, 1));
    assert_eq!(link.up[NETWORK], [0]);
}

/// Two parts of an SDU that one STATUS PDU names count once.
#[test]
fn parts_named_by_one_report_count_once() {
    let mut link = am(&Config { max_retx_threshold: 1, ..quiet() });
    link.take(NETWORK, 0, &[97, 10]);
    // Segments 1 and 3 of four are lost.
    for (now, lost) in [true, false, true, false].into_iter().enumerate() {
        let room = if now == 0 { 30 } else { 32 };
        link.tti(NETWORK, now as u64, room, |tti| {
            tti.lose(|| lost);
            0
        });
    }
    link.run(4, 60, 1000, |_, _| false);
    assert_eq!(status(&link)[0], "15 status 2 0[0-25] 0[50-75]");
    assert_eq!((link.counts(NETWORK)["radio_link_failures"], &link.up[NETWORK][..]), (0, &[0, 1][..]));
}

fn status(link: &Link) -> Vec<&String> {
    link.log.iter().filter(|line| line.contains("status")).collect()
}

/// STATUS PDUs that overtake each other: what the newer one has confirmed stays confirmed.
#[test]
fn a_stale_report_changes_nothing() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[10; 2]);
    link.tti(NETWORK, 0, 18, |tti| tti.lose(|| true));
    link.tti(NETWORK, 1, 18, |_| 0);
    // The report of 15 is delayed by HARQ to 39; SDU 0 is repeated by t-PollRetransmit's end.
    for now in 2..16 {
        link.tti(UE, now, 1000, |_| 20);
    }
    link.take(NETWORK, 16, &[10]);
    link.run(16, 60, 1000, |_, _| false);
    assert_eq!(link.up[NETWORK], [0, 1, 2]);
    assert_eq!(link.done[NETWORK].len(), 3);
}
