//! SDUs that are given up with explicit signalling, and without.

use super::link::{Link, NETWORK, UE, ms, timeline, timeline_until};
use airpath_core::rlc::am::{Config, Delivery};
use airpath_core::rlc::am::{Receiver, SduDiscard};
use airpath_core::rlc::control::{Control, Mrw, Status};
use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Report, Run, SduEnd, SnRange, Transmission, Tti};
use airpath_core::time::Duration;

fn max_dat(max_dat: u32) -> Config {
    Config { sdu_discard: SduDiscard::MaxDat, max_dat: Some(max_dat), ..Config::default() }
}

fn timer(millis: u64) -> Config {
    let timer_discard = Some(Duration::from_millis(millis));
    Config { sdu_discard: SduDiscard::Timer, timer_discard, ..Config::default() }
}

fn lines<'a>(log: &'a [String], word: &str) -> Vec<&'a str> {
    log.iter().filter(|line| line.contains(word)).map(String::as_str).collect()
}

/// Timer_Poll would have PDU 10 sent a second time at 60.
#[test]
fn a_pdu_that_reaches_max_dat_is_not_sent_and_its_sdu_is_discarded() {
    let seen = timeline(&max_dat(2), &[(0, 400)], &[0], &[]);
    let right =
        ["0 tx 0-9 10p", "60 tx [status mrw 11/0]", "60 discarded 0", "85 lost 0", "90 status mrw_ack 11/0"];
    assert_eq!(seen, right);
}

/// Nothing arrives: PDU 10 is sent `MaxDAT` - 1 times.
#[test]
fn max_dat_bounds_transmissions() {
    for max in 2..6 {
        let all: Vec<u64> = (0..60).map(|n| n * 10).collect();
        let link = timeline_until(500, &max_dat(max), &[(0, 400)], &all, &[]);
        let sent = link.log.iter().filter(|line| line.contains(" tx ") && line.contains("10p")).count();
        assert_eq!(sent, max as usize - 1);
        assert_eq!(link.ends[NETWORK].counts().retransmitted_pdus, u64::from(max) - 2);
    }
}

/// The STATUS at 40 has PDUs 0 to 11 scheduled a second time: SDUs 0 and 1 have octets there, and SDU 1 ends in
/// PDU 17, where SDU 2 begins. That one is complete and goes up.
#[test]
fn sdus_with_octets_in_pdus_up_to_max_dat_go_and_n_length_tells_where_the_next_begins() {
    let config = Config { timer_poll: Some(Duration::from_millis(200)), ..max_dat(2) };
    let seen = timeline(&config, &[(0, 410), (0, 300), (0, 300)], &[0], &[]);
    let right = [
        "0 tx 0-11",
        "10 tx 12-23",
        "20 tx 24 25p",
        "40 status 24 0-11",
        "65 discarded 0",
        "65 discarded 1",
        "70 tx [status mrw 17/1]",
        "95 up 2",
        "95 lost 0",
        "95 lost 1",
        "100 status mrw_ack 26/0",
        "100 status 26",
        "125 done 2",
    ];
    assert_eq!(seen, right);
}

/// SDUs of 490, 300 and 700 octets end in PDUs 12, 19 and 37. The report at 40 is lost; that of 100 acknowledges all
/// of SDU 1, in PDUs 12 to 19, and has the others discarded.
const TWO_LOST_TTIS: [&[u64]; 2] = [&[0, 20], &[40]];

fn with_two_lost_ttis(config: &Config) -> Vec<String> {
    let [downlink, uplink] = TWO_LOST_TTIS;
    let config = Config { timer_poll: Some(Duration::from_millis(200)), ..config.clone() };
    let seen = timeline(&config, &[(0, 490), (0, 300), (0, 700)], downlink, uplink);
    let sent = ["0 tx 0-11", "10 tx 12-23", "20 tx 24-35", "30 tx 36 37p", "40 status 24 0-11"];
    assert_eq!(seen[..5], sent);
    assert_eq!(seen[5], "100 status 38 0-11 24-35");
    seen[6..].to_vec()
}

