//! Datagrams both ways, and the link's bounds.

use crate::{arrivals, bundled, datagram, ms};
use airpath::{Datagram, Ecn, End, Epoch, Instant, Net, Scenario, Sent};
use std::net::SocketAddr;

#[test]
fn a_datagram_comes_out_as_it_went_in() {
    let mut net = Net::new(&bundled("umts-384-simple"), 1);
    for (version, header) in [(4, 28), (6, 48)] {
        for (from, to) in [(End::Server, End::Ue(0)), (End::Ue(0), End::Server)] {
            let [src, dst] = [from, to].map(|end| match version {
                4 => SocketAddr::new(end.ipv4().into(), 4433),
                _ => SocketAddr::new(end.ipv6().into(), 4433),
            });
            let sent = Datagram { src, dst, ecn: Ecn::Ect1, payload: b"octets".to_vec() };
            let now = net.now();
            assert_eq!(net.send(now, from, sent.clone()), Sent::Accepted);
            let arrival = net.advance(Instant::NEVER).unwrap();
            assert_eq!((arrival.to, arrival.datagram(), arrival.packet.len()), (to, Some(sent), header + 6));
            assert_eq!((net.now(), arrival.packet[0] >> 4), (arrival.at, version));
            // 75 ms over the wire, and a bearer.
            assert!(arrival.at > now + airpath::Duration::from_millis(75));
        }
    }
}

#[test]
fn the_link_stops_at_arrivals_and_wakes_for_nothing_else() {
    let mut net = Net::new(&bundled("umts-384"), 1);
    net.send(ms(0), End::Server, datagram(End::Server, vec![0; 1200]));
    let mut wakeups = 0;
    let arrival = loop {
        let wake = net.next_wakeup().expect("a packet is in flight");
        assert!(wake >= net.now());
        if let Some(arrival) = net.advance(wake) {
            break arrival;
        }
        assert_eq!(net.now(), wake);
        wakeups += 1;
    };
    let mut all_at_once = Net::new(&bundled("umts-384"), 1);
    all_at_once.send(ms(0), End::Server, datagram(End::Server, vec![0; 1200]));
    assert_eq!(all_at_once.advance(ms(1000)), Some(arrival));
    assert!(wakeups < 50, "{wakeups}");
    assert_eq!(all_at_once.advance(ms(5000)), None);
    assert_eq!((all_at_once.now(), all_at_once.next_wakeup()), (ms(5000), None));
}

#[test]
fn a_link_goes_on_after_the_end_of_time() {
    let mut net = Net::new(&bundled("umts-384"), 1);
    assert_eq!((net.advance(Instant::NEVER), net.next_wakeup()), (None, None));
    assert_eq!(net.send(Instant::NEVER, End::Server, datagram(End::Server, vec![0; 100])), Sent::Accepted);
    assert_eq!(net.advance(Instant::NEVER), None, "it would arrive later than that");
    assert_eq!(net.stats().downlink.sent, 1);
}

#[test]
fn what_is_sent_in_the_past_is_sent_now() {
    let mut net = Net::new(&bundled("umts-384-simple"), 1);
    net.advance(ms(3000));
    net.send(ms(10), End::Server, datagram(End::Server, vec![1; 100]));
    let late = net.advance(ms(9000)).unwrap();
    assert!(late.at > ms(3075));
    // Time never runs backwards, regardless of the argument.
    assert_eq!(net.advance(ms(5)), None);
    assert_eq!(net.now(), late.at);
}

#[test]
fn arrivals_before_a_packet_that_is_sent_ahead_keep_their_times() {
    let mut net = Net::new(&bundled("umts-384-simple"), 1);
    net.send(ms(0), End::Server, datagram(End::Server, vec![1; 100]));
    net.send(ms(2000), End::Server, datagram(End::Server, vec![2; 100]));
    assert_eq!((net.now(), net.next_wakeup()), (ms(2000), Some(ms(2000))));
    let first = net.advance(ms(2000)).unwrap();
    assert!(first.at < ms(200) && first.packet[28] == 1);
    assert!(net.advance(ms(3000)).unwrap().at > ms(2075));
}

