//! tshark, which knows RLC by itself, reads the PDUs that the codec writes.

use crate::tshark;
use airpath_core::packet::Dir;
use airpath_core::wire::rlc::udp::{Channel, Mode, datagram, datagram_of};
use airpath_core::wire::rlc::{
    AmdPdu, Begin, ListPair, Pdu, PreviousEnd, Reset, RlistStep, Sn, Status, StatusEnd, Sufi, Tail, UmdPdu,
    UmdSn,
};
use airpath_core::wire::rlc_lte::{self, Data, Nack, StatusPdu};
use airpath_core::wire::{mac_lte, pdcp};

const PDU_OCTETS: usize = 42;
const STATUS: &str = "dc=0 ctrl_pdu_type=0";
const FIELDS: &[&str] = &[
    "rlc.channel.dir",
    "rlc.channel.ueid",
    "rlc.channel.rbid",
    "rlc.dc",
    "rlc.seq",
    "rlc.p",
    "rlc.he",
    "rlc.li.value",
    "rlc.data",
    "rlc.ctrl_pdu_type",
    "rlc.rsn",
    "rlc.hfni",
    "rlc.sufi.type",
    "rlc.sufi.wsn",
    "rlc.sufi.lsn",
    "rlc.sufi.len",
    "rlc.sufi.sn",
    "rlc.sufi.l",
    "rlc.sufi.fsn",
    "rlc.sufi.cw",
    "rlc.sufi.sn_mrw",
    "rlc.sufi.n",
    "rlc.sufi.sn_ack",
    "_ws.expert",
];

/// What tshark shows of each datagram, `name=value` for fields that it has; `None` where tshark is not installed.
fn dissected(mode: &str, datagrams: &[Vec<u8>]) -> Option<Vec<Vec<String>>> {
    let options = ["--enable-heuristic", "rlc_udp"];
    let shown = tshark::dissected(&format!("rlc-{mode}"), &options, FIELDS, datagrams)?;
    let words = |fields: Vec<(&str, String)>| {
        fields.iter().map(|(name, value)| format!("{}={value}", name.trim_start_matches("rlc."))).collect()
    };
    Some(shown.into_iter().map(words).collect())
}

fn amd(sn: u64, poll: bool, data: &[u8], ends: &[u16], tail: Tail) -> Pdu {
    let (ends, data) = (ends.to_vec(), data.to_vec());
    Pdu::Amd(AmdPdu { sn: Sn::wrap(sn), poll, previous: PreviousEnd::Told, ends, data, tail })
}

fn status(sufis: Vec<Sufi>, end: StatusEnd) -> Pdu {
    Pdu::Status(Status { sufis, end })
}

