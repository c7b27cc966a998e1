//! TCP over the link layers of NR: on dedicated channels, and over LTE's blocks as on a master node of EN-DC; and
//! configurations that a scenario must not have.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use serde_json::Value;

/// A download over bearers of 8 Mbit/s, TTIs of 1 ms with room for 1000 octets.
const DCH: &str = r#"
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

/// The same over a cell of LTE.
const LTE: &str = r#"
duration = "10 s"
wired = { rate = "100 Mbit/s", delay = "10 ms" }
[radio.lte.downlink]
reception = { mean_sinr = "15 dB", fading.none = {} }
queue.droptail.packets = 1000
harq.max_transmissions = 1
[radio.lte.uplink]
max_transmissions = 1
bler = "10 %"
[tcp]
max_window = 600
receive_buffer = "8 MB"
[[flow]]
app.bulk = {}
"#;

fn parse(scenario: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(scenario, &overrides).map_err(|error| error.to_string())
}

/// Goodput in bit/s, segments that TCP has retransmitted, and the report of the UE's bearers.
fn run(scenario: &str, overrides: &[(&str, &str)]) -> (f64, u64, Value) {
    let scenario = parse(scenario, overrides).unwrap();
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    let results = simulation.results();
    let cell = results.elements.iter().find(|report| report["ues"].is_array()).unwrap();
    let flow = &results.flows[0];
    (flow.goodput_bps, flow.sender.retransmissions.total, cell["ues"][0].clone())
}

const AM: [(&str, &str); 2] = [
    ("radio.dch.downlink.rlc.am_nr", "{ tti = \"1 ms\" }"),
    ("radio.dch.uplink.rlc.am_nr", "{ tti = \"1 ms\" }"),
];
const UM: [(&str, &str); 2] = [
    ("radio.dch.downlink.rlc.um_nr", "{ tti = \"1 ms\" }"),
    ("radio.dch.uplink.rlc.um_nr", "{ tti = \"1 ms\" }"),
];
const LTE_AM: [(&str, &str); 2] =
    [("radio.lte.downlink.rlc", "{ am_nr = {} }"), ("radio.lte.uplink.rlc", "{ am_nr = {} }")];
/// Without HARQ retransmissions are lost as well, each for t_reassembly and more.
const PATIENT: (&str, &str) = ("radio.lte.downlink.pdcp.t_reordering", "2 s");

/// A packet of 1500 octets with 1460 of data lies in two TTIs of 1000 octets, with headers of nine octets and seven or
/// eight more for the further segments.
#[test]
fn tcp_fills_a_bearer_but_for_headers() {
    for link_layer in [AM, UM] {
        let (goodput, again, _) = run(DCH, &link_layer);
        let most = 8e6 * 1460.0 / 1509.0;
        assert!((0.97 * most..most).contains(&goodput) && again == 0, "{goodput}, {again} again");
    }
}

/// One TTI of ten is lost: AM retransmits it, and TCP sees no loss.
#[test]
fn acknowledged_mode_repairs_what_the_channel_loses() {
    let lossy = ("radio.dch.downlink.channel.bernoulli.bler", "0.1");
    let patient = ("radio.dch.downlink.pdcp.t_reordering", "2 s");
    let (goodput, again, bearers) = run(DCH, &[AM[0], AM[1], lossy, patient]);
    let downlink = &bearers["downlink"];
    let most = 8e6 * 0.9 * 1460.0 / 1509.0;
    assert!((0.8 * most..most).contains(&goodput), "{goodput}");
    let count = |key: &str| downlink["rlc"][key].as_u64().unwrap();
    let (pdus, repeated) = (count("data_pdus") as f64, count("retransmitted_pdus") as f64);
    assert!((0.085..0.125).contains(&(repeated / pdus)), "{repeated} of {pdus}");
    assert_eq!((again, count("radio_link_failures"), downlink["sdus_discarded"].as_u64()), (0, 0, Some(0)));
    assert_eq!(downlink["pdcp"]["passed_over_sdus"], 0);
    // In unacknowledged mode it is TCP's.
    let (slow, by_tcp, of_um) = run(DCH, &[UM[0], UM[1], lossy]);
    let of_um = &of_um["downlink"];
    let (discarded, delivered) = (&of_um["sdus_discarded"], &of_um["sdus_delivered"]);
    let lost = discarded.as_f64().unwrap() / (discarded.as_f64().unwrap() + delivered.as_f64().unwrap());
    // A packet lies in two or three TTIs: 1 - 0.9^2 to 1 - 0.9^3.
    assert!((0.15..0.3).contains(&lost) && slow < goodput / 4.0 && by_tcp > 20, "{lost} {slow} {by_tcp}");
}

