//! Capture files in pcapng, as Wireshark and tcpdump read them.
//!
//! Source: draft-ietf-opsawg-pcapng (4.1 Section Header, 4.2 Interface Description, 4.3 Enhanced
//! Packet). Three block types, little-endian on every machine, and no option that names hardware,
//! system or date: the same run gives the same bytes. Timestamps are nanoseconds of virtual time,
//! so that captures begin on 1970-01-01.
//!
//! The crate `pcap-file` could write these blocks, but only through fallible calls, although nothing can fail here; the
//! tests use it as the reader.

use crate::time::Instant;
use std::collections::BTreeMap;

/// Writes a capture into memory; [`take`](Self::take) returns the bytes written so far.
#[derive(Clone, Debug)]
pub struct PcapngWriter {
    bytes: Vec<u8>,
    interfaces: u32,
    /// Packets that are seen later, in the order in which they will be.
    pending: BTreeMap<(Instant, u64), (u32, Vec<u8>)>,
    /// Number of packets added ahead so far.
    announced: u64,
}

impl PcapngWriter {
    /// Begins a capture of raw IP packets on the named interfaces, numbered from 0.
    pub fn new(interfaces: &[&str]) -> Self {
        let interfaces_count = interfaces.len() as u32;
        let (bytes, pending, announced) = (Vec::new(), BTreeMap::new(), 0);
        let mut writer = Self { bytes, interfaces: interfaces_count, pending, announced };
        writer.block(SECTION_HEADER, |body| {
            body.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
            body.extend_from_slice(&VERSION_MAJOR.to_le_bytes());
            body.extend_from_slice(&VERSION_MINOR.to_le_bytes());
            body.extend_from_slice(&SECTION_LENGTH_UNKNOWN.to_le_bytes());
            option(body, SHB_USERAPPL, b"airpath");
            option(body, OPT_ENDOFOPT, b"");
        });
        for name in interfaces {
            writer.block(INTERFACE_DESCRIPTION, |body| {
                body.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
                body.extend_from_slice(&[0; 2]);
                body.extend_from_slice(&SNAPLEN_UNLIMITED.to_le_bytes());
                option(body, IF_NAME, name.as_bytes());
                option(body, IF_TSRESOL, &[NANOSECONDS]);
                option(body, OPT_ENDOFOPT, b"");
            });
        }
        writer
    }

    /// Adds a packet seen on interface number `interface`: its first bytes, which may be the header only, the length of
    /// the whole IP packet, and its number in the run, which is the same on every interface; 0 without a number.
    pub fn packet(&mut self, interface: u32, at: Instant, header: &[u8], original_len: u32, id: u32) {
        let number = u64::from(id).to_le_bytes();
        let options = [(EPB_PACKETID, &number[..]), (OPT_ENDOFOPT, b"")];
        self.settle(at);
        self.write_packet(interface, at, header, original_len, if id == 0 { &[] } else { &options });
    }

    /// Adds a packet that was sent on an interface and never arrived: with a checksum that is wrong (its flags),
    /// and a comment that says so.
    pub fn lost_packet(&mut self, interface: u32, at: Instant, packet: &[u8]) {
        let flags = CRC_ERROR.to_le_bytes();
        let options = [(OPT_COMMENT, &b"lost"[..]), (EPB_FLAGS, &flags), (OPT_ENDOFOPT, b"")];
        self.settle(at);
        self.write_packet(interface, at, packet, packet.len() as u32, &options);
    }

    /// Adds a comment with its time: an interface statistics block without statistics, of interface 0.
    pub fn note(&mut self, at: Instant, text: &str) {
        self.settle(at);
        self.block(INTERFACE_STATISTICS, |body| {
            let nanos = at.as_nanos();
            let fields =
                [0_u32.to_le_bytes(), ((nanos >> 32) as u32).to_le_bytes(), (nanos as u32).to_le_bytes()];
            body.extend_from_slice(fields.as_flattened());
            option(body, OPT_COMMENT, text.as_bytes());
            option(body, OPT_ENDOFOPT, b"");
        });
    }

