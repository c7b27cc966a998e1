//! Records of a capture file in order, and a summary of the unreadable parts.
//!
//! pcap (draft-ietf-opsawg-pcap, microseconds or nanoseconds) and pcapng (draft-ietf-opsawg-pcapng), each in either
//! byte order; compressed by gzip or Zstandard too. After invalid records, reading continues at the next valid one.

#[cfg(feature = "compressed")]
mod compressed;
#[cfg(not(feature = "compressed"))]
#[path = "plain.rs"]
mod compressed;
mod pcap;
mod pcapng;
mod window;

use std::io::{self, Read};

use compressed::Input;
use serde::Serialize;
use window::Window;

#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Nanoseconds since 1970.
    pub at_nanos: u64,
    /// Number of its interface in [`Summary::interfaces`].
    pub interface: u32,
    /// Whether the file has described others.
    pub is_one_of_several: bool,
    /// LINKTYPE_ of its interface.
    pub link_type: u32,
    /// Its length on the wire.
    pub original_len: u32,
    /// Captured part of it.
    pub data: &'a [u8],
}

/// Why there is nothing to analyse.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system's words.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file does not begin as a capture does.
    #[error("does not begin like a pcap or pcapng file{0}")]
    NoCapture(Beginning),
    /// The compressed stream has no readable beginning: the format, and the decoder's words.
    #[error("cannot be uncompressed: {0}: {1}")]
    Damaged(&'static str, String),
}

/// Start of a file that is not a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    octets: [u8; 8],
    len: usize,
    /// Compression of the file.
    compression: Option<&'static str>,
}

/// Formats of captures and archives that others read, by their first octets.
const OTHER_FORMATS: [(&[u8], &str); 15] = [
    (b"snoop\0\0\0", "a snoop capture"),
    (b"GMBU", "a Network Monitor 2 capture"),
    (b"RTSS", "a Network Monitor 1 capture"),
    (b"TRSNIFF", "a Sniffer capture"),
    (b"XCP\0", "a NetXRay capture"),
    (&[0x1C, 0x00, 0x01], "a pcap of Ixia, big-endian"),
    (&[0xAC, 0x01, 0x00, 0x1C], "a pcap of Ixia's hardware"),
    (&[0xAB, 0x01, 0x00, 0x1C], "a pcap of Ixia's software"),
    (&[0x04, 0x22, 0x4D, 0x18], "compressed by LZ4"),
    (&[0xFD, b'7', b'z', b'X', b'Z'], "compressed by xz"),
    (&[0x1F, 0x8B, 8], "compressed by gzip"),
    (&[0x28, 0xB5, 0x2F, 0xFD], "compressed by Zstandard"),
    (b"BZh", "compressed by bzip2"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"7z\xBC\xAF", "a 7z archive"),
];

impl std::fmt::Display for Beginning {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let octets = &self.octets[..self.len];
        if octets.is_empty() {
            return to.write_str(": it is empty");
        }
        let known = OTHER_FORMATS.iter().find(|(magic, _)| octets.starts_with(magic));
        to.write_str(": its first octets")?;
        if let Some(compression) = self.compression {
            write!(to, " behind {compression}")?;
        }
        to.write_str(" are")?;
        octets.iter().try_for_each(|octet| write!(to, " {octet:02x}"))?;
        match known {
            Some((_, name)) if name.ends_with("capture") || name.contains("pcap") => {
                write!(to, " ({name}: editcap -F pcapng converts it)")
            }
            Some((_, name)) => write!(to, " ({name}: unpack it first)"),
            None => Ok(()),
        }
    }
}

/// An interface of a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Interface {
    /// Its name, where the file has one.
    pub name: Option<String>,
    /// LINKTYPE_ of its frames.
    pub link_type: u32,
    pub packets: u64,
}

/// Format of the file, and its unreadable parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// `gzip` or `zstd`, if the file was compressed.
    pub compression: Option<&'static str>,
    /// Why the compressed stream ended early: it was damaged, cut off or out of proportion.
    pub compression_error: Option<String>,
    /// Bytes of the file read, uncompressed.
    pub bytes: u64,
    /// Packets in it.
    pub records: u64,
    /// In the order of the file.
    pub interfaces: Vec<Interface>,
    /// Packets that were not captured completely.
    pub truncated_records: u64,
    /// Bytes that belong to no readable record.
    pub unreadable_bytes: u64,
    pub unreadable_from: Option<u64>,
    pub ends_within_record: bool,
    /// Packets without time or interface, as in simple packet blocks: not analysed.
    pub records_without_time: u64,
}

