//! Whatever is lost and in whatever order the rest arrives: each SDU arrives once and in order, or is reported lost.

use super::link::{Link, NETWORK, UE};
use crate::rlc_link::{check_unacknowledged, check_whatever_is_lost, run, traffic};
use airpath_core::pdcp::{self, AtHandover};
use airpath_core::rlc::{Config, am_nr, um_nr};
use airpath_core::time::Duration;
use airpath_core::units::Bytes;
use proptest::prelude::*;

fn millis(from: u64, to: u64) -> impl Strategy<Value = Duration> {
    (from..to).prop_map(Duration::from_millis)
}

fn am() -> impl Strategy<Value = am_nr::Config> {
    let polls = (millis(5, 200), prop::option::of(1_u32..64), prop::option::of(1_u64..4000));
    let rest = (prop::sample::select(vec![1_u32, 2, 4, 32]), millis(1, 60), millis(0, 60));
    (polls, rest, prop::sample::select(vec![12_u8, 18])).prop_map(|(polls, rest, sn)| {
        let (t_poll_retransmit, poll_pdu, poll_byte) = polls;
        let (max_retx_threshold, t_reassembly, t_status_prohibit) = rest;
        let poll_byte = poll_byte.map(Bytes::from_bytes);
        am_nr::Config {
            sn,
            t_poll_retransmit,
            poll_pdu,
            poll_byte,
            max_retx_threshold,
            t_reassembly,
            t_status_prohibit,
            ..am_nr::Config::default()
        }
    })
}

fn um() -> impl Strategy<Value = um_nr::Config> {
    (prop::sample::select(vec![6_u8, 12]), millis(1, 60)).prop_map(|(sn, t_reassembly)| um_nr::Config {
        sn,
        t_reassembly,
        ..um_nr::Config::default()
    })
}

fn pdcp(t_reordering: impl Strategy<Value = Option<Duration>>) -> impl Strategy<Value = pdcp::Config> {
    let recovery = prop::sample::select(vec![AtHandover::ReEstablish, AtHandover::DataRecovery]);
    let discard = prop::option::of(millis(5, 100));
    (t_reordering, discard, any::<bool>(), any::<bool>(), recovery).prop_map(
        |(t_reordering, discard_timer, out_of_order, status_report, at_handover)| pdcp::Config {
            sn: 18,
            t_reordering,
            discard_timer,
            out_of_order,
            status_report,
            at_handover,
        },
    )
}

proptest! {
    /// Without t-Reordering nothing is passed over.
    #[test]
    fn am_hands_every_sdu_up_once_and_in_order(
        config in am(),
        pdcp in pdcp(Just(None)),
        traffic in traffic(160),
    ) {
        let mut link = Link::new(&Config::AmNr(config), &pdcp);
        run(&mut link, &traffic);
        let now = traffic.1.len() as u64;
        link.run(now, now + 3000, 2000, |_, _| false);
        for end in [NETWORK, UE] {
            let sent = link.sdus[end].len() as u64;
            let expected: Vec<u64> = (0..sent).filter(|sdu| !link.gone[end].contains(sdu)).collect();
            let mut up = link.up[end].clone();
            up.sort_unstable();
            prop_assert_eq!(&up, &expected);
            prop_assert_eq!(link.done[end].iter().copied().collect::<Vec<_>>(), expected);
            prop_assert!(link.lost[end].is_subset(&link.gone[end]));
        }
    }

    /// With any t-Reordering an SDU goes up once, or is lost.
    #[test]
    #[ignore = "slow"]
    fn am_hands_up_or_passes_over(
        config in am(),
        pdcp in pdcp(millis(1, 100).prop_map(Some)),
        traffic in traffic(160),
    ) {
        let mut link = Link::new(&Config::AmNr(config), &pdcp);
        run(&mut link, &traffic);
        let now = traffic.1.len() as u64;
        link.run(now, now + 3000, 2000, |_, _| false);
        for end in [NETWORK, UE] {
            for sdu in (0..link.sdus[end].len() as u64).filter(|sdu| !link.gone[end].contains(sdu)) {
                prop_assert!(link.up[end].contains(&sdu) != link.lost[end].contains(&sdu), "SDU {} of {}", sdu, end);
            }
        }
    }

    #[test]
    fn um_hands_sdus_up_in_order_and_reports_the_others(
        config in um(),
        pdcp in pdcp(millis(1, 60).prop_map(Some)),
        traffic in traffic(160),
    ) {
        check_unacknowledged(&mut Link::new(&Config::UmNr(config), &pdcp), &traffic)?;
    }
}

/// Acceptance test 24: every SDU arrives once and in order, up to 95 % of blocks lost.
#[test]
fn every_sdu_arrives_whatever_share_of_pdus_is_lost() {
    let config = am_nr::Config {
        t_poll_retransmit: Duration::from_millis(20),
        t_reassembly: Duration::from_millis(10),
        t_status_prohibit: Duration::from_millis(10),
        max_retx_threshold: 1_000_000,
        ..am_nr::Config::default()
    };
    let pdcp = pdcp::Config { t_reordering: None, ..pdcp::Config::default() };
    check_whatever_is_lost(|| Link::new(&Config::AmNr(config.clone()), &pdcp));
}
