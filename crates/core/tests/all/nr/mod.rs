//! The cell of 5G NR against hand computation. Acceptance tests are numbered across the modules of NR.

mod bursts;
mod downlink;
mod errors;
mod second_bearer;
mod subbands;
mod uplink;

use crate::shared::{Cell, over};
use airpath_core::packet::Dir;
use airpath_core::time::{Duration, Instant};
use serde_json::{Value, json};

/// A carrier in the smallest bandwidth, where only times count.
fn narrow() -> Value {
    json!({
        "downlink": {"blocks": {"bandwidth": "5 MHz", "layers": 1}},
        "uplink": {"blocks": {"bandwidth": "5 MHz"}},
    })
}

fn dddsu() -> Value {
    json!({"frame": "DDDSU", "special": {"down": 10, "up": 2}})
}

fn dddsuddsuu() -> Value {
    json!({"frame": "DDDSUDDSUU", "special": {"down": 10, "up": 2}})
}

fn ddsuu() -> Value {
    json!({"frame": "DDSUU", "special": {"down": 10, "up": 2}})
}

fn fdd_15() -> Value {
    json!({
        "frame": "FDD", "scs": "15 kHz",
        "downlink": {"blocks": {"bandwidth": "15 MHz", "layers": 2}},
        "uplink": {"blocks": {"bandwidth": "15 MHz"}},
    })
}

fn fdd_30() -> Value {
    json!({"frame": "FDD"})
}

fn mmwave() -> Value {
    json!({
        "frame": "DDDSU", "special": {"down": 10, "up": 2}, "scs": "120 kHz", "lead": "0.5 ms", "processing": "0.5 ms",
        "k1": 8, "k2": 8, "downlink": {"blocks": {"table": "64qam", "layers": 2}}, "uplink": {"sr_period": "5 ms"},
    })
}

/// A cell with these keys; unless they say otherwise, nothing is lost and reception is good.
fn cell(keys: &Value) -> Cell {
    let still = json!({
        "downlink": {
            "queue": {"droptail": {"packets": 40_000}}, "adaptation": {"outer_loop": false}, "harq": {"bler": [0]},
        },
        "uplink": {
            "reception": {"mean_sinr": "60 dB", "fading": {"none": {}}}, "harq": {"bler": [0]},
        },
    });
    Cell::new("nr", 1, &over(still, keys))
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// So many milliseconds, to the nanosecond.
fn ms(millis: f64) -> u64 {
    (millis * 1e6).round() as u64
}

/// Delay in ms of a packet alone in the cell that enters at this time, which is long after the one before.
fn delay(cell: &mut Cell, dir: Dir, entry: u64, octets: u32) -> f64 {
    cell.run_until(at(entry));
    cell.outputs();
    let number = cell.send(at(entry), dir, 0, octets);
    cell.run_until(at(entry) + Duration::from_millis(150));
    let arrived = cell.outputs().into_iter().find(|(_, packet)| packet.seq == number).map(|(at, _)| at);
    arrived.map_or(f64::NAN, |arrived| arrived.since(at(entry)).as_nanos() as f64 / 1e6)
}

/// Least, mean and greatest delay of packets that enter in the middle of each hundredth of a period.
fn delays(keys: &Value, dir: Dir, octets: u32, period_ms: f64) -> [f64; 3] {
    let mut cell = cell(&over(narrow(), keys));
    let all: Vec<f64> = (0..100)
        .map(|step| {
            let whole = (200.0 / period_ms).round() * period_ms * f64::from(step + 1);
            delay(&mut cell, dir, ms(whole + period_ms * (f64::from(step) + 0.5) / 100.0), octets)
        })
        .collect();
    let (least, most) =
        (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max));
    [least, all.iter().sum::<f64>() / 100.0, most]
}
