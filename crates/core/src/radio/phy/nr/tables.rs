//! Tables of 5G NR: PRBs of a carrier, and modulation and coding schemes (MCS) with their link curves.
//!
//! Sources: TS 38.101-1 table 5.3.2-1 and TS 38.101-2 table 5.3.2-1 (PRBs), TS 38.214 tables 5.1.3.1-1 to 5.1.3.1-3 (MCS) and
//! 5.2.2.1-2 to 5.2.2.1-4 (CQI).

/// A modulation and coding scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::radio) struct Mcs {
    /// Q_m: coded bits of a resource element.
    pub modulation: u32,
    /// R: code rate times 2048, so that the half steps of table 5.1.3.1-2 are whole.
    pub rate: u32,
    /// SNR, dB, that gives a capacity of bit-interleaved coded modulation (BICM) of `modulation` times the
    /// code rate.
    pub limit_db: f64,
    /// Standard deviation of the link curve for a code block of 8448 bits, dB: [`super::curve`].
    pub spread_db: f64,
}

const fn mcs(modulation: u32, rate: u32, limit_db: f64, spread_db: f64) -> Mcs {
    Mcs { modulation, rate, limit_db, spread_db }
}

/// qam64: TS 38.214 table 5.1.3.1-1.
pub(in crate::radio) const QAM64: [Mcs; 29] = [
    mcs(2, 240, -7.53, 0.081),
    mcs(2, 314, -6.25, 0.08),
    mcs(2, 386, -5.24, 0.081),
    mcs(2, 502, -3.91, 0.08),
    mcs(2, 616, -2.82, 0.081),
    mcs(2, 758, -1.66, 0.081),
    mcs(2, 898, -0.65, 0.081),
    mcs(2, 1052, 0.37, 0.083),
    mcs(2, 1204, 1.32, 0.083),
    mcs(2, 1358, 2.26, 0.086),
    mcs(4, 680, 2.34, 0.089),
    mcs(4, 756, 3.04, 0.089),
    mcs(4, 868, 4.01, 0.092),
    mcs(4, 980, 4.93, 0.091),
    mcs(4, 1106, 5.93, 0.094),
    mcs(4, 1232, 6.91, 0.095),
    mcs(4, 1316, 7.57, 0.095),
    mcs(6, 876, 7.95, 0.103),
    mcs(6, 932, 8.52, 0.103),
    mcs(6, 1034, 9.54, 0.103),
    mcs(6, 1134, 10.51, 0.105),
    mcs(6, 1232, 11.44, 0.106),
    mcs(6, 1332, 12.4, 0.108),
    mcs(6, 1438, 13.42, 0.109),
    mcs(6, 1544, 14.47, 0.112),
    mcs(6, 1644, 15.48, 0.114),
    mcs(6, 1746, 16.57, 0.117),
    mcs(6, 1820, 17.44, 0.123),
    mcs(6, 1896, 18.46, 0.13),
];

/// qam256: TS 38.214 table 5.1.3.1-2.
pub(in crate::radio) const QAM256: [Mcs; 28] = [
    mcs(2, 240, -7.53, 0.081),
    mcs(2, 386, -5.24, 0.081),
    mcs(2, 616, -2.82, 0.081),
    mcs(2, 898, -0.65, 0.081),
    mcs(2, 1204, 1.32, 0.083),
    mcs(4, 756, 3.04, 0.089),
    mcs(4, 868, 4.01, 0.092),
    mcs(4, 980, 4.93, 0.091),
    mcs(4, 1106, 5.93, 0.094),
    mcs(4, 1232, 6.91, 0.095),
    mcs(4, 1316, 7.57, 0.095),
    mcs(6, 932, 8.52, 0.103),
    mcs(6, 1034, 9.54, 0.103),
    mcs(6, 1134, 10.51, 0.105),
    mcs(6, 1232, 11.44, 0.106),
    mcs(6, 1332, 12.4, 0.108),
    mcs(6, 1438, 13.42, 0.109),
    mcs(6, 1544, 14.47, 0.112),
    mcs(6, 1644, 15.48, 0.114),
    mcs(6, 1746, 16.57, 0.117),
    mcs(8, 1365, 17.25, 0.12),
    mcs(8, 1422, 17.91, 0.122),
    mcs(8, 1508, 18.92, 0.123),
    mcs(8, 1594, 19.95, 0.125),
    mcs(8, 1682, 21.03, 0.126),
    mcs(8, 1770, 22.17, 0.131),
    mcs(8, 1833, 23.04, 0.136),
    mcs(8, 1896, 24.01, 0.142),
];

