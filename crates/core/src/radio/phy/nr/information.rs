//! Mutual information of a resource element, and its use for HARQ's incremental redundancy.
//!
//! A retransmission of NR carries other bits of the mother code (redundancy versions 0, 2, 3, 1 of a circular
//! buffer), so the receiver accumulates *information*: a block decodes once its transmissions have carried
//! its efficiency together, as if it had been sent once at a lower code rate. The decoder's curve
//! ([`super::curve`]) is evaluated for the SINR of a single transmission that carries as much:
//!
//! ```text
//! I(equivalent) = f (I(before) + I(now)) + (1 - f) I(before + now)
//! ```
//!
//! `f` is the share of the retransmission whose bits were not transmitted before. The rest repeats bits,
//! whose energy adds (Chase combining). The buffer ends at the mother code, of rate 1/3 (base graph 1) or 1/5
//! (2), and in a downlink at 2/3 of the rate of the carrier's largest block (limited-buffer rate matching, TS
//! 38.212 §5.4.2.1). At low code rates both sums agree. At 948/1024, a second transmission gains 10 dB where
//! the buffer has room for it, and 3 dB with Chase combining.
//!
//! ASSUMED: redundancy versions do not overlap before the buffer is used up.

use super::blocks::CodeBlocks;
use super::tables::Mcs;

/// SNR of the first column of [`INFORMATION`], dB; the following ones are 1 dB apart.
const FIRST_DB: f64 = -20.0;

const COLUMNS: usize = 53;

/// Capacity of bit-interleaved coded modulation with Gray mapping, bits of a resource element: QPSK, 16QAM, 64QAM, 256QAM.
const INFORMATION: [[f64; COLUMNS]; 4] = [
    [
        0.0144, 0.018, 0.0227, 0.0285, 0.0358, 0.0449, 0.0563, 0.0706, 0.0883, 0.1103, 0.1375, 0.171, 0.2122,
        0.2623, 0.3229, 0.3955, 0.4815, 0.5821, 0.6978, 0.8282, 0.9719, 1.1256, 1.2843, 1.4413, 1.5887,
        1.7184, 1.8238, 1.9014, 1.952, 1.9803, 1.9935, 1.9984, 1.9997, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0,
        2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0,
    ],
    [
        0.0115, 0.0145, 0.0182, 0.0229, 0.0288, 0.0363, 0.0456, 0.0572, 0.0718, 0.0901, 0.1128, 0.1411,
        0.1762, 0.2194, 0.2725, 0.3372, 0.4154, 0.5091, 0.62, 0.7497, 0.8993, 1.0694, 1.2595, 1.4684, 1.6936,
        1.9316, 2.1778, 2.428, 2.6782, 2.9252, 3.1636, 3.3851, 3.5794, 3.7371, 3.853, 3.9285, 3.9708, 3.9904,
        3.9976, 3.9996, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0,
    ],
    [
        0.011, 0.0138, 0.0174, 0.0218, 0.0275, 0.0345, 0.0434, 0.0545, 0.0683, 0.0857, 0.1073, 0.1341,
        0.1674, 0.2084, 0.2586, 0.3196, 0.3932, 0.481, 0.5846, 0.7051, 0.8434, 0.9998, 1.1742, 1.3662,
        1.5756, 1.8022, 2.0458, 2.306, 2.5815, 2.87, 3.1685, 3.4732, 3.7799, 4.0848, 4.3849, 4.678, 4.9605,
        5.2249, 5.4601, 5.6547, 5.8015, 5.9, 5.9573, 5.9852, 5.996, 5.9992, 5.9999, 6.0, 6.0, 6.0, 6.0, 6.0,
        6.0,
    ],
    [
        0.0108, 0.0136, 0.0172, 0.0216, 0.0271, 0.0341, 0.0428, 0.0538, 0.0675, 0.0846, 0.106, 0.1324,
        0.1652, 0.2056, 0.2551, 0.3152, 0.3876, 0.4739, 0.5756, 0.6937, 0.829, 0.9816, 1.1512, 1.3373,
        1.5391, 1.7559, 1.9871, 2.2317, 2.4883, 2.7552, 3.0314, 3.3171, 3.6135, 3.9218, 4.2419, 4.5719,
        4.9084, 5.2477, 5.5856, 5.9186, 6.2441, 6.5605, 6.8648, 7.15, 7.4047, 7.6167, 7.7777, 7.8869, 7.951,
        7.9827, 7.9953, 7.9991, 7.9999,
    ],
];

fn of_modulation(modulation: u32) -> &'static [f64; COLUMNS] {
    &INFORMATION[(modulation as usize / 2).clamp(1, INFORMATION.len()) - 1]
}

/// Bits that a resource element carries at this SNR, a ratio.
fn information(modulation: u32, ratio: f64) -> f64 {
    let row = of_modulation(modulation);
    let column = 10.0 * libm::log10(ratio) - FIRST_DB;
    if column <= 0.0 {
        // Proportional to the power.
        return row[0] * ratio / libm::exp10(FIRST_DB / 10.0);
    }
    let below = (column as usize).min(COLUMNS - 1);
    let above = (below + 1).min(COLUMNS - 1);
    row[below] + (row[above] - row[below]) * (column - below as f64).min(1.0)
}

