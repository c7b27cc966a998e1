//! Simulated PDUs and their octets agree: what [`Encoder`] writes of a bearer with losses is read by the codec,
//! and a receiver that knows octets only gets the SDUs that the entities say it gets, octet for octet.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, VecDeque};

use airpath_core::rlc::am::{Config, Control, Encoder, Form, Receiver, Sender, Status};
use airpath_core::rlc::encode::{Encode, Pdu as Which};
use airpath_core::rlc::{Run, SnRange, Transmission, Tti};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use airpath_core::wire::rlc::{AmdPdu, Pdu, PreviousEnd, Sn, Status as StatusPdu, StatusEnd, Sufi, Tail};
use proptest::prelude::*;

/// Puts SDUs together from octets alone: PDUs by their sequence numbers, in sequence.
#[derive(Default)]
struct Reassembly {
    waiting: BTreeMap<u64, AmdPdu>,
    next: u64,
    /// Of the SDU that goes on in the next PDU.
    open: Vec<u8>,
    sdus: Vec<Vec<u8>>,
}

impl Reassembly {
    /// `around` is near the sequence number before it was taken modulo 4096.
    fn receive(&mut self, pdu: AmdPdu, around: u64) {
        let sn = around + 2048 - u64::from(Sn::wrap(around + 2048).after(pdu.sn));
        assert_eq!(Sn::wrap(sn), pdu.sn);
        if sn < self.next {
            return;
        }
        if let Some(before) = self.waiting.insert(sn, AmdPdu { poll: false, ..pdu.clone() }) {
            assert_eq!(before, AmdPdu { poll: false, ..pdu }, "sent again with another content");
        }
        while let Some(pdu) = self.waiting.remove(&self.next) {
            self.take(pdu);
            self.next += 1;
        }
    }

    fn take(&mut self, pdu: AmdPdu) {
        match pdu.previous {
            PreviousEnd::Told => {}
            PreviousEnd::Exact => self.finish(),
            PreviousEnd::OneOctetShort => {
                self.open.pop().unwrap();
                self.finish();
            }
        }
        let mut from = 0;
        for end in pdu.ends {
            self.open.extend(&pdu.data[from..end.into()]);
            self.finish();
            from = end.into();
        }
        self.open.extend(&pdu.data[from..]);
        match pdu.tail {
            Tail::Full => {}
            Tail::FullWithSduEnd => self.finish(),
            Tail::Padding | Tail::PaddingOctet | Tail::Status(_) => {
                assert!(self.open.is_empty(), "padding within an SDU")
            }
        }
    }

    fn finish(&mut self) {
        assert!(!self.open.is_empty());
        self.sdus.push(std::mem::take(&mut self.open));
    }
}

/// An SDU's octets: no two stretches of one are alike.
fn octets(sdu: u64, len: u32) -> Vec<u8> {
    (0..u64::from(len)).map(|i| ((sdu * 7919 + i * 31) % 251) as u8 ^ (i >> 7) as u8).collect()
}

/// A bearer with 20 ms from the start of a TTI to its arrival, seen by its entities and as octets.
struct Bearer {
    config: Config,
    sender: Sender,
    receiver: Receiver,
    encoder: Encoder,
    /// What arrives when, with its octets.
    down: VecDeque<(u64, Transmission, Vec<(u64, Vec<u8>)>)>,
    up: VecDeque<(u64, Status, Vec<u8>)>,
    lens: Vec<u32>,
    /// SDUs that began.
    started: u64,
    handed_up: Vec<u64>,
    reassembly: Reassembly,
}

impl Bearer {
    fn new(config: &Config) -> Self {
        config.check().unwrap();
        Self {
            config: config.clone(),
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            encoder: Encoder::new(config),
            down: VecDeque::new(),
            up: VecDeque::new(),
            lens: Vec::new(),
            started: 0,
            handed_up: Vec::new(),
            reassembly: Reassembly::default(),
        }
    }

    fn tti(&mut self, now: u64, pdus: u64, mut lost: impl FnMut() -> bool) {
        let at = Instant::ZERO + Duration::from_millis(now);
        self.arrive(now);
        let mut reports = Tti::default();
        self.receiver.build_status(at, pdus, &mut reports.control);
        Encoder::new(&self.config).encode(&reports, &mut std::iter::empty(), &mut |pdu, octets| {
            let Which::Control(place) = pdu else { panic!("{pdu:?}") };
            let Control::Status(status) = &reports.control[place];
            if !lost() {
                self.up.push_back((now + 20, status.clone(), octets.to_vec()));
            }
        });
        let mut tti = Tti::default();
        let sent = &mut tti.data;
        self.sender.build_tti(at, pdus, sent);
        let began = self.lens.len() as u64 - self.sender.untransmitted() as u64;
        let lens = &self.lens;
        let mut started = (self.started..began).map(|sdu| (sdu, octets(sdu, lens[sdu as usize])));
        let mut written = Vec::new();
        self.encoder.encode(&tti, &mut started, &mut |pdu, octets| {
            let Which::Data(sn) = pdu else { panic!("{pdu:?}") };
            written.push((sn, octets.to_vec()));
        });
        let mut sent = tti.data;
        assert_eq!(started.next(), None, "begun, and in no PDU");
        self.started = began;
        check(&sent, &written);
        let each = |run: &Run| (run.sns.first..run.sns.end).map(|sn| (sn, run.poll)).collect::<Vec<_>>();
        let kept: Vec<_> = sent.runs.iter().flat_map(each).filter(|_| !lost()).collect();
        written.retain(|(sn, _)| kept.iter().any(|(kept, _)| kept == sn));
        sent.runs = kept.iter().map(|&(sn, poll)| Run { sns: SnRange::new(sn, sn + 1), poll }).collect();
        self.down.push_back((now + 20, sent, written));
    }

