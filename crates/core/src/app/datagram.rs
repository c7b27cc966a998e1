//! A packet of a flow without TCP.

use crate::packet::Packet;
use crate::time::Instant;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Kind {
    /// Anything: an application that sends packets of one kind.
    #[default]
    Plain = 0,
    /// Part of a video frame.
    Video = 1,
    /// Part of a video frame that was lost before.
    Retransmission = 2,
    /// Audio.
    Audio = 3,
    /// Nothing of use to the application: part of a probe.
    Padding = 4,
    /// A report or request of the receiver, in `octets`.
    Feedback = 5,
}

impl Kind {
    /// The kind of this number; that of no kind is [`Kind::Plain`].
    pub const fn of(number: u8) -> Self {
        match number {
            1 => Self::Video,
            2 => Self::Retransmission,
            3 => Self::Audio,
            4 => Self::Padding,
            5 => Self::Feedback,
            _ => Self::Plain,
        }
    }
}

/// A packet to be sent, or that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its number among the packets of its sender, from 0, feedback aside; an answer has that of its request.
    pub number: u32,
    /// Length of the IP packet, bytes.
    pub len: u32,
    /// When it was sent; of an answer, when its request was.
    pub stamp: Instant,
    /// ECN field of the IP header.
    pub ecn: u8,
    /// What it carries.
    pub kind: Kind,
    /// When its contents were captured, in whole microseconds before `stamp`.
    pub captured: Instant,
    /// Sequence number among packets of video; a retransmission has that of its original.
    pub sequence: u32,
    /// Number of the video frame.
    pub frame: u32,
    /// Index of the packet in its frame, below 2048.
    pub part: u16,
    /// Whether it is the last packet of its frame.
    pub ends_frame: bool,
    /// Whether its frame can be decoded without earlier frames.
    pub is_key: bool,
    /// Payload that the receiver reads; empty where only its length matters.
    pub octets: Vec<u8>,
}

impl Datagram {
    /// A plain packet.
    pub const fn new(number: u32, len: u32, stamp: Instant) -> Self {
        Self {
            number,
            len,
            stamp,
            ecn: Packet::NOT_ECT,
            kind: Kind::Plain,
            captured: stamp,
            sequence: 0,
            frame: 0,
            part: 0,
            ends_frame: false,
            is_key: false,
            octets: Vec::new(),
        }
    }
}