#[test]
fn an_sdu_that_the_peer_has_is_confirmed_when_its_neighbours_reach_max_dat() {
    let right = [
        "125 done 1",
        "125 discarded 0",
        "125 discarded 2",
        "130 tx [status mrw 38/0]",
        "155 up 1",
        "155 lost 0",
        "155 lost 2",
        "160 status mrw_ack 38/0",
    ];
    assert_eq!(with_two_lost_ttis(&max_dat(2)), right);
    // With Send MRW, only discarded SDUs are named.
    let named = with_two_lost_ttis(&Config { send_mrw: true, ..max_dat(2) });
    assert_eq!(lines(&named, "mrw "), ["130 tx [status mrw 12,38/0]"]);
}

/// Timer_Discard ends for all three when two of them are confirmed or in flight.
#[test]
fn timer_discard_passes_over_a_confirmed_sdu() {
    let seen = with_two_lost_ttis(&timer(127));
    assert_eq!(lines(&seen, "done"), ["125 done 1"]);
    assert_eq!(lines(&seen, "discarded"), ["130 discarded 0", "130 discarded 2"]);
}

/// The peer forgets a confirmed SDU that waits for others; the sender has already reported it.
#[test]
fn a_reset_does_not_discard_what_is_confirmed() {
    let config = Config { sdu_discard: SduDiscard::NoDiscard, ..max_dat(2) };
    let seen = with_two_lost_ttis(&config);
    assert_eq!(lines(&seen, "done"), ["125 done 1"]);
    assert_eq!(lines(&seen, "discarded").len(), 2, "{seen:#?}");
    assert_eq!(lines(&seen, "lost").len(), 3, "{seen:#?}");
}

