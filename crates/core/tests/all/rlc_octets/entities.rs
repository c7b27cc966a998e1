//! A pair of entities with losses, compared with encoders and receivers of octets.

use std::collections::VecDeque;

use airpath_core::rlc::am::{Config, Encoder, Entity, SduDiscard};
use airpath_core::rlc::control::{Control, Form, Status};
use airpath_core::rlc::encode::{Encode, Pdu as Which};
use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Report, Tti};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use airpath_core::wire::rlc::{AmdPdu, Pdu, PreviousEnd, Sn, Status as StatusPdu, StatusEnd, Sufi, Tail};
use proptest::prelude::*;

use super::reassembly::Reassembly;

/// An SDU's octets: no two stretches of one are alike.
fn octets(sdu: u64, len: u32) -> Vec<u8> {
    (0..u64::from(len)).map(|i| ((sdu * 7919 + i * 31) % 251) as u8 ^ (i >> 7) as u8).collect()
}

/// A direction: TTIs take 20 ms from their start to their arrival.
struct Direction {
    encoder: Encoder,
    on_air: VecDeque<(u64, Tti, Vec<Vec<u8>>)>,
    lens: Vec<u32>,
    up: Vec<u64>,
    reassembly: Reassembly,
    sent: u64,
}

/// Both ends, the network's first, and the direction in which each sends.
struct Pair {
    ends: [Entity; 2],
    ways: [Direction; 2],
}

impl Pair {
    fn new(configs: &[Config; 2]) -> Self {
        let [down, up] = configs;
        down.check().unwrap();
        up.check().unwrap();
        let way = |config| Direction {
            encoder: Encoder::new(config),
            on_air: VecDeque::new(),
            lens: Vec::new(),
            up: Vec::new(),
            reassembly: Reassembly::default(),
            sent: 0,
        };
        Self { ends: [Entity::at_network(down, up), Entity::at_ue(up, down)], ways: [way(down), way(up)] }
    }

    fn take(&mut self, end: usize, now: u64, len: u32) {
        self.ends[end].handle_sdu(ms(now), len);
        self.ways[end].lens.push(len);
    }

    /// Delivers the PDUs that arrive until `now`, in both directions.
    fn arrive(&mut self, now: u64) {
        for way in 0..2 {
            while let Some((at, tti, pdus)) = self.ways[way].on_air.pop_front() {
                if at > now {
                    self.ways[way].on_air.push_front((at, tti, pdus));
                    break;
                }
                let mut report = Report::default();
                self.ends[1 - way].handle_tti(ms(at), &tti, &mut report);
                if report.began_anew {
                    self.ways[way].reassembly.begin_anew();
                }
                self.settle(1 - way, &mut report);
                let taken = !self.ends[1 - way].is_suspended_by_reset();
                let way = &mut self.ways[way];
                for pdu in pdus.iter().filter(|_| taken) {
                    way.reassembly.receive(Pdu::decode(pdu).unwrap());
                }
                assert_eq!(way.reassembly.sdus.len(), way.up.len(), "SDUs handed up at {at}");
            }
        }
    }

    /// What the end has reported.
    fn settle(&mut self, end: usize, report: &mut Report) {
        let way = &mut self.ways[end];
        way.encoder.discard(&report.discarded);
        if report.began_anew {
            way.encoder.begin_anew();
        }
        self.ways[1 - end].up.append(&mut report.up);
    }

