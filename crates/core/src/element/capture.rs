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
    /// That, and packets that hosts do not see.
    PacketsAnd {
        /// On the interface `rlc` the PDUs of cells whose link layer goes by TTIs, in the framing of
        /// [`wire::rlc::udp`](crate::wire::rlc::udp): each when its TTI starts, marked if it is lost.
        pdus: bool,
        /// On the interface `iu` the datagrams of GTP-U between SGSN and RNC, each when it passes the RNC's side.
        iu: bool,
    },
}

/// Number of the interface `rlc`.
pub(crate) const PDU_INTERFACE: u32 = 2;

impl Capture {
    /// What hosts send and receive if there is to be a capture, and what is not seen by them if that is wanted too.
    pub const fn of(packets: bool, pdus: bool, iu: bool) -> Self {
        match (packets, pdus || iu) {
            (false, _) => Self::Nothing,
            (true, false) => Self::Packets,
            (true, true) => Self::PacketsAnd { pdus, iu },
        }
    }

    /// Whether PDUs are to be captured.
    pub const fn has_pdus(self) -> bool {
        matches!(self, Self::PacketsAnd { pdus: true, .. })
    }

    /// Whether the Iu is to be captured.
    pub const fn has_iu(self) -> bool {
        matches!(self, Self::PacketsAnd { iu: true, .. })
    }

    /// Number of the interface `iu`, if there is one.
    pub(crate) fn iu_interface(self) -> Option<u32> {
        self.has_iu().then_some(PDU_INTERFACE + u32::from(self.has_pdus()))
    }

    pub(crate) fn writer(self) -> Option<PcapngWriter> {
        let further = [("rlc", self.has_pdus()), ("iu", self.has_iu())];
        let mut names = vec!["server", "ue"];
        names.extend(further.into_iter().filter_map(|(name, has)| has.then_some(name)));
        (self != Self::Nothing).then(|| PcapngWriter::new(&names))
    }
}
