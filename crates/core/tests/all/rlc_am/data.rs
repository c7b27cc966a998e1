//! Data, polls and status reports.

use super::link::{Link, NETWORK, PDUS, UE, ms, range, timeline, written};
use airpath_core::rlc::am::{Config, Delivery, Entity, Erroneous, Receiver, Sender};
use airpath_core::rlc::control::{Control, Form, Status};
use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Ranges, Report, Run, SnRange, Transmission, Tti};
use airpath_core::time::Duration;

/// 1000 octets and an indicator are 25.025 payloads of 40 octets.
#[test]
fn an_sdu_without_loss_is_polled_for_on_its_last_pdu() {
    let seen = timeline(&Config::default(), &[(0, 1000)], &[], &[]);
    // The last PDU arrives at 45, the next TTI back is that of 50, and the answer ends Timer_Poll at 75.
    let right = ["0 tx 0-11", "10 tx 12-23", "20 tx 24 25p", "45 up 0", "50 status 26", "75 done 0"];
    assert_eq!(seen, right);
}

/// The status at 50 reports the gap, but is no end of Timer_Poll (20 + 60): it neither acknowledges all below 26 nor
/// reports 25. So at 80 the expired timer polls on the first PDU, the empty retransmission buffer on the last. The
/// report that they request at 105 waits for Timer_Status_Prohibit (50 + 60).
#[test]
fn a_lost_tti_is_reported_and_repeated() {
    let seen = timeline(&Config::default(), &[(0, 1000)], &[10], &[]);
    let right = [
        "0 tx 0-11",
        "10 tx 12-23",
        "20 tx 24 25p",
        "50 status 26 12-23",
        "80 tx 12p 13-22 23p",
        "105 up 0",
        "110 status 26",
        "135 done 0",
    ];
    assert_eq!(seen, right);
}

/// The STATUS at 40 acknowledges SDU 1, which goes up only after SDU 0.
#[test]
fn an_sdu_acknowledged_beyond_a_gap_is_confirmed() {
    let seen = timeline(&Config::default(), &[(0, 400), (10, 400)], &[0], &[]);
    let right = [
        "0 tx 0-9 10p",
        "10 tx 11-20 21p",
        "40 status 22 0-10",
        "65 done 1",
        "70 tx 0p 1-9 10p",
        "95 up 0",
        "95 up 1",
        "100 status 22",
        "125 done 0",
    ];
    assert_eq!(seen, right);
}

/// The PDUs of SDU 0 are acknowledged by two STATUS PDUs; the second acknowledges fewer.
#[test]
fn acknowledgements_of_several_status_pdus_add_up() {
    let mut sender = sent_eleven(&Config { last_pdu_poll: false, poll_pdu: Some(11), ..Config::default() });
    assert_eq!(take(&mut sender, 30, &status(&[range(0, 1), range(3, 4)], 12)), Ok(vec![]));
    assert_eq!(take(&mut sender, 40, &status(&[range(0, 1)], 5)), Ok(vec![]));
    assert_eq!(take(&mut sender, 50, &status(&[], 1)), Ok(vec![0]));
    assert_eq!(sender.vt_a(), 1);
    assert_eq!(take(&mut sender, 60, &status(&[], 13)), Ok(vec![1]));
}

/// Nothing arrives, so that Timer_Poll repeats the last PDU at 60 and that one opens the gap.
#[test]
fn timer_poll_repeats_the_last_pdu_when_nothing_else_may_be_sent() {
    let seen = timeline(&Config::default(), &[(0, 400)], &[0], &[]);
    let right = [
        "0 tx 0-9 10p",
        "60 tx 10p",
        "90 status 11 0-9",
        "120 tx 0p 1-8 9p",
        "145 up 0",
        "150 status 11",
        "175 done 0",
    ];
    assert_eq!(seen, right);
}

/// A lost STATUS is requested again; the duplicate's P bit is honoured though its data is dropped.
#[test]
fn a_lost_status_is_asked_for_again() {
    let seen = timeline(&Config::default(), &[(0, 400)], &[], &[30]);
    let right = ["0 tx 0-9 10p", "25 up 0", "30 status 11", "60 tx 10p", "90 status 11", "115 done 0"];
    assert_eq!(seen, right);
}

