//! The link curve of LTE: how likely a transport block is lost at an SINR without fading (AWGN).
//!
//! No code of n symbols carries K bits without losing blocks (Polyanskiy, Poor, Verdú: "Channel Coding Rate
//! in the Finite Blocklength Regime", IEEE Trans. Inf. Theory 56(5), 2010, normal approximation). The turbo
//! code of TS 36.212 loses as many blocks as the best code at a SINR lower by [`LOSS_DB`]:
//!
//! ```text
//! P(lost) = Q((SINR - S50) / sd),   S50 = limit(R) + LOSS_DB,   sd = spread(R) / sqrt(n),   R = K / (bits of n symbols)
//! ```
//!
//! `limit` is the SINR where the capacity of bit-interleaved coded modulation (BICM; Caire, Taricco,
//! Biglieri, IEEE Trans. Inf. Theory 44(3), 1998) with Gray-mapped QPSK, 16QAM or 64QAM equals the code rate
//! R. `spread` is the square root of the dispersion there, divided by the slope of the capacity over dB.
//! Below the mother code's rate of 1/3, rate matching repeats coded bits (TS 36.212 §5.1.4.1.2): the code
//! stays that of rate 1/3, and the receiver adds up the repetitions.
//!
//! A transport block with its CRC of 24 bits that is larger than 6144 bits is segmented into equal code
//! blocks with a CRC of 24 bits each (TS 36.212 §5.1.2). It is lost if any of them is.
//!
//! Left out: filler bits, the sizes of the turbo code's interleaver, and error floors.

use crate::radio::phy::waterfall::Q;

/// By how much the turbo code is worse than the normal approximation, dB: the mean over the 42 curves that TU Wien
/// published with its LTE link-level simulator (2009, 2010: AWGN, 5000 blocks for each point, CQI 1 to 15 and the 27 code
/// rates of 3GPP R1-071967). The standard deviation over the curves is 0.2 dB, and ns-3's curves, of another link-level
/// simulation, have 0.4 to 1.6 dB: `docs/models/shared-cells.md`.
const LOSS_DB: f64 = 1.2;

/// Bits of the CRC of a transport block, and of each code block of a segmented one.
pub(in crate::radio) const CRC: u32 = 24;

/// The largest code block, bits.
const LARGEST: u32 = 6144;

/// The rate of the turbo code.
const MOTHER_RATE: f64 = 1.0 / 3.0;

/// A modulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::radio) enum Modulation {
    Qpsk,
    Qam16,
    Qam64,
}

/// The first code rate of [`CURVES`], and the step between rates.
const FIRST_RATE: f64 = 0.30;
const RATE_STEP: f64 = 0.05;
const RATES: usize = 14;

/// By modulation and code rate 0.30, 0.35 ... 0.95: `limit` in dB, and `spread` in dB. A test integrates them again.
const CURVES: [[(f64, f64); RATES]; 3] = [
    [
        (-2.836, 9.605),
        (-1.982, 8.925),
        (-1.207, 8.387),
        (-0.490, 7.953),
        (0.187, 7.598),
        (0.837, 7.309),
        (1.470, 7.077),
        (2.099, 6.896),
        (2.733, 6.767),
        (3.387, 6.696),
        (4.081, 6.701),
        (4.847, 6.820),
        (5.750, 7.159),
        (6.979, 8.135),
    ],
    [
        (1.698, 7.459),
        (2.682, 6.967),
        (3.592, 6.576),
        (4.453, 6.262),
        (5.280, 6.011),
        (6.089, 5.808),
        (6.889, 5.643),
        (7.687, 5.507),
        (8.490, 5.397),
        (9.309, 5.320),
        (10.158, 5.291),
        (11.071, 5.343),
        (12.118, 5.554),
        (13.497, 6.224),
    ],
    [
        (4.991, 6.900),
        (6.214, 6.475),
        (7.347, 6.110),
        (8.416, 5.799),
        (9.439, 5.537),
        (10.433, 5.322),
        (11.414, 5.151),
        (12.393, 5.019),
        (13.382, 4.920),
        (14.389, 4.846),
        (15.426, 4.802),
        (16.517, 4.815),
        (17.729, 4.955),
        (19.275, 5.474),
    ],
];

impl Modulation {
    /// Coded bits of a symbol.
    pub fn bits(self) -> u32 {
        match self {
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
        }
    }

