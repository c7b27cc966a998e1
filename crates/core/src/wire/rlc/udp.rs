//! RLC PDUs in UDP datagrams, for captures, with the framing that Wireshark's dissector `rlc` recognises by its first
//! octets. LTE and NR have their own framings.
//!
//! Source: Wireshark's wiki page "RLC", and the behaviour of Wireshark 4.0. Format: a name, then fields of a tag and a
//! value of fixed length, then the tag of the PDU, which extends to the end of the datagram. The dissector is off by
//! default; enable it with `tshark --enable-heuristic rlc_udp`. The channel is named as one that carries packets (PS
//! DTCH), so Wireshark also decodes the packets that it reassembles. It loses synchronisation when sequence numbers
//! wrap, after 4096 PDUs.

use std::net::SocketAddrV4;

use crate::packet::Dir;
use crate::wire::datagram::{Headers, IP_OCTETS, UDP_OCTETS};

use super::{amd, udp_lte, udp_nr, umd};

/// Owner of the PDUs; Wireshark tracks each channel separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Direction of the PDUs.
    pub dir: Dir,
    /// Number of the UE (U-RNTI), not 0: Wireshark does not follow a UE 0.
    pub urnti: u32,
    /// Number of the radio bearer.
    pub radio_bearer: u8,
}

/// The mode of a PDU, which the PDU itself does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Transparent.
    Tm,
    /// Unacknowledged.
    Um,
    /// Acknowledged.
    Am,
    /// Unacknowledged, of LTE, with 5 bits of sequence number.
    LteUm5,
    /// Unacknowledged, of LTE, with 10 bits of sequence number.
    LteUm10,
    /// Acknowledged, of LTE.
    LteAm,
    /// A PDU of LTE's PDCP instead of RLC.
    LtePdcp {
        /// Bits of a sequence number.
        sn_bits: u8,
    },
    /// A PDU of LTE's MAC instead of RLC.
    LteMac,
    /// Acknowledged, of NR.
    NrAm {
        /// Bits of a sequence number.
        sn_bits: u8,
    },
    /// Unacknowledged, of NR.
    NrUm {
        /// Bits of a sequence number.
        sn_bits: u8,
    },
    /// A PDU of NR's PDCP instead of RLC.
    NrPdcp {
        /// Bits of a sequence number.
        sn_bits: u8,
    },
    /// A PDU of NR's MAC instead of RLC.
    NrMac {
        /// Whether the cell uses time division duplex (TDD).
        is_tdd: bool,
    },
}

impl Mode {
    /// Largest PDU whose length indicators have 7 bits, octets.
    const fn largest_with_short_li(self) -> usize {
        match self {
            Self::Tm | Self::Um => umd::LARGEST_WITH_SHORT_LI,
            _ => amd::LARGEST_WITH_SHORT_LI,
        }
    }
}

/// An IPv4 packet with a UDP datagram that holds `pdu`, of acknowledged mode. A PDU longer than a datagram is
/// cut.
pub fn datagram(channel: Channel, pdu: &[u8]) -> Vec<u8> {
    datagram_of(Mode::Am, channel, pdu)
}

/// A datagram with a PDU of any mode.
pub fn datagram_of(mode: Mode, channel: Channel, pdu: &[u8]) -> Vec<u8> {
    let (ue, bearer) = (channel.urnti as u16, channel.radio_bearer.into());
    let framing = match mode {
        Mode::Tm => framing(mode, TM, channel, pdu.len()),
        Mode::Um => framing(mode, UM, channel, pdu.len()),
        Mode::Am => framing(mode, AM, channel, pdu.len()),
        Mode::LteUm5 => udp_lte::framing(Some(5), channel.dir, ue, bearer),
        Mode::LteUm10 => udp_lte::framing(Some(10), channel.dir, ue, bearer),
        Mode::LteAm => udp_lte::framing(None, channel.dir, ue, bearer),
        Mode::LtePdcp { sn_bits } => udp_lte::pdcp(sn_bits, channel.dir, ue, bearer),
        Mode::LteMac => udp_lte::mac(channel.dir, ue),
        Mode::NrAm { sn_bits } => udp_nr::rlc(true, sn_bits, channel.dir, ue, channel.radio_bearer),
        Mode::NrUm { sn_bits } => udp_nr::rlc(false, sn_bits, channel.dir, ue, channel.radio_bearer),
        Mode::NrPdcp { sn_bits } => udp_nr::pdcp(sn_bits, channel.dir, ue, channel.radio_bearer),
        Mode::NrMac { is_tdd } => udp_nr::mac(if is_tdd { TDD } else { FDD }, channel.dir, ue),
    };
    let room = usize::from(u16::MAX) - IP_OCTETS - UDP_OCTETS - framing.len();
    let mut bytes = vec![0; IP_OCTETS + UDP_OCTETS];
    bytes.extend_from_slice(&framing);
    bytes.extend_from_slice(&pdu[..pdu.len().min(room)]);
    let uplink = channel.dir == Dir::Uplink;
    let (src, dst) = if uplink { (UE, NETWORK) } else { (NETWORK, UE) };
    let [src, dst] = [src, dst].map(|address| SocketAddrV4::new(address.into(), PORT));
    let headers = Headers { src, dst, traffic_class: 0, identification: 0, has_udp_checksum: false };
    headers.put(&mut bytes);
    bytes
}

