//! When STATUS PDUs are sent and what they name (TS 38.322 §5.2.3.2, §5.3.4), and polls (§5.3.3).

use super::am::config;
use super::link::{Link, NETWORK, UE, am};
use airpath_core::rlc::am_nr::Config;
use airpath_core::time::Duration;
use airpath_core::units::Bytes;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// No polls but at the end of the buffer, and reports after 10 ms.
fn quiet() -> Config {
    Config { poll_pdu: None, poll_byte: None, t_reassembly: ms(10), ..config() }
}

/// SDUs of 10 octets, one in each of these TTIs of the network from 0 on; `outcomes` has the HARQ delay of each in
/// ms, or `None` if it is lost.
fn in_ttis(config: &Config, outcomes: &[Option<u64>]) -> Link {
    let mut link = am(config);
    link.take(NETWORK, 0, &vec![10; outcomes.len()]);
    for (now, &outcome) in outcomes.iter().enumerate() {
        link.tti(UE, now as u64, 1000, |_| 0);
        link.tti(NETWORK, now as u64, 18, |tti| {
            tti.lose(|| outcome.is_none());
            outcome.unwrap_or(0)
        });
    }
    link
}

fn status(link: &Link) -> Vec<&String> {
    link.log.iter().filter(|line| line.contains("status")).collect()
}

/// t-Reassembly starts at 5, when SDU 1 comes without SDU 0, and ends at 15; the STATUS PDU goes then.
#[test]
fn t_reassembly_starts_behind_a_gap_and_reports_at_its_end() {
    let mut link = in_ttis(&quiet(), &[None, Some(0), Some(0)]);
    link.run(3, 40, 1000, |_, _| false);
    let log: Vec<_> = link.log.iter().filter(|line| !line.contains("done")).collect();
    assert_eq!(log[..3], ["0 tx 0", "1 tx 1", "2 tx 2p"]);
    // The poll of SDU 2 waits: HARQ may bring SDU 0.
    assert_eq!(log[3..8], ["15 status 3 0", "19 tx 0rp", "23 up 0", "23 up 1", "23 up 2"]);
    assert_eq!(log[8..], ["23 status 3"]);
}

/// The gap closes: RX_Next_Status_Trigger = RX_Next. The poll goes with it.
#[test]
fn t_reassembly_stops_when_the_gap_closes() {
    let mut link = in_ttis(&quiet(), &[Some(8), Some(0), Some(0)]);
    link.run(3, 40, 1000, |_, _| false);
    assert_eq!(status(&link), ["12 status 3"]);
}

/// At its end another gap is behind RX_Next_Status_Trigger: it has its own time.
#[test]
fn t_reassembly_starts_again_for_a_younger_gap() {
    // SDU 1 starts it at 5, RX_Next_Status_Trigger is 2. SDU 3 comes at 13, so that SDU 2 is missing as well.
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[10; 2]);
    link.tti(NETWORK, 0, 18, |tti| tti.lose(|| true));
    link.tti(NETWORK, 1, 18, |_| 0);
    link.take(NETWORK, 8, &[10; 3]);
    link.tti(NETWORK, 8, 18, |tti| tti.lose(|| true));
    link.tti(NETWORK, 9, 36, |_| 0);
    for now in 10..30 {
        link.tti(UE, now, 1000, |_| 0);
    }
    // The first STATUS PDU names SDU 0 and does not acknowledge SDU 2.
    assert_eq!(status(&link), ["15 status 2 0", "25 status 5 0 2"]);
}

/// Only the tail of the SDU that is highest is missing: no t-Reassembly, as the sender has not sent it yet.
#[test]
fn the_missing_end_of_the_highest_sdu_is_no_gap() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[100]);
    link.tti(NETWORK, 0, 50, |_| 0);
    for now in 1..100 {
        link.tti(UE, now, 1000, |_| 0);
    }
    assert_eq!(status(&link), [""; 0]);
    // A segment behind a missing one is: 103 octets in 45, 43 and 15.
    link.tti(NETWORK, 100, 50, |tti| tti.lose(|| true));
    link.tti(NETWORK, 101, 50, |_| 0);
    for now in 102..120 {
        link.tti(UE, now, 1000, |_| 0);
    }
    assert_eq!(status(&link), ["115 status 1 0[45-88]"]);
}

/// Acceptance test 19: a lost block of 90 SDUs is one NACK of 4 octets.
#[test]
fn adjacent_sdus_are_named_by_a_range() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[10; 92]);
    link.tti(NETWORK, 0, 18, |_| 0);
    link.tti(NETWORK, 1, 90 * 18, |tti| tti.lose(|| true));
    link.tti(NETWORK, 2, 18, |_| 0);
    for now in 3..20 {
        let tti = link.tti(UE, now, 1000, |_| 0);
        assert!(tti.nr.status.is_none_or(|status| status.octets(18) == 7));
    }
    assert_eq!(status(&link), ["16 status 92 1+90"]);
}

