//! Segmentation, reassembly and delivery in acknowledged mode.

use super::link::{Link, NETWORK, UE, am};
use airpath_core::rlc::am_nr::Config;
use airpath_core::time::Duration;

/// Every SDU polls, as none follows; the other end answers at once.
pub fn config() -> Config {
    Config { t_status_prohibit: Duration::ZERO, ..Config::default() }
}

/// The log for SDUs that arrive at 0 when the network's TTIs have these rooms, one per ms, and the UE's are unlimited.
pub fn with_rooms(config: &Config, sdus: &[u32], rooms: &[u64]) -> Link {
    let mut link = am(config);
    link.take(NETWORK, 0, sdus);
    for (now, &room) in rooms.iter().chain([0; 12].iter()).enumerate() {
        link.tti(UE, now as u64, 1000, |_| 0);
        link.tti(NETWORK, now as u64, room, |_| 0);
    }
    link
}

/// Acceptance test 19: 1500 octets cost three octets each of PDCP, RLC and MAC, and two less with 12 bits in RLC and PDCP.
#[test]
fn an_sdu_that_fits_goes_in_one_pdu() {
    let log = with_rooms(&config(), &[1500], &[1509]).log;
    assert_eq!(log, ["0 tx 0p", "4 up 0", "4 status 1", "8 done 0"]);
    let cut = with_rooms(&config(), &[1500], &[1508, 500]).log;
    assert_eq!(cut[..2], ["0 tx 0[0-1502]", "1 tx 0[1502-1503.]p"]);
    let short = Config { sn: 12, ..config() };
    assert_eq!(with_rooms(&short, &[1500], &[1508]).log[0], "0 tx 0p");
}

/// Acceptance test 19: the first segment has a header of 3 octets, the last of 5.
#[test]
fn an_sdu_is_segmented_where_the_room_ends() {
    // 103 octets with PDCP's header: 62 less 2 and 3; 50 less 2, 3 and 2.
    let log = with_rooms(&config(), &[100], &[62, 53]).log;
    assert_eq!(log, ["0 tx 0[0-57]", "1 tx 0[57-103.]p", "5 up 0", "5 status 1", "9 done 0"]);
    let three = with_rooms(&config(), &[100], &[45, 47, 500]).log;
    assert_eq!(three[..4], ["0 tx 0[0-40]", "1 tx 0[40-80]", "2 tx 0[80-103.]p", "6 up 0"]);
    // 12 bits: one octet less.
    let short = with_rooms(&Config { sn: 12, ..config() }, &[100], &[62, 51]).log;
    assert_eq!(short[..2], ["0 tx 0[0-58]", "1 tx 0[58-103.]p"]);
}

/// No concatenation: each SDU has its PDU, and MAC joins them.
#[test]
fn each_sdu_has_a_pdu_of_its_own() {
    // 18, 28 and 38 octets of MAC PDU.
    let log = with_rooms(&config(), &[10, 20, 30], &[84]).log;
    assert_eq!(log[..4], ["0 tx 0 1 2p", "4 up 0", "4 up 1", "4 up 2"]);
    let short = with_rooms(&config(), &[10, 20, 30], &[83, 8]).log;
    assert_eq!(short[..5], ["0 tx 0 1 2[0-32]", "1 tx 2[32-33.]p", "4 up 0", "4 up 1", "5 up 2"]);
}

#[test]
fn without_room_nothing_is_sent() {
    let log = with_rooms(&config(), &[5], &[0, 4, 5, 6, 7, 13, 13]).log;
    assert_eq!(log[..3], ["3 tx 0[0-1]", "5 tx 0[1-7]", "6 tx 0[7-8.]p"]);
}

/// SDUs are delivered to PDCP as soon as they are complete; PDCP holds SDUs above a gap.
#[test]
fn pdcp_orders_what_rlc_hands_up_in_any_order() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[10, 10, 10]);
    // HARQ repeats the first TTI.
    link.tti(NETWORK, 0, 18, |_| 8);
    link.tti(NETWORK, 1, 36, |_| 0);
    link.run(2, 30, 1000, |_, _| false);
    let up: Vec<_> = link.log.iter().filter(|line| line.contains("up")).collect();
    assert_eq!(up, ["12 up 0", "12 up 1", "12 up 2"]);
    assert_eq!(link.received(UE)["most_held_sdus"], 3);
}

/// Acceptance test 21, in PDCP's part: out-of-order delivery hands up the others at once.
#[test]
fn out_of_order_delivery_hands_up_what_is_whole() {
    let pdcp = airpath_core::pdcp::Config { out_of_order: true, ..Default::default() };
    let mut link = Link::new(&airpath_core::rlc::Config::AmNr(config()), &pdcp);
    link.take(NETWORK, 0, &[10, 10, 10]);
    link.tti(NETWORK, 0, 18, |_| 8);
    link.tti(NETWORK, 1, 36, |_| 0);
    link.run(2, 30, 1000, |_, _| false);
    let up: Vec<_> = link.log.iter().filter(|line| line.contains("up")).collect();
    assert_eq!(up, ["5 up 1", "5 up 2", "12 up 0"]);
}

/// Acceptance test 23: with 12 bits 2048 SDUs a round trip of RLC, here 8 ms, and a poll on the last one.
#[test]
fn the_window_is_half_of_the_numbers() {
    let short = Config { sn: 12, poll_pdu: None, poll_byte: None, ..config() };
    let mut link = am(&short);
    link.take(NETWORK, 0, &[10; 5000]);
    let sent: Vec<usize> = (0..20)
        .map(|now| {
            link.tti(UE, now, 1000, |_| 0);
            link.tti(NETWORK, now, 1 << 20, |_| 0).nr.data.len()
        })
        .collect();
    let expected: Vec<usize> = (0..20)
        .map(|now| match now {
            0 | 8 => 2048,
            16 => 904,
            _ => 0,
        })
        .collect();
    assert_eq!(sent, expected);
    assert_eq!(link.counts(NETWORK)["polls"], 3);
}

#[test]
fn an_sdu_taken_out_of_the_buffer_leaves_no_gap() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[10, 10, 10]);
    assert_eq!(link.ends[NETWORK].take_waiting(1), Some(1));
    link.run(0, 20, 1000, |_, _| false);
    assert_eq!(link.up[NETWORK], [0, 2]);
    assert_eq!(link.received(UE)["reordering_timeouts"], 0);
}

#[test]
fn discard_timer_takes_what_has_not_begun() {
    let pdcp =
        airpath_core::pdcp::Config { discard_timer: Some(Duration::from_millis(10)), ..Default::default() };
    let mut link = Link::new(&airpath_core::rlc::Config::AmNr(config()), &pdcp);
    link.take(NETWORK, 0, &[100, 100]);
    link.tti(NETWORK, 0, 50, |_| 0);
    link.run(10, 30, 1000, |_, _| false);
    assert_eq!((&link.up[NETWORK][..], link.counts(NETWORK)["discarded_sdus"]), (&[0][..], 1));
    assert_eq!(link.gone[NETWORK].iter().copied().collect::<Vec<_>>(), [1]);
}
