//! Laws of real numbers: draws, the share above a bound, and the mean of that share.
//!
//! Sources: W. Feller, "An Introduction to Probability Theory and Its Applications" I and II; G. Box and
//! M. Muller, "A Note on the Generation of Random Normal Deviates", Ann. Math. Stat. 29 (1958), the cosine alone;
//! W. Hoermann, "The transformed rejection method for generating Poisson random variables", Insurance:
//! Mathematics and Economics 12 (1993), algorithm PTRS; the beginning of a Poisson distribution by inversion.

use crate::rng::Stream;
use std::f64::consts::{PI, SQRT_2};

pub(super) const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// Draws for one value, at most.
const TRIES: u32 = 64;

/// Minimum mean for which a Poisson count is drawn by rejection.
const REJECTION: f64 = 10.0;

#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    Uniform {
        low: f64,
        width: f64,
    },
    Exponential {
        mean: f64,
    },
    Normal {
        mean: f64,
        sd: f64,
    },
    /// Mean and standard deviation of the logarithm.
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    Poisson {
        unit: f64,
        count: Count,
    },
    /// Bounded.
    Pareto {
        shape: f64,
        low: f64,
        high: f64,
        /// (low / high) to the power of the shape: the share that the bound cuts off an unbounded distribution.
        cut: f64,
    },
}

impl Law {
    pub fn uniform(mean: f64, sd: f64) -> Self {
        Self::Uniform { low: mean - SQRT_3 * sd, width: 2.0 * SQRT_3 * sd }
    }

    /// Log-normal law from mean and standard deviation of the quantity itself.
    pub fn lognormal(mean: f64, sd: f64) -> Self {
        let variance = libm::log1p((sd / mean) * (sd / mean));
        Self::Lognormal { mu: libm::log(mean) - variance / 2.0, sigma: libm::sqrt(variance) }
    }

    /// By the exponent of the tail, the smallest and the largest value.
    pub fn pareto(shape: f64, low: f64, high: f64) -> Self {
        Self::Pareto { shape, low, high, cut: libm::pow(low / high, shape) }
    }

    #[inline]
    fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Uniform { low, width } => low + width * stream.uniform(),
            Self::Exponential { mean } => standard_exponential(stream.uniform()) * mean,
            Self::Normal { mean, sd } => mean + sd * stream.normal(),
            Self::Lognormal { mu, sigma } => libm::exp(mu + sigma * stream.normal()),
            Self::Poisson { unit, count } => unit * count.draw(stream),
            Self::Pareto { shape, low, high, cut } => {
                (low * libm::pow(1.0 - stream.uniform() * (1.0 - cut), -1.0 / shape)).min(*high)
            }
        }
    }

    /// A draw that is at least `least`.
    #[inline]
    pub fn draw_from(&self, least: f64, stream: &mut Stream) -> f64 {
        for _ in 0..TRIES {
            let value = self.draw(stream);
            if value >= least {
                return value;
            }
        }
        least
    }

    /// The share of draws that are at least `least`.
    pub fn share_from(&self, least: f64) -> f64 {
        match self {
            Self::Uniform { low, .. } => f64::from(*low >= least),
            Self::Exponential { mean } => libm::exp(-least / mean),
            Self::Normal { mean, sd } => share_of_normal(least - mean, *sd),
            Self::Lognormal { mu, sigma } if least > 0.0 => share_of_normal(libm::log(least) - mu, *sigma),
            Self::Lognormal { .. } => 1.0,
            Self::Poisson { unit, count } => 1.0 - count.share_below(least / unit),
            Self::Pareto { low, .. } if *low >= least => 1.0,
            Self::Pareto { shape, low, high, cut } => {
                ((libm::pow(low / least.min(*high), *shape) - cut) / (1.0 - cut)).max(0.0)
            }
        }
    }

    /// The mean of the draws that are at least `least`, which is no more than the smallest unit of the quantity.
    pub fn mean_from(&self, least: f64) -> f64 {
        match self {
            Self::Uniform { low, width } => low + width / 2.0,
            // Without memory.
            Self::Exponential { mean } => mean + least,
            Self::Normal { mean, sd } if *sd > 0.0 => {
                let x = (least - mean) / sd;
                let density = libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * PI);
                mean + sd * density / self.share_from(least)
            }
            Self::Normal { mean, .. } => *mean,
            Self::Lognormal { mu, sigma } => {
                let mean = libm::exp(mu + sigma * sigma / 2.0);
                // The share of the sum that is above the bound.
                let kept = match least > 0.0 {
                    true => share_of_normal(libm::log(least) - mu - sigma * sigma, *sigma),
                    false => 1.0,
                };
                mean * kept / self.share_from(least)
            }
            Self::Poisson { unit, count } => {
                // Counts below the bound: only none at all, where the unit is at least the bound.
                unit * (count.mean - count.mean_below(least / unit)) / self.share_from(least)
            }
            // Above the bound it is a bounded Pareto distribution again.
            Self::Pareto { shape, low, high, .. } => {
                let low = low.max(least);
                let ratio = low / high;
                if (shape - 1.0).abs() < 1e-9 {
                    low * -libm::log(ratio) / (1.0 - ratio)
                } else {
                    let factor = shape / (shape - 1.0) * (1.0 - libm::pow(ratio, shape - 1.0));
                    low * factor / (1.0 - libm::pow(ratio, *shape))
                }
            }
        }
    }
}