/// The seam: LTE's blocks, HARQ off, 10 % of them lost in both directions, NR's RLC and PDCP above.
#[test]
fn a_cell_of_lte_carries_nr() {
    let (goodput, again, bearers) = run(LTE, &[LTE_AM[0], LTE_AM[1], PATIENT]);
    assert_eq!(again, 0);
    let (downlink, uplink) = (&bearers["downlink"], &bearers["uplink"]);
    assert!(downlink["rlc"]["retransmitted_pdus"].as_u64() > Some(100), "{downlink}");
    assert!(uplink["rlc"]["nacks"].as_u64() > Some(20), "{uplink}");
    assert_eq!((&downlink["sdus_discarded"], &downlink["pdcp"]["passed_over_sdus"]), (&0.into(), &0.into()));
    // LTE's own RLC, with the same blocks lost, does as well.
    let (own, _, _) = run(LTE, &[]);
    assert!((goodput / own - 1.0).abs() < 0.1, "{goodput} {own}");
}

/// Acceptance test 20: t_reordering that ends before RLC has repaired is a loss for TCP.
#[test]
fn a_short_t_reordering_loses_what_rlc_repairs() {
    let short = ("radio.lte.downlink.pdcp.t_reordering", "20 ms");
    let (_, again, bearers) = run(LTE, &[LTE_AM[0], LTE_AM[1], short]);
    assert!(again > 20, "{again}");
    assert!(bearers["downlink"]["pdcp"]["passed_over_sdus"].as_u64() > Some(20));
    assert!(bearers["downlink"]["sdus_discarded"].as_u64() > Some(20));
    // 40 ms of t_reassembly; 10 + 8 + 1 + 3 of a STATUS PDU's way, 1 + 3 of a block.
    let remark = "radio.lte.downlink.pdcp.t_reordering: 20 ms is shorter than t_reassembly of 40 ms and a retransmission of \
                  26 ms (66 ms): PDCP passes over what RLC repairs; write at least \"66 ms\", or shorten \
                  rlc.am_nr.t_reassembly";
    let remarks: Vec<_> = parse(LTE, &[LTE_AM[0], LTE_AM[1], short])
        .unwrap()
        .remarks()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(remarks.iter().any(|other| other.contains(remark)), "{remarks:?}");
    assert!(parse(LTE, &LTE_AM).unwrap().remarks().is_empty());
}

/// A hand-over within the download: nothing is lost, nothing comes twice, TCP retransmits nothing.
#[test]
fn a_hand_over_of_lte_loses_nothing_of_nr() {
    let handover = ("handover", "[{ at = \"5 s\", outage = \"50 ms\" }]");
    let (_, again, bearers) = run(LTE, &[LTE_AM[0], LTE_AM[1], PATIENT, handover]);
    let downlink = &bearers["downlink"];
    assert_eq!((again, &downlink["sdus_discarded"]), (0, &0.into()));
    assert_eq!(
        (&downlink["rlc"]["re_establishments"], &downlink["pdcp"]["status_reports"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn what_cannot_work_is_refused_by_its_key() {
    let error = |overrides: &[(&str, &str)]| parse(DCH, overrides).unwrap_err();
    assert_eq!(
        error(&AM[..1]),
        "radio.dch.uplink.rlc: rlc.none does not work with rlc.am_nr in the downlink; write rlc.am_nr in both \
         directions: its STATUS PDUs go the other way"
    );
    let of_a_cell = |sn: &str| error(&[("radio", &format!("{{ nr.downlink.rlc.am_nr.sn = {sn} }}"))]);
    for sn in ["0", "255"] {
        assert!(of_a_cell(sn).contains(&format!("am_nr.sn: is {sn}, which is no size")), "{}", of_a_cell(sn));
    }
    assert_eq!(
        error(&[AM[0], ("radio.dch.uplink.rlc.am_nr", "{ sn = 10 }")]),
        "radio.dch.uplink.rlc.am_nr.sn: is 10, which is no size of a sequence number; write 12 or 18"
    );
    assert_eq!(
        error(&[AM[0], AM[1], ("radio.dch.uplink.rate", "96 kbit/s")]),
        "radio.dch.uplink.rlc.am_nr.tti: a TTI of 1 ms at 96 kbit/s carries 12 B, less than a PDU may need; \
          lengthen it, or raise the rate of the bearer: 16 B or more"
    );
    assert_eq!(
        error(&[AM[0], AM[1], ("radio.dch.uplink.pdcp.sn", "12")]),
        "radio.dch.uplink.pdcp.sn: has 12 bits: the receiver mistakes the COUNT of an SDU that is 2048 or more ahead, and \
         rlc.am_nr.sn lets 131072 be in transit; write 18, or rlc.am_nr.sn = 12"
    );
    assert_eq!(
        error(&[("radio.dch.uplink.pdcp", "{}")]),
        "radio.dch.uplink.pdcp: rlc.none has no PDCP above it; choose rlc.am_nr or rlc.um_nr, or remove it"
    );
    assert_eq!(
        error(&[UM[0], UM[1], ("radio.dch.downlink.pdcp.sn", "15")]),
        "radio.dch.downlink.pdcp.sn: is 15, which is no size of a sequence number; write 12 or 18"
    );
}
