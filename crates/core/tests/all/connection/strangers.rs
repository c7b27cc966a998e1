//! What another endpoint, or a stranger, may send into an open connection: RFC 5961, RFC 7323 (5), RFC 9293 (3.10.7.4).

use super::bench::{Bench, ms, plain_peer};
use airpath_core::packet::Packet;
use airpath_core::tcp::connection::State;

#[test]
fn a_reset_in_the_window_is_challenged_and_one_outside_is_nothing() {
    let mut bench = Bench::established();
    bench.arrives("R 2");
    bench.sends("A 1 ack 1");
    bench.arrives("R 10001");
    bench.arrives("R 0");
    bench.silent();
    assert_eq!(bench.connection.state(), State::Established);
}

#[test]
fn a_syn_in_an_open_connection_is_challenged() {
    let mut bench = Bench::established();
    for line in ["S 0", "S 5", "SA 0 ack 1", "S 100000"] {
        bench.arrives(line);
        bench.sends("A 1 ack 1");
    }
    assert_eq!(bench.connection.state(), State::Established);
}

#[test]
fn acks_of_what_was_never_sent_or_long_ago_are_challenged() {
    let mut bench = Bench::established();
    bench.write(0, 100);
    bench.sent();
    bench.arrives("A 1 ack 102");
    bench.sends("A 101 ack 1");
    bench.arrives("A 1 ack -8000");
    bench.sends("A 101 ack 1");
    // A duplicate from within the window is not.
    bench.arrives("A 1 ack 101");
    bench.arrives("A 1 ack 50");
    bench.silent();
}

#[test]
fn challenges_are_ten_in_five_seconds() {
    let mut bench = Bench::established();
    let challenge = |one: &mut Bench| {
        one.arrives("S 0");
        one.sent().len()
    };
    let first: usize = (0..50).map(|_| challenge(&mut bench)).sum();
    bench.wait(ms(5000));
    let later: usize = (0..50).map(|_| challenge(&mut bench)).sum();
    assert_eq!((first, later), (10, 10));
}

#[test]
fn old_data_is_acknowledged_and_not_taken_again() {
    let mut bench = Bench::established();
    bench.arrives("PA 1 ack 1 +100");
    bench.arrives("PA 101 ack 1 +100");
    bench.sends("A 1 ack 201");
    bench.arrives("PA 1 ack 1 +100");
    bench.sends("A 1 ack 201");
    bench.arrives("PA 51 ack 1 +300");
    assert_eq!(bench.read_all(), super::bench::octets(0, 350));
}

#[test]
fn data_beyond_the_window_is_cut_or_left() {
    let mut bench = Bench::established();
    bench.arrives("PA 9501 ack 1 +900");
    bench.sends("A 1 ack 1");
    bench.arrives("PA 10001 ack 1 +100");
    bench.sends("A 1 ack 1");
    bench.arrives("A 1 ack 1 +9500");
    bench.sends("A 1 ack 10001");
    assert_eq!(bench.read_all(), super::bench::octets(0, 10_000));
}

#[test]
fn a_segment_without_ack_is_nothing() {
    let mut bench = Bench::established();
    bench.arrives("P 1 +100");
    bench.silent();
    assert_eq!(bench.connection.readable(), 0);
}

fn with_timestamps() -> Bench {
    let config = airpath_core::tcp::Config { timestamps: true, ..super::bench::config() };
    let mut bench = Bench::connect(&config);
    bench.peer = Packet { has_timestamps: true, ts_val: 1000, ..plain_peer() };
    bench.sent();
    bench.arrives("SA 0 ack 1");
    bench.sent();
    bench
}

/// RFC 6191 (2): where both have timestamps these decide, and sequence numbers between equal ones.
#[test]
fn with_timestamps_the_later_one_ends_time_wait() {
    let mut bench = with_timestamps();
    bench.connection.shutdown(bench.now);
    bench.sent();
    bench.arrives("FA 1 ack 2 ts 1005");
    assert_eq!(bench.connection.state(), State::TimeWait);
    let gives_way = |line: &str| bench.connection.gives_way_to(&bench.packet(line));
    assert!(gives_way("S 1 ts 1006") && gives_way("S 100 ts 1005"));
    assert!(!gives_way("S 100 ts 1004") && !gives_way("S 1 ts 1005"));
}

#[test]
fn paws_drops_what_is_older_than_what_was_acknowledged() {
    let mut bench = with_timestamps();
    bench.arrives("PA 1 ack 1 +100 ts 1005");
    assert_eq!(bench.read_all().len(), 100);
    bench.arrives("PA 101 ack 1 +100 ts 1004");
    bench.sends("A 1 ack 101");
    assert_eq!(bench.connection.readable(), 0);
    // A pure ACK that has been overtaken brings no answer.
    bench.arrives("A 101 ack 1 ts 1004");
    bench.silent();
    // A reset has no timestamp to be compared.
    bench.arrives("R 101 ts 0");
    assert!(bench.connection.ended().is_some());
}

#[test]
fn what_was_sent_before_a_gap_was_filled_is_not_old() {
    let mut bench = with_timestamps();
    bench.arrives("PA 101 ack 1 +100 ts 1006");
    bench.sends("A 1 ack 1");
    bench.arrives("PA 1 ack 1 +100 ts 1005");
    bench.sends("A 1 ack 201");
}

#[test]
fn a_segment_without_the_timestamp_that_was_agreed_on_is_dropped() {
    let mut bench = with_timestamps();
    bench.peer.has_timestamps = false;
    bench.arrives("PA 1 ack 1 +100");
    bench.silent();
    assert_eq!(bench.connection.readable(), 0);
}

#[test]
fn a_timestamp_of_a_month_ago_is_not_compared() {
    let mut bench = with_timestamps();
    bench.wait(airpath_core::time::Duration::from_secs(25 * 86_400));
    bench.arrives("PA 1 ack 1 +100 ts 3");
    assert_eq!(bench.connection.readable(), 100);
}
