//! tshark, which knows GTP by its port, reads the messages that the codec writes, and the packets in them.

use crate::tshark;
use std::net::Ipv4Addr;

use airpath_core::gtp::{Endpoint, Received, Tunnel};
use airpath_core::packet::{Dir, Flags, Packet};
use airpath_core::wire::gtp::{Body, ExtensionHeader, Message, Outer};
use airpath_core::wire::octets_of;

const FIELDS: &[&str] = &[
    "ip.src",
    "udp.dstport",
    "gtp.flags",
    "gtp.message",
    "gtp.length",
    "gtp.teid",
    "gtp.seq_number",
    "gtp.npdu_number",
    "gtp.ext_hdr.udp_port",
    "gtp.recovery",
    "gtp.teid_data",
    "gtp.gsn_ipv4",
    "tcp.seq_raw",
    "tcp.len",
    "ip.checksum.status",
    "udp.checksum.status",
    "_ws.expert.message",
];

const RNC: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// What tshark shows of each datagram, `name=value` for fields that it has; `None` where tshark is not installed.
fn dissected(datagrams: &[Vec<u8>]) -> Option<Vec<String>> {
    let options = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let shown = tshark::dissected("gtp", &options, FIELDS, datagrams)?;
    let words = |fields: Vec<(&str, String)>| {
        fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    Some(shown.into_iter().map(words).collect())
}

fn segment(seq: u32) -> Vec<u8> {
    let (payload, len) = (1000, 1040);
    let packet = Packet { len, payload, seq, window: 100, flags: Flags::ACK, ..Packet::default() };
    octets_of(&packet, Dir::Downlink, 1)
}

#[test]
fn tshark_reads_what_the_codec_writes() {
    let mut rnc = Endpoint::new(RNC, true);
    let mut sgsn = Endpoint::new(SGSN, false);
    let tunnel = |peer, peer_teid| Tunnel { peer, peer_teid, bearer: 0, has_sequence_numbers: peer == SGSN };
    rnc.open(0x11, tunnel(SGSN, 0x22)).unwrap();
    sgsn.open(0x22, tunnel(RNC, 0x12)).unwrap();
    let (mut with_number, mut without, mut extended) = (vec![], vec![], vec![]);
    rnc.send(0x11, &segment(1000), &mut with_number).unwrap();
    sgsn.send(0x22, &segment(2000), &mut without).unwrap();
    let packet = segment(3000);
    let headers = Message {
        n_pdu_number: Some(9),
        extension_headers: vec![ExtensionHeader { kind: 0x40, content: &[0x9c, 0x40] }],
        ..Message::g_pdu(0x22, Some(513), &packet)
    };
    Outer::new(RNC, SGSN).encapsulate(&headers, &mut extended).unwrap();
    let echo = rnc.echo_request(SGSN, 77);
    let Received::Answer(echo_answer) = sgsn.receive(&echo) else { panic!("no answer") };
    // The RNC has no tunnel 0x12.
    let Received::Rejected { answer: Some(indication), .. } = rnc.receive(&without) else { panic!("taken") };
    let mut notification = vec![];
    let types = Message::signalling(0, Body::SupportedExtensionHeaders(&[0x40, 0xc0]));
    Outer::new(RNC, SGSN).encapsulate(&types, &mut notification).unwrap();
    let datagrams = [with_number, without, extended, echo, echo_answer, indication, notification];
    let Some(shown) = dissected(&datagrams) else { return tshark::without_tshark() };
    let seen = |seq| format!("tcp.seq_raw={seq} tcp.len=1000 ip.checksum.status=1,1");
    let (good, none) = ("udp.checksum.status=1", "udp.checksum.status=3");
    let from = |node: &str| format!("ip.src={node} udp.dstport=2152 gtp.flags=");
    let (by_rnc, by_sgsn, inner) = (from("192.0.2.1"), from("192.0.2.2"), "10.0.0.1");
    let packet_by_rnc = from(&format!("192.0.2.1,{inner}"));
    let packet_by_sgsn = from(&format!("192.0.2.2,{inner}"));
    let about = |message, length, number| {
        format!("0x32 gtp.message={message} gtp.length={length} gtp.teid=0x00000000 gtp.seq_number={number}")
    };
    let expected = [
        format!(
            "{packet_by_rnc}0x32 gtp.message=0xff gtp.length=1044 gtp.teid=0x00000022 gtp.seq_number=0x0000 {} {good}",
            seen(1000)
        ),
        format!(
            "{packet_by_sgsn}0x30 gtp.message=0xff gtp.length=1040 gtp.teid=0x00000012 {} {none}",
            seen(2000)
        ),
        format!(
            "{packet_by_rnc}0x37 gtp.message=0xff gtp.length=1048 gtp.teid=0x00000022 gtp.seq_number=0x0201 \
             gtp.npdu_number=0x09 gtp.ext_hdr.udp_port=40000 {} {none}",
            seen(3000)
        ),
        format!("{by_rnc}{} ip.checksum.status=1 {good}", about("0x01", 4, "0x004d")),
        format!("{by_sgsn}{} gtp.recovery=0 ip.checksum.status=1 {none}", about("0x02", 6, "0x004d")),
        format!(
            "{by_rnc}{} gtp.teid_data=0x00000012 gtp.gsn_ipv4=192.0.2.1 ip.checksum.status=1 {good}",
            about("0x1a", 16, "0x0000")
        ),
        format!("{by_rnc}{} ip.checksum.status=1 {none}", about("0x1f", 8, "0x0000")),
    ];
    assert_eq!(shown, expected);
}