/// Out of sequence, the second SDU does not wait for the first: PDU 12 has arrived with the end of that one. If the
/// second SDU comes too late to be there, only PDU 10 tells that it begins in PDU 11.
#[test]
fn delivery_out_of_sequence_hands_up_what_is_complete() {
    let orders = |delivery, sdus: &[(u64, u32)]| {
        let seen = timeline(&Config { delivery, ..Config::default() }, sdus, &[0], &[]);
        seen.into_iter().filter(|line| line.contains("up")).collect::<Vec<_>>()
    };
    // The gap shows at 35, is reported at 40 and repeated at 70.
    for sdus in [[(0, 500), (0, 400)], [(0, 400), (5, 400)]] {
        assert_eq!(orders(Delivery::InSequence, &sdus), ["95 up 0", "95 up 1"]);
    }
    assert_eq!(orders(Delivery::OutOfSequence, &[(0, 500), (0, 400)]), ["35 up 1", "95 up 0"]);
    assert_eq!(orders(Delivery::OutOfSequence, &[(0, 400), (5, 400)]), ["95 up 0", "95 up 1"]);
}

/// Half of a window of 20: J = (VT(S) + 1 - VT(A)) / 20 reaches 50 % at VT(S) = 9. At 20 the window is shut.
#[test]
fn the_window_polls_and_stops_the_sender() {
    let config = Config { configured_tx_window_size: 20, last_pdu_poll: false, ..Config::default() };
    let seen = timeline(&config, &[(0, 1500)], &[], &[]);
    // The status at 30 opens it up to 32, and the report that the PDUs at 60 request waits until 30 + 60. Nothing polls
    // for the last six: they use less than half of the window.
    let right = [
        "0 tx 0-8 9-11p",
        "10 tx 12-19p",
        "30 status 12",
        "60 tx 20 21-31p",
        "90 status 32",
        "120 tx 32-37",
        "145 up 0",
    ];
    assert_eq!(seen, right);
}

/// PDU 19 is the last that the window allows, though more waits: it polls as the last one of the buffer does.
#[test]
fn the_last_pdu_of_the_window_polls() {
    let config = Config { configured_tx_window_size: 20, poll_window: None, ..Config::default() };
    let seen = timeline(&config, &[(0, 1500)], &[], &[]);
    let right = [
        "0 tx 0-11",
        "10 tx 12-18 19p",
        "40 status 20",
        "70 tx 20-31",
        "80 tx 32-36 37p",
        "105 up 0",
        "110 status 38",
    ];
    assert_eq!(seen[..7], right);
}

fn tx_at(sender: &mut Sender, now: u64) -> String {
    let mut sent = Transmission::default();
    sender.build_tti(ms(now), PDUS, &mut sent, &mut Report::default());
    written(&sent.runs)
}

/// Eight PDUs are reported missing, and the window shrinks to three: these are retransmitted, and the last of them
/// polls. The others wait for it to move.
#[test]
fn pdus_beyond_a_smaller_window_are_not_retransmitted_before_it_moves() {
    let mut sender = sent_eleven(&Config { last_pdu_poll: false, poll_pdu: Some(11), ..Config::default() });
    let shrinks = Status { window: Some(3), ..status(&[range(0, 8)], 13) };
    take(&mut sender, 30, &shrinks).unwrap();
    assert_eq!(tx_at(&mut sender, 30), " 0-2p");
    assert_eq!((tx_at(&mut sender, 40), sender.deadline()), (String::new(), ms(90)));
    take(&mut sender, 50, &status(&[range(3, 8)], 13)).unwrap();
    assert_eq!(tx_at(&mut sender, 50), " 3-5p");
    take(&mut sender, 60, &status(&[range(5, 8)], 13)).unwrap();
    assert_eq!(tx_at(&mut sender, 60), " 5-7p");
}

/// 22 PDUs: each eighth polls, 7, 15; and the PDUs of the second SDU's end, 21, by Poll_SDU 2.
#[test]
fn every_so_many_pdus_and_sdus_poll() {
    let config = Config {
        last_pdu_poll: false,
        poll_pdu: Some(8),
        poll_sdu: Some(2),
        timer_status_prohibit: None,
        ..Config::default()
    };
    let seen = timeline(&config, &[(0, 439), (0, 439)], &[], &[]);
    let right = [
        "0 tx 0-6 7p 8-11",
        "10 tx 12-14 15p 16-20 21p",
        "25 up 0",
        "30 status 12",
        "35 up 1",
        "40 status 22",
        "65 done 0",
        "65 done 1",
    ];
    assert_eq!(
        seen.iter().filter(|line| !line.contains("done")).collect::<Vec<_>>(),
        right[..6].iter().collect::<Vec<_>>()
    );
    assert_eq!(
        seen.iter().filter(|line| line.contains("done")).collect::<Vec<_>>(),
        ["55 done 0", "65 done 1"]
    );
}

