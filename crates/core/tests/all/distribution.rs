//! Distributions against theory: moments, probabilities, truncation.

use airpath_core::distribution::{Amount, Config};
use airpath_core::rng;
use airpath_core::time::Duration;
use airpath_core::units::Bitrate;
use proptest::prelude::*;
use serde_json::{Value, json};

const DRAWS: usize = 200_000;

/// Mean and standard deviation of milliseconds, and the fourth standardised moment, by theory.
struct Theory {
    mean: f64,
    sd: f64,
    kurtosis: f64,
}

fn config<A: Amount>(value: Value) -> Config<A> {
    let config: Config<A> = serde_json::from_value(value).unwrap();
    config.validate().unwrap();
    config
}

fn draws<A: Amount>(config: &Config<A>, seed: u64, count: usize) -> Vec<f64> {
    let mut stream = rng::stream(seed, "distribution");
    let sampler = config.sampler();
    (0..count).map(|_| sampler.draw(&mut stream).to_f64()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Five standard errors: once in two million, if the draws are right. The standard error of a standard deviation is sd
/// sqrt((kurtosis - 1) / 4n) (M. Kendall, A. Stuart, "The Advanced Theory of Statistics" 1, 10.8).
fn check(value: Value, theory: &Theory) {
    let config: Config<Duration> = config(value.clone());
    let values: Vec<f64> = draws(&config, 1, DRAWS).iter().map(|nanos| nanos / 1e6).collect();
    let n = DRAWS as f64;
    let average = mean(&values);
    let sd = mean(&values.iter().map(|x| (x - average) * (x - average)).collect::<Vec<_>>()).sqrt();
    let (error, sd_error) = (theory.sd / n.sqrt(), theory.sd * ((theory.kurtosis - 1.0) / (4.0 * n)).sqrt());
    assert!((average - theory.mean).abs() <= 5.0 * error, "{value}: mean {average}, not {}", theory.mean);
    assert!((sd - theory.sd).abs() <= 5.0 * sd_error, "{value}: sd {sd}, not {}", theory.sd);
    let told = config.mean().to_f64() / 1e6;
    assert!((told - theory.mean).abs() < 1e-3 * theory.mean, "{value}: says its mean is {told}");
}

#[test]
fn moments_are_those_of_the_law() {
    let spread = |name: &str, mean: &str, sd: &str| json!({name: {"mean": mean, "sd": sd}});
    check(spread("uniform", "50 ms", "20 ms"), &Theory { mean: 50.0, sd: 20.0, kurtosis: 1.8 });
    check(json!({"exponential": {"mean": "50 ms"}}), &Theory { mean: 50.0, sd: 50.0, kurtosis: 9.0 });
    // So far from zero that nothing is cut.
    check(spread("normal", "500 ms", "50 ms"), &Theory { mean: 500.0, sd: 50.0, kurtosis: 3.0 });
    // With w = 1 + (sd / mean)^2 = 1.25: w^4 + 2 w^3 + 3 w^2 - 3.
    check(spread("lognormal", "100 ms", "50 ms"), &Theory { mean: 100.0, sd: 50.0, kurtosis: 8.035 });
    // Mean counts of 5 and 50, the one by inversion and the other by rejection; kurtosis 3 + 1 / count.
    let poisson = |mean: &str| json!({"poisson": {"mean": mean, "unit": "10 ms"}});
    check(poisson("50 ms"), &Theory { mean: 50.0, sd: 500_f64.sqrt(), kurtosis: 3.2 });
    check(poisson("500 ms"), &Theory { mean: 500.0, sd: 5000_f64.sqrt(), kurtosis: 3.02 });
    let list = json!({"empirical": {"values": "10 ms\n20 ms\n20 ms\n90 ms\n"}});
    // Squares of deviations 625, 225, 225, 3025; fourth powers 390625, 50625, 50625, 9150625.
    check(list, &Theory { mean: 35.0, sd: 1025_f64.sqrt(), kurtosis: 2.295 });
}

/// A normal distribution cut at zero: with mean and sd of 50 ms the inverse Mills ratio at -1 is
/// 0.241971 / 0.841345 = 0.287600, the mean 50 (1 + 0.287600) and the variance 2500 (1 - 0.287600 - 0.082714).
#[test]
fn a_negative_delay_is_drawn_again() {
    let normal = json!({"normal": {"mean": "50 ms", "sd": "50 ms"}});
    check(normal, &Theory { mean: 64.38, sd: 39.68, kurtosis: 3.0 });
}

/// Without none at all: the mean is 3 / (1 - exp(-3)).
#[test]
fn a_rate_of_zero_is_drawn_again() {
    let config: Config<Bitrate> = config(json!({"poisson": {"mean": "3 kbit/s", "unit": "1 kbit/s"}}));
    let values = draws(&config, 1, DRAWS);
    assert!(values.iter().all(|value| *value >= 1000.0));
    assert_eq!(config.mean(), Bitrate::from_bps(3157));
    // Standard deviation 1.58 at most.
    assert!((mean(&values) - 3157.19).abs() < 5.0 * 1600.0 / (DRAWS as f64).sqrt());
}

#[test]
fn counts_have_the_probabilities_of_poisson() {
    // exp(-m) m^k / k! at the mode and next to it.
    for (units, count, expected) in
        [(3.0, 3.0, 0.224_042), (3.0, 0.0, 0.049_787), (40.0, 40.0, 0.062_947), (40.0, 30.0, 0.018_465)]
    {
        let mean = format!("{units} ms");
        let config: Config<Duration> = config(json!({"poisson": {"mean": mean, "unit": "1 ms"}}));
        let hits = draws(&config, 2, DRAWS).iter().filter(|value| **value == count * 1e6).count();
        let share = hits as f64 / DRAWS as f64;
        let error = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
        assert!((share - expected).abs() < 5.0 * error, "{count} of {units}: {share}, not {expected}");
    }
}

#[test]
fn quantiles_are_those_of_the_law() {
    // Shares below a bound: of the exponential 1 - exp(-1) below its mean, of the lognormal half below its
    // median, 100 / sqrt(1.25), of the normal 0.841345 below mean + sd, of the uniform 3/4 of its range.
    let cases = [
        (json!({"exponential": {"mean": "100 ms"}}), 100.0, 0.632_121),
        (json!({"lognormal": {"mean": "100 ms", "sd": "50 ms"}}), 89.442_719, 0.5),
        (json!({"normal": {"mean": "500 ms", "sd": "50 ms"}}), 550.0, 0.841_345),
        (json!({"uniform": {"mean": "100 ms", "sd": "20 ms"}}), 117.320_508, 0.75),
    ];
    for (value, bound, expected) in cases {
        let config: Config<Duration> = config(value.clone());
        let below = draws(&config, 3, DRAWS).iter().filter(|nanos| **nanos < bound * 1e6).count();
        let share = below as f64 / DRAWS as f64;
        let error = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
        assert!((share - expected).abs() < 5.0 * error, "{value}: {share} below {bound}, not {expected}");
    }
}

#[test]
fn what_is_constant_is_exact_and_draws_nothing() {
    // More than a float can hold.
    let config: Config<Bitrate> = config(json!({"constant": "9007199254740993 bit/s"}));
    let mut stream = rng::stream(1, "constant");
    assert_eq!(config.sampler().draw(&mut stream).as_bps(), 9_007_199_254_740_993);
    assert_eq!(stream, rng::stream(1, "constant"));
}

proptest! {
    #[test]
    fn a_draw_is_possible_and_repeats(
        law in 0..4_u8, mean in 1..1_000_000_u64, percent in 0..300_u64, seed: u64,
    ) {
        let sd = mean * percent / 100;
        let (mean, sd) = (format!("{mean} bit/s"), format!("{sd} bit/s"));
        let value = match law {
            0 => json!({"uniform": {"mean": mean, "sd": sd}}),
            1 => json!({"exponential": {"mean": mean}}),
            2 => json!({"normal": {"mean": mean, "sd": sd}}),
            _ => json!({"lognormal": {"mean": mean, "sd": sd}}),
        };
        let config: Config<Bitrate> = serde_json::from_value(value).unwrap();
        prop_assume!(config.validate().is_ok());
        let values = draws(&config, seed, 200);
        prop_assert!(values.iter().all(|drawn| *drawn >= 1.0));
        prop_assert_eq!(&values, &draws(&config, seed, 200));
        prop_assert!(config.mean().as_bps() >= 1);
    }
}
