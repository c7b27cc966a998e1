//! Bounds of block error rates, which usually decide whether a block is lost without computing its
//! probability.
//!
//! A block is lost if a uniform number is below a probability that decreases with the SINR. The probability
//! needs functions such as `erfc` and `pow`; a table at equal steps bounds it from both sides, and few
//! numbers lie between the bounds.

use std::sync::LazyLock;

/// Steps of a table for each unit of its argument, and the largest argument, where a curve has fallen to 0 or nearly so.
const STEPS: f64 = 8.0;
const LARGEST: f64 = 8.0;

/// Margins far above the rounding errors of the curves, and of an SINR as `f32`.
const NEAR: f64 = 1e-9;
const NEAR_PLACE: f64 = 0.01;

/// A function that falls from 1 to 0, as a table of its values from `-LARGEST` to `LARGEST`.
pub(in crate::radio) struct Waterfall(Vec<f64>);

/// The tail of the normal distribution.
pub(in crate::radio) static Q: LazyLock<Waterfall> =
    LazyLock::new(|| Waterfall::new(|above| libm::erfc(above / std::f64::consts::SQRT_2) / 2.0));

impl Waterfall {
    /// Tabulates a function that falls, from 1 at most to 0 at least.
    pub fn new(function: impl Fn(f64) -> f64) -> Self {
        let steps = (2.0 * LARGEST * STEPS) as u32;
        Self((0..=steps).map(|step| function(f64::from(step) / STEPS - LARGEST)).collect())
    }

    /// Decides by a uniform number whether any of `parts` is lost; each is lost with the probability at a place between
    /// `low` and `high`. `None` if the probability has to be computed.
    pub fn is_lost(&self, low: f64, high: f64, parts: u32, draw: f64) -> Option<bool> {
        let place = |at: f64| (at + LARGEST) * STEPS;
        let value = |step: usize| self.0.get(step).copied();
        // A float below 0 converts to 0; an index beyond the table has no value.
        let (before, behind) = (place(low - NEAR_PLACE), place(high + NEAR_PLACE));
        let most = if before < 0.0 { 1.0 } else { value(before as usize).or(self.0.last().copied())? };
        let least = value(behind as usize + usize::from(behind >= 0.0)).unwrap_or(0.0);
        let (is_above, is_below) = (draw > most * f64::from(parts) + NEAR, draw < least - NEAR);
        (is_above || is_below).then_some(is_below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds decide as the probability itself does; the probability is needed in at most one of eight
    /// cases.
    #[test]
    fn bounds_decide_as_the_probability_does() {
        let of_one = |above: f64| libm::erfc(above / std::f64::consts::SQRT_2) / 2.0;
        let mut undecided = 0;
        for at in -1000..1000 {
            let above = f64::from(at) / 100.0;
            for (draw, parts) in
                (0..100).map(|part| f64::from(part) / 100.0).zip([1, 1, 1, 2, 5].into_iter().cycle())
            {
                let probability = 1.0 - libm::pow(1.0 - of_one(above), f64::from(parts));
                match Q.is_lost(above, above, parts, draw) {
                    Some(lost) => assert_eq!(lost, draw < probability, "{above} {draw} {parts}"),
                    None => undecided += 1,
                }
            }
        }
        assert!(undecided < 200_000 / 8, "{undecided}");
    }

    #[test]
    fn beyond_the_table_only_what_is_certain_is_decided() {
        let lost = |above, draw| Q.is_lost(above, above, 1, draw);
        assert_eq!((lost(-50.0, 0.999), lost(-50.0, 1.0 - 1e-12)), (Some(true), None));
        assert_eq!((lost(50.0, 0.001), lost(50.0, 0.0)), (Some(false), None));
        // Between places far apart only extreme numbers are certain.
        assert_eq!(Q.is_lost(-3.0, 3.0, 1, 0.5), None);
        assert_eq!(
            (Q.is_lost(-3.0, 3.0, 1, 0.0001), Q.is_lost(-3.0, 3.0, 1, 0.9999)),
            (Some(true), Some(false))
        );
    }
}
