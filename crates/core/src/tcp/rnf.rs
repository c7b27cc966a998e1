//! Radio network feedback, the half of the sender. [jayanathan] sections 4 and 5.
//!
//! A box at the edge of the radio network (`middlebox.rnc_feedback`) sets the RNF bit in a duplicate ACK if the
//! segment that is missing has passed it: then the radio has lost it, and no queue before. The sender sends it again
//! at once and leaves its windows as they are: **wireless fast retransmit**. Duplicate ACKs let new segments go, as in
//! fast recovery, one for each segment that has left the network; the first new ACK ends it. The segment counts as
//! repaired from then on: its duplicate ACKs bring no fast retransmit, and if it is lost again, a timeout follows, as
//! after any fast retransmit.
//!
//! What no flag speaks of is answered as ever: by the threshold of duplicate ACKs, or by the scoreboard. In particular
//! a second hole that SACK blocks have shown already is taken for lost by RFC 6675 before a flag can come. During fast
//! recovery and after a timeout the bit changes nothing, since the segment is on its way again.
//!
//! **NACKs.** A box may also name what the radio has lost of the data that a mobile sender sends (`middlebox.snoop`,
//! [`Flags::NACK`]): the SACK blocks of such an ACK are what has come over the radio, so that each gap before and
//! between them is a loss of it, wherever it stands in the window. All segments in the gaps are sent again at once,
//! windows kept; one that has been sent again already only when a smoothed round-trip time has passed since. The
//! blocks are no word of the receiver's, and leave the scoreboard alone. The receiver's own duplicate ACKs, which come
//! later, are those of a segment under repair.
//!
//! DEVIATION: the paper wants two flagged ACKs. The box never flags the first duplicate, so that this is the third, no
//! earlier than without feedback; acting on the first flagged one is what its results show. Both are options.
//!
//! The bit is 0x100 of the flags, left of CWR. It was reserved, then the nonce sum of RFC 3540 (historic by RFC 8311),
//! and today it is AE of accurate ECN (RFC 9768). A deployment would need another, such as a TCP option: an endpoint
//! with accurate ECN reads the bit as part of its counter of marks, and middleboxes may clear reserved bits.

use crate::packet::{Flags, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Whether a sender acts on radio network feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rnf {
    /// It ignores the bit.
    #[default]
    Off,
    /// The first flagged duplicate ACK sends the missing segment again.
    FirstFlagged,
    /// The second flagged one, as printed.
    TwoFlagged,
}

impl Rnf {
    /// Flagged duplicate ACKs that send a segment again; `None` if off.
    pub(super) const fn needed(self) -> Option<u32> {
        match self {
            Self::Off => None,
            Self::FirstFlagged => Some(1),
            Self::TwoFlagged => Some(2),
        }
    }
}

/// What a flow with feedback has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Duplicate ACKs with the RNF bit.
    pub flagged_acks: u64,
    /// Segments sent again for them, windows kept.
    pub wireless_fast_retransmits: u64,
    /// NACKs for data that the radio has lost on its way to a box.
    pub nacks: u64,
}

/// What a sender remembers of the feedback.
#[derive(Debug)]
pub(super) struct Feedback {
    needed: u32,
    /// Offset of the hole that flags have spoken of last, and how many.
    hole: (u64, u32),
    /// Offsets of the segments in flight that NACKs have named, and how often.
    named: Vec<(u64, u32)>,
    /// Of these, what is to be sent again now.
    pub again: VecDeque<u64>,
    pub report: Report,
}

/// Whether this is a NACK: see [`Flags::NACK`].
pub(super) fn is_nack(packet: &Packet) -> bool {
    packet.flags.has(Flags::ACK | Flags::NACK) && packet.payload == 0 && packet.has_blocks()
}

impl Feedback {
    pub fn new(needed: u32) -> Self {
        Self { needed, hole: (0, 0), named: Vec::new(), again: VecDeque::new(), report: Report::default() }
    }

    /// A NACK names the segment at `start`; whether it has been named often enough to be sent again.
    pub fn on_named(&mut self, start: u64) -> bool {
        match self.named.iter_mut().find(|(named, _)| *named == start) {
            Some((_, times)) => *times += 1,
            None => self.named.push((start, 1)),
        }
        self.has_repaired(start)
    }

    /// Whether NACKs have had the segment at `start` sent again.
    pub fn has_repaired(&self, start: u64) -> bool {
        self.named.iter().any(|(named, times)| *named == start && *times >= self.needed)
    }

    /// Everything before `una` is acknowledged.
    pub fn forget_before(&mut self, una: u64) {
        self.named.retain(|(named, _)| *named >= una);
    }

    /// A flagged duplicate ACK for the segment at `una`; whether it is the one that sends the segment again.
    pub fn on_flagged(&mut self, una: u64) -> bool {
        self.report.flagged_acks += 1;
        let (hole, flagged) = &mut self.hole;
        if *hole != una {
            (*hole, *flagged) = (una, 0);
        }
        *flagged += 1;
        *flagged == self.needed
    }
}
