//! Every observable fact of a run, as one list of events.
//!
//! A [`Recorder`] keeps the events whose [`Kind`] was selected; a probe that is switched off costs
//! one branch on a bit mask. Times are in nanoseconds, lengths in bytes; the `tcpi_*` fields carry
//! the names and units of Linux's `struct tcp_info` (times in microseconds, windows in segments).

mod chunk;
mod columns;
mod fates;

pub use chunk::{Chunk, Values};
pub use columns::{Column, Table};
pub use fates::Fates;

use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::time::Instant;

/// A value on its way into a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count, a length, a time or a sequence number.
    Number(u64),
    /// One of a fixed set of words.
    Word(&'static str),
}

/// What a column holds: numbers, or words of a list, each as its place there.
trait Field: Copy {
    /// The words; none for numbers.
    const WORDS: &'static [&'static str] = &[];

    /// The number, or the word's place.
    fn number(self) -> u64;

    fn value(self) -> Value {
        let number = self.number();
        Self::WORDS.get(number as usize).map_or(Value::Number(number), |word| Value::Word(word))
    }
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Field for $ty {
            #[inline]
            fn number(self) -> u64 {
                u64::from(self)
            }
        }
    )*};
}
numbers!(u16, u32, u64, bool);

impl Field for Dir {
    const WORDS: &'static [&'static str] = &[Self::Downlink.name(), Self::Uplink.name()];

    #[inline]
    fn number(self) -> u64 {
        self as u64
    }
}

macro_rules! words_of {
    ($name:ident: $ty:ty) => {
        <$ty as Field>::WORDS
    };
}

/// Declares words that appear in results and columns.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant,)* }

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

            #[inline]
            fn number(self) -> u64 {
                self as u64
            }
        }
    };
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
        /// The link layer gave up after its maximum number of transmissions.
        MaxTransmissions = "max_transmissions",
        /// A box repairs the loss that the duplicate ACK reports.
        DupackSuppressed = "dupack_suppressed",
        /// A box has passed a newer ACK on already.
        StaleAck = "stale_ack",
        /// A box answered for the UE, which has acknowledged it.
        AlreadyAcknowledged = "already_acknowledged",
        /// A newer ACK took its place in a box.
        AckFiltered = "ack_filtered",
        /// A probe of a closed window, which a box has answered in place of the receiver.
        ProbeAnswered = "probe_answered",
        /// Addressed to a UE that the cell does not have.
        UnknownUe = "unknown_ue",
        /// Addressed to a flow that the host does not have.
        UnknownFlow = "unknown_flow",
        /// Its UE has no active PDP context: the core network knows no tunnel for it.
        NoPdpContext = "no_pdp_context",
        /// The link layer discarded it unsent: it had waited too long, or was larger than a TTI.
        SduDiscarded = "sdu_discarded",
    }
}

words! {
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
        /// Sent again after a timeout without knowing that it was lost.
        GoBackN = "go_back_n",
        /// Sent again, the reason being known to the sender alone: seen from outside.
        Retransmission = "retransmission",
        /// The same SYN or SYN-ACK again.
        HandshakeTimeout = "handshake_timeout",
        /// A duplicate ACK said that the radio had lost it: \[jayanathan\].
        WirelessFastRetransmit = "wireless_fast_retransmit",
        /// The last segment again, as ACKs stay away: RFC 8985 (7).
        TailLossProbe = "tail_loss_probe",
    }
}

words! {
    /// What a congestion control that models the path is doing.
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
        /// Leaves little in flight, to see the shortest round-trip time.
        ProbeRtt = "probe_rtt",
        /// Keeps a few segments waiting: Copa alone.
        FewWait = "few_wait",
        /// Takes its share from others that fill the buffer: Copa.
        Competes = "competes",
    }
}

words! {
    /// What a snoop box did.
    SnoopAction {
        /// Kept a packet.
        Cached = "cached",
        /// Let packets go: acknowledged, or dropped by the buffer behind the box.
        Freed = "freed",
        /// Sent a packet again for a duplicate ACK, or a SACK block.
        DupackRetransmission = "dupack_retransmission",
        /// Sent a packet again because no ACK came.
        TimerRetransmission = "timer_retransmission",
        /// Kept a duplicate ACK from the sender.
        DupackSuppressed = "dupack_suppressed",
        /// Answered the sender for the UE.
        Answered = "answered",
        /// Told the UE what the radio has lost of its data.
        Nack = "nack",
    }
}

words! {
    /// How far an outage of a UE has come.
    Outage {
        /// The UE knows that it will begin.
        Expected = "expected",
        /// Nothing reaches the UE, or comes from it.
        Began = "began",
        /// The UE can be reached again.
        Ended = "ended",
    }
}