/// Poll_PDU 2 would poll six times in a TTI: one poll goes, the others become one when the timer ends.
#[test]
fn prohibited_polls_become_one() {
    let config = Config {
        last_pdu_poll: false,
        poll_pdu: Some(2),
        timer_poll: None,
        timer_poll_prohibit: Some(Duration::from_millis(30)),
        timer_status_prohibit: None,
        ..Config::default()
    };
    // 600 octets and the indicator are 15.025 payloads.
    let seen = timeline(&config, &[(0, 600)], &[], &[]);
    let right = [
        "0 tx 0 1p 2-11",
        "10 tx 12-15",
        "30 status 12",
        "30 tx 15p",
        "35 up 0",
        "60 status 16",
        "85 done 0",
    ];
    assert_eq!(seen, right);
}

fn sent_eleven(config: &Config) -> Sender {
    let mut sender = Sender::new(config);
    sender.handle_sdu(ms(0), 400);
    sender.handle_sdu(ms(0), 80);
    let mut sent = Transmission::default();
    sender.build_tti(ms(0), PDUS + 2, &mut sent, &mut Report::default());
    assert_eq!(written(&sent.runs), " 0-9 10p 11-12");
    sender
}

/// SDUs that a STATUS PDU confirms.
fn take(sender: &mut Sender, now: u64, status: &Status) -> Result<Vec<u64>, Erroneous> {
    let mut report = Report::default();
    sender.handle_status(ms(now), status, &mut report)?;
    Ok(report.confirmed)
}

fn status(missing: &[SnRange], lsn: u64) -> Status {
    let mut ranges = Ranges::default();
    missing.iter().for_each(|&range| ranges.insert(range));
    Status { missing: ranges, lsn: Some(lsn), ..Status::default() }
}

/// The poll is that of PDU 10, so that x = 11. Each status, and whether Timer_Poll polls at 60 after it.
#[test]
fn timer_poll_stops_by_the_exact_rule() {
    let config = Config {
        last_pdu_poll: false,
        last_retransmission_poll: false,
        poll_pdu: Some(11),
        poll_window: None,
        ..Config::default()
    };
    let cases = [
        (status(&[], 11), false),
        (status(&[], 10), true),
        (status(&[range(10, 11)], 13), false),
        // It covers x - 1, but one below is missing.
        (status(&[range(3, 4)], 13), true),
        (status(&[range(3, 4), range(9, 12)], 13), false),
        (status(&[range(11, 13)], 13), false),
    ];
    for (status, polls) in cases {
        let mut sender = sent_eleven(&config);
        take(&mut sender, 50, &status).unwrap();
        let mut sent = Transmission::default();
        sender.build_tti(ms(55), PDUS, &mut sent, &mut Report::default());
        assert!(!written(&sent.runs).contains('p'), "{status:?}");
        sender.build_tti(ms(60), PDUS, &mut sent, &mut Report::default());
        assert_eq!(written(&sent.runs), if polls { " 12p" } else { "" }, "{status:?}");
    }
}

#[test]
fn a_status_outside_of_what_is_unacknowledged_changes_nothing() {
    let mut sender = sent_eleven(&Config { last_pdu_poll: false, poll_pdu: Some(11), ..Config::default() });
    assert_eq!(take(&mut sender, 30, &status(&[], 11)), Ok(vec![0]));
    for wrong in [status(&[], 10), status(&[], 14), status(&[range(4, 5)], 13), status(&[range(12, 14)], 12)]
    {
        assert!(take(&mut sender, 40, &wrong).is_err(), "{wrong:?}");
        assert_eq!((sender.vt_a(), sender.vt_s()), (11, 13));
    }
    let text = take(&mut sender, 40, &status(&[], 14)).unwrap_err().to_string();
    assert_eq!(text, "STATUS names PDU 14; unacknowledged are 11 to below 13");
}

/// Each second PDU of `count` is lost; what the report says.
fn report_of_holes(count: u64, room: u64) -> Vec<Status> {
    let mut receiver = Receiver::new(&Config::default());
    let runs = (0..count).map(|n| Run { sns: range(2 * n + 1, 2 * n + 2), poll: false }).collect();
    receiver.handle_pdus(&Transmission { runs, ends: Vec::new() }, &mut Report::default());
    reports(&mut receiver, 0, room)
}

fn reports(receiver: &mut Receiver, now: u64, room: u64) -> Vec<Status> {
    let mut control = Vec::new();
    receiver.build_status(ms(now), room, &mut control);
    control
        .into_iter()
        .map(|control| match control {
            Control::Status(status) => status,
            other => panic!("{other:?}"),
        })
        .collect()
}

