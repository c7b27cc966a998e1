//! Segmentation and coalescing of packets for the kernel's offloads.
//!
//! A device with offloads has a header in front of each packet: `struct virtio_net_hdr` of `linux/virtio_net.h`, in
//! the machine's byte order (OASIS Virtual I/O Device 1.2, section 5.1.6, describes its fields). It says that a
//! checksum is still to be made, or that the packet holds many segments of one size.
//!
//! * [`Large`] segments such a packet into packets that the link carries. Each has the octets that it would have
//!   had if the kernel had sent it separately: length, identification, sequence number, checksums; CWR stays on the
//!   first, PSH and FIN on the last.
//! * [`Run`] coalesces packets for the kernel if segmentation restores them: one flow, no gap, equal fields and
//!   options, correct checksums. Segmenting a run gives the original packets, octet by octet. (Software that
//!   coalesces for throughput only also reorders late segments, or drops a PSH: here that would hide the behaviour
//!   of the link.)

use std::ops::Range;

/// Octets of the header.
pub const HEADER_BYTES: usize = 10;
/// An IP packet is no longer than this.
pub const MOST_BYTES: usize = u16::MAX as usize;

/// The checksum in the packet has to be made: it holds the sum of the pseudo header so far.
const NEEDS_CHECKSUM: u8 = 1;
// What a packet consists of.
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// Flag added to one of these: the first segment has CWR.
const WITH_CWR: u8 = 0x80;

// Within the TCP header.
const SEQUENCE: Range<usize> = 4..8;
const OFFSET: usize = 12;
const FLAGS: usize = 13;
const CHECKSUM: Range<usize> = 16..18;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;
const TCP_HEADER_BYTES: usize = 20;
const UDP_HEADER_BYTES: usize = 8;

/// The header in front of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    flags: u8,
    kind: u8,
    /// Octets of the IP and the transport header; the kernel's is a hint.
    headers: u16,
    /// Octets of data in each segment but the last.
    size: u16,
    /// Where the checksum's range and, as for TCP and UDP, the transport header begins.
    transport: u16,
    /// Where in the transport header the checksum is.
    checksum: u16,
}

impl Header {
    fn read(bytes: &[u8]) -> Self {
        let [flags, kind, rest @ ..] = bytes else { return Self::default() };
        let mut words = rest.chunks_exact(2).map(|word| u16::from_ne_bytes([word[0], word[1]]));
        let [headers, size, transport, checksum] = std::array::from_fn(|_| words.next().unwrap_or(0));
        Self { flags: *flags, kind: *kind, headers, size, transport, checksum }
    }

    fn write(self, bytes: &mut [u8]) {
        bytes[0] = self.flags;
        bytes[1] = self.kind;
        let words = [self.headers, self.size, self.transport, self.checksum];
        for (to, word) in bytes[2..HEADER_BYTES].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
    }
}

/// A packet as read from the device, with a count of the segments already taken.
#[derive(Debug)]
pub struct Large {
    /// Room for a header and the longest packet.
    bytes: Vec<u8>,
    /// Octets of the header in front: none where the device has no offloads.
    front: usize,
    header: Header,
    /// Where the packet ends.
    end: usize,
    /// Its octets in front of the data, if it has to be cut.
    headers: Option<usize>,
    /// Data of this packet cut off so far, and in how many segments.
    taken: usize,
    segments: u16,
}

impl Large {
    /// Nothing yet, of a device with offloads or without.
    pub fn new(offloads: bool) -> Self {
        let front = if offloads { HEADER_BYTES } else { 0 };
        let (bytes, header) = (vec![0; front + MOST_BYTES], Header::default());
        Self { bytes, front, header, end: 0, headers: None, taken: 0, segments: 0 }
    }

    /// Where a packet is to be read to.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// So many octets have been read.
    pub fn fill(&mut self, length: usize) {
        self.end = length;
        self.header = Header::read(&self.bytes[..self.front]);
        (self.taken, self.segments) = (0, 0);
        self.headers = self.headers_to_repeat();
    }

    /// Whether no octet is left.
    pub fn is_empty(&self) -> bool {
        self.end <= self.front
    }

    /// Octets of the headers of a packet that has to be cut; `None` if it is carried as it is.
    fn headers_to_repeat(&self) -> Option<usize> {
        let packet = self.bytes.get(self.front..self.end)?;
        let (transport, checksum) = (usize::from(self.header.transport), usize::from(self.header.checksum));
        let ip = match packet.first()? >> 4 {
            4 => 20,
            6 => 40,
            _ => return None,
        };
        let (length, least) = match self.header.kind {
            UDP => (UDP_HEADER_BYTES, UDP_HEADER_BYTES),
            kind if matches!(kind & !WITH_CWR, TCP_V4 | TCP_V6) => {
                (usize::from(packet.get(transport + OFFSET)? >> 4) * 4, TCP_HEADER_BYTES)
            }
            _ => return None,
        };
        let sound = transport >= ip && length >= least && length >= checksum + 2;
        (sound && self.header.size > 0 && packet.len() > transport + length).then_some(transport + length)
    }

