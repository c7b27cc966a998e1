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
    let mut aimd = Aimd::new(300e3, 50e3);
    let reached = (0..1000).find(|step| {
        aimd.update(at(50.0 * f64::from(*step)), Usage::Normal, Some(1e6), RTT);
        aimd.rate >= 1e6
    });
    let seconds = f64::from(reached.unwrap()) * 0.05;
    assert!((seconds - 15.6).abs() < 0.15, "{seconds}");
}

/// By hand: 0.85 x 1 Mbit/s - 5 kbit/s = 845 kbit/s, and not again within an RTT. An increase less than an RTT ago delays
/// a decrease, too.
#[test]
fn overuse_leaves_85_percent_of_the_acknowledged_rate() {
    let mut aimd = Aimd::new(1.5e6, 50e3);
    let mut after = |ms: f64, usage, acked| {
        aimd.update(at(ms), usage, Some(acked), RTT);
        aimd.rate.round()
    };
    assert_eq!(after(0.0, Usage::Over, 1e6), 845e3);
    assert_eq!(after(50.0, Usage::Over, 0.9e6), 845e3);
    assert_eq!(after(100.0, Usage::Over, 0.9e6), 760e3);
    after(200.0, Usage::Normal, 0.9e6);
    let increased = after(250.0, Usage::Normal, 0.9e6);
    assert!(increased > 760e3);
    assert_eq!(after(300.0, Usage::Over, 0.8e6), increased);
    assert_eq!(after(350.0, Usage::Over, 0.8e6), 675e3);
}

/// Overuse shows where the capacity is, a probe does not: after it the rate still grows by 8 % per second.
#[test]
fn growth_after_a_probe_is_multiplicative_and_after_overuse_additive() {
    // By hand: 20.8 kbit/s per second of 1 Mbit/s.
    let gained = |prepare: fn(&mut Aimd)| {
        let mut aimd = Aimd::new(1e6, 50e3);
        prepare(&mut aimd);
        for step in 1..=20 {
            aimd.update(at(50.0 * f64::from(step)), Usage::Normal, Some(1e6), RTT);
        }
        let before = aimd.rate;
        for step in 21..=40 {
            aimd.update(at(50.0 * f64::from(step)), Usage::Normal, Some(1e6), RTT);
        }
        aimd.rate / before
    };
    let probed = gained(|aimd| aimd.probed(at(0.0), 900e3));
    let overused = gained(|aimd| aimd.update(at(0.0), Usage::Over, Some(1.2e6), RTT));
    assert!((probed - 1.08).abs() < 0.001, "{probed}");
    assert!((1.02..1.03).contains(&overused), "{overused}");
}

/// By hand: frames of 4167 B in four packets of 1042 B, one each 2 x (100 + 100) ms: 20.8 kbit/s per second.
#[test]
fn near_the_capacity_the_rate_grows_by_a_packet_per_response_time() {
    let step = Aimd::new(1e6, 50e3).near_capacity(RTT);
    assert!((step - 20.8e3).abs() < 100.0, "{step}");
}