/// A PDU of 42 octets has room for 18 pairs, or for bitmaps of 256 PDUs, or the report takes several PDUs.
#[test]
fn a_report_that_does_not_fit_changes_its_form() {
    let shape = |reports: Vec<Status>| {
        let one = |s: &Status| (s.form, s.missing.as_slice().len(), s.lsn.unwrap());
        reports.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(shape(report_of_holes(18, 12)), [(Form::List, 18, 36)]);
    assert_eq!(shape(report_of_holes(19, 12)), [(Form::Bitmap, 19, 38)]);
    assert_eq!(shape(report_of_holes(128, 12)), [(Form::Bitmap, 128, 256)]);
    // 129 holes: the first PDU acknowledges up to the first hole that it leaves out, the others only VR(R).
    let all = shape(report_of_holes(129, 12));
    assert_eq!(all[..2], [(Form::List, 18, 36), (Form::List, 18, 0)]);
    assert_eq!((all.len(), all[7]), (8, (Form::List, 3, 0)));
    assert_eq!(shape(report_of_holes(129, 1)), [(Form::List, 18, 36)]);
}

/// Every second PDU of a TTI is lost, up to PDU 59. A STATUS PDU of 10 octets names three of them, and the report at 90
/// takes nine, the first of which is lost: its PDUs are retransmitted after the next report.
#[test]
fn a_report_of_several_status_pdus_has_all_that_they_name_retransmitted() {
    let config =
        Config { pdu: airpath_core::units::Bytes::from_bytes(10), timer_poll: None, ..Config::default() };
    let config = Config { timer_poll_periodic: Some(Duration::from_millis(90)), ..config };
    let mut link = Link::new(&config);
    // 487 octets and an indicator are 61 payloads of 8.
    link.handle_sdu(NETWORK, 0, 487);
    for now in (0..400).step_by(10) {
        let (mut pdu, mut statuses) = (0, 0);
        link.tti(UE, now, |tti| {
            tti.lose(|| {
                statuses += 1;
                now == 90 && statuses == 1
            });
        });
        link.tti(NETWORK, now, |tti| {
            tti.lose(|| {
                pdu += 1;
                now < 60 && pdu % 2 == 0
            });
        });
    }
    let at = |time: &str| link.log.iter().filter_map(|line| line.strip_prefix(time)).collect::<Vec<_>>();
    let reports = at("90 status ");
    assert_eq!(reports[..2], ["17 11-11 13-13 15-15", "11 17-17 19-19 21-21"]);
    assert_eq!((reports.len(), reports[8]), (9, "11 59-59"));
    assert_eq!(at("120 "), ["tx 17 19 21 23 25 27 29 31 33 35 37 39"]);
    assert_eq!(at("130 "), ["tx 41 43 45 47 49 51 53 55 57 59p"]);
    assert_eq!(at("180 "), ["tx 11p 13 15 41 43 45 47 49 51 53 55 57"]);
    assert_eq!((at("205 "), at("235 ")), (vec!["up 0"], vec!["done 0"]));
}

#[test]
fn a_periodic_report_needs_no_poll() {
    let period = Some(Duration::from_millis(40));
    let config = Config { timer_status_periodic: period, timer_status_prohibit: None, ..Config::default() };
    let mut receiver = Receiver::new(&config);
    let reports: Vec<u64> =
        (0..20).map(|n| n * 10).filter(|&t| !reports(&mut receiver, t, 1).is_empty()).collect();
    assert_eq!(reports, [40, 80, 120, 160]);
}

/// §9.2.2.11: a report may name the last PDU that was sent. Its retransmission polls, and so does the new PDU after it,
/// which empties the buffer: one run of polled PDUs, one of them retransmitted.
#[test]
fn a_new_pdu_in_a_run_with_a_retransmission_does_not_count_as_retransmitted() {
    let mut entity = Entity::at_network(&Config::default(), &Config::default());
    let mut report = Report::default();
    let mut send = |sender: &mut Entity, now| {
        sender.handle_sdu(ms(now), 30);
        let mut tti = Tti::default();
        sender.build_tti(ms(now), PDUS, &mut tti, &mut report);
        tti.data.runs
    };
    assert_eq!(send(&mut entity, 0), [Run { sns: range(0, 1), poll: true }]);
    let answer = Tti { control: vec![Control::Status(status(&[range(0, 1)], 1))], ..Tti::default() };
    entity.handle_tti(ms(50), &answer, &mut Report::default());
    assert_eq!(send(&mut entity, 60), [Run { sns: range(0, 2), poll: true }]);
    let counts = entity.counts();
    assert_eq!((counts.data_pdus, counts.polls, counts.retransmitted_pdus), (3, 3, 1));
}
