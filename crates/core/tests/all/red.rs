//! RED at a link, compared with a direct transcription of the pseudocode of Floyd and Jacobson.

use airpath_core::link;
use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::rng;
use airpath_core::time::Instant;
use airpath_core::trace::ProbeMask;
use proptest::prelude::*;
use serde_json::{Value, json};

const BPS: u64 = 1_000_000;
const SEED: u64 = 11;

/// Arrivals: time since the one before in nanoseconds, length in bytes.
type Arrivals = Vec<(u64, u32)>;

/// What became of each packet: when it left and its ECN field; `None` if it was dropped.
type Outcomes = Vec<Option<(u64, u8)>>;

fn through_the_link(red: &Value, arrivals: &Arrivals) -> Outcomes {
    let config: link::Config =
        serde_json::from_value(json!({"rate": format!("{BPS} bit/s"), "queue": {"red": red}})).unwrap();
    config.half(Dir::Downlink).validate_queue().unwrap();
    let mut path = Path::new(vec![config.build(SEED, "wired")], ProbeMask::NONE);
    let mut now = 0;
    for (number, (gap, len)) in arrivals.iter().enumerate() {
        now += gap;
        let mut packet = path.packet();
        // Every third cannot be marked.
        let ecn = if number % 3 == 0 { Packet::NOT_ECT } else { Packet::ECT_0 };
        (packet.seq, packet.len) = (number as u32, *len);
        packet.set_ecn(ecn);
        path.handle_packet(Instant::from_nanos(now), Dir::Downlink, packet);
    }
    path.handle_timeout(Instant::from_nanos(now + 1_000_000_000_000));
    let mut outcomes = vec![None; arrivals.len()];
    while let Some((at, _, packet)) = path.poll_output() {
        outcomes[packet.seq as usize] = Some((at.as_nanos(), packet.ecn()));
    }
    outcomes
}

fn by_the_book(red: &Value, arrivals: &Arrivals) -> Outcomes {
    let value = |key: &str| red[key].as_f64().unwrap();
    let [min, max, max_p, weight] =
        ["min_threshold", "max_threshold", "max_probability", "weight"].map(value);
    let [mean, limit] = [value("mean"), value("packets")];
    let [gentle, ecn, bytes] = ["gentle", "ecn", "in_bytes"].map(|key| red[key] == true);
    let mut stream = rng::stream(SEED, "wired.downlink.queue");
    // Ends of transmission and lengths of all packets that were let in.
    let mut sent: Vec<(u64, u32)> = Vec::new();
    let (mut now, mut avg, mut count) = (0_u64, 0.0_f64, -1_i64);
    let mut outcomes = Vec::new();
    for (number, (gap, len)) in arrivals.iter().enumerate() {
        now += gap;
        let held: Vec<u32> = sent.iter().filter(|(end, _)| *end > now).map(|(_, size)| *size).collect();
        let last_end = sent.last().map_or(0, |(end, _)| *end);
        let q = if bytes {
            held.iter().map(|size| f64::from(*size)).sum::<f64>() / mean
        } else {
            held.len() as f64
        };
        if held.is_empty() {
            let m = (now - last_end) as f64 / (mean * 8e9 / BPS as f64);
            avg *= libm::exp(m * libm::log(1.0 - weight));
        } else {
            avg = (1.0 - weight) * avg + weight * q;
        }
        let u = stream.uniform();
        let size = if bytes { f64::from(*len) / mean } else { 1.0 };
        let upper = if gentle { 2.0 * max } else { max };
        let (mut drop, mut may_mark) = (false, false);
        if avg >= upper {
            (drop, count) = (true, 0);
        } else if avg >= min {
            count += 1;
            let p_b = size
                * if avg < max {
                    max_p * (avg - min) / (max - min)
                } else {
                    max_p + (1.0 - max_p) * (avg / max - 1.0)
                };
            let used = count as f64 * p_b;
            let p_a = if used < 1.0 { p_b / (1.0 - used) } else { 1.0 };
            if u < p_a {
                (drop, may_mark, count) = (true, avg < max, 0);
            }
        } else {
            count = -1;
        }
        let mut field = if number % 3 == 0 { Packet::NOT_ECT } else { Packet::ECT_0 };
        let marks = drop && may_mark && ecn && field == Packet::ECT_0;
        let full = held.len() as f64 >= limit;
        if (drop && !marks) || full {
            count = if drop || full { 0 } else { count };
            outcomes.push(None);
            continue;
        }
        if marks {
            field = Packet::CE;
        }
        let end = last_end.max(now) + u64::from(*len) * 8_000_000_000 / BPS;
        sent.push((end, *len));
        outcomes.push(Some((end, field)));
    }
    outcomes
}

fn compare(mut red: Value, arrivals: &Arrivals) -> Outcomes {
    let written = red.clone();
    red.as_object_mut().unwrap().retain(|key, _| key != "mean" && key != "in_bytes");
    let ours = through_the_link(&red, arrivals);
    assert_eq!(ours, by_the_book(&written, arrivals));
    ours
}

fn config(thresholds: (f64, f64), max_p: f64, weight: f64, mean: u32, flags: (bool, bool, bool)) -> Value {
    let (gentle, ecn, in_bytes) = flags;
    json!({
        "packets": 30, "min_threshold": thresholds.0, "max_threshold": thresholds.0 + thresholds.1,
        "max_probability": max_p, "weight": weight, "mean_packet": format!("{mean} B"), "mean": mean,
        "gentle": gentle, "ecn": ecn, "unit": if in_bytes { "bytes" } else { "packets" }, "in_bytes": in_bytes,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn it_does_what_the_pseudocode_does(
        thresholds in (0.5..8.0_f64, 0.5..10.0_f64),
        max_p in 0.01..1.0_f64,
        weight in prop_oneof![0.001..0.01_f64, 0.01..0.9_f64],
        mean in 200..1500_u32,
        flags: (bool, bool, bool),
        arrivals in prop::collection::vec((0..14_000_000_u64, 40..1500_u32), 1..400),
    ) {
        compare(config(thresholds, max_p, weight, mean, flags), &arrivals);
    }
}

/// A tenth more than the link can send for four seconds, a pause of one, and again: drops, marks and a queue that runs
/// empty.
#[test]
fn overload_is_dropped_and_marked_before_the_buffer_is_full() {
    let burst = |gap: u64| (0..330_u64).map(move |number| (if number == 0 { gap } else { 10_900_000 }, 1500));
    let arrivals: Arrivals = burst(0).chain(burst(1_000_000_000)).collect();
    let outcomes = compare(config((5.0, 10.0), 0.1, 0.02, 1500, (true, true, false)), &arrivals);
    let dropped = outcomes.iter().filter(|outcome| outcome.is_none()).count();
    let marked = outcomes.iter().flatten().filter(|(_, ecn)| *ecn == Packet::CE).count();
    assert!((20..60).contains(&dropped) && marked > 20, "{dropped} dropped, {marked} marked");
}
