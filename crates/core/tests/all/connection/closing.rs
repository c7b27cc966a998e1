//! Every way in which a connection ends: RFC 9293 (3.6), figure 5.

use super::bench::{Bench, config, limits, ms, reset_line};
use airpath_core::tcp::connection::{Ended, Reset, State};
use airpath_core::time::Duration;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn this_end_closes_first() {
    let mut bench = Bench::established();
    bench.connection.shutdown(bench.now);
    assert_eq!(bench.connection.state(), State::FinWait1);
    bench.sends("FA 1 ack 1");
    bench.arrives("A 1 ack 2");
    assert_eq!(bench.connection.state(), State::FinWait2);
    bench.arrives("PA 1 ack 2 +20");
    assert_eq!(bench.read_all().len(), 20, "half-closed: data still comes");
    bench.arrives("FA 21 ack 2");
    assert_eq!(bench.connection.state(), State::TimeWait);
    bench.sends("A 2 ack 22");
    assert!(bench.connection.is_read_out());
    bench.wait(secs(59));
    assert_eq!(bench.connection.ended(), None);
    bench.wait(secs(1));
    assert_eq!(bench.connection.ended(), Some(Ended::Closed));
}

#[test]
fn the_fin_of_the_other_end_comes_with_the_ack_of_ours() {
    let mut bench = Bench::established();
    bench.connection.shutdown(bench.now);
    bench.sends("FA 1 ack 1");
    bench.arrives("FA 1 ack 2");
    assert_eq!(bench.connection.state(), State::TimeWait);
    bench.sends("A 2 ack 2");
}

#[test]
fn the_other_end_closes_first_and_this_one_goes_on_sending() {
    let mut bench = Bench::established();
    bench.arrives("FPA 1 ack 1 +100");
    assert_eq!(bench.connection.state(), State::CloseWait);
    bench.sends("A 1 ack 102");
    assert!(!bench.connection.is_read_out(), "the application has yet to read");
    assert_eq!(bench.read_all().len(), 100);
    assert!(bench.connection.is_read_out());
    bench.write(0, 300);
    bench.sends("PA 1 ack 102 +300");
    bench.arrives("A 102 ack 301");
    bench.connection.close(bench.now);
    assert_eq!(bench.connection.state(), State::LastAck);
    bench.sends("FA 301 ack 102");
    bench.arrives("A 102 ack 302");
    assert_eq!(bench.connection.ended(), Some(Ended::Closed));
    assert_eq!(bench.connection.deadline(), None);
}

#[test]
fn both_close_at_once() {
    let mut bench = Bench::established();
    bench.connection.shutdown(bench.now);
    bench.sends("FA 1 ack 1");
    bench.arrives("FA 1 ack 1");
    assert_eq!(bench.connection.state(), State::Closing);
    bench.sends("A 2 ack 2");
    bench.arrives("A 2 ack 2");
    assert_eq!(bench.connection.state(), State::TimeWait);
}

#[test]
fn a_fin_goes_with_the_last_data_and_is_retransmitted() {
    let mut bench = Bench::established();
    bench.write(0, 1500);
    bench.connection.shutdown(bench.now);
    assert_eq!(bench.sent(), ["A 1 ack 1 +1000", "FPA 1001 ack 1 +500"]);
    bench.arrives("A 1 ack 1001");
    assert_eq!(bench.sent_within(secs(1)), ["FPA 1001 ack 1 +500"]);
    bench.arrives("A 1 ack 1501");
    assert_eq!(bench.connection.state(), State::FinWait1, "everything except the FIN");
    assert_eq!(bench.sent_within(secs(4)).first().map(String::as_str), Some("FA 1501 ack 1"));
    bench.arrives("A 1 ack 1502");
    assert_eq!(bench.connection.state(), State::FinWait2);
}

#[test]
fn a_fin_that_overtakes_data_waits_for_it() {
    let mut bench = Bench::established();
    bench.arrives("FPA 101 ack 1 +50");
    bench.sends("A 1 ack 1");
    assert_eq!(bench.connection.state(), State::Established);
    bench.arrives("A 1 ack 1 +100");
    assert_eq!(bench.connection.state(), State::CloseWait);
    bench.sends("A 1 ack 152");
    assert_eq!(bench.read_all(), super::bench::octets(0, 150));
}

#[test]
fn nothing_is_taken_behind_a_fin() {
    let mut bench = Bench::established();
    bench.arrives("FA 1 ack 1");
    bench.sends("A 1 ack 2");
    bench.arrives("PA 2 ack 1 +100");
    bench.sends("A 1 ack 2");
    bench.arrives("FPA 1 ack 1 +100");
    assert_eq!((bench.connection.readable(), bench.connection.is_read_out()), (0, true));
}

#[test]
fn a_fin_before_what_has_come_already_is_no_fin() {
    let mut bench = Bench::established();
    bench.arrives("A 1 ack 1 +100");
    assert_eq!(bench.read_all().len(), 100);
    bench.arrives("FA 50 ack 1");
    assert_eq!(bench.connection.state(), State::Established);
}

