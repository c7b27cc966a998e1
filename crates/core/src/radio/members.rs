//! Interfaces that are attached to a cell.

use crate::packet::Dir;

/// Place of each UE in its cell, by the number of the UE.
pub(crate) struct Members(Vec<u16>);

impl Members {
    /// Attaches the first `ues` UEs.
    pub fn first(ues: u16) -> Self {
        Self((0..ues).collect())
    }

    /// Place of a UE, or one past every cell's last place if the UE is not attached.
    #[inline(always)]
    pub fn place(&self, ue: u16) -> usize {
        self.0.get(usize::from(ue)).copied().unwrap_or(u16::MAX).into()
    }

    /// Index of a UE's bearer among the bearers of the cell.
    #[inline(always)]
    pub fn bearer(&self, ue: u16, dir: Dir) -> usize {
        2 * self.place(ue) + dir.index()
    }
}
