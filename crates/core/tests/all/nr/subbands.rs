//! Subbands of the downlink: reports about each, and blocks on the best of them.

use super::{at, cell, ms};
use crate::shared::{Cell, near, over};
use airpath_core::packet::Dir;
use serde_json::{Value, json};

/// 20 MHz: 51 PRBs, in 13 subbands of 4 of which the last has 3. All fade quickly, and reports are new.
fn fading(subbands: &Value, report: &str) -> Value {
    json!({"frame": "FDD", "downlink": {
        "blocks": {"bandwidth": "20 MHz", "layers": 1}, "subbands": subbands, "report": report,
        "reception": {"mean_sinr": "10 dB", "fading": {"jakes": {"doppler": "300 Hz"}}},
        "adaptation": {"period": "0.5 ms", "age": "0 ms", "outer_loop": false}, "harq": {"bler": []},
    }})
}

/// Mean SINR of blocks of a single subband, as a multiple of the mean over time, and the share of lost blocks.
fn of_single_subbands(subbands: &Value, report: &str) -> (f64, f64) {
    let mut cell = cell(&fading(subbands, report));
    for slot in 0..16_000_u64 {
        let now = at(500_000 * slot);
        cell.run_until(now);
        cell.send(now, Dir::Downlink, 0, 40);
    }
    let blocks: Vec<_> = cell.blocks().into_iter().filter(|block| block.transmission == 1).collect();
    assert!(blocks.len() > 10_000, "{}", blocks.len());
    let count = blocks.len() as f64;
    let mean = blocks.iter().map(|block| block.sinr_thousandths as f64 / 1e4).sum::<f64>() / count;
    (mean, blocks.iter().filter(|block| block.lost).count() as f64 / count)
}

/// The maximum of n exponential gains of mean 1 is 1 + 1/2 + ... + 1/n in the mean.
fn expected_maximum(subbands: u32) -> f64 {
    (1..=subbands).map(|rank| 1.0 / f64::from(rank)).sum()
}

/// A block that needs a single subband is sent on the best of 13, whose gain is 3.18 in the mean. Reports in steps of an MCS
/// do not tell the best from the second where both are within a step. Offsets of four levels tell fewer; reports about the
/// carrier alone tell nothing, and the gain is that of any subband.
#[test]
#[ignore = "slow"]
fn the_gain_over_wideband_reports_is_that_of_the_expected_maximum() {
    let (best, lost) = of_single_subbands(&json!({}), "mcs");
    assert!(near(best, expected_maximum(13), 0.06), "{best}, not {}", expected_maximum(13));
    // The SINR is at least that for which the MCS is lost with 10 %.
    assert!(lost < 0.1, "{lost}");
    let (some, _) = of_single_subbands(&json!({"report": "wideband"}), "mcs");
    assert!(near(some, 1.0, 0.06), "{some}");
    let (offsets, _) = of_single_subbands(&json!({}), "cqi");
    assert!((1.7..best).contains(&offsets), "{offsets} of {best}");
    // Larger subbands: 6 of 8 PRBs and one of 3.
    let (large, _) = of_single_subbands(&json!({"size": "large"}), "mcs");
    assert!(near(large, expected_maximum(7), 0.06), "{large}, not {}", expected_maximum(7));
}

/// Mbit/s of four UEs that share each slot, and the share of lost blocks.
fn shared(subbands: &Value) -> (f64, f64) {
    let keys = over(
        fading(subbands, "cqi"),
        &json!({"downlink": {
            "sharing": "max_min", "adaptation": {"age": "1 ms", "outer_loop": true},
            "reception": {"mean_sinr": "10 dB", "fading": {"jakes": {"doppler": "10 Hz"}}},
        }}),
    );
    let mut cell = Cell::new("nr", 4, &keys);
    for step in 0..1500_u32 {
        let now = at(ms(f64::from(step)));
        cell.run_until(now);
        for ue in 0..4 {
            (0..3).for_each(|_| _ = cell.send(now, Dir::Downlink, ue, 1500));
        }
    }
    let report = cell.report();
    let sum = |key: &str| {
        let of = |ue: usize| report["ues"][ue]["downlink"]["harq"][key].as_f64().unwrap();
        (0..4).map(of).sum::<f64>()
    };
    (sum("bits") / 1.5e6, sum("first_lost") / sum("blocks"))
}

/// Four UEs on a carrier: each has a quarter of it, its best free subbands instead of any.
#[test]
#[ignore = "slow"]
fn ues_that_share_a_slot_gain_by_their_best_subbands() {
    let ((subband, lost), (wideband, _)) = (shared(&json!({})), shared(&json!({"report": "wideband"})));
    assert!(subband > 1.15 * wideband, "{subband} and {wideband} Mbit/s");
    assert!(lost < 0.2, "{lost}");
}

/// What is lost comes back on other subbands, in order; with carriers too.
#[test]
fn blocks_on_subbands_are_repeated() {
    for carriers in [1, 2] {
        let keys = over(
            fading(&json!({}), "cqi"),
            &json!({"carriers": carriers, "downlink": {"harq": {"bler": ["30 %", 0]}}}),
        );
        let mut cell = cell(&keys);
        let sent: Vec<u32> = (0..600).map(|_| cell.send(at(0), Dir::Downlink, 0, 1500)).collect();
        let arrived: Vec<u32> = cell.run_dry().iter().map(|(_, packet)| packet.seq).collect();
        assert_eq!(arrived, sent, "{carriers}");
    }
}
