//! Whatever is lost and in whatever order the rest arrives: each SDU arrives once and in order, or is reported lost.

use super::link::{Link, NETWORK, UE};
use airpath_core::rlc::{Config, am_lte, um_lte};
use airpath_core::time::Duration;
use airpath_core::units::Bytes;
use proptest::prelude::*;

fn millis(from: u64, to: u64) -> impl Strategy<Value = Duration> {
    (from..to).prop_map(Duration::from_millis)
}

fn am() -> impl Strategy<Value = am_lte::Config> {
    let polls = (millis(5, 200), prop::option::of(1_u32..64), prop::option::of(1_u64..4000));
    let rest = (prop::sample::select(vec![1_u32, 2, 4, 32]), millis(1, 60), millis(0, 60));
    let discard = prop::option::of(millis(5, 100));
    (polls, rest, discard).prop_map(|(polls, rest, discard_timer)| {
        let (t_poll_retransmit, poll_pdu, poll_byte) = polls;
        let (max_retx_threshold, t_reordering, t_status_prohibit) = rest;
        let poll_byte = poll_byte.map(Bytes::from_bytes);
        am_lte::Config {
            t_poll_retransmit,
            poll_pdu,
            poll_byte,
            max_retx_threshold,
            t_reordering,
            t_status_prohibit,
            discard_timer,
            ..am_lte::Config::default()
        }
    })
}

fn um() -> impl Strategy<Value = um_lte::Config> {
    let bits = prop::sample::select(vec![5_u32, 10]);
    (bits, millis(1, 60), prop::option::of(millis(5, 100))).prop_map(
        |(sn_field_length, t_reordering, discard_timer)| um_lte::Config {
            sn_field_length,
            t_reordering,
            discard_timer,
            ..um_lte::Config::default()
        },
    )
}

/// Room, losses (all, single PDUs by bits, or none), and the number of HARQ retransmissions.
fn outcome() -> impl Strategy<Value = (u64, u8, u64, u64)> {
    (0_u64..120, 0_u8..4, any::<u64>(), 0_u64..4)
}

fn run(link: &mut Link, sdus: &[(u64, bool, u32)], outcomes: &[[(u64, u8, u64, u64); 2]], handovers: &[u64]) {
    for (now, both) in (0_u64..).zip(outcomes) {
        if handovers.contains(&now) {
            link.arrive(now);
            link.re_establish(now);
        }
        for &(_, downlink, octets) in sdus.iter().filter(|(at, ..)| *at == now) {
            link.take(usize::from(!downlink), now, &[octets]);
        }
        for end in [UE, NETWORK] {
            let (room, lost, bits, repetitions) = both[end];
            link.tti(end, now, room, |tti| {
                let mut bit = 0;
                tti.lose(|| {
                    bit += 1;
                    lost == 0 || (lost == 1 && bits >> (bit % 64) & 1 == 1)
                });
                8 * repetitions
            });
        }
    }
}

proptest! {
    #[test]
    fn am_hands_every_sdu_up_once_and_in_order(
        config in am(),
        sdus in prop::collection::vec((0_u64..150, any::<bool>(), 1_u32..400), 1..60),
        outcomes in prop::collection::vec((outcome(), outcome()).prop_map(|(one, other)| [one, other]), 150..300),
        handovers in prop::collection::vec(0_u64..150, 0..3),
    ) {
        let mut link = Link::new(&Config::AmLte(config));
        run(&mut link, &sdus, &outcomes, &handovers);
        let now = outcomes.len() as u64;
        link.run(now, now + 3000, 2000, |_, _| false);
        for end in [NETWORK, UE] {
            let sent = link.sdus[end].len() as u64;
            let expected: Vec<u64> = (0..sent).filter(|sdu| !link.gone[end].contains(sdu)).collect();
            prop_assert_eq!(&link.up[end], &expected);
            prop_assert_eq!(link.done[end].iter().copied().collect::<Vec<_>>(), expected);
            prop_assert!(link.lost[end].is_empty());
        }
    }

    #[test]
    fn um_hands_sdus_up_in_order_and_reports_the_others(
        config in um(),
        sdus in prop::collection::vec((0_u64..150, any::<bool>(), 1_u32..400), 1..60),
        outcomes in prop::collection::vec((outcome(), outcome()).prop_map(|(one, other)| [one, other]), 150..300),
        handovers in prop::collection::vec(0_u64..150, 0..3),
    ) {
        let mut link = Link::new(&Config::UmLte(config));
        run(&mut link, &sdus, &outcomes, &handovers);
        let now = outcomes.len() as u64;
        link.run(now, now + 200, 2000, |_, _| false);
        // The last poll covers all before it.
        link.take(NETWORK, now + 200, &[10]);
        link.take(UE, now + 200, &[10]);
        link.run(now + 200, now + 400, 2000, |_, _| false);
        for end in [NETWORK, UE] {
            let sent = link.sdus[end].len() as u64;
            prop_assert!(link.up[end].contains(&(sent - 1)));
            for sdu in 0..sent {
                let [up, lost] = [link.up[end].contains(&sdu), link.lost[end].contains(&sdu)];
                prop_assert!(up != lost, "SDU {} of end {}: {} and {}", sdu, end, up, lost);
                // An SDU that left the buffer unsent, or partly sent, does not arrive.
                prop_assert!(!(up && link.gone[end].contains(&sdu)));
            }
        }
    }
}

/// The yardstick of ns-3's tests: every SDU arrives, up to 95 % of PDUs lost.
#[test]
fn every_sdu_arrives_whatever_share_of_pdus_is_lost() {
    for percent in [0, 5, 10, 25, 50, 75, 90, 95] {
        let config = am_lte::Config {
            t_poll_retransmit: Duration::from_millis(20),
            t_reordering: Duration::from_millis(10),
            t_status_prohibit: Duration::from_millis(10),
            max_retx_threshold: 1_000_000,
            ..am_lte::Config::default()
        };
        let mut link = Link::new(&Config::AmLte(config));
        let mut state = 12_345_u64 + percent;
        let mut lost = || {
            // Knuth's MMIX.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100 < percent
        };
        link.take(NETWORK, 0, &[100, 200, 10, 300]);
        let mut now = 0;
        while link.done[NETWORK].len() < 4 && now < 10_000_000 {
            for end in [UE, NETWORK] {
                link.tti(end, now, 60, |tti| {
                    tti.lose(&mut lost);
                    0
                });
            }
            now += 1;
        }
        assert_eq!(link.up[NETWORK], [0, 1, 2, 3], "{percent} %, {now} ms");
        assert_eq!(link.done[NETWORK].len(), 4, "{percent} %, {now} ms");
        assert_eq!(link.counts(NETWORK)["radio_link_failures"], 0, "{percent} %, {now} ms");
    }
}