    /// Adds a whole packet that is seen on an interface at `at`, possibly in the future: it is written before any
    /// packet that is seen then or later; without such a packet and a call of [`settle`](Self::settle) it is not
    /// written.
    pub fn packet_at(&mut self, interface: u32, at: Instant, packet: Vec<u8>) {
        self.pending.insert((at, self.announced), (interface, packet));
        self.announced += 1;
    }

    /// Writes the packets announced by [`packet_at`](Self::packet_at) that are seen by `now`.
    pub fn settle(&mut self, now: Instant) {
        while let Some(next) = self.pending.first_entry().filter(|next| next.key().0 <= now) {
            let ((at, _), (interface, packet)) = next.remove_entry();
            self.write_packet(interface, at, &packet, packet.len() as u32, &[]);
        }
    }

    fn write_packet(
        &mut self,
        interface: u32,
        at: Instant,
        header: &[u8],
        original_len: u32,
        options: &[(u16, &[u8])],
    ) {
        debug_assert!(interface < self.interfaces, "interface {interface} of {}", self.interfaces);
        self.block(ENHANCED_PACKET, |body| {
            let nanos = at.as_nanos();
            let fields = [
                interface.to_le_bytes(),
                ((nanos >> 32) as u32).to_le_bytes(),
                (nanos as u32).to_le_bytes(),
                (header.len() as u32).to_le_bytes(),
                original_len.to_le_bytes(),
            ];
            body.extend_from_slice(fields.as_flattened());
            body.extend_from_slice(header);
            pad(body, header.len());
            options.iter().for_each(|(code, value)| option(body, *code, value));
        });
    }

    /// Hands out the bytes written since the last call, to be appended to the file.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Frames the output of `write_body`: type and length before it, the length again after it.
    fn block(&mut self, kind: u32, write_body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice([kind.to_le_bytes(), [0; 4]].as_flattened());
        write_body(&mut self.bytes);
        let total = ((self.bytes.len() - start + 4) as u32).to_le_bytes();
        self.bytes[start + 4..start + 8].copy_from_slice(&total);
        self.bytes.extend_from_slice(&total);
    }
}

/// Number of packets in bytes from a [`PcapngWriter`].
pub fn packets_in(mut bytes: &[u8]) -> u64 {
    let mut packets = 0;
    while let Some(&[kind, total]) = bytes.as_chunks::<4>().0.first_chunk() {
        packets += u64::from(u32::from_le_bytes(kind) == ENHANCED_PACKET);
        bytes = bytes.get(u32::from_le_bytes(total).max(8) as usize..).unwrap_or_default();
    }
    packets
}

/// Appends an option; a value that is too long for its length field is truncated.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    pad(body, value.len());
}

