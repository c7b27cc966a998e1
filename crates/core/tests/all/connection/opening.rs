//! Opening of a connection, and negotiation.

use super::bench::{Bench, IRS, ISS, config, ms, plain_peer};
use airpath_core::packet::{Flags, Packet};
use airpath_core::tcp::connection::{Ended, State};
use airpath_core::tcp::ecn::Ecn;
use airpath_core::tcp::{Config, Connection, recovery, undo};

#[test]
fn active_open() {
    let mut bench = Bench::connect(&config());
    assert_eq!(bench.connection.state(), State::SynSent);
    bench.sends("S 0");
    bench.arrives("SA 0 ack 1");
    assert_eq!(bench.connection.state(), State::Established);
    bench.sends("A 1 ack 1");
}

#[test]
fn passive_open_with_data_in_the_third_segment() {
    let mut bench = Bench::accept(&config());
    assert_eq!(bench.connection.state(), State::SynReceived);
    bench.sends("SA 0 ack 1");
    bench.arrives("PA 1 ack 1 +10");
    assert_eq!(bench.connection.state(), State::Established);
    assert_eq!(bench.read_all().len(), 10);
}

#[test]
fn simultaneous_open() {
    let mut bench = Bench::connect(&config());
    bench.sends("S 0");
    bench.arrives("S 0");
    assert_eq!(bench.connection.state(), State::SynReceived);
    bench.sends("SA 0 ack 1");
    bench.arrives("SA 0 ack 1");
    assert_eq!(bench.connection.state(), State::Established);
    bench.sends("A 1 ack 1");
}

#[test]
fn simultaneous_open_that_ends_with_an_ack() {
    let mut bench = Bench::connect(&config());
    bench.sends("S 0");
    bench.arrives("S 0");
    bench.sends("SA 0 ack 1");
    bench.arrives("A 1 ack 1");
    assert_eq!(bench.connection.state(), State::Established);
}

#[test]
fn what_is_written_and_closed_early_goes_with_the_first_segments() {
    let mut bench = Bench::connect(&config());
    assert_eq!(bench.write(0, 1500), 1500);
    bench.connection.shutdown(bench.now);
    assert_eq!(bench.connection.writable(), 0);
    bench.sends("S 0");
    bench.arrives("SA 0 ack 1");
    assert_eq!(bench.sent(), ["A 1 ack 1", "A 1 ack 1 +1000", "FPA 1001 ack 1 +500"]);
    assert_eq!(bench.connection.state(), State::FinWait1);
}

#[test]
fn a_syn_is_retransmitted_with_doubling_intervals_and_given_up_after_three_minutes() {
    let mut bench = Bench::connect(&config());
    let mut at = Vec::new();
    while bench.connection.ended().is_none() {
        if !bench.sent().is_empty() {
            at.push(bench.now.as_secs_f64() as u64);
        }
        bench.now = bench.connection.deadline().unwrap();
        bench.connection.handle_deadline(bench.now);
    }
    assert_eq!(at, [0, 1, 3, 7, 15, 31, 63, 123]);
    assert_eq!((bench.connection.ended(), bench.now.as_secs_f64() as u64), (Some(Ended::TimedOut), 183));
    bench.silent();
}

#[test]
fn a_lost_syn_ack_is_repeated_by_timer_and_for_the_syn() {
    let mut bench = Bench::accept(&config());
    bench.sends("SA 0 ack 1");
    bench.arrives("S 0");
    bench.sends("SA 0 ack 1");
    assert_eq!(bench.sent_within(ms(1000)), ["SA 0 ack 1"]);
    bench.arrives("A 1 ack 1");
    assert_eq!(bench.connection.state(), State::Established);
}

#[test]
fn a_lost_final_ack_is_repeated_for_the_syn_ack() {
    let mut bench = Bench::connect(&config());
    bench.sends("S 0");
    bench.arrives("SA 0 ack 1");
    bench.sends("A 1 ack 1");
    bench.arrives("SA 0 ack 1");
    bench.sends("A 1 ack 1");
}

#[test]
fn a_refusal_ends_it_and_a_wrong_one_does_not() {
    let mut bench = Bench::connect(&config());
    bench.sends("S 0");
    bench.arrives("R 0");
    bench.arrives("RA 0 ack 7");
    assert_eq!(bench.connection.ended(), None);
    bench.arrives("RA 0 ack 1");
    assert_eq!(bench.connection.ended(), Some(Ended::Refused));
    bench.silent();
}

#[test]
fn an_ack_of_another_connection_is_reset_and_the_open_goes_on() {
    let mut bench = Bench::connect(&config());
    bench.sends("S 0");
    bench.arrives("A 500 ack 77");
    bench.sends("R 77");
    bench.arrives("SA 0 ack 1");
    assert_eq!(bench.connection.state(), State::Established);
}

#[test]
fn in_syn_received_a_reset_counts_only_at_the_expected_number() {
    let mut bench = Bench::accept(&config());
    bench.sends("SA 0 ack 1");
    bench.arrives("R 30000");
    bench.silent();
    bench.arrives("R 9");
    bench.sends("A 1 ack 1");
    bench.arrives("A 1 ack 3");
    bench.sends("R 3");
    bench.arrives("A 30000 ack 1");
    bench.sends("A 1 ack 1");
    bench.arrives("R 1");
    assert_eq!(bench.connection.ended(), Some(Ended::Refused));
}

