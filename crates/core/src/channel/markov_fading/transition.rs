//! How probable it is that a bad block is followed by a good one, on a Rayleigh channel.
//!
//! Source: M. Zorzi, R. R. Rao, L. B. Milstein, "On the accuracy of a first-order Markov model for data
//! transmission on fading channels", IEEE ICUPC 1995. A block fails if the power of the fading is below 1/F:
//!
//! ```text
//! 1/F     = -ln(1 - bler)
//! rho     = |J0(2 pi fd T)|
//! theta   = sqrt(2/F / (1 - rho^2))
//! P(good) = (Q1(theta, rho theta) - Q1(rho theta, theta)) / (exp(1/F) - 1)
//! ```
//!
//! Q1 is Marcum's Q function of order 1. Where the channel is slow both values of it are close to 1/2, and
//! where blocks rarely fail both are close to 1. The difference is therefore computed as a whole, from
//! Q1(a, b) = exp(-(a^2 + b^2)/2) sum over k >= 0 of (a/b)^k I_k(ab), its complement, and
//! exp(x) = I_0(x) + 2 sum over k >= 1 of I_k(x): a sum of terms that are all positive.

use std::f64::consts::TAU;

/// The probability that the block after a lost one arrives: `bler` between 0 and 1, neither included;
/// `doppler` in cycles per block.
pub(super) fn bad_to_good(bler: f64, doppler: f64) -> f64 {
    let threshold = -libm::log1p(-bler);
    let distance = one_minus_rho(TAU * doppler);
    // 1 - rho^2 = (1 - rho) (1 + rho).
    let theta = libm::sqrt(2.0 * threshold / (distance * (2.0 - distance)));
    q1_difference(theta, distance) / libm::expm1(threshold)
}

/// 1 - |J0(x)|, to full precision also where J0 is nearly 1.
fn one_minus_rho(x: f64) -> f64 {
    if x > 0.5 {
        return 1.0 - libm::fabs(libm::j0(x));
    }
    // The power series: the terms are (-1)^(k+1) (x^2/4)^k / k!^2; the tenth is below 1e-25.
    let quarter = x * x / 4.0;
    let (mut term, mut sum) = (-1.0, 0.0);
    for k in 1..10 {
        term *= -quarter / f64::from(k * k);
        sum += term;
    }
    sum
}

/// Q1(a, b) - Q1(b, a) for b = (1 - distance) a.
fn q1_difference(a: f64, distance: f64) -> f64 {
    let log_ratio = libm::log1p(-distance);
    let exponent = -(a * distance) * (a * distance) / 2.0;
    // Downward recurrence of I_k(x) up to a common factor, I_(k-1) = I_(k+1) + 2k/x I_k (Miller).
    // I_k / I_0 is about exp(-k^2 / 2x): it starts where that is below 1e-21.
    let x = (a * a * (1.0 - distance)).max(1e-100);
    let terms = (10.0 * libm::sqrt(x)) as u64 + 30;
    let (mut above, mut bessel) = (0.0, 1e-150);
    let (mut weighted, mut all) = (0.0, 0.0);
    for k in (1..=terms).rev() {
        let k = k as f64;
        weighted -= 2.0 * bessel * libm::expm1(exponent + k * log_ratio);
        all += 2.0 * bessel;
        (above, bessel) = (bessel, above + 2.0 * k / x * bessel);
        if bessel > 1e150 {
            for value in [&mut above, &mut bessel, &mut weighted, &mut all] {
                *value *= 1e-150;
            }
        }
    }
    (weighted - bessel * libm::expm1(exponent)) / (all + bessel)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The model's values for block error rate and fd T, computed with another program: P(bad to good), mean burst,
    /// P(good to bad), with the digits printed.
    const CHECKED: [(f64, f64, f64, f64); 9] = [
        (0.01, 0.01, 0.245695, 0.002482),
        (0.05, 0.01, 0.107615, 0.005664),
        (0.10, 0.01, 0.073149, 0.008128),
        (0.10, 0.001, 0.007323, 0.000814),
        (0.10, 0.02, 0.145824, 0.016203),
        (0.10, 0.05, 0.355720, 0.039524),
        (0.10, 0.1, 0.629791, 0.069977),
        (0.10, 0.4, 0.899728, 0.099970),
        (0.20, 0.01, 0.047341, 0.011835),
    ];

    #[test]
    fn the_probabilities_are_the_models_to_all_digits() {
        for (bler, doppler, to_good, to_bad) in CHECKED {
            let p = bad_to_good(bler, doppler);
            assert!((p - to_good).abs() < 0.5001e-6, "{bler} {doppler}: {p} and not {to_good}");
            let back = p * bler / (1.0 - bler);
            assert!((back - to_bad).abs() < 0.5001e-6, "{bler} {doppler}: {back} and not {to_bad}");
        }
    }

    /// Q1 by its definition, the integral of x exp(-(x^2 + a^2)/2) I0(ax) from b on, and I0 by its own:
    /// Simpson's rule for the one, the trapezoidal rule over a period, exact to all digits, for the other.
    fn q1(a: f64, b: f64) -> f64 {
        let density = |x: f64| {
            // exp(-(x^2 + a^2)/2) I0(ax) is the mean of exp(-(x^2 + a^2)/2 + ax cos t).
            let part =
                |n: u32| libm::exp(a * x * libm::cos(TAU * f64::from(n) / 128.0) - (x * x + a * a) / 2.0);
            x * (0..128).map(part).sum::<f64>() / 128.0
        };
        let (steps, end) = (4000, a.max(b) + 10.0);
        let h = (end - b) / f64::from(steps);
        let weight = |n: i32| if n == 0 || n == steps { 1.0 } else { f64::from(2 + 2 * (n % 2)) };
        (0..=steps).map(|n| weight(n) * density(b + h * f64::from(n))).sum::<f64>() * h / 3.0
    }

    #[test]
    #[ignore = "slow"]
    fn the_difference_is_that_of_two_marcum_q_functions() {
        for a in [0.05, 0.3, 1.0, 2.5, 6.0] {
            for distance in [0.001, 0.1, 0.5, 0.9, 0.999] {
                let b = (1.0 - distance) * a;
                let expected = q1(a, b) - q1(b, a);
                let difference = q1_difference(a, distance);
                assert!((difference - expected).abs() < 1e-10, "{a} {b}: {difference}, not {expected}");
            }
        }
        // Q1(a, 0) = 1 and Q1(0, b) = exp(-b^2/2).
        assert!((q1_difference(1.5, 1.0) + libm::expm1(-1.125)).abs() < 1e-15);
    }

    /// Rice: fades of the continuous process last (exp(1/F) - 1) / (fd sqrt(2 pi / F)) on average.
    #[test]
    fn bursts_of_a_slow_channel_last_as_long_as_its_fades() {
        for bler in [1e-6, 0.01, 0.1, 0.5, 0.99] {
            let threshold = -libm::log1p(-bler);
            let doppler = 1e-6;
            let fade = libm::expm1(threshold) / (doppler * libm::sqrt(TAU * threshold));
            let ratio = fade * bad_to_good(bler, doppler);
            assert!((ratio - 1.0).abs() < 1e-4, "{bler}: {ratio}");
        }
    }

    #[test]
    fn a_fast_channel_forgets() {
        // The second zero of J0.
        let p = bad_to_good(0.1, 5.520_078_110_286_311 / TAU);
        assert!((p - 0.9).abs() < 1e-12, "{p}");
    }
}
