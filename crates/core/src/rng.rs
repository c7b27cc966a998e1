//! Random numbers: one generator, and one stream of it for every component, by name.
//!
//! A stream is named after what draws from it, `"ue0.downlink.channel"`, and is seeded from the run's
//! seed and that name alone: not from how many other streams there are or how much they draw.
//! Swapping the TCP therefore leaves the channel realisation untouched (common random numbers).
//!
//! The generator is PCG XSL RR 128/64 (MCG), M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically
//! Good Algorithms for Random Number Generation", Harvey Mudd College HMC-CS-2014-0905. The 128-bit state of a stream,
//! whose lowest bit is always set, comes from
//!
//! ```text
//! x     = mix(run_seed + GAMMA) ^ fnv1a_64(name)
//! state = mix(x + GAMMA) << 64 | mix(x + 2 GAMMA) | 1
//! ```
//!
//! where `mix` and `GAMMA` are SplitMix64's (G. Steele, D. Lea, C. Flood, "Fast Splittable
//! Pseudorandom Number Generators", OOPSLA 2014). The run's seed is mixed before it meets the name,
//! so that neighbouring seeds and similar names do not cancel.
//!
//! Whatever changes a value that this module returns must change [`VERSION`], which is saved with
//! every result.

use crate::units::Probability;

/// Names the generator and the way streams are seeded.
pub const VERSION: &str = "pcg64-mcg/1";

/// One stream of random numbers: the generator's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(u128);

/// The stream `name` of the run with seed `run_seed`.
pub fn stream(run_seed: u64, name: &str) -> Stream {
    let x = mix(run_seed.wrapping_add(GAMMA)) ^ fnv1a_64(name);
    let high = mix(x.wrapping_add(GAMMA));
    let low = mix(x.wrapping_add(GAMMA.wrapping_mul(2)));
    Stream(u128::from(high) << 64 | u128::from(low) | 1)
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(MULTIPLIER);
        // XSL RR: both halves of the state combined, rotated by its six highest bits.
        ((self.0 >> 64) as u64 ^ self.0 as u64).rotate_right((self.0 >> 122) as u32)
    }

    /// A number at least 0 and below 1, uniform on the multiples of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * STEP
    }

    /// A number of the standard normal distribution, after Box and Muller; draws twice.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// This stream after this many more draws of 64 bits.
    #[must_use]
    pub fn ahead(&self, draws: u64) -> Self {
        // MULTIPLIER to the power of `draws`, by its binary digits.
        let (mut factor, mut square, mut digits) = (1_u128, MULTIPLIER, draws);
        while digits > 0 {
            if digits & 1 == 1 {
                factor = factor.wrapping_mul(square);
            }
            square = square.wrapping_mul(square);
            digits >>= 1;
        }
        Self(self.0.wrapping_mul(factor))
    }

    /// True with probability `p`. Draws exactly once for every `p`, so streams stay aligned when a run is repeated with
    /// another probability.
    pub fn chance(&mut self, p: Threshold) -> bool {
        self.next_u64() >> 1 < p.0
    }
}

/// Replaces streams by fresh ones; returns whether there are any.
pub fn renew<const N: usize>(own: [&mut Stream; N], fresh: [Stream; N]) -> bool {
    for (stream, other) in own.into_iter().zip(fresh) {
        *stream = other;
    }
    N > 0
}

/// A probability made ready for [`Stream::chance`]: exact at 0 (never) and 1 (always), otherwise
/// rounded down to a multiple of 2^-63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold(u64);

impl From<Probability> for Threshold {
    fn from(p: Probability) -> Self {
        // Scaling by a power of two is exact; the cast drops everything below 2^-63.
        Self((p.as_f64() * (1_u64 << 63) as f64) as u64)
    }
}