/// What the columns say that tell whose an event is.
macro_rules! whose {
    (ue) => {
        "Number of the UE."
    };
    (flow) => {
        "Number of the flow at its UE."
    };
}

/// Declares events: of a UE or of one of its flows, and with which columns beyond.
macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $kind:literal of $($id:ident)+ {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty,)*
    })*) => {
        /// Every observable fact.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Event {
            $($(#[$doc])* $variant {
                $(#[doc = whose!($id)] $id: u16,)+
                $($(#[$field_doc])* $field: $ty,)*
            },)*
        }

        /// The kinds of event: what a probe selects.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $variant,)* }

        impl Kind {
            /// All kinds, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Name of the probe, and of its table in a trace.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $kind,)* }
            }

            /// Names of the event's columns, in order.
            pub const fn columns(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$(stringify!($id),)+ $(stringify!($field),)*],)* }
            }

            /// The words of each of these columns; none of one with numbers.
            const fn words(self) -> &'static [&'static [&'static str]] {
                match self { $(Self::$variant => &[$(words_of!($id: u16),)+ $(words_of!($field: $ty),)*],)* }
            }
        }

        impl Event {
            /// What kind of event this is.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$variant { .. } => Kind::$variant,)* }
            }

            /// Calls `each` with the value of every column, in the order of [`Kind::columns`].
            pub fn values(&self, mut each: impl FnMut(Value)) {
                match *self {
                    $(Self::$variant { $($id,)+ $($field,)* } => {
                        $(each($id.value());)+
                        $(each($field.value());)*
                    })*
                }
            }

            /// Appends a row of numbers: when it was, and every column.
            fn append(&self, at: Instant, rows: &mut Vec<u64>) {
                match *self {
                    $(Self::$variant { $($id,)+ $($field,)* } => rows.extend_from_slice(&[
                        at.as_nanos(), $($id.number(),)+ $($field.number(),)*
                    ]),)*
                }
            }
        }
    };
}