    /// `limit` and `spread` at a code rate, on straight lines between the values of the table and beyond its last.
    fn curve(self, rate: f64) -> (f64, f64) {
        let curve = &CURVES[self as usize];
        let place = (rate - FIRST_RATE) / RATE_STEP;
        let below = (place as usize).min(RATES - 2);
        let part = place - below as f64;
        let on_line = |from: f64, to: f64| from + part * (to - from);
        (on_line(curve[below].0, curve[below + 1].0), on_line(curve[below].1, curve[below + 1].1))
    }
}

/// Probability that a transport block of `bits` bits in `symbols` symbols (resource elements) is lost.
pub(in crate::radio) fn bler(modulation: Modulation, bits: u32, symbols: u32, sinr_db: f64) -> f64 {
    let (above, code_blocks) = above(modulation, bits, symbols, sinr_db);
    let of_one = libm::erfc(above / std::f64::consts::SQRT_2) / 2.0;
    if code_blocks > 1 { 1.0 - libm::pow(1.0 - of_one, code_blocks.into()) } else { of_one }
}

/// Decides with a uniform number whether one of `codewords` such blocks is lost; `None` if the probability is
/// needed.
pub(in crate::radio) fn is_lost(
    (modulation, bits, symbols): (Modulation, u32, u32),
    codewords: u32,
    sinr_db: f64,
    draw: f64,
) -> Option<bool> {
    let (above, code_blocks) = above(modulation, bits, symbols, sinr_db);
    Q.is_lost(above, above, codewords * code_blocks, draw)
}

/// Returns how many standard deviations the SINR is above S50, and the number of code blocks.
fn above(modulation: Modulation, bits: u32, symbols: u32, sinr_db: f64) -> (f64, u32) {
    let code_blocks = code_blocks(bits);
    let coded = f64::from(bits + CRC + if code_blocks > 1 { code_blocks * CRC } else { 0 });
    let rate = coded / f64::from(modulation.bits() * symbols);
    let (mut s50, mut symbols) = (LOSS_DB, f64::from(symbols) / f64::from(code_blocks));
    if rate < MOTHER_RATE {
        s50 += 10.0 * libm::log10(rate / MOTHER_RATE);
        symbols *= rate / MOTHER_RATE;
    }
    let (limit, spread) = modulation.curve(rate.max(MOTHER_RATE));
    ((sinr_db - s50 - limit) * symbols.sqrt() / spread, code_blocks)
}

/// Number of code blocks of a transport block of `bits` bits.
fn code_blocks(bits: u32) -> u32 {
    let with_crc = bits + CRC;
    if with_crc <= LARGEST { 1 } else { with_crc.div_ceil(LARGEST - CRC) }
}

