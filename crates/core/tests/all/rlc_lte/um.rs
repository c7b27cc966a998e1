//! Unacknowledged mode: each PDU is sent once, put in order, and missed ones cost their SDUs.

use super::link::{Link, NETWORK, ms, um};
use airpath_core::rlc::um_lte::Config;
use airpath_core::time::{Duration, Instant};

fn config() -> Config {
    Config { t_reordering: Duration::from_millis(20), ..Config::default() }
}

/// What becomes of SDUs in TTIs with so much room, one each ms, those lost at these times.
fn with_losses(sdus: &[u32], room: u64, lost: &[u64]) -> Link {
    let mut link = um(&config());
    link.take(NETWORK, 0, sdus);
    link.run(0, 60, room, |_, now| lost.contains(&now));
    link
}

#[test]
fn sdus_are_cut_joined_and_put_together() {
    let link = with_losses(&[30, 30, 30], 47, &[]);
    assert_eq!(
        link.log,
        [
            "0 tx 0[0-43]",
            "0 done 0",
            "1 tx 1[43-86]",
            "1 done 1",
            "2 tx 2[86-90]",
            "2 done 2",
            "4 up 0",
            "5 up 1",
            "6 up 2"
        ],
    );
    assert_eq!(link.ends[NETWORK].deadline(), Instant::NEVER);
}

/// SDU 0 lies in PDU 0, SDU 1 in PDUs 0 and 1, SDU 2 in PDUs 1 and 2, SDU 3 in PDU 2.
#[test]
fn a_lost_pdu_costs_the_sdus_in_it() {
    let outcomes = |lost: &[u64]| {
        let link = with_losses(&[30, 30, 30, 10], 48, lost);
        let (up, gone) = (link.up[NETWORK].clone(), link.lost[NETWORK].iter().copied().collect::<Vec<_>>());
        (up, gone)
    };
    assert_eq!(outcomes(&[]), (vec![0, 1, 2, 3], vec![]));
    assert_eq!(outcomes(&[0]), (vec![2, 3], vec![0, 1]));
    assert_eq!(outcomes(&[1]), (vec![0, 3], vec![1, 2]));
    let small = |lost: &[u64]| {
        let link = with_losses(&[30, 30, 30], 22, lost);
        (link.up[NETWORK].clone(), link.lost[NETWORK].iter().copied().collect::<Vec<_>>())
    };
    assert_eq!(small(&[]), (vec![0, 1, 2], vec![]));
    assert_eq!(small(&[2]), (vec![0, 2], vec![1]));
    // Without the last PDU the receiver knows no end of SDU 2; the cell tells it that one is lost.
    assert_eq!(small(&[4]), (vec![0, 1], vec![2]));
}

#[test]
fn pdus_that_come_out_of_order_are_put_in_order() {
    let mut link = um(&config());
    link.take(NETWORK, 0, &[20, 20, 20]);
    for now in 0..40 {
        link.tti(NETWORK, now, 22, |_| if now == 0 { 8 } else { 0 });
    }
    let up: Vec<_> = link.log.iter().filter(|line| line.contains("up")).collect();
    assert_eq!(up, ["12 up 0", "12 up 1", "12 up 2"]);
}

/// A PDU that does not come is waited for until 20 ms after the next one.
#[test]
fn t_reordering_ends_the_wait() {
    let link = with_losses(&[20, 20, 20], 22, &[0]);
    let end: Vec<_> = link.log.iter().filter(|line| line.contains("up") || line.contains("lost")).collect();
    assert_eq!(end, ["4 lost 0", "25 up 1", "25 up 2"]);
}

/// The second gap is waited for from the end of the first wait.
#[test]
fn t_reordering_starts_anew_for_a_later_gap() {
    let link = with_losses(&[20; 5], 22, &[0, 3]);
    let up: Vec<_> = link.log.iter().filter(|line| line.contains("up")).collect();
    assert_eq!(up, ["25 up 1", "25 up 2", "45 up 4"]);
}

#[test]
fn t_reordering_stops_when_the_gap_closes() {
    let mut link = um(&config());
    link.take(NETWORK, 0, &[20, 20]);
    link.tti(NETWORK, 0, 22, |_| 8);
    link.tti(NETWORK, 1, 22, |_| 0);
    link.arrive(11);
    assert_eq!(link.ends[1].expiry(), ms(25));
    link.arrive(12);
    assert_eq!(link.ends[1].expiry(), Instant::NEVER);
}

/// With five bits the window is 16: the 17th PDU behind a gap ends the wait for it.
#[test]
fn the_window_moves_on_past_a_gap() {
    let up_at = |sn_field_length| {
        let mut link =
            um(&Config { sn_field_length, t_reordering: Duration::from_secs(1), ..Config::default() });
        link.take(NETWORK, 0, &[20; 40]);
        link.run(0, 60, 22, |_, now| now == 0);
        link.log.iter().find(|line| line.contains("up")).cloned()
    };
    assert_eq!(up_at(5).as_deref(), Some("20 up 1"));
    assert_eq!(up_at(10), None);
}

/// Five bits of sequence number take an octet less.
#[test]
fn a_short_sequence_number_spares_an_octet() {
    for (sn_field_length, octets) in [(5, 21), (10, 20)] {
        let mut link = um(&Config { sn_field_length, ..config() });
        link.take(NETWORK, 0, &[100]);
        assert_eq!(link.tti(NETWORK, 0, 22, |_| 0).lte.data[0].octets.len(), octets);
    }
}

#[test]
fn a_pdu_that_comes_twice_is_handed_up_once() {
    let mut link = um(&config());
    link.take(NETWORK, 0, &[20, 20, 20]);
    let first = link.tti(NETWORK, 0, 22, |_| 8);
    link.tti(NETWORK, 1, 22, |_| 0);
    let third = link.tti(NETWORK, 2, 22, |_| 0);
    link.air[NETWORK].insert((7, 100), third);
    link.air[NETWORK].insert((14, 101), first);
    link.arrive(30);
    assert_eq!(link.log[6..], ["12 up 0", "12 up 1", "12 up 2"]);
}

#[test]
fn an_sdu_that_was_not_begun_in_time_is_discarded() {
    let mut link = um(&Config { discard_timer: Some(Duration::from_millis(10)), ..config() });
    link.take(NETWORK, 0, &[20, 20]);
    link.tti(NETWORK, 0, 12, |_| 0);
    link.run(10, 30, 100, |_, _| false);
    assert_eq!(link.log, ["0 tx 0[0-10]", "10 tx 1[10-20]", "10 done 0", "10 unsent 1", "14 up 0"]);
}

/// Hand-over: partly sent SDUs are lost, waiting ones continue, and complete ones above a gap are delivered.
#[test]
fn a_hand_over_loses_what_is_under_way() {
    let mut link = um(&config());
    link.take(NETWORK, 0, &[20, 20, 20, 20, 20]);
    for now in 0..3 {
        link.tti(NETWORK, now, 22, |tti| {
            tti.lose(|| now == 1);
            0
        });
    }
    link.tti(NETWORK, 3, 12, |_| 0);
    link.arrive(10);
    link.re_establish(11);
    link.run(12, 40, 100, |_, _| false);
    assert_eq!(
        link.log[6..],
        [
            "3 tx 3[60-70]",
            "4 up 0",
            "5 lost 1",
            "11 discarded 3",
            "11 up 2",
            "12 tx 0[0-20]",
            "12 done 4",
            "16 up 4",
            "16 lost 3"
        ],
    );
}
