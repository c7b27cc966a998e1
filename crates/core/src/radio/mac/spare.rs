//! TTIs that are used again for their memory.

use crate::rlc::Tti;
use airpath_prefetch::prefetch;

/// TTIs to load: few UEs take more before one comes back.
const LOADED: usize = 4;

/// Empty TTIs.
#[derive(Default)]
#[allow(clippy::vec_box)] // A box is what travels.
pub(in crate::radio) struct Spare(Vec<Box<Tti>>);

impl Spare {
    /// See [`Element::prefetch`](crate::element::Element::prefetch).
    pub fn prefetch(&self, depth: u8) {
        for tti in self.0.iter().rev().take(LOADED) {
            match depth {
                1 => prefetch(&**tti),
                _ => tti.prefetch(),
            }
        }
    }

    /// An empty TTI.
    #[inline]
    pub fn take(&mut self) -> Box<Tti> {
        self.0.pop().unwrap_or_default()
    }

    /// Empties a TTI and keeps it.
    #[inline]
    pub fn keep(&mut self, mut tti: Box<Tti>) {
        tti.clear();
        self.0.push(tti);
    }
}
