//! Control PDUs of a pair of entities as bits: what the peer reads there is what the entity was handed.

use super::link::range;
use airpath_core::rlc::am::{Config, Receiver};
use airpath_core::rlc::control::{Control, Mrw, MrwAck, Reset, Status};
use airpath_core::rlc::{Ranges, Report, Run, Transmission};
use airpath_core::time::Instant;
use airpath_core::units::Bytes;
use airpath_core::wire::rlc::{self as wire, ListPair, Pdu, RlistStep, Sn, StatusEnd, Sufi};
use proptest::prelude::*;

fn through_bits(control: &Control, octets: usize) -> Pdu {
    let mut bytes = vec![0xff; octets];
    control.to_wire().encode(&mut bytes).unwrap();
    let read = Pdu::decode(&bytes).unwrap();
    assert_eq!(read, control.to_wire());
    read
}

fn ranges(parts: &[(u64, u64)]) -> Ranges {
    let mut ranges = Ranges::default();
    parts.iter().for_each(|&(first, end)| ranges.insert(range(first, end)));
    ranges
}

#[test]
fn sequence_numbers_wrap_on_the_wire_alone() {
    let missing = ranges(&[(8190, 8194), (8200, 8201)]);
    let status = Status { missing: missing.clone(), lsn: Some(8300), window: Some(77), ..Status::default() };
    let Pdu::Status(read) = through_bits(&Control::Status(status.clone()), 42) else { panic!() };
    let pairs = vec![ListPair { sn: Sn::wrap(4094), more: 3 }, ListPair { sn: Sn::wrap(8), more: 0 }];
    assert_eq!(read.sufis, [Sufi::Window(77), Sufi::List(pairs)]);
    assert_eq!(read.end, StatusEnd::Ack(Sn::wrap(108)));
    assert_eq!(Status::of_wire(&read, 8190), status);
}

#[test]
fn commands_and_resets_have_their_fields() {
    let mrw = Mrw { sn_mrw: vec![4000, 4097], n_length: 3, beyond_window: false, next_sdu: 9 };
    let mrw_ack = Some(MrwAck { n: 3, sn_ack: 4097 });
    let status = Status { mrw: Some(mrw), mrw_ack, ..Status::default() };
    let Pdu::Status(read) = through_bits(&Control::Status(status), 42) else { panic!() };
    let sn_mrw = vec![Sn::wrap(4000), Sn::wrap(1)];
    assert_eq!(read.sufis[0], Sufi::Mrw { sn_mrw, beyond_window: false, n_length: 3 });
    assert_eq!(read.sufis[1], Sufi::MrwAck { n: 3, sn_ack: Sn::wrap(1) });
    assert_eq!(Status::of_wire(&read, 4096).mrw_ack, mrw_ack);
    let reset = Reset { rsn: true, hfni: 0xabcde, next_sdu: 5 };
    let on_air = wire::Reset { rsn: true, hfni: 0xabcde };
    assert_eq!(through_bits(&Control::Reset(reset), 10), Pdu::Reset(on_air));
    assert_eq!(through_bits(&Control::ResetAck(reset), 10), Pdu::ResetAck(on_air));
}

/// An RLIST of a peer: PDU 4095, the next two, and 5 after these.
#[test]
fn an_rlist_is_read() {
    let steps = vec![RlistStep::Burst(2), RlistStep::Distance(5)];
    let sufis = vec![Sufi::Rlist { fsn: Sn::wrap(4095), steps }];
    let status = wire::Status { sufis, end: StatusEnd::Ack(Sn::wrap(20)) };
    let read = Status::of_wire(&status, 4090);
    assert_eq!(read.missing, ranges(&[(4095, 4098), (4102, 4103)]));
    assert_eq!(read.lsn, Some(4116));
    let none = wire::Status { sufis: Vec::new(), end: StatusEnd::NoMore };
    assert_eq!(Status::of_wire(&none, 4090), Status::default());
}

proptest! {
    /// Every PDU of a report fits its size, and the sender reads in its bits what the receiver reported, wherever
    /// the window lies: with LIST, BITMAP, and in several PDUs.
    #[test]
    fn a_report_is_read_as_it_was_meant(
        base in 0_u64..10_000,
        holes in prop::collection::vec((1_u64..40, 1_u64..40), 0..60),
        octets in prop::sample::select(vec![10_u64, 16, 42, 200]),
    ) {
        let config = Config {
            pdu: Bytes::from_bytes(octets),
            configured_tx_window_size: 2048,
            configured_rx_window_size: 2048,
            ..Config::default()
        };
        let mut receiver = Receiver::new(&config);
        let mut report = Report::default();
        // The window moves to its place in steps that it allows.
        let mut at = 0;
        while at < base {
            let end = base.min(at + 2048);
            let runs = vec![Run { sns: range(at, end), poll: true }];
            receiver.handle_pdus(&Transmission { runs, ends: Vec::new() }, &mut report);
            at = end;
        }
        for (missing, arrived) in holes {
            let end = at + missing + arrived;
            if end <= base + 2048 {
                let runs = vec![Run { sns: range(at + missing, end), poll: true }];
                receiver.handle_pdus(&Transmission { runs, ends: Vec::new() }, &mut report);
                at = end;
            }
        }
        prop_assert_eq!(receiver.vr_h(), at);
        let mut control = Vec::new();
        receiver.build_status(Instant::ZERO, 400, &mut control);
        let mut named = Ranges::default();
        for (n, pdu) in control.iter().enumerate() {
            let Pdu::Status(read) = through_bits(pdu, octets as usize) else { panic!() };
            let Control::Status(meant) = pdu else { panic!() };
            let read = Status::of_wire(&read, base);
            prop_assert_eq!(&read, meant);
            // Only a report that leaves nothing out acknowledges up to VR(H).
            let lsn = if n > 0 { Some(receiver.vr_r()) } else { read.lsn };
            prop_assert_eq!(read.lsn, lsn);
            prop_assert_eq!(control.len() == 1, n == 0 && read.lsn == Some(receiver.vr_h()));
            read.missing.as_slice().iter().for_each(|&part| named.insert(part));
        }
        // All that is missing was named, and nothing else.
        let missing = receiver.vr_h() - base;
        let arrived = (base..receiver.vr_h()).filter(|&sn| !named.meets(range(sn, sn + 1))).count() as u64;
        prop_assert_eq!(named.count() + arrived, missing);
        prop_assert_eq!(receiver.vr_r(), named.first().unwrap_or(receiver.vr_h()));
    }
}