/// SINR, dB, that causes this share of such blocks to be lost.
pub(in crate::radio) fn sinr_at(lost: f64, modulation: Modulation, bits: u32, symbols: u32) -> f64 {
    let (mut low, mut high) = (-40.0, 60.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if bler(modulation, bits, symbols, middle) > lost { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Modulation; 3] = [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64];

    /// Capacity and dispersion of BICM by integration over the noise, bits and bits² in a symbol: the sum over the bits of
    /// a symbol of 1 + log2(P(received | bit) / P(received)), its mean and variance. A symbol is two amplitudes.
    fn bicm(modulation: Modulation, sinr_db: f64) -> (f64, f64) {
        let bits = modulation.bits() / 2;
        let levels: Vec<f64> = (0..1 << bits).map(|k| f64::from(2 * k + 1 - (1 << bits))).collect();
        let power = levels.iter().map(|level| level * level).sum::<f64>() / levels.len() as f64;
        let noise = libm::sqrt(power / libm::exp10(sinr_db / 10.0));
        let gray = |level: usize| level ^ (level >> 1);
        let (mut mean, mut square, mut weights) = (0.0, 0.0, 0.0);
        for step in -160..=160 {
            let x = f64::from(step) / 20.0;
            let weight = libm::exp(-x * x / 2.0);
            for (sent, level) in levels.iter().enumerate() {
                let received = level + noise * x;
                let likely =
                    |own: &f64| libm::exp(x * x / 2.0 - libm::pow((received - own) / noise, 2.0) / 2.0);
                let all: f64 = levels.iter().map(likely).sum();
                let density: f64 = (0..bits)
                    .map(|bit| {
                        let same = |other: usize| (gray(other) ^ gray(sent)) >> bit & 1 == 0;
                        let own = (0..levels.len()).filter(|other| same(*other));
                        1.0 + libm::log2(own.map(|other| likely(&levels[other])).sum::<f64>() / all)
                    })
                    .sum();
                mean += weight * density;
                square += weight * density * density;
                weights += weight;
            }
        }
        let (mean, square) = (mean / weights, square / weights);
        (2.0 * mean, 2.0 * (square - mean * mean))
    }

    #[test]
    fn limits_and_spreads_are_those_of_bicm() {
        for modulation in ALL {
            for (index, (limit, spread)) in CURVES[modulation as usize].into_iter().enumerate() {
                let rate = FIRST_RATE + RATE_STEP * index as f64;
                let (capacity, dispersion) = bicm(modulation, limit);
                let slope = (bicm(modulation, limit + 0.05).0 - bicm(modulation, limit - 0.05).0) / 0.1;
                let at_limit = capacity / f64::from(modulation.bits());
                assert!((at_limit - rate).abs() < 0.000_1, "{modulation:?}, {rate}: {at_limit}");
                let own = libm::sqrt(dispersion) / slope;
                assert!((own / spread - 1.0).abs() < 0.001, "{modulation:?}, {rate}: {own}");
            }
        }
    }

    /// TU Wien's curves of CQI 1 to 15: bits of the transport block, and the SNR with 10 % of the blocks
    /// lost. Each has 960 symbols: 6 PRBs of 160.
    const VIENNA: [(u32, f64); 15] = [
        (120, -7.00),
        (200, -5.17),
        (336, -3.19),
        (552, -1.24),
        (816, 0.71),
        (1104, 2.58),
        (1392, 4.60),
        (1816, 6.45),
        (2288, 8.36),
        (2600, 10.35),
        (3168, 12.22),
        (3720, 14.04),
        (4320, 15.83),
        (4888, 17.69),
        (5312, 19.61),
    ];

    /// Modulation of a CQI, TS 36.213 table 7.2.3-1.
    fn of_cqi(cqi: usize) -> Modulation {
        if cqi < 7 {
            Modulation::Qpsk
        } else if cqi < 10 {
            Modulation::Qam16
        } else {
            Modulation::Qam64
        }
    }

    #[test]
    fn a_tenth_is_lost_where_tu_wien_found_it() {
        let off: Vec<f64> = (1..)
            .zip(VIENNA)
            .map(|(cqi, (bits, sinr))| sinr_at(0.1, of_cqi(cqi), bits, 960) - sinr)
            .collect();
        assert!(off.iter().all(|off| off.abs() < 0.45), "{off:?}");
        assert!((off.iter().sum::<f64>() / 15.0).abs() < 0.15, "{off:?}");
    }

    /// Mutual information of a coded bit with half of the blocks lost, and the standard deviation around it.
    type Information = (f64, f64);

    /// ns-3's error model (`lte-mi-error-model.cc`, as of ns-3.37): by modulation and code rate, for code
    /// blocks of 6144 bits and of 1024 bits, the mutual information of a coded bit with half of the blocks
    /// lost, and the standard deviation around it. BICM maps that information to a SINR, as in ns-3's own
    /// tables.
    const NS3: [(Modulation, f64, [Information; 2]); 11] = [
        (Modulation::Qpsk, 0.11, [(0.1612, 0.0032), (0.1638, 0.0078)]),
        (Modulation::Qpsk, 0.19, [(0.2605, 0.0054), (0.2636, 0.0121)]),
        (Modulation::Qpsk, 0.30, [(0.3726, 0.0064), (0.3768, 0.0163)]),
        (Modulation::Qpsk, 0.44, [(0.5193, 0.0081), (0.5269, 0.0207)]),
        (Modulation::Qam16, 0.30, [(0.3724, 0.0056), (0.3754, 0.0141)]),
        (Modulation::Qam16, 0.37, [(0.4339, 0.0064), (0.4399, 0.0154)]),
        (Modulation::Qam16, 0.48, [(0.5407, 0.0068), (0.5464, 0.0175)]),
        (Modulation::Qam16, 0.60, [(0.6528, 0.0080), (0.6619, 0.0188)]),
        (Modulation::Qam64, 0.45, [(0.51606, 0.00609), (0.52226, 0.01655)]),
        (Modulation::Qam64, 0.55, [(0.6027, 0.0066), (0.6089, 0.0169)]),
        (Modulation::Qam64, 0.70, [(0.7407, 0.0081), (0.7508, 0.0200)]),
    ];

    /// SINR, dB, that gives a coded bit this mutual information.
    fn sinr_of(information: f64, modulation: Modulation) -> f64 {
        let (mut low, mut high) = (-20.0, 40.0);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            let is_less = bicm(modulation, middle).0 < information * f64::from(modulation.bits());
            if is_less { low = middle } else { high = middle }
        }
        low
    }

    /// ns-3's curves are from a simulation independent of TU Wien's. They are as steep, and 0.8 to 1.7 dB
    /// from the limit.
    #[test]
    #[ignore = "slow"]
    fn the_curve_is_near_ns3s_and_as_steep() {
        for (modulation, rate, of_sizes) in NS3 {
            for (bits, (half, deviation)) in [6144, 1024].into_iter().zip(of_sizes) {
                let symbols = f64::from(bits) / rate / f64::from(modulation.bits());
                let own = |lost| sinr_at(lost, modulation, bits - CRC, symbols as u32);
                let theirs = |above: f64| sinr_of(half + above * deviation, modulation);
                let off = own(0.5) - theirs(0.0);
                assert!(off.abs() < 0.45, "{modulation:?}, {rate}, {bits} bits: {off} dB");
                let steepness = (own(0.1) - own(0.5)) / (theirs(1.2816) - theirs(0.0));
                assert!((0.75..1.1).contains(&steepness), "{modulation:?}, {rate}, {bits} bits: {steepness}");
            }
        }
    }

    /// `docs/models/shared-cells.md` has a line for each CQI, and next to it one for each of ns-3's curves.
    #[test]
    #[ignore = "slow"]
    fn the_documented_table_is_current() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/shared-cells.md");
        let document = std::fs::read_to_string(path).unwrap();
        let ns3 = NS3.iter().map(|(modulation, rate, [_, (half, deviation)])| {
            let symbols = 1024.0 / rate / f64::from(modulation.bits());
            let own = sinr_at(0.1, *modulation, 1024 - CRC, symbols as u32);
            let theirs = sinr_of(half + 1.2816 * deviation, *modulation);
            let name = ["QPSK", "16QAM", "64QAM"][*modulation as usize];
            format!(" {name} | {rate:.2} | {theirs:.1} | {own:.1} |")
        });
        let ns3 = ns3.chain(std::iter::repeat(" | | | |".to_owned()));
        let lines = (1..).zip(VIENNA).zip(ns3).map(|((cqi, (bits, sinr)), ns3)| {
            let modulation = of_cqi(cqi);
            let own = sinr_at(0.1, modulation, bits, 960);
            let rate = f64::from(bits + CRC) / f64::from(960 * modulation.bits());
            format!("| {cqi} | {rate:.3} | {sinr:.1} | {own:.1} | |{ns3}")
        });
        let table = lines.collect::<Vec<_>>().join("\n");
        assert!(document.contains(&table), "the table is now:\n{table}");
    }

    /// By hand: 5 x 6120 bits are five code blocks of 6144 with their CRCs; 24 bits are the CRC of the transport block.
    #[test]
    fn a_block_is_lost_if_one_of_its_code_blocks_is() {
        assert_eq!([6120, 6121, 30_576, 30_577].map(code_blocks), [1, 2, 5, 6]);
        let of_one = bler(Modulation::Qam64, 6120, 2048, 10.6);
        let of_five = bler(Modulation::Qam64, 30_576, 10_240, 10.6);
        assert!((0.05..0.95).contains(&of_one), "{of_one}");
        assert!((of_five - (1.0 - libm::pow(1.0 - of_one, 5.0))).abs() < 1e-9, "{of_one} {of_five}");
    }

    /// Twice the symbols at a rate below 1/3: 3.01 dB less, and as steep.
    #[test]
    fn below_a_rate_of_a_third_bits_are_repeated() {
        let at = |lost, symbols| sinr_at(lost, Modulation::Qpsk, 1000, symbols);
        for lost in [0.9, 0.1, 0.01] {
            assert!((at(lost, 2000) - at(lost, 4000) - 3.0103).abs() < 0.001, "{lost}");
        }
    }
}
