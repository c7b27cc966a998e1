//! The single schema of events: kinds, columns, units, meanings, and storage in files.
//!
//! Columns, Python's readers, the studio's decoders and the reference are made from it: [`schema`] has it as JSON.

use super::field::{Field, Value};
use super::words::{Activity, Cause, ModelState, Outage, PlayerState, Reason, SendCause, SnoopAction};
use crate::packet::Dir;
use crate::time::Instant;
use serde::Serialize;
use serde_json::json;

/// How a column of numbers is stored, depending on the values expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// Any numbers.
    Plain,
    /// Few different numbers, which are stored as words are: as codes.
    Few,
    /// Numbers that count up, which are stored as differences.
    Counting,
}

/// A column of a kind of event.
#[derive(Clone, Copy, Debug)]
pub struct ColumnInfo {
    /// Its name.
    pub name: &'static str,
    /// Unit of its numbers; empty without one.
    pub unit: &'static str,
    /// Meaning of the column.
    pub meaning: &'static str,
    /// How its numbers are stored.
    pub store: Store,
    /// Whether its numbers are 1 for yes and 0 for no.
    pub is_flag: bool,
    /// Words that the numbers represent; empty for a column of numbers.
    pub words: &'static [&'static str],
    /// Meaning of each word.
    pub word_meanings: &'static [&'static str],
}

/// A kind of event.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// Name of its probe, and of its table.
    pub name: &'static str,
    /// Meaning of the event.
    pub meaning: &'static str,
    /// Its columns, the time left out.
    pub columns: &'static [ColumnInfo],
}

/// Type of a column that identifies the subject of an event.
macro_rules! id_type {
    (packet) => {
        u32
    };
    (bearer) => {
        u32
    };
    (slot) => {
        u64
    };
    ($other:ident) => {
        u16
    };
}

/// Meaning of such a column.
macro_rules! id_meaning {
    (ue) => {
        "Number of the UE."
    };
    (flow) => {
        "Number of the flow at its UE."
    };
    (packet) => {
        "Number of the packet in the run, from 1; a copy has a number of its own."
    };
    (bearer) => {
        "Number of the bearer, as in the table of bearers; of a STATUS PDU, of the bearer on whose data it reports."
    };
    (slot) => {
        "Number of the slot of the cell, from 0."
    };
    (element) => {
        "Number of the node, as in the table of nodes: on a line its position, counted from the server."
    };
}

/// How such a column is stored.
macro_rules! id_store {
    (packet) => {
        Store::Counting
    };
    (slot) => {
        Store::Counting
    };
    ($other:ident) => {
        Store::Few
    };
}

macro_rules! store {
    () => {
        Store::Plain
    };
    (few) => {
        Store::Few
    };
    (counting) => {
        Store::Counting
    };
}

/// The columns of a kind.
macro_rules! columns {
    ($($id:ident)+ { $([$($field_doc:literal)*] $field:ident: $ty:ty [$unit:literal $($store:ident)?],)* }) => {
        &[
            $(ColumnInfo {
                name: stringify!($id), unit: "", meaning: id_meaning!($id), store: id_store!($id),
                is_flag: false, words: &[], word_meanings: &[],
            },)+
            $(ColumnInfo {
                name: stringify!($field), unit: $unit, meaning: concat!($($field_doc),*), store: store!($($store)?),
                is_flag: <$ty as Field>::IS_FLAG,
                words: <$ty as Field>::WORDS, word_meanings: <$ty as Field>::MEANINGS,
            },)*
        ]
    };
}

