//! Missing PDUs are retransmitted, whole or in segments; the link fails after too many retransmissions.

use super::am::config;
use super::link::{Link, NETWORK, UE, am, ms};
use airpath_core::rlc::am_lte::Config;
use airpath_core::time::Duration;

/// Three PDUs of an SDU each, the one in the middle lost.
fn second_is_lost(config: &Config, rest: &[u64]) -> Link {
    let mut link = am(config);
    link.take(NETWORK, 0, &[20, 20, 20]);
    for (now, &room) in [22, 22, 22].iter().chain(rest).enumerate() {
        link.tti(UE, now as u64, 100, |_| 0);
        link.tti(NETWORK, now as u64, room, |tti| {
            tti.lose(|| now == 1);
            0
        });
    }
    link
}

/// t-Reordering is 20 ms here, started by the PDU after the gap.
#[test]
fn a_missing_pdu_is_reported_after_t_reordering_and_retransmitted() {
    let config = Config { t_reordering: Duration::from_millis(20), ..config() };
    let log = second_is_lost(&config, &[22; 40]).log;
    assert_eq!(
        log,
        [
            "0 tx 0[0-20]",
            "1 tx 1[20-40]",
            "2 tx 2[40-60]p",
            "4 up 0",
            "26 status 3 1",
            "30 done 0",
            "30 tx 1[20-40]p",
            "34 up 1",
            "34 up 2",
            "34 status 3",
            "38 done 1",
            "38 done 2",
        ],
    );
}

/// A PDU of 20 octets in TTIs with room for 10, each with 4 of header.
#[test]
fn a_pdu_that_does_not_fit_goes_in_segments() {
    let config = Config { t_reordering: Duration::from_millis(20), ..config() };
    let mut rooms = vec![22; 27];
    rooms.extend([10; 30]);
    let link = second_is_lost(&config, &rooms);
    assert_eq!(
        link.log[5..],
        [
            "30 done 0",
            "30 tx 1@0[20-26]",
            "31 tx 1@6[26-32]",
            "32 tx 1@12[32-38]",
            "33 tx 1@18.[38-40]p",
            "37 up 1",
            "37 up 2",
            "37 status 3",
            "41 done 1",
            "41 done 2",
        ],
    );
    assert_eq!(link.counts(NETWORK)["segments"], 4);
}

/// The second of four segments is lost: only that is retransmitted, and segmented again.
#[test]
fn a_missing_segment_is_reported_by_its_octets_and_cut_again() {
    let mut link = am(&Config { t_reordering: Duration::from_millis(20), ..config() });
    link.take(NETWORK, 0, &[20, 20, 20]);
    for now in 0..100 {
        link.tti(UE, now, 100, |_| 0);
        let room = match now {
            0..3 => 22,
            3..60 => 10,
            _ => 8,
        };
        link.tti(NETWORK, now, room, |tti| {
            tti.lose(|| now == 1 || now == 31);
            0
        });
    }
    assert_eq!(
        link.log[4..],
        [
            "26 status 3 1",
            "30 done 0",
            "30 tx 1@0[20-26]",
            "31 tx 1@6[26-32]",
            "32 tx 1@12[32-38]",
            "33 tx 1@18.[38-40]p",
            "37 status 3 1[6-12]",
            "41 tx 1@6[26-32]p",
            "45 up 1",
            "45 up 2",
            "45 status 3",
            "49 done 1",
            "49 done 2",
        ],
    );
    // As before, with less room for the retransmission.
    let mut less = am(&Config { t_reordering: Duration::from_millis(20), ..config() });
    less.take(NETWORK, 0, &[20, 20, 20]);
    for now in 0..100 {
        less.tti(UE, now, 100, |_| 0);
        let room = match now {
            0..3 => 22,
            3..41 => 10,
            _ => 8,
        };
        less.tti(NETWORK, now, room, |tti| {
            tti.lose(|| now == 1 || now == 31);
            0
        });
    }
    assert_eq!(less.log[11..14], ["41 tx 1@6[26-30]", "42 tx 1@10[30-32]p", "46 up 1"]);
}

/// The last segment is missing: the receiver does not know where the PDU ends.
#[test]
fn a_missing_end_is_reported_up_to_the_end_of_the_pdu() {
    let mut link = am(&Config { t_reordering: Duration::from_millis(20), ..config() });
    link.take(NETWORK, 0, &[20, 20, 20]);
    for now in 0..200 {
        link.tti(UE, now, 100, |_| 0);
        link.tti(NETWORK, now, if now < 3 { 22 } else { 10 }, |tti| {
            tti.lose(|| now == 1 || now == 33);
            0
        });
    }
    // The first segment came at 34 ms and started t-Reordering.
    assert_eq!(link.log[9..12], ["33 tx 1@18.[38-40]p", "54 status 3 1[18-]", "58 tx 1@18.[38-40]p"]);
    assert_eq!(link.up[NETWORK], [0, 1, 2]);
}

/// No PDU follows the lost one: t-PollRetransmit triggers its retransmission.
#[test]
fn the_last_pdu_is_retransmitted_when_its_poll_is_not_answered() {
    let mut link = am(&Config { t_poll_retransmit: Duration::from_millis(45), ..config() });
    link.take(NETWORK, 0, &[20, 20]);
    assert_eq!(link.ends[NETWORK].deadline(), ms(0));
    link.run(0, 100, 22, |end, now| end == NETWORK && now == 1);
    assert_eq!(
        link.log,
        [
            "0 tx 0[0-20]",
            "1 tx 1[20-40]p",
            "4 up 0",
            "46 tx 1[20-40]p",
            "50 up 1",
            "50 status 2",
            "54 done 0",
            "54 done 1"
        ],
    );
}

