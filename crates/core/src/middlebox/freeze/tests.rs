use super::connection::Connection;
use super::*;
use crate::packet::{Body, SackBlocks};
use crate::path::Path;
use crate::trace::ProbeMask;

fn data(seq: u32, payload: u32) -> Packet {
    Packet { flags: Flags::ACK, seq, payload, len: 40 + payload, ..Packet::default() }
}

fn ack(number: u32) -> Packet {
    Packet { flags: Flags::ACK, ack: number, window: 100, len: 40, ..Packet::default() }
}

/// Numbers wrap; no acknowledgment is taken back, and only one octet of the newest ACK is withheld.
#[test]
fn an_octet_of_the_newest_ack_is_withheld() {
    for first in [1, u32::MAX - 500] {
        let at = |n: u32| first.wrapping_add(n);
        let mut connection = Connection::default();
        connection.note_data(&data(first, 1000));
        connection.note_data(&data(at(1000), 1000));
        // The ACK of a handshake is not data's.
        connection.note_ack(&ack(first), true);
        assert_eq!(connection.withhold(first), None);
        connection.note_ack(&ack(at(1000)), true);
        assert_eq!(connection.withhold(at(1000)), Some(at(999)));
        connection.told = at(999);
        // A duplicate stays one.
        assert_eq!(connection.withhold(at(1000)), Some(at(999)));
        connection.tell(at(1000));
        assert_eq!(connection.withhold(at(1000)), None);
        // An old ACK that was overtaken adds no information.
        connection.note_ack(&ack(at(2000)), true);
        connection.note_ack(&ack(at(1500)), true);
        assert_eq!((connection.withhold(at(1500)), connection.withhold(at(2000))), (None, Some(at(1999))));
        let mut made = Packet::default();
        assert!(connection.make_ack(&mut made, Window::Closed));
        assert_eq!((made.ack, made.window, connection.told), (at(2000), 0, at(2000)));
    }
}

#[test]
fn a_probe_is_an_octet_or_old_data() {
    let mut connection = Connection::default();
    assert!(!connection.is_probe(&data(1, 1)));
    connection.note_data(&data(u32::MAX - 10, 1000));
    let end: u32 = 989;
    for (seq, payload, is_probe) in [
        (end, 1, true),
        (end, 2, false),
        (end - 100, 100, true),
        (u32::MAX - 10, 1, true),
        (end + 1, 1, false),
    ] {
        assert_eq!(connection.is_probe(&data(seq, payload)), is_probe, "{seq} {payload}");
    }
}

/// SACK blocks go with the number that they came with, or not at all.
#[test]
fn old_sack_blocks_are_not_sent_beside_a_new_number() {
    let mut connection = Connection::default();
    connection.note_data(&data(1, 1000));
    let mut sack = SackBlocks::default();
    sack.push(3001, 4001);
    let mut duplicate = ack(1001);
    duplicate.options_mut().sack = sack;
    connection.note_ack(&duplicate, true);
    let mut made = Packet::default();
    assert!(connection.make_ack(&mut made, Window::Narrower(0)) && made.options() == duplicate.options());
    // With data of its own the UE acknowledges more.
    connection.note_ack(&Packet { payload: 10, ..ack(4001) }, false);
    assert!(!connection.make_ack(&mut made, Window::Narrower(0)));
    // So nothing is withheld of it, which could not be given later.
    assert_eq!(connection.withhold(4001), None);
    connection.note_ack(&ack(5001), true);
    assert_eq!(connection.withhold(5001), Some(5000));
}

/// A UE that has sent data and never a pure ACK leaves none to copy.
#[test]
fn what_cannot_be_given_is_not_withheld() {
    let mut connection = Connection::default();
    connection.note_data(&data(1, 1000));
    connection.note_ack(&Packet { payload: 10, ..ack(1001) }, false);
    assert_eq!(connection.withhold(1001), None);
}

fn path(config: Config) -> Path {
    Path::new(vec![Box::new(Freeze { config, ..Freeze::default() })], ProbeMask::NONE)
}

fn send(path: &mut Path, ms: u64, dir: Dir, packet: Packet) -> Vec<(Dir, u32, u16)> {
    let mut boxed = path.packet();
    *boxed = packet;
    path.handle_packet(Instant::ZERO + Duration::from_millis(ms), dir, boxed);
    std::iter::from_fn(|| path.poll_output())
        .map(|(_, towards, out)| (towards, out.ack, out.window))
        .collect()
}