/// An exponentially distributed number of mean 1 from one that is uniform from 0 to below 1.
#[inline]
pub fn standard_exponential(uniform: f64) -> f64 {
    -libm::log(1.0 - uniform)
}

/// The share of a normal distribution of mean 0 that is at least `bound`.
fn share_of_normal(bound: f64, sd: f64) -> f64 {
    if sd > 0.0 { libm::erfc(bound / (sd * SQRT_2)) / 2.0 } else { f64::from(bound <= 0.0) }
}

/// A count by Poisson.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub mean: f64,
    log_mean: f64,
    /// The probability of none.
    none: f64,
}

impl Count {
    pub fn new(mean: f64) -> Self {
        Self { mean, log_mean: libm::log(mean), none: libm::exp(-mean) }
    }

    fn draw(&self, stream: &mut Stream) -> f64 {
        if self.mean < REJECTION { self.by_inversion(stream.uniform()) } else { self.by_rejection(stream) }
    }

    /// The least count whose distribution function is above `uniform`.
    fn by_inversion(&self, uniform: f64) -> f64 {
        let (mut count, mut probability, mut sum) = (0.0, self.none, self.none);
        // The sum may stay a rounding error below 1: terms that no longer raise it end the search.
        while uniform >= sum && probability > f64::EPSILON * f64::EPSILON {
            count += 1.0;
            probability *= self.mean / count;
            sum += probability;
        }
        count
    }

    /// Hoermann's PTRS, with his letters. Accepts nine of ten pairs.
    fn by_rejection(&self, stream: &mut Stream) -> f64 {
        let b = 0.931 + 2.53 * libm::sqrt(self.mean);
        let a = 0.02483 * b - 0.059;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let v_r = 0.9277 - 3.6224 / (b - 2.0);
        for _ in 0..TRIES {
            let (u, v) = (stream.uniform() - 0.5, stream.uniform());
            let us = 0.5 - u.abs();
            let k = libm::floor((2.0 * a / us + b) * u + self.mean + 0.43);
            if us >= 0.07 && v <= v_r {
                return k;
            }
            if k < 0.0 || (us < 0.013 && v > us) {
                continue;
            }
            let left = libm::log(v * inverse_alpha / (a / (us * us) + b));
            if left <= k * self.log_mean - self.mean - libm::lgamma(k + 1.0) {
                return k;
            }
        }
        libm::floor(self.mean)
    }

    /// The probability of a count below `bound`, which is at most a few.
    fn share_below(&self, bound: f64) -> f64 {
        self.sum_below(bound, |_| 1.0)
    }

    /// Contribution of the counts below `bound` to the mean.
    fn mean_below(&self, bound: f64) -> f64 {
        self.sum_below(bound, |count| count)
    }

