//! Traffic classes: each UE has the bearers of its class.

use super::scenario;
use airpath_core::packet::Dir;
use airpath_core::radio;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::trace::{Event, Kind, ProbeMask};
use airpath_core::umts::TrafficClass;

/// Over AM nothing is lost; over UM what the channel destroys stays lost.
const AM_AND_UM: &str = r#"
duration = "60 s"
[umts]
iu.delay = "5 ms"
qos = ["interactive", "streaming"]
[radio.dch]
ues = 3
[radio.dch.downlink]
rate = "64 kbit/s"
delay = "20 ms"
rlc.am = {}
channel.bernoulli.bler = "5 %"
[radio.dch.uplink]
rate = "64 kbit/s"
delay = "20 ms"
rlc.am = {}
[radio.dch.qos.streaming]
downlink = { rate = "128 kbit/s", rlc.um = {} }
uplink.rlc.um = {}
[[flow]]
ue = "each"
app.file.size = "50 kB"
"#;

fn run(text: &str, overrides: &[(&str, &str)]) -> (Results, Vec<Event>) {
    let observe = Observe { probes: ProbeMask::NONE.with(Kind::Dropped), ..Observe::default() };
    let mut simulation = Simulation::new(&scenario(text, overrides), 1, observe);
    simulation.run();
    (simulation.results(), simulation.take_trace().into_iter().map(|(_, event)| event).collect())
}

#[test]
fn the_mode_of_rlc_is_that_of_the_ues_class() {
    let (results, events) = run(AM_AND_UM, &[]);
    let cell = results.elements.last().unwrap();
    let retransmitted = |ue: usize| cell["ues"][ue]["downlink"]["rlc"]["retransmitted_pdus"].as_u64();
    assert!(retransmitted(0) > Some(0) && retransmitted(2) > Some(0), "acknowledged mode");
    assert_eq!(retransmitted(1), None, "unacknowledged mode");
    let lost = |ue| cell["ues"][ue]["downlink"]["sdus_discarded"].as_u64().unwrap();
    assert_eq!((lost(0), lost(2)), (0, 0));
    assert!(lost(1) > 0);
    // Only TCP of UE 1 sees the losses.
    assert_eq!(events.len() as u64, lost(1));
    let repeated: Vec<_> = results.flows.iter().map(|flow| flow.sender.retransmissions.total > 0).collect();
    assert_eq!(repeated, [false, true, false]);
}

#[test]
fn a_class_says_only_what_differs() {
    let scenario = scenario(AM_AND_UM, &[]);
    let radio::Config::Dch(dch) = &scenario.radio else { panic!("no cell of dedicated channels") };
    let streaming = dch.bearer_of(TrafficClass::Streaming, Dir::Downlink);
    assert_eq!((streaming.rate.as_bps(), streaming.delay), (128_000, dch.downlink.delay));
    assert_eq!(streaming.channel, dch.downlink.channel);
    assert_eq!(dch.bearer_of(TrafficClass::Interactive, Dir::Downlink), &dch.downlink);
    let text = scenario.to_toml().unwrap();
    assert_eq!(super::scenario(&text, &[]), scenario, "{text}");
}

#[test]
fn bearers_without_ttis_have_classes_too() {
    let whole = [
        ("radio.dch.downlink", "{ rate = \"64 kbit/s\" }"),
        ("radio.dch.uplink", "{ rate = \"64 kbit/s\" }"),
        ("radio.dch.qos.streaming", "{ downlink = { rate = \"256 kbit/s\" } }"),
    ];
    let (results, _) = run(AM_AND_UM, &whole);
    let times: Vec<_> = results.flows.iter().map(|flow| flow.transfer_s.unwrap()).collect();
    assert!((times[0] - times[2]).abs() < 1e-9, "{times:?}");
    assert!(times[1] < times[0] / 2.0, "{times:?}");
}

/// A UE's losses are its own: its class changes nothing for others.
#[test]
fn the_class_of_one_ue_leaves_the_others_alone() {
    let all_am = run(AM_AND_UM, &[("umts.qos", "[]")]).0;
    let one_um = run(AM_AND_UM, &[]).0;
    for flow in [0, 2] {
        assert_eq!(all_am.flows[flow], one_um.flows[flow]);
    }
    assert_ne!(all_am.flows[1], one_um.flows[1]);
}
