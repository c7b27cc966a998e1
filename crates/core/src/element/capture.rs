//! What a run's capture holds.

use crate::wire::pcapng::PcapngWriter;

/// What to capture. Interfaces are numbered in the order of their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capture {
    /// Nothing.
    #[default]
    Nothing,
    /// What hosts send and receive, on the interfaces `server` and `ue`.
    Packets,
    /// That, and on the interface `rlc` the PDUs of cells whose link layer goes by TTIs, in the framing of
    /// [`wire::rlc::udp`](crate::wire::rlc::udp): each when its TTI starts, marked if it is lost.
    PacketsAndPdus,
}

/// Number of the interface `rlc`.
pub(crate) const PDU_INTERFACE: u32 = 2;

impl Capture {
    pub(crate) fn writer(self) -> Option<PcapngWriter> {
        match self {
            Self::Nothing => None,
            Self::Packets => Some(PcapngWriter::new(&["server", "ue"])),
            Self::PacketsAndPdus => Some(PcapngWriter::new(&["server", "ue", "rlc"])),
        }
    }
}
