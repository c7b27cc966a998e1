//! The framings with which Wireshark's dissectors `rlc-lte`, `pdcp-lte` and `mac-lte` recognise PDUs in UDP datagrams.
//!
//! Source: Wireshark's wiki pages "RLC-LTE", "PDCP-LTE" and "MAC-LTE", and the behaviour of Wireshark 4.0. Format: a name and fixed
//! fields, then fields of a tag and a value of fixed length, then the tag of the PDU, which extends to the end of the
//! datagram. The dissectors are off by default; enable them with `tshark --enable-heuristic rlc_lte_udp`,
//! `pdcp_lte_udp`, `mac_lte_udp`.

use crate::packet::Dir;

const NAME: &[u8] = b"rlc-lte";
const TAG_PDU: u8 = 1;
const TAG_SN_LENGTH: u8 = 2;
const TAG_DIRECTION: u8 = 3;
const TAG_UE: u8 = 5;
const TAG_CHANNEL_TYPE: u8 = 6;
const TAG_CHANNEL: u8 = 7;

const UM: u8 = 2;
const AM: u8 = 4;
const DRB: u16 = 5;

/// A header with a sequence number, of the user plane, without header compression.
const PDCP_FIELDS: [u8; 3] = [0, 2, 0];
const TAG_PDCP_UE: u8 = 14;
const TAG_PDCP_CHANNEL: u8 = 13;

const FDD: u8 = 1;
const C_RNTI: u8 = 3;
const TAG_RNTI: u8 = 2;
const TAG_MAC_UE: u8 = 3;

/// The framing before a PDU of unacknowledged mode, with `um_sn_bits` bits of sequence number, or of acknowledged mode.
pub(super) fn framing(um_sn_bits: Option<u8>, dir: Dir, ue: u16, bearer: u16) -> Vec<u8> {
    let mut octets = NAME.to_vec();
    match um_sn_bits {
        Some(bits) => octets.extend_from_slice(&[UM, TAG_SN_LENGTH, bits]),
        None => octets.push(AM),
    }
    octets.extend_from_slice(&[TAG_DIRECTION, u8::from(dir == Dir::Downlink)]);
    for (tag, value) in [(TAG_UE, ue), (TAG_CHANNEL_TYPE, DRB), (TAG_CHANNEL, bearer)] {
        octets.push(tag);
        octets.extend_from_slice(&value.to_be_bytes());
    }
    octets.push(TAG_PDU);
    octets
}

/// The framing before a PDCP PDU.
pub(super) fn pdcp(sn_bits: u8, dir: Dir, ue: u16, bearer: u16) -> Vec<u8> {
    let mut octets = b"pdcp-lte".to_vec();
    octets.extend_from_slice(&PDCP_FIELDS);
    octets.extend_from_slice(&[TAG_SN_LENGTH, sn_bits, TAG_DIRECTION, u8::from(dir == Dir::Downlink)]);
    for (tag, value) in [(TAG_PDCP_UE, ue), (TAG_PDCP_CHANNEL, bearer)] {
        octets.push(tag);
        octets.extend_from_slice(&value.to_be_bytes());
    }
    octets.push(TAG_PDU);
    octets
}

/// Framing in front of a MAC PDU of a cell by frequency division, for a UE whose C-RNTI is its number.
pub(super) fn mac(dir: Dir, ue: u16) -> Vec<u8> {
    let [high, low] = ue.to_be_bytes();
    let mut octets = b"mac-lte".to_vec();
    octets.extend_from_slice(&[FDD, u8::from(dir == Dir::Downlink), C_RNTI]);
    octets.extend_from_slice(&[TAG_RNTI, high, low, TAG_MAC_UE, high, low, TAG_PDU]);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framing_names_mode_direction_and_bearer() {
        assert_eq!(
            framing(None, Dir::Downlink, 0x0102, 5),
            b"rlc-lte\x04\x03\x01\x05\x01\x02\x06\x00\x05\x07\x00\x05\x01"
        );
        assert_eq!(
            framing(Some(10), Dir::Uplink, 0x0102, 5),
            b"rlc-lte\x02\x02\x0a\x03\x00\x05\x01\x02\x06\x00\x05\x07\x00\x05\x01"
        );
        assert_eq!(
            pdcp(15, Dir::Downlink, 0x0102, 5),
            b"pdcp-lte\x00\x02\x00\x02\x0f\x03\x01\x0e\x01\x02\x0d\x00\x05\x01"
        );
        assert_eq!(mac(Dir::Downlink, 2), b"mac-lte\x01\x01\x03\x02\x00\x02\x03\x00\x02\x01");
    }
}
