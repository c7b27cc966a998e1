//! Load of others and outages of reception, in cells of both kinds.

use super::{Cell, near, over};
use serde_json::{Value, json};

/// Rate of a UE alone in a cell, kbit/s.
fn rate(kind: &str, keys: &Value) -> f64 {
    let mut still = json!({"downlink": {"reception": {"fading": {"none": {}}}, "harq": {"bler": [0]}}});
    if kind == "hsdpa" {
        // The window of RLC in acknowledged mode would limit the rate.
        still["downlink"]["rlc"] = json!({"um": {"tti": "2 ms", "pdu": "82 B"}});
        still["uplink"] = json!({"rlc": {"um": {"tti": "20 ms", "pdu": "41 B"}}});
    }
    Cell::new(kind, 1, &over(still, keys)).saturated(40)[0]
}

/// In a cell that sends to the UE in every slot, others take their share of slots or of units.
#[test]
#[ignore = "slow"]
fn load_of_others_takes_its_share_of_the_rate() {
    for kind in ["lte", "hsdpa"] {
        let with = |load: Value| rate(kind, &json!({"downlink": {"load": load}}));
        let alone = rate(kind, &json!({}));
        assert!(near(with(json!({})), alone, 1e-9), "{kind}: no load");
        for grain in ["tti", "units"] {
            let half = with(json!({"mean": "50 %", "grain": grain})) / alone;
            // A part of the units has blocks of smaller sizes: with HSDPA by whole PDUs and codes.
            let tolerance = if grain == "tti" { 0.04 } else { 0.2 };
            assert!(near(half, 0.5, tolerance), "{kind}, {grain}: {half}");
        }
    }
}

/// In an outage of -30 dB nothing is received: the rate falls by the share of time in outages.
#[test]
#[ignore = "slow"]
fn outages_of_reception_stop_the_downlink() {
    let outages = json!({"per_minute": 15, "median": "1 s", "log_sd": 0, "level": "-30 dB"});
    for kind in ["lte", "hsdpa"] {
        let share =
            rate(kind, &json!({"downlink": {"reception": {"outages": outages}}})) / rate(kind, &json!({}));
        // 10 outages in 40 s, with a standard deviation of less than 3.
        assert!((0.45..0.97).contains(&share), "{kind}: {share}");
    }
}

/// Both keys are checked with the cell.
#[test]
fn errors_name_the_key() {
    let error = |kind: &str, keys: Value| {
        let text = json!({"radio": {kind: keys}, "flow": [{"app": {"bulk": {}}}]}).to_string();
        let table: toml::Table = serde_json::from_str(&text).unwrap();
        airpath_core::scenario::Scenario::parse(&table.to_string(), &[]).unwrap_err().to_string()
    };
    for kind in ["lte", "hsdpa", "nr"] {
        let full = error(kind, json!({"downlink": {"load": {"mean": "100 %"}}}));
        assert!(full.starts_with(&format!("radio.{kind}.downlink.load.mean: ")), "{full}");
        let wrong = error(kind, json!({"downlink": {"reception": {"outages": {"per_minute": -2}}}}));
        assert!(
            wrong.starts_with(&format!("radio.{kind}.downlink.reception.outages.per_minute: ")),
            "{wrong}"
        );
    }
    let down = json!({"shadowing": {"sd": "6 dB", "shared": "60 %"}});
    let up = json!({"shadowing": {"sd": "6 dB", "shared": "50 %"}});
    let keys = json!({"downlink": {"reception": down}, "uplink": {"scheduled": {"reception": up}}});
    let wrong = error("lte", keys);
    assert!(wrong.starts_with("radio.lte.uplink.scheduled.reception.shadowing.shared: "), "{wrong}");
}
