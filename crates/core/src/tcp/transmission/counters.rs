//! What a sender counts.

use crate::time::Duration;
use crate::trace::SendCause;

/// What a sender has counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Segments with data sent, retransmissions and probes of a closed window included.
    pub segments_sent: u64,
    /// Retransmitted segments: on the duplicate ACK threshold.
    pub retransmits_fast: u64,
    /// Retransmitted segments: on a partial ACK.
    pub retransmits_partial: u64,
    /// Retransmitted segments: by the SACK scoreboard.
    pub retransmits_sack: u64,
    /// Retransmitted segments: when the timer expired.
    pub retransmits_timeout: u64,
    /// Retransmitted segments: the others after a timeout.
    pub retransmits_go_back_n: u64,
    /// Retransmitted segments: on feedback from the radio network.
    pub retransmits_wireless: u64,
    /// Retransmitted segments: as a probe at the end of what was sent, RFC 8985 (7).
    pub retransmits_probe: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Timeouts that turned out to be spurious.
    pub spurious_timeouts: u64,
    /// Fast retransmits that turned out to be spurious.
    pub spurious_fast_retransmits: u64,
    /// Duplicate ACKs received: RFC 5681 (2).
    pub dupacks: u64,
    /// Round-trip time samples.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// The shortest.
    pub rtt_min: Option<Duration>,
    /// The longest.
    pub rtt_max: Duration,
    /// The latest.
    pub rtt_last: Duration,
}

impl Counters {
    /// Retransmitted segments, whatever the cause.
    pub fn retransmissions(&self) -> u64 {
        self.retransmits_fast
            + self.retransmits_partial
            + self.retransmits_sack
            + self.retransmits_timeout
            + self.retransmits_go_back_n
            + self.retransmits_wireless
            + self.retransmits_probe
    }

    /// Counts a segment that was sent.
    #[inline]
    pub(super) fn on_sent(&mut self, cause: SendCause) {
        self.segments_sent += 1;
        match cause {
            SendCause::FastRetransmit => self.retransmits_fast += 1,
            SendCause::PartialAck => self.retransmits_partial += 1,
            SendCause::Sack => self.retransmits_sack += 1,
            SendCause::Timeout => self.retransmits_timeout += 1,
            SendCause::GoBackN => self.retransmits_go_back_n += 1,
            SendCause::WirelessFastRetransmit => self.retransmits_wireless += 1,
            SendCause::TailLossProbe => self.retransmits_probe += 1,
            SendCause::New
            | SendCause::LimitedTransmit
            | SendCause::WindowProbe
            | SendCause::Handshake
            | SendCause::HandshakeTimeout
            | SendCause::Retransmission => {}
        }
    }

    /// Counts a round-trip time.
    #[inline]
    pub(super) fn on_sample(&mut self, rtt: Duration) {
        self.rtt_samples += 1;
        self.rtt_sum += rtt;
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        self.rtt_max = self.rtt_max.max(rtt);
        self.rtt_last = rtt;
    }
}
