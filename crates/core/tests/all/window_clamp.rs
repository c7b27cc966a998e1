//! A window that a box has made smaller: what it leaves of a bearer, and how long packets wait.

use airpath_core::packet::Dir;
use airpath_core::scenario::{Scenario, bundled};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::trace::{Event, Kind, ProbeMask};

/// Goodput in bit/s, mean delay of a packet from the downlink's buffer to its delivery in seconds, and retransmissions:
/// CUBIC over the bundled bearer, with room for 200 packets.
fn download(boxes: &str) -> (f64, f64, u64) {
    let overrides = [("radio.dch.downlink.queue.droptail.packets", "200"), ("middlebox", boxes)];
    let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::parse(bundled("umts-384").unwrap(), &overrides).unwrap();
    let observe = Observe { probes: ProbeMask::NONE.with(Kind::BearerDelivered), ..Observe::default() };
    let mut simulation = Simulation::new(&scenario, 1, observe);
    simulation.run();
    let delays: Vec<f64> = simulation
        .take_trace()
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::BearerDelivered { direction: Dir::Downlink, delay_ns, .. } => Some(delay_ns as f64 / 1e9),
            _ => None,
        })
        .collect();
    let flow = &simulation.results().flows[0];
    let waited = delays.iter().sum::<f64>() / delays.len() as f64;
    (flow.goodput_bps, waited, flow.sender.retransmissions.total)
}

/// 28 kB are 0.7 s at the 320 kbit/s that blocks of the bearer carry: the wire takes 0.15 of them.
#[test]
fn cubic_behind_it_fills_the_bearer_and_waits_for_less_than_half_a_second() {
    let (goodput, waited, lost) = download("[]");
    assert!(waited > 2.0 && lost > 0, "{waited} s, {lost} retransmitted");
    let (clamped, waits, lost_then) = download("[{ window_clamp.window = \"28 kB\" }]");
    assert!(clamped > 0.95 * goodput, "{clamped} of {goodput} bit/s");
    assert!(waits < 0.5, "{waits} s");
    assert_eq!(lost_then, 0);
}

#[test]
fn what_cannot_be_clamped_is_refused() {
    let cases = [
        (
            "window = \"500 B\"",
            "",
            "middlebox[0].window_clamp.window",
            "no segment of 1460 B fits into 500 B",
        ),
        ("", "tcp.handshake = \"none\"", "middlebox[0].window_clamp.window", "does not say in which units"),
        ("connections = 0", "", "middlebox[0].window_clamp.connections", "no window could be clamped"),
    ];
    for (parameters, tcp, key, message) in cases {
        let text =
            format!("{tcp}\nmiddlebox = [{{ window_clamp = {{ {parameters} }} }}]\n[[flow]]\napp = \"bulk\"");
        let error = Scenario::parse(&text, &[]).unwrap_err();
        assert!(error.path == key && error.message.contains(message), "{error}");
    }
}
