//! The element alone, packet by packet.

use airpath_core::link;
use airpath_core::packet::Dir;
use airpath_core::path::Path;
use airpath_core::time::Instant;
use airpath_core::trace::{ProbeMask, Reason};
use airpath_core::umts::{Config, Plan, Relocation};
use serde_json::{Value, json};

const OUT_OF_REACH: u16 = 2;

/// Two UEs whose contexts are active from time zero, and one without.
fn network(config: Value, relocations: &[(u16, u64, Value)]) -> Path {
    let config: Config = serde_json::from_value(config).unwrap();
    config.validate(3).unwrap();
    let legs: Vec<Relocation> =
        relocations.iter().map(|(.., leg)| serde_json::from_value(json!({"iu": leg})).unwrap()).collect();
    let relocations = relocations.iter().zip(&legs).map(|((ue, us, _), leg)| (*ue, at(*us), leg)).collect();
    let active = vec![Some(Instant::ZERO), Some(Instant::ZERO), None];
    let core = config.build(&Plan { active, relocations });
    // Through a link that takes no time.
    Path::new(vec![link::Config::default().build_to(core, 1, "wired")], ProbeMask::ALL)
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

/// A packet of so many octets comes at a time in microseconds.
fn put(path: &mut Path, us: u64, dir: Dir, ue: u16, len: u32, number: u32) {
    let mut packet = path.packet();
    (packet.ue, packet.len, packet.seq) = (ue, len, number);
    path.handle_packet(at(us), dir, packet);
}

/// Number, direction and time in microseconds of all output until nothing is left.
fn out(path: &mut Path) -> Vec<(u32, Dir, u64)> {
    while let Some(next) = path.poll_timeout() {
        path.handle_timeout(next);
    }
    std::iter::from_fn(|| path.poll_output())
        .map(|(at, dir, packet)| (packet.seq, dir, at.as_nanos() / 1000))
        .collect()
}

use Dir::{Downlink, Uplink};

/// Gn: an octet takes 1 us; Iu: 4 us.
fn rates(sequence_numbers: bool) -> Value {
    json!({
        "gn": {"rate": "8 Mbit/s", "delay": "2 ms"},
        "iu": {"rate": "2 Mbit/s", "delay": "3 ms"},
        "sequence_numbers": sequence_numbers,
    })
}

#[test]
fn headers_of_tunnels_take_their_time_on_both_legs() {
    // 36 octets of headers, or 40: IP 20, UDP 8, GTP-U 8 or 12.
    for (sequence_numbers, octets) in [(false, 1036), (true, 1040)] {
        let mut path = network(rates(sequence_numbers), &[]);
        put(&mut path, 100, Downlink, 0, 1000, 1);
        put(&mut path, 100, Uplink, 1, 1000, 2);
        let through = 100 + octets + 2000 + 4 * octets + 3000;
        assert_eq!(out(&mut path), [(1, Downlink, through), (2, Uplink, through)]);
    }
}

#[test]
fn packets_wait_for_each_other_on_the_slower_leg() {
    let mut path = network(rates(false), &[]);
    for number in 0..3 {
        put(&mut path, 0, Downlink, (number % 2) as u16, 964, number);
    }
    put(&mut path, 20_000, Downlink, 0, 964, 3);
    // 1000 octets: the Gn hands one over each 1 ms, the Iu needs 4 ms for each.
    let times: Vec<_> = out(&mut path).iter().map(|(number, _, us)| (*number, *us)).collect();
    assert_eq!(times, [(0, 10_000), (1, 14_000), (2, 18_000), (3, 30_000)]);
}

#[test]
fn a_short_buffer_drops_at_the_leg_where_packets_wait() {
    let mut config = rates(false);
    config["iu"]["buffer"] = json!("2000 B");
    let mut path = network(config, &[]);
    for number in 0..4 {
        put(&mut path, 0, Downlink, 0, 964, number);
    }
    // The third comes to the SGSN 5 ms from now: by then the Iu has sent 500 octets of the first.
    assert_eq!(out(&mut path).iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(path.drops(0, Reason::QueueFull), 2);
    let ue = &path.reports()[1]["ues"][0];
    assert_eq!((&ue["gn"]["downlink"]["g_pdus"], &ue["iu"]["downlink"]["g_pdus"]), (&json!(4), &json!(2)));
}

#[test]
fn without_a_context_nothing_passes() {
    let mut path = network(json!({}), &[]);
    put(&mut path, 0, Downlink, OUT_OF_REACH, 1000, 0);
    put(&mut path, 0, Uplink, OUT_OF_REACH, 1000, 1);
    put(&mut path, 0, Downlink, 77, 1000, 2);
    put(&mut path, 0, Downlink, 0, 1000, 3);
    assert_eq!(out(&mut path), [(3, Downlink, 0)]);
    assert_eq!(path.drops(0, Reason::NoPdpContext), 3);
    assert_eq!(path.reports()[1]["dropped_no_pdp_context"], 3);
}

#[test]
fn the_report_tells_g_pdus_and_octets_of_each_leg() {
    let mut config = rates(true);
    config["qos"] = json!(["streaming"]);
    let mut path = network(config, &[]);
    put(&mut path, 0, Downlink, 0, 1000, 0);
    put(&mut path, 0, Downlink, 0, 500, 1);
    put(&mut path, 0, Uplink, 0, 40, 2);
    out(&mut path);
    let report = &path.reports()[1];
    assert_eq!((&report["element"], &report["overhead_octets_per_packet"]), (&json!("umts"), &json!(40)));
    let downlink = json!({"g_pdus": 2, "octets": 1580, "overhead_octets": 80});
    let uplink = json!({"g_pdus": 1, "octets": 80, "overhead_octets": 40});
    let teids = |ggsn: u32, sgsn_gn: u32, sgsn_iu: u32, rnc: u32| {
        (json!({"ggsn": ggsn, "sgsn": sgsn_gn}), json!({"sgsn": sgsn_iu, "rnc": rnc}))
    };
    let (gn, iu) = teids(0x0100_0001, 0x0200_0001, 0x0300_0001, 0x0400_0001);
    let expected = json!({
        "ue": 0, "class": "streaming", "active_s": 0.0,
        "gn": {"teids": gn, "downlink": downlink, "uplink": uplink},
        "iu": {"teids": iu, "downlink": downlink, "uplink": uplink},
        "relocations": [],
    });
    assert_eq!(report["ues"][0], expected);
    assert_eq!(
        (&report["ues"][1]["class"], &report["ues"][2]["active_s"]),
        (&json!("background"), &Value::Null)
    );
}

/// Both legs infinitely fast, with 30 ms to the first RNC and 5 ms to the second.
fn relocated(gn: Value) -> Path {
    let config = json!({"gn": gn, "iu": {"delay": "30 ms"}});
    network(config, &[(0, 100_000, json!({"delay": "5 ms"}))])
}

#[test]
fn after_a_relocation_packets_take_the_other_leg_and_none_overtakes() {
    let mut path = relocated(json!({"delay": "1 ms"}));
    // At the SGSN a millisecond later: there the path divides.
    put(&mut path, 98_999, Downlink, 0, 1000, 0);
    put(&mut path, 99_000, Downlink, 0, 1000, 1);
    put(&mut path, 99_000, Downlink, 1, 1000, 2);
    put(&mut path, 140_000, Downlink, 0, 1000, 3);
    let expected = [
        // Over the old leg; the next could be there at 105 ms, and waits.
        (0, Downlink, 129_999),
        (1, Downlink, 129_999),
        (2, Downlink, 130_000),
        (3, Downlink, 146_000),
    ];
    assert_eq!(out(&mut path), expected);
}

/// The entries are not in order of time, and both packets come at one instant.
#[test]
fn on_whatever_leg_the_older_packet_is_first() {
    let legs = [(0, 200_000, json!({"delay": "1 ms"})), (0, 100_000, json!({"delay": "30 ms"}))];
    for (dir, first, second) in [(Downlink, 199_999, 200_000), (Uplink, 199_999, 200_000)] {
        let mut path = network(json!({}), &legs);
        put(&mut path, first, dir, 0, 1000, 0);
        put(&mut path, second, dir, 0, 1000, 1);
        assert_eq!(out(&mut path), [(0, dir, 229_999), (1, dir, 229_999)]);
    }
}

#[test]
fn legs_meet_at_the_sgsn_in_the_order_of_arrival() {
    // 4 us an octet on the Gn.
    let mut path = relocated(json!({"rate": "2 Mbit/s"}));
    put(&mut path, 110_000, Uplink, 1, 964, 1);
    put(&mut path, 111_000, Uplink, 0, 964, 2);
    put(&mut path, 135_000, Uplink, 0, 964, 3);
    // The packet of UE 0 is at the SGSN at 116 ms, long before the one of UE 1 at 140 ms. The third comes at that
    // instant too, and follows it.
    let through = [(2, Uplink, 120_000), (1, Uplink, 144_000), (3, Uplink, 148_000)];
    assert_eq!(out(&mut path), through);
}

#[test]
fn uplink_too_nothing_overtakes_after_a_relocation() {
    let mut path = relocated(json!({}));
    put(&mut path, 99_999, Uplink, 0, 1000, 0);
    put(&mut path, 100_000, Uplink, 0, 1000, 1);
    put(&mut path, 100_001, Uplink, 1, 1000, 2);
    assert_eq!(out(&mut path), [(0, Uplink, 129_999), (1, Uplink, 129_999), (2, Uplink, 130_001)]);
}

#[test]
fn relocations_follow_each_other() {
    let legs = [(0, 200_000, json!({"delay": "7 ms"})), (0, 100_000, json!({"delay": "5 ms"}))];
    let mut path = network(json!({"iu": {"delay": "1 ms"}}), &legs);
    for (number, us) in [(0, 0), (1, 150_000), (2, 250_000)] {
        put(&mut path, us, Downlink, 0, 1000, number);
    }
    assert_eq!(out(&mut path), [(0, Downlink, 1000), (1, Downlink, 155_000), (2, Downlink, 257_000)]);
    let relocations = &path.reports()[1]["ues"][0]["relocations"];
    assert_eq!((&relocations[0]["at_s"], &relocations[1]["at_s"]), (&json!(0.1), &json!(0.2)));
    assert_ne!(relocations[0]["teids"]["sgsn"], relocations[1]["teids"]["sgsn"]);
}
