//! Whatever is lost: each SDU arrives once, or is reported as given up.

use super::link::{Link, NETWORK, UE};
use airpath_core::rlc::am::{Config, Delivery, SduDiscard};
use airpath_core::rlc::entities::Transmit;
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use proptest::prelude::*;

/// TTIs in which something may be lost.
const LOSSY: u64 = 300;

fn millis(from: u64, to: u64) -> impl Strategy<Value = Duration> {
    (from..to).prop_map(Duration::from_millis)
}

fn config() -> impl Strategy<Value = Config> {
    let sizes = (
        prop::sample::select(vec![10_u64, 16, 42, 126, 127, 200]),
        prop::sample::select(vec![1_u32, 2, 5, 64, 1024, 2048]),
    );
    let polls = (
        prop::option::of(millis(20, 200)),
        any::<bool>(),
        prop::option::of(millis(10, 100)),
        prop::option::of(1_u32..9),
        prop::option::of(1_u32..4),
        1_u32..=100,
    );
    let reports = (prop::option::of(millis(10, 100)), prop::option::of(millis(50, 300)), any::<bool>());
    let discard = (
        prop::sample::select(vec![SduDiscard::NoDiscard, SduDiscard::MaxDat, SduDiscard::Timer]),
        prop::option::of(2_u32..6),
        millis(30, 1500),
        1_u32..5,
        millis(20, 200),
        any::<bool>(),
        millis(40, 500),
    );
    let options = (any::<bool>(), any::<bool>(), any::<bool>());
    (sizes, polls, reports, discard, options).prop_map(|(sizes, polls, reports, discard, options)| {
        let (timer_poll, periodic, timer_poll_prohibit, poll_pdu, poll_sdu, percent) = polls;
        let (timer_status_prohibit, timer_status_periodic, missing_pdu_indicator) = reports;
        let (sdu_discard, max_dat, timer_discard, max_mrw, timer_mrw, send_mrw, timer_rst) = discard;
        let (in_sequence, special_he, piggybacked_status) = options;
        let max_dat = match sdu_discard {
            SduDiscard::NoDiscard => max_dat,
            SduDiscard::MaxDat => max_dat.or(Some(3)),
            SduDiscard::Timer => None,
        };
        Config {
            pdu: Bytes::from_bytes(sizes.0),
            configured_tx_window_size: sizes.1,
            configured_rx_window_size: 2048,
            // Either kind of timer alone saves what a lost poll would leave.
            timer_poll,
            timer_poll_periodic: (periodic || timer_poll.is_none()).then_some(Duration::from_millis(90)),
            timer_poll_prohibit,
            poll_pdu,
            poll_sdu,
            poll_window: Some(percent),
            timer_status_prohibit,
            timer_status_periodic,
            missing_pdu_indicator,
            delivery: if in_sequence { Delivery::InSequence } else { Delivery::OutOfSequence },
            sdu_discard,
            max_dat,
            timer_discard: (sdu_discard == SduDiscard::Timer).then_some(timer_discard),
            max_mrw,
            timer_mrw,
            send_mrw,
            // The losses are over before.
            max_rst: 100,
            timer_rst,
            special_he,
            piggybacked_status,
            ..Config::default()
        }
    })
}

/// Losses of a TTI: all, single PDUs, or none.
fn outcome() -> impl Strategy<Value = [(u8, u64); 2]> {
    let one = || (0_u8..5, any::<u64>());
    (one(), one()).prop_map(|(downlink, uplink)| [downlink, uplink])
}

fn check_windows(link: &Link) -> Result<(), TestCaseError> {
    for end in [NETWORK, UE] {
        let (sender, receiver) = (link.ends[end].sender(), link.ends[1 - end].receiver());
        prop_assert!(sender.vt_a() <= sender.vt_s());
        prop_assert!(receiver.vr_r() <= receiver.vr_h());
        prop_assert!(receiver.vr_h() <= receiver.vr_mr());
        // Unambiguous on the wire.
        prop_assert!(sender.vt_s() - sender.vt_a() <= 2049);
    }
    Ok(())
}

