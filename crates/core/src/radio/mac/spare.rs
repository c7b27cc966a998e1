//! TTIs that are used again for their memory.

use crate::rlc::Tti;

/// Empty TTIs.
#[derive(Default)]
#[allow(clippy::vec_box)] // A box is what travels.
pub(in crate::radio) struct Spare(Vec<Box<Tti>>);

impl Spare {
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