#[test]
fn in_time_wait_a_repeated_fin_is_acknowledged_and_the_time_begins_anew() {
    let mut bench = Bench::established();
    bench.connection.shutdown(bench.now);
    bench.sent();
    bench.arrives("FA 1 ack 2");
    bench.sends("A 2 ack 2");
    bench.wait(secs(50));
    bench.arrives("FA 1 ack 2");
    bench.sends("A 2 ack 2");
    bench.wait(secs(59));
    assert_eq!(bench.connection.state(), State::TimeWait);
    bench.wait(secs(1));
    assert_eq!(bench.connection.ended(), Some(Ended::Closed));
}

#[test]
fn time_wait_gives_way_to_a_later_syn_and_to_no_other() {
    let mut bench = Bench::established();
    assert!(!bench.connection.gives_way_to(&bench.packet("S 100")), "it is open");
    bench.connection.shutdown(bench.now);
    bench.sent();
    bench.arrives("FA 1 ack 2");
    assert!(bench.connection.gives_way_to(&bench.packet("S 100")));
    assert!(!bench.connection.gives_way_to(&bench.packet("S 1")));
    assert!(!bench.connection.gives_way_to(&bench.packet("SA 100 ack 1")));
    assert!(!bench.connection.gives_way_to(&bench.packet("SR 100")));
}

#[test]
fn data_for_an_application_that_has_closed_is_answered_with_a_reset() {
    let mut bench = Bench::established();
    bench.connection.close(bench.now);
    bench.sends("FA 1 ack 1");
    bench.arrives("A 1 ack 2");
    bench.arrives("PA 1 ack 2 +10");
    bench.sends("RA 2 ack 1");
    assert_eq!(bench.connection.ended(), Some(Ended::Aborted));
    bench.silent();
}

#[test]
fn who_closes_with_data_unread_resets() {
    let mut bench = Bench::established();
    bench.arrives("PA 1 ack 1 +10");
    bench.connection.close(bench.now);
    bench.sends("RA 1 ack 11");
    assert_eq!(bench.connection.ended(), Some(Ended::Aborted));
}

#[test]
fn an_application_that_has_closed_does_not_wait_for_ever_for_the_other_fin() {
    for (closes, waits) in [(true, Some(Ended::Closed)), (false, None)] {
        let mut bench = Bench::established();
        if closes {
            bench.connection.close(bench.now)
        } else {
            bench.connection.shutdown(bench.now)
        }
        bench.sent();
        bench.arrives("A 1 ack 2");
        bench.wait(limits().fin_wait);
        assert_eq!(bench.connection.ended(), waits);
    }
}

#[test]
fn a_reset_ends_every_state() {
    let ways: [(&[&str], bool, Ended); 5] = [
        (&[], false, Ended::Reset),
        (&["FA 1 ack 1"], false, Ended::Reset),
        (&["A 1 ack 1"], true, Ended::Reset),
        (&["FA 1 ack 1"], true, Ended::Reset),
        (&["FA 1 ack 2"], true, Ended::Closed),
    ];
    for (segments, closes, how) in ways {
        let mut bench = Bench::established();
        if closes {
            bench.connection.shutdown(bench.now);
            bench.sent();
        }
        for segment in segments {
            bench.arrives(segment);
        }
        bench.sent();
        let state = bench.connection.state();
        let expected = if segments.iter().any(|line| line.starts_with('F')) { 2 } else { 1 };
        bench.arrives(&format!("R {expected}"));
        assert_eq!(bench.connection.ended(), Some(how), "{state:?}");
        bench.silent();
    }
}

#[test]
fn an_abort_tells_the_other_end() {
    let mut bench = Bench::established();
    bench.write(0, 100);
    bench.sent();
    bench.connection.abort();
    bench.sends("RA 101 ack 1");
    let mut opening = Bench::accept(&config());
    opening.connection.abort();
    opening.sends("RA 1 ack 1");
}

#[test]
fn what_is_never_acknowledged_is_given_up_after_r2() {
    let mut bench = Bench::established();
    bench.write(0, 100);
    bench.sent();
    bench.wait(secs(99));
    bench.sent();
    assert_eq!(bench.connection.ended(), None);
    let left = bench.sent_within(secs(61));
    assert_eq!(bench.connection.ended(), Some(Ended::TimedOut));
    assert_eq!(left.last().map(String::as_str), Some("RA 101 ack 1"));
}

#[test]
fn progress_keeps_a_slow_connection_alive() {
    let mut bench = Bench::established();
    bench.write(0, 3000);
    bench.sent();
    for acked in [1001, 2001] {
        bench.wait(secs(70));
        bench.sent();
        bench.arrives(&format!("A 1 ack {acked}"));
        assert_eq!(bench.connection.ended(), None);
    }
    bench.wait(ms(10));
    assert_eq!(bench.connection.state(), State::Established);
}

#[test]
fn what_meets_no_connection_is_reset_and_a_reset_is_not() {
    let bench = Bench::established();
    let answer = |line: &str| reset_line(Reset::answering(&bench.packet(line)));
    assert_eq!(answer("A 1 ack 500").as_deref(), Some("R 500"));
    assert!(answer("S 7").unwrap().ends_with("ack 8"));
    assert_eq!(answer("RA 1 ack 1"), None);
}
