//! How much of its capacity a bearer uses: blocks of the size that its channel allows, in all slots of its direction.

use super::Cell;
use airpath_core::packet::Dir;
use airpath_core::time::{Duration, Instant};
use serde_json::{Value, json};

/// Used shares of the bearers of a direction, while each UE always has data to send.
fn used(kind: &str, ues: u16, keys: &Value, dir: Dir) -> Vec<f64> {
    let mut cell = Cell::new(kind, ues, keys);
    for step in 0..500 {
        let now = Instant::ZERO + Duration::from_millis(10 * step);
        cell.run_until(now);
        for ue in 0..ues {
            (0..160).for_each(|_| _ = cell.send(now, dir, ue, 1500));
        }
        cell.outputs();
    }
    let report = cell.report();
    let of = |ue: &Value| ue[dir.name()]["utilisation"].as_f64().unwrap();
    report["ues"].as_array().unwrap().iter().map(of).collect()
}

/// Without errors every block is new, and as large as its CQI allows; what remains are headers and the first requests.
#[test]
fn ues_with_data_use_all_that_a_cell_without_errors_carries() {
    let air = json!({
        "reception": {"mean_sinr": "12 dB", "fading": {"jakes": {"doppler": "30 Hz"}}},
        "harq": {"bler": [0]},
        "scheduler": {"round_robin": {}},
    });
    let queue = json!({"queue": {"droptail": {"packets": 2000}}});
    let of_nr = super::over(air.clone(), &queue);
    let of_lte = super::over(queue, &json!({"scheduled": air}));
    for (kind, dir, keys) in [
        ("lte", Dir::Downlink, json!({"downlink": of_nr})),
        ("lte", Dir::Uplink, json!({"uplink": of_lte})),
        (
            "nr",
            Dir::Downlink,
            json!({"downlink": super::over(of_nr.clone(), &json!({"blocks": {"bandwidth": "20 MHz", "layers": 1}}))}),
        ),
        ("nr", Dir::Uplink, json!({"uplink": of_nr})),
    ] {
        let alone = used(kind, 1, &keys, dir)[0];
        assert!((0.97..=1.0).contains(&alone), "{kind} {}: {alone}", dir.name());
        // A UE in NR's uplink has not the power for all of the PRBs, so that four get more than a quarter each.
        let of_four = used(kind, 4, &keys, dir);
        assert!(
            of_four.iter().all(|share| (0.23..0.32).contains(share)),
            "{kind} {}: {of_four:?}",
            dir.name()
        );
    }
}
