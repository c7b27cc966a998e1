//! Decibels of SINRs and their ratios.

/// Converts decibels to a ratio.
pub(super) fn ratio(decibel: f32) -> f64 {
    libm::exp10(f64::from(decibel) / 10.0)
}

/// A ratio in dB.
pub(super) fn decibel(ratio: f64) -> f32 {
    (10.0 * libm::log10(ratio)) as f32
}