/// Declares events: whose they are, and with which columns beyond, each with its unit and how it is stored.
macro_rules! events {
    ($($(#[doc = $doc:literal])* $variant:ident = $kind:literal of $($id:ident)+ {
        $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty [$unit:literal $($store:ident)?],)*
    })*) => {
        /// Every observable fact.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Event {
            $($(#[doc = $doc])* $variant {
                $(#[doc = id_meaning!($id)] $id: id_type!($id),)+
                $($(#[doc = $field_doc])* $field: $ty,)*
            },)*
        }

        /// The kinds of event, which probes select.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind { $($(#[doc = $doc])* $variant,)* }

        /// All kinds, in order of declaration.
        const KINDS: &[KindInfo] = &[$(KindInfo {
            name: $kind, meaning: concat!($($doc),*),
            columns: columns!($($id)+ { $([$($field_doc)*] $field: $ty [$unit $($store)?],)* }),
        },)*];

        impl Kind {
            /// All kinds, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }

        impl Event {
            /// Kind of this event.
            pub const fn kind(&self) -> Kind {
                match self { $(Self::$variant { .. } => Kind::$variant,)* }
            }

            /// Calls `each` with the value of every column, in the order of [`KindInfo::columns`].
            pub fn values(&self, mut each: impl FnMut(Value)) {
                match *self {
                    $(Self::$variant { $($id,)+ $($field,)* } => {
                        $(each($id.value());)+
                        $(each($field.value());)*
                    })*
                }
            }

            /// Appends a row of numbers: when it was, and every column.
            pub(super) fn append(&self, at: Instant, rows: &mut Vec<u64>) {
                match *self {
                    $(Self::$variant { $($id,)+ $($field,)* } => rows.extend_from_slice(&[
                        at.as_nanos(), $($id.number(),)+ $($field.number(),)*
                    ]),)*
                }
            }
        }
    };
}

impl Kind {
    /// Properties of the kind.
    pub const fn info(self) -> &'static KindInfo {
        &KINDS[self as usize]
    }

    /// Name of the probe, and of its table in a trace.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Its columns, in order.
    pub const fn columns(self) -> &'static [ColumnInfo] {
        self.info().columns
    }
}

/// How the numbers of columns of this name are stored.
pub(super) fn is_counting(name: &str) -> bool {
    KINDS
        .iter()
        .flat_map(|kind| kind.columns)
        .any(|column| column.name == name && column.store == Store::Counting)
}

/// The schema as JSON: each kind with its meaning and columns, in order.
pub fn schema() -> serde_json::Value {
    // Comments escape brackets that are no links.
    let plain = |meaning: &str| meaning.trim().replace("\\[", "[").replace("\\]", "]");
    let column = |column: &ColumnInfo| {
        let words: Vec<_> = column.words.iter().zip(column.word_meanings).collect();
        let words: Vec<_> =
            words.iter().map(|(word, means)| json!({ "word": word, "meaning": plain(means) })).collect();
        json!({
            "name": column.name, "unit": column.unit, "meaning": plain(column.meaning), "store": column.store,
            "is_flag": column.is_flag, "words": words,
        })
    };
    let kind = |kind: &KindInfo| {
        let columns: Vec<_> = kind.columns.iter().map(column).collect();
        json!({ "name": kind.name, "meaning": plain(kind.meaning), "columns": columns })
    };
    KINDS.iter().map(kind).collect()
}

