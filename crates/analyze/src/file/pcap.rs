//! Records of pcap: draft-ietf-opsawg-pcap (4 file header, 5 packet record).

use std::io::{self, Read};

use pcap_file::pcap::PcapHeader;
use pcap_file::{Endianness, TsResolution};

use super::window::Window;
use super::{Found, Order, Summary, resync};

pub(super) const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// The largest snapshot length of libpcap, MAXIMUM_SNAPLEN: a record that claims more is none.
const LARGEST_RECORD: u32 = 262_144;
/// A record is believed after a damaged one only if its time is so near to the last.
const NEAR_SECONDS: u32 = 86_400;

#[derive(Debug)]
pub(super) struct Layout {
    pub link_type: u32,
    order: Order,
    nanos_per_tick: u64,
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
    /// The layout of a file that begins with these bytes; `None` if it is no pcap.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (_, header) = PcapHeader::from_slice(bytes).ok()?;
        Some(Self {
            // The upper bits say how long the frame check sequence is.
            link_type: u32::from(header.datalink) & 0xFFFF,
            order: Order { is_big_endian: header.endianness == Endianness::Big },
            nanos_per_tick: if header.ts_resolution == TsResolution::NanoSecond { 1 } else { 1000 },
            largest: LARGEST_RECORD.max(header.snaplen.min(16 * LARGEST_RECORD)),
            last: None,
        })
    }

    pub fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        summary: &mut Summary,
    ) -> io::Result<Option<Found>> {
        loop {
            let bytes = window.fill(RECORD_HEADER_BYTES)?;
            let Some(head) = self.head(bytes) else {
                let rest = bytes.len();
                summary.ends_within_record |= rest > 0;
                summary.skipped(window.offset(), rest as u64);
                window.advance(rest);
                return Ok(None);
            };
            let len = RECORD_HEADER_BYTES + head.captured as usize;
            if !self.is_plausible(&head) {
                self.skip(window, summary)?;
                continue;
            }
            let there = window.fill(len)?.len();
            if there < len {
                // The end of the file, or a length that was damaged.
                summary.ends_within_record |= !self.skip(window, summary)?;
                continue;
            }
            self.last = Some(head.seconds);
            let at_nanos =
                u64::from(head.seconds) * 1_000_000_000 + u64::from(head.ticks) * self.nanos_per_tick;
            let data = window.take(len, RECORD_HEADER_BYTES..len);
            return Ok(Some(Found { at_nanos, interface: 0, original_len: head.original, data }));
        }
    }

    fn head(&self, bytes: &[u8]) -> Option<Head> {
        let word = |at| self.order.u32(bytes, at);
        Some(Head { seconds: word(0)?, ticks: word(4)?, captured: word(8)?, original: word(12)? })
    }

    fn is_plausible(&self, head: &Head) -> bool {
        u64::from(head.ticks) * self.nanos_per_tick < 1_000_000_000
            && head.captured <= self.largest
            && head.captured <= head.original
    }

    /// Leaves bytes behind up to a place where two records follow one another, or the last one ends; whether
    /// there is one.
    fn skip<R: Read>(&self, window: &mut Window<R>, summary: &mut Summary) -> io::Result<bool> {
        let wanted = 2 * RECORD_HEADER_BYTES + self.largest as usize;
        // Places from which a whole record and the header behind it can be seen.
        resync(window, summary, wanted, |bytes| bytes - wanted + 1, |bytes| self.is_record(bytes))
    }

    fn is_record(&self, bytes: &[u8]) -> bool {
        let near = |head: &Head| {
            head.captured > 0
                && self.is_plausible(head)
                && self.last.is_none_or(|last| head.seconds.abs_diff(last) <= NEAR_SECONDS)
        };
        let Some(head) = self.head(bytes).filter(near) else { return false };
        let Some(behind) = bytes.get(RECORD_HEADER_BYTES + head.captured as usize..) else { return false };
        behind.is_empty() || self.head(behind).is_some_and(|next| near(&next))
    }
}
