//! The reset of the link.

use super::link::{Link, NETWORK, UE, ms, timeline_until};
use airpath_core::rlc::am::Config;
use airpath_core::rlc::control::{Control, Reset, Status};
use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Report, Tti};
use airpath_core::time::{Duration, Instant};

fn no_discard() -> Config {
    Config { max_dat: Some(2), timer_rst: Duration::from_millis(100), ..Config::default() }
}

fn lines<'a>(log: &'a [String], word: &str) -> Vec<&'a str> {
    log.iter().filter(|line| line.contains(word)).map(String::as_str).collect()
}

fn all_from(first: u64, last: u64) -> Vec<u64> {
    (first / 10..=last / 10).map(|n| n * 10).collect()
}

/// PDU 10 reaches `MaxDAT` at 60. The SDU that waits by then is sent from PDU 0 on.
#[test]
fn a_pdu_that_reaches_max_dat_resets_the_link() {
    let link = timeline_until(400, &no_discard(), &[(0, 400), (65, 400)], &[0], &[]);
    let right = [
        "0 tx 0-9 10p",
        "60 tx [reset 0]",
        "85 lost 0",
        "90 reset_ack 0",
        "115 discarded 0",
        "120 tx 0-9 10p",
        "145 up 1",
        "150 status 11",
        "175 done 1",
    ];
    assert_eq!(link.log, right);
    assert_eq!(link.ends[NETWORK].counts().resets, 1);
}

/// A RESET is repeated after Timer_RST with its RSN; it is carried out when it arrives for the first time.
#[test]
fn a_lost_reset_is_repeated() {
    let lost: Vec<u64> = [0].into_iter().chain(all_from(60, 150)).collect();
    let link = timeline_until(400, &no_discard(), &[(0, 400), (65, 400)], &lost, &[]);
    assert_eq!(lines(&link.log, "reset"), ["60 tx [reset 0]", "160 tx [reset 0]", "190 reset_ack 0"]);
    assert_eq!(lines(&link.log, "lost"), ["185 lost 0"]);
}

/// The UE was reset at 85 and sends from PDU 0 on. The RESET at 160 is answered, and what it sends is not given up;
/// the network takes nothing before.
#[test]
fn a_repeated_reset_is_answered_and_not_carried_out_again() {
    let mut link = Link::of(&no_discard(), &Config { max_dat: None, ..no_discard() });
    link.handle_sdu(NETWORK, 0, 400);
    for now in all_from(0, 400) {
        if now == 100 {
            link.handle_sdu(UE, now, 400);
        }
        link.ttis(now, now == 0, now == 90);
    }
    assert_eq!(
        lines(&link.log, "reset"),
        ["60 tx [reset 0]", "90 reset_ack 0", "160 tx [reset 0]", "190 reset_ack 0"]
    );
    assert!(lines(&link.log, "discarded'").is_empty());
    assert_eq!(lines(&link.log, "back")[..2], ["100 back 0-9 10p", "160 back 10p"]);
    // Its PDU of 160 arrives at 185, when the network still waits; that of 220 opens the gap.
    assert_eq!(lines(&link.log, "up'"), ["305 up' 0"]);
    assert_eq!(link.ends[NETWORK].counts().resets, 1);
    assert_eq!(link.ends[UE].counts().reset_ack_pdus, 2);
}

/// A RESET is sent MaxRST - 1 times; then the end is silent, gives up what it has sent and takes nothing.
#[test]
fn max_rst_ends_it_all() {
    for max_rst in 1..5 {
        let config = Config { max_rst, ..no_discard() };
        let mut link = Link::new(&config);
        link.handle_sdu(NETWORK, 0, 400);
        for now in all_from(0, 900) {
            link.ttis(now, true, false);
            if now == 60 {
                link.handle_sdu(NETWORK, 65, 400);
            }
        }
        let end = &link.ends[NETWORK];
        assert_eq!(end.counts().reset_pdus, u64::from(max_rst) - 1);
        assert!(end.is_dead());
        assert_eq!((end.counts().unrecoverable_errors, end.deadline()), (1, Instant::NEVER));
        let given_up = 60 + 100 * (u64::from(max_rst) - 1);
        assert_eq!(lines(&link.log, "discarded"), [format!("{given_up} discarded 0")]);
        assert!(end.counts().data_pdus == 11 && end.sender().untransmitted() == 1);
        // Not even a RESET is answered.
        let mut report = Report::default();
        let reset = Reset { rsn: false, hfni: 0, next_sdu: 0 };
        let tti = Tti { control: vec![Control::Reset(reset)], ..Tti::default() };
        link.ends[NETWORK].handle_tti(ms(1000), &tti, &mut report);
        assert_eq!(link.ends[NETWORK].deadline(), Instant::NEVER);
    }
}

