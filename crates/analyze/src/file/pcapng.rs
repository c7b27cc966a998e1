//! Blocks of pcapng: draft-ietf-opsawg-pcapng (4.1 section header, 4.2 interface description, 4.3 enhanced packet,
//! 4.4 simple packet, A.1 packet).
//!
//! Blocks are read here: the crate `pcap-file` takes every time for nanoseconds, and refuses a packet for a comment
//! that is no text.

use std::io::{self, Read};

use super::window::Window;
use super::{Found, Interface, MOST_INTERFACES, Order, Summary, resync};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
const OPTION_IF_TSOFFSET: u16 = 14;
/// Type, length and length again.
const FRAME_BYTES: usize = 12;
/// Blocks that claim more are taken for damaged.
const LARGEST_BLOCK: usize = 16 << 20;

#[derive(Debug, Default)]
pub(super) struct Layout {
    order: Order,
    /// Interfaces of this section.
    interfaces: Vec<Clock>,
}

/// An interface of a section.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Number in the summary.
    number: usize,
    link_type: u32,
    /// `if_tsresol`: a tick of the time is 10^-n seconds or, with the highest bit, 2^-n seconds.
    resolution: u8,
    offset_seconds: i64,
}

/// Whether a file that begins with these bytes is a pcapng.
pub(super) fn is_section(bytes: &[u8]) -> bool {
    byte_order(bytes).is_some()
}

/// The order of the section that begins here.
fn byte_order(bytes: &[u8]) -> Option<Order> {
    let [10, 13, 13, 10, _, _, _, _, magic @ ..] = bytes else { return None };
    match magic.first_chunk::<4>()? {
        [0x1A, 0x2B, 0x3C, 0x4D] => Some(Order { is_big_endian: true }),
        [0x4D, 0x3C, 0x2B, 0x1A] => Some(Order { is_big_endian: false }),
        _ => None,
    }
}

