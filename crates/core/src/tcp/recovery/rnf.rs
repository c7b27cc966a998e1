//! Radio network feedback, sender side. \[jayanathan\] sections 4 and 5.
//!
//! A box at the edge of the radio network (`middlebox.rnc_feedback`) sets the RNF bit in a duplicate ACK if the missing
//! segment has passed it: the loss then occurred on the radio, not in a queue before it. The sender retransmits it at
//! once and leaves its windows unchanged: **wireless fast retransmit**. As in fast recovery, each duplicate ACK permits
//! one new segment; the first new ACK ends it. From then on the segment counts as repaired: its duplicate ACKs trigger
//! no fast retransmit, and if it is lost again, a timeout follows, as after any fast retransmit.
//!
//! Losses without a flag are handled as usual, by the duplicate ACK threshold or the scoreboard. In particular, RFC
//! 6675 may consider a second gap lost, because SACK blocks show it, before a flag can arrive. During fast recovery and
//! after a timeout the bit has no effect, since the segment has been retransmitted.
//!
//! **NACKs.** A box may also report radio losses of data that a mobile sender sends (`middlebox.snoop`,
//! [`Flags::NACK`]). The SACK blocks of such an ACK list the data received over the radio, so each gap before and
//! between them is a radio loss, anywhere in the window. All segments in the gaps are retransmitted at once with
//! windows unchanged; a segment already retransmitted is retransmitted only after a further smoothed RTT. The blocks do
//! not come from the receiver and do not change the scoreboard. The receiver's own duplicate ACKs arrive later and
//! belong to a segment under repair.
//!
//! The paper requires two flagged ACKs. The box never flags the first duplicate, so the second flagged ACK is the third
//! duplicate, no earlier than without feedback, although the paper calls it early. The other option is to act on the
//! first flagged ACK.
//!
//! The bit is 0x100 of the flags, left of CWR. It was reserved, then the nonce sum of RFC 3540 (historic by RFC 8311),
//! and today it is AE of accurate ECN (RFC 9768). A deployment would need another, such as a TCP option: an endpoint
//! with accurate ECN reads the bit as part of its counter of marks, and middleboxes may clear reserved bits.

use super::Ack;
use crate::packet::Flags;
use crate::registry::parameters;
use crate::tcp::Transmit;
use crate::tcp::transmission::Transmission;
use crate::tcp::window::state::Phase;
use crate::time::Instant;
use crate::trace::SendCause;
use serde::Serialize;
use std::collections::VecDeque;

parameters! {
    /// Whether a sender acts on radio network feedback.
    pub enum Rnf {
        /// The sender ignores the bit.
        #[default]
        Off,
        /// The first flagged duplicate ACK sends the missing segment again.
        FirstFlagged,
        /// The second flagged one, as printed.
        TwoFlagged,
    }
}

impl Rnf {
    /// Number of flagged duplicate ACKs that trigger a retransmission; `None` if off.
    pub(in crate::tcp) const fn needed(self) -> Option<u32> {
        match self {
            Self::Off => None,
            Self::FirstFlagged => Some(1),
            Self::TwoFlagged => Some(2),
        }
    }
}

/// Counters of a flow with feedback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Duplicate ACKs with the RNF bit.
    pub flagged_acks: u64,
    /// Segments retransmitted because of them, windows unchanged.
    pub wireless_fast_retransmits: u64,
    /// NACKs for data lost on the radio before it reached a box.
    pub nacks: u64,
}

/// State of the feedback at a sender.
#[derive(Debug)]
pub(super) struct Feedback {
    needed: u32,
    /// Offset of the gap that the latest flags referred to, and their number.
    hole: (u64, u32),
    /// Offsets of the segments in flight that NACKs have named, and how often.
    named: Vec<(u64, u32)>,
    /// The segments in `named` that are queued for retransmission.
    again: VecDeque<u64>,
    pub report: Report,
}

impl Feedback {
    /// If the sender acts on it.
    pub fn of(rnf: Rnf) -> Option<Self> {
        let needed = rnf.needed()?;
        let (named, again, report) = Default::default();
        Some(Self { needed, hole: (0, 0), named, again, report })
    }

    /// Whether NACKs have caused a retransmission of the segment at `start`.
    pub fn has_repaired(&self, start: u64) -> bool {
        self.named.iter().any(|(named, times)| *named == start && *times >= self.needed)
    }

    /// A NACK names the segment at `start`. Returns whether it has been named often enough to be retransmitted.
    fn on_named(&mut self, start: u64) -> bool {
        match self.named.iter_mut().find(|(named, _)| *named == start) {
            Some((_, times)) => *times += 1,
            None => self.named.push((start, 1)),
        }
        self.has_repaired(start)
    }