/// qam64LowSE: TS 38.214 table 5.1.3.1-3.
pub(in crate::radio) const QAM64_LOW_SE: [Mcs; 29] = [
    mcs(2, 60, -13.82, 0.08),
    mcs(2, 80, -12.55, 0.08),
    mcs(2, 100, -11.54, 0.08),
    mcs(2, 128, -10.43, 0.08),
    mcs(2, 156, -9.53, 0.08),
    mcs(2, 198, -8.43, 0.08),
    mcs(2, 240, -7.53, 0.081),
    mcs(2, 314, -6.25, 0.08),
    mcs(2, 386, -5.24, 0.081),
    mcs(2, 502, -3.91, 0.08),
    mcs(2, 616, -2.82, 0.081),
    mcs(2, 758, -1.66, 0.081),
    mcs(2, 898, -0.65, 0.081),
    mcs(2, 1052, 0.37, 0.083),
    mcs(2, 1204, 1.32, 0.083),
    mcs(4, 680, 2.34, 0.089),
    mcs(4, 756, 3.04, 0.089),
    mcs(4, 868, 4.01, 0.092),
    mcs(4, 980, 4.93, 0.091),
    mcs(4, 1106, 5.93, 0.094),
    mcs(4, 1232, 6.91, 0.095),
    mcs(6, 876, 7.95, 0.103),
    mcs(6, 932, 8.52, 0.103),
    mcs(6, 1034, 9.54, 0.103),
    mcs(6, 1134, 10.51, 0.105),
    mcs(6, 1232, 11.44, 0.106),
    mcs(6, 1332, 12.4, 0.108),
    mcs(6, 1438, 13.42, 0.109),
    mcs(6, 1544, 14.47, 0.112),
];

/// TS 38.214 table 5.2.2.1-2: modulation and code rate in 2048ths by CQI, from 1 on.
pub(in crate::radio) const CQI_QAM64: [(u32, u32); 15] = [
    (2, 156),
    (2, 240),
    (2, 386),
    (2, 616),
    (2, 898),
    (2, 1204),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
    (6, 1746),
    (6, 1896),
];

/// TS 38.214 table 5.2.2.1-3: modulation and code rate in 2048ths by CQI, from 1 on.
pub(in crate::radio) const CQI_QAM256: [(u32, u32); 15] = [
    (2, 156),
    (2, 386),
    (2, 898),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
    (6, 1746),
    (8, 1422),
    (8, 1594),
    (8, 1770),
    (8, 1896),
];

/// TS 38.214 table 5.2.2.1-4: modulation and code rate in 2048ths by CQI, from 1 on.
pub(in crate::radio) const CQI_LOW_SE: [(u32, u32); 15] = [
    (2, 60),
    (2, 100),
    (2, 156),
    (2, 240),
    (2, 386),
    (2, 616),
    (2, 898),
    (2, 1204),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
];

/// The MCS with this modulation and code rate, from any table.
pub(in crate::radio) fn mcs_of((modulation, rate): (u32, u32)) -> Option<&'static Mcs> {
    let all = QAM64_LOW_SE.iter().chain(&QAM64).chain(&QAM256);
    all.into_iter().find(|mcs| (mcs.modulation, mcs.rate) == (modulation, rate))
}

/// By subcarrier spacing in kHz: bandwidths in MHz with their number of PRBs. At 60 kHz the bandwidths are
/// those of FR1, and above 100 MHz those of FR2.
pub(in crate::radio) const PRBS: [(u32, &[(u32, u32)]); 4] = [
    (
        15,
        &[
            (5, 25),
            (10, 52),
            (15, 79),
            (20, 106),
            (25, 133),
            (30, 160),
            (35, 188),
            (40, 216),
            (45, 242),
            (50, 270),
        ],
    ),
    (
        30,
        &[
            (5, 11),
            (10, 24),
            (15, 38),
            (20, 51),
            (25, 65),
            (30, 78),
            (35, 92),
            (40, 106),
            (45, 119),
            (50, 133),
            (60, 162),
            (70, 189),
            (80, 217),
            (90, 245),
            (100, 273),
        ],
    ),
    (
        60,
        &[
            (10, 11),
            (15, 18),
            (20, 24),
            (25, 31),
            (30, 38),
            (35, 44),
            (40, 51),
            (45, 58),
            (50, 65),
            (60, 79),
            (70, 93),
            (80, 107),
            (90, 121),
            (100, 135),
            (200, 264),
        ],
    ),
    (120, &[(50, 32), (100, 66), (200, 132), (400, 264)]),
];
