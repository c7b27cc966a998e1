//! Counters of a sender.

use crate::delays::DelayReport;
use crate::tcp::window::loss_episodes::Report as LossEpisodes;
use crate::trace::SendCause;
use serde::Serialize;

/// Counters of a sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counters {
    /// Segments with data sent, retransmissions and probes of a closed window included.
    pub segments_sent: u64,
    /// Retransmitted segments, by cause.
    pub retransmissions: Retransmissions,
    /// Probes of a closed window: RFC 9293 (3.8.6.1).
    pub window_probes: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Timeouts found to be spurious; 0 without `undo`.
    pub spurious_timeouts: u64,
    /// Fast retransmits found to be spurious.
    pub spurious_fast_retransmits: u64,
    /// Loss episodes by kind; `None` for a flow without TCP.
    pub loss_episodes: Option<LossEpisodes>,
    /// Duplicate ACKs received: RFC 5681 (2).
    pub dupacks: u64,
    /// Round-trip times sampled.
    pub rtt_ms: DelayReport,
}

/// Retransmitted segments, by cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Retransmissions {
    /// All of them, those on radio network feedback (`rnf`) included.
    pub total: u64,
    /// Segments retransmitted at the duplicate ACK threshold.
    pub fast_retransmit: u64,
    /// Segments retransmitted on a partial ACK.
    pub partial_ack: u64,
    /// Segments retransmitted by the SACK scoreboard.
    pub sack: u64,
    /// Segments retransmitted on a timeout.
    pub timeout: u64,
    /// The others after a timeout.
    pub go_back_n: u64,
    /// Tail loss probes that retransmit, RFC 8985 (7); with `recovery.rack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<u64>,
}

impl Counters {
    /// Retransmitted segments of any cause.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions.total
    }

    /// Adds what another sender has counted, without its round-trip times and loss episodes.
    pub fn add(&mut self, other: &Self) {
        self.segments_sent += other.segments_sent;
        self.window_probes += other.window_probes;
        self.timeouts += other.timeouts;
        self.fast_retransmits += other.fast_retransmits;
        self.spurious_timeouts += other.spurious_timeouts;
        self.spurious_fast_retransmits += other.spurious_fast_retransmits;
        self.dupacks += other.dupacks;
        let (all, more) = (&mut self.retransmissions, &other.retransmissions);
        all.total += more.total;
        all.fast_retransmit += more.fast_retransmit;
        all.partial_ack += more.partial_ack;
        all.sack += more.sack;
        all.timeout += more.timeout;
        all.go_back_n += more.go_back_n;
        if let Some(probes) = more.tail_loss_probe {
            *all.tail_loss_probe.get_or_insert(0) += probes;
        }
    }

    /// Counts a segment that was sent.
    #[inline]
    pub(super) fn on_sent(&mut self, cause: SendCause) {
        self.segments_sent += 1;
        let again = &mut self.retransmissions;
        match cause {
            SendCause::FastRetransmit => again.fast_retransmit += 1,
            SendCause::PartialAck => again.partial_ack += 1,
            SendCause::Sack => again.sack += 1,
            SendCause::Timeout => again.timeout += 1,
            SendCause::GoBackN => again.go_back_n += 1,
            SendCause::WirelessFastRetransmit => {}
            SendCause::TailLossProbe => *again.tail_loss_probe.get_or_insert(0) += 1,
            SendCause::New
            | SendCause::LimitedTransmit
            | SendCause::WindowProbe
            | SendCause::Handshake
            | SendCause::HandshakeTimeout
            | SendCause::Retransmission => return,
        }
        again.total += 1;
    }
}