    /// A flagged duplicate ACK for the segment at `una`. Returns whether it triggers the retransmission.
    fn on_flagged(&mut self, una: u64) -> bool {
        self.report.flagged_acks += 1;
        let (hole, flagged) = &mut self.hole;
        if *hole != una {
            (*hole, *flagged) = (una, 0);
        }
        *flagged += 1;
        *flagged == self.needed
    }

    /// A duplicate ACK, flagged or not. Returns whether feedback handles it: the segment at `una` was lost on the
    /// radio, and is retransmitted now or was before.
    pub fn answers(&mut self, tx: &mut Transmission, ack: &Ack<'_>, uses_scoreboard: bool) -> bool {
        if tx.timer.is_frozen() {
            return true;
        }
        let state = &mut tx.state;
        let una = state.una;
        let acts = ack.packet.flags.has(Flags::RNF) && ack.packet.payload == 0 && self.on_flagged(una);
        if self.has_repaired(una) {
            state.repaired = Some(una);
        }
        let is_open = matches!(state.phase, Phase::Open | Phase::Disorder);
        let is_repaired = state.is_under_repair();
        if !is_open || !acts && !is_repaired {
            return false;
        }
        if !is_repaired {
            self.report.wireless_fast_retransmits += 1;
            state.repaired = Some(una);
            state.retransmit = Some((una, SendCause::WirelessFastRetransmit));
            state.limited_transmit = 0;
            tx.timer.at = Some(ack.now + tx.rto.value());
            // Karn's algorithm.
            tx.rtt.forget();
        }
        tx.cc.on_arrival(ack.now, state, 0);
        tx.counters.dupacks += 1;
        state.dupacks += 1;
        state.phase = Phase::Disorder;
        if !uses_scoreboard {
            // As in fast recovery; the scoreboard has its pipe instead.
            state.inflation = i64::from(state.dupacks) * state.mss() as i64;
        }
        true
    }

    /// A NACK whose ACK has been processed: retransmits the segments that its SACK blocks leave out.
    pub fn on_nack(&mut self, tx: &mut Transmission, ack: &Ack<'_>) {
        let state = &mut tx.state;
        self.report.nacks += 1;
        self.named.retain(|(named, _)| *named >= state.una);
        // After a timeout everything is retransmitted anyway.
        if state.phase == Phase::Loss {
            return;
        }
        let srtt = tx.rto.srtt();
        let patience = if srtt.is_zero() { tx.rto.value() } else { srtt };
        for (left, right) in gaps(state.una, state.max, ack.blocks()) {
            let from = state.segments.partition_point(|segment| segment.start < left);
            for segment in state.segments.range(from..).take_while(|segment| segment.end() <= right) {
                let is_in_flight = segment.transmissions > 1 && ack.now.since(segment.sent_at) < patience;
                if !segment.is_sacked && !is_in_flight && self.on_named(segment.start) {
                    self.again.push_back(segment.start);
                }
            }
        }
        if !self.again.is_empty() {
            if state.phase == Phase::Open {
                state.phase = Phase::Disorder;
            }
            tx.timer.at = Some(ack.now + tx.rto.value());
            // Karn's algorithm.
            tx.rtt.forget();
        }
    }

    /// The next segment that a NACK has named.
    pub fn poll(&mut self, tx: &mut Transmission, now: Instant) -> Option<Transmit> {
        let seq = self.again.pop_front()?;
        let transmit = tx.send_again(now, seq, SendCause::WirelessFastRetransmit)?;
        self.report.wireless_fast_retransmits += 1;
        Some(transmit)
    }
}

/// Whether this is a NACK: see [`Flags::NACK`].
pub(super) fn is_nack(ack: &Ack<'_>) -> bool {
    let is_flagged = ack.packet.flags.has(Flags::ACK | Flags::NACK) && ack.packet.payload == 0;
    is_flagged && !ack.blocks().is_empty()
}

/// Gaps between the blocks of a NACK in the data from `una` to `max`, lowest first.
fn gaps(una: u64, max: u64, blocks: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut blocks: Vec<_> = blocks.iter().filter(|(left, right)| left < right && *right <= max).collect();
    blocks.sort_unstable();
    let (mut end, mut gaps) = (una, Vec::new());
    for (left, right) in blocks {
        if *left > end {
            gaps.push((end, *left));
        }
        end = end.max(*right);
    }
    gaps
}