events! {
    /// State of a TCP sender after it handled an ACK or a timeout.
    TcpState = "tcp_state" of ue flow {
        /// Congestion window, segments.
        tcpi_snd_cwnd: u32 ["segment"],
        /// Slow start threshold, segments; 2147483647 while unlimited.
        tcpi_snd_ssthresh: u32 ["segment"],
        /// Segments in flight.
        tcpi_unacked: u32 ["segment"],
        /// Send window of the sender: the smaller of congestion and receive window, segments.
        send_window: u32 ["segment"],
        /// Smoothed round-trip time, microseconds.
        tcpi_rtt: u32 ["us"],
        /// Round-trip time variation, microseconds.
        tcpi_rttvar: u32 ["us"],
        /// Retransmission timeout, microseconds.
        tcpi_rto: u32 ["us"],
        /// 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
        tcpi_ca_state: u32 ["" few],
        /// Oldest unacknowledged byte.
        snd_una: u64 ["B" counting],
    }
    /// A TCP sender took a round-trip time sample.
    RttSample = "rtt_sample" of ue flow {
        /// The sample, microseconds.
        rtt_us: u32 ["us"],
    }
    /// A TCP sender sent a segment with data.
    SegmentSent = "segment_sent" of ue flow packet {
        /// Offset of the first byte in the stream.
        seq: u64 ["B" counting],
        /// Payload, bytes.
        payload_bytes: u32 ["B" few],
        /// Why it was sent.
        cause: SendCause [""],
    }
    /// A TCP sender got an ACK of something that it has sent.
    AckReceived = "ack_received" of ue flow packet {
        /// Its acknowledgment number as an offset in the stream: everything before this byte has arrived.
        acked: u64 ["B" counting],
        /// Whether it counts as a duplicate ACK, RFC 5681 (2).
        duplicate: bool ["" few],
    }
    /// A SACK block of an ACK that a TCP sender got, RFC 2018; the packet is that ACK.
    SackBlock = "sack_block" of ue flow packet {
        /// First byte of the block. A first block below the acknowledgment number reports bytes received twice, RFC
        /// 2883.
        left: u64 ["B" counting],
        /// End of the block: the byte after its last.
        right: u64 ["B" counting],
    }
    /// How a TCP sender paces, and the path as its congestion control sees it, after an ACK or a timeout. Only of senders
    /// that pace.
    TcpPath = "tcp_path" of ue flow {
        /// State of the congestion control.
        state: ModelState [""],
        /// Pacing rate, bit/s of payload; 0 without pacing.
        pacing_bps: u64 ["bit/s"],
        /// Estimated bandwidth of the bottleneck, bit/s of payload; 0 without a model.
        bandwidth_bps: u64 ["bit/s"],
        /// Recent minimum RTT, microseconds; 0 without one.
        min_rtt_us: u32 ["us"],
        /// Upper limit of the data in flight, inferred from losses, bytes; 0 without one.
        inflight_limit_bytes: u64 ["B"],
        /// Part of the window that allows for ACKs in bunches, bytes.
        extra_acked_bytes: u64 ["B"],
    }
    /// A TCP receiver got a segment with data.
    SegmentReceived = "segment_received" of ue flow packet {
        /// Offset of the first byte in the stream.
        seq: u64 ["B" counting],
        /// Payload, bytes.
        payload_bytes: u32 ["B" few],
        /// Next byte expected after this segment.
        rcv_nxt: u64 ["B" counting],
    }
    /// The receiver of a call could decode a video frame: the frame and all frames that it needs were complete. A frame that
    /// was skipped for a later key frame has no event.
    VideoFrame = "video_frame" of ue flow {
        /// Direction of the media.
        direction: Dir [""],
        /// Number of the frame, from 0.
        frame: u32 ["" counting],
        /// Its packets, bytes.
        len_bytes: u32 ["B" few],
        /// Whether it is a key frame.
        key: bool ["" few],
        /// Time from its capture until it could be decoded, nanoseconds.
        delay_ns: u64 ["ns"],
        /// Time from its capture until it was rendered, nanoseconds.
        playout_delay_ns: u64 ["ns"],
        /// Time since the frame before was rendered, if that was a freeze, nanoseconds; 0 otherwise.
        freeze_ns: u64 ["ns"],
    }
    /// A video player got a segment.
    VideoSegment = "video_segment" of ue flow {
        /// Number of the segment, from 0.
        segment: u32 ["" counting],
        /// Rate of its level, bit/s.
        rate_bps: u64 ["bit/s" few],
        /// Time since it was requested, nanoseconds.
        download_ns: u64 ["ns"],
        /// Playing time in the buffer, this segment included, nanoseconds.
        buffer_ns: u64 ["ns"],
        /// Time for which the player was stalled since the segment before, nanoseconds; the stall lasted until now.
        stalled_ns: u64 ["ns"],
        /// State of the player with this segment.
        player: PlayerState [""],
    }
    /// A bearer's buffer took a packet in.
    BearerEnqueued = "bearer_enqueued" of ue flow bearer packet {
        /// Direction of the bearer.
        direction: Dir [""],
        /// Length of the packet, bytes.
        len_bytes: u32 ["B" few],
        /// Packets in the buffer, this one and the one in transmission included; in acknowledged mode also those transmitted that
        /// the receiver has not confirmed.
        queued_sdus: u32 ["SDU"],
        /// Bytes in the buffer, those of this packet and of the one in transmission included.
        queued_bytes: u32 ["B"],
    }
    /// A packet left a bearer's buffer: its last octet was sent or, with a link layer, it arrived.
    BearerDelivered = "bearer_delivered" of ue flow bearer packet {
        /// Direction of the bearer.
        direction: Dir [""],
        /// Length of the packet, bytes.
        len_bytes: u32 ["B" few],
        /// Time from entering the buffer to arrival at the other side, nanoseconds.
        delay_ns: u64 ["ns"],
    }
    /// A slot or TTI of a bearer ended in which its link layer sent PDUs. Not recorded if the bearer has no PDUs,
    /// because it sends packets whole, by opportunities or in physical-layer packets.
    SlotEnded = "slot_ended" of ue bearer {
        /// Direction of the bearer.
        direction: Dir [""],
        /// PDUs sent.
        pdus_sent: u32 ["PDU"],
        /// PDUs that the channel destroyed.
        pdus_lost: u32 ["PDU"],
    }
    /// A block is transmitted in a slot of a shared downlink, for the first time or as a retransmission. In NR the
    /// event is recorded when the slot is decided on, `radio.nr.lead` before it.
    BlockSent = "block_sent" of ue bearer slot {
        /// HARQ process that it belongs to.
        process: u16 ["" few],
        /// Index of the transmission of the block, from 1.
        transmission: u16 ["" few],
        /// Row of the CQI table, in NR the MCS; and 32 for each layer beyond the first.
        cqi: u16 ["" few],
        /// Codes or resource blocks that it takes.
        units: u32 ["" few],
        /// Size, bits.
        bits: u32 ["bit" few],
        /// Signal-to-interference-and-noise ratio of this transmission at the UE, as a ratio times 1000.
        sinr_thousandths: u64 [""],
        /// Whether the UE could not decode it, combined with earlier transmissions.
        lost: bool ["" few],
    }
    /// A block is transmitted in a slot of an uplink that the network schedules, for the first time or again.
    UplinkBlock = "uplink_block" of ue bearer slot {
        /// HARQ process that it belongs to.
        process: u16 ["" few],
        /// Which transmission of the block it is, from 1.
        transmission: u16 ["" few],
        /// Row of the table of formats; in NR the MCS, and 32 for each layer beyond the first.
        cqi: u16 ["" few],
        /// Codes or resource blocks that it takes.
        units: u32 ["" few],
        /// Size, bits.
        bits: u32 ["bit" few],
        /// Signal-to-interference-and-noise ratio of each of its units at the network, as a ratio times 1000.
        sinr_thousandths: u64 [""],
        /// Whether the network could not decode it, with what it has of it from before.
        lost: bool ["" few],
    }
    /// RLC data PDUs with adjacent sequence numbers, transmitted together and either all received or all lost.
    RlcData = "rlc_data" of ue bearer {
        /// Direction of the bearer.
        direction: Dir [""],
        /// Sequence number of the first, without the modulo of the transmitted number (`sequence_numbers` of the
        /// bearer's table). After a RESET or a re-establishment, numbering continues at the next multiple of that.
        first_sn: u64 ["" counting],
        /// Number of PDUs.
        pdus: u32 ["PDU" few],
        /// Whether each of them polls.
        poll: bool ["" few],
        /// Whether the channel destroyed them.
        lost: bool ["" few],
    }
    /// The end of an SDU was transmitted for the first time: all of its PDUs were sent. Recorded by link layers with
    /// sequence numbers: `am`, `um` and `tm`.
    RlcSdu = "rlc_sdu" of ue flow bearer packet {
        /// Direction of the bearer.
        direction: Dir [""],
        /// Index of the SDU in its bearer, from 0: the index of its row of `bearer_enqueued`.
        sdu: u64 ["" counting],
        /// Sequence number of the PDU with its first octet, as in `rlc_data`.
        first_sn: u64 ["" counting],
        /// Number of PDUs from that one to the one that indicates its end.
        pdus: u32 ["PDU" few],
    }
    /// An RLC STATUS PDU was transmitted.
    RlcStatus = "rlc_status" of ue bearer {
        /// Direction of the STATUS PDU, opposite to the data that it reports on.
        direction: Dir [""],
        /// ACK_SN of the STATUS, counted like `first_sn` of `rlc_data`: all PDUs below it have arrived, except those
        /// reported missing.
        lsn: u64 [""],
        /// PDUs that it reports missing.
        missing_pdus: u32 ["PDU"],
        /// Whether the channel destroyed it.
        lost: bool ["" few],
    }
    /// The link layer's sender has finished with a packet: it is acknowledged or discarded.
    RlcConfirmed = "rlc_confirmed" of ue flow bearer packet {
        /// Direction of the bearer.
        direction: Dir [""],
        /// Length of the packet, bytes.
        len_bytes: u32 ["B" few],
        /// Packets left in the buffer.
        queued_sdus: u32 ["SDU"],
    }
    /// PDCP of a split bearer delivered a packet that had arrived over one of the legs.
    PdcpDelivered = "pdcp_delivered" of ue flow packet {
        /// Direction of the packet.
        direction: Dir [""],
        /// Number of the interface whose leg it arrived over.
        leg: u16 ["" few],
        /// Its COUNT, from 0.
        count: u64 ["" counting],
        /// Time for which PDCP held it, since others were missing before it, nanoseconds.
        held_ns: u64 ["ns"],
    }
    /// The state of a box changed that holds ACKs until there is room for the packets they trigger.
    AckRegulator = "ack_regulator" of ue flow {
        /// Segments held.
        held_acks: u32 ["segment"],
        /// Their bytes.
        held_bytes: u32 ["B"],
        /// Packets that the source is expected to send for the ACKs released.
        ack_release_count: u32 ["segment"],
        /// Whether there is room for one packet more.
        conservative: bool ["" few],
        /// The source's window as the box sees it, segments.
        window_segments: u32 ["segment"],
    }
    /// Something has changed at a box that spaces a bearer's ACKs by the occupancy of its buffer.
    AckRateControl = "ack_rate_control" of ue {
        /// Segments held.
        held_acks: u32 ["segment"],
        /// Their bytes.
        held_bytes: u32 ["B"],
        /// SDUs in the buffer of the data, as the box counts them.
        occupancy_sdus: u32 ["SDU"],
        /// Time between two ACKs at this occupancy, microseconds.
        t_id_us: u64 ["us"],
        /// Whether it is that after a drop.
        after_drop: bool ["" few],
    }
    /// The table of a box that gives feedback on radio losses has changed, or it has flagged an ACK.
    RncFeedback = "rnc_feedback" of ue flow {
        /// Segments of the flow in the table.
        cached_segments: u32 ["segment"],
        /// Whether this is an ACK with the flag.
        flagged: bool ["" few],
    }
    /// A snoop box did something.
    Snoop = "snoop" of ue flow {
        /// Action of the box.
        action: SnoopAction [""],
        /// Packets of the flow in the cache.
        cached_packets: u32 ["packet"],
    }
    /// A hand-over: the outage of a UE is expected, begins or ends.
    Outage = "outage" of ue {
        /// Phase of the outage.
        phase: Outage [""],
    }
    /// A UE reported a neighbour, or its radio link failed; an outage follows. Only with `[mobility]`.
    Mobility = "mobility" of ue {
        /// Why the UE changes its cell.
        trigger: Cause [""],
        /// Number of the cell that serves it, from 0, in the order of the scenario.
        serving: u16 ["" few],
        /// Number of the target cell; after a failure it may be the serving cell.
        target: u16 ["" few],
        /// Filtered reference signal received power of the serving cell, thousandths of a dB below 1 mW.
        serving_loss: u32 ["0.001 dB"],
        /// Filtered reference signal received power of the target cell, thousandths of a dB below 1 mW.
        target_loss: u32 ["0.001 dB"],
    }
    /// Parameters of an element changed while it ran, or an outage came as a change.
    Change = "change" of element {
        /// Number of the change, from 0, as in `changes` of the results.
        change: u32 ["" few],
    }
    /// The DRX or RRC state of a UE changed; the first is at the start of the run. Only of cells with `activity`.
    Activity = "activity" of ue {
        /// The new state.
        ue_state: Activity [""],
    }
    /// A packet arrived at an element of the path from the previous one.
    Packet = "packet" of ue flow packet element {
        /// Direction of the packet.
        direction: Dir [""],
        /// Sequence number in its header; of a simulated datagram, its number.
        seq: u32 ["B" counting],
        /// Acknowledgment number in its header; 0 without one.
        ack: u32 ["B"],
        /// Length of the packet, bytes.
        len_bytes: u32 ["B" few],
        /// Bits of the TCP header, FIN the lowest; 0 for packets other than TCP.
        flags: u16 ["" few],
    }
    /// A box made a packet: a copy of another one, or a new one.
    Made = "made" of ue flow packet element {
        /// The packet that it is a copy of; 0 for a packet made by the box itself.
        copy_of: u32 [""],
    }
    /// A box absorbed a packet because it replies on behalf of the other side.
    Kept = "kept" of ue flow packet element {
        /// Direction of the packet.
        direction: Dir [""],
    }
    /// A packet was dropped.
    Dropped = "dropped" of ue flow packet element {
        /// Direction of the packet.
        direction: Dir [""],
        /// Sequence number in its header; of a simulated datagram, its number.
        seq: u32 ["B" counting],
        /// Length of the packet, bytes.
        len_bytes: u32 ["B" few],
        /// Why.
        reason: Reason [""],
    }
    /// A queue discipline marked a packet: it has met congestion, RFC 3168.
    Marked = "marked" of ue flow packet element {
        /// Direction of the packet.
        direction: Dir [""],
        /// Sequence number in its header; of a simulated datagram, its number.
        seq: u32 ["B" counting],
        /// Length of the packet, bytes.
        len_bytes: u32 ["B" few],
        /// Time that it has waited in the buffer, nanoseconds; 0 for a packet marked on arrival.
        sojourn_ns: u64 ["ns"],
    }
}
