//! Sizes of transport blocks (TS 38.214 §5.1.3.2), and their segmentation into code blocks (TS 38.212 §5.2.2,
//! §7.2.2), in integers.

/// The most resource elements of a PRB that count (TS 38.214 §5.1.3.2).
const MOST_ELEMENTS: u32 = 156;

/// Sizes up to 3824 bits: TS 38.214 table 5.1.3.2-1.
const SIZES: [u32; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 208,
    224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640,
    672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352,
    1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536,
    2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824,
];

/// The largest size of the table, bits.
const LARGEST_OF_TABLE: u32 = 3824;

/// Code rates are in 2048ths.
const RATES: u64 = 2048;

/// Resource elements of a PRB in `symbols` symbols, without reference symbols and other overhead.
pub(in crate::radio) fn elements_of_prb(symbols: u32, dmrs: u32, overhead: u32) -> u32 {
    (12 * symbols).saturating_sub(dmrs + overhead)
}

/// Size of a transport block on `prbs` PRBs of `elements` resource elements each and `layers` layers, at `modulation` coded
/// bits in an element and a code rate of `rate` / 2048, bits. 0 without elements.
pub(in crate::radio) fn size(elements: u32, prbs: u32, layers: u32, modulation: u32, rate: u32) -> u32 {
    let all = u64::from(elements.min(MOST_ELEMENTS)) * u64::from(prbs);
    // N_info times 2048.
    let info = all * u64::from(rate) * u64::from(modulation) * u64::from(layers);
    if info == 0 {
        return 0;
    }
    if info <= u64::from(LARGEST_OF_TABLE) * RATES {
        small(info)
    } else {
        large(info, 4 * u64::from(rate) <= RATES)
    }
}

/// Step 3: N_info is quantized downwards and rounded up to the next size of the table.
fn small(info: u64) -> u32 {
    let whole = info / RATES;
    let n = whole.checked_ilog2().unwrap_or(0).saturating_sub(6).max(3);
    let quantized = (whole >> n << n).max(24) as u32;
    SIZES[SIZES.partition_point(|size| *size < quantized).min(SIZES.len() - 1)]
}

/// Step 4: N_info is quantized to the nearest, ties upwards, and fills code blocks of equal size.
fn large(info: u64, low_rate: bool) -> u32 {
    let above = info - 24 * RATES;
    let n = (above / RATES).ilog2() - 5;
    let step = RATES << n;
    let quantized = (((above + step / 2) / step) << n).max(3840);
    let with_crc = quantized + 24;
    let blocks = match () {
        () if low_rate => with_crc.div_ceil(3816),
        () if quantized > 8424 => with_crc.div_ceil(8424),
        () => 1,
    };
    (8 * blocks * with_crc.div_ceil(8 * blocks) - 24) as u32
}

/// Segmentation of a transport block for the LDPC code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radio) struct CodeBlocks {
    /// LDPC base graph, 1 or 2.
    pub graph: u8,
    pub count: u32,
    /// Bits of each with its CRC, without filler bits.
    pub bits: u32,
}

impl CodeBlocks {
    /// Segments a transport block of `bits` bits at a code rate of `rate` / 2048.
    pub fn of(bits: u32, rate: u32) -> Self {
        let with_crc = bits + if bits > LARGEST_OF_TABLE { 24 } else { 16 };
        // TS 38.212 §7.2.2: A <= 292, or A <= 3824 and R <= 0.67, or R <= 1/4.
        let is_low = 4 * u64::from(rate) <= RATES;
        let is_middle = 100 * u64::from(rate) <= 67 * RATES;
        let graph = if bits <= 292 || (bits <= LARGEST_OF_TABLE && is_middle) || is_low { 2 } else { 1 };
        let largest = if graph == 1 { 8448 } else { 3840 };
        let count = if with_crc <= largest { 1 } else { with_crc.div_ceil(largest - 24) };
        let all = if count == 1 { with_crc } else { with_crc + 24 * count };
        Self { graph, count, bits: all / count }
    }

