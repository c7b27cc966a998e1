//! Properties of the codec of RLC PDUs: what is written is read back, whatever comes in.

use airpath_core::wire::rlc::{
    AmdPdu, ListPair, Pdu, PreviousEnd, Reset, RlistStep, Sn, Status, StatusEnd, Sufi, Tail,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

fn sn() -> impl Strategy<Value = Sn> {
    (0..4096_u64).prop_map(Sn::wrap)
}

fn pair() -> impl Strategy<Value = ListPair> {
    (sn(), 0..16_u8).prop_map(|(sn, more)| ListPair { sn, more })
}

/// Numbers of up to three codewords: five of these with their marks are not more than fit.
fn step() -> impl Strategy<Value = RlistStep> {
    prop_oneof![(1..512_u16).prop_map(RlistStep::Distance), (1..64_u16).prop_map(RlistStep::Burst)]
}

fn sufi() -> impl Strategy<Value = Sufi> {
    prop_oneof![
        (1..4096_u16).prop_map(Sufi::Window),
        vec(pair(), 1..16).prop_map(Sufi::List),
        (sn(), vec(any::<u8>(), 1..17)).prop_map(|(fsn, bits)| Sufi::Bitmap { fsn, bits }),
        (sn(), vec(step(), 0..6)).prop_map(|(fsn, steps)| Sufi::Rlist { fsn, steps }),
        (vec(sn(), 1..16), 0..16_u8).prop_map(|(sn_mrw, n_length)| Sufi::Mrw {
            sn_mrw,
            beyond_window: false,
            n_length
        }),
        (sn(), 0..16_u8).prop_map(|(sn, n_length)| Sufi::Mrw {
            sn_mrw: vec![sn],
            beyond_window: true,
            n_length
        }),
        (0..16_u8, sn()).prop_map(|(n, sn_ack)| Sufi::MrwAck { n, sn_ack }),
    ]
}

fn status() -> impl Strategy<Value = Status> {
    let end = prop_oneof![Just(StatusEnd::NoMore), sn().prop_map(StatusEnd::Ack)];
    (vec(sufi(), 0..5), end).prop_map(|(sufis, end)| Status { sufis, end })
}

/// Data with the ends of SDUs in it, and the rest of the PDU: a PDU with its size.
fn amd() -> impl Strategy<Value = (Pdu, usize)> {
    let previous = prop_oneof![Just(PreviousEnd::Told), Just(PreviousEnd::Exact)];
    let ends = btree_set(1..60_u16, 0..6);
    let tail = prop_oneof![
        Just(Tail::Full),
        Just(Tail::FullWithSduEnd),
        Just(Tail::Padding),
        Just(Tail::PaddingOctet),
        status().prop_map(Tail::Status),
    ];
    (sn(), any::<bool>(), previous, ends, vec(any::<u8>(), 60..200), tail, 0..90_usize).prop_map(
        |(sn, poll, mut previous, ends, mut data, tail, spare)| {
            let mut ends: Vec<u16> = ends.into_iter().collect();
            let status_octets = match &tail {
                Tail::Full => 0,
                Tail::FullWithSduEnd => {
                    (previous, ends) = (PreviousEnd::Told, Vec::new());
                    0
                }
                Tail::Padding => spare,
                Tail::PaddingOctet => {
                    ends.push(150);
                    data.resize(150, 1);
                    1
                }
                Tail::Status(status) => status.bits().div_ceil(8) + spare,
            };
            let full = matches!(tail, Tail::Full | Tail::FullWithSduEnd);
            if !full {
                data.truncate(ends.last().copied().unwrap_or(0).into());
            }
            let told = !full && tail != Tail::PaddingOctet;
            let lis = ends.len() + usize::from(told) + usize::from(matches!(previous, PreviousEnd::Exact));
            let contents = data.len() + status_octets;
            let size = if contents + 2 + lis <= 126 { contents + 2 + lis } else { contents + 2 + 2 * lis };
            (Pdu::Amd(AmdPdu { sn, poll, previous, ends, data, tail }), size)
        },
    )
}

fn any_pdu() -> impl Strategy<Value = (Pdu, usize)> {
    let reset = (any::<bool>(), 0..1_u32 << 20).prop_map(|(rsn, hfni)| Reset { rsn, hfni });
    prop_oneof![
        4 => amd(),
        4 => (status(), 0..9_usize).prop_map(|(status, spare)| {
            let size = status.bits().div_ceil(8) + spare;
            (Pdu::Status(status), size)
        }),
        1 => (reset.clone(), 4..50_usize).prop_map(|(reset, size)| (Pdu::Reset(reset), size)),
        1 => (reset, 4..50_usize).prop_map(|(reset, size)| (Pdu::ResetAck(reset), size)),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back((pdu, size) in any_pdu()) {
        let mut bytes = vec![0xff; size];
        prop_assert_eq!(pdu.encode(&mut bytes), Ok(()));
        prop_assert_eq!(Pdu::decode(&bytes), Ok(pdu));
    }

    #[test]
    fn a_status_takes_exactly_its_bits(status in status()) {
        let octets = status.bits().div_ceil(8);
        let pdu = Pdu::Status(status);
        prop_assert!(pdu.encode(&mut vec![0; octets]).is_ok());
        prop_assert!(pdu.encode(&mut vec![0; octets - 1]).is_err());
    }

    /// Padding excepted: it is written as zeros, and read whatever it is.
    #[test]
    fn what_can_be_read_is_written_with_the_same_bits(bytes in vec(any::<u8>(), 0..160)) {
        if let Ok(pdu) = Pdu::decode(&bytes) {
            let mut again = vec![0; bytes.len()];
            prop_assert_eq!(pdu.encode(&mut again), Ok(()));
            let same = bytes.len() * 8 - padding_bits(&pdu, bytes.len());
            for bit in 0..same {
                let mask = 0x80 >> (bit % 8);
                prop_assert_eq!(bytes[bit / 8] & mask, again[bit / 8] & mask, "bit {} of {}", bit, same);
            }
            prop_assert_eq!(Pdu::decode(&again), Ok(pdu));
        }
    }

    /// Headers that make sense more often than random ones: data with length indicators, or a STATUS.
    #[test]
    fn likely_octets_are_read_or_refused_and_written_again(
        header in prop_oneof![Just(vec![0x80, 0x01]), Just(vec![0x80, 0x05]), (0..8_u8).prop_map(|kind| vec![kind])],
        small in vec(prop_oneof![0..12_u8, Just(0xfc), Just(0xfd), Just(0xfe)], 0..6),
        rest in vec(any::<u8>(), 0..130),
    ) {
        let bytes = [header, small, rest].concat();
        if let Ok(pdu) = Pdu::decode(&bytes) {
            let mut again = vec![0; bytes.len()];
            prop_assert_eq!(pdu.encode(&mut again), Ok(()));
            prop_assert_eq!(Pdu::decode(&again), Ok(pdu));
        }
    }

    /// The rule of LSN: all that is below it and missing is reported, and nothing else; nothing is left out
    /// while there is room.
    #[test]
    fn a_report_fits_and_leaves_out_only_what_its_ack_leaves_open(
        base in 0..4096_u64,
        missing in btree_set(0..2000_u64, 0..80),
        octets in 3..60_usize,
    ) {
        let sns: Vec<Sn> = missing.iter().map(|&count| Sn::wrap(base + count)).collect();
        let vr_h = Sn::wrap(base + 2000);
        let status = Status::reporting(&sns, vr_h, octets * 8).unwrap();
        prop_assert!(Pdu::Status(status.clone()).encode(&mut vec![0; octets]).is_ok());
        let reported: Vec<Sn> = status.sufis.iter().flat_map(Sufi::missing).collect();
        prop_assert_eq!(&reported[..], &sns[..reported.len()]);
        let lsn = sns.get(reported.len()).copied().unwrap_or(vr_h);
        prop_assert_eq!(&status.end, &StatusEnd::Ack(lsn));
        if reported.len() < sns.len() {
            prop_assert!(status.bits() + 24 > octets * 8, "{} of {}", status.bits(), octets * 8);
        }
    }
}

fn padding_bits(pdu: &Pdu, octets: usize) -> usize {
    match pdu {
        Pdu::Status(status) => octets * 8 - status.bits(),
        Pdu::Reset(_) | Pdu::ResetAck(_) => octets * 8 - 28,
        Pdu::Amd(pdu) => {
            let lis = pdu.ends.len() + usize::from(!matches!(pdu.previous, PreviousEnd::Told)) + 1;
            let rest = AmdPdu::data_room(octets, lis) - pdu.data.len().min(AmdPdu::data_room(octets, lis));
            match &pdu.tail {
                Tail::Full | Tail::FullWithSduEnd => 0,
                Tail::PaddingOctet => 8,
                Tail::Padding => rest * 8,
                Tail::Status(status) => rest * 8 - status.bits(),
            }
        }
    }
}