#[test]
fn beyond_the_mtu_nothing_passes() {
    let mut net = Net::builder(&bundled("lte-10mhz-still")).mtu(1280).build();
    let mut sent = |octets| net.send(ms(0), End::Ue(0), datagram(End::Ue(0), vec![0; octets]));
    assert_eq!([1252, 1253, 100_000].map(&mut sent), [Sent::Accepted, Sent::TooBig, Sent::TooBig]);
    assert_eq!(net.send_ip(ms(0), End::Ue(0), &[0x45; 1281]), Sent::TooBig);
    assert_eq!(arrivals(&mut net, ms(1000)).len(), 1);
    let uplink = net.stats().uplink;
    assert_eq!((uplink.sent, uplink.too_big, uplink.sent_bytes), (1, 3, 1280));
}

#[test]
fn a_link_without_limits_is_full_at_last() {
    let endless = Scenario::mahimahi("1000", "1000").unwrap();
    let mut net = Net::builder(&endless).most_inside(10).build();
    let sent = [(); 12].map(|()| net.send(ms(0), End::Server, datagram(End::Server, vec![0; 1400])));
    assert_eq!((sent[9], sent[10], net.stats().downlink.full), (Sent::Accepted, Sent::Full, 2));
    // An opportunity each second.
    assert_eq!(net.advance(ms(500)), None);
    assert_eq!(net.stats().downlink.queued, 10);
    assert_eq!(arrivals(&mut net, ms(5500)).len(), 5);
}

#[test]
#[ignore = "slow"]
fn every_packet_is_delivered_dropped_or_inside() {
    for (name, _) in Scenario::names() {
        let mut net = Net::builder(&bundled(name)).probes(&["dropped"]).build();
        for number in 0..300 {
            net.send(ms(5 * number), End::Server, datagram(End::Server, vec![0; 1000]));
            net.send(ms(5 * number), End::Ue(0), datagram(End::Ue(0), vec![0; 200]));
        }
        let (mut arrived, mut until) = (0, 0);
        let stats = loop {
            let stats = net.stats();
            let inside = [&stats.downlink, &stats.uplink]
                .map(|counts| counts.sent - counts.delivered - counts.dropped);
            if inside == [0; 2] || until == 600_000 {
                break stats;
            }
            until += 10_000;
            arrived += arrivals(&mut net, ms(until)).len() as u64;
        };
        let all = [&stats.downlink, &stats.uplink];
        for counts in all {
            assert_eq!((counts.sent, counts.opaque, counts.queued), (300, 300, 0), "{name}: {counts:?}");
            assert_eq!(counts.delivered + counts.dropped, 300, "{name}: {counts:?}");
            assert_eq!(counts.reasons.values().sum::<u64>(), counts.dropped);
        }
        assert_eq!(arrived, all.iter().map(|counts| counts.delivered).sum::<u64>());
        let of_mine = |event: &&airpath::Event| event.number("ue") == Some(0);
        let told = net.trace();
        assert_eq!(
            told.iter().filter(of_mine).count() as u64,
            all.iter().map(|counts| counts.dropped).sum::<u64>()
        );
        assert!(told.iter().all(|event| event.kind() == "dropped" && event.word("reason").is_some()));
        assert!(net.trace().is_empty());
    }
}

#[test]
#[ignore = "slow"]
fn congestion_marks_those_that_can_be_marked() {
    for queue in
        ["{ red = { ecn = true, min_threshold = 5, max_threshold = 15 } }", "{ codel = { ecn = true } }"]
    {
        let scenario = bundled("umts-384").with("radio.dch.downlink.queue", queue).unwrap();
        let mut net = Net::new(&scenario, 1);
        let mut seen = Vec::new();
        for number in 0..2000 {
            let ecn = if number % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            net.send(ms(27 * number), End::Server, Datagram { ecn, ..datagram(End::Server, vec![0; 1200]) });
            seen.extend(arrivals(&mut net, ms(27 * (number + 1))));
        }
        seen.extend(arrivals(&mut net, ms(60_000)));
        let with = |ecn| seen.iter().filter(|arrival| arrival.datagram().unwrap().ecn == ecn).count() as u64;
        let downlink = net.stats().downlink;
        assert!(with(Ecn::Ce) > 10, "{queue}: {downlink:?}");
        // A packet that was marked may be dropped later.
        assert!(with(Ecn::Ce) <= downlink.marked && downlink.marked <= with(Ecn::Ce) + downlink.dropped);
        assert!(with(Ecn::NotEct) > 0 && with(Ecn::Ect0) > 0 && with(Ecn::Ect1) == 0);
    }
}