events! {
    /// State of a TCP sender after it handled an ACK or a timeout.
    TcpState = "tcp_state" of ue flow {
        /// Congestion window, segments.
        tcpi_snd_cwnd: u32,
        /// Slow start threshold, segments; 2147483647 while unlimited.
        tcpi_snd_ssthresh: u32,
        /// Segments in flight.
        tcpi_unacked: u32,
        /// What the sender may have in flight: the smaller of congestion and receive window, segments.
        send_window: u32,
        /// Smoothed round-trip time, microseconds.
        tcpi_rtt: u32,
        /// Round-trip time variation, microseconds.
        tcpi_rttvar: u32,
        /// Retransmission timeout, microseconds.
        tcpi_rto: u32,
        /// 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
        tcpi_ca_state: u32,
        /// Oldest unacknowledged byte.
        snd_una: u64,
    }
    /// A TCP sender took a round-trip time sample.
    RttSample = "rtt_sample" of ue flow {
        /// The sample, microseconds.
        rtt_us: u32,
    }
    /// A TCP sender sent a segment with data.
    SegmentSent = "segment_sent" of ue flow {
        /// Offset of the first byte in the stream.
        seq: u64,
        /// Payload, bytes.
        payload_bytes: u32,
        /// Why it was sent.
        cause: SendCause,
    }
    /// How a TCP sender paces, and the path as its congestion control sees it, after an ACK or a timeout. Only of senders
    /// that pace.
    TcpPath = "tcp_path" of ue flow {
        /// What the congestion control is doing.
        state: ModelState,
        /// Rate at which segments leave, bit/s of payload; 0 while they are not held.
        pacing_bps: u64,
        /// Estimated bandwidth of the bottleneck, bit/s of payload; 0 without a model.
        bandwidth_bps: u64,
        /// Shortest round-trip time of late, microseconds; 0 without one.
        min_rtt_us: u32,
        /// Upper limit of what is to be in flight that losses have shown, bytes; 0 without one.
        inflight_limit_bytes: u64,
        /// Part of the window that allows for ACKs in bunches, bytes.
        extra_acked_bytes: u64,
    }
    /// A TCP receiver got a segment with data.
    SegmentReceived = "segment_received" of ue flow {
        /// Offset of the first byte in the stream.
        seq: u64,
        /// Payload, bytes.
        payload_bytes: u32,
        /// Next byte expected after this segment.
        rcv_nxt: u64,
    }
    /// A bearer's buffer took a packet in.
    BearerEnqueued = "bearer_enqueued" of ue flow {
        /// Direction of the bearer.
        direction: Dir,
        /// Length of the packet, bytes.
        len_bytes: u32,
        /// Packets in the buffer, this one and the one in transmission included.
        queued_sdus: u32,
        /// Bytes in the buffer likewise.
        queued_bytes: u32,
    }
    /// A packet left a bearer's buffer: its last octet was sent or, with a link layer, it arrived.
    BearerDelivered = "bearer_delivered" of ue flow {
        /// Direction of the bearer.
        direction: Dir,
        /// Length of the packet, bytes.
        len_bytes: u32,
        /// From entering the buffer to arrival at the other side, nanoseconds.
        delay_ns: u64,
    }
    /// A slot or TTI of a bearer ended in which its link layer sent PDUs. Where there are none, packets being sent whole,
    /// by opportunities or in physical-layer packets, nothing of this is told.
    SlotEnded = "slot_ended" of ue {
        /// Direction of the bearer.
        direction: Dir,
        /// PDUs sent.
        pdus_sent: u32,
        /// PDUs that the channel destroyed.
        pdus_lost: u32,
    }
    /// A block goes on the air in a slot of a shared downlink, for the first time or again. In NR this is told when the slot
    /// is decided on, `radio.nr.lead` before it.
    BlockSent = "block_sent" of ue {
        /// HARQ process that it belongs to.
        process: u16,
        /// Which transmission of the block it is, from 1.
        transmission: u16,
        /// Row of the CQI table; in NR the MCS, and 32 for each layer beyond the first.
        cqi: u16,
        /// Codes or resource blocks that it takes.
        units: u32,
        /// Size, bits.
        bits: u32,
        /// Signal-to-interference-and-noise ratio of this transmission at the UE, as a ratio times 1000.
        sinr_thousandths: u64,
        /// Whether the UE could not decode it, with what it has of it from before.
        lost: bool,
    }
    /// RLC data PDUs with adjacent sequence numbers went on the air together and share their fate.
    RlcData = "rlc_data" of ue {
        /// Direction of the bearer.
        direction: Dir,
        /// Sequence number of the first, modulo 4096.
        first_sn: u32,
        /// How many.
        pdus: u32,
        /// Whether each of them polls.
        poll: bool,
        /// Whether the channel destroyed them.
        lost: bool,
    }
    /// The end of an SDU went on the air for the first time: all of its PDUs were sent. Told by link layers with sequence
    /// numbers: `am`, `um` and `tm`.
    RlcSdu = "rlc_sdu" of ue flow {
        /// Direction of the bearer.
        direction: Dir,
        /// Number of the SDU in its bearer, from 0: that of its row among those of `bearer_enqueued`.
        sdu: u64,
        /// Sequence number of the PDU with its first octet, as in `rlc_data`.
        first_sn: u32,
        /// PDUs from that one to the one that tells its end.
        pdus: u32,
    }
    /// An RLC STATUS PDU went on the air.
    RlcStatus = "rlc_status" of ue {
        /// Direction in which it went, opposite to that of the data on which it reports.
        direction: Dir,
        /// What its ACK super-field says, modulo 4096: everything below has arrived, except what is missing.
        lsn: u32,
        /// PDUs that it reports missing.
        missing_pdus: u32,
        /// Whether the channel destroyed it.
        lost: bool,
    }
    /// The link layer is done with a packet at its sender: it is acknowledged, or given up.
    RlcConfirmed = "rlc_confirmed" of ue flow {
        /// Direction of the bearer.
        direction: Dir,
        /// Length of the packet, bytes.
        len_bytes: u32,
        /// Packets left in the buffer.
        queued_sdus: u32,
    }
    /// Something has changed at a box that holds ACKs back until there is room for what they bring.
    AckRegulator = "ack_regulator" of ue flow {
        /// Segments held.
        held_acks: u32,
        /// Their bytes.
        held_bytes: u32,
        /// Packets that the source is expected to send for the ACKs released.
        ack_release_count: u32,
        /// Whether there is room for one packet more.
        conservative: bool,
        /// The source's window as the box sees it, segments.
        window_segments: u32,
    }
    /// Something has changed at a box that spaces a bearer's ACKs by the occupancy of its buffer.
    AckRateControl = "ack_rate_control" of ue {
        /// Segments held.
        held_acks: u32,
        /// Their bytes.
        held_bytes: u32,
        /// SDUs in the buffer of the data, as the box counts them.
        occupancy_sdus: u32,
        /// Time between two ACKs at this occupancy, microseconds.
        t_id_us: u64,
        /// Whether it is that after a drop.
        after_drop: bool,
    }
    /// The table of a box that gives feedback on radio losses has changed, or it has flagged an ACK.
    RncFeedback = "rnc_feedback" of ue flow {
        /// Segments of the flow in the table.
        cached_segments: u32,
        /// Whether this is an ACK with the flag.
        flagged: bool,
    }
    /// A snoop box did something.
    Snoop = "snoop" of ue flow {
        /// What it did.
        action: SnoopAction,
        /// Packets of the flow in the cache.
        cached_packets: u32,
    }
    /// A hand-over: the outage of a UE is expected, begins or ends.
    Outage = "outage" of ue {
        /// How far it has come.
        phase: Outage,
    }
    /// A packet arrived at an element of the path, from the one before it.
    Packet = "packet" of ue flow {
        /// Direction of the packet.
        direction: Dir,
        /// Position of the element on the path, counted from the server.
        element: u16,
        /// Sequence number in its header; of a simulated datagram, its number.
        seq: u32,
        /// Acknowledgment number in its header; 0 without one.
        ack: u32,
        /// Length of the packet, bytes.
        len_bytes: u32,
        /// Bits of the TCP header, FIN the lowest; 0 of what is not TCP.
        flags: u16,
    }
    /// A packet was dropped.
    Dropped = "dropped" of ue flow {
        /// Direction of the packet.
        direction: Dir,
        /// Position of the element on the path, counted from the server.
        element: u16,
        /// Sequence number in its header; of a simulated datagram, its number.
        seq: u32,
        /// Length of the packet, bytes.
        len_bytes: u32,
        /// Why.
        reason: Reason,
    }
    /// A queue discipline marked a packet: it has met congestion, RFC 3168.
    Marked = "marked" of ue flow {
        /// Direction of the packet.
        direction: Dir,
        /// Position of the element on the path, counted from the server.
        element: u16,
        /// Sequence number in its header; of a simulated datagram, its number.
        seq: u32,
        /// Length of the packet, bytes.
        len_bytes: u32,
        /// How long it has waited in the buffer, nanoseconds; 0 of one that was marked as it came.
        sojourn_ns: u64,
    }
}

