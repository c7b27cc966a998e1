//! TCP over UM and TM, and configurations that a scenario must not have.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};

/// A download over bearers of 384 and 64 kbit/s at IP level, as in \[alcaraz2006\], with this link layer and channel.
const SCENARIO: &str = r#"
duration = "60 s"
wired = { rate = "10 Mbit/s", delay = "50 ms" }
[radio.dch.downlink]
rate = "384 kbit/s"
delay = "15 ms"
queue.droptail.packets = 50
[radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"
[[flow]]
app.bulk = {}
"#;

fn results(overrides: &[(&str, &str)]) -> Results {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::parse(SCENARIO, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    simulation.results()
}

fn downlink(results: &Results, key: &str) -> u64 {
    let cell = results.elements.iter().find(|report| report["element"] == "radio.dch").unwrap();
    cell["ues"][0]["downlink"][key].as_u64().unwrap_or_else(|| panic!("{key} in {cell:#}"))
}

const UM: [(&str, &str); 2] = [("radio.dch.downlink.rlc.um", "{}"), ("radio.dch.uplink.rlc.um", "{}")];

/// Without errors TCP fills the bearer: 1460 of 1500 bytes, which cost 38.5 PDUs of 40 with their indicators.
#[test]
fn tcp_over_um_without_errors_loses_nothing() {
    let results = results(&UM);
    let flow = &results.flows[0];
    assert_eq!((flow.sender.retransmissions.total, downlink(&results, "pdus_lost")), (0, 0));
    let most = 384e3 * 1460.0 / 1502.0;
    assert!((0.97 * most..most).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
}

/// TCP has to retransmit the losses that AM would repair, and treats them as congestion.
#[test]
fn tcp_over_um_sees_the_losses_of_the_channel() {
    let lossy = |channel: &str| {
        let mut overrides = UM.to_vec();
        overrides.push(("radio.dch.downlink.channel", channel));
        let results = results(&overrides);
        (
            results.flows[0].clone(),
            ["sdus_discarded", "sdus_delivered", "slots"].map(|key| downlink(&results, key)),
        )
    };
    for (channel, least, most) in [
        // A packet of 38 PDUs lies in four or five TTIs: 1 - 0.99^4 to 1 - 0.99^5, 4 to 5 % are lost.
        (r#"{ bernoulli = { bler = "1 %" } }"#, 0.03, 0.065),
        // Losses in bursts of several TTIs fall on fewer packets.
        (r#"{ markov_fading = { bler = "1 %", doppler = "2 Hz", step = "10 ms" } }"#, 0.01, 0.035),
    ] {
        let (flow, [lost, delivered, slots]) = lossy(channel);
        let share = lost as f64 / (lost + delivered) as f64;
        assert!((least..most).contains(&share), "{channel}: {lost} of {}", lost + delivered);
        assert!(flow.sender.retransmissions.total >= lost && flow.goodput_bps < 300e3, "{channel}: {flow:?}");
        assert!(delivered > 300 && slots < 6001, "{channel}: {delivered} in {slots}");
    }
}

/// A TTI of 80 ms holds two packets. Losses are those of the same channel whatever the mode.
#[test]
fn tcp_over_tm_needs_ttis_that_hold_a_packet() {
    let tm = r#"{ tm = { tti = "80 ms", timer_discard = "10 s" } }"#;
    let um = r#"{ um = { tti = "80 ms" } }"#;
    let results = results(&[("radio.dch.downlink.rlc", tm), ("radio.dch.uplink.rlc", um)]);
    let goodput = results.flows[0].goodput_bps;
    // Two of 1460 in 80 ms; those of 3840 octets that a third would need stay unused.
    assert!((270e3..=292e3).contains(&goodput), "{goodput}");
    let short = r#"{ tm = { tti = "10 ms", timer_discard = "10 s" } }"#;
    let short = self::results(&[("radio.dch.downlink.rlc", short), ("radio.dch.uplink.rlc", "{ tm = {} }")]);
    assert_eq!(short.flows[0].goodput_bps, 0.0);
}

#[test]
fn what_cannot_work_is_refused_with_a_remedy() {
    let error = |overrides: &[(&str, &str)]| {
        let overrides: Vec<_> =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::parse(SCENARIO, &overrides).unwrap_err().to_string()
    };
    let both = |key, value| error(&[UM[0], UM[1], (key, value)]);
    let pdu = "carries 480 B, which is no whole number of PDUs with 39 B of payload; change the PDU's size, the TTI or \
               the rate of the bearer";
    assert_eq!(
        both("radio.dch.downlink.rlc.um.pdu", "40 B"),
        format!("radio.dch.downlink.rlc.um.pdu: a TTI of 10 ms at 384 kbit/s {pdu}")
    );
    assert_eq!(
        both("radio.dch.uplink.rlc.um.pdu", "9 B"),
        "radio.dch.uplink.rlc.um.pdu: is no size of a PDU; write 10 to 4096 bytes"
    );
    assert_eq!(
        both("radio.dch.uplink.rlc.um.tti", "0 ms"),
        "radio.dch.uplink.rlc.um.tti: is zero; write a TTI such as \"10 ms\""
    );
    assert_eq!(
        both("radio.dch.uplink.rlc.um.first_octet_indicator", "false"),
        "radio.dch.uplink.rlc.um.first_octet_indicator: a UE always tells where an SDU begins with a PDU; leave it out \
         (the downlink may be without)"
    );
    let tm = r#"{ tm = { pdu = "0 B" } }"#;
    assert_eq!(
        error(&[("radio.dch.downlink.rlc", tm), UM[1]]),
        "radio.dch.downlink.rlc.tm.pdu: is zero; write a size such as \"40 B\""
    );
    assert_eq!(
        error(&UM[..1]),
        "radio.dch.uplink.rlc: rlc.none does not work with rlc.um in the downlink; write rlc.um, rlc.tm, \
         rlc.um_lte or rlc.um_nr in both directions"
    );
    assert_eq!(
        error(&[UM[0], ("radio.dch.uplink.rlc.am", "{}")]),
        "radio.dch.uplink.rlc: rlc.am does not work with rlc.um in the downlink; write rlc.am in both directions: its \
         STATUS PDUs go the other way"
    );
    assert!(both("radio.dch.uplink.rlc.um.poll_window", "50").contains("poll_window"));
}
