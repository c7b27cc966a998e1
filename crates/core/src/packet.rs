//! One IP packet as the models see it: parsed header fields, length, and a body that simulation
//! leaves out.
//!
//! TCP is carried field by field, so that no box on the path parses or builds bytes. Whatever is
//! not readable TCP (UDP, ICMP, ESP, fragments) is [`Kind::Opaque`]: it has a length and, in live
//! use, its bytes, and passes every box unchanged. Sequence numbers are those of the wire, 32 bit
//! and wrapping; endpoints unwrap them.
//!
//! Packets are always in a `Box` from the pool of the path: passing a pointer costs less than copying 64 bytes that
//! were just written.

pub mod mptcp;

use crate::time::Instant;
use mptcp::Mptcp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Direction of travel. Downlink is towards the UE, uplink towards the server.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Dir {
    /// Server to UE.
    #[default]
    Downlink = 0,
    /// UE to server.
    Uplink = 1,
}

impl Dir {
    /// Both directions, downlink first.
    pub const BOTH: [Self; 2] = [Self::Downlink, Self::Uplink];

    /// The opposite direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Downlink => Self::Uplink,
            Self::Uplink => Self::Downlink,
        }
    }

    /// The value for this direction.
    pub fn pick<T>(self, downlink: T, uplink: T) -> T {
        match self {
            Self::Downlink => downlink,
            Self::Uplink => uplink,
        }
    }

    /// 0 for downlink, 1 for uplink.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in configuration, columns and random streams.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Downlink => "downlink",
            Self::Uplink => "uplink",
        }
    }
}

/// What the models can read of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Kind {
    /// TCP over IP with a readable header: every field is valid.
    #[default]
    Tcp,
    /// Anything else; only `ue`, `flow`, `len`, IP version and `body` mean something to a box. A simulated host
    /// has uses of its own for the others: see `host/datagrams`.
    Opaque(Opaque),
}

/// Why the TCP header of a packet cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opaque {
    /// UDP, ICMP or any other protocol above IP.
    OtherProtocol,
    /// Encrypted: ESP or AH before the payload.
    Encrypted,
    /// A fragment of an IP packet.
    Fragment,
    /// An IP or TCP header that is inconsistent or truncated.
    Malformed,
}

impl Kind {
    const OPAQUE: [Opaque; 4] =
        [Opaque::OtherProtocol, Opaque::Encrypted, Opaque::Fragment, Opaque::Malformed];

    /// The kind as a number below 8.
    const fn code(self) -> u8 {
        match self {
            Self::Tcp => 0,
            Self::Opaque(why) => 1 + why as u8,
        }
    }

    const fn of(code: u8) -> Self {
        match code {
            0 => Self::Tcp,
            code => Self::Opaque(Self::OPAQUE[(code - 1) as usize & 3]),
        }
    }
}

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IpVersion {
    /// IPv4, 20-byte header.
    #[default]
    Ipv4,
    /// IPv6, 40-byte header.
    Ipv6,
}

impl IpVersion {
    /// Header length in bytes, options and extension headers not counted.
    pub const fn header_bytes(self) -> u32 {
        match self {
            Self::Ipv4 => 20,
            Self::Ipv6 => 40,
        }
    }
}

/// TCP control bits, RFC 9293 (3.1), with the bit numbers of the header.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push function.
    pub const PSH: Self = Self(0x008);
    /// Acknowledgment field is significant.
    pub const ACK: Self = Self(0x010);
    /// Urgent pointer field is significant.
    pub const URG: Self = Self(0x020);
    /// ECN echo, RFC 3168.
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced, RFC 3168.
    pub const CWR: Self = Self(0x080);
    /// Accurate ECN, formerly the nonce sum.
    pub const AE: Self = Self(0x100);
    /// The bits of accurate ECN's counter, or of its negotiation: RFC 9768 (3.1.1), (3.2.2).
    pub const ACE: Self = Self(Self::AE.0 | Self::CWR.0 | Self::ECE.0);
    /// Radio network feedback of \[jayanathan\]: the same bit, which was reserved then.
    pub const RNF: Self = Self::AE;

    /// With ACK and no data: a NACK of `middlebox.snoop`, whose SACK blocks report what has arrived over the radio. The
    /// PSH bit, otherwise unused without data, distinguishes it from a receiver's ACK that a box has flagged.
    pub const NACK: Self = Self(Self::RNF.0 | Self::PSH.0);

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [&str; 9] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE"];
        let set: Vec<&str> =
            NAMES.iter().enumerate().filter(|(i, _)| self.0 & (1 << i) != 0).map(|(_, name)| *name).collect();
        f.write_str(&set.join("|"))
    }
}