/// While there is more to send, the next new PDU polls.
#[test]
fn t_poll_retransmit_has_the_next_pdu_poll() {
    let config = Config {
        poll_pdu: Some(4),
        t_poll_retransmit: Duration::from_millis(6),
        t_reordering: Duration::from_millis(100),
        ..config()
    };
    let mut link = am(&config);
    link.take(NETWORK, 0, &[1000]);
    let mut polls = Vec::new();
    for now in 0..14 {
        let tti = link.tti(NETWORK, now, 12, |tti| {
            tti.lose(|| true);
            0
        });
        polls.extend(tti.lte.data.iter().filter(|pdu| pdu.poll).map(|pdu| (now, pdu.sn)));
    }
    // Each poll restarts the timer: it never expires while so many PDUs follow.
    assert_eq!(polls, [(3, 3), (7, 7), (11, 11)]);
    let mut later = am(&Config { poll_pdu: Some(100), poll_byte: None, ..config });
    later.take(NETWORK, 0, &[10]);
    later.tti(NETWORK, 0, 12, |tti| {
        tti.lose(|| true);
        0
    });
    later.take(NETWORK, 1, &[1000]);
    let mut polled = Vec::new();
    for now in 1..14 {
        let tti = later.tti(NETWORK, now, 12, |_| 0);
        polled.extend(tti.lte.data.iter().filter(|pdu| pdu.poll).map(|pdu| (now, pdu.sn)));
    }
    assert_eq!(polled, [(6, 6), (12, 12)]);
}

/// STATUS precedes retransmissions, and these precede new data.
#[test]
fn status_goes_first_then_what_is_missing_then_what_is_new() {
    let mut link = am(&Config { t_reordering: Duration::from_millis(10), ..config() });
    link.take(NETWORK, 0, &[20, 20]);
    link.take(UE, 0, &[20, 20]);
    for now in 0..2 {
        for end in [UE, NETWORK] {
            link.tti(end, now, 22, |tti| {
                tti.lose(|| now == 0);
                0
            });
        }
    }
    // Both report at 15 ms, after t-Reordering.
    assert!(link.tti(NETWORK, 14, 100, |_| 0).is_empty());
    assert!(link.tti(UE, 15, 100, |_| 0).lte.status.is_some());
    link.take(NETWORK, 18, &[30]);
    link.arrive(19);
    // 2 octets and 12 bits of STATUS, 22 of PDU 0, 10 of a new one.
    let tti = link.tti(NETWORK, 19, 4 + 22 + 12, |_| 0);
    let sns: Vec<_> = tti.lte.data.iter().map(|pdu| (pdu.sn, pdu.octets.len())).collect();
    assert_eq!((tti.lte.status.map(|status| status.ack_sn), sns), (Some(2), vec![(0, 20), (2, 10)]));
}

/// maxRetxThreshold 3: sent once and retransmitted three times; then the link fails and restarts with the SDU.
#[test]
fn a_pdu_that_is_missing_too_often_is_a_radio_link_failure() {
    let config = Config { max_retx_threshold: 3, t_poll_retransmit: Duration::from_millis(10), ..config() };
    let mut link = am(&config);
    link.take(NETWORK, 0, &[20]);
    link.take(UE, 0, &[50]);
    link.run(0, 60, 22, |end, now| end == NETWORK && now < 35);
    assert_eq!(
        link.log,
        [
            "0 tx 0[0-20]p",
            "10 tx 0[0-20]p",
            "20 tx 0[0-20]p",
            "30 tx 0[0-20]p",
            "40 tx 0[0-20]p",
            "44 up 0",
            "44 status 1",
            "48 done 0"
        ],
    );
    assert_eq!(link.counts(NETWORK)["radio_link_failures"], 1);
    assert_eq!([NETWORK, UE].map(|end| link.counts(end)["re_establishments"]), [1, 1]);
    assert_eq!(link.counts(UE)["radio_link_failures"], 0);
    // What the UE had sent before was not confirmed either: it goes again, and is handed up once.
    assert_eq!((&link.up[UE][..], link.done[UE].len()), (&[0][..], 1));
}

/// Hand-over: unconfirmed SDUs are retransmitted from their first octet, in order; none is delivered twice.
#[test]
fn a_hand_over_loses_nothing_and_repeats_what_is_not_confirmed() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[20, 20, 20, 20]);
    for now in 0..3 {
        link.tti(NETWORK, now, 22, |tti| {
            tti.lose(|| now == 1);
            0
        });
    }
    link.tti(NETWORK, 6, 12, |_| 0);
    link.arrive(10);
    link.re_establish(12);
    link.run(12, 40, 200, |_, _| false);
    assert_eq!(
        link.log[3..],
        [
            "4 up 0",
            "6 tx 3[60-70]",
            "12 tx 0[0-80]p",
            "16 up 1",
            "16 up 2",
            "16 up 3",
            "16 status 1",
            "20 done 0",
            "20 done 1",
            "20 done 2",
            "20 done 3"
        ],
    );
}

/// PDUs sent before reach an end that has been re-established, and change nothing.
#[test]
fn pdus_from_before_are_passed_over() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[20, 20]);
    let before = link.tti(NETWORK, 0, 12, |_| 0);
    link.re_establish(1);
    link.air[NETWORK].insert((3, 0), before);
    link.run(2, 20, 100, |_, _| false);
    assert_eq!(link.log[1..], ["2 tx 0[0-40]p", "6 up 0", "6 up 1", "6 status 1", "10 done 0", "10 done 1"]);
}
