//! No packet overtakes another, and no call can break the link.

use crate::{arrivals, bundled, datagram, ms};
use airpath::{End, Instant, Net, Scenario};
use proptest::prelude::*;

/// Their RLC delivers SDUs in any order.
const REORDERS: [&str; 3] = ["lundsten-384-576", "lundsten-dch", "zhang-dch"];

#[test]
fn a_link_layer_without_order_is_seen_to_reorder() {
    for name in REORDERS {
        let mut net = Net::new(&bundled(name), 1);
        for number in 0..100 {
            net.send(ms(10 * number), End::Server, datagram(End::Server, vec![number as u8; 400]));
        }
        let seen = arrivals(&mut net, ms(60_000));
        assert!(!seen.is_sorted_by_key(|arrival| arrival.datagram().unwrap().payload), "{name}");
    }
}

fn any_scenario() -> impl Strategy<Value = (&'static str, Scenario)> {
    let names: Vec<_> = Scenario::names().map(|(name, _)| name).collect();
    prop::sample::select(names).prop_map(|name| (name, bundled(name)))
}

fn any_end() -> impl Strategy<Value = End> {
    prop_oneof![3 => Just(End::Server), 1 => Just(End::Ue(0))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    #[ignore = "slow"]
    fn no_packet_overtakes_another_where_the_model_keeps_order(
        (name, scenario) in any_scenario(), seed: u64,
        sent in prop::collection::vec((0..40_u64, any_end(), 4..1400_usize), 1..200),
    ) {
        prop_assume!(!REORDERS.contains(&name));
        let (mut net, mut at) = (Net::new(&scenario, seed), 0);
        let mut seen = Vec::new();
        for (number, (pause, from, octets)) in (0_u32..).zip(sent) {
            at += pause;
            seen.extend(arrivals(&mut net, ms(at)));
            let payload = [&number.to_be_bytes()[..], &vec![0; octets - 4]].concat();
            net.send(ms(at), from, datagram(from, payload));
        }
        seen.extend(arrivals(&mut net, ms(at + 30_000)));
        prop_assert!(seen.is_sorted_by_key(|arrival| arrival.at));
        for to in [End::Server, End::Ue(0)] {
            let there = seen.iter().filter(|arrival| arrival.to == to);
            let numbers: Vec<_> = there.map(|arrival| arrival.datagram().unwrap().payload[..4].to_vec()).collect();
            prop_assert!(numbers.is_sorted(), "{name}: {numbers:?}");
        }
    }

    #[test]
    #[ignore = "slow"]
    fn any_octets_at_any_time_pass_or_are_dropped(
        (_, scenario) in any_scenario(), seed: u64,
        calls in prop::collection::vec((any::<u32>(), any_end(), prop::collection::vec(any::<u8>(), 0..100)), 1..50),
    ) {
        let mut net = Net::builder(&scenario).seed(seed).capture().build();
        for (at, from, octets) in calls {
            net.send_ip(Instant::from_nanos(u64::from(at)), from, &octets);
            let earlier = net.now();
            net.advance(Instant::from_nanos(u64::from(at) + 1_000_000));
            prop_assert!(net.now() >= earlier);
        }
        for arrival in arrivals(&mut net, ms(10_000)) {
            prop_assert_eq!(arrival.datagram(), None);
        }
    }
}