#[test]
fn the_rate_does_not_run_away_from_what_is_sent() {
    let mut aimd = Aimd::new(1e6, 50e3);
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

/// A cluster of 2 Mbit/s arrives at 1 Mbit/s: 0.95 of that is the measured rate, from the fourth of five packets on.
#[test]
fn a_probe_measures_the_bottleneck() {
    let mut probes = Probes::new(at(0.0), 2e6 / 3.0, 5e6);
    let probe = probes.poll().unwrap();
    assert_eq!((probe.rate_bps.round(), probe.packets), (2e6, 5));
    let outcome = |n: f64, arrived: f64| outcome(n as u32, 4.0 * n, Some(arrived), Some(0));
    let mut measured = (0..5).map(|n| probes.add(&outcome(n.into(), 50.0 + 8.0 * f64::from(n))));
    let expected = [None, None, None, Some(950e3), Some(950e3)];
    assert!(expected.into_iter().all(|bps| measured.next().unwrap().map(f64::round) == bps));
    // A late packet would make the arrival rate more than twice the sending rate.
    let mut others = Probes::new(at(0.0), 2e6 / 3.0, 5e6);
    others.poll();
    assert!((0..5).all(|n| others.add(&outcome(n.into(), 90.0 + f64::from(n))).is_none()));
}

/// Start at 300 kbit/s: 0.9 and 1.8 Mbit/s, and twice the target once it exceeds 0.7 of the latter within a second.
#[test]
fn a_probe_that_the_path_carries_is_followed_by_a_faster_one() {
    let rates = |probes: &mut Probes| -> Vec<f64> {
        std::iter::from_fn(|| probes.poll()).map(|probe| probe.rate_bps.round()).collect()
    };
    let mut probes = Probes::new(at(0.0), 300e3, 10e6);
    assert_eq!(rates(&mut probes), [900e3, 1.8e6]);
    probes.on_target(at(200.0), 1.2e6, false);
    probes.on_target(at(250.0), 1.3e6, true);
    assert_eq!(rates(&mut probes), [0.0; 0]);
    probes.on_target(at(300.0), 1.3e6, false);
    assert_eq!(rates(&mut probes), [2.6e6]);
    probes.on_target(at(500.0), 2.5e6, false);
    assert_eq!(rates(&mut probes), [5e6]);
    probes.on_target(at(600.0), 4.9e6, false);
    assert_eq!(rates(&mut probes), [0.0; 0]);
    let mut late = Probes::new(at(0.0), 300e3, 10e6);
    rates(&mut late);
    late.on_target(at(1100.0), 1.7e6, false);
    assert_eq!(rates(&mut late), [0.0; 0]);
}

/// Feeds windows of 250 ms at a sending rate, of which a share is lost, and returns the limit after each.
fn limits(loss: &mut LossLimit, from: u32, windows: u32, bps: f64, share: f64, delay_based: f64) -> Vec<f64> {
    let packets = (bps * 0.25 / 8e3) as u32;
    (from..from + windows)
        .map(|window| {
            let sent: Vec<Outcome> = (0..=packets)
                .map(|n| {
                    let ms = 250.0 * (f64::from(window) + f64::from(n) / f64::from(packets));
                    let is_lost = f64::from(n) * share % 1.0 + share >= 1.0;
                    outcome(n, ms, (!is_lost).then_some(ms + 50.0), None)
                })
                .collect();
            loss.update(&sent, Some(bps * (1.0 - share)), delay_based);
            loss.bps()
        })
        .collect()
}

/// Half of 2 Mbit/s lost: the limit is the received rate, never less. Without losses it grows again, at most by 1.3 each 300 ms, and
/// ends where the delay allows no more.
#[test]
fn losses_limit_the_rate_to_what_arrives() {
    let mut loss = LossLimit::new(50e3);
    assert_eq!(limits(&mut loss, 0, 2, 2e6, 0.0, 2e6), [f64::INFINITY; 2]);
    assert_eq!(limits(&mut loss, 2, 8, 2e6, 0.0, 2e6), [2e6; 8]);
    assert!(!loss.limits());
    let during = limits(&mut loss, 10, 8, 2e6, 0.5, 2e6);
    assert!(loss.limits() && during.iter().all(|bps| *bps >= 1e6), "{during:?}");
    assert!(during[7] < 1.1e6, "{during:?}");
    let mut after = vec![during[7]];
    for window in 18..60 {
        let sent = after[after.len() - 1];
        after.extend(limits(&mut loss, window, 1, sent, 0.0, 2e6));
    }
    assert!(after.windows(2).all(|pair| pair[1] <= 1.31 * pair[0]), "{after:?}");
    assert!(!loss.limits() && after.last() == Some(&2e6), "{after:?}");
}

/// 1 % lost whatever the rate is inherent: it limits nothing.
#[test]
fn few_losses_do_not_limit_the_rate() {
    let mut loss = LossLimit::new(50e3);
    let found = limits(&mut loss, 0, 60, 1e6, 0.01, 1e6);
    assert!(found[2..].iter().all(|bps| *bps == 1e6), "{found:?}");
}

/// The arrivals of `benches/aiortc_gcc.py`: packets each 10 ms at a share of the capacity, of which the queue grows.
fn arrivals(pattern: &str) -> Vec<(f64, f64)> {
    let mut queue = 0.0_f64;
    let packet = |n: u32| {
        let sent = 10.0 * f64::from(n);
        let is_after = sent >= 6000.0;
        let share = match pattern {
            "ramp" if is_after => 1.1,
            "steep" if is_after => 2.0,
            "slow" if is_after => 1.005,
            "drain" if is_after && sent < 8000.0 => 1.2,
            "drain" => 0.7,
            _ => 0.9,
        };
        queue = (queue + 10.0 * (share - 1.0)).max(0.0);
        let jitter = if pattern == "jitter" { 3.0 * libm::sin(1.7 * f64::from(n)).abs() } else { 0.0 };
        (sent, sent + 50.0 + queue + jitter)
    };
    (0..1200).map(packet).collect()
}

/// aiortc's detector has the Kalman filter of the draft. Where it sees overuse, the trendline sees it too, at most 300 ms earlier
/// or later; where it sees none, neither does the trendline; and both see a queue drain.
#[test]
fn the_detector_agrees_with_that_of_aiortc() {
    let rows: Vec<(&str, f64, &str)> = include_str!("aiortc.csv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut cells = line.split(',');
            let mut next = || cells.next().unwrap();
            (next(), next().parse().unwrap(), next())
        })
        .collect();
    for pattern in ["below", "jitter", "ramp", "steep", "slow", "drain"] {
        let mut trendline = Trendline::default();
        let usages: Vec<(f64, Usage)> = arrivals(pattern)
            .into_iter()
            .map(|(sent, arrival)| {
                trendline.add(at(sent), at(arrival));
                (sent, trendline.usage())
            })
            .collect();
        let first = |usage| usages.iter().find(|(_, found)| *found == usage).map(|(sent, _)| *sent);
        let theirs = |usage| {
            rows.iter().find(|(name, _, found)| *name == pattern && *found == usage).map(|(_, sent, _)| *sent)
        };
        let overuse = (first(Usage::Over), theirs("over"));
        let agrees = match overuse {
            (Some(own), Some(other)) => (own - other).abs() <= 300.0,
            (own, other) => own == other,
        };
        assert!(agrees, "{pattern}: {overuse:?}");
        let underuse = (first(Usage::Under).is_some_and(|sent| sent > 8000.0), theirs("under").is_some());
        assert_eq!(underuse.0, underuse.1, "{pattern}");
    }
}