/// SACK blocks of a header, RFC 2018 (3): at most four, three next to timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks {
    count: u8,
    blocks: [(u32, u32); Self::MAX],
}

impl SackBlocks {
    /// Blocks kept. A fourth, possible only without timestamps, is not modelled.
    pub const MAX: usize = 3;
    /// No blocks.
    pub const NONE: Self = Self { count: 0, blocks: [(0, 0); Self::MAX] };

    /// Adds a block; returns false and does nothing when full.
    pub fn push(&mut self, left: u32, right: u32) -> bool {
        let free = (self.count as usize) < Self::MAX;
        if free {
            self.blocks[self.count as usize] = (left, right);
            self.count += 1;
        }
        free
    }

    /// Keeps at most `count` blocks, the first ones.
    pub fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count.min(Self::MAX) as u8);
    }

    /// The blocks as (left edge, right edge).
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count as usize]
    }
}

/// The option of accurate ECN, RFC 9768 (3.2.3): payload that has arrived with each mark, bytes modulo 2^24. Counters at the
/// end may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EcnBytes {
    /// Order of the counters; `None` without the option.
    order: Option<EcnOrder>,
    count: u8,
    counters: [u32; Self::MAX],
}

/// In which order the counters stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnOrder {
    /// ECT(0), CE, ECT(1): kind 172.
    Ect0First,
    /// ECT(1), CE, ECT(0): kind 174.
    Ect1First,
}

impl EcnBytes {
    /// Counters at most.
    pub const MAX: usize = 3;
    /// No option.
    pub const NONE: Self = Self { order: None, count: 0, counters: [0; Self::MAX] };

    /// The option with these counters; counters after the third are ignored.
    pub fn new(order: EcnOrder, counters: impl IntoIterator<Item = u64>) -> Self {
        let mut option = Self { order: Some(order), ..Self::NONE };
        for (slot, counter) in option.counters.iter_mut().zip(counters) {
            (*slot, option.count) = (counter as u32 & 0xff_ffff, option.count + 1);
        }
        option
    }

    /// In which order the counters stand; `None` if there is no option.
    pub fn order(&self) -> Option<EcnOrder> {
        self.order
    }

    /// The counters in the option's order.
    pub fn as_slice(&self) -> &[u32] {
        &self.counters[..usize::from(self.count)]
    }

    /// The counters of ECT(0), CE and ECT(1); `None` for those the option leaves out.
    pub fn by_mark(&self) -> [Option<u32>; Self::MAX] {
        let [first, ce, last] = [0, 1, 2].map(|at| self.as_slice().get(at).copied());
        if self.order == Some(EcnOrder::Ect1First) { [last, ce, first] } else { [first, ce, last] }
    }

    /// Octets of the option, with the NOPs that fill them up to whole words; 0 if there is none.
    pub fn padded_bytes(&self) -> u32 {
        if self.order.is_some() { (2 + 3 * u32::from(self.count)).next_multiple_of(4) } else { 0 }
    }
}

/// TCP options that few packets carry; timestamps, which all or none carry, have fields of the packet.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// MSS option of a SYN in bytes, 0 if absent.
    pub mss: u16,
    /// Window scale option of a SYN plus one, 0 if absent.
    pub window_scale_plus_1: u8,
    /// Whether a SYN permits SACK.
    pub sack_permitted: bool,
    /// SACK option.
    pub sack: SackBlocks,
    /// Byte counters of accurate ECN.
    pub ecn: EcnBytes,
    /// Number of NOP octets that replace an option removed by a box.
    pub nops: u8,
    /// Multipath TCP.
    pub mptcp: Option<Mptcp>,
}