#[test]
fn tshark_reads_what_the_codec_writes() {
    let down = Channel { dir: Dir::Downlink, urnti: 7, radio_bearer: 5 };
    let up = Channel { dir: Dir::Uplink, urnti: 9, radio_bearer: 6 };
    let sn = Sn::wrap;
    let list = vec![ListPair { sn: sn(4090), more: 11 }, ListPair { sn: sn(20), more: 0 }];
    let rlist = Sufi::Rlist { fsn: sn(300), steps: vec![RlistStep::Distance(9), RlistStep::Burst(3)] };
    let mrw = Sufi::Mrw { sn_mrw: vec![sn(17), sn(19)], beyond_window: false, n_length: 2 };
    let ack = Status { sufis: vec![], end: StatusEnd::Ack(sn(0x123)) };
    let pdus = [
        (down, amd(4095, true, &[0xab; 40], &[], Tail::Full), PDU_OCTETS),
        (down, amd(5, false, &[1, 2, 3, 4, 5], &[2, 5], Tail::Padding), PDU_OCTETS),
        (down, amd(6, false, &[1, 2, 3], &[3], Tail::Status(ack)), PDU_OCTETS),
        (down, amd(7, false, &[8; 196], &[150], Tail::Full), 200),
        (up, status(vec![Sufi::Window(512), Sufi::List(list)], StatusEnd::Ack(sn(30))), PDU_OCTETS),
        (up, status(vec![rlist, mrw], StatusEnd::NoMore), PDU_OCTETS),
        (up, status(vec![Sufi::MrwAck { n: 2, sn_ack: sn(20) }], StatusEnd::NoMore), PDU_OCTETS),
        (up, Pdu::Reset(Reset { rsn: true, hfni: 0xabcde }), PDU_OCTETS),
        (down, Pdu::ResetAck(Reset { rsn: true, hfni: 5 }), PDU_OCTETS),
    ];
    let encoded = pdus.iter().map(|(channel, pdu, octets)| {
        let mut bytes = vec![0; *octets];
        pdu.encode(&mut bytes).unwrap();
        datagram(*channel, &bytes)
    });
    let Some(shown) = dissected("am", &encoded.collect::<Vec<_>>()) else { return tshark::without_tshark() };
    let data = |octet: &str, octets| octet.repeat(octets);
    let mrw_shown = "sufi.sn_mrw=17,19 sufi.n=2";
    let expected = [
        (down, format!("dc=1 seq=4095 p=1 he=0 data={}", data("ab", 40))),
        (down, "dc=1 seq=5 p=0 he=1 li.value=2,5,127 data=0102,030405".to_owned()),
        (down, "dc=1 seq=6 p=0 he=1 li.value=3,126 data=010203 sufi.type=2 sufi.lsn=291".to_owned()),
        (down, format!("dc=1 seq=7 p=0 he=1 li.value=150 data={},{}", data("08", 150), data("08", 46))),
        (
            up,
            format!(
                "{STATUS} sufi.type=1,3,2 sufi.wsn=512 sufi.lsn=30 sufi.len=2 sufi.sn=4090,20 sufi.l=11,0"
            ),
        ),
        (
            up,
            // 9 = 001 001 and a burst of 3: 001 0, 001 1, 000 1, 011 1.
            format!("{STATUS} sufi.type=5,6,0 sufi.len=4,2 sufi.fsn=300 sufi.cw=2,3,1,7 {mrw_shown}"),
        ),
        (up, format!("{STATUS} sufi.type=7,0 sufi.n=2 sufi.sn_ack=20")),
        (up, "dc=0 ctrl_pdu_type=1 rsn=1 hfni=703710".to_owned()),
        (down, "dc=0 ctrl_pdu_type=2 rsn=1 hfni=5".to_owned()),
    ];
    for (fields, (channel, rest)) in shown.iter().zip(&expected) {
        let way = u8::from(channel.dir == Dir::Downlink);
        let (ue, bearer) = (channel.urnti, channel.radio_bearer);
        let sender = format!("channel.dir={way} channel.ueid=0x{ue:08x} channel.rbid={bearer}");
        assert_eq!(fields.join(" "), format!("{sender} {rest}"));
    }
    assert_eq!(shown.len(), expected.len());
}

/// In transparent mode PDUs are their data.
#[test]
fn tshark_reads_unacknowledged_and_transparent_mode() {
    let down = Channel { dir: Dir::Downlink, urnti: 7, radio_bearer: 5 };
    let umd = |sn, begin, data: &[u8], ends: &[u16], padding| {
        let (ends, data) = (ends.to_vec(), data.to_vec());
        UmdPdu { sn: UmdSn::wrap(sn), begin, ends, data, padding }
    };
    let pdus = [
        (umd(126, Begin::FirstOctet, &[0xab; 39], &[], false), 41),
        (umd(127, Begin::Untold, &[1, 2, 3, 4, 5], &[2, 5], true), 41),
        (umd(128, Begin::FirstOctet, &[9; 39], &[], false), 41),
        (umd(129, Begin::PreviousExact, &[8; 3], &[3], true), 41),
        (umd(130, Begin::FirstOctet, &[7; 195], &[150], false), 200),
    ];
    let encoded = pdus.iter().map(|(pdu, octets)| {
        let mut bytes = vec![0; *octets];
        pdu.encode(&mut bytes).unwrap();
        datagram_of(Mode::Um, down, &bytes)
    });
    let transparent = datagram_of(Mode::Tm, down, &[0x45; 30]);
    let datagrams: Vec<_> = encoded.chain([transparent]).collect();
    let Some(shown) = dissected("um", &datagrams) else { return tshark::without_tshark() };
    let data = |octet: &str, octets| octet.repeat(octets);
    let expected = [
        format!("seq=126 li.value=124 data={}", data("ab", 39)),
        "seq=127 li.value=2,5,127 data=0102,030405".to_owned(),
        format!("seq=0 li.value=124 data={}", data("09", 39)),
        "seq=1 li.value=0,3,127 data=080808".to_owned(),
        format!("seq=2 li.value=32764,150 data={},{}", data("07", 150), data("07", 45)),
        format!("data={}", data("45", 30)),
    ];
    // The SDUs are no IP packets, which tshark takes those of this bearer for.
    let of_rlc =
        |field: &&String| !field.contains("Bogus IP version") && !field.contains("IPv4 total length");
    let shown: Vec<_> = shown
        .iter()
        .map(|fields| fields.iter().filter(of_rlc).cloned().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        shown,
        expected.map(|rest| format!("channel.dir=1 channel.ueid=0x00000007 channel.rbid=5 {rest}"))
    );
}

