//! STATUS PDUs: octets read as one, and reports of missing PDUs written as one.
#![no_main]

use airpath_core::wire::rlc::{Pdu, Sn, Status, StatusEnd, Sufi};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Input {
    Octets(Vec<u8>),
    Report { base: u16, gaps: Vec<u8>, beyond: u8, octets: u8 },
}

fuzz_target!(|input: Input| match input {
    Input::Octets(bytes) => read(bytes),
    Input::Report { base, gaps, beyond, octets } => report(base, &gaps, beyond, octets),
});

/// Everything behind the type of a STATUS PDU is free.
fn read(mut bytes: Vec<u8>) {
    let Some(first) = bytes.first_mut() else { return };
    *first &= 0x0f;
    let Ok(pdu) = Pdu::decode(&bytes) else { return };
    let Pdu::Status(status) = &pdu else { panic!("{pdu:?} is no STATUS PDU") };
    assert!(status.bits() <= bytes.len() * 8);
    for sufi in &status.sufis {
        // No super-field names more than its 15 pairs, 16 octets or codewords can.
        assert!(sufi.missing().len() <= 1 << 16);
    }
    let mut again = vec![0xff; bytes.len()];
    pdu.encode(&mut again).expect("what was read can be written");
    assert_eq!(Pdu::decode(&again), Ok(pdu));
}

/// The report names exactly the PDUs missing below LSN.
fn report(base: u16, gaps: &[u8], beyond: u8, octets: u8) {
    let mut sn = u64::from(base);
    let mut missing = Vec::new();
    for gap in gaps.iter().take(2000 / 8) {
        sn += u64::from(gap % 8) + 1;
        missing.push(Sn::wrap(sn));
    }
    let vr_h = Sn::wrap(sn + 1 + u64::from(beyond));
    let octets = usize::from(octets);
    let Some(status) = Status::reporting(&missing, vr_h, octets * 8) else { return };
    let reported: Vec<Sn> = status.sufis.iter().flat_map(Sufi::missing).collect();
    assert_eq!(reported, missing[..reported.len()]);
    let lsn = missing.get(reported.len()).copied().unwrap_or(vr_h);
    assert_eq!(status.end, StatusEnd::Ack(lsn));
    let mut bytes = vec![0; octets];
    Pdu::Status(status.clone()).encode(&mut bytes).expect("a report fits");
    assert_eq!(Pdu::decode(&bytes), Ok(Pdu::Status(status)));
}
