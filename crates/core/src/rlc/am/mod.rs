//! RLC Acknowledged Mode (TS 25.322): the entities of one direction of a bearer.
//!
//! [`Sender`] and [`Receiver`] are pure logic: SDUs, PDUs and STATUS PDUs go in with the time, and the
//! owner asks at each TTI what goes on the air. They carry no octets. An SDU is a number that the sender
//! gives out and a length; PDUs are runs of sequence numbers ([`Run`]) with the ends of SDUs that lie in
//! them, as the PDUs of a TTI mostly share their fate: work is done for each TTI and each SDU, not for
//! each PDU. Sequence numbers are counted without wrapping; on the wire they are taken modulo 4096, and
//! no window is larger than 2048, so that this loses nothing.
//!
//! Here are: segmentation and concatenation with the octets of length indicators (§9.2.2.8), the window,
//! all poll triggers and poll timers (§9.5, §9.7.1), status reports with their timers (§9.7.2),
//! retransmission, in- and out-of-sequence delivery (§11.3).
//!
//! Left out: `MaxDAT` with RESET (§11.4) and the discard of SDUs with MRW (§11.6), so that the sender repeats a
//! PDU as often as it takes; the WINDOW, RLIST and POLL super-fields, piggybacked STATUS, the special value
//! of the HE field, suspending, ciphering.

mod config;
mod encoder;
mod ranges;
mod receiver;
mod segmentation;
mod sender;

pub use config::{Config, Delivery};
pub use encoder::Encoder;
pub use ranges::{Ranges, SnRange};
pub use receiver::Receiver;
pub use sender::{Erroneous, Sender};

/// Data PDUs (AMD PDUs) with adjacent sequence numbers and the same P bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Their sequence numbers.
    pub sns: SnRange,
    /// P: each of them asks for a status report.
    pub poll: bool,
}

/// The end of an SDU, as the length indicators of a PDU tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SduEnd {
    /// The SDU's number.
    pub sdu: u64,
    /// The PDU with its first octet.
    pub first: u64,
    /// The PDU whose length indicator tells the end: that of the last octet, or the next one if the
    /// indicator found no room there.
    pub sn: u64,
}

/// The data PDUs of one TTI. The owner keeps it and has it filled again, so that its memory is reused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transmission {
    /// PDUs in the order in which they are sent.
    pub runs: Vec<Run>,
    /// Ends of SDUs in these PDUs, in the same order.
    pub ends: Vec<SduEnd>,
}

impl Transmission {
    /// Number of PDUs.
    pub fn pdus(&self) -> u64 {
        self.runs.iter().map(|run| run.sns.len()).sum()
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.ends.clear();
    }
}

/// Super-fields that name missing PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// LIST: pairs of a sequence number and how many after it are missing too.
    List,
    /// BITMAP: a bit for each PDU.
    Bitmap,
}

/// A STATUS PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// PDUs reported missing.
    pub missing: Ranges,
    /// How they are written.
    pub form: Form,
    /// The ACK super-field: PDUs below this one that are not reported missing have arrived.
    pub lsn: u64,
}
