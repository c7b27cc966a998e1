//! Closed windows, at either end, and flow control towards the owner.

use super::bench::{Bench, ms, octets};
use airpath_core::tcp::connection::{Ended, State};
use airpath_core::time::Duration;

#[test]
fn an_application_that_does_not_read_closes_the_window_and_opens_it_again() {
    let mut bench = Bench::established();
    for at in 0..10 {
        bench.arrives(&format!("A {} ack 1 +1000", 1 + at * 1000));
    }
    let sent = bench.sent();
    assert_eq!(sent.last().map(String::as_str), Some("A 1 ack 10001"));
    // Probes with an octet, as BSD has them, and with an old number, as Linux has them.
    bench.arrives("A 10001 ack 1 +1");
    bench.sends("A 1 ack 10001");
    bench.arrives("A 10000 ack 1");
    bench.sends("A 1 ack 10001");
    assert_eq!(bench.connection.readable(), 10_000);
    let mut out = Vec::new();
    bench.connection.read(bench.now, 100, &mut out);
    bench.silent();
    bench.connection.read(bench.now, 5000, &mut out);
    bench.sends("A 1 ack 10001");
    bench.arrives("A 10001 ack 1 +1000");
    bench.connection.read(bench.now, u64::MAX, &mut out);
    assert_eq!(out, octets(0, 11_000));
}

#[test]
fn acks_are_taken_from_segments_that_a_closed_window_refuses() {
    let mut bench = Bench::established();
    bench.write(0, 500);
    bench.sent();
    for at in 0..10 {
        bench.arrives(&format!("A {} ack 1 +1000", 1 + at * 1000));
    }
    bench.sent();
    bench.arrives("A 10001 ack 501 +100");
    assert_eq!(bench.connection.duplex().unwrap().sender().state().una, 500);
}

#[test]
fn a_fin_at_a_closed_window_is_taken_when_it_opens() {
    let mut bench = Bench::established();
    for at in 0..9 {
        bench.arrives(&format!("A {} ack 1 +1000", 1 + at * 1000));
    }
    bench.arrives("FA 9001 ack 1 +1000");
    assert_eq!(bench.sent().last().map(String::as_str), Some("A 1 ack 10001"));
    assert_eq!(bench.connection.state(), State::Established);
    assert_eq!(bench.read_all().len(), 10_000);
    bench.sends("A 1 ack 10002");
    assert_eq!(bench.connection.state(), State::CloseWait);
    assert!(bench.connection.is_read_out());
}

#[test]
fn a_closed_window_is_probed_as_long_as_it_is_said_to_be_closed() {
    let mut bench = Bench::established();
    bench.arrives("A 1 ack 1 win 0");
    bench.write(0, 3000);
    bench.silent();
    for _ in 0..20 {
        let probes = bench.sent_within(Duration::from_secs(60));
        assert!(probes.iter().all(|line| line == "A 1 ack 1 +1"), "{probes:?}");
        bench.arrives("A 1 ack 1 win 0");
    }
    assert_eq!(bench.connection.ended(), None);
    bench.arrives("A 1 ack 1 win 8000");
    assert_eq!(bench.sent().len(), 3);
}

#[test]
fn a_closed_window_that_nobody_speaks_of_any_more_is_given_up() {
    let mut bench = Bench::established();
    bench.arrives("A 1 ack 1 win 0");
    bench.write(0, 3000);
    bench.sent_within(Duration::from_secs(300));
    assert_eq!(bench.connection.ended(), Some(Ended::TimedOut));
}

#[test]
fn a_fin_goes_through_a_closed_window_as_a_probe() {
    let mut bench = Bench::established();
    bench.arrives("A 1 ack 1 win 0");
    bench.connection.shutdown(bench.now);
    bench.silent();
    assert_eq!(bench.sent_within(ms(1000)), ["FA 1 ack 1"]);
    bench.arrives("A 1 ack 2 win 0");
    assert_eq!(bench.connection.state(), State::FinWait2);
}

#[test]
fn a_window_that_an_older_segment_tells_of_is_not_taken() {
    let mut bench = Bench::established();
    bench.arrives("PA 1 ack 1 +100 win 8000");
    bench.arrives("PA 101 ack 1 +100 win 8000");
    // It was sent before both.
    bench.arrives("A 1 ack 1 win 0");
    bench.write(0, 1000);
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn the_send_buffer_has_an_end() {
    let mut bench = Bench::established();
    let mut written = 0;
    loop {
        let count = bench.write(written, 10_000);
        written += count as u64;
        if count < 10_000 {
            break;
        }
    }
    assert_eq!((written, bench.connection.writable()), (65_536, 0));
    bench.sent();
    bench.arrives("A 1 ack 2001");
    assert_eq!(bench.connection.writable(), 2000);
}
