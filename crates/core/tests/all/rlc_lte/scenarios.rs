//! TCP over the link layers of LTE on dedicated channels, and configurations that a scenario must not have.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use serde_json::Value;

/// A download over bearers of 8 Mbit/s, TTIs of 1 ms with room for 1000 octets.
const SCENARIO: &str = r#"
duration = "20 s"
wired = { rate = "100 Mbit/s", delay = "10 ms" }
[radio.dch.downlink]
rate = "8 Mbit/s"
delay = "5 ms"
queue.droptail.packets = 1000
[radio.dch.uplink]
rate = "8 Mbit/s"
delay = "5 ms"
[tcp]
max_window = 300
receive_buffer = "4 MB"
[[flow]]
app.bulk = {}
"#;

const AM: [(&str, &str); 2] =
    [("radio.dch.downlink.rlc.am_lte", "{}"), ("radio.dch.uplink.rlc.am_lte", "{}")];
const UM: [(&str, &str); 2] =
    [("radio.dch.downlink.rlc.um_lte", "{}"), ("radio.dch.uplink.rlc.um_lte", "{}")];

fn parse(overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(SCENARIO, &overrides).map_err(|error| error.to_string())
}

/// Goodput in bit/s, TCP retransmissions, and the report of the downlink.
fn run(overrides: &[(&str, &str)]) -> (f64, u64, Value) {
    let scenario = parse(overrides).unwrap();
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    let results = simulation.results();
    let cell = results.elements.iter().find(|report| report["element"] == "radio.dch").unwrap();
    let flow = &results.flows[0];
    (flow.goodput_bps, flow.sender.retransmissions.total, cell["ues"][0]["downlink"].clone())
}

/// 1000 octets carry 2 of header, and 3 or fewer of length indicators: 1460 of 1500 bytes of a packet are data.
#[test]
fn tcp_fills_a_bearer_but_for_headers() {
    for link_layer in [AM, UM] {
        let (goodput, again, _) = run(&link_layer);
        let most = 8e6 * 1460.0 / 1500.0 * 0.998;
        assert!((0.97 * most..most).contains(&goodput) && again == 0, "{goodput}, {again} again");
    }
}

/// One TTI of ten is lost: AM retransmits it, and TCP sees no loss.
#[test]
fn acknowledged_mode_repairs_what_the_channel_loses() {
    let lossy = ("radio.dch.downlink.channel.bernoulli.bler", "0.1");
    let (goodput, again, downlink) = run(&[AM[0], AM[1], lossy]);
    let most = 8e6 * 0.9 * 1460.0 / 1500.0;
    assert!((0.8 * most..most).contains(&goodput), "{goodput}");
    let count = |key: &str| downlink["rlc"][key].as_u64().unwrap();
    let (pdus, repeated) = (count("data_pdus") as f64, count("retransmitted_pdus") as f64);
    assert!((0.09..0.115).contains(&(repeated / pdus)), "{repeated} of {pdus}");
    assert_eq!((again, count("radio_link_failures"), downlink["sdus_discarded"].as_u64()), (0, 0, Some(0)));
    // In unacknowledged mode it is TCP's.
    let (slow, by_tcp, of_um) = run(&[UM[0], UM[1], lossy]);
    let (discarded, delivered) = (&of_um["sdus_discarded"], &of_um["sdus_delivered"]);
    let lost = discarded.as_f64().unwrap() / (discarded.as_f64().unwrap() + delivered.as_f64().unwrap());
    // A packet lies in two or three TTIs: 1 - 0.9^2 to 1 - 0.9^3.
    assert!((0.15..0.3).contains(&lost) && slow < goodput / 4.0 && by_tcp > 20, "{lost} {slow} {by_tcp}");
}

#[test]
fn what_cannot_work_is_refused_by_its_key() {
    let error = |overrides: &[(&str, &str)]| parse(overrides).unwrap_err();
    assert_eq!(
        error(&[UM[0], UM[1], ("radio.dch.downlink.rate", "16 kbit/s")]),
        "radio.dch.downlink.rlc.um_lte.tti: a TTI of 1 ms at 16 kbit/s carries 2 B, less than a PDU may need; lengthen \
         it, or raise the rate of the bearer: 3 B or more"
    );
    assert_eq!(
        error(&[AM[0], AM[1], ("radio.dch.activity.shared", "{ after = \"1 s\", rate = \"32 kbit/s\" }")]),
        "radio.dch.activity.shared.rate: a TTI of 1 ms at 32 kbit/s carries 4 B, less than a PDU may need; raise it, or \
         lengthen the TTI of the downlink: 8 B or more"
    );
    assert_eq!(
        error(&AM[..1]),
        "radio.dch.uplink.rlc: rlc.none does not work with rlc.am_lte in the downlink; write rlc.am_lte in both \
         directions: its STATUS PDUs go the other way"
    );
    assert_eq!(
        error(&[AM[0], ("radio.dch.uplink.rlc.am_lte", "{ poll_pdu = 600 }")]),
        "radio.dch.uplink.rlc.am_lte.poll_pdu: is 600, and the window has 512 PDUs: it would never poll; write 1 to \
         512, or leave it out"
    );
    assert_eq!(
        error(&[AM[0], AM[1], ("radio.dch.downlink.channel.bernoulli.bler", "1")]),
        "radio.dch.downlink.channel: every block is lost, and so for ever; lower the block error rate"
    );
    assert_eq!(
        error(&[UM[1], ("radio.dch.downlink.rlc.um_lte", "{ sn_field_length = 7 }")]),
        "radio.dch.downlink.rlc.um_lte.sn_field_length: is no size of a sequence number; write 5 or 10"
    );
}
