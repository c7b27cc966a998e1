//! Distributions in bounded memory: counts in buckets of equal ratio, 128 to an octave, so that a quantile is off
//! by less than 0.4 %.

use serde::Serialize;

/// Bits of the mantissa that distinguish buckets.
const MANTISSA_BITS: u32 = 7;
/// Quantiles of a report, and points of its distribution function.
const POINTS: [f64; 21] = [
    0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98,
    0.99, 1.0,
];

/// A distribution of values that are not negative.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Weight of each bucket from `first` on.
    weights: Vec<f64>,
    first: usize,
    count: u64,
    weight: f64,
    sum: f64,
    min: f64,
    max: f64,
}

/// A distribution as reported, in the unit of its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    pub samples: u64,
    pub min: f64,
    pub mean: f64,
    pub median: f64,
    pub p5: f64,
    pub p95: f64,
    pub max: f64,
    /// Points of the distribution function: value and share of the samples up to it.
    pub cdf: Vec<(f64, f64)>,
}

impl Sketch {
    /// Counts a value; negative values and NaN are left out.
    pub fn add(&mut self, value: f64) {
        self.add_weighted(value, 1.0);
    }

    pub fn add_weighted(&mut self, value: f64, weight: f64) {
        if !(value >= 0.0 && value.is_finite() && weight > 0.0 && weight.is_finite()) {
            return;
        }
        if self.count == 0 {
            (self.min, self.max) = (value, value);
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += value * weight;
        self.weight += weight;
        *self.bucket_mut(bucket(value)) += weight;
    }

    fn bucket_mut(&mut self, bucket: usize) -> &mut f64 {
        if self.weights.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let before = self.first - bucket;
            self.weights.splice(0..0, std::iter::repeat_n(0.0, before));
            self.first = bucket;
        }
        let at = bucket - self.first;
        if at >= self.weights.len() {
            self.weights.resize(at + 1, 0.0);
        }
        &mut self.weights[at]
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.weight)
    }

    /// The value below which the share `q` of the weight lies.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        if q <= 0.0 {
            return Some(self.min);
        }
        let wanted = q * self.weight;
        let mut below = 0.0;
        for (at, weight) in self.weights.iter().enumerate() {
            below += weight;
            // Sums of weights are rounded.
            if below >= wanted * (1.0 - 1e-12) {
                // The outermost bucket has no resolution.
                let value = if self.first + at == 0 { self.min } else { middle(self.first + at) };
                return Some(value.clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// The distribution, its values times `scale`; `None` without any.
    pub fn distribution(&self, scale: f64) -> Option<Distribution> {
        let at = |q: f64| self.quantile(q).map(|value| value * scale);
        let mut cdf: Vec<_> = POINTS.iter().filter_map(|&q| Some((at(q)?, q))).collect();
        if let Some(last) = cdf.last_mut() {
            last.0 = self.max * scale;
        }
        Some(Distribution {
            samples: self.count,
            min: self.min()? * scale,
            mean: self.mean()? * scale,
            median: at(0.5)?,
            p5: at(0.05)?,
            p95: at(0.95)?,
            max: self.max * scale,
            cdf,
        })
    }

    pub fn bytes(&self) -> usize {
        8 * self.weights.capacity()
    }
}

/// 2^-40 to 2^40, which holds every time and rate that matters; the others are in the outermost.
fn bucket(value: f64) -> usize {
    const LOWEST: u64 = (1023 - 40) << MANTISSA_BITS;
    const BUCKETS: u64 = 80 << MANTISSA_BITS;
    let number = value.to_bits() >> (52 - MANTISSA_BITS);
    number.saturating_sub(LOWEST).min(BUCKETS) as usize
}

fn middle(bucket: usize) -> f64 {
    const LOWEST: u64 = (1023 - 40) << MANTISSA_BITS;
    let low = (bucket as u64 + LOWEST) << (52 - MANTISSA_BITS);
    f64::from_bits(low + (1 << (51 - MANTISSA_BITS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_off_by_less_than_half_a_percent() {
        let mut sketch = Sketch::default();
        for value in 1..=10_000 {
            sketch.add(f64::from(value) / 1000.0);
        }
        for q in [0.05, 0.5, 0.95, 0.99] {
            let found = sketch.quantile(q).expect("values");
            assert!((found / (10.0 * q) - 1.0).abs() < 0.005, "{q}: {found}");
        }
        let all = sketch.distribution(1e3).expect("values");
        assert_eq!((all.samples, all.min, all.max), (10_000, 1.0, 10_000.0));
        assert!((all.mean - 5000.5).abs() < 1e-6);
        assert!(all.cdf.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1));
    }

    #[test]
    fn weights_count_and_nonsense_does_not() {
        let mut sketch = Sketch::default();
        sketch.add_weighted(1.0, 9.0);
        sketch.add_weighted(100.0, 1.0);
        for nonsense in [f64::NAN, -1.0, f64::INFINITY] {
            sketch.add(nonsense);
        }
        assert_eq!((sketch.count(), sketch.mean()), (2, Some(10.9)));
        assert!(sketch.quantile(0.85).expect("values") < 1.01);
        assert!(sketch.quantile(0.95).expect("values") > 99.0);
    }

    #[test]
    fn zero_and_what_is_far_away_have_buckets() {
        let mut sketch = Sketch::default();
        for value in [0.0, 1e-30, 1e30] {
            sketch.add(value);
        }
        assert_eq!(sketch.quantile(1.0), Some(middle(bucket(1e30)).clamp(0.0, 1e30)));
        assert!(sketch.bytes() < 200_000);
        assert_eq!(Sketch::default().distribution(1.0), None);
    }
}