const LTE_FIELDS: &[&str] = &[
    "rlc-lte.mode",
    "rlc-lte.direction",
    "rlc-lte.ueid",
    "rlc-lte.channel-type",
    "rlc-lte.channel-id",
    "rlc-lte.um-seqnum-length",
    "rlc-lte.um.fi",
    "rlc-lte.um.sn",
    "rlc-lte.um.data",
    "rlc-lte.am.frame-type",
    "rlc-lte.am.rf",
    "rlc-lte.am.p",
    "rlc-lte.am.fi",
    "rlc-lte.am.fixed.sn",
    "rlc-lte.am.segment.lsf",
    "rlc-lte.am.segment.offset",
    "rlc-lte.extension.li",
    "rlc-lte.am.data",
    "rlc-lte.am.ack-sn",
    "rlc-lte.am.nack-sn",
    "rlc-lte.am.so-start",
    "rlc-lte.am.so-end",
    "_ws.malformed",
];

/// PDUs of LTE: AMD PDUs, segments, STATUS and UMD PDUs.
#[test]
fn tshark_reads_rlc_of_lte() {
    let down = Channel { dir: Dir::Downlink, urnti: 7, radio_bearer: 5 };
    let up = Channel { dir: Dir::Uplink, urnti: 7, radio_bearer: 5 };
    let data = |begins, ends, lengths: &[u16], octets: &[u8]| {
        let (lengths, octets) = (lengths.to_vec(), octets.to_vec());
        Data { begins, ends, lengths, octets }
    };
    let amd = |sn, poll, part, carried| rlc_lte::Pdu::Amd(rlc_lte::AmdPdu { sn, poll, part, data: carried });
    let part = |sn, start, end| Nack { sn, part: Some((start, end)) };
    let nacks = vec![Nack { sn: 3, part: None }, part(5, 2, Some(9)), part(5, 20, None)];
    let pdus = [
        (down, amd(1023, true, None, data(true, true, &[], &[1, 2, 3]))),
        (down, amd(5, false, None, data(false, false, &[2, 3], &[1, 2, 3, 4, 5, 6]))),
        (down, amd(6, true, Some((300, true)), data(false, true, &[1], &[8, 9]))),
        (up, rlc_lte::Pdu::Status(StatusPdu { ack_sn: 9, nacks })),
    ];
    let acknowledged =
        pdus.iter().map(|(channel, pdu)| datagram_of(Mode::LteAm, *channel, &pdu.encode().unwrap()));
    let umd = rlc_lte::UmdPdu { sn: 21, data: data(true, false, &[1], &[8, 9, 10]) };
    let short = datagram_of(Mode::LteUm5, down, &umd.encode(5).unwrap());
    let long = datagram_of(Mode::LteUm10, down, &umd.encode(10).unwrap());
    let datagrams: Vec<_> = acknowledged.chain([short, long]).collect();
    let options = ["--enable-heuristic", "rlc_lte_udp"];
    let Some(shown) = tshark::dissected("rlc-lte", &options, LTE_FIELDS, &datagrams) else {
        return tshark::without_tshark();
    };
    let words = |fields: &Vec<(&str, String)>| {
        let word =
            |(name, value): &(&str, String)| format!("{}={value}", name.trim_start_matches("rlc-lte."));
        fields.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<String> = shown.iter().map(words).collect();
    let channel = |mode, way| format!("mode={mode} direction={way} ueid=7 channel-type=5 channel-id=5");
    let am = channel(4, 1) + " am.frame-type=0x01";
    let um = |bits| format!("{} um-seqnum-length={bits} um.fi=0x01 um.sn=21", channel(2, 1));
    let expected = [
        format!("{am} am.rf=0x00 am.p=0x01 am.fi=0x00 am.fixed.sn=1023 am.data=010203"),
        format!("{am} am.rf=0x00 am.p=0x00 am.fi=0x03 am.fixed.sn=5 extension.li=2,3 am.data=0102,030405,06"),
        format!(
            "{am} am.rf=0x01 am.p=0x01 am.fi=0x02 am.fixed.sn=6 am.segment.lsf=0x01 am.segment.offset=300 \
             extension.li=1 am.data=08,09"
        ),
        format!(
            "{} am.frame-type=0x00 am.ack-sn=9 am.nack-sn=3,5,5 am.so-start=2,20 am.so-end=9,32767",
            channel(4, 0)
        ),
        format!("{} um.data=08,090a extension.li=1", um(5)),
        format!("{} um.data=08,090a extension.li=1", um(10)),
    ];
    assert_eq!(shown, expected);
}

const PDCP_LTE_FIELDS: &[&str] = &[
    "pdcp-lte.ueid",
    "pdcp-lte.channel-id",
    "pdcp-lte.direction",
    "pdcp-lte.seqnum_length",
    "pdcp-lte.seq-num",
    "ip.dst",
    "_ws.expert",
    "_ws.malformed",
];

/// Data PDUs with each size of a sequence number, around an IP packet.
#[test]
fn tshark_reads_pdcp_of_lte() {
    let channel = Channel { dir: Dir::Uplink, urnti: 7, radio_bearer: 5 };
    // A header of IPv4 without payload (protocol 253, for experiments).
    let mut packet = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet[10..12].copy_from_slice(&[0x65, 0xe8]);
    let datagrams = [7, 12, 15, 18].map(|sn_bits| {
        let pdu = [pdcp::data_header((1 << sn_bits) - 3, sn_bits), packet.to_vec()].concat();
        datagram_of(Mode::LtePdcp { sn_bits }, channel, &pdu)
    });
    let options = ["--enable-heuristic", "pdcp_lte_udp"];
    let Some(shown) = tshark::dissected("pdcp-lte", &options, PDCP_LTE_FIELDS, &datagrams) else {
        return tshark::without_tshark();
    };
    let values = |fields: &Vec<(&str, String)>| {
        fields.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<String> = shown.iter().map(values).collect();
    let expected = [(7, 125), (12, 4093), (15, 32_765), (18, 262_141)];
    assert_eq!(shown, expected.map(|(bits, sn)| format!("7 5 0 {bits} {sn} 192.0.2.1,10.0.0.2")));
}

const MAC_LTE_FIELDS: &[&str] = &[
    "mac-lte.ueid",
    "mac-lte.direction",
    "mac-lte.dlsch.lcid",
    "mac-lte.ulsch.lcid",
    "mac-lte.sch.length",
    "_ws.expert",
    "_ws.malformed",
];

/// Subheaders with lengths of 7 and 15 bits, and one without.
#[test]
fn tshark_reads_mac_of_lte() {
    let channel = |dir| Channel { dir, urnti: 7, radio_bearer: 5 };
    let several = mac_lte::encode(3, &[vec![1; 127], vec![2; 300], vec![3; 5]]);
    let one = mac_lte::encode(3, &[vec![9, 8]]);
    let datagrams = [(Dir::Downlink, &several), (Dir::Uplink, &several), (Dir::Uplink, &one)]
        .map(|(dir, block)| datagram_of(Mode::LteMac, channel(dir), block));
    let options = ["--enable-heuristic", "mac_lte_udp"];
    let Some(shown) = tshark::dissected("mac-lte", &options, MAC_LTE_FIELDS, &datagrams) else {
        return tshark::without_tshark();
    };
    let values = |fields: &Vec<(&str, String)>| {
        fields.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<String> = shown.iter().map(values).collect();
    assert_eq!(shown, ["7 1 0x03,0x03,0x03 127,300", "7 0 0x03,0x03,0x03 127,300", "7 0 0x03"]);
}