/// Which kinds of event are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ProbeMask(u32);

impl ProbeMask {
    /// No probe on.
    pub const NONE: Self = Self(0);
    /// Every probe on.
    pub const ALL: Self = Self(u32::MAX);

    /// Also selects the kinds of these names.
    ///
    /// # Errors
    /// If there is no kind of a name.
    pub fn with_named(self, names: &[&str]) -> Result<Self, ScenarioError> {
        names.iter().try_fold(self, |mask, name| {
            let kind = Kind::ALL.iter().find(|kind| kind.name() == *name).ok_or_else(|| {
                let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                let known = format!("known: {}", known.join(", "));
                ScenarioError::new("probes", format!("there is no probe {name}"), known)
            })?;
            Ok(mask.with(*kind))
        })
    }

    /// Also selects `kind`.
    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether `kind` is selected.
    #[inline]
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether one of these is selected.
    #[inline]
    pub const fn has_any(self, kinds: Self) -> bool {
        self.0 & kinds.0 != 0
    }
}

/// Keeps the selected events in the order in which they happened.
#[derive(Debug, Default)]
pub struct Recorder {
    /// What is kept.
    pub mask: ProbeMask,
    events: Vec<(Instant, Event)>,
}

impl Recorder {
    /// A recorder of the selected kinds.
    pub fn new(mask: ProbeMask) -> Self {
        Self { mask, events: Vec::new() }
    }

    /// Keeps an event; the caller has asked the mask.
    #[inline]
    pub fn push(&mut self, at: Instant, event: Event) {
        self.events.push((at, event));
    }

    /// How many events are kept.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// What was kept since the last call.
    pub fn take(&mut self) -> Vec<(Instant, Event)> {
        // About as many will come until the next time.
        let room = Vec::with_capacity(self.events.len());
        std::mem::replace(&mut self.events, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_fits_the_mask_and_values_match_columns() {
        assert!(Kind::ALL.len() <= 32);
        let (direction, reason) = (Dir::Uplink, Reason::QueueFull);
        let event = Event::Dropped { ue: 1, flow: 2, direction, element: 3, seq: 4, len_bytes: 40, reason };
        let mut values = Vec::new();
        event.values(|value| values.push(value));
        assert_eq!(values.len(), event.kind().columns().len());
        assert_eq!(values[6], Value::Word("queue_full"));
    }

    #[test]
    fn a_mask_selects_what_it_was_given() {
        let mask = ProbeMask::NONE.with(Kind::Dropped);
        assert!(mask.has(Kind::Dropped) && !mask.has(Kind::TcpState));
    }
}