/// Further interfaces are merged into one.
const MOST_INTERFACES: usize = 4096;

#[derive(Debug)]
pub struct Source<R: Read> {
    window: Window<Input<R>>,
    format: Format,
    summary: Summary,
}

#[derive(Debug)]
enum Format {
    Pcap(pcap::Layout),
    Pcapng(pcapng::Layout),
}

impl<R: Read> Source<R> {
    /// Begins to read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no capture.
    pub fn open(reader: R) -> Result<Self, FileError> {
        let input = Input::open(reader)?;
        let mut summary = Summary { compression: input.compression(), ..Summary::default() };
        let mut window = Window::new(input);
        let start = window.fill(pcap::FILE_HEADER_BYTES)?;
        let format = if let Some(layout) = pcap::Layout::read(start, &mut summary) {
            window.advance(pcap::FILE_HEADER_BYTES);
            summary.format = "pcap";
            Format::Pcap(layout)
        } else if pcapng::is_section(start) {
            summary.format = "pcapng";
            Format::Pcapng(pcapng::Layout::default())
        } else {
            let (mut octets, len) = ([0; 8], start.len().min(8));
            octets[..len].copy_from_slice(&start[..len]);
            let compression = summary.compression;
            if let Some(damage) = window.reader_mut().take_damage() {
                return Err(FileError::Damaged(compression.unwrap_or_default(), damage));
            }
            return Err(FileError::NoCapture(Beginning { octets, len, compression }));
        };
        Ok(Self { window, format, summary })
    }

    /// The next packet; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the file cannot be read; never because of its contents.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, FileError> {
        let found = match &mut self.format {
            Format::Pcap(layout) => layout.next(&mut self.window, &mut self.summary)?,
            Format::Pcapng(layout) => layout.next(&mut self.window, &mut self.summary)?,
        };
        let Some(found) = found else { return Ok(None) };
        self.summary.records += 1;
        let is_one_of_several = self.summary.interfaces.len() > 1;
        let interface = &mut self.summary.interfaces[found.interface];
        interface.packets += 1;
        if found.data.len() < found.original_len as usize {
            self.summary.truncated_records += 1;
        }
        Ok(Some(Record {
            at_nanos: found.at_nanos,
            interface: found.interface as u32,
            is_one_of_several,
            link_type: found.link_type,
            original_len: found.original_len,
            data: self.window.at(found.data),
        }))
    }

    /// Summary of the file so far.
    pub fn into_summary(mut self) -> Summary {
        let compression_error = self.window.reader_mut().take_damage();
        Summary { bytes: self.window.offset(), compression_error, ..self.summary }
    }
}

/// A record found, its bytes by their place in the window.
#[derive(Debug)]
struct Found {
    at_nanos: u64,
    interface: usize,
    link_type: u32,
    original_len: u32,
    data: std::ops::Range<usize>,
}

impl Summary {
    /// Bytes were skipped from here on.
    fn skipped(&mut self, offset: u64, bytes: u64) {
        if bytes > 0 {
            self.unreadable_bytes += bytes;
            self.unreadable_from.get_or_insert(offset);
        }
    }
}

/// The byte order of a file or section.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    is_big_endian: bool,
}

impl Order {
    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = *bytes.get(at..)?.first_chunk::<4>()?;
        Some(if self.is_big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }

    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let word = *bytes.get(at..)?.first_chunk::<2>()?;
        Some(if self.is_big_endian { u16::from_be_bytes(word) } else { u16::from_le_bytes(word) })
    }
}

/// Skips bytes up to the next plausible record; returns whether there is one. While at least
/// `wanted` bytes are in memory, only positions below `last(bytes in memory)` are tried; at the end of the file, all are.
fn resync<R: Read>(
    window: &mut Window<R>,
    summary: &mut Summary,
    wanted: usize,
    last: impl Fn(usize) -> usize,
    is_record: impl Fn(&[u8]) -> bool,
) -> io::Result<bool> {
    loop {
        let offset = window.offset();
        let bytes = window.fill(wanted)?;
        let is_rest = bytes.len() < wanted;
        let last = if is_rest { bytes.len() } else { last(bytes.len()) };
        let found = (1..last).find(|&at| is_record(&bytes[at..]));
        let skipped = found.unwrap_or(last).max(1);
        summary.skipped(offset, skipped as u64);
        window.advance(skipped);
        if found.is_some() || is_rest {
            return Ok(found.is_some());
        }
    }
}

#[cfg(test)]
mod tests;
