//! HSDPA: rates, HARQ and reordering by hand.

use super::{Cell, near};
use serde_json::{Value, json};

/// A UE that reports this row, whose blocks are lost with these probabilities.
fn row(cqi: u8, bler: &Value) -> Value {
    // In the middle of the row: CQI = floor(s / 1.02 + 16.62).
    let sinr = format!("{:.2} dB", 1.02 * (f64::from(cqi) + 0.5 - 16.62));
    json!({"downlink": {
        "category": 6,
        "reception": {"mean_sinr": sinr},
        "adaptation": {"outer_loop": false},
        "harq": {"bler": bler},
        "iub": {"capacity": 1000},
    }, "uplink": {"rate": "384 kbit/s"}})
}

fn rate(keys: &Value) -> f64 {
    Cell::new("hsdpa", 1, keys).saturated(11)[0]
}

/// Acceptance test 2: 3360 kbit/s of PDUs at CQI 22, of which an SDU of 1500 B with its length indicator takes 1501.
#[test]
fn the_rate_of_a_row_is_that_of_its_pdus() {
    for (cqi, rlc) in [(22, 3360.0), (15, 1440.0), (10, 480.0)] {
        let got = rate(&row(cqi, &json!([0])));
        assert!(near(got, rlc * 1500.0 / 1501.0, 0.01), "CQI {cqi}: {got} kbit/s");
    }
}

/// Acceptance test 3.
#[test]
fn first_losses_cost_a_transmission_each() {
    let (without, with) = (rate(&row(22, &json!([0]))), rate(&row(22, &json!(["10 %", 0]))));
    assert!(near(with, without / 1.1, 0.01), "{with} beside {without} kbit/s");
}

/// Acceptance test 4.
#[test]
fn processes_bound_the_rate() {
    for (processes, share) in [(1, 1.0 / 6.0), (4, 2.0 / 3.0), (6, 1.0)] {
        let mut keys = row(22, &json!([0]));
        keys["downlink"]["harq"]["processes"] = processes.into();
        let got = rate(&keys);
        assert!(near(got, share * 3358.0, 0.01), "{processes} processes: {got} kbit/s");
    }
    let mut third = row(22, &json!([0]));
    third["downlink"]["category"] = 1.into();
    assert!(near(rate(&third), 3358.0 / 3.0, 0.01));
}
