//! Whatever is lost and in whatever order the rest arrives: each SDU arrives once and in order, or is reported lost.

use super::link::{Link, NETWORK, UE};
use crate::rlc_link::{check_unacknowledged, check_whatever_is_lost, run, traffic};
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

proptest! {
    #[test]
    fn am_hands_every_sdu_up_once_and_in_order(
        config in am(),
        traffic in traffic(120),
    ) {
        let mut link = Link::new(&Config::AmLte(config));
        run(&mut link, &traffic);
        let now = traffic.1.len() as u64;
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
        traffic in traffic(120),
    ) {
        check_unacknowledged(&mut Link::new(&Config::UmLte(config)), &traffic)?;
    }
}

/// The yardstick of ns-3's tests: every SDU arrives, up to 95 % of PDUs lost.
#[test]
fn every_sdu_arrives_whatever_share_of_pdus_is_lost() {
    let config = am_lte::Config {
        t_poll_retransmit: Duration::from_millis(20),
        t_reordering: Duration::from_millis(10),
        t_status_prohibit: Duration::from_millis(10),
        max_retx_threshold: 1_000_000,
        ..am_lte::Config::default()
    };
    check_whatever_is_lost(|| Link::new(&Config::AmLte(config.clone())));
}
