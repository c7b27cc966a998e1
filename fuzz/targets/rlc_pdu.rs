//! Octets as PDUs of RLC: what can be read can be written, and reads the same again.
#![no_main]

use airpath_core::wire::rlc::{Pdu, UmdPdu};
use libfuzzer_sys::fuzz_target;

/// No length indicator reaches further.
const LARGEST_PDU: usize = 32_760;

fuzz_target!(|bytes: &[u8]| {
    if bytes.len() > LARGEST_PDU {
        return;
    }
    let mut again = vec![0xff; bytes.len()];
    if let Ok(pdu) = Pdu::decode(bytes) {
        pdu.encode(&mut again).expect("what was read can be written");
        assert_eq!(Pdu::decode(&again), Ok(pdu));
    }
    if let Ok(pdu) = UmdPdu::decode(bytes) {
        pdu.encode(&mut again).expect("what was read can be written");
        assert_eq!(UmdPdu::decode(&again), Ok(pdu));
    }
});
