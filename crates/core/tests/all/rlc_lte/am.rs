//! Segmentation, concatenation, reassembly and delivery in acknowledged mode.

use super::link::{Link, NETWORK, UE, am};
use airpath_core::rlc::am_lte::Config;
use airpath_core::time::Duration;

/// Every SDU polls, as none follows; the other end answers at once.
pub fn config() -> Config {
    Config { t_status_prohibit: Duration::ZERO, ..Config::default() }
}

/// The log for SDUs that arrive at 0 when the network's TTIs have these rooms, one per ms, and the UE's are unlimited.
pub fn with_rooms(sdus: &[u32], rooms: &[u64]) -> Link {
    let mut link = am(&config());
    link.take(NETWORK, 0, sdus);
    for (now, &room) in rooms.iter().chain([0; 12].iter()).enumerate() {
        link.tti(UE, now as u64, 1000, |_| 0);
        link.tti(NETWORK, now as u64, room, |_| 0);
    }
    link
}

#[test]
fn an_sdu_that_fits_goes_in_one_pdu() {
    let log = with_rooms(&[100], &[102]).log;
    assert_eq!(log, ["0 tx 0[0-100]p", "4 up 0", "4 status 1", "8 done 0"]);
}

/// One SDU in two and in three PDUs.
#[test]
fn an_sdu_is_cut_where_the_room_ends() {
    let log = with_rooms(&[100], &[62, 42]).log;
    assert_eq!(log, ["0 tx 0[0-60]", "1 tx 1[60-100]p", "5 up 0", "5 status 2", "9 done 0"],);
    let three = with_rooms(&[100], &[42, 42, 500]).log;
    assert_eq!(three[..4], ["0 tx 0[0-40]", "1 tx 1[40-80]", "2 tx 2[80-100]p", "6 up 0"]);
}

/// Three SDUs need two length indicators, of three octets.
#[test]
fn sdus_share_a_pdu() {
    let log = with_rooms(&[10, 20, 30], &[65]).log;
    assert_eq!(log[..4], ["0 tx 0[0-60]p", "4 up 0", "4 up 1", "4 up 2"]);
    let short = with_rooms(&[10, 20, 30], &[64, 3]).log;
    assert_eq!(short[..5], ["0 tx 0[0-59]", "1 tx 1[59-60]p", "4 up 0", "4 up 1", "5 up 2"]);
}

/// The PDU with the end of one SDU, all of the next and the start of a third.
#[test]
fn a_pdu_has_the_end_of_an_sdu_a_whole_one_and_the_start_of_another() {
    let log = with_rooms(&[30, 30, 30], &[22, 55, 50]).log;
    assert_eq!(log[..6], ["0 tx 0[0-20]", "1 tx 1[20-70]", "2 tx 2[70-90]p", "5 up 0", "5 up 1", "6 up 2"],);
}

#[test]
fn without_room_nothing_is_sent() {
    let log = with_rooms(&[5], &[0, 1, 2, 3, 6]).log;
    assert_eq!(log[..2], ["3 tx 0[0-1]", "4 tx 1[1-5]p"]);
}

/// A transport block that HARQ repeats comes 8 ms later. Nothing is reported missing in that time.
#[test]
fn pdus_that_come_out_of_order_are_put_in_order() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[20, 20, 20]);
    for now in 0..40 {
        link.tti(UE, now, 1000, |_| 0);
        link.tti(NETWORK, now, 22, |_| if now == 0 { 8 } else { 0 });
    }
    assert_eq!(
        link.log,
        [
            "0 tx 0[0-20]",
            "1 tx 1[20-40]",
            "2 tx 2[40-60]p",
            "12 up 0",
            "12 up 1",
            "12 up 2",
            "12 status 3",
            "16 done 0",
            "16 done 1",
            "16 done 2",
        ],
    );
}

