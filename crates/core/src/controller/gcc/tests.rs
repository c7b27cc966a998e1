use super::*;
use crate::controller::Outcome;

fn at(ms: f64) -> Instant {
    Instant::from_nanos((ms * 1e6) as u64)
}

const RTT: Duration = Duration::from_millis(100);

/// Groups each 10 ms whose arrivals are spread by a factor, as of a sender above the capacity by that factor. Returns the
/// usage after each.
fn usages(factor: f64, groups: u32) -> Vec<Usage> {
    let mut trendline = Trendline::default();
    (0..groups)
        .map(|group| {
            let sent = 10.0 * f64::from(group);
            trendline.add(at(sent), at(50.0 + factor * sent));
            trendline.usage()
        })
        .collect()
}

/// By hand: at 1.1 times the capacity the delay grows by 0.091 ms per ms, and 20 deltas scale that to at least 20 x 4 x 0.05:
/// overuse soon after the window is full. At 1.02 times it is 4.7 at most, below the lowest threshold of 6.
#[test]
fn a_growing_queue_is_overuse_and_a_hardly_growing_one_is_not() {
    let grown = usages(1.1, 200);
    let first = grown.iter().position(|usage| *usage == Usage::Over).unwrap();
    assert!((20..=30).contains(&first), "{first}");
    assert!(usages(1.02, 1000).iter().all(|usage| *usage == Usage::Normal));
    assert!(usages(1.0, 1000).iter().all(|usage| *usage == Usage::Normal));
    assert!(usages(0.8, 100).contains(&Usage::Under));
}

/// By hand: 300 kbit/s times 1.08 per second is 1 Mbit/s after ln(10/3) / ln(1.08) = 15.6 s.
#[test]
fn the_rate_grows_by_eight_percent_per_second() {
    let mut aimd = Aimd::new(300e3, 50e3, 1e9);
    let reached = (0..1000).find(|step| {
        aimd.update(at(50.0 * f64::from(*step)), Usage::Normal, None, RTT);
        aimd.rate >= 1e6
    });
    let seconds = f64::from(reached.unwrap()) * 0.05;
    assert!((seconds - 15.6).abs() < 0.15, "{seconds}");
}

/// By hand: 0.85 x 1 Mbit/s - 5 kbit/s = 845 kbit/s, and not again within an RTT.
#[test]
fn overuse_leaves_85_percent_of_the_acknowledged_rate() {
    let mut aimd = Aimd::new(1.5e6, 50e3, 5e6);
    assert!(aimd.update(at(0.0), Usage::Over, Some(1e6), RTT));
    assert_eq!(aimd.rate.round(), 845e3);
    assert!(!aimd.update(at(50.0), Usage::Over, Some(1e6), RTT));
    assert!(aimd.update(at(100.0), Usage::Over, Some(0.9e6), RTT));
    assert_eq!(aimd.rate.round(), 760e3);
}

/// By hand: frames of 4167 B in four packets of 1042 B, one each 2 x (100 + 100) ms: 20.8 kbit/s per second.
#[test]
fn near_the_capacity_the_rate_grows_by_a_packet_per_response_time() {
    let step = Aimd::new(1e6, 50e3, 5e6).near_capacity(RTT);
    assert!((step - 20.8e3).abs() < 100.0, "{step}");
}

#[test]
fn the_rate_does_not_run_away_from_what_is_sent() {
    let mut aimd = Aimd::new(1e6, 50e3, 1e9);
    for step in 0..2000 {
        aimd.update(at(50.0 * f64::from(step)), Usage::Normal, Some(1e6), RTT);
    }
    assert_eq!(aimd.rate, 1.51e6);
}

/// 12500 B/s in packets of 1250 B: 100 kbit/s, through a pause of 300 ms too.
#[test]
fn the_acknowledged_rate_is_that_of_the_arrivals_and_outlives_a_pause() {
    let mut throughput = Throughput::default();
    for packet in 0..9 {
        throughput.add(at(100.0 * f64::from(packet)), at(20.0 + 100.0 * f64::from(packet)), 1250);
        assert_eq!(throughput.bps(), None);
    }
    for packet in 9..20 {
        let late = if packet >= 15 { 200.0 } else { 0.0 };
        throughput.add(at(100.0 * f64::from(packet)), at(20.0 + late + 100.0 * f64::from(packet)), 1250);
        let bps = throughput.bps().unwrap();
        assert!((bps - 100e3).abs() < 8e3, "{bps}");
    }
}

fn outcome(number: u32, sent_ms: f64, arrived_ms: Option<f64>, probe: Option<u32>) -> Outcome {
    let arrived_at = arrived_ms.map(at);
    Outcome { number, len: 1000, sent_at: at(sent_ms), arrived_at, ce: false, probe }
}

/// A cluster of 2 Mbit/s arrives at 1 Mbit/s: 0.95 of that is the measured rate, and nothing further is probed.
#[test]
fn a_probe_measures_the_bottleneck() {
    let mut probes = Probes::new(1e6 / 3.0 * 2.0, 5e6);
    let probe = probes.poll(at(0.0)).unwrap();
    assert_eq!((probe.rate_bps.round(), probe.packets), (2e6, 5));
    let arrivals =
        (0..5_u32).map(|n| outcome(n, 4.0 * f64::from(n), Some(50.0 + 8.0 * f64::from(n)), Some(0)));
    let measured = arrivals.filter_map(|outcome| probes.add(at(90.0), outcome)).next().unwrap();
    assert_eq!(measured.round(), 950e3);
}

/// Draft, section 6: 20 % lost leave 0.9 of the rate; below 2 % the limit grows by 5 %, in between it stays.
#[test]
fn losses_limit_the_rate() {
    let mut loss = LossLimit { rate: f64::INFINITY, counted: (0, 0), since: None };
    let mut second = |n: u32, lost: u32| {
        loss.update(at(0.0), 1e6);
        loss.counted = (100, lost);
        loss.update(at(1000.0 * f64::from(n)), 1e6);
        loss.rate
    };
    assert_eq!(second(1, 5), f64::INFINITY);
    assert_eq!(second(2, 20).round(), 900e3);
    assert_eq!(second(3, 5).round(), 900e3);
    assert_eq!(second(4, 0).round(), 945e3);
}