    /// Z_c (TS 38.212 §5.2.2): the smallest lifting size whose K_b-fold is enough for a code block.
    #[cfg(test)]
    pub fn lifting_size(self, transport_bits: u32) -> u32 {
        let with_crc = transport_bits + if transport_bits > LARGEST_OF_TABLE { 24 } else { 16 };
        let columns = match (self.graph, with_crc) {
            (1, _) => 22,
            (_, 641..) => 10,
            (_, 561..) => 9,
            (_, 193..) => 8,
            _ => 6,
        };
        // TS 38.212 table 5.3.2-1: a 2^j with a of 2, 3, 5, 7, 9, 11, 13, 15 and sizes up to 384.
        let sizes = [2, 3, 5, 7, 9, 11, 13, 15].into_iter().flat_map(|a| (0..8).map(move |j| a << j));
        sizes.filter(|size| *size <= 384 && columns * size >= self.bits).min().unwrap_or(384)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::{Mcs, QAM64, QAM64_LOW_SE, QAM256};
    use super::*;

    /// Made from the text of TS 38.214 and TS 38.212 in exact fractions: PRBs, symbols, DMRS elements, overhead, layers, MCS
    /// table, MCS; size, base graph, code blocks, bits of each, lifting size.
    const VECTORS: &str = include_str!("../../../../tests/data/nr_tbs_vectors.csv");

    fn table(number: u32) -> &'static [Mcs] {
        match number {
            1 => &QAM64,
            2 => &QAM256,
            _ => &QAM64_LOW_SE,
        }
    }

    /// Acceptance tests 1 and 2.
    #[test]
    fn sizes_and_code_blocks_are_the_standards() {
        let mut vectors = 0;
        for line in VECTORS.lines().skip(1) {
            let values: Vec<u32> = line.split(',').map(|value| value.parse().unwrap()).collect();
            let [prbs, symbols, dmrs, overhead, layers, mcs_table, mcs, bits, graph, count, each, lifting] =
                values[..]
            else {
                panic!("{line}");
            };
            let Mcs { modulation, rate, .. } = table(mcs_table)[mcs as usize];
            let own = size(elements_of_prb(symbols, dmrs, overhead), prbs, layers, modulation, rate);
            assert_eq!(own, bits, "{line}");
            let blocks = CodeBlocks::of(bits, rate);
            assert_eq!(blocks, CodeBlocks { graph: graph as u8, count, bits: each }, "{line}");
            assert_eq!(blocks.lifting_size(bits), lifting, "{line}");
            vectors += 1;
        }
        assert_eq!(vectors, 200);
    }

    /// Acceptance tests 1 and 2: a block that a commercial cell sent, and the largest of 100 MHz.
    #[test]
    fn blocks_of_a_carrier_of_100_mhz() {
        let of = |mcs: &Mcs, elements, layers| size(elements, 273, layers, mcs.modulation, mcs.rate);
        assert_eq!(of(&QAM256[9], elements_of_prb(13, 24, 0), 4), 344_376);
        assert_eq!(of(&QAM256[27], 132, 4), 1_081_512);
        let blocks = CodeBlocks::of(1_081_512, QAM256[27].rate);
        assert_eq!(blocks, CodeBlocks { graph: 1, count: 129, bits: 8408 });
        assert_eq!(blocks.lifting_size(1_081_512), 384);
        assert_eq!(of(&QAM256[0], 132, 1), 8448);
        assert_eq!(CodeBlocks::of(8448, QAM256[0].rate), CodeBlocks { graph: 2, count: 3, bits: 2848 });
    }

    #[test]
    fn sizes_rise_with_prbs_and_layers() {
        for Mcs { modulation, rate, .. } in QAM256 {
            let mut last = 0;
            for prbs in 1..=273 {
                let own = size(132, prbs, 1, modulation, rate);
                assert!(own >= last, "{prbs} PRBs: {own} after {last}");
                assert!(size(132, prbs, 2, modulation, rate) > own);
                last = own;
            }
        }
        assert_eq!(size(0, 273, 4, 8, 1896), 0);
    }
}