/// Options of a packet without options.
static NO_OPTIONS: Options = Options {
    mss: 0,
    window_scale_plus_1: 0,
    sack_permitted: false,
    sack: SackBlocks::NONE,
    ecn: EcnBytes::NONE,
    nops: 0,
    mptcp: None,
};

/// The packet's bytes from the first byte of the IP header, in live use.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Body {
    /// The IP packet as read from the device.
    pub bytes: Vec<u8>,
    /// Set by a box that changed a header field: the driver must re-encode the packet.
    pub touched: bool,
    /// The bytes are a note of a simulated host to the other, not the packet's own.
    pub is_note: bool,
}

impl Body {
    /// A packet as read from a device.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, touched: false, is_note: false }
    }

    /// A note of a simulated host.
    pub fn note(bytes: Vec<u8>) -> Self {
        Self { bytes, touched: false, is_note: true }
    }
}

/// Kind of a packet, in one octet: readable TCP or why not, the IP version, the ECN field, and whether the packet
/// precedes the end of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Form(u8);

impl Form {
    const ECN: u8 = 0b0000_0011;
    const IPV6: u8 = 0b0000_0100;
    const PRECEDES_END: u8 = 0b0000_1000;
    const KIND: u8 = 0b0111_0000;
    const CORRUPT: u8 = 0b1000_0000;

    /// TCP over IPv4, not ECN-capable: the default.
    pub const TCP: Self = Self(0);

    const fn with(self, mask: u8, bits: u8) -> Self {
        Self(self.0 & !mask | bits & mask)
    }

    /// This form with ECN field `ecn`; only its two lowest bits are used.
    #[must_use]
    pub const fn with_ecn(self, ecn: u8) -> Self {
        self.with(Self::ECN, ecn)
    }

    /// This form with another version of IP.
    #[must_use]
    pub const fn with_ip(self, ip: IpVersion) -> Self {
        self.with(Self::IPV6, if matches!(ip, IpVersion::Ipv6) { Self::IPV6 } else { 0 })
    }

    /// This form with another kind of packet.
    #[must_use]
    pub const fn with_kind(self, kind: Kind) -> Self {
        self.with(Self::KIND, kind.code() << Self::KIND.trailing_zeros())
    }

    /// This form, before the end of a transfer or not.
    const fn with_precedes_end(self, precedes: bool) -> Self {
        self.with(Self::PRECEDES_END, if precedes { Self::PRECEDES_END } else { 0 })
    }
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let packet = Packet { form: *self, ..Packet::default() };
        let (kind, ip, ecn) = (packet.kind(), packet.ip(), packet.ecn());
        write!(f, "{kind:?} {ip:?} ecn {ecn}{}", if packet.precedes_end() { " precedes end" } else { "" })
    }
}

/// One IP packet.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Packet {
    /// Bytes of the packet; `None` ("virtual") in simulation. Boxed: it is absent where speed counts.
    pub body: Option<Box<Body>>,
    /// Options other than timestamps. Boxed to keep the packet in few cache lines, since every element on its path
    /// touches it.
    pub options: Option<Box<Options>>,
    /// When a host sent the data in it, or a box that splits the connection; of a packet without TCP the stamp of its
    /// application; of no meaning in other packets. A copy has its
    /// original's.
    pub sent_at: Instant,
    /// Sequence number of the first payload byte (or of SYN/FIN).
    pub seq: u32,
    /// Acknowledgment number; valid with [`Flags::ACK`].
    pub ack: u32,
    /// Timestamps option (TSval, TSecr), RFC 7323.
    pub ts_val: u32,
    /// Echoed timestamp; valid with [`Flags::ACK`].
    pub ts_ecr: u32,
    /// Length of the IP packet in bytes, IP header included.
    pub len: u32,
    /// TCP payload in bytes.
    pub payload: u32,
    /// Number of the packet in its run, from 1, in the order in which packets are made; a copy has a number of its own. 0
    /// outside of a run. Events name packets by it.
    pub id: u32,
    /// Number of the UE.
    pub ue: u16,
    /// Number of the flow among the flows of its UE.
    pub flow: u16,
    /// Window field as on the wire: not yet scaled.
    pub window: u16,
    /// Identification of the IP header for captures; unused otherwise.
    pub identification: u16,
    /// TCP control bits. They and the next two fields fill a word, which [`Packet::clear`] overwrites at once.
    pub flags: Flags,
    /// Whether the timestamps option is present.
    pub has_timestamps: bool,
    /// Kind, IP version and ECN field, for which the packet has methods.
    pub form: Form,
}

