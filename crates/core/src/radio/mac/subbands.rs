//! Subbands of a carrier: how each fades, what a UE reports about each, and which PRBs of a slot are left in each.
//!
//! ```text
//! UE:   SINR of each subband -> wideband CQI, and for each subband an offset of -1 to 2 from it
//! cell: the best free subbands of the chosen UE -> one block on all of them
//! ```
//!
//! A subband has 4 to 32 PRBs by the size of the bandwidth part (TS 38.214 table 5.2.1.4-2). Its offset is one of the four
//! of table 5.2.2.1-1: at most -1, 0, 1, at least 2. A block has one MCS on all its subbands. Its SINR is that of the
//! mean information of Gaussian symbols, `log2(1 + SINR)`, over its subbands.
//!
//! ASSUMED: subbands fade independently; mean, shadowing, blockage and outages are common. A subband of 16 PRBs at 30 kHz
//! is 5.8 MHz wide: the coherence bandwidth, 1 / (5 delay spread), at 35 ns. Within a subband one gain holds.
//!
//! DEVIATION: a report of several layers counts as one step of the offset together with its CQI, since a report is one
//! list of ranks and CQIs here.
//!
//! Left out: weighting of subbands by the number of their PRBs in the mean, CQI by subband in the uplink, choice of the UE
//! by subband: the scheduler compares wideband rates.

use super::decibels::{decibel, ratio};
use crate::element::Adopt;
use crate::fading::BLOCK;
use crate::radio::phy::air::Air;
use crate::sinr::Sinr;

/// A set of subbands, by bits. There are 18 at most: 273 PRBs in subbands of 16, or 72 in subbands of 4.
pub(super) type Set = u32;

/// The form of a UE's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radio) enum Format {
    /// The mean of the carrier only.
    Wideband,
    /// In addition, each subband with an offset of four levels.
    Offsets,
    /// In addition, each subband as finely as the carrier.
    Exact,
}

/// Offsets from the wideband CQI that a report can have (TS 38.214 table 5.2.2.1-1).
const LOWEST: i16 = -1;
const HIGHEST: i16 = 2;

/// The subbands of a UE's reception.
pub(in crate::radio) struct Subbands {
    format: Format,
    bands: Vec<Sinr>,
    /// The subbands of the block that is being sent; empty: all.
    pub(super) used: Set,
    /// The SINR of each in the latest report, dB.
    reported: Vec<f32>,
}

impl Subbands {
    pub fn new(format: Format, bands: Vec<Sinr>) -> Self {
        let reported = vec![0.0; bands.len()];
        Self { format, bands, used: 0, reported }
    }

    /// The SINR of a slot over the subbands in use, dB.
    pub(super) fn sinr(&mut self, slot: u64) -> f32 {
        let used = self.used;
        let of = self.bands.iter_mut().enumerate().filter(|(band, _)| used == 0 || used >> band & 1 == 1);
        effective(of.map(|(_, band)| at(band, slot)))
    }

    /// A report on this slot, where the mean of the carrier is `wideband` dB and a measurement of each is off by `error`.
    pub(super) fn report(&mut self, air: &dyn Air, slot: u64, wideband: f32, error: f32) {
        let wide = i16::from(air.report_of(wideband));
        for (band, reported) in self.bands.iter_mut().zip(&mut self.reported) {
            let mut own = || i16::from(air.report_of(at(band, slot) + error)) - wide;
            let offset = match self.format {
                Format::Wideband => 0,
                Format::Offsets => own().clamp(LOWEST, HIGHEST),
                Format::Exact => own(),
            };
            *reported = air.reported_sinr((wide + offset).max(0) as u8);
        }
    }

    /// The SINR that is reported of these subbands together, dB.
    pub(super) fn estimate(&self, of: Set) -> f32 {
        let bands = self.reported.iter().enumerate().filter(|(band, _)| of >> band & 1 == 1);
        effective(bands.map(|(_, sinr)| *sinr))
    }

    /// Adopts the mean SINR of other subbands; returns whether any differs.
    #[cold]
    pub(super) fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        let each = self.bands.iter_mut().zip(fresh.bands);
        each.fold(false, |differs, (own, new)| own.adopt(new, how) | differs)
    }
}

fn at(band: &mut Sinr, slot: u64) -> f32 {
    band.block(slot / BLOCK as u64)[(slot % BLOCK as u64) as usize]
}