/// Something happens to an SDU at either end until both are done with it.
fn is_settled(link: &Link) -> bool {
    link.sdus
        .iter()
        .flat_map(|sdus| sdus.values())
        .all(|sdu| sdu.taken || (sdu.sender.is_some() && (sdu.receiver.is_some() || sdu.sender == Some('u'))))
}

proptest! {
    /// In every discard mode and order of delivery, with data in both directions, windows down to one PDU,
    /// `MaxDAT` down to 2, TTIs of one PDU, losses of TTIs and of PDUs, control PDUs too, and SDUs taken out
    /// of the buffer.
    #[test]
    fn an_sdu_arrives_once_or_is_given_up(
        downlink in config(),
        uplink in config(),
        sdus in prop::collection::vec((0_u64..600, any::<bool>(), 1_u32..800), 1..50),
        outcomes in prop::collection::vec(outcome(), 1..LOSSY as usize),
        takes in prop::collection::vec((0_u64..100, any::<bool>(), 0_usize..3), 0..6),
        pdus in prop::sample::select(vec![1_u64, 2, 12]),
        windows in prop::collection::vec((0_u64..100, any::<bool>(), 1_u32..100), 0..4),
    ) {
        let mut link = Link::of(&downlink, &uplink);
        link.pdus = pdus;
        let mut waiting = sdus;
        waiting.sort_unstable();
        waiting.reverse();
        for n in 0..60_000_u64 {
            let now = n * 10;
            while let Some((at, end, octets)) = waiting.pop_if(|(at, ..)| *at <= now) {
                link.handle_sdu(usize::from(end), at, octets);
            }
            for (_, end, place) in takes.iter().filter(|(at, ..)| *at == n) {
                link.take_waiting(usize::from(*end), *place);
            }
            for (_, end, window) in windows.iter().filter(|(at, ..)| *at == n) {
                link.ends[usize::from(*end)].set_window(*window);
            }
            let outcomes = outcomes.get(n as usize).copied().unwrap_or([(4, 0); 2]);
            for end in [UE, NETWORK] {
                let (kind, mask) = outcomes[end];
                let mut pdu = 0;
                link.tti(end, now, |tti| match kind {
                    0 => tti.clear(),
                    1 | 2 => {
                        tti.lose(|| { pdu += 1; mask >> (pdu % 64) & 1 == 1 });
                    }
                    _ => {}
                });
            }
            check_windows(&link)?;
            if waiting.is_empty() && is_settled(&link) {
                break;
            }
        }
        prop_assert!(waiting.is_empty());
        prop_assert!(is_settled(&link), "{:?}\n{}", link.sdus, link.log.iter().rev().take(40).rev().cloned().collect::<Vec<_>>().join("\n"));
        let counts = [NETWORK, UE].map(|end| link.ends[end].counts());
        let gives_up = counts.iter().any(|counts| counts.reset_pdus + counts.mrws > 0);
        for sdu in link.sdus.iter().flat_map(|sent| sent.values()) {
            let given_up = sdu.taken || matches!(sdu.sender, Some('x' | 'u'));
            // The peer may lose what it has acknowledged to a reset, or as it cannot tell where the SDU begins.
            prop_assert!(sdu.receiver == Some('u') || given_up || gives_up);
        }
    }
}

/// Nothing happens any more once all is acknowledged, unless a timer runs that repeats itself.
#[test]
fn idle_entities_want_no_tti() {
    let mut link = Link::new(&Config { max_dat: Some(4), ..Config::default() });
    link.handle_sdu(NETWORK, 0, 1000);
    link.handle_sdu(UE, 0, 1000);
    for now in (0..1000).step_by(10) {
        link.ttis(now, now == 10, now == 20);
    }
    assert!(is_settled(&link) && link.is_quiet());
    assert_eq!(link.ends.each_ref().map(Transmit::deadline), [Instant::NEVER; 2]);
}