/// The second procedure has the other RSN, and an answer to the first is none to it.
#[test]
fn each_procedure_has_its_number() {
    let config = no_discard();
    let mut link = Link::new(&config);
    for start in [0, 400, 800] {
        link.handle_sdu(NETWORK, start, 400);
        for now in all_from(start, start + 390) {
            link.ttis(now, now == start, false);
            if now == start + 70 {
                let stale = Reset { rsn: start != 400, hfni: 0, next_sdu: 0 };
                let tti = Tti { control: vec![Control::ResetAck(stale)], ..Tti::default() };
                link.ends[NETWORK].handle_tti(ms(now), &tti, &mut Report::default());
            }
        }
    }
    let right = ["60 tx [reset 0]", "460 tx [reset 1]", "860 tx [reset 0]"];
    assert_eq!(lines(&link.log, "tx [reset"), right);
    assert_eq!(link.ends[NETWORK].counts().resets, 3);
    assert_eq!(lines(&link.log, "discarded"), ["115 discarded 0", "515 discarded 1", "915 discarded 2"]);
}

/// Both ends reset at once. Each carries out the other's and waits for its own answer.
#[test]
fn resets_may_cross() {
    let mut link = Link::new(&no_discard());
    for end in [NETWORK, UE] {
        link.handle_sdu(end, 0, 400);
        link.handle_sdu(end, 0, 400);
    }
    link.pdus = 11;
    for now in all_from(0, 600) {
        link.ttis(now, now <= 10, now <= 10);
        if now == 80 {
            for end in [NETWORK, UE] {
                link.handle_sdu(end, now, 400);
            }
        }
    }
    for (tx, mark) in [("tx [reset 0]", ""), (" reset 0", "'")] {
        assert_eq!(lines(&link.log, tx).len(), 1, "{:#?}", link.log);
        assert_eq!(lines(&link.log, &format!("up{mark} ")).len(), 1);
        assert_eq!(lines(&link.log, &format!("lost{mark} ")).len(), 2);
        assert_eq!(lines(&link.log, &format!("discarded{mark} ")).len(), 2);
    }
    assert_eq!(link.ends.each_ref().map(|end| end.counts().resets), [1, 1]);
}

fn erroneous(lsn: u64) -> Tti {
    let status = Status { lsn: Some(lsn), ..Status::default() };
    Tti { control: vec![Control::Status(status)], ..Tti::default() }
}

/// PDUs 0 to 10 are in flight; a STATUS that acknowledges PDU 11 refers to none of this sender's. A STATUS that arrives
/// during the reset is ignored.
#[test]
fn an_erroneous_status_resets_the_link() {
    for (lsn, resets) in [(11, 0), (12, 1)] {
        let mut link = Link::new(&Config::default());
        link.handle_sdu(NETWORK, 0, 400);
        link.ttis(0, true, false);
        link.ends[NETWORK].handle_tti(ms(5), &erroneous(lsn), &mut Report::default());
        link.ends[NETWORK].handle_tti(ms(6), &erroneous(lsn + 20 * resets), &mut Report::default());
        assert_eq!(link.ends[NETWORK].counts().erroneous_status_pdus, resets);
        link.ttis(10, false, false);
        assert_eq!(link.ends[NETWORK].counts().reset_pdus, resets);
    }
}

/// VT(S), VT(A), VT(MS), VR(R) and VR(H) of an end.
fn state(link: &Link, end: usize) -> (u64, u64, u64, u64, u64) {
    let (sender, receiver) = (link.ends[end].sender(), link.ends[end].receiver());
    (sender.vt_s(), sender.vt_a(), sender.vt_ms(), receiver.vr_r(), receiver.vr_h())
}

