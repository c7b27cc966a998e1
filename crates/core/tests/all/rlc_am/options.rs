//! The special value of HE and piggybacked STATUS PDUs.

use super::link::{Link, NETWORK, PDUS, UE, ms, timeline};
use airpath_core::rlc::am::{Config, Entity};
use airpath_core::rlc::control::{Control, Status};
use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Report, Tti};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;

/// 400 octets fill ten PDUs of 40: their end needs an eleventh, or the special value.
#[test]
fn the_special_value_of_he_spares_a_pdu() {
    for (special_he, tx) in [(false, "0 tx 0-9 10p"), (true, "0 tx 0-8 9p")] {
        let seen = timeline(&Config { special_he, ..Config::default() }, &[(0, 400)], &[], &[]);
        assert_eq!(seen[..2], [tx, "25 up 0"]);
    }
}

fn piggyback() -> Config {
    Config { piggybacked_status: true, ..Config::default() }
}

/// The UE answers the poll of 0 at 30, and has an SDU to send then: 10 octets and two indicators leave 28 free, and
/// the report takes 20 bits.
#[test]
fn a_status_goes_into_padding() {
    let back = |octets: u32, config: &Config| {
        let mut link = Link::new(config);
        link.handle_sdu(NETWORK, 0, 400);
        for now in (0..100).step_by(10) {
            if now == 30 {
                link.handle_sdu(UE, now, octets);
            }
            link.ttis(now, false, false);
        }
        assert!(link.log.contains(&"55 done 0".to_owned()), "{:?}", link.log);
        let counts = link.ends[UE].counts().clone();
        let sent: Vec<String> = link.log.into_iter().filter(|line| line.starts_with("30 ")).collect();
        (sent, counts.status_pdus, counts.piggybacked_status_pdus)
    };
    assert_eq!(back(10, &piggyback()), (vec!["30 back 0p + status 11".to_owned()], 0, 1));
    // Three octets are needed behind two indicators: the last that fits, and the first that does not.
    assert_eq!(back(35, &piggyback()), (vec!["30 back 0p + status 11".to_owned()], 0, 1));
    let alone = vec!["30 status 11".to_owned(), "30 back 0p".to_owned()];
    assert_eq!(back(36, &piggyback()), (alone.clone(), 1, 0));
    assert_eq!(back(10, &Config::default()), (alone, 1, 0));
}

/// An SDU that fills its PDU leaves no padding, nor does one that continues in the next TTI; a retransmitted PDU stays
/// unchanged.
#[test]
fn only_the_padding_of_a_new_pdu_carries_a_status() {
    let mut link = Link::new(&piggyback());
    link.pdus = 2;
    link.handle_sdu(UE, 0, 100);
    link.tti(UE, 0, Tti::clear);
    link.handle_sdu(NETWORK, 0, 10);
    link.tti(NETWORK, 0, |_| {});
    link.tti(UE, 30, Tti::clear);
    // The report was lost with the PDU that carried it. Timer_Poll retransmits PDU 2 at 90, and the network polls again
    // at 60.
    link.tti(NETWORK, 60, |_| {});
    link.tti(UE, 90, |_| {});
    assert_eq!(
        link.log,
        [
            "0 back 0-1",
            "0 tx 0p",
            "25 up 0",
            "30 back 2p + status 1",
            "60 tx 0p",
            "90 status 1",
            "90 back 2p"
        ]
    );
}

/// One PDU of a TTI is lost, and the STATUS PDU in it.
#[test]
fn a_piggybacked_status_is_lost_with_its_pdu() {
    for lost in [false, true] {
        let mut link = Link::new(&piggyback());
        link.handle_sdu(NETWORK, 0, 400);
        link.tti(NETWORK, 0, |_| {});
        link.handle_sdu(UE, 30, 100);
        let mut pdu = 0;
        link.tti(UE, 30, |tti| {
            tti.lose(|| {
                pdu += 1;
                lost && pdu == 3
            });
            assert_eq!((tti.pdus(), tti.piggybacked.is_some()), (3 - u64::from(lost), !lost));
        });
        link.arrive(55);
        assert_eq!(link.ends[NETWORK].sender().vt_a(), if lost { 0 } else { 11 });
    }
}