/// The table is bounded: an evicted connection acknowledges its withheld octet. FIN ends the withholding.
#[test]
fn nothing_stays_withheld_of_a_connection_that_is_forgotten_or_ends() {
    let mut path = path(Config { connections: 1, ..Config::default() });
    send(&mut path, 0, Dir::Downlink, data(1, 1000));
    assert_eq!(send(&mut path, 1, Dir::Uplink, ack(1001)), [(Dir::Uplink, 1000, 100)]);
    let other = |packet: Packet| Packet { flow: 1, ..packet };
    let out = send(&mut path, 2, Dir::Downlink, other(data(1, 1000)));
    assert_eq!(out, [(Dir::Uplink, 1001, 100), (Dir::Downlink, 0, 0)]);
    assert_eq!(send(&mut path, 3, Dir::Uplink, other(ack(1001))), [(Dir::Uplink, 1000, 100)]);
    let fin = Packet { flags: Flags::ACK | Flags::FIN, ..other(data(1001, 0)) };
    assert_eq!(send(&mut path, 4, Dir::Downlink, fin)[0], (Dir::Uplink, 1001, 100));
    assert_eq!(send(&mut path, 5, Dir::Uplink, other(ack(1002))), [(Dir::Uplink, 1002, 100)]);
    path.handle_timeout(Instant::ZERO + Duration::from_secs(9));
    assert!(path.poll_output().is_none());
}

/// An ACK made from a real packet has its octets, with the header fields to be written.
#[test]
fn acks_that_are_made_of_real_packets_are_written_anew() {
    let mut path = path(Config::default());
    let real = |packet: Packet| Packet { body: Some(Box::new(Body::new(vec![0x45; 40]))), ..packet };
    send(&mut path, 0, Dir::Downlink, real(data(1, 1000)));
    let mut boxed = path.packet();
    *boxed = real(ack(1001));
    path.handle_packet(Instant::ZERO, Dir::Uplink, boxed);
    path.handle_timeout(Instant::ZERO + Duration::from_secs(1));
    let out: Vec<_> = std::iter::from_fn(|| path.poll_output()).map(|(_, _, packet)| packet).collect();
    assert_eq!(out.iter().map(|packet| packet.ack).collect::<Vec<_>>(), [1000, 1001]);
    for packet in out {
        let body = packet.body.unwrap();
        assert!(body.touched && body.bytes == vec![0x45; 40]);
    }
}

/// ACKs that open a closed window are no duplicates of each other; after an outage without warning they are.
#[test]
fn the_three_acks_behind_an_outage_widen_the_window_they_open() {
    for (is_warned, windows) in [(true, [98, 99, 100]), (false, [100; 3])] {
        let mut connection = Connection::default();
        connection.note_data(&data(1, 1000));
        connection.note_ack(&ack(1001), true);
        let narrower = |left: u16| Window::Narrower(if is_warned { left } else { 0 });
        let told = [2, 1, 0].map(|left| {
            let mut made = Packet::default();
            assert!(connection.make_ack(&mut made, narrower(left)));
            made.window
        });
        assert_eq!(told, windows);
    }
    let mut connection = Connection::default();
    connection.note_data(&data(1, 1000));
    connection.note_ack(&Packet { window: 1, ..ack(1001) }, true);
    let mut made = Packet::default();
    assert!(connection.make_ack(&mut made, Window::Narrower(2)) && made.window == 1);
}

/// Linux probes without data, one number below the acknowledged data; so do keep-alives.
#[test]
fn a_probe_without_an_octet_is_answered_while_the_ue_is_away_and_passes_otherwise() {
    for is_away in [false, true] {
        let closed = is_away.then_some(0).into_iter().collect();
        let config = Config { withhold: false, ..Config::default() };
        let mut path =
            Path::new(vec![Box::new(Freeze { config, closed, ..Freeze::default() })], ProbeMask::NONE);
        send(&mut path, 0, Dir::Downlink, data(1, 1000));
        let window = if is_away { 0 } else { 100 };
        assert_eq!(send(&mut path, 1, Dir::Uplink, ack(1001)), [(Dir::Uplink, 1001, window)]);
        let expected = if is_away { (Dir::Uplink, 1001, 0) } else { (Dir::Downlink, 0, 0) };
        assert_eq!(send(&mut path, 2, Dir::Downlink, data(1000, 0)), [expected]);
        assert_eq!(send(&mut path, 3, Dir::Downlink, data(1001, 0)), [(Dir::Downlink, 0, 0)], "no probe");
    }
}

/// The UE has all there will be: an ACK of the box would meet a closed port, and be answered with RST.
#[test]
fn a_connection_that_has_ended_is_told_nothing() {
    let mut path = path(Config::default());
    send(&mut path, 0, Dir::Downlink, data(1, 1000));
    send(&mut path, 1, Dir::Uplink, ack(1001));
    send(&mut path, 2, Dir::Downlink, Packet { flags: Flags::ACK | Flags::FIN, ..data(1001, 0) });
    let of_ue = |line: &Path| line.element::<Freeze>(0).unwrap().of_ue(0);
    assert_eq!(of_ue(&path), [(0, 0)]);
    let last = Packet { flags: Flags::ACK | Flags::FIN, ..ack(1002) };
    assert_eq!(send(&mut path, 3, Dir::Uplink, last.clone()), [(Dir::Uplink, 1002, 100)]);
    assert_eq!(send(&mut path, 4, Dir::Uplink, last), [(Dir::Uplink, 1002, 100)], "retransmitted");
    assert!(of_ue(&path).is_empty());
    assert!(path.element::<Freeze>(0).unwrap().connections.is_empty());
}
