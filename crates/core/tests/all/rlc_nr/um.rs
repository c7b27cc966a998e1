//! Unacknowledged mode (TS 38.322 §5.2.2).

use super::link::{Link, NETWORK, UE, um};
use airpath_core::rlc::um_nr::Config;
use airpath_core::time::Duration;

fn config() -> Config {
    Config { t_reassembly: Duration::from_millis(10), ..Config::default() }
}

fn tx(link: &Link) -> Vec<&String> {
    link.log.iter().filter(|line| line.contains("tx")).collect()
}

/// What happens to SDUs when the network's TTIs have these rooms, one each ms, and these are lost.
fn with_rooms(config: &Config, sdus: &[u32], rooms: &[u64], lost: &[u64]) -> Link {
    let mut link = um(config);
    link.take(NETWORK, 0, sdus);
    for (now, &room) in (0..).zip(rooms) {
        link.tti(NETWORK, now, room, |tti| {
            tti.lose(|| lost.contains(&now));
            0
        });
    }
    link.arrive(1000);
    link
}

/// A whole SDU has a header of one octet and no sequence number.
#[test]
fn a_whole_sdu_has_no_sequence_number_and_goes_up_at_once() {
    let link = with_rooms(&config(), &[10, 10], &[2 * 16], &[]);
    assert_eq!(link.log, ["0 tx 0 0", "0 done 0", "0 done 1", "4 up 0", "4 up 1"]);
    assert_eq!(link.counts(NETWORK)["data_pdus"], 2);
}

/// 103 octets: the first segment has a header of two octets, or of one with 6 bits, the others two more.
#[test]
fn segments_of_an_sdu_share_a_sequence_number() {
    let link = with_rooms(&config(), &[100, 10], &[44, 46, 29, 16], &[]);
    assert_eq!(tx(&link), ["0 tx 0[0-40]", "1 tx 0[40-80]", "2 tx 0[80-103.]", "3 tx 1"]);
    assert_eq!(link.up[NETWORK], [0, 1]);
    let short = with_rooms(&Config { sn: 6, ..config() }, &[100], &[43, 45, 28], &[]);
    assert_eq!(tx(&short), ["0 tx 0[0-40]", "1 tx 0[40-80]", "2 tx 0[80-103.]"]);
    // The next one that is segmented has the next number.
    let two = with_rooms(&config(), &[100, 100], &[44, 74, 72], &[]);
    assert_eq!(tx(&two), ["0 tx 0[0-40]", "1 tx 0[40-103.] 1[0-1]", "2 tx 1[1-67]"]);
}

/// RLC does not notice that a whole SDU is lost: PDCP waits t-Reordering, 100 ms, for it.
#[test]
fn a_lost_whole_sdu_is_noticed_by_pdcp_only() {
    let link = with_rooms(&config(), &[10, 10, 10], &[16, 16, 16], &[0]);
    let rest: Vec<_> =
        link.log.iter().filter(|line| !line.contains("tx") && !line.contains("done")).collect();
    assert_eq!(rest, ["4 lost 0", "105 up 1", "105 up 2"]);
    assert_eq!(link.received(UE)["passed_over_sdus"], 1);
}

/// The first segment of SDU 0 is lost: t-Reassembly starts with the second one at 5, and ends at 15.
#[test]
fn t_reassembly_drops_what_is_not_whole() {
    let mut link = um(&config());
    link.take(NETWORK, 0, &[100, 10]);
    for (now, room) in (0..).zip([44, 46, 29, 16]) {
        link.tti(NETWORK, now, room, |tti| {
            tti.lose(|| now == 0);
            0
        });
    }
    link.arrive(5);
    assert_eq!(link.ends[UE].expiry(), super::link::ms(15));
    // PDCP misses SDU 0 from 7 on, when SDU 1 comes.
    link.arrive(15);
    assert_eq!(link.ends[UE].expiry(), super::link::ms(107));
    link.arrive(1000);
    assert_eq!((&link.up[NETWORK][..], link.lost[NETWORK].len()), (&[1][..], 1));
}

/// Segments delayed by HARQ are reassembled within t-Reassembly.
#[test]
fn segments_come_in_any_order() {
    let mut link = um(&config());
    link.take(NETWORK, 0, &[100]);
    for (now, room, later) in [(0, 44, 8), (1, 46, 0), (2, 29, 0)] {
        link.tti(NETWORK, now, room, |_| later);
    }
    link.arrive(1000);
    assert_eq!(link.log.last().unwrap(), "12 up 0");
}

/// 6 bits: the segment of SDU 32 pushes SDU 0 out of the reassembly window; its last segment comes too late.
#[test]
fn what_falls_out_of_the_reassembly_window_is_discarded() {
    let short = Config { sn: 6, t_reassembly: Duration::from_millis(500), ..config() };
    let received = |sdus: u64| {
        let pdcp = airpath_core::pdcp::Config { t_reordering: None, ..Default::default() };
        let mut link = Link::new(&airpath_core::rlc::Config::UmNr(short.clone()), &pdcp);
        link.take(NETWORK, 0, &vec![97; sdus as usize + 1]);
        // Each SDU of 100 octets in two halves: 3 and 5 octets of header and subheader.
        let mut halves = (0..=sdus).flat_map(|_| [53, 55]).enumerate();
        for (now, room) in halves.by_ref() {
            // The last segment of SDU 0 arrives after all others.
            let later = if now == 1 { 300 } else { 0 };
            link.tti(NETWORK, now as u64, room, |_| later);
        }
        link.arrive(2000);
        link.up[NETWORK].contains(&0)
    };
    assert_eq!([31, 32].map(received), [true, false]);
}

/// COUNT begins with 0 at both ends, and what was begun is discarded.
#[test]
fn a_hand_over_discards_what_was_begun_and_sends_the_rest() {
    let mut link = um(&config());
    link.take(NETWORK, 0, &[10, 10, 100, 10]);
    link.tti(NETWORK, 0, 16, |tti| {
        tti.lose(|| true);
        0
    });
    link.tti(NETWORK, 1, 16 + 44, |_| 0);
    link.arrive(5);
    link.re_establish(6);
    link.run(20, 40, 1000, |_, _| false);
    // PDCP held SDU 1 for SDU 0, and hands it up; of SDU 2 a segment was sent.
    let log: Vec<_> = link.log.iter().filter(|line| !line.contains("done")).collect();
    assert_eq!(
        log,
        ["0 tx 0", "1 tx 0 0[0-40]", "4 lost 0", "6 discarded 2", "6 up 1", "6 lost 2", "20 tx 0", "24 up 3"]
    );
}
