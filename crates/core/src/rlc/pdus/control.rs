//! Control PDUs (TS 25.322 §9.2.1.5, §9.2.1.7), with sequence numbers that do not wrap.
//!
//! [`Mrw`] and [`Reset`] also carry the index of an SDU, which a real receiver infers from the octets of PDUs: the SDU
//! that the receiver continues with.

use crate::rlc::ranges::Ranges;

/// Super-fields that name missing PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// LIST: pairs of a sequence number and how many after it are missing too.
    #[default]
    List,
    /// BITMAP: a bit for each PDU.
    Bitmap,
}

/// A STATUS PDU.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Status {
    /// WINDOW: the new VT(WS), in PDUs.
    pub window: Option<u32>,
    /// MRW: SDUs were discarded.
    pub mrw: Option<Mrw>,
    /// MRW_ACK: the receiving window has moved.
    pub mrw_ack: Option<MrwAck>,
    /// PDUs reported missing.
    pub missing: Ranges,
    /// How they are written.
    pub form: Form,
    /// The ACK super-field: PDUs below this one that are not reported missing have arrived. Without, NO_MORE ends
    /// the PDU.
    pub lsn: Option<u64>,
}

/// MRW: move the receiving window (§9.2.2.11.8).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mrw {
    /// SN_MRW: for each SDU that is named, the PDU with its end; for the last one, the first PDU that the
    /// receiver needs.
    pub sn_mrw: Vec<u64>,
    /// N_LENGTH: how many ends of SDUs in the last of these PDUs belong to discarded ones; 0: none of its
    /// octets does.
    pub n_length: u64,
    /// The only SN_MRW lies behind the transmission window (LENGTH is 0).
    pub beyond_window: bool,
    /// The SDU after the last one discarded.
    pub next_sdu: u64,
}

impl Mrw {
    /// SN_MRW_LENGTH: the first PDU that the receiver needs.
    pub fn last(&self) -> u64 {
        self.sn_mrw.last().copied().unwrap_or(0)
    }
}

/// MRW_ACK: the answer to MRW (§9.2.2.11.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MrwAck {
    /// N_LENGTH of the MRW if SN_ACK equals its last SN_MRW, else 0.
    pub n: u64,
    /// SN_ACK: VR(R) after the move.
    pub sn_ack: u64,
}

/// RESET, or RESET ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// RSN: changes with each new reset, not when a RESET is repeated.
    pub rsn: bool,
    /// HFNI: the hyper frame number, 20 bits.
    pub hfni: u32,
    /// The SDU with which its sender begins PDU 0.
    pub next_sdu: u64,
}

/// A control PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// STATUS.
    Status(Status),
    /// RESET.
    Reset(Reset),
    /// RESET ACK.
    ResetAck(Reset),
}