/// State variables, windows and Timer_Status_Prohibit go to their initial values at both ends; the hyper frame number
/// continues.
#[test]
fn both_ends_begin_anew() {
    let mut link = Link::new(&Config { configured_tx_window_size: 100, ..Config::default() });
    link.handle_sdu(NETWORK, 0, 400);
    link.handle_sdu(UE, 0, 400);
    link.ends[UE].set_window(20);
    for now in all_from(0, 90) {
        link.ttis(now, false, false);
    }
    assert_eq!(state(&link, NETWORK), (11, 11, 31, 11, 11));
    assert_eq!(state(&link, UE), (11, 11, 111, 11, 11));
    link.ends[NETWORK].handle_tti(ms(95), &erroneous(12), &mut Report::default());
    for now in all_from(100, 160) {
        link.ttis(now, false, false);
    }
    for end in [NETWORK, UE] {
        assert_eq!(state(&link, end), (0, 0, 100, 0, 0));
        assert_eq!(link.ends[end].sender().hfni(), 1);
    }
}

/// HFNI is the number that was used last, by either end; PDU 4096 is the first of the next.
#[test]
fn the_hyper_frame_number_is_the_highest_in_use() {
    for (octets, hfni) in [(4096 * 40 - 1, 0), (4096 * 40, 1)] {
        let config =
            Config { configured_tx_window_size: 2048, configured_rx_window_size: 2048, ..Config::default() };
        let mut link = Link::new(&config);
        link.pdus = 100;
        link.handle_sdu(NETWORK, 0, octets);
        for now in all_from(0, 1000) {
            link.ttis(now, false, false);
        }
        let vt_s = link.ends[NETWORK].sender().vt_s();
        assert_eq!((vt_s, link.ends[NETWORK].sender().hfni()), (4096 + u64::from(hfni), hfni));
        link.ends[NETWORK].handle_tti(ms(1005), &erroneous(vt_s + 1), &mut Report::default());
        let mut sent = Tti::default();
        link.ends[NETWORK].build_tti(ms(1010), 1, &mut sent, &mut Report::default());
        assert_eq!(sent.control, [Control::Reset(Reset { rsn: false, hfni, next_sdu: 1 })]);
        // The answer has the previous number, and later PDUs have the next.
        let peer = &mut link.ends[UE];
        let before = peer.sender().hfni();
        peer.handle_tti(ms(1035), &sent, &mut Report::default());
        let mut answer = Tti::default();
        peer.build_tti(ms(1040), 1, &mut answer, &mut Report::default());
        assert_eq!(answer.control, [Control::ResetAck(Reset { rsn: false, hfni: before, next_sdu: 0 })]);
        assert_eq!(peer.sender().hfni(), before + 1);
    }
}

/// Periodic polls continue at their interval through a reset; while it is pending nothing else is sent.
#[test]
fn a_pending_reset_sends_nothing_else() {
    let config = Config {
        timer_status_periodic: Some(Duration::from_millis(40)),
        timer_status_prohibit: None,
        timer_poll_periodic: Some(Duration::from_millis(70)),
        ..no_discard()
    };
    let mut link = Link::new(&config);
    link.handle_sdu(NETWORK, 0, 400);
    for now in all_from(0, 400) {
        link.ttis(now, now == 0 || now == 70, now <= 200);
        if now == 100 {
            link.handle_sdu(NETWORK, now, 400);
        }
    }
    // Nothing comes back until 200: Timer_RST repeats the RESET at 160, and its answer at 190 is lost too.
    let tx = lines(&link.log, "tx");
    let first = tx.iter().position(|line| line.contains("reset")).unwrap();
    let pending: Vec<_> = tx[first..].iter().take_while(|line| line.contains("reset")).collect();
    assert_eq!(pending, [&"60 tx [reset 0]", &"160 tx [reset 0]", &"260 tx [reset 0]"]);
    // Timer_Poll_Periodic has ended meanwhile.
    assert_eq!(tx[first + pending.len()], "320 tx [status 0] 0p 1-9 10p");
}

/// With a PDU in each TTI, the answer to a RESET goes before data, and before an own RESET.
#[test]
fn the_answer_goes_first() {
    let mut link = Link::new(&no_discard());
    link.pdus = 1;
    link.handle_sdu(UE, 0, 400);
    link.handle_sdu(NETWORK, 0, 400);
    link.ends[UE].handle_tti(ms(5), &erroneous(1), &mut Report::default());
    let reset = Reset { rsn: false, hfni: 7, next_sdu: 0 };
    let tti = Tti { control: vec![Control::Reset(reset)], ..Tti::default() };
    link.ends[UE].handle_tti(ms(5), &tti, &mut Report::default());
    link.tti(UE, 10, |_| {});
    link.tti(UE, 20, |_| {});
    assert_eq!(link.log, ["10 reset_ack 0", "20 reset 0"]);
}