    fn sum_below(&self, bound: f64, weight: impl Fn(f64) -> f64) -> f64 {
        let (mut count, mut probability, mut sum) = (0.0, self.none, 0.0);
        while count < bound {
            sum += probability * weight(count);
            count += 1.0;
            probability *= self.mean / count;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    /// Bounds within the body of each law: compares the computed share above the bound, and its mean, with random
    /// draws.
    #[test]
    #[ignore = "slow"]
    fn share_and_mean_above_a_bound_are_those_of_draws() {
        const DRAWS: u32 = 200_000;
        let cases = [
            (Law::Exponential { mean: 3.0 }, 1.0),
            (Law::Normal { mean: 2.0, sd: 3.0 }, 1.0),
            (Law::lognormal(2.0, 3.0), 1.0),
            (Law::lognormal(2.0, 3.0), 0.0),
            (Law::Poisson { unit: 1.0, count: Count::new(1.5) }, 1.0),
            (Law::Poisson { unit: 0.5, count: Count::new(4.0) }, 1.0),
            (Law::Poisson { unit: 2.0, count: Count::new(30.0) }, 1.0),
            (Law::uniform(3.0, 1.0), 1.0),
            (Law::pareto(1.2, 1.0, 1e4), 1.0),
            (Law::pareto(1.0, 1.0, 1e3), 2.0),
            (Law::pareto(2.5, 0.5, 100.0), 1.0),
        ];
        for (law, bound) in cases {
            let n = f64::from(DRAWS);
            let mut stream = rng::stream(1, "law");
            let above = (0..DRAWS).filter(|_| law.draw(&mut stream) >= bound).count() as f64 / n;
            let share = law.share_from(bound);
            let error = libm::sqrt(share * (1.0 - share) / n);
            assert!((above - share).abs() <= 5.0 * error, "{law:?}: {above} above {bound}, not {share}");

            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..DRAWS {
                let value = law.draw_from(bound, &mut stream);
                assert!(value >= bound);
                sum += value;
                squares += value * value;
            }
            let (measured, told) = (sum / n, law.mean_from(bound));
            let mean_error = libm::sqrt((squares / n - measured * measured) / n);
            assert!((measured - told).abs() <= 5.0 * mean_error, "{law:?}: mean {measured}, not {told}");
        }
    }

    /// By hand: of shape 1 between 1 and e, the mean is e ln(e) / (e - 1), and the median 2 e / (e + 1).
    #[test]
    fn a_bounded_pareto_distribution_has_its_mean_and_its_bounds() {
        let e = std::f64::consts::E;
        let law = Law::pareto(1.0, 1.0, e);
        assert!((law.mean_from(0.0) - e / (e - 1.0)).abs() < 1e-12);
        assert!((law.share_from(2.0 * e / (e + 1.0)) - 0.5).abs() < 1e-12);
        assert_eq!((law.share_from(1.0), law.share_from(e)), (1.0, 0.0));
        let mut stream = rng::stream(1, "law");
        let values: Vec<f64> = (0..10_000).map(|_| law.draw(&mut stream)).collect();
        assert!(values.iter().all(|value| (1.0..=e).contains(value)));
    }

    #[test]
    fn without_spread_every_law_is_its_mean() {
        let mut stream = rng::stream(1, "law");
        for law in [Law::uniform(7.0, 0.0), Law::Normal { mean: 7.0, sd: 0.0 }, Law::lognormal(7.0, 0.0)] {
            let (value, mean) = (law.draw_from(1.0, &mut stream), law.mean_from(1.0));
            assert!((value - 7.0).abs() < 1e-12 && (mean - 7.0).abs() < 1e-12, "{law:?}: {value}, {mean}");
            assert_eq!((law.share_from(1.0), law.share_from(8.0)), (1.0, 0.0), "{law:?}");
        }
    }

    /// Impossible draws end after a bounded number of tries.
    #[test]
    fn the_tries_are_bounded() {
        let law = Law::Normal { mean: -1e9, sd: 1.0 };
        assert_eq!(law.draw_from(1.0, &mut rng::stream(1, "law")), 1.0);
    }
}
