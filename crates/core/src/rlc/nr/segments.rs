//! Segments of an SDU that have arrived.

use super::Pdu;
use crate::pdcp::Content;
use crate::rlc::{Ranges, SnRange};

/// What has arrived of an SDU.
#[derive(Clone, Debug, Default)]
pub(in crate::rlc) enum Received {
    /// Nothing.
    #[default]
    Nothing,
    /// Segments.
    Parts(Box<Segments>),
    /// All of it.
    Whole,
}

/// Segments of an SDU.
#[derive(Clone, Debug)]
pub(in crate::rlc) struct Segments {
    /// The SDU.
    sdu: Content,
    octets: Ranges,
    /// End offset of the SDU (exclusive), once its last segment has arrived.
    end: Option<u64>,
}

fn range(pdu: &Pdu) -> SnRange {
    SnRange::new(pdu.so.into(), pdu.end.into())
}

impl Received {
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// The SDU, if a part of it has arrived.
    pub fn content(&self) -> Option<Content> {
        match self {
            Self::Parts(segments) => Some(segments.sdu),
            Self::Nothing | Self::Whole => None,
        }
    }

    /// Whether all octets of a PDU have arrived before.
    pub fn has(&self, pdu: &Pdu) -> bool {
        match self {
            Self::Nothing => false,
            Self::Parts(segments) => segments.octets.covers(range(pdu)),
            Self::Whole => true,
        }
    }

    /// A PDU of the SDU arrives.
    pub fn place(&mut self, pdu: &Pdu) {
        if pdu.is_whole() {
            *self = Self::Whole;
        }
        if matches!(self, Self::Nothing) {
            *self = Self::Parts(Box::new(Segments { sdu: pdu.sdu, octets: Ranges::default(), end: None }));
        }
        if let Self::Parts(segments) = self {
            segments.octets.insert(range(pdu));
            if pdu.last {
                segments.end = Some(pdu.end.into());
            }
            if segments.end.is_some_and(|end| segments.octets.covers(SnRange::new(0, end))) {
                *self = Self::Whole;
            }
        }
    }

    /// Whether a segment is missing before the last octet that has arrived.
    pub fn has_gap(&self) -> bool {
        match self {
            Self::Parts(segments) => !matches!(segments.octets.as_slice(), [one] if one.first == 0),
            Self::Nothing | Self::Whole => false,
        }
    }

    /// How many NACKs it needs at most, where the end of the SDU in front is missing or not.
    pub fn gaps(&self, continues: bool) -> u64 {
        match self {
            Self::Whole => 0,
            Self::Nothing => u64::from(!continues),
            Self::Parts(segments) => segments.octets.as_slice().len() as u64 + 1,
        }
    }

    /// Hands the octets that are missing to `name`, until that returns false: the first of each gap, and the one behind
    /// its last, `None` for the end of the SDU. Whether it did not.
    pub fn missing(&self, mut name: impl FnMut(u32, Option<u32>) -> bool) -> bool {
        match self {
            Self::Whole => true,
            Self::Nothing => name(0, None),
            Self::Parts(segments) => {
                let mut at = 0;
                for held in segments.octets.as_slice() {
                    if held.first > at && !name(at as u32, Some(held.first as u32)) {
                        return false;
                    }
                    at = held.end;
                }
                segments.end == Some(at) || name(at as u32, None)
            }
        }
    }
}