    fn arrive(&mut self, now: u64) {
        while self.down.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, sent, written) = self.down.pop_front().unwrap();
            self.receiver.handle_pdus(&sent, &mut self.handed_up);
            for (sn, octets) in written {
                let Ok(Pdu::Amd(pdu)) = Pdu::decode(&octets) else { panic!("{octets:02x?}") };
                self.reassembly.receive(pdu, sn);
            }
            assert_eq!(self.reassembly.sdus.len(), self.handed_up.len());
        }
        while self.up.front().is_some_and(|(at, ..)| *at <= now) {
            let (at, status, octets) = self.up.pop_front().unwrap();
            check_status(&status, &octets);
            self.sender.handle_status(Instant::ZERO + Duration::from_millis(at), &status).unwrap();
        }
    }
}

/// Sequence numbers, polls and ends in a TTI's octets are those that the entity told.
fn check(sent: &Transmission, written: &[(u64, Vec<u8>)]) {
    let told = sent.runs.iter().flat_map(|run| (run.sns.first..run.sns.end).map(|sn| (sn, run.poll)));
    let mut ends = sent.ends.iter();
    let mut count = 0;
    for ((sn, poll), (number, octets)) in told.zip(written) {
        let Ok(Pdu::Amd(pdu)) = Pdu::decode(octets) else { panic!("{octets:02x?}") };
        assert_eq!((pdu.sn, pdu.poll, *number), (Sn::wrap(sn), poll, sn));
        let marks = usize::from(pdu.previous != PreviousEnd::Told) + pdu.ends.len();
        for _ in 0..marks + usize::from(pdu.tail == Tail::FullWithSduEnd) {
            assert_eq!(ends.next().map(|end| end.sn), Some(sn));
        }
        count += 1;
    }
    assert_eq!((ends.next(), written.len() as u64), (None, sent.pdus()));
    assert_eq!(count, written.len());
}

fn check_status(status: &Status, octets: &[u8]) {
    let Ok(Pdu::Status(StatusPdu { sufis, end })) = Pdu::decode(octets) else { panic!("{octets:02x?}") };
    assert_eq!(end, StatusEnd::Ack(Sn::wrap(status.lsn)));
    let all = status.missing.as_slice().iter().flat_map(|range| range.first..range.end);
    let missing: Vec<Sn> = all.map(Sn::wrap).collect();
    // A bitmap may go on behind the last one that is missing.
    let mut read: Vec<Sn> = sufis.iter().flat_map(Sufi::missing).collect();
    assert!(status.form == Form::Bitmap || read.len() == missing.len());
    read.truncate(missing.len());
    assert_eq!(read, missing);
    for sufi in &sufis {
        assert_eq!(matches!(sufi, Sufi::Bitmap { .. }), status.form == Form::Bitmap);
    }
}

/// What is lost: every one below this of 256 in turn.
fn losses(seed: u64, per_256: u64) -> impl FnMut() -> bool {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) < per_256
    }
}

fn run(config: &Config, sdus: &[u32], pdus: u64, seed: u64, per_256: u64) -> Bearer {
    let mut bearer = Bearer::new(config);
    let mut lost = losses(seed, per_256);
    let mut waiting = sdus.iter();
    for now in (0..).step_by(10) {
        for &len in waiting.by_ref().take((seed as usize + now as usize / 10) % 4) {
            bearer.sender.handle_sdu(Instant::ZERO + Duration::from_millis(now), len);
            bearer.lens.push(len);
        }
        bearer.tti(now, pdus, &mut lost);
        if bearer.handed_up.len() == sdus.len() {
            break;
        }
        assert!(now < 1_000_000, "{} of {} SDUs", bearer.handed_up.len(), sdus.len());
    }
    let whole: Vec<Vec<u8>> = (0..).zip(sdus).map(|(sdu, &len)| octets(sdu, len)).collect();
    assert!(bearer.reassembly.sdus == whole);
    bearer
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_reader_of_octets_gets_the_sdus(
        pdu in prop_oneof![Just(42u64), 10u64..60, 120u64..140],
        sdus in prop::collection::vec(prop_oneof![Just(40u32), Just(1500), 1u32..200], 1..60),
        pdus in 1u64..14,
        window in 20u32..300,
        seed in any::<u32>(),
        per_256 in 0u64..120,
    ) {
        let config = Config { pdu: Bytes::from_bytes(pdu), configured_tx_window_size: window, ..Config::default() };
        run(&config, &sdus, pdus, seed.into(), per_256);
    }
}

/// §9.2.2.8: 127 octets have 15 bits; behind 122 octets and their indicator one is left, and nothing fills it.
#[test]
fn an_octet_behind_an_sdu_is_padding() {
    let config = Config { pdu: Bytes::from_bytes(127), ..Config::default() };
    for sdus in [&[122][..], &[122, 50], &[247, 122, 3, 122]] {
        run(&config, sdus, 4, 3, 60);
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
        poll_window: None,
        ..Config::default()
    };
    let bearer = run(&config, &[1500; 400], 60, 1, 25);
    assert!(bearer.sender.vt_s() > 3 * 4096);
}