/// The framing before a PDU of UMTS with `octets` octets.
fn framing(mode: Mode, number: u8, channel: Channel, octets: usize) -> Vec<u8> {
    let mut bytes = NAME.to_vec();
    bytes.extend_from_slice(&[TAG_MODE, number]);
    let uplink = channel.dir == Dir::Uplink;
    bytes.extend_from_slice(&[TAG_DIRECTION, if uplink { UPLINK } else { DOWNLINK }]);
    bytes.push(TAG_URNTI);
    bytes.extend_from_slice(&channel.urnti.to_be_bytes());
    bytes.extend_from_slice(&[TAG_RADIO_BEARER, channel.radio_bearer]);
    let li_size = if octets <= mode.largest_with_short_li() { LI_7_BITS } else { LI_15_BITS };
    bytes.extend_from_slice(&[TAG_LI_SIZE, li_size, TAG_CHANNEL_TYPE, PS_DTCH, TAG_PDU]);
    bytes
}

const NAME: &[u8] = b"umts-rlc";
const TAG_PDU: u8 = 1;
const TAG_CHANNEL_TYPE: u8 = 2;
const TAG_MODE: u8 = 3;
const TAG_DIRECTION: u8 = 4;
const TAG_URNTI: u8 = 5;
const TAG_RADIO_BEARER: u8 = 6;
const TAG_LI_SIZE: u8 = 7;

const TM: u8 = 0;
const UM: u8 = 1;
const AM: u8 = 2;
const PS_DTCH: u8 = 4;
const UPLINK: u8 = 0;
const DOWNLINK: u8 = 1;
const LI_7_BITS: u8 = 1;
const LI_15_BITS: u8 = 2;

/// Radio types of `mac-nr`: frequency and time division.
const FDD: u8 = 1;
const TDD: u8 = 2;

/// A dynamic port (RFC 6335, 6), which no dissector claims.
const PORT: u16 = 65_322;
/// Addresses for documentation (RFC 5737).
const NETWORK: [u8; 4] = [192, 0, 2, 1];
const UE: [u8; 4] = [192, 0, 2, 2];

#[cfg(test)]
mod tests {
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    use super::*;

    /// Name, five tags with an octet each, one with four, and the tag of the PDU.
    const FRAMING_OCTETS: usize = NAME.len() + 5 * 2 + 5 + 1;

    #[test]
    fn a_datagram_is_whole_and_goes_the_way_of_its_pdu() {
        let channel = Channel { dir: Dir::Uplink, urnti: 0x0102_0304, radio_bearer: 5 };
        let bytes = datagram(channel, &[0xaa; 42]);
        let packet = SlicedPacket::from_ip(&bytes).unwrap();
        let Some(NetSlice::Ipv4(ip)) = packet.net else { panic!("{packet:?}") };
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        assert_eq!((header.source, header.destination), (UE, NETWORK));
        let Some(TransportSlice::Udp(udp)) = packet.transport else { panic!("no UDP") };
        let (framing, pdu) = udp.payload().split_at(FRAMING_OCTETS);
        assert_eq!(framing, b"umts-rlc\x03\x02\x04\x00\x05\x01\x02\x03\x04\x06\x05\x07\x01\x02\x04\x01");
        assert_eq!(pdu, [0xaa; 42]);
    }

    #[test]
    fn long_pdus_have_long_length_indicators_and_no_datagram_is_too_long() {
        let channel = Channel { dir: Dir::Downlink, urnti: 0, radio_bearer: 1 };
        let long = datagram(channel, &[0; 127]);
        assert_eq!(
            long[IP_OCTETS + UDP_OCTETS + FRAMING_OCTETS - 5..][..5],
            [TAG_LI_SIZE, LI_15_BITS, TAG_CHANNEL_TYPE, PS_DTCH, TAG_PDU]
        );
        assert_eq!(datagram(channel, &[0; 70_000]).len(), 65_535);
        let um = datagram_of(Mode::Um, channel, &[0; 126]);
        let framing = &um[IP_OCTETS + UDP_OCTETS..][..FRAMING_OCTETS];
        assert_eq!((framing[9], framing[FRAMING_OCTETS - 4]), (1, LI_15_BITS));
    }
}
