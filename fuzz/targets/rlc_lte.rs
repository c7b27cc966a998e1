//! Octets as PDUs of LTE's RLC: what can be read can be written, and reads the same again.
#![no_main]

use airpath_core::wire::rlc_lte::{Pdu, UmdPdu};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(pdu) = Pdu::decode(bytes) {
        let again = pdu.encode().expect("what was read can be written");
        assert!(again.len() <= bytes.len());
        assert_eq!(Pdu::decode(&again), Ok(pdu));
    }
    for sn_bits in [5, 10] {
        if let Ok(pdu) = UmdPdu::decode(bytes, sn_bits) {
            let again = pdu.encode(sn_bits).expect("what was read can be written");
            assert!(again.len() <= bytes.len());
            assert_eq!(UmdPdu::decode(&again, sn_bits), Ok(pdu));
        }
    }
});