/// The multiplier of PCG's generators of 128 bits.
const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finalizer: a bijection whose values have nothing in common with their arguments.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn fnv1a_64(name: &str) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    name.bytes().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(p: f64) -> Threshold {
        Threshold::from(Probability::new(p).unwrap())
    }

    #[test]
    fn golden_values() {
        // These may change only together with VERSION.
        let first = |seed, name| {
            let mut stream = stream(seed, name);
            [stream.next_u64(), stream.next_u64(), stream.next_u64()]
        };
        assert_eq!(VERSION, "pcg64-mcg/1");
        assert_eq!(
            first(1, "ue0.downlink.channel"),
            [0x5816_fbe0_df7a_ac28, 0x26ac_dee3_0e68_e910, 0x53a5_ee3f_6c14_f626]
        );
        assert_eq!(
            first(2, "ue0.uplink.channel"),
            [0xdbd6_574a_fb37_e50a, 0x552b_47ee_68ba_b0b0, 0xb570_a9bc_24eb_eae4]
        );
    }

    #[test]
    fn the_hashes_are_the_published_ones() {
        // FNV-1a test vectors of Noll's reference; SplitMix64's first output for seed 0.
        assert_eq!(fnv1a_64(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64("foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(mix(GAMMA), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let mut again = stream(7, "a");
        let mut other = stream(7, "b");
        other.next_u64();
        assert_eq!(stream(7, "a").next_u64(), again.next_u64());
        assert_ne!(stream(7, "a"), stream(7, "b"));
        assert_ne!(stream(7, "a"), stream(8, "a"));
    }

    #[test]
    fn ahead_is_as_if_drawn() {
        let mut drawn = stream(1, "ahead");
        let start = drawn.clone();
        for draws in 0..100 {
            assert_eq!(start.ahead(draws), drawn);
            drawn.next_u64();
        }
    }

    #[test]
    fn chance_is_exact_at_zero_and_one_and_draws_once() {
        let mut drawn = stream(1, "x");
        let mut counted = stream(1, "x");
        for _ in 0..10_000 {
            assert!(!drawn.chance(threshold(0.0)));
            assert!(drawn.chance(threshold(1.0)));
            counted.next_u64();
            counted.next_u64();
        }
        assert_eq!(drawn, counted);
        assert_eq!(threshold(1.0), Threshold(1 << 63));
        assert_eq!(threshold(0.5), Threshold(1 << 62));
    }

    #[test]
    fn chance_comes_true_as_often_as_it_should() {
        // The count is binomial: by Hoeffding it leaves n p +- n t with probability at most
        // 2 exp(-2 n t^2), which is 2e-9 for n = 10^6 and t = sqrt(ln(10^9) / (2 n)) = 0.00322.
        const DRAWS: u32 = 1_000_000;
        for p in [0.000_1, 0.01, 0.1, 0.5, 0.9] {
            let mut stream = stream(1, "chance");
            let hits = (0..DRAWS).filter(|_| stream.chance(threshold(p))).count();
            let share = hits as f64 / f64::from(DRAWS);
            assert!((share - p).abs() < 0.003_22, "{share} for {p}");
        }
    }

    #[test]
    fn uniform_fills_its_range_evenly() {
        // 100 cells, chi-square with 99 degrees of freedom: mean 99, standard deviation
        // sqrt(2 * 99) = 14.1; 99 + 6 * 14.1 = 183 is exceeded with probability below 1e-6.
        const DRAWS: u32 = 1_000_000;
        let mut cells = [0_u32; 100];
        let mut stream = stream(1, "uniform");
        for _ in 0..DRAWS {
            let x = stream.uniform();
            assert!((0.0..1.0).contains(&x));
            cells[(x * 100.0) as usize] += 1;
        }
        let expected = f64::from(DRAWS) / 100.0;
        let chi_square: f64 =
            cells.iter().map(|&n| (f64::from(n) - expected) * (f64::from(n) - expected) / expected).sum();
        assert!(chi_square < 183.0, "{chi_square}");
    }

    #[test]
    fn streams_of_different_names_and_seeds_are_uncorrelated() {
        // In two independent streams each of the 64 bits agrees with probability 1/2: among n = 6.4e6 compared bits,
        // the number that agree is within n/2 +- 6 standard deviations (sqrt(n)/2 each) except with probability 2e-9.
        const DRAWS: u32 = 100_000;
        for (one, two) in [((1, "ue0"), (1, "ue1")), ((1, "ue0"), (2, "ue0")), ((1, "ue1"), (2, "ue0"))] {
            let (mut a, mut b) = (stream(one.0, one.1), stream(two.0, two.1));
            let equal: u32 = (0..DRAWS).map(|_| (!(a.next_u64() ^ b.next_u64())).count_ones()).sum();
            let n = f64::from(DRAWS) * 64.0;
            assert!((f64::from(equal) - n / 2.0).abs() < 6.0 * n.sqrt() / 2.0, "{one:?} {two:?}: {equal}");
        }
    }
}