#[test]
fn ues_without_flows_are_ours_and_told_apart_by_address() {
    let text = "flow = [{ ue = 2, app.bulk = {} }]\n[radio.dch]\nues = 4";
    let scenario: Scenario = text.parse().unwrap();
    assert_eq!((scenario.ues(), scenario.own_ues()), (4, vec![0, 1, 3]));
    let mut net = Net::new(&scenario, 1);
    let mut to = |address: SocketAddr| {
        let now = net.now();
        net.send(now, End::Server, Datagram::new("10.0.0.1:1".parse().unwrap(), address, vec![0; 9]));
        net.advance(Instant::NEVER).unwrap().to
    };
    for ue in [End::Ue(0), End::Ue(1), End::Ue(3)] {
        assert_eq!(to(SocketAddr::new(ue.ipv4().into(), 5)), ue);
        assert_eq!(to(SocketAddr::new(ue.ipv6().into(), 5)), ue);
    }
    // An address without an owner, and the address of a simulated UE.
    assert_eq!(to("192.0.2.1:5".parse().unwrap()), End::Ue(0));
    assert_eq!(to(SocketAddr::new(End::Ue(2).ipv4().into(), 5)), End::Ue(0));
    net.send(ms(0), End::Ue(3), datagram(End::Ue(3), vec![0; 9]));
    assert_eq!(net.advance(Instant::NEVER).unwrap().to, End::Server);
}

#[test]
#[should_panic(expected = "UE 2 is not yours: your UEs are [0]")]
fn a_ue_that_is_simulated_sends_for_itself() {
    Net::new(&bundled("hsdpa-7.2-4ue"), 1).send(ms(0), End::Ue(2), datagram(End::Ue(0), Vec::new()));
}

#[test]
fn other_users_of_a_cell_take_their_share() {
    let crowded = bundled("hsdpa-7.2-4ue");
    let alone = crowded.with("flow", "[]").unwrap();
    let delivered = |scenario: &Scenario| {
        let mut net = Net::new(scenario, 1);
        // 4.8 Mbit/s, when all others have begun.
        for number in 0..4000 {
            net.send(ms(6000 + 2 * number), End::Server, datagram(End::Server, vec![0; 1172]));
        }
        net.stats().downlink.delivered
    };
    assert!(3 * delivered(&crowded) < 2 * delivered(&alone));
}

#[test]
#[should_panic(expected = "there is no probe nonsense; known: tcp_state")]
fn kinds_of_event_are_checked() {
    let _ = Net::builder(&bundled("umts-384")).probes(&["dropped", "nonsense"]);
}

#[test]
fn errors_of_scenarios_name_the_key() {
    let error = |text: &str| text.parse::<Scenario>().unwrap_err().to_string();
    assert_eq!(
        error("radio.dch.downlink.rate = 5"),
        "radio.dch.downlink.rate: missing unit; write \"384 kbit/s\" or \"7.2 Mbit/s\", not 5"
    );
    assert_eq!(
        error("[[middlebox]]\nsplit.handover = \"lose\""),
        "middlebox[0].split.handover: the state of real connections neither moves nor is lost; write \"keep\", or remove \
         the key"
    );
    let mahimahi = |down, up| Scenario::mahimahi(down, up).unwrap_err().to_string();
    assert_eq!(
        mahimahi("5\n4", "1"),
        "radio.variable.downlink.channel.trace_file.trace: line 2: 4 is before 5, the time in the line above; write the \
         times in their order"
    );
    assert_eq!(
        mahimahi("5", "\"now\""),
        "radio.variable.uplink.channel.trace_file.trace: line 1: '\\\"now\\\"' is not a whole number of milliseconds; \
         write whole milliseconds, one in each line"
    );
    assert_eq!(Scenario::bundled("umts-385"), None);
}

#[test]
fn times_of_the_standard_library_are_those_of_the_link() {
    let epoch = Epoch::new();
    assert_eq!(epoch.at(epoch.std(ms(0)) - std::time::Duration::from_secs(1)), ms(0));
    let later = epoch.std(Instant::from_nanos(1_234_567_891));
    assert_eq!(epoch.at(later), Instant::from_nanos(1_234_567_891));
    assert_eq!(Epoch::from_std(later).std(ms(0)), later);
}

#[test]
fn a_link_may_go_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Net>();
    is_send::<Scenario>();
}
