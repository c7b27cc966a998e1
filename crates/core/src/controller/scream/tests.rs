use super::*;
use crate::controller::Outcome;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

const LIMITS: Limits = Limits { start: 1e6, min: 50e3, max: 1e9 };

fn build(variant: Variant) -> Box<dyn RateController> {
    Config { variant, ..Config::default() }.build(LIMITS, at(0))
}

/// Reports of ten packets each 25 ms with a queueing delay; `loses` says which reports have a lost packet. Returns the target
/// after each.
fn targets(
    scream: &mut dyn RateController,
    from: u64,
    reports: u64,
    queue_ms: u64,
    loses: impl Fn(u64) -> bool,
) -> Vec<f64> {
    let report = |n: u64| {
        let now = at(n * 25 + 100 + queue_ms);
        let packets: Vec<Outcome> = (0..10)
            .map(|part| Outcome {
                number: (n * 10 + part) as u32,
                len: 1000,
                sent_at: at(n * 25 + part),
                arrived_at: (part > 0 || !loses(n)).then(|| at(n * 25 + part + 50 + queue_ms)),
                ce: false,
                probe: None,
            })
            .collect();
        let rtt = Some(Duration::from_millis(91 + queue_ms));
        scream.handle_feedback(now, Feedback { packets: &packets, rtt, in_flight: 100_000 });
        scream.permit().target_bps
    };
    (from..from + reports).map(report).collect()
}

/// A loss each second without a queue says nothing about the rate in libwebrtc; the draft takes 30 % off.
#[test]
fn a_rare_loss_without_a_queue_reduces_the_window_in_the_draft_alone() {
    let fell = |variant| {
        let found = targets(&mut *build(variant), 0, 100, 0, |n| n % 40 == 39);
        let least = found.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min);
        least < 0.75
    };
    assert!(fell(Variant::Draft) && !fell(Variant::Libwebrtc));
}

/// 25 ms in the queue for 20 s: the rate is halved for five RTTs. As that does not help, the path has become longer, and the
/// delay counts as none.
#[test]
fn a_queue_that_cannot_be_drained_becomes_the_base_delay() {
    let mut scream = build(Variant::Libwebrtc);
    targets(&mut *scream, 0, 10, 0, |_| false);
    let during = targets(&mut *scream, 10, 798, 25, |_| false);
    let drained = targets(&mut *scream, 808, 20, 25, |_| false);
    let after = targets(&mut *scream, 850, 200, 25, |_| false);
    let last = during[797];
    assert!(drained.iter().any(|target| *target < 0.55 * last), "{last} {drained:?}");
    assert!(after.iter().all(|target| *target > 0.9 * last), "{last} {after:?}");
}

/// By hand: an average of 45 ms is half way from half of the target to the target. Alpha 0.5 takes a quarter off per RTT of 25
/// ms; at 136 ms that is 0.25 x 25 / 136 = 4.6 % each 25 ms.
#[test]
fn a_queueing_delay_reduces_the_window_like_marks() {
    let mut scream = build(Variant::Draft);
    targets(&mut *scream, 0, 40, 0, |_| false);
    let found = targets(&mut *scream, 40, 40, 45, |_| false);
    let step = found[39] / found[38];
    // Less the growth by a segment per RTT or a part of it.
    assert!((0.95..0.985).contains(&step), "{step}");
}
