//! PDCP of NR (TS 38.323): numbers, order and recovery of the SDUs of a data radio bearer.
//!
//! RLC of NR delivers SDUs in any order, and starts from nothing when it is re-established. PDCP gives each SDU a
//! COUNT, whose lower 12 or 18 bits are in its header. The [`Receiver`] puts SDUs in order by COUNT, waits t-Reordering
//! for missing SDUs, and drops duplicates. The [`Transmitter`] keeps SDUs without a COUNT, and SDUs to be retransmitted
//! after RLC was re-established; a [`StatusReport`] of the receiver excludes the SDUs that have arrived.
//!
//! ```text
//! packet -> Transmitter: waits, COUNT -> RLC ... RLC -> Receiver: order, duplicates -> packet
//! ```
//!
//! An SDU gets its COUNT when RLC takes it, so that an SDU that was discarded or evicted before leaves no gap that the
//! receiver would wait for (TS 38.323 §5.3 leaves that to implementations). COUNT does not wrap here; the header has its
//! lower bits only, and the receiver infers the others as in §5.2.2.1, so that it mistakes them where a real one would.
//!
//! Left out: ciphering, integrity, header compression, SDAP, DAPS; split bearers are `split_bearer`. `docs/models/pdcp-nr.md`
//! lists clause by clause what is implemented, and the test that shows it.

mod config;
mod receiver;
mod transmitter;

pub use config::{AtHandover, Config};
pub use receiver::{Counts, Receiver};
pub use transmitter::Transmitter;

/// Octets of the largest SDU, and of the largest control PDU (TS 38.323 §4.3.1).
pub const LARGEST_SDU: u32 = 9000;

/// A PDU of PDCP, which is an SDU of RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdcpPdu {
    /// What is in it.
    pub content: Content,
    /// Octets with the header.
    pub octets: u32,
    /// Whether its delivery has been reported to the bearer before.
    pub confirmed: bool,
}

impl PdcpPdu {
    /// Number of the SDU in its bearer; `None` for a status report.
    #[inline]
    pub fn number(&self) -> Option<u64> {
        match self.content {
            Content::Data { number, .. } => Some(number),
            Content::Status(_) => None,
        }
    }
}

/// What a PDU of PDCP carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An SDU.
    Data {
        /// COUNT, not wrapped.
        count: u64,
        /// Number of the SDU in its bearer.
        number: u64,
    },
    /// The status report with this number.
    Status(u32),
}

/// A PDCP status report (§6.2.3.1): what the receiver has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusReport {
    /// Its number, from 0; no field of the PDU.
    pub number: u32,
    /// FMC: COUNT of the first SDU that is missing.
    pub fmc: u64,
    /// For each SDU after FMC, whether it was received, up to the last received one.
    pub bitmap: Vec<bool>,
}

impl StatusReport {
    /// Octets of the PDU: D/C, PDU type and R; FMC; the bitmap, padded to whole octets.
    pub fn octets(&self) -> u32 {
        5 + self.bitmap.len().div_ceil(8) as u32
    }

    /// Whether it says that the SDU with this COUNT was received.
    pub fn confirms(&self, count: u64) -> bool {
        let behind = |fmc| Some((count.checked_sub(fmc)?.checked_sub(1)?) as usize);
        count < self.fmc || behind(self.fmc).is_some_and(|place| self.bitmap.get(place) == Some(&true))
    }
}