#[test]
fn an_endpoint_that_closes_in_syn_sent_is_gone() {
    let mut bench = Bench::connect(&config());
    bench.sends("S 0");
    bench.connection.close(bench.now);
    assert_eq!(bench.connection.ended(), Some(Ended::Aborted));
    bench.silent();
}

#[test]
fn one_that_closes_in_syn_received_sends_its_fin_when_it_is_open() {
    let mut bench = Bench::accept(&config());
    bench.sends("SA 0 ack 1");
    bench.connection.close(bench.now);
    bench.arrives("A 1 ack 1");
    assert_eq!(bench.connection.state(), State::FinWait1);
    bench.sends("FA 1 ack 1");
}

/// Everything on.
fn rich() -> Config {
    Config {
        timestamps: true,
        sack: true,
        ecn: Ecn::Classic,
        receive_buffer: "1 MB".parse().unwrap(),
        recovery: recovery::Config::Sack(Default::default()),
        undo: undo::Config::Eifel(Default::default()),
        ..config()
    }
}

/// The first segment of an endpoint.
fn first(connection: &mut Connection) -> Packet {
    let (mut packet, mut payload) = (Packet::default(), Vec::new());
    connection.poll_transmit(airpath_core::time::Instant::ZERO, &mut packet, &mut payload).unwrap();
    packet
}

#[test]
fn a_syn_offers_everything_and_its_answer_only_what_was_offered() {
    let mut bench = Bench::connect(&rich());
    let syn = first(&mut bench.connection);
    let options = syn.options();
    assert_eq!((options.mss, options.window_scale_plus_1, options.sack_permitted), (1000, 5, true));
    assert!(syn.has_timestamps && syn.flags == Flags::SYN | Flags::ECE | Flags::CWR);
    assert_eq!((syn.seq, syn.window), (ISS, u16::MAX));

    let mut poor = Bench::accept(&rich());
    let answer = first(&mut poor.connection);
    let permitted = answer.options();
    assert_eq!((permitted.mss, permitted.window_scale_plus_1, permitted.sack_permitted), (1000, 0, false));
    assert!(!answer.has_timestamps && answer.flags == Flags::SYN | Flags::ACK);
    assert_eq!((answer.seq, answer.ack), (ISS, IRS + 1));
}

#[test]
fn what_the_other_end_does_not_offer_is_not_used() {
    let mut bench = Bench::established_with(&rich());
    bench.write(0, 5000);
    let sent = bench.sent();
    assert_eq!(sent[0], "A 1 ack 1 +1000", "no timestamps: all of the MSS");
    // Recovery without a scoreboard: three duplicate ACKs.
    for _ in 0..3 {
        bench.arrives("A 1 ack 1");
    }
    assert_eq!(bench.sent()[0], "A 1 ack 1 +1000");
}

#[test]
fn timestamps_take_room_and_without_an_mss_option_segments_are_small() {
    let mut bench = Bench::connect(&rich());
    bench.peer = Packet { window: 8000, has_timestamps: true, ts_val: 77, ..Packet::default() };
    first(&mut bench.connection);
    bench.arrives("SA 0 ack 1");
    bench.write(0, 5000);
    // 536 octets less 12 of timestamps.
    assert_eq!(bench.sent()[1], "A 1 ack 1 +524");
}

#[test]
fn scaled_windows_are_read_and_written_where_both_offer_it() {
    let mut bench = Bench::connect(&rich());
    bench.peer.options_mut().window_scale_plus_1 = 8;
    first(&mut bench.connection);
    bench.arrives("SA 0 ack 1");
    bench.sent();
    bench.arrives("A 1 ack 1 win 40");
    bench.write(0, 20_000);
    let sent = bench.sent();
    assert_eq!(sent.len(), 5, "40 << 7 octets");
}

#[test]
fn a_peer_with_a_tiny_window_gets_segments_that_fit() {
    let mut bench = Bench::connect(&config());
    bench.peer = Packet { window: 600, ..plain_peer() };
    first(&mut bench.connection);
    bench.arrives("SA 0 ack 1");
    bench.write(0, 5000);
    assert_eq!(bench.sent()[1..], ["A 1 ack 1 +300", "A 301 ack 1 +300"]);
}

#[test]
fn the_handshake_times_the_path() {
    let mut bench = Bench::connect(&config());
    bench.sends("S 0");
    bench.wait(ms(300));
    bench.arrives("SA 0 ack 1");
    let rto = bench.connection.duplex().unwrap().sender().rto().value();
    // SRTT + 4 * SRTT / 2, at least a second.
    assert_eq!(rto, ms(1000));
    assert_eq!(bench.connection.duplex().unwrap().sender().rto().srtt(), ms(300));
}

#[test]
fn a_syn_that_is_repeated_for_ever_holds_no_half_open_connection() {
    let mut bench = Bench::accept(&config());
    for _ in 0..400 {
        bench.wait(ms(500));
        bench.sent();
        bench.arrives("S 0");
        bench.sent();
    }
    assert_eq!(bench.connection.ended(), Some(Ended::TimedOut));
}

#[test]
fn strange_syns_before_the_handshake_is_over_are_challenged_ten_times_in_five_seconds() {
    let mut bench = Bench::accept(&config());
    bench.sent();
    let mut challenges = 0;
    for _ in 0..50 {
        bench.arrives("S 77");
        challenges += bench.sent().len();
    }
    assert_eq!((challenges, bench.connection.state()), (10, State::SynReceived));
}