impl Packet {
    /// Values of the ECN field, RFC 3168 (5): not ECN-capable.
    pub const NOT_ECT: u8 = 0;
    /// ECN-capable, of a sender that reduces its rate in proportion to marks (RFC 9331).
    pub const ECT_1: u8 = 1;
    /// ECN-capable, the usual code point.
    pub const ECT_0: u8 = 2;
    /// Congestion experienced.
    pub const CE: u8 = 3;

    /// Makes a used packet ready for its next user: no body, no options, no marks. The numbers (`id`, `seq`,
    /// `ack`, `sent_at`, `ts_*`, `len`, `payload`, `ue`, `flow`, `window`, `identification`) keep their old values, since every
    /// header has them; the code that takes a packet from the pool sets them.
    #[inline]
    pub fn clear(&mut self) {
        if self.body.is_some() {
            self.body = None;
        }
        if self.options.is_some() {
            self.options = None;
        }
        self.flags = Flags::default();
        self.has_timestamps = false;
        self.form = Form::TCP;
    }

    /// Overwrites the numbers that [`Packet::clear`] keeps: in debug builds a packet with a number that was not set is wrong.
    pub(crate) fn spoil(&mut self) {
        const BAD: u32 = 0xbad;
        (self.seq, self.ack, self.ts_val, self.ts_ecr) = (BAD, BAD, BAD, BAD);
        (self.len, self.payload, self.window, self.identification) = (BAD, BAD, BAD as u16, BAD as u16);
        (self.ue, self.flow, self.sent_at) = (BAD as u16, BAD as u16, Instant::NEVER);
    }

    /// Readable TCP, or why not.
    #[inline]
    pub const fn kind(&self) -> Kind {
        Kind::of((self.form.0 & Form::KIND) >> Form::KIND.trailing_zeros())
    }

    /// Makes the packet one of another kind.
    pub fn set_kind(&mut self, kind: Kind) {
        self.form = self.form.with_kind(kind);
    }

    /// IP version.
    #[inline]
    pub const fn ip(&self) -> IpVersion {
        if self.form.0 & Form::IPV6 == 0 { IpVersion::Ipv4 } else { IpVersion::Ipv6 }
    }

    /// Sets the IP version.
    #[inline]
    pub fn set_ip(&mut self, ip: IpVersion) {
        self.form = self.form.with_ip(ip);
    }

    /// ECN field of the IP header, RFC 3168 (5): 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    #[inline]
    pub const fn ecn(&self) -> u8 {
        self.form.0 & Form::ECN
    }

    /// Sets the ECN field; only the two lowest bits of `ecn` are used.
    #[inline]
    pub fn set_ecn(&mut self, ecn: u8) {
        self.form = self.form.with_ecn(ecn);
    }

    /// Whether the transfer of this packet ends with something that is sent after it, and over the same path: a simulated host
    /// says so.
    #[inline]
    pub const fn precedes_end(&self) -> bool {
        self.form.0 & Form::PRECEDES_END != 0
    }

    /// Says whether the transfer of this packet ends with something that is sent after it.
    #[inline]
    pub fn set_precedes_end(&mut self, precedes: bool) {
        self.form = self.form.with_precedes_end(precedes);
    }

    /// Whether bits of the packet were flipped in transit, so that its checksum is wrong: a simulated host drops it.
    #[inline]
    pub const fn is_corrupt(&self) -> bool {
        self.form.0 & Form::CORRUPT != 0
    }

    /// Flips a bit of the packet: the checksum of the transport header no longer fits, RFC 9293 (3.1), RFC 768. `position` is
    /// taken modulo the octets that it covers.
    pub fn corrupt(&mut self, position: u64) {
        self.form = self.form.with(Form::CORRUPT, Form::CORRUPT);
        let header = self.ip().header_bytes() as usize;
        if let Some(body) = self.body.as_mut().filter(|body| !body.is_note)
            && let Some(covered) = body.bytes.get_mut(header..)
            && !covered.is_empty()
        {
            let place = position / 8 % covered.len() as u64;
            covered[place as usize] ^= 1 << (position % 8);
        }
    }

