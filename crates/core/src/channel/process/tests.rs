use super::*;
use crate::time::Duration;

/// Eight levels of 5 to 40 Mbit/s, correlated over 1 s and 30 s, no outages.
const VARYING: &str = "
    counts = [4, 8, 12, 16, 20, 24, 28, 32]
    time_constants_s = [1, 30]
    weights = [0.5, 0.3]
";
const OUTAGES: &str = "
    [outages]
    per_s = [0.8, 0.1, 0.05, 0.01]
    episodes = [[[400, 0]], [[800, 0], [600, 5], [1000, 0]]]
";

fn config(model: &str) -> Config {
    let config = Config { model: toml::from_str(model).unwrap(), ..Config::default() };
    config.validate().unwrap();
    config
}

/// Opportunities in each millisecond of the first seconds.
fn by_ms(config: &Config, seed: u64, name: &str, seconds: usize) -> Vec<u32> {
    let mut channel = config.build(seed, name);
    let mut counts = vec![0; seconds * 1000];
    loop {
        let at = channel.next_opportunity(Instant::ZERO).unwrap().at.as_nanos() / 1_000_000;
        match counts.get_mut(at as usize) {
            Some(count) => *count += 1,
            None => return counts,
        }
    }
}

fn bins(counts: &[u32], length: usize) -> Vec<f64> {
    counts.chunks_exact(length).map(|bin| f64::from(bin.iter().sum::<u32>())).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Correlation of one series with another, `lag` values later.
fn correlation(one: &[f64], other: &[f64], lag: usize) -> f64 {
    let (mean_one, mean_other) = (mean(one), mean(other));
    let product = |first: &[f64], second: &[f64]| -> f64 {
        first.iter().zip(second).map(|(own, its)| (own - mean_one) * (its - mean_other)).sum::<f64>()
            / (first.len().min(second.len())) as f64
    };
    let (own, others) = (product(one, one), {
        let squares: Vec<f64> =
            other.iter().map(|value| (value - mean_other) * (value - mean_other)).collect();
        mean(&squares)
    });
    product(one, &other[lag..]) / libm::sqrt(own * others)
}

/// Lengths of silences of more than 300 ms.
fn outages(counts: &[u32]) -> Vec<usize> {
    let busy: Vec<usize> = (0..counts.len()).filter(|index| counts[*index] > 0).collect();
    busy.windows(2).map(|pair| pair[1] - pair[0]).filter(|silence| *silence > 300).collect()
}

#[test]
fn default_process_is_a_constant_rate() {
    let config = config("");
    assert_eq!(config.mean_rate(), Some(Bitrate::from_bps(12_000_000)));
    assert_eq!(by_ms(&config, 1, "ue0.downlink.channel", 10), vec![1; 10_000]);
}

#[test]
fn counts_of_bins_have_the_given_distribution() {
    let config = config(VARYING);
    // White: independent bins, so the error of each share is a binomial one.
    let white = Config { model: Model { weights: vec![0.0, 0.0], ..config.model }, ..Config::default() };
    let counts = bins(&by_ms(&white, 1, "ue0.downlink.channel", 4000), 100);
    assert!((mean(&counts) - 18.0).abs() < 4.0 * 9.2 / 200.0, "{}", mean(&counts));
    for (share, count) in [(0.25, 10.0), (0.5, 18.0), (0.75, 26.0)] {
        let below = counts.iter().filter(|one| **one < count).count() as f64 / counts.len() as f64;
        let also = counts.iter().filter(|one| **one <= count).count() as f64 / counts.len() as f64;
        assert!(below < share + 0.01 && also > share - 0.01, "{below} {also} {share}");
    }
}

/// The score has 0.5 exp(-t / 1 s) + 0.3 exp(-t / 30 s); the counts, nearly uniform, 6/pi asin(r/2) of it.
#[test]
#[ignore = "slow"]
fn autocorrelation_of_bins_follows_the_weights() {
    let config = config(VARYING);
    let lags = [1, 5, 20, 100];
    let mut measured = [0.0; 4];
    const RUNS: u64 = 10;
    for seed in 0..RUNS {
        let counts = bins(&by_ms(&config, seed, "ue0.downlink.channel", 3000), 100);
        for (sum, lag) in measured.iter_mut().zip(lags) {
            *sum += correlation(&counts, &counts, lag) / RUNS as f64;
        }
    }
    for (found, lag) in measured.iter().zip(lags) {
        let time = lag as f64 / 10.0;
        let score = 0.5 * libm::exp(-time) + 0.3 * libm::exp(-time / 30.0);
        let expected = 6.0 / std::f64::consts::PI * libm::asin(score / 2.0);
        assert!((found - expected).abs() < 0.03, "lag {lag}: {found} for {expected}");
    }
}

#[test]
#[ignore = "slow"]
fn outages_come_in_their_episodes_after_bad_seconds() {
    let config = config(&(VARYING.to_owned() + OUTAGES));
    let seconds = 20_000;
    let counts = by_ms(&config, 3, "ue0.downlink.channel", seconds);
    // 0.1 x 0.8 + 0.2 x 0.1 + 0.3 x 0.05 + 0.4 x 0.01 = 0.119 per second outside; a mean length of 1.4 s.
    let expected = 0.119 / (1.0 + 0.119 * 1.4 * libm::exp(0.15 * 0.15 / 2.0)) * 1.5;
    let outages = outages(&counts);
    let rate = outages.len() as f64 / seconds as f64;
    // Episodes follow bad seconds, so their number varies more than a Poisson one.
    assert!((rate / expected - 1.0).abs() < 0.1, "{rate} for {expected}");
    let long = outages.iter().filter(|ms| **ms > 600).count() as f64 / outages.len() as f64;
    assert!((long - 2.0 / 3.0).abs() < 0.06, "{long}");
    let mean_bps = mean(&bins(&counts, 1000)) * 12_000.0;
    let said = config.mean_rate().unwrap().as_bps() as f64;
    assert!((mean_bps / said - 1.0).abs() < 0.04, "{mean_bps} for {said}");
    // The second before an outage is a bad one.
    let busy: Vec<usize> = (0..counts.len()).filter(|index| counts[*index] > 0).collect();
    let before: Vec<f64> = busy
        .windows(2)
        .filter(|pair| pair[1] - pair[0] > 300 && pair[0] > 1000)
        .map(|pair| f64::from(counts[pair[0] - 999..=pair[0]].iter().sum::<u32>()))
        .collect();
    assert!(mean(&before) < 0.7 * mean(&bins(&counts, 1000)), "{}", mean(&before));
}

/// With one episode of 10 s and one each 10 s outside, half of the runs begin within one.
#[test]
fn run_begins_as_it_goes_on() {
    let config = config("[outages]\nper_s = [0.1, 0.1, 0.1, 0.1]\nepisodes = [[[10000, 0]]]");
    let waits: Vec<f64> = (0..4000)
        .map(|seed| {
            let mut channel = config.build(seed, "ue0.downlink.channel");
            channel.next_opportunity(Instant::ZERO).unwrap().at.as_secs_f64()
        })
        .collect();
    let within: Vec<f64> = waits.into_iter().filter(|wait| *wait > 0.1).collect();
    // A bin before the first episode is not there if it begins with one: 1 %.
    assert!((within.len() as f64 / 4000.0 - 0.505).abs() < 0.035, "{}", within.len());
    // The rest of an episode is uniform: 5 s.
    assert!((mean(&within) - 5.05).abs() < 0.3, "{}", mean(&within));
}

#[test]
#[ignore = "slow"]
fn directions_share_components_and_episodes() {
    let shared = "shared = [0.8, 0.8]\n";
    let both = |model: &str, seed| {
        let config = config(model);
        ["downlink", "uplink"].map(|dir| by_ms(&config, seed, &format!("ue0.{dir}.channel"), 6000))
    };
    let correlated = |model: &str| {
        let [down, up] = both(model, 5).map(|counts| bins(&counts, 1000));
        correlation(&down, &up, 0)
    };
    assert!(correlated(VARYING).abs() < 0.1);
    // Over a second the white part hardly counts: 0.8 is shared of the rest.
    let measured = correlated(&(VARYING.to_owned() + shared));
    assert!((0.6..0.85).contains(&measured), "{measured}");

    let together = |outages: &str| {
        let [down, up] =
            both(&format!("counts = [50]\n[outages]\nper_s = [0.1, 0.1, 0.1, 0.1]\n{outages}"), 6);
        let silent =
            |counts: &[u32]| bins(counts, 100).iter().map(|bin| f64::from(*bin == 0.0)).collect::<Vec<_>>();
        correlation(&silent(&down), &silent(&up), 0)
    };
    let episodes = "episodes = [[[400, 0]], [[2000, 0]]]\n";
    assert!(together(episodes).abs() < 0.1);
    assert!(together(&(episodes.to_owned() + "shared = 0.9\n")) > 0.6);
}

#[test]
fn what_is_asked_does_not_change_what_is_offered() {
    let config = config(&(VARYING.to_owned() + OUTAGES));
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let [mut often, mut once] = [7, 7].map(|seed| config.build(seed, "ue0.downlink.channel"));
    let mut passed = 0;
    loop {
        let opportunity = often.next_opportunity(Instant::ZERO).unwrap();
        if opportunity.at >= at(60_000) {
            assert_eq!(once.offered(at(59_999)).opportunities, often.offered(at(59_999)).opportunities);
            let (again, first) = (often.offered(opportunity.at), once.offered(opportunity.at));
            assert_eq!(again, first);
            assert_eq!(
                first.opportunities,
                passed + 1,
                "at once within their millisecond: none shares its time"
            );
            assert_eq!(once.next_opportunity(at(60_000)), Some(opportunity));
            return;
        }
        passed += 1;
    }
}

#[test]
fn texture_shapes_bursts_and_silences() {
    // Ten bursts of four in each bin, 10 ms apart, or in ten milliseconds one after the other.
    for silence in [10, 1] {
        let texture = format!("counts = [40]\n[[texture]]\npackets = [4]\nsilences_ms = [{silence}]\n");
        let counts = by_ms(&config(&texture), 1, "ue0.downlink.channel", 100);
        for bin in counts.chunks_exact(100) {
            let busy: Vec<usize> = (0..100).filter(|index| bin[*index] > 0).collect();
            assert_eq!(busy.len(), 10);
            assert!(busy.iter().all(|index| bin[*index] == 4));
            assert!(busy.windows(2).all(|pair| pair[1] - pair[0] == silence), "{busy:?}");
        }
    }
    let even = by_ms(&config("counts = [40]"), 1, "ue0.downlink.channel", 100);
    assert!(even.iter().all(|count| *count <= 1));
}

#[test]
#[ignore = "slow"]
fn pairing_makes_a_bin_more_even_or_more_clumped() {
    // Ten bursts of one in each bin, and silences whose lengths differ.
    let spread = |pairing: &str| {
        let texture = "counts = [10]\n[[texture]]\npackets = [1]\nsilences_ms = [1, 2, 4, 8, 18, 27]\n";
        let config = config(&(texture.to_owned() + pairing));
        let counts = by_ms(&config, 1, "ue0.downlink.channel", 30_000);
        let halves = counts.chunks_exact(100).map(|bin| f64::from(bin[..50].iter().sum::<u32>()) - 5.0);
        halves.map(|half| half * half).sum::<f64>() / 300.0
    };
    let [even, independent, clumped] = ["pairing = -1", "", "pairing = 1"].map(spread);
    assert!(even < 0.8 * independent && clumped > 1.3 * independent, "{even} {independent} {clumped}");
}

#[test]
#[ignore = "slow"]
fn mean_scales_the_rate() {
    let model = VARYING.to_owned() + OUTAGES;
    let scaled = Config { mean: Some("40 Mbit/s".parse().unwrap()), ..config(&model) };
    scaled.validate().unwrap();
    let count = |config: &Config| by_ms(config, 2, "ue0.downlink.channel", 5000).iter().sum::<u32>();
    let (plain, more) = (f64::from(count(&config(&model))), f64::from(count(&scaled)));
    let factor = 40e6 / config(&model).mean_rate().unwrap().as_bps() as f64;
    assert!((more / plain / factor - 1.0).abs() < 0.02, "{more} {plain} {factor}");
}

#[test]
fn model_is_read_from_json_and_toml() {
    let json = r#"{"counts": [1, 2.5], "outages": {"per_s": [0, 0, 0, 0.1], "episodes": [[[500, 0]]]}}"#;
    let from_json: Model = Model::read(json).unwrap().try_into().unwrap();
    let text = toml::to_string(&from_json).unwrap();
    let from_toml: Model = Model::read(&text).unwrap().try_into().unwrap();
    assert_eq!(from_json, from_toml);
    assert_eq!(from_json.counts, [1.0, 2.5]);
    let wrong = |given: &str| Model::read(given).unwrap_err().to_string();
    assert!(wrong("{\"counts\": [1, ").starts_with("is no JSON: EOF"), "{}", wrong("{\"counts\": [1, "));
    assert!(wrong("1\n2\n").starts_with("is no TOML: "), "{}", wrong("1\n2\n"));
    for nothing in ["", "{}", "origin = 'elsewhere'"] {
        assert!(wrong(nothing).starts_with("is no model: counts is missing"), "{}", wrong(nothing));
    }
}

#[test]
fn numbers_from_which_nothing_can_be_drawn_are_refused() {
    let wrong = |model: &str| {
        let model = toml::from_str(model).unwrap();
        Config { model, ..Config::default() }.validate().unwrap_err().to_string()
    };
    let errors = [
        "counts = []",
        "counts = [2, 1]",
        "counts = [-1, 1]",
        "counts = [nan]",
        "counts = [0]",
        "time_constants_s = [1, 2]\nweights = [0.5]",
        "time_constants_s = [0]\nweights = [0.5]",
        "time_constants_s = [1, 2]\nweights = [0.6, 0.6]",
        "time_constants_s = [1]\nweights = [0.5]\nshared = [2]",
        "[outages]\nper_s = [1, 0, 0, 0]",
        "[outages]\nper_s = [20, 0, 0, 0]",
        "[outages]\nepisodes = [[]]",
        "[outages]\nepisodes = [[[0, 0]]]",
        "[outages]\nepisodes = [[[3600000, 0], [1, 0]]]",
        "[[texture]]\npackets = [0.5]\nsilences_ms = [1]",
        "[[texture]]\npackets = [1]",
        "[[texture]]\npackets = [1]\nsilences_ms = [1]\npairing = 1.5",
    ]
    .map(wrong);
    insta::assert_snapshot!(errors.join("\n"), @r"
    model.counts: has 0 values; write 1 to 1000
    model.counts: does not ascend; write the smallest value first
    model.counts: has a value out of range; write numbers from 0 to 1000000
    model.counts: has a value out of range; write numbers from 0 to 1000000
    model.counts: the mean rate is 0 bit/s; write counts whose mean rate is 1 kbit/s to 20 Gbit/s
    model.weights: has 1 values, and time_constants_s 2; write one weight for each time constant
    model.time_constants_s: has a value out of range; write seconds from 0.001 to 1000000
    model.weights: are no shares of a whole; write numbers from 0 to 1 with a sum of at most 1
    model.shared: has a value out of range; write numbers from 0 to 1
    model.outages.episodes: is empty, and per_s is not 0; write at least one episode
    model.outages.per_s: has a value out of range; write episodes per second from 0 to 10
    model.outages.episodes[0]: is empty; write pieces, such as [[800, 0]]
    model.outages.episodes[0]: [0, 0] is no piece of an episode; write milliseconds from 1 to 3600000, and at most 1000000 opportunities
    model.outages.episodes[0]: is longer than an hour; write shorter pieces
    model.texture[0].packets: has a value out of range; write numbers from 1 to 1000000
    model.texture[0].silences_ms: has 0 values; write 1 to 1000
    model.texture[0].pairing: is out of range; write a number from -1 to 1
    ");
    let mean = Config { mean: Some("1 bit/s".parse().unwrap()), ..Config::default() };
    assert_eq!(
        mean.validate().unwrap_err().to_string(),
        "mean: 1 bit/s is no rate of a process; write a rate from \"1 kbit/s\" to \"20 Gbit/s\""
    );
}