    fn tti(&mut self, end: usize, now: u64, pdus: u64, lost: &mut impl FnMut() -> bool) {
        let (mut tti, mut report) = (Tti::default(), Report::default());
        self.ends[end].build_tti(ms(now), pdus, &mut tti, &mut report);
        self.settle(end, &mut report);
        let Direction { encoder, lens, on_air, sent, .. } = &mut self.ways[end];
        let begun = report.started.clone().filter(|sdu| !report.unsent.contains(sdu));
        let mut started = begun.map(|sdu| (sdu, octets(sdu, lens[sdu as usize])));
        let mut written = Vec::new();
        encoder.encode(&tti, &mut started, &mut |pdu, octets| written.push((pdu, octets.to_vec())));
        assert_eq!(started.next(), None, "begun, and in no PDU");
        check(&tti, &written);
        *sent += tti.pdus();
        let mut outcomes = Vec::new();
        tti.lose(|| {
            outcomes.push(lost());
            *outcomes.last().unwrap()
        });
        let arrive =
            written.into_iter().zip(outcomes).filter(|(_, outcome)| !outcome).map(|((_, pdu), _)| pdu);
        on_air.push_back((now + 20, tti, arrive.collect()));
    }
}

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Octets say what the entity told: STATUS, and of data sequence numbers, polls and ends.
fn check(tti: &Tti, written: &[(Which, Vec<u8>)]) {
    assert_eq!(written.len() as u64, tti.pdus());
    let (control, data) = written.split_at(tti.control.len());
    for (told, (_, octets)) in tti.control.iter().zip(control) {
        match (told, Pdu::decode(octets).unwrap()) {
            (Control::Status(told), Pdu::Status(status)) => check_status(told, status),
            (Control::Reset(told), Pdu::Reset(reset)) | (Control::ResetAck(told), Pdu::ResetAck(reset)) => {
                assert_eq!((told.rsn, told.hfni), (reset.rsn, reset.hfni));
            }
            other => panic!("{other:?}"),
        }
    }
    let runs = &tti.data.runs;
    let told = runs.iter().flat_map(|run| (run.sns.first..run.sns.end).map(|sn| (sn, run.poll)));
    let mut ends = tti.data.ends.iter();
    for ((sn, poll), (which, octets)) in told.zip(data) {
        let Pdu::Amd(pdu) = Pdu::decode(octets).unwrap() else { panic!("{octets:02x?}") };
        assert_eq!((*which, pdu.sn, pdu.poll), (Which::Data(sn), Sn::wrap(sn), poll));
        let marks = usize::from(pdu.previous != PreviousEnd::Told) + pdu.ends.len();
        for _ in 0..marks + usize::from(pdu.tail == Tail::FullWithSduEnd) {
            assert_eq!(ends.next().map(|end| end.sn), Some(sn));
        }
    }
    assert_eq!(ends.next(), None);
    check_piggybacked(tti, data);
}

/// A STATUS rides in the PDU that the entity told, and in no other one.
fn check_piggybacked(tti: &Tti, data: &[(Which, Vec<u8>)]) {
    let mut riding = data.iter().filter_map(|(which, octets)| match Pdu::decode(octets).unwrap() {
        Pdu::Amd(AmdPdu { tail: Tail::Status(status), .. }) => Some((*which, status)),
        _ => None,
    });
    let read = riding.next();
    assert_eq!(
        read.as_ref().map(|(which, _)| *which),
        tti.piggybacked.as_ref().map(|(sn, _)| Which::Data(*sn))
    );
    if let (Some((_, told)), Some((_, status))) = (&tti.piggybacked, read) {
        check_status(told, status);
    }
    assert_eq!(riding.next(), None);
}

fn check_status(told: &Status, StatusPdu { mut sufis, end }: StatusPdu) {
    let ack = |lsn| StatusEnd::Ack(Sn::wrap(lsn));
    assert_eq!(end, told.lsn.map_or(StatusEnd::NoMore, ack));
    let missing: Vec<Sn> =
        told.missing.as_slice().iter().flat_map(|range| range.first..range.end).map(Sn::wrap).collect();
    let mut read: Vec<Sn> = sufis.iter().flat_map(Sufi::missing).collect();
    // A bitmap may extend beyond the last missing one.
    assert!(told.form == Form::Bitmap || read.len() == missing.len());
    read.truncate(missing.len());
    assert_eq!(read, missing);
    sufis.retain(|sufi| match sufi {
        Sufi::Window(pdus) => Some(u32::from(*pdus)) != told.window,
        Sufi::Mrw { sn_mrw, beyond_window, n_length } => {
            let mrw = told.mrw.as_ref().unwrap();
            let wrapped: Vec<Sn> = mrw.sn_mrw.iter().map(|&sn| Sn::wrap(sn)).collect();
            (sn_mrw, *beyond_window, u64::from(*n_length)) != (&wrapped, mrw.beyond_window, mrw.n_length)
        }
        Sufi::MrwAck { n, sn_ack } => {
            let answer = told.mrw_ack.unwrap();
            (u64::from(*n), *sn_ack) != (answer.n, Sn::wrap(answer.sn_ack))
        }
        Sufi::List(_) => told.form != Form::List,
        Sufi::Bitmap { .. } => told.form != Form::Bitmap,
        Sufi::Rlist { .. } => true,
    });
    assert_eq!(sufis, []);
}

/// Random losses: `per_256` of 256.
fn losses(seed: u64, per_256: u64) -> impl FnMut() -> bool {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) < per_256
    }
}