    /// Options other than timestamps.
    pub fn options(&self) -> &Options {
        self.options.as_deref().unwrap_or(&NO_OPTIONS)
    }

    /// Options other than timestamps, mutable.
    pub fn options_mut(&mut self) -> &mut Options {
        self.options.get_or_insert_default()
    }

    /// A header field has changed.
    fn touch(&mut self) {
        if let Some(body) = &mut self.body {
            body.touched = true;
        }
    }

    /// Whether the packet may be marked instead of dropped.
    pub fn can_be_marked(&self) -> bool {
        self.ecn() != Self::NOT_ECT
    }

    /// Marks a packet that can be marked: it has met congestion, RFC 3168 (5).
    pub fn mark(&mut self) {
        self.set_ecn(Self::CE);
        self.touch();
    }

    /// Writes the acknowledgment number and the window.
    pub fn write_ack(&mut self, ack: u32, window: u16) {
        (self.ack, self.window) = (ack, window);
        self.touch();
    }

    /// Sets the RNF bit: \[jayanathan\] section 4.
    pub fn flag_radio_loss(&mut self) {
        self.flags = self.flags | Flags::RNF;
        self.touch();
    }

    /// The counter of CE marks of accurate ECN, modulo 8: RFC 9768 (3.2.2).
    pub fn ace(&self) -> u8 {
        (self.flags.0 >> 6 & 7) as u8
    }

    /// Sets it.
    pub fn set_ace(&mut self, ace: u8) {
        self.flags = Flags(self.flags.0 & !Flags::ACE.0 | u16::from(ace & 7) << 6);
    }

    /// Whether there are SACK blocks.
    pub fn has_blocks(&self) -> bool {
        self.options.as_ref().is_some_and(|options| options.sack.count > 0)
    }

    /// Takes the SACK blocks out; NOPs take their place.
    pub fn hide_blocks(&mut self) {
        let blocks = self.options().sack.count;
        if blocks == 0 {
            return;
        }
        let options = self.options_mut();
        options.sack = SackBlocks::NONE;
        options.nops += 4 + 8 * blocks;
        self.touch();
    }

    /// Whether every TCP field is valid.
    pub fn is_tcp(&self) -> bool {
        self.form.0 & Form::KIND == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_fits_the_memory_budget() {
        assert!(size_of::<Packet>() <= 64, "{} bytes", size_of::<Packet>());
    }

    #[test]
    fn parts_of_the_form_are_apart() {
        let kinds = Kind::OPAQUE.map(Kind::Opaque);
        for (kind, other) in [Kind::Tcp].iter().chain(&kinds).zip(kinds.iter().chain(&[Kind::Tcp])) {
            for (ip, ecn) in [(IpVersion::Ipv4, Packet::CE), (IpVersion::Ipv6, Packet::ECT_1)] {
                let form = Form::TCP.with_kind(*other).with_kind(*kind).with_ip(ip).with_ecn(ecn);
                let mut packet = Packet { form, ..Packet::default() };
                for precedes_end in [true, false] {
                    packet.set_precedes_end(precedes_end);
                    let parts = (packet.kind(), packet.ip(), packet.ecn(), packet.precedes_end());
                    assert_eq!(parts, (*kind, ip, ecn, precedes_end));
                    assert_eq!(packet.is_tcp(), *kind == Kind::Tcp);
                }
            }
        }
    }

    #[test]
    fn a_fourth_sack_block_is_refused() {
        let mut sack = SackBlocks::default();
        assert!(sack.push(1, 2) && sack.push(3, 4) && sack.push(5, 6));
        assert!(!sack.push(7, 8));
        assert_eq!(sack.as_slice(), [(1, 2), (3, 4), (5, 6)]);
    }

    #[test]
    fn flags_print_their_rfc_names() {
        assert_eq!(format!("{:?}", Flags::SYN | Flags::ACK), "SYN|ACK");
    }
}
