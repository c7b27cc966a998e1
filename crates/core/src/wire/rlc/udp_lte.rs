//! The framing with which Wireshark's dissector `rlc-lte` recognises PDUs in UDP datagrams.
//!
//! Source: Wireshark's wiki page "RLC-LTE", and what Wireshark 4.0 makes of it. A name and the mode, then fields of a
//! tag and a value of fixed length, at last the tag of the PDU, which lasts to the end of the datagram. The
//! dissector is off unless it is asked for: `tshark --enable-heuristic rlc_lte_udp`.

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

/// What goes in front of a PDU: of unacknowledged mode, with so many bits of sequence number, or of acknowledged mode.
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
    }
}