    /// Moves the next packet that the link carries into `out`; leaves `out` empty if none is left.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        out.clear();
        let packet = &self.bytes[self.front..self.end];
        let Some(headers) = self.headers else {
            out.extend_from_slice(packet);
            if self.header.flags & NEEDS_CHECKSUM != 0 {
                complete(out, self.header, 0);
            }
            self.end = 0;
            return;
        };
        let from = headers + self.taken;
        let to = packet.len().min(from + usize::from(self.header.size));
        let data = &packet[from..to];
        let (first, last) = (self.taken == 0, to == packet.len());
        out.extend_from_slice(&packet[..headers]);
        let transport = usize::from(self.header.transport);
        let (network, segment) = out.split_at_mut(transport);
        let (whole, own) = ((packet.len() - transport) as u16, (segment.len() + data.len()) as u16);
        write_length(network, own, self.segments);
        if self.header.kind == UDP {
            segment[4..6].copy_from_slice(&own.to_be_bytes());
        } else {
            add(&mut segment[SEQUENCE], self.taken as u32);
            segment[FLAGS] &= if first { !0 } else { !CWR } & if last { !0 } else { !(FIN | PSH) };
        }
        // The sum of the pseudo header was made for the length of all segments together.
        let shorter = sum(&own.to_be_bytes()) + u64::from(!fold(sum(&whole.to_be_bytes())));
        complete(out, self.header, shorter + sum(data));
        out.extend_from_slice(data);
        self.taken += to - from;
        self.segments += 1;
        if last {
            self.end = 0;
        }
    }
}

/// Writes length and checksum into an IP header followed by `behind` octets; adds `segments` to IPv4's
/// identification.
fn write_length(network: &mut [u8], behind: u16, segments: u16) {
    if network[0] >> 4 == 6 {
        let length = (network.len() - 40) as u16 + behind;
        return network[4..6].copy_from_slice(&length.to_be_bytes());
    }
    let length = network.len() as u16 + behind;
    network[2..4].copy_from_slice(&length.to_be_bytes());
    let identification = u16::from_be_bytes([network[4], network[5]]).wrapping_add(segments);
    network[4..6].copy_from_slice(&identification.to_be_bytes());
    network[10..12].fill(0);
    let checksum = !fold(sum(network));
    network[10..12].copy_from_slice(&checksum.to_ne_bytes());
}

fn add(word: &mut [u8], more: u32) {
    let value = word.iter().fold(0, |value, &byte| value << 8 | u32::from(byte)).wrapping_add(more);
    word.copy_from_slice(&value.to_be_bytes());
}

/// Makes the checksum of a packet whose field holds the sum of a pseudo header; `more` is added to it, as for data that
/// is still to come.
fn complete(packet: &mut [u8], header: Header, more: u64) {
    let Some(segment) = packet.get_mut(usize::from(header.transport)..) else { return };
    let at = usize::from(header.checksum);
    if at + 2 > segment.len() {
        return;
    }
    let checksum = match !fold(sum(segment) + more) {
        // Of UDP a zero says that there is none; TCP's may be either zero.
        0 if at == 6 => u16::MAX,
        checksum => checksum,
    };
    segment[at..at + 2].copy_from_slice(&checksum.to_ne_bytes());
}

/// Sum of 16-bit words, the last filled up with a zero: RFC 1071. Words are read as the machine does, which changes
/// the order of the octets in the result and nothing else (its section 2 B); they are added in pairs, for speed.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let mut sum = u64::from(u32::from_ne_bytes(last));
    for pair in pairs {
        sum += u64::from(u32::from_ne_bytes(*pair));
    }
    sum
}

pub(super) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Where the parts of a TCP segment begin that may belong to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    transport: usize,
    data: usize,
}

impl Parts {
    /// Parses a packet with data; `None` if its headers contain anything that segmentation would not repeat.
    fn of(packet: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
        let transport = match packet.first()? {
            // No options, and no fragment.
            0x45 if packet.get(9) == Some(&6) && usize::from(word(2)?) == packet.len() => {
                (word(6)? & 0xbfff == 0).then_some(20)?
            }
            0x60..0x70 if packet.get(6) == Some(&6) && usize::from(word(4)?) + 40 == packet.len() => 40,
            _ => return None,
        };
        let (offset, flags) = (packet.get(transport + OFFSET)?, packet.get(transport + FLAGS)?);
        let data = transport + usize::from(offset >> 4) * 4;
        let plain = offset & 0xf == 0 && flags & !(PSH | ECE) == ACK;
        (plain && data >= transport + 20 && packet.len() > data).then_some(Self { transport, data })
    }

    /// The sum of the pseudo header for a segment of this length.
    fn pseudo(self, packet: &[u8], length: usize) -> u64 {
        let addresses = if self.transport == 20 { 12..20 } else { 8..40 };
        sum(&packet[addresses]) + sum(&[0, 6]) + sum(&(length as u32).to_be_bytes())
    }