impl Layout {
    pub fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
        summary: &mut Summary,
    ) -> io::Result<Option<Found>> {
        loop {
            let bytes = window.fill(FRAME_BYTES)?;
            self.order = byte_order(bytes).unwrap_or(self.order);
            let rest = bytes.len();
            let Some(len) = self.block_len(bytes) else {
                if rest < FRAME_BYTES {
                    summary.ends_within_record |= rest > 0;
                    summary.skipped(window.offset(), rest as u64);
                    window.advance(rest);
                    return Ok(None);
                }
                self.skip(window, summary)?;
                continue;
            };
            let filled = window.fill(len)?;
            if filled.len() < len {
                // The end of the file, or a length that was damaged.
                summary.ends_within_record |= !self.skip(window, summary)?;
                continue;
            }
            let Some(kind) = self.kind(&filled[..len]) else {
                self.skip(window, summary)?;
                continue;
            };
            let body = &filled[8..len - 4];
            let found = self.handle_block(kind, body, summary);
            let place = found.as_ref().map_or(0..0, |found| 8 + found.data.start..8 + found.data.end);
            let data = window.take(len, place);
            if let Some(found) = found {
                return Ok(Some(Found { data, ..found }));
            }
        }
    }

    /// Length of the block that begins here; `None` if there is none.
    fn block_len(&self, bytes: &[u8]) -> Option<usize> {
        let len = self.order.u32(bytes, 4)? as usize;
        ((FRAME_BYTES..=LARGEST_BLOCK).contains(&len) && len.is_multiple_of(4)).then_some(len)
    }

    /// Type of a whole block; `None` if its lengths disagree.
    fn kind(&self, block: &[u8]) -> Option<u32> {
        let kind = self.order.u32(block, 0)?;
        let has_order = kind != SECTION_HEADER || byte_order(block).is_some();
        let is_whole = self.order.u32(block, 4) == self.order.u32(block, block.len() - 4);
        (has_order && is_whole).then_some(kind)
    }

    /// A packet, with its place in the block's body; `None` if the block has none.
    fn handle_block(&mut self, kind: u32, body: &[u8], summary: &mut Summary) -> Option<Found> {
        match kind {
            SECTION_HEADER => self.interfaces.clear(),
            INTERFACE_DESCRIPTION => self.on_interface(body, summary),
            SIMPLE_PACKET => summary.records_without_time += 1,
            ENHANCED_PACKET | PACKET => {
                let found = self.packet(kind, body);
                if found.is_none() {
                    summary.records_without_time += 1;
                }
                return found;
            }
            _ => {}
        }
        None
    }

    fn on_interface(&mut self, body: &[u8], summary: &mut Summary) {
        let link_type = self.order.u16(body, 0).unwrap_or(u16::MAX);
        let mut interface = Interface { link_type: u32::from(link_type), ..Interface::default() };
        let mut clock = Clock { number: 0, link_type: interface.link_type, resolution: 6, offset_seconds: 0 };
        let mut options = body.get(8..).unwrap_or_default();
        while let (Some(code @ 1..), Some(len)) = (self.order.u16(options, 0), self.order.u16(options, 2)) {
            let Some(value) = options.get(4..4 + usize::from(len)) else { break };
            match (code, value) {
                (OPTION_IF_NAME, name) => interface.name = Some(String::from_utf8_lossy(name).into_owned()),
                (OPTION_IF_TSRESOL, &[resolution]) => clock.resolution = resolution,
                (OPTION_IF_TSOFFSET, value) => {
                    let words = (self.order.u32(value, 0), self.order.u32(value, 4));
                    if let (Some(first), Some(second)) = words {
                        let (high, low) =
                            if self.order.is_big_endian { (first, second) } else { (second, first) };
                        clock.offset_seconds = (u64::from(high) << 32 | u64::from(low)) as i64;
                    }
                }
                _ => {}
            }
            options = options.get(4 + usize::from(len).next_multiple_of(4)..).unwrap_or_default();
        }
        // A file of several sections describes the same interfaces again, those without a name in the same order.
        let is_taken = |number: usize| self.interfaces.iter().any(|one| one.number == number);
        let known = summary.interfaces.iter().enumerate().position(|(number, other)| {
            let is_same = other.name == interface.name && other.link_type == interface.link_type;
            is_same && (other.name.is_some() || !is_taken(number))
        });
        clock.number = known.unwrap_or_else(|| {
            if summary.interfaces.len() < MOST_INTERFACES {
                summary.interfaces.push(interface);
            }
            summary.interfaces.len() - 1
        });
        if self.interfaces.len() < MOST_INTERFACES {
            self.interfaces.push(clock);
        }
    }

    fn packet(&self, kind: u32, body: &[u8]) -> Option<Found> {
        let interface = if kind == ENHANCED_PACKET {
            self.order.u32(body, 0)? as usize
        } else {
            // The obsolete packet block has a count of drops in the other half.
            usize::from(self.order.u16(body, 0)?)
        };
        let clock = self.interfaces.get(interface)?;
        let ticks = u64::from(self.order.u32(body, 4)?) << 32 | u64::from(self.order.u32(body, 8)?);
        let (captured, original_len) = (self.order.u32(body, 12)?, self.order.u32(body, 16)?);
        let data = 20..20_usize.checked_add(captured as usize)?;
        body.get(data.clone())?;
        Some(Found {
            at_nanos: clock.nanos(ticks),
            interface: clock.number,
            link_type: clock.link_type,
            original_len,
            data,
        })
    }

    /// Skips bytes up to a place where a whole block of a known type starts; returns whether there is one.
    fn skip<R: Read>(&self, window: &mut Window<R>, summary: &mut Summary) -> io::Result<bool> {
        /// Blocks beyond that are not looked for.
        const LOOK_AHEAD: usize = 1 << 18;
        resync(window, summary, 2 * LOOK_AHEAD, |_| LOOK_AHEAD, |bytes| self.is_block(bytes))
    }

    fn is_block(&self, bytes: &[u8]) -> bool {
        if byte_order(bytes).is_some() {
            return true;
        }
        let is_known = matches!(self.order.u32(bytes, 0), Some(1..=6));
        is_known
            && self
                .block_len(bytes)
                .and_then(|len| bytes.get(..len))
                .and_then(|block| self.kind(block))
                .is_some()
    }
}

impl Clock {
    /// Nanoseconds since 1970 of a time in ticks; values outside their range are clamped to it.
    fn nanos(self, ticks: u64) -> u64 {
        let ticks = i128::from(ticks);
        let nanos = match self.resolution {
            places @ 0..=9 => ticks * 10_i128.pow(9 - u32::from(places)),
            places @ 10..0x80 => ticks / 10_i128.pow(u32::from(places - 9).min(30)),
            binary => (ticks * 1_000_000_000) >> (binary & 0x7F).min(126),
        };
        let nanos = nanos + i128::from(self.offset_seconds) * 1_000_000_000;
        u64::try_from(nanos.max(0)).unwrap_or(u64::MAX)
    }
}
