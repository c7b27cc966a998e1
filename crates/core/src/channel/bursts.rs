//! What channels that fade have in common: the parameters of the fading.

use crate::error::ScenarioError;
use crate::time::{Duration, Instant};
use crate::units::{Frequency, Probability};

/// Doppler shift times step: below, the channel does not change in any run; above, the argument of the
/// Bessel function loses its digits.
const DOPPLER_PER_STEP: std::ops::RangeInclusive<f64> = 1e-6..=1e3;

/// Cycles of the largest Doppler shift in a step.
pub(super) fn doppler_per_step(doppler: Frequency, step: Duration) -> f64 {
    doppler.as_hz() * step.as_secs_f64()
}

/// The step of a transmission that ends at `now`: one that ends on a boundary belongs to the step before it.
pub(super) const fn step_of(now: Instant, step_ns: u64) -> u64 {
    now.as_nanos().div_ceil(step_ns)
}

/// Refuses what does not fade.
pub(super) fn check(bler: Probability, doppler: Frequency, step: Duration) -> Result<(), ScenarioError> {
    let bler = bler.as_f64();
    if bler <= 0.0 || bler >= 1.0 {
        let hint = "write a rate between 0 and 1, such as \"10 %\", or choose channel.bernoulli";
        return Err(ScenarioError::new("bler", "a channel that is always good or always bad", hint));
    }
    if doppler.as_millihertz() == 0 {
        let hint = "write for example \"1 Hz\"";
        return Err(ScenarioError::new("doppler", "without Doppler shift nothing fades", hint));
    }
    if step.is_zero() {
        let hint = "write the TTI of the bearer, such as \"10 ms\"";
        return Err(ScenarioError::new("step", "a channel that fades needs a step", hint));
    }
    let product = doppler_per_step(doppler, step);
    if !DOPPLER_PER_STEP.contains(&product) {
        let message = format!("{product:e} cycles of {doppler} in a step of {step}");
        let hint = "write a shift with 1e-6 to 1000 cycles per step";
        return Err(ScenarioError::new("doppler", message, hint));
    }
    Ok(())
}