#[test]
fn a_pdu_that_comes_twice_is_handed_up_once() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[20, 20]);
    let first = link.tti(NETWORK, 0, 22, |_| 0);
    // Again while the second one is missing, and when all is there.
    link.air[NETWORK].insert((5, 100), first.clone());
    link.tti(NETWORK, 1, 22, |_| 5);
    link.air[NETWORK].insert((11, 101), first);
    link.run(2, 30, 100, |_, _| false);
    assert_eq!(link.log[2..], ["4 up 0", "10 up 1", "10 status 2", "14 done 0", "14 done 1"]);
}

/// The window is 512 PDUs: then the last one polls, and nothing new is sent before it moves.
#[test]
fn the_window_stops_the_sender_and_its_last_pdu_polls() {
    let mut link = am(&Config { poll_pdu: None, poll_byte: None, ..config() });
    link.take(NETWORK, 0, &[6000]);
    for now in 0..512 {
        let tti = link.tti(NETWORK, now, 12, |_| 0);
        assert_eq!((tti.lte.data.len(), tti.lte.data[0].poll), (1, now == 511), "{now}");
    }
    assert!(link.tti(NETWORK, 512, 12, |_| 0).is_empty());
    assert_eq!(link.ends[NETWORK].backlog(super::link::ms(512)), 0);
    // All arrived by 515; the answer takes 4 ms.
    link.tti(UE, 515, 100, |_| 0);
    assert!(link.tti(NETWORK, 518, 12, |_| 0).is_empty());
    assert_eq!(link.tti(NETWORK, 519, 12, |_| 0).lte.data[0].sn, 512);
}

#[test]
fn so_many_pdus_or_octets_poll() {
    let polls = |poll_pdu, poll_byte: Option<u64>| {
        let poll_byte = poll_byte.map(airpath_core::units::Bytes::from_bytes);
        let mut link = am(&Config { poll_pdu, poll_byte, ..config() });
        link.take(NETWORK, 0, &[1000]);
        (0..9).filter(|&now| link.tti(NETWORK, now, 12, |_| 0).lte.data[0].poll).collect::<Vec<u64>>()
    };
    assert_eq!(polls(Some(3), None), [2, 5, 8]);
    assert_eq!(polls(None, Some(40)), [3, 7]);
    assert_eq!(polls(None, Some(41)), [4]);
    assert_eq!(polls(Some(1), None).len(), 9);
    assert_eq!(polls(None, None), [] as [u64; 0]);
}

#[test]
fn an_sdu_taken_out_of_the_buffer_is_never_sent() {
    let mut link = am(&config());
    link.take(NETWORK, 0, &[20, 20, 20, 20]);
    link.tti(NETWORK, 0, 12, |_| 0);
    assert_eq!([0, 1].map(|place| link.ends[NETWORK].take_waiting(place)), [Some(1), Some(3)]);
    link.run(1, 20, 100, |_, _| false);
    assert_eq!(link.log[1..], ["1 tx 1[10-40]p", "5 up 0", "5 up 2", "5 status 2", "9 done 0", "9 done 2"]);
}

/// discardTimer of PDCP: 10 ms here. A partly sent SDU stays.
#[test]
fn an_sdu_that_was_not_begun_in_time_is_discarded() {
    let mut link = am(&Config { discard_timer: Some(Duration::from_millis(10)), ..config() });
    link.take(NETWORK, 0, &[20, 20]);
    link.tti(NETWORK, 0, 12, |_| 0);
    link.take(NETWORK, 5, &[30]);
    link.tti(NETWORK, 9, 5, |_| 0);
    link.run(10, 30, 100, |_, _| false);
    assert_eq!(
        link.log,
        [
            "0 tx 0[0-10]",
            "9 tx 1[10-13]",
            "10 tx 2[13-50]p",
            "10 unsent 1",
            "14 up 0",
            "14 up 2",
            "14 status 3",
            "18 done 0",
            "18 done 2"
        ],
    );
    assert_eq!(link.counts(NETWORK)["discarded_sdus"], 1);
}