/// Acceptance test 19: a block that begins and ends inside of an SDU: SOstart of the first, SOend of the last.
#[test]
fn a_range_begins_and_ends_within_an_sdu() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[97; 4]);
    // 100 octets each with PDCP's header: 35 of the first; 65, 100 and 20 of the next; the rest of that one.
    link.tti(NETWORK, 0, 40, |_| 0);
    link.tti(NETWORK, 1, 72 + 105 + 25, |tti| tti.lose(|| true));
    link.tti(NETWORK, 2, 87, |_| 0);
    for now in 3..20 {
        let tti = link.tti(UE, now, 1000, |_| 0);
        assert!(tti.nr.status.is_none_or(|status| status.octets(18) == 11));
    }
    assert_eq!(status(&link), ["16 status 3 0+3[35-20]"]);
}

/// 256 SDUs are more than a NACK range of 8 bits has.
#[test]
fn a_range_has_255_sdus_at_most() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[10; 257]);
    link.tti(NETWORK, 0, 256 * 18, |tti| tti.lose(|| true));
    link.tti(NETWORK, 1, 18, |_| 0);
    link.run(2, 40, 10_000, |_, _| false);
    assert_eq!(status(&link)[0], "15 status 257 0+255 255");
    assert_eq!(link.up[NETWORK].len(), 257);
}

/// SDUs that do not fit are reported later: ACK_SN is the first missing SDU that is not named.
#[test]
fn a_report_names_as_much_as_there_is_room_for() {
    // SDU 5 starts t-Reassembly at 9, before 1 and 3 have come.
    let all = [None, Some(9), None, Some(8), None, Some(0)];
    let with_room = |room: u64| {
        let mut link = in_ttis(&quiet(), &all);
        for now in 6..30 {
            link.tti(UE, now, if now < 19 { 0 } else { room }, |_| 0);
        }
        status(&link)[0].clone()
    };
    // 2 of MAC and 3; 3 for each NACK.
    assert_eq!(
        [14, 13, 10, 7, 5].map(with_room),
        ["19 status 6 0 2 4", "19 status 4 0 2", "19 status 2 0", "19 status 0", "19 status 0"]
    );
}

/// t-StatusProhibit of 30 ms: the second STATUS PDU waits.
#[test]
fn t_status_prohibit_delays_the_next_report() {
    let slow = Config { t_status_prohibit: ms(30), ..quiet() };
    let mut link = am(&slow);
    for now in [0, 10, 20] {
        link.take(NETWORK, now, &[10]);
        link.run(now, now + 10, 1000, |_, _| false);
    }
    link.run(30, 80, 1000, |_, _| false);
    // Polls of 0, 10 and 20 arrive at 4, 14 and 24.
    assert_eq!(status(&link), ["4 status 1", "34 status 3"]);
}

/// 38.322 §5.3.3.2: every second PDU, and the last one of the buffer.
#[test]
fn every_so_many_pdus_and_octets_poll() {
    let polls = |config: Config| {
        let mut link = am(&config);
        link.take(NETWORK, 0, &[97; 5]);
        let tti = link.tti(NETWORK, 0, 10_000, |_| 0);
        tti.nr.data.iter().map(|pdu| pdu.poll).collect::<Vec<_>>()
    };
    assert_eq!(polls(quiet()), [false, false, false, false, true]);
    assert_eq!(polls(Config { poll_pdu: Some(2), ..quiet() }), [false, true, false, true, true]);
    // 100 octets each: 300 with the third.
    let by_octets = |octets| Config { poll_byte: Some(Bytes::from_bytes(octets)), ..quiet() };
    assert_eq!(polls(by_octets(300)), [false, false, true, false, true]);
    assert_eq!(polls(by_octets(301)), [false, false, false, true, true]);
}

/// §5.3.3.4: nothing came back for 45 ms, and nothing else can be sent: the last SDU is retransmitted.
#[test]
fn t_poll_retransmit_repeats_the_last_sdu_when_nothing_else_can_be_sent() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[10, 10]);
    link.run(0, 100, 1000, |end, now| end == UE && now < 40);
    let tx: Vec<_> = link.log.iter().filter(|line| line.contains("tx")).collect();
    // The STATUS PDU of 4 is lost; the poll of 45 arrives at 49 and is answered.
    assert_eq!(tx, ["0 tx 0 1p", "45 tx 1rp"]);
    assert_eq!(status(&link), ["4 status 2", "49 status 2"]);
}

/// The next PDU polls instead, where there is one.
#[test]
fn t_poll_retransmit_has_the_next_pdu_poll() {
    let mut link = am(&quiet());
    link.take(NETWORK, 0, &[10]);
    link.run(0, 45, 1000, |end, _| end == UE);
    link.take(NETWORK, 45, &[10, 10]);
    link.run(45, 60, 1000, |_, _| false);
    let tx: Vec<_> = link.log.iter().filter(|line| line.contains("tx")).collect();
    assert_eq!(tx, ["0 tx 0p", "45 tx 1p 2p"]);
}

/// A poll that comes twice is answered at once.
#[test]
fn a_discarded_pdu_that_polls_triggers_a_report() {
    let mut link = am(&Config { t_poll_retransmit: ms(6), ..quiet() });
    link.take(NETWORK, 0, &[10]);
    link.run(0, 30, 1000, |_, _| false);
    let log: Vec<_> = link.log.iter().filter(|line| !line.contains("up")).collect();
    assert_eq!(log, ["0 tx 0p", "4 status 1", "6 tx 0rp", "8 done 0", "10 status 1"]);
}