/// Indicators of 15 bits begin at PDUs of 127 octets.
#[test]
fn padding_behind_long_indicators_is_counted_in_their_octets() {
    for (octets, rides) in [(115, true), (116, false)] {
        // 125 octets of payload, two indicators of two octets, three for the report... and 118 with the last.
        let config = Config { pdu: Bytes::from_bytes(127), ..piggyback() };
        let mut link = Link::new(&config);
        link.handle_sdu(NETWORK, 0, 10);
        link.tti(NETWORK, 0, |_| {});
        link.handle_sdu(UE, 30, octets + 3);
        link.tti(UE, 30, |tti| assert_eq!(tti.piggybacked.is_some(), rides, "{octets}"));
    }
}

/// A poll that waits is answered after Timer_Status_Prohibit, whichever way the last report went.
#[test]
fn a_piggybacked_status_starts_timer_status_prohibit() {
    let mut link = Link::new(&piggyback());
    link.handle_sdu(NETWORK, 0, 10);
    link.tti(NETWORK, 0, |_| {});
    link.handle_sdu(UE, 30, 10);
    link.tti(UE, 30, |_| {});
    link.handle_sdu(NETWORK, 30, 10);
    link.tti(NETWORK, 30, |_| {});
    link.arrive(55);
    assert_eq!(link.ends[UE].deadline().min(ms(1000)), ms(90));
}

/// While its reset is pending, an end takes no STATUS, piggybacked or not.
#[test]
fn a_piggybacked_status_is_ignored_while_a_reset_is_pending() {
    let mut link = Link::new(&piggyback());
    link.handle_sdu(NETWORK, 0, 400);
    link.tti(NETWORK, 0, |_| {});
    let wrong = Status { lsn: Some(99), ..Status::default() };
    let tti = Tti { control: vec![Control::Status(wrong.clone())], ..Tti::default() };
    link.ends[NETWORK].handle_tti(ms(5), &tti, &mut Report::default());
    let riding = Tti { piggybacked: Some((0, wrong)), ..Tti::default() };
    link.ends[NETWORK].handle_tti(ms(6), &riding, &mut Report::default());
    assert_eq!(link.ends[NETWORK].counts().erroneous_status_pdus, 1);
    assert_eq!(link.ends[NETWORK].deadline(), Instant::ZERO);
}

/// When an entity that polled and reported in one TTI at 0 requests a TTI again: for the poll, and for another report
/// requested by the other end's PDU at 5 ms.
fn timers_of(mut entity: Entity, mut peer: Entity) -> [Instant; 2] {
    let (mut report, mut tti) = (Report::default(), Tti::default());
    let mut poll_it = |polled: &mut Entity, at: u64| {
        let mut asked = Tti::default();
        peer.handle_sdu(ms(at), 30);
        peer.build_tti(ms(at), PDUS, &mut asked, &mut Report::default());
        assert!(asked.data.runs[0].poll);
        polled.handle_tti(ms(at), &asked, &mut Report::default());
    };
    poll_it(&mut entity, 0);
    entity.handle_sdu(ms(0), 30);
    entity.build_tti(ms(0), PDUS, &mut tti, &mut report);
    assert_eq!((tti.control.len(), tti.data.runs[0].poll), (1, true));
    let poll = entity.deadline();
    poll_it(&mut entity, 5);
    [poll, entity.deadline()]
}

/// Timer_Poll has 90 ms, Timer_Status_Prohibit 40 ms, a TTI 10 ms.
#[test]
fn timers_of_the_ue_start_at_the_end_of_a_tti() {
    let duration = |millis| Some(Duration::from_millis(millis));
    let config =
        Config { timer_poll: duration(90), timer_status_prohibit: duration(40), ..Config::default() };
    let network = || Entity::at_network(&config, &config);
    let ue = || Entity::at_ue(&config, &config);
    assert_eq!(timers_of(network(), ue()), [ms(90), ms(40)]);
    assert_eq!(timers_of(ue(), network()), [ms(100), ms(50)]);
}