/// SNR, a ratio, that lets a resource element carry `bits` bits; the last column's if there is none.
fn ratio_for(modulation: u32, bits: f64) -> f64 {
    let row = of_modulation(modulation);
    let above = row.partition_point(|own| *own < bits);
    if above == 0 {
        return libm::exp10(FIRST_DB / 10.0) * bits / row[0];
    }
    let column = match row.get(above) {
        Some(next) => (above - 1) as f64 + (bits - row[above - 1]) / (next - row[above - 1]),
        None => (COLUMNS - 1) as f64,
    };
    libm::exp10((FIRST_DB + column) / 10.0)
}

/// How many transmissions the circular buffer of a block has bits for, 1 or more. `largest` is the carrier's largest block if
/// that limits the buffer.
pub(in crate::radio) fn buffer(mcs: &Mcs, bits: u32, largest: Option<u32>) -> f64 {
    let mother: f64 = if CodeBlocks::of(bits, mcs.rate).graph == 1 { 1.0 / 3.0 } else { 0.2 };
    let limited = largest.map_or(0.0, |largest| 2.0 / 3.0 * f64::from(bits) / f64::from(largest));
    (f64::from(mcs.rate) / 2048.0 / mother.max(limited)).max(1.0)
}

/// Equivalent SNR, a ratio, after `transmissions` transmissions with combined SNR `before` and one with SNR
/// `now`. The buffer has room for `buffer` transmissions.
pub(in crate::radio) fn combine(
    modulation: u32,
    buffer: f64,
    transmissions: u8,
    before: f64,
    now: f64,
) -> f64 {
    let new = (buffer - f64::from(transmissions)).clamp(0.0, 1.0);
    if new <= 0.0 {
        return before + now;
    }
    let information = |ratio| information(modulation, ratio);
    let all = new * (information(before) + information(now)) + (1.0 - new) * information(before + now);
    // The sums agree where a modulation's information is proportional to the power; between columns they
    // differ by rounding.
    ratio_for(modulation, all).max(before + now)
}

#[cfg(test)]
mod tests {
    use super::super::tables::{QAM64, QAM64_LOW_SE, QAM256};
    use super::*;

    fn ratio(db: f64) -> f64 {
        libm::exp10(db / 10.0)
    }

    fn db(ratio: f64) -> f64 {
        10.0 * libm::log10(ratio)
    }

    /// The limits of the MCS tables, which were integrated separately.
    #[test]
    fn information_is_the_efficiency_at_the_limit_of_an_mcs() {
        for mcs in QAM64.iter().chain(&QAM256).chain(&QAM64_LOW_SE) {
            let efficiency = f64::from(mcs.modulation * mcs.rate) / 2048.0;
            let own = ratio_for(mcs.modulation, efficiency);
            assert!((db(own) - mcs.limit_db).abs() < 0.06, "{mcs:?}: {} dB", db(own));
            assert!((information(mcs.modulation, own) - efficiency).abs() < 1e-9);
        }
        assert_eq!(information(2, 0.0), 0.0);
        assert!(information(8, ratio(60.0)) > 7.999);
    }

    /// Two halves of the information need the limit of half the code rate. Two transmissions of MCS 28,
    /// 948/1024 x 6 bits, need as much each as one transmission of 474/1024 x 6, 8.65 dB by the table; Chase
    /// combining needs 3.01 dB less than 18.46.
    #[test]
    fn two_transmissions_are_one_of_half_the_code_rate() {
        let twice = |buffer, each_db: f64| db(combine(6, buffer, 1, ratio(each_db), ratio(each_db)));
        let least =
            |buffer| (0..3000).map(|step| f64::from(step) / 100.0).find(|each| twice(buffer, *each) >= 18.46);
        assert!((least(3.0).unwrap() - 8.65).abs() < 0.05, "{:?}", least(3.0));
        assert!((least(1.0).unwrap() - 15.45).abs() < 0.02, "{:?}", least(1.0));
        let partly = least(1.4).unwrap();
        assert!(partly > 8.8 && partly < 15.4, "{partly}");
        // A transmission with very low SNR adds nothing, however many bits it would have carried.
        let lone = combine(6, 3.0, 1, ratio(-30.0), ratio(15.0));
        assert!((db(lone) - 15.0).abs() < 0.02, "{}", db(lone));
    }

    #[test]
    fn at_low_code_rates_it_is_chase_combining() {
        for each in [-15.0, -12.0, -10.0] {
            let gain = db(combine(2, 3.0, 1, ratio(each), ratio(each))) - each;
            assert!((3.0..3.3).contains(&gain), "{each} dB: {gain}");
        }
    }

    #[test]
    fn the_buffer_ends_at_the_mother_code_or_with_the_largest_block() {
        // 948/1024 over 1/3, and over 2/3 for the largest block itself.
        let best = QAM256[27];
        assert!((buffer(&best, 1_081_512, None) - 2.777).abs() < 0.001);
        let lbrm = 1_277_992;
        let limited = 0.92578 / (2.0 / 3.0 * 1_081_512.0 / f64::from(lbrm));
        assert!((buffer(&best, 1_081_512, Some(lbrm)) - limited).abs() < 0.001, "{limited}");
        // Base graph 2: 120/1024 lies below its 1/5.
        assert_eq!(buffer(&QAM256[0], 8448, Some(lbrm)), 1.0);
    }
}
