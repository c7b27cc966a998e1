//! LTE: rates, HARQ and sharing by hand.

use super::{Cell, near};
use serde_json::{Value, json};

/// 5 MHz in groups of 2 PRBs, 24 of which are used, without errors and with one I_TBS.
fn narrow(i_tbs: &Value) -> Value {
    json!({"downlink": {
        "blocks": {"bandwidth": "5 MHz", "i_tbs": i_tbs},
        "group": 2,
        "adaptation": {"outer_loop": false},
        "harq": {"bler": [0]},
    }})
}

/// Acceptance test 4.
#[test]
fn processes_bound_the_rate() {
    let rate = |processes: u8| {
        let mut keys = narrow(&json!(20));
        keys["downlink"]["harq"]["processes"] = processes.into();
        Cell::new("lte", 1, &keys).saturated(5)[0]
    };
    let all = rate(8);
    assert!(near(all, 11_064.0, 0.02), "{all} kbit/s");
    assert!(near(rate(4), all / 2.0, 0.01) && near(rate(1), all / 8.0, 0.01));
}

/// Acceptance test 7, kB/s in transport blocks.
#[test]
fn equal_ues_share_as_in_ns3() {
    let share = |ues: u16, scheduler: &str, sharing: &str| {
        let mut keys = narrow(&json!(26));
        keys["downlink"]["scheduler"] = json!({ scheduler: {} });
        keys["downlink"]["sharing"] = sharing.into();
        let mut cell = Cell::new("lte", ues, &keys);
        cell.saturated(4);
        let report = cell.report();
        let of = |ue: &Value| ue["downlink"]["harq"]["bits"].as_f64().unwrap() / 8000.0 / 4.0;
        let rates: Vec<f64> = report["ues"].as_array().unwrap().iter().map(of).collect();
        assert!(rates.iter().all(|rate| near(*rate, rates[0], 0.02)), "{rates:?}");
        rates[0]
    };
    for ues in [1, 3, 4, 8, 12] {
        let got = share(ues, "proportional_fair", "in_turn");
        assert!(near(got, 2196.0 / f64::from(ues), 0.02), "{ues} UEs: {got} kB/s");
    }
    for (ues, expected) in [(3, 749.0), (4, 549.0), (6, 373.0), (8, 185.0)] {
        let got = share(ues, "round_robin", "equally");
        assert!(near(got, expected, 0.02), "{ues} UEs: {got} kB/s");
    }
}