/// Fills up to the next multiple of four after `len` bytes.
fn pad(body: &mut Vec<u8>, len: usize) {
    body.extend_from_slice(&[0; 3][..len.next_multiple_of(4) - len]);
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const VERSION_MAJOR: u16 = 1;
const VERSION_MINOR: u16 = 0;
const SECTION_LENGTH_UNKNOWN: i64 = -1;
const LINKTYPE_RAW: u16 = 101;
const SNAPLEN_UNLIMITED: u32 = 0;

const OPT_ENDOFOPT: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const EPB_PACKETID: u16 = 5;
/// Value of `if_tsresol`: the negative power of ten of a timestamp's unit.
const NANOSECONDS: u8 = 9;
/// Bit of `epb_flags`.
const CRC_ERROR: u32 = 1 << 24;

#[cfg(test)]
mod tests {
    use pcap_file::DataLink;
    use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
    use pcap_file::pcapng::{Block, PcapNgReader};

    use super::*;

    #[test]
    fn what_is_seen_later_is_written_when_it_is() {
        let at = Instant::from_nanos;
        let mut writer = PcapngWriter::new(&["server", "iu"]);
        writer.packet_at(1, at(20), vec![0; 2]);
        writer.packet_at(1, at(10), vec![0; 1]);
        writer.packet_at(1, at(20), vec![0; 3]);
        writer.packet_at(1, at(30), vec![0; 4]);
        writer.packet_at(1, at(40), vec![0; 5]);
        writer.packet(0, at(5), &[0; 9], 9, 1);
        writer.packet(0, at(20), &[0; 9], 9, 2);
        writer.settle(at(30));
        let written = blocks(&writer.take()).into_iter().filter_map(|block| match block {
            Block::EnhancedPacket(packet) => Some((packet.timestamp.as_nanos() as u64, packet.data.len())),
            _ => None,
        });
        assert_eq!(written.collect::<Vec<_>>(), [(5, 9), (10, 1), (20, 2), (20, 3), (20, 9), (30, 4)]);
    }

    fn blocks(bytes: &[u8]) -> Vec<Block<'static>> {
        let mut reader = PcapNgReader::new(bytes).unwrap();
        let mut blocks = Vec::new();
        while let Some(block) = reader.next_block() {
            blocks.push(block.unwrap().into_owned());
        }
        blocks
    }

    #[test]
    fn another_implementation_reads_what_was_written() {
        let mut writer = PcapngWriter::new(&["server", "ue0"]);
        let at = Instant::from_nanos(5_000_000_001);
        writer.packet(1, at, b"\x45header", 1500, 77);
        writer.packet(0, Instant::from_nanos(u64::MAX - 1), b"", 40, u32::MAX);
        let bytes = writer.take();
        let blocks = blocks(&bytes);
        assert_eq!(blocks.len(), 4);
        for (block, wanted) in blocks[..2].iter().zip(["server", "ue0"]) {
            let interface = block.clone().into_interface_description().unwrap();
            assert_eq!((interface.linktype, interface.snaplen), (DataLink::RAW, 0));
            let name = InterfaceDescriptionOption::IfName(wanted.into());
            assert_eq!(interface.options, [name, InterfaceDescriptionOption::IfTsResol(9)]);
        }
        let packet = blocks[2].clone().into_enhanced_packet().unwrap();
        assert_eq!((packet.interface_id, packet.original_len), (1, 1500));
        assert_eq!(packet.timestamp.as_nanos(), 5_000_000_001);
        assert_eq!(&packet.data[..], b"\x45header");
        let [EnhancedPacketOption::Unknown(number)] = &packet.options[..] else {
            panic!("{:?}", packet.options)
        };
        assert_eq!((number.code, &number.value[..]), (EPB_PACKETID, &77_u64.to_le_bytes()[..]));
        let empty = blocks[3].clone().into_enhanced_packet().unwrap();
        assert_eq!(empty.timestamp.as_nanos(), u128::from(u64::MAX - 1));
        assert!(empty.data.is_empty());
    }

    #[test]
    fn a_lost_packet_says_so() {
        let mut writer = PcapngWriter::new(&["rlc"]);
        writer.lost_packet(0, Instant::from_nanos(7), b"\x45pdu");
        let packet = blocks(&writer.take())[1].clone().into_enhanced_packet().unwrap();
        assert_eq!((&packet.data[..], packet.original_len), (&b"\x45pdu"[..], 4));
        let flags = EnhancedPacketOption::Flags(0x0100_0000);
        assert_eq!(packet.options, [EnhancedPacketOption::Comment("lost".into()), flags]);
    }

    #[test]
    fn taken_pieces_add_up_to_the_whole() {
        let write = |take_often: bool| {
            let mut writer = PcapngWriter::new(&["a"]);
            let mut file = Vec::new();
            for len in 0..9 {
                if take_often {
                    file.extend(writer.take());
                }
                writer.packet(0, Instant::ZERO, &[0x45; 8][..len.min(8)], 100, 1);
            }
            file.extend(writer.take());
            file
        };
        assert_eq!(write(true), write(false));
        assert_eq!(blocks(&write(false)).len(), 1 + 9);
    }

    #[test]
    fn packets_are_counted_and_other_blocks_are_not() {
        let mut writer = PcapngWriter::new(&["server", "ue"]);
        assert_eq!(packets_in(&writer.take()), 0);
        for header in [&b"\x45"[..], b"", b"\x06\0\0\0\x06\0\0\0"] {
            writer.packet(1, Instant::ZERO, header, 100, 1);
        }
        assert_eq!(packets_in(&writer.take()), 3);
    }
}