/// SDUs of 100, 300 and 300 octets end in PDUs 2, 10 and 17, and nothing follows the last one in its PDU.
#[test]
fn send_mrw_names_the_end_of_each_sdu() {
    let sdus = [(0, 100), (0, 300), (0, 300)];
    let mrw = |send_mrw| {
        let seen = timeline(&Config { send_mrw, ..max_dat(2) }, &sdus, &[0], &[]);
        lines(&seen, "mrw ").iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(mrw(true), ["70 tx [status mrw 2,10,18/0]"]);
    assert_eq!(mrw(false), ["70 tx [status mrw 18/0]"]);
}

/// 20 SDUs of 35 octets, each with its indicator in 36 of 40 octets: an MRW has room for 15 of them, and the others
/// wait for its answer. PDU 8 holds two ends.
#[test]
fn more_than_fifteen_sdus_take_several_mrws() {
    let sdus = [(0, 35); 20];
    let seen = timeline(&Config { send_mrw: true, ..timer(45) }, &sdus, &[0, 10], &[]);
    let right = [
        "50 tx [status mrw 0,1,2,3,4,5,6,7,8,8,9,10,11,12,13/1]",
        "80 status mrw_ack 13/1",
        "110 tx [status mrw 14,15,16,17,18/0]",
        "140 status mrw_ack 18/0",
    ];
    assert_eq!(lines(&seen, "mrw"), right);
    // A PDU of 16 octets has room for 8 fields: (128 - 20 - 12) / 12.
    let small = Config { pdu: airpath_core::units::Bytes::from_bytes(16), send_mrw: true, ..timer(45) };
    let of_eight = timeline(&small, &[(0, 13); 20], &[0, 10], &[]);
    assert_eq!(lines(&of_eight, "50 tx"), ["50 tx [status mrw 0,1,2,3,4,5,6,8/0]"]);
}

#[test]
fn timer_mrw_repeats_it_and_max_mrw_resets_the_link() {
    let lost: Vec<u64> = [0].into_iter().chain((6..26).map(|n| n * 10)).collect();
    let of = |max_mrw, downlink: &[u64]| {
        let link = timeline_until(900, &Config { max_mrw, ..max_dat(2) }, &[(0, 400)], downlink, &[]);
        lines(&link.log, "tx [").iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let mrw = |at: u64| format!("{at} tx [status mrw 11/0]");
    // Timer_MRW is 200 ms.
    assert_eq!(of(2, &lost), [mrw(60), mrw(260)]);
    assert_eq!(of(1, &lost), [mrw(60), "260 tx [reset 0]".to_owned()]);
    let longer: Vec<u64> = (0..40).map(|n| n * 10).collect();
    assert_eq!(of(2, &longer), [mrw(60), mrw(260), "460 tx [reset 0]".to_owned()]);
    assert_eq!(of(1, &lost[..1]), [mrw(60)]);
}

/// The MRW_ACK at 90 is lost. The report at 100 acknowledges PDU 11 in sequence, so that no MRW is sent at 260.
#[test]
fn an_acknowledgement_ends_the_procedure_as_well() {
    let seen = timeline(&timer(60), &[(0, 400), (65, 400)], &[0], &[90]);
    let right = ["60 tx [status mrw 11/0]", "90 status mrw_ack 11/0"];
    assert_eq!(lines(&seen, "mrw"), right);
    assert_eq!(lines(&seen, "done"), ["125 done 1"]);
    // Without that report it is retransmitted, identically even though SDU 1 is discarded meanwhile. The answer reports
    // that the window has moved, so SDU 1 need not be reported.
    let repeated = timeline_until(400, &timer(50), &[(0, 400), (60, 400)], &[0], &[80, 90]).log;
    let mrws = [
        "50 tx [status mrw 11/0]",
        "80 status mrw_ack 11/0",
        "250 tx [status mrw 11/0]",
        "280 status mrw_ack 22/0",
    ];
    assert_eq!(lines(&repeated, "mrw"), mrws, "{repeated:#?}");
}

/// All has arrived before the MRW comes: the answer is its own VR(R), and nothing is lost.
#[test]
fn an_obsolete_mrw_is_answered() {
    let seen = timeline(&timer(30), &[(0, 400), (0, 400)], &[], &[]);
    assert_eq!(lines(&seen, "mrw"), ["30 tx [status mrw 21/0]", "60 status mrw_ack 21/0"]);
    assert!(lines(&seen, "lost").is_empty());
    assert_eq!(lines(&seen, "up"), ["25 up 0", "35 up 1"]);
}

/// A window of 12 PDUs is full with the first SDU. It is cut there: PDU 12 would hold its end, and the MRW names a PDU
/// beyond the window. The second SDU was not sent and is not reported.
#[test]
fn of_an_sdu_not_sent_the_receiver_hears_nothing() {
    let config = Config { configured_tx_window_size: 12, ..timer(50) };
    let link = timeline_until(500, &config, &[(0, 1000), (0, 400), (70, 400)], &[0], &[]);
    let right = [
        "0 tx 0-4 5-11p",
        "50 tx [status mrw 13/0 beyond]",
        "50 discarded 0",
        "50 unsent 1",
        "75 lost 0",
        "80 status mrw_ack 13/0",
    ];
    assert_eq!(link.log[..6], right);
    // The next one starts after the gap, and the receiver's report of it arrives in time: 13 to 23.
    assert_eq!(link.log[6], "110 tx 13-17 18-23p");
}

/// Timer_Discard runs from the arrival of an SDU, to the instant.
#[test]
fn timer_discard_ends_at_its_time() {
    let discarded = |after: u64| {
        let config = Config { timer_poll: Some(Duration::from_secs(1)), ..timer(after) };
        let seen = timeline(&config, &[(10, 400)], &[10], &[]);
        lines(&seen, "discarded").iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(discarded(40), ["50 discarded 0"]);
    assert_eq!(discarded(41), ["60 discarded 0"]);
    // An SDU that is confirmed before has no timer any more.
    assert!(lines(&timeline(&timer(56), &[(0, 400)], &[], &[]), "discarded").is_empty());
}

/// The first of two SDUs is taken out of the buffer by its owner while the window is shut by another.
#[test]
fn an_sdu_taken_out_of_the_buffer_is_never_sent() {
    let mut link = Link::new(&Config { configured_tx_window_size: 12, ..timer(100) });
    for _ in 0..3 {
        link.handle_sdu(NETWORK, 0, 479);
    }
    for now in (0..400).step_by(10) {
        link.ttis(now, false, false);
        if now == 10 {
            assert_eq!(link.take_waiting(NETWORK, 0), Some(1));
        }
    }
    assert_eq!(lines(&link.log, "up"), ["25 up 0", "85 up 2"]);
    assert_eq!(link.take_waiting(NETWORK, 0), None);
    // The MRW of a later SDU passes it over.
    assert!(lines(&link.log, "lost").is_empty());
}

/// As before with SDU 2 of four: its neighbours arrive, and Timer_Discard ends for it without effect.
#[test]
fn an_sdu_in_the_middle_of_the_buffer_is_discarded() {
    let mut link = Link::new(&Config { configured_tx_window_size: 12, ..timer(300) });
    for _ in 0..4 {
        link.handle_sdu(NETWORK, 0, 479);
    }
    for now in (0..500).step_by(10) {
        link.ttis(now, false, false);
        if now == 10 {
            assert_eq!(link.ends[NETWORK].sender().first_waiting(), 1);
            assert_eq!(link.take_waiting(NETWORK, 3), None);
            assert_eq!(link.take_waiting(NETWORK, 1), Some(2));
        }
    }
    assert_eq!(lines(&link.log, "up"), ["25 up 0", "85 up 1", "145 up 3"]);
    assert_eq!(lines(&link.log, "done").len(), 3);
    assert!(
        !link.log.iter().any(|line| ["discarded", "unsent", "lost"].iter().any(|word| line.contains(word)))
    );
}

fn arrives(runs: &[(u64, u64)], ends: &[SduEnd]) -> Transmission {
    let runs = runs.iter().map(|&(first, end)| Run { sns: SnRange::new(first, end), poll: false });
    Transmission { runs: runs.collect(), ends: ends.to_vec() }
}

/// SDU 1 has gone up out of sequence when the MRW gives up both: only SDU 0 is lost.
#[test]
fn what_has_gone_up_out_of_sequence_is_not_lost() {
    let mut receiver = Receiver::new(&Config { delivery: Delivery::OutOfSequence, ..timer(100) });
    let mut report = Report::default();
    let end = |sdu, first, sn| SduEnd { sdu, first, sn };
    let ends = [end(0, 0, 3), end(1, 3, 5), end(2, 6, 7)];
    receiver.handle_pdus(&arrives(&[(3, 6), (7, 8)], &ends), &mut report);
    assert_eq!(report.up, [1]);
    receiver.handle_mrw(&Mrw { sn_mrw: vec![6], n_length: 0, next_sdu: 2, ..Mrw::default() }, &mut report);
    assert_eq!((report.lost.as_slice(), receiver.vr_r(), receiver.vr_h()), (&[0][..], 6, 8));
    // Late PDUs of discarded SDUs change nothing.
    receiver.handle_pdus(&arrives(&[(0, 3)], &[]), &mut report);
    receiver.handle_pdus(&arrives(&[(6, 7)], &[]), &mut report);
    assert_eq!((report.up.as_slice(), receiver.vr_r()), (&[1, 2][..], 8));
}

/// In sequence, SDU 1 waits for SDU 0: the MRW has it go up, and SDU 2, which is not discarded, after it. SDU 3 has
/// a PDU missing.
#[test]
fn an_mrw_hands_up_what_is_complete() {
    let mut receiver = Receiver::new(&timer(100));
    let mut report = Report::default();
    let end = |sdu, first, sn| SduEnd { sdu, first, sn };
    let ends = [end(0, 0, 3), end(1, 3, 5), end(2, 6, 7), end(3, 7, 9), end(4, 10, 10)];
    receiver.handle_pdus(&arrives(&[(3, 8), (9, 11)], &ends), &mut report);
    assert!(report.up.is_empty());
    receiver.handle_mrw(&Mrw { sn_mrw: vec![6], next_sdu: 2, ..Mrw::default() }, &mut report);
    assert_eq!((report.up.as_slice(), report.lost.as_slice()), (&[1, 2][..], &[0][..]));
    receiver.handle_mrw(&Mrw { sn_mrw: vec![10], next_sdu: 4, ..Mrw::default() }, &mut report);
    assert_eq!((report.up.as_slice(), report.lost.as_slice()), (&[1, 2, 4][..], &[0, 3][..]));
    // PDU 11 would tell where SDU 6 begins. A reset gives up all.
    receiver.handle_mrw(&Mrw { sn_mrw: vec![11], next_sdu: 5, ..Mrw::default() }, &mut report);
    receiver.handle_pdus(&arrives(&[(12, 14)], &[end(6, 12, 13)]), &mut report);
    receiver.reset(8, &mut report);
    assert_eq!(report.lost, [0, 3, 5, 6, 7]);
}

/// An answer outside of the outstanding range is ignored; so is one to another MRW.
#[test]
fn an_mrw_ack_that_fits_nothing_changes_nothing() {
    // At SN_MRW, N has to be N_LENGTH, and above 0. 26 is VT(S).
    let answers = [
        (17, 1, true),
        (18, 0, true),
        (26, 0, true),
        (16, 1, false),
        (17, 0, false),
        (17, 2, false),
        (18, 1, false),
        (27, 0, false),
    ];
    for (sn_ack, n, ends) in answers {
        let mut link = timeline_until(80, &max_dat(2), &[(0, 410), (0, 300), (0, 300)], &[0], &[]);
        assert_eq!(link.log.last().unwrap(), "70 tx [status mrw 17/1]");
        let answer = airpath_core::rlc::control::MrwAck { n, sn_ack };
        let status = Status { mrw_ack: Some(answer), ..Status::default() };
        let tti = Tti { control: vec![Control::Status(status)], ..Tti::default() };
        link.ends[NETWORK].handle_tti(ms(85), &tti, &mut Report::default());
        let mut sent = Tti::default();
        // Timer_MRW ends at 270.
        link.ends[NETWORK].build_tti(ms(270), 12, &mut sent, &mut Report::default());
        let is_17 = |mrw: &Mrw| mrw.last() == 17;
        let repeats =
            |control: &Control| matches!(control, Control::Status(s) if s.mrw.as_ref().is_some_and(is_17));
        assert_eq!(sent.control.iter().any(repeats), !ends, "{sn_ack}/{n}");
    }
}

/// A window told by the receiver: VT(WS) follows it, up to the configured size.
#[test]
fn the_receiver_sets_the_window() {
    let mut link = Link::new(&Config { configured_tx_window_size: 100, ..Config::default() });
    for (pdus, window) in [(8, 8), (1, 1), (0, 1), (100, 100), (101, 100), (4095, 100)] {
        link.ends[UE].set_window(pdus);
        let start = 1000 * u64::from(pdus);
        link.tti(UE, start, |_| {});
        link.arrive(start + 25);
        let sender = link.ends[NETWORK].sender();
        assert_eq!(sender.vt_ms() - sender.vt_a(), window, "{pdus}");
        assert_eq!(link.ends[UE].deadline(), airpath_core::time::Instant::NEVER);
    }
}
