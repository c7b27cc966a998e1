//! Unacknowledged mode.

use super::bearer::{PDUS, ms, timeline, um};
use airpath_core::rlc::um;
use airpath_core::time::Duration;
use airpath_core::units::Bytes;

/// 1000 octets: 39 next to the indicator of their start, 24 PDUs of 40, and one octet with the indicator of the end.
#[test]
fn an_sdu_is_sent_once() {
    let seen = timeline(um(&um::Config::default()), &[(0, 1000)], &[]);
    assert_eq!(seen, ["0 tx 0-11", "10 tx 12-23", "20 tx 24-25", "20 sent 0", "45 up 0"]);
}

#[test]
fn what_is_lost_is_not_retransmitted() {
    // The second SDU fills PDU 25, and PDU 26 says so.
    let sdus = [(0, 1000), (0, 38)];
    let all = ["0 tx 0-11", "10 tx 12-23", "20 tx 24-26", "20 sent 0", "20 sent 1"];
    for (lost, outcomes) in [
        (0, ["45 up 1", "45 lost 0"]),
        (10, ["45 up 1", "45 lost 0"]),
        (20, ["45 lost 0", "45 lost 1"]),
        (30, ["45 up 0", "45 up 1"]),
    ] {
        assert_eq!(timeline(um(&um::Config::default()), &sdus, &[lost]), [&all[..], &outcomes].concat());
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
    let outcomes = |config: &um::Config| {
        let seen = timeline(um(config), &sdus, &[0]);
        seen.into_iter().filter(|line| line.contains("up") || line.contains("lost")).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(&told), ["25 lost 0", "35 up 1", "45 up 2"]);
    assert_eq!(outcomes(&untold), ["25 lost 0", "35 lost 1", "45 up 2"]);
}

/// If the second SDU starts after the end of the first, that end indicates its start.
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
    assert_eq!(bearer.tx.take_waiting(0), Some(1));
    for now in [10, 20, 100] {
        bearer.tti(now, PDUS, |_| false);
    }
    assert_eq!((bearer.tx.take_waiting(0), bearer.up, bearer.lost), (None, vec![0, 2], vec![1]));
}

fn discarding(after: u64) -> um::Config {
    um::Config { timer_discard: Some(Duration::from_millis(after)), ..um::Config::default() }
}

/// §11.2.4.3. At 20 the first SDU expires after 24 of its PDUs were sent. The next PDU leaves a gap, so that its
/// received part is not mistaken for the start of the second.
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
    let later = timeline(um(&config), &[(0, 479), (1, 30), (2, 30)], &[]);
    assert_eq!(later[2..5], ["10 gone 1", "10 tx 12", "10 sent 2"]);
}

#[test]
fn a_gap_waits_for_data_behind_it() {
    let seen = timeline(um(&discarding(10)), &[(0, 1000), (45, 38)], &[]);
    assert_eq!(seen, ["0 tx 0-11", "10 gone 0", "50 tx 13", "50 sent 1", "75 up 1", "75 lost 0"]);
}
