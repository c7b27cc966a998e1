//! Records of pcap: draft-ietf-opsawg-pcap (4 file header, 5 packet record), and of the modified form of libpcap's
//! patches of 1999, whose records have eight more octets in front of the packet (index, protocol, packet type).
//!
//! A file header may follow the last record: captures appended to one another. A fraction of a second may be larger
//! than a second: it counts as written.

use std::io::{self, Read};

use super::window::Window;
use super::{Found, Interface, MOST_INTERFACES, Order, Summary, resync};

pub(super) const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// Behind the record header of a modified file.
const MODIFIED_BYTES: usize = 8;
/// The largest snapshot length of libpcap, MAXIMUM_SNAPLEN: a record that claims more is none.
const LARGEST_RECORD: u32 = 262_144;
/// A record is believed after a damaged one only if its time is so near to the last.
const NEAR_SECONDS: u32 = 86_400;

const MICROSECONDS: u32 = 0xA1B2_C3D4;
const NANOSECONDS: u32 = 0xA1B2_3C4D;
const MODIFIED: u32 = 0xA1B2_CD34;

#[derive(Debug)]
pub(super) struct Layout {
    link_type: u32,
    /// Number of the interface in the summary.
    interface: usize,
    order: Order,
    nanos_per_tick: u64,
    /// Octets in front of each packet.
    header: usize,
    largest: u32,
    /// Seconds of the last record.
    last: Option<u32>,
}

/// Header of a record.
struct Head {
    seconds: u32,
    ticks: u32,
    captured: u32,
    original: u32,
}

impl Layout {
    /// The layout of a file that begins with these bytes, its interface added to the summary; `None` if it is no pcap.
    pub fn read(bytes: &[u8], summary: &mut Summary) -> Option<Self> {
        let header = bytes.first_chunk::<FILE_HEADER_BYTES>()?;
        let (order, magic) = [false, true]
            .map(|is_big_endian| Order { is_big_endian })
            .into_iter()
            .map(|order| (order, order.u32(header, 0).unwrap_or(0)))
            .find(|(_, magic)| [MICROSECONDS, NANOSECONDS, MODIFIED].contains(magic))?;
        let word = |at| order.u32(header, at).unwrap_or(0);
        // The upper bits hold the length of the frame check sequence.
        let link_type = word(20) & 0xFFFF;
        let interfaces = &mut summary.interfaces;
        let known = interfaces.iter().position(|other| other.link_type == link_type);
        let interface = known.unwrap_or_else(|| {
            if interfaces.len() < MOST_INTERFACES {
                interfaces.push(Interface { link_type, ..Interface::default() });
            }
            interfaces.len() - 1
        });
        Some(Self {
            link_type,
            interface,
            order,
            nanos_per_tick: if magic == NANOSECONDS { 1 } else { 1000 },
            header: RECORD_HEADER_BYTES + if magic == MODIFIED { MODIFIED_BYTES } else { 0 },
            largest: LARGEST_RECORD.max(word(16).min(16 * LARGEST_RECORD)),
            last: None,
        })
    }

    pub fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        summary: &mut Summary,
    ) -> io::Result<Option<Found>> {
        loop {
            if begins_again(window.fill(self.header)?)
                && let Some(layout) = Self::read(window.fill(FILE_HEADER_BYTES)?, summary)
            {
                *self = layout;
                window.advance(FILE_HEADER_BYTES);
                continue;
            }
            let bytes = window.fill(self.header)?;
            let Some(head) = self.head(bytes) else {
                let rest = bytes.len();
                summary.ends_within_record |= rest > 0;
                summary.skipped(window.offset(), rest as u64);
                window.advance(rest);
                return Ok(None);
            };
            let len = self.header + head.captured as usize;
            if !self.is_plausible(&head) || self.is_of_nowhere(&head) {
                self.skip(window, summary)?;
                continue;
            }
            let there = window.fill(len)?.len();
            if there < len {
                // The end of the file, or a length that was damaged.
                summary.ends_within_record |= !self.skip(window, summary)?;
                continue;
            }
            // Some programs write an original length without one of their own headers. The record counts as undamaged
            // if another record follows.
            if head.captured > head.original && !self.is_followed(window.fill(len + self.header)?, len) {
                self.skip(window, summary)?;
                continue;
            }
            self.last = Some(head.seconds);
            let at_nanos =
                u64::from(head.seconds) * 1_000_000_000 + u64::from(head.ticks) * self.nanos_per_tick;
            let data = window.take(len, self.header..len);
            let (interface, link_type) = (self.interface, self.link_type);
            let original_len = head.original.max(head.captured);
            return Ok(Some(Found { at_nanos, interface, link_type, original_len, data }));
        }
    }

    fn head(&self, bytes: &[u8]) -> Option<Head> {
        let word = |at| self.order.u32(bytes, at);
        bytes.get(..self.header)?;
        Some(Head { seconds: word(0)?, ticks: word(4)?, captured: word(8)?, original: word(12)? })
    }

    fn is_plausible(&self, head: &Head) -> bool {
        head.captured <= self.largest
    }

    /// Whether the time is far from the last one and the other fields make no sense either. A truncated record contains
    /// the header of an appended file, and no header follows it.
    fn is_of_nowhere(&self, head: &Head) -> bool {
        let is_far = self.last.is_some_and(|last| head.seconds.abs_diff(last) > NEAR_SECONDS);
        is_far && !self.is_sound(head)
    }

    fn is_sound(&self, head: &Head) -> bool {
        (1..=head.original).contains(&head.captured)
            && self.is_plausible(head)
            && u64::from(head.ticks) * self.nanos_per_tick < 1_000_000_000
    }

    /// Whether a record of about the same time, or nothing, follows these octets.
    fn is_followed(&self, bytes: &[u8], len: usize) -> bool {
        let Some(next) = self.head(&bytes[len..]) else { return bytes.len() == len };
        let Some(head) = self.head(bytes) else { return false };
        self.is_plausible(&next) && next.seconds.abs_diff(head.seconds) <= NEAR_SECONDS
    }

    /// Skips bytes up to a place with two consecutive records, or where the last one ends; returns whether there is
    /// one.
    fn skip<R: Read>(&self, window: &mut Window<R>, summary: &mut Summary) -> io::Result<bool> {
        let wanted = 2 * self.header + self.largest as usize;
        // Positions with a whole record and the next header in memory.
        resync(window, summary, wanted, |bytes| bytes - wanted + 1, |bytes| self.is_record(bytes))
    }

    fn is_record(&self, bytes: &[u8]) -> bool {
        let near = |head: &Head| {
            self.is_sound(head) && self.last.is_none_or(|last| head.seconds.abs_diff(last) <= NEAR_SECONDS)
        };
        let Some(head) = self.head(bytes).filter(near) else { return false };
        let Some(behind) = bytes.get(self.header + head.captured as usize..) else { return false };
        behind.is_empty() || self.head(behind).is_some_and(|next| near(&next))
    }
}

/// Whether another file begins here: a magic and version 2.4, which as a record would be of a year far away.
fn begins_again(bytes: &[u8]) -> bool {
    // The first octet already excludes nearly every record.
    matches!(bytes.first(), Some(0xA1 | 0xD4 | 0x4D | 0x34))
        && [false, true].map(|is_big_endian| Order { is_big_endian }).into_iter().any(|order| {
            let magic = order.u32(bytes, 0).unwrap_or(0);
            let version = (order.u16(bytes, 4), order.u16(bytes, 6));
            [MICROSECONDS, NANOSECONDS, MODIFIED].contains(&magic) && version == (Some(2), Some(4))
        })
}