    /// Whether the checksums are right.
    fn is_right(self, packet: &[u8]) -> bool {
        let (network, segment) = packet.split_at(self.transport);
        let is_v6 = self.transport == 40;
        (is_v6 || fold(sum(network)) == u16::MAX)
            && fold(sum(segment) + self.pseudo(packet, segment.len())) == u16::MAX
    }

    /// Whether the headers of two packets with these parts agree in all that a cut repeats.
    fn agree(self, one: &[u8], other: &[u8]) -> bool {
        let network: &[Range<usize>] =
            if self.transport == 20 { &[0..2, 6..10, 12..20] } else { &[0..4, 6..40] };
        // Ports; acknowledgment and offset; window; urgent pointer and options.
        let at = self.transport;
        let tcp = [at..at + 4, at + 8..at + 13, at + 14..at + 16, at + 18..self.data];
        let mut ranges = network.iter().chain(&tcp).cloned();
        let flags = (one[at + FLAGS] ^ other[at + FLAGS]) & !PSH;
        ranges.all(|range| one[range.clone()] == other[range]) && flags == 0
    }

    fn sequence(self, packet: &[u8]) -> u32 {
        packet[self.transport..][SEQUENCE].iter().fold(0, |value, &byte| value << 8 | u32::from(byte))
    }

    /// IPv4's identification.
    fn identification(self, packet: &[u8]) -> Option<u16> {
        (self.transport == 20).then(|| u16::from_be_bytes([packet[4], packet[5]]))
    }
}

/// Packets to be written to the kernel together, coalesced into one if there are several.
#[derive(Debug)]
pub struct Run {
    /// Octets of the header in front: none where the device has no offloads.
    front: usize,
    /// That header, the headers of the first packet, and the data of all.
    bytes: Vec<u8>,
    packets: u16,
    /// Offsets in the first packet; set once there is a second.
    parts: Option<Parts>,
    /// Data in each packet but the last.
    size: usize,
    /// The last packet had less data, or PSH: none follows.
    ended: bool,
}

impl Run {
    /// No packet yet, for a device with offloads or without.
    pub fn new(offloads: bool) -> Self {
        let front = if offloads { HEADER_BYTES } else { 0 };
        let bytes = Vec::with_capacity(front + MOST_BYTES);
        Self { front, bytes, packets: 0, parts: None, size: 0, ended: false }
    }

    /// How many there are.
    pub fn packets(&self) -> u16 {
        self.packets
    }

    /// Takes a packet, any if there is none yet; returns whether it belongs to the run.
    pub fn add(&mut self, packet: &[u8]) -> bool {
        if self.packets == 0 {
            self.bytes.clear();
            self.bytes.resize(self.front, 0);
            self.bytes.extend_from_slice(packet);
            (self.packets, self.parts, self.ended) = (1, None, false);
            return true;
        }
        let Some(Parts { transport, data }) = self.next(packet) else { return false };
        let pushed = packet[transport + FLAGS] & PSH;
        self.bytes[self.front + transport + FLAGS] |= pushed;
        self.bytes.extend_from_slice(&packet[data..]);
        self.packets += 1;
        self.ended = pushed != 0 || packet.len() - data < self.size;
        true
    }

    /// The parts of a packet that continues the run.
    fn next(&mut self, packet: &[u8]) -> Option<Parts> {
        let first = &self.bytes[self.front..];
        if self.front == 0 || self.ended || first.len() + packet.len() > MOST_BYTES {
            return None;
        }
        let parts = Parts::of(packet)?;
        if self.parts.is_none() {
            let own = Parts::of(first)?;
            (own.is_right(first) && first[own.transport + FLAGS] & PSH == 0).then_some(())?;
            (self.parts, self.size) = (Some(own), first.len() - own.data);
        }
        if self.parts != Some(parts) {
            return None;
        }
        let sequence = parts.sequence(first).wrapping_add((first.len() - parts.data) as u32);
        let is_next = packet.len() - parts.data <= self.size
            && parts.sequence(packet) == sequence
            && parts.identification(packet)
                == parts.identification(first).map(|id| id.wrapping_add(self.packets))
            && parts.agree(first, packet)
            && parts.is_right(packet);
        is_next.then_some(parts)
    }

    /// The octets to write, with the header in front; then the run is empty.
    pub fn take(&mut self) -> &[u8] {
        if self.packets > 1
            && let Some(parts) = self.parts
        {
            let (front, packet) = self.bytes.split_at_mut(self.front);
            let (transport, is_v6) = (parts.transport, parts.transport == 40);
            let pseudo = fold(parts.pseudo(packet, packet.len() - transport));
            let (network, segment) = packet.split_at_mut(transport);
            write_length(network, segment.len() as u16, 0);
            segment[CHECKSUM].copy_from_slice(&pseudo.to_ne_bytes());
            let header = Header {
                flags: NEEDS_CHECKSUM,
                kind: if is_v6 { TCP_V6 } else { TCP_V4 },
                headers: parts.data as u16,
                size: self.size as u16,
                transport: transport as u16,
                checksum: CHECKSUM.start as u16,
            };
            header.write(front);
        }
        self.packets = 0;
        &self.bytes
    }
}