/// The SINR of the mean information over subbands, dB.
fn effective(sinrs: impl Iterator<Item = f32>) -> f32 {
    let (mut count, mut sum, mut last) = (0_u32, 0.0, 0.0);
    for sinr in sinrs {
        (count, last) = (count + 1, sinr);
        sum += libm::log1p(ratio(sinr));
    }
    match count {
        1 => last,
        _ => decibel(libm::expm1(sum / f64::from(count.max(1)))),
    }
}

/// The PRBs of a carrier's subbands that a slot has left.
pub(super) struct Free {
    /// PRBs of each subband.
    widths: Vec<u32>,
    left: Vec<u32>,
    /// Subbands of the block that is being made and their PRBs, the best first; reused.
    picked: Vec<(usize, u32)>,
}

impl Free {
    /// Of `units` PRBs in subbands of `size`; the last one may be smaller.
    pub fn new(units: u32, size: u32) -> Self {
        let widths: Vec<u32> = (0..units.div_ceil(size)).map(|band| size.min(units - band * size)).collect();
        Self { left: widths.clone(), widths, picked: Vec::new() }
    }

    /// Starts another slot or carrier.
    pub fn reset(&mut self) {
        self.left.copy_from_slice(&self.widths);
    }

    /// Picks free subbands for a UE, the best first, until `is_enough` of them and their PRBs, `most` at most. Returns
    /// them and their PRBs.
    pub fn pick(
        &mut self,
        subbands: &Subbands,
        most: u32,
        mut is_enough: impl FnMut(Set, u32) -> bool,
    ) -> (Set, u32) {
        self.picked.clear();
        let free = self.left.iter().copied().enumerate().filter(|(_, left)| *left > 0);
        self.picked.extend(free);
        let reported = |band: usize| subbands.reported[band];
        // Stable: equal ones in the order of their frequency.
        self.picked.sort_by(|(one, _), (other, _)| reported(*other).total_cmp(&reported(*one)));
        let (mut set, mut units, mut count) = (0, 0, 0);
        for (band, left) in &self.picked {
            (set, units, count) = (set | 1 << band, units + left, count + 1);
            if units >= most || is_enough(set, units.min(most)) {
                break;
            }
        }
        self.picked.truncate(count);
        (set, units.min(most))
    }

    /// Takes so many PRBs of the subbands picked last, the best first; returns those of which it takes any.
    pub fn take(&mut self, mut units: u32) -> Set {
        let mut set = 0;
        for (band, _) in &self.picked {
            let taken = units.min(self.left[*band]);
            if taken > 0 {
                self.left[*band] -= taken;
                units -= taken;
                set |= 1 << band;
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Dir;
    use crate::sinr;

    fn subbands(format: Format, sinrs: &[&str]) -> Subbands {
        let band = |sinr: &&str| {
            let text = format!("mean_sinr = \"{sinr}\"\nfading.none = {{}}");
            let config: sinr::Config = toml::from_str(&text).unwrap();
            Sinr::new(&config, 1, (0, Dir::Downlink), 2000.0)
        };
        Subbands::new(format, sinrs.iter().map(band).collect())
    }

    /// By hand: log2(1 + 3) and log2(1 + 15) have the mean 3: 7, that is 8.45 dB; 4.77 dB and 11.76 dB.
    #[test]
    fn a_block_has_the_mean_information_of_its_subbands() {
        let mut both = subbands(Format::Exact, &["4.771 dB", "11.761 dB"]);
        assert!((both.sinr(0) - 8.451).abs() < 0.002, "{}", both.sinr(0));
        both.used = 2;
        assert_eq!(both.sinr(0), 11.761);
    }

    #[test]
    fn the_best_free_subbands_are_taken_first() {
        let mut ue = subbands(Format::Exact, &["0 dB"; 4]);
        ue.reported = vec![1.0, 7.0, 3.0, 7.0];
        let mut free = Free::new(14, 4);
        assert_eq!(free.widths, [4, 4, 4, 2]);
        assert_eq!(free.pick(&ue, 14, |_, units| units >= 5), (0b1010, 6));
        assert_eq!((free.take(5), free.left.clone()), (0b1010, vec![4, 0, 4, 1]));
        assert_eq!(free.pick(&ue, 14, |_, _| false), (0b1101, 9));
        assert_eq!(free.pick(&ue, 3, |_, _| false), (0b1100, 3));
        free.reset();
        assert_eq!(free.left, [4, 4, 4, 2]);
    }
}
