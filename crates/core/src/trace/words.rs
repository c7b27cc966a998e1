//! Words in events and results, with their meanings.

use super::field::Field;

/// Declares words that appear in results and columns.
macro_rules! words {
    ($($(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $doc:literal])* $variant:ident = $word:literal,)*
    })*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[doc = $doc])* $variant,)* }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word for it in results and columns.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl Field for $name {
            const WORDS: &'static [&'static str] = &[$($word,)*];
            const MEANINGS: &'static [&'static str] = &[$(concat!($($doc),*),)*];

            #[inline]
            fn number(self) -> u64 {
                self as u64
            }
        }
    )*};
}

words! {
    /// Why a packet was dropped.
    Reason {
        /// The queue had no room.
        QueueFull = "queue_full",
        /// The queue discipline dropped it at its arrival, though there was room.
        EarlyDrop = "early_drop",
        /// The queue discipline dropped it while it waited in the buffer.
        Evicted = "evicted",
        /// The wired link lost it.
        LinkLoss = "link_loss",
        /// The link layer discarded it after the maximum number of transmissions.
        MaxTransmissions = "max_transmissions",
        /// A box repairs the loss that the duplicate ACK reports.
        DupackSuppressed = "dupack_suppressed",
        /// A box has passed a newer ACK on already.
        StaleAck = "stale_ack",
        /// A box replied on behalf of the UE, which has acknowledged it.
        AlreadyAcknowledged = "already_acknowledged",
        /// A newer ACK took its place in a box.
        AckFiltered = "ack_filtered",
        /// A probe of a closed window that a box has answered on behalf of the receiver.
        ProbeAnswered = "probe_answered",
        /// Addressed to a UE that the cell does not have.
        UnknownUe = "unknown_ue",
        /// Addressed to a flow that the host does not have.
        UnknownFlow = "unknown_flow",
        /// Its UE has no active PDP context: the core network knows no tunnel for it.
        NoPdpContext = "no_pdp_context",
        /// The link layer discarded it unsent: it had waited too long, or was larger than a TTI or than PDCP takes.
        SduDiscarded = "sdu_discarded",
        /// Its UE had left the cell, which did not forward it.
        CellChanged = "cell_changed",
        /// A policer dropped it: it was above the rate.
        Policed = "policed",
        /// PDCP of a split bearer had passed it over when it arrived: t-Reordering had expired.
        PassedOver = "passed_over",
        /// Its checksum was wrong: a bit had been flipped in transit.
        Corrupted = "corrupted",
    }

    /// Activity of a UE: its DRX and RRC state.
    Activity {
        /// It can send and receive at once.
        Active = "active",
        /// It is connected and listens for a part of each DRX cycle.
        Drx = "drx",
        /// It is in CELL_FACH, on a slow channel that UEs share.
        Shared = "shared",
        /// It is in RRC INACTIVE.
        Inactive = "inactive",
        /// It is in RRC IDLE.
        Idle = "idle",
        /// It changes to a channel: signalling is exchanged, data waits.
        Promotion = "promotion",
    }

    /// State of a video player.
    PlayerState {
        /// Playing has not started: there is not enough in the buffer.
        Starting = "starting",
        /// It plays.
        Playing = "playing",
        /// The buffer ran empty, and there is not enough in it to resume.
        Stalled = "stalled",
    }

    /// Why a segment was sent.
    SendCause {
        /// Connection set-up.
        Handshake = "handshake",
        /// Data never sent before.
        New = "new",
        /// One byte beyond a closed window, RFC 9293 (3.8.6.1).
        WindowProbe = "window_probe",
        /// New data on one of the first duplicate ACKs, RFC 3042.
        LimitedTransmit = "limited_transmit",
        /// Three duplicate ACKs.
        FastRetransmit = "fast_retransmit",
        /// A partial ACK during recovery, RFC 6582.
        PartialAck = "partial_ack",
        /// The SACK scoreboard names it, RFC 6675.
        Sack = "sack",
        /// The retransmission timer expired.
        Timeout = "timeout",
        /// Retransmitted after a timeout without knowing that it was lost.
        GoBackN = "go_back_n",
        /// Retransmitted for a reason known only to the sender: inferred from a capture.
        Retransmission = "retransmission",
        /// Retransmission of a SYN or SYN-ACK.
        HandshakeTimeout = "handshake_timeout",
        /// A duplicate ACK said that the radio had lost it: \[jayanathan\].
        WirelessFastRetransmit = "wireless_fast_retransmit",
        /// Retransmission of the last segment because ACKs are overdue: RFC 8985 (7).
        TailLossProbe = "tail_loss_probe",
    }

    /// State of a congestion control that models the path.
    ModelState {
        /// It does not model the path.
        None = "none",
        /// Doubles its rate each round.
        Startup = "startup",
        /// Takes away the queue that this made.
        Drain = "drain",
        /// Sends below the bandwidth.
        ProbeBwDown = "probe_bw_down",
        /// Sends at the bandwidth.
        ProbeBwCruise = "probe_bw_cruise",
        /// Fills the pipe without a queue.
        ProbeBwRefill = "probe_bw_refill",
        /// Sends above the bandwidth.
        ProbeBwUp = "probe_bw_up",
        /// Reduces the data in flight to measure the minimum RTT.
        ProbeRtt = "probe_rtt",
        /// Keeps a few segments queued: only Copa.
        FewWait = "few_wait",
        /// Takes its share from others that fill the buffer: Copa.
        Competes = "competes",
    }

    /// Action of a snoop box.
    SnoopAction {
        /// Kept a packet.
        Cached = "cached",
        /// Released packets: acknowledged, or dropped by the buffer after the box.
        Freed = "freed",
        /// Retransmitted a packet because of a duplicate ACK or a SACK block.
        DupackRetransmission = "dupack_retransmission",
        /// Retransmitted a packet because no ACK arrived.
        TimerRetransmission = "timer_retransmission",
        /// Kept a duplicate ACK from the sender.
        DupackSuppressed = "dupack_suppressed",
        /// Replied to the sender on behalf of the UE.
        Answered = "answered",
        /// Reported radio losses of its data to the UE.
        Nack = "nack",
    }

    /// Why a UE that measures changes its cell.
    Cause {
        /// A neighbour was better than the serving cell for long enough (event A3): the UE reports it.
        A3 = "a3",
        /// The radio link failed: the UE re-establishes it.
        Failure = "failure",
    }

    /// How far an outage of a UE has come.
    Outage {
        /// The UE knows that it will begin.
        Expected = "expected",
        /// No packet reaches the UE or comes from it.
        Began = "began",
        /// The UE can be reached again.
        Ended = "ended",
    }
}