/// Sends SDUs of these octets both ways, 50 TTIs longer than they last; the pair at the end.
fn run(configs: &[Config; 2], sdus: &[u32], pdus: u64, seed: u64, per_256: u64) -> Pair {
    let mut pair = Pair::new(configs);
    let mut lost = losses(seed, per_256);
    let mut left = [sdus.iter(), sdus.iter()];
    let mut over = 0;
    for now in (0..).step_by(10) {
        pair.arrive(now);
        for (end, rest) in left.iter_mut().enumerate() {
            for &len in rest.by_ref().take((seed as usize + end + now as usize / 10) % 4) {
                pair.take(end, now, len);
            }
            pair.tti(end, now, pdus, &mut lost);
        }
        over += usize::from(pair.ends.iter().all(|end| end.deadline() == Instant::NEVER));
        if over > 50 {
            break;
        }
        assert!(now < 1_000_000, "no end");
    }
    for Direction { up, lens, reassembly, .. } in &pair.ways {
        let whole: Vec<Vec<u8>> = up.iter().map(|&sdu| octets(sdu, lens[sdu as usize])).collect();
        assert!(reassembly.sdus == whole, "octets of SDUs");
    }
    pair
}

fn sizes() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(prop_oneof![Just(40u32), Just(1500), 1u32..200], 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    #[ignore = "slow"]
    fn a_reader_of_octets_gets_all_sdus(
        pdu in prop_oneof![Just(42u64), 10u64..60, 120u64..140],
        sdus in sizes(),
        pdus in 1u64..14,
        window in 20u32..300,
        special_he in any::<bool>(),
        piggybacked_status in any::<bool>(),
        seed in any::<u32>(),
        per_256 in 0u64..120,
    ) {
        let pdu = Bytes::from_bytes(pdu);
        let config = Config {
            pdu,
            configured_tx_window_size: window,
            special_he,
            piggybacked_status,
            ..Config::default()
        };
        let pair = run(&[config.clone(), config], &sdus, pdus, seed.into(), per_256);
        prop_assert!(pair.ways.iter().all(|way| way.up.len() == sdus.len()));
    }

    /// MaxDAT, after which the link is reset.
    #[test]
    fn a_reader_of_octets_follows_resets(
        sdus in sizes(),
        max_dat in 2u32..5,
        seed in any::<u32>(),
        per_256 in 40u64..150,
    ) {
        let config = Config { max_dat: Some(max_dat), max_rst: 30, ..Config::default() };
        run(&[config.clone(), config], &sdus, 6, seed.into(), per_256);
    }

    /// SDUs are discarded, and the receiver is notified.
    #[test]
    fn a_reader_of_octets_follows_discards(
        sdus in sizes(),
        pdu in prop_oneof![Just(42u64), 127u64..140],
        discard in prop_oneof![Just(SduDiscard::MaxDat), Just(SduDiscard::Timer)],
        send_mrw in any::<bool>(),
        seed in any::<u32>(),
        per_256 in 20u64..150,
    ) {
        let config = Config {
            pdu: Bytes::from_bytes(pdu),
            sdu_discard: discard,
            max_dat: (discard == SduDiscard::MaxDat).then_some(3),
            timer_discard: (discard == SduDiscard::Timer).then_some(Duration::from_millis(200)),
            send_mrw,
            piggybacked_status: send_mrw,
            ..Config::default()
        };
        run(&[config.clone(), config], &sdus, 6, seed.into(), per_256);
    }
}

/// §9.2.2.8: 127 octets have 15 bits; behind 122 octets and their indicator one is left, and nothing fills it.
#[test]
fn an_octet_behind_an_sdu_is_padding() {
    let config = Config { pdu: Bytes::from_bytes(127), ..Config::default() };
    for sdus in [&[122][..], &[122, 50], &[247, 122, 3, 122]] {
        run(&[config.clone(), config.clone()], sdus, 4, 3, 60);
    }
}

/// Three times around 4096, with a window of 2048.
#[test]
fn sequence_numbers_wrap() {
    let window = 2048;
    let config = Config {
        configured_tx_window_size: window,
        configured_rx_window_size: window,
        timer_poll_prohibit: Some(Duration::from_millis(150)),
        ..Config::default()
    };
    let pair = run(&[config.clone(), config], &[1500; 400], 60, 1, 25);
    assert!(pair.ends.iter().all(|end| end.sender().vt_s() > 3 * 4096));
}
