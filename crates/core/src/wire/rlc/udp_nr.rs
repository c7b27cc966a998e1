//! The framings with which Wireshark's dissectors `rlc-nr`, `pdcp-nr` and `mac-nr` recognise PDUs in UDP datagrams.
//!
//! Source: Wireshark's wiki pages "RLC-NR", "PDCP-NR" and "MAC-NR", and the behaviour of Wireshark 4.0. Format: a name
//! and fixed fields, then fields of a tag and a value of fixed length, then the tag of the PDU, which extends to the
//! end of the datagram. The dissectors are off by default; enable them with `tshark --enable-heuristic rlc_nr_udp`,
//! `pdcp_nr_udp`, `mac_nr_udp`.

use crate::packet::Dir;

const TAG_PDU: u8 = 1;
const DRB: u8 = 5;
/// A data radio bearer's plane in `pdcp-nr`.
const USER_PLANE: u8 = 2;
const UM: u8 = 2;
const AM: u8 = 4;
const C_RNTI: u8 = 3;

fn is_downlink(dir: Dir) -> u8 {
    u8::from(dir == Dir::Downlink)
}

/// The framing before an RLC PDU.
pub(super) fn rlc(acknowledged: bool, sn_bits: u8, dir: Dir, ue: u16, bearer: u8) -> Vec<u8> {
    let [high, low] = ue.to_be_bytes();
    let mut octets = b"rlc-nr".to_vec();
    octets.extend_from_slice(&[if acknowledged { AM } else { UM }, sn_bits]);
    octets.extend_from_slice(&[2, is_downlink(dir), 3, high, low, 4, DRB, 5, bearer, TAG_PDU]);
    octets
}

/// The framing before a PDCP PDU.
pub(super) fn pdcp(sn_bits: u8, dir: Dir, ue: u16, bearer: u8) -> Vec<u8> {
    let [high, low] = ue.to_be_bytes();
    let mut octets = b"pdcp-nr".to_vec();
    octets.extend_from_slice(&[USER_PLANE, 2, sn_bits, 3, is_downlink(dir)]);
    octets.extend_from_slice(&[4, DRB, 5, bearer, 6, high, low, TAG_PDU]);
    octets
}

/// The framing before a MAC PDU; `radio_type` is 1 for FDD and 2 for TDD.
pub(super) fn mac(radio_type: u8, dir: Dir, ue: u16) -> Vec<u8> {
    let [high, low] = ue.to_be_bytes();
    let mut octets = b"mac-nr".to_vec();
    octets.extend_from_slice(&[radio_type, is_downlink(dir), C_RNTI]);
    octets.extend_from_slice(&[2, high, low, 3, high, low, TAG_PDU]);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framing_names_mode_direction_and_bearer() {
        assert_eq!(
            rlc(true, 18, Dir::Downlink, 0x0102, 5),
            b"rlc-nr\x04\x12\x02\x01\x03\x01\x02\x04\x05\x05\x05\x01"
        );
        assert_eq!(
            rlc(false, 6, Dir::Uplink, 1, 5),
            b"rlc-nr\x02\x06\x02\x00\x03\x00\x01\x04\x05\x05\x05\x01"
        );
        assert_eq!(
            pdcp(12, Dir::Uplink, 1, 5),
            b"pdcp-nr\x02\x02\x0c\x03\x00\x04\x05\x05\x05\x06\x00\x01\x01"
        );
        assert_eq!(mac(1, Dir::Downlink, 2), b"mac-nr\x01\x01\x03\x02\x00\x02\x03\x00\x02\x01");
    }
}
