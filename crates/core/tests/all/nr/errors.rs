//! What is refused, with the key and what to do.

use airpath_core::radio;
use serde_json::{Value, json};

fn error(keys: &Value) -> String {
    let config: radio::Config = serde_json::from_value(json!({ "nr": keys })).unwrap();
    config.validate().map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn what_no_cell_can_do_is_named_with_a_remedy() {
    let cases = [
        (json!({}), ""),
        (json!({"frame": "FDD"}), ""),
        (json!({"ues": 0}), "nr.ues: a cell needs at least one UE; write ues = 1"),
        (
            json!({"scs": "45 kHz"}),
            "nr.scs: 45 kHz is no subcarrier spacing of NR; write \"30 kHz\", or 15, 60 or 120 kHz",
        ),
        (
            json!({"frame": "DDDS"}),
            "nr.frame: \"DDDS\" is no pattern of slots with a downlink and an uplink; write \"FDD\", or D, S and U for up to 80 slots with a D and a U, such as \"DDDSU\"",
        ),
        (
            json!({"special": {"down": 10, "up": 5}}),
            "nr.special: 10 and 5 symbols are more than the 14 of a slot; write fewer, such as { down = 10, up = 2 }",
        ),
        (
            json!({"downlink": {"rlc": {"am_lte": {}}}}),
            "nr.downlink.rlc: rlc.am_lte is no link layer of NR; write rlc.am_nr or rlc.um_nr",
        ),
        (json!({"carriers": 0}), "nr.carriers: 0 carriers; write 1 to 8, such as 4"),
        (json!({"carriers": 9}), "nr.carriers: 9 carriers; write 1 to 8, such as 4"),
        (
            json!({"downlink": {"blocks": {"bandwidth": "5 MHz"}, "subbands": {}}}),
            "nr.downlink.subbands: a carrier of 11 PRBs has none; choose a bandwidth of 24 PRBs or more, or remove the table",
        ),
        (
            json!({"downlink": {"group": 5, "subbands": {}}}),
            "nr.downlink.group: 5 PRBs do not divide a subband of 16; write 16, or remove the key",
        ),
        (
            json!({"carriers": 2, "uplink": {"carriers": 3}}),
            "nr.uplink.carriers: 3 carriers, but the downlink has 2; write at least 1 and at most the carriers of the downlink (radio.nr.carriers)",
        ),
        (
            json!({"downlink": {"reception": {"blockage": {"depth": "70 dB"}}}}),
            "nr.downlink.reception.blockage.depth: 70 dB is no depth of a blockage; write \"0 dB\" to \"60 dB\"",
        ),
        (
            json!({"uplink": {"reception": {"blockage": {"lasts": "0 s"}}}}),
            "nr.uplink.reception.blockage.lasts: 0 s is no time of a blockage; write 1 ms or more, such as \"280 ms\"",
        ),
        (
            json!({"second_bearer": {}}),
            "nr.second_bearer.flows: nothing would use the second bearer; write l4s = true, or the numbers of flows, such as flows = [1]",
        ),
        (
            json!({"second_bearer": {"l4s": true, "share": "0 %"}}),
            "nr.second_bearer.share: the bearer would get nothing; write more than 0 %",
        ),
        (
            json!({"second_bearer": {"l4s": true, "uplink": {"rlc": {"um_nr": {}}}}}),
            "nr.second_bearer.uplink.rlc: rlc.um_nr does not work with rlc.am_nr in the downlink; write rlc.am_nr in both directions: its STATUS PDUs go the other way",
        ),
        (json!({"k1": 0}), "nr.k1: 0 slots; write 1 to 32 slots, such as 4"),
        (
            json!({"downlink": {"harq": {"processes": 33}}}),
            "nr.downlink.harq.processes: is no number of HARQ processes; write 1 to 32",
        ),
        (
            json!({"downlink": {"blocks": {"bandwidth": "12 MHz"}}}),
            "nr.downlink.blocks.bandwidth: 12 MHz is no bandwidth of NR at 30 kHz; write one of 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100 MHz",
        ),
        (json!({"downlink": {"blocks": {"layers": 5}}}), "nr.downlink.blocks.layers: 5 layers; write 1 to 4"),
        (
            json!({"downlink": {"layer_loss": ["0 dB"]}}),
            "nr.downlink.layer_loss: has not one rising ratio for each number of layers; write as many as blocks.layers, such as [\"0 dB\", \"4 dB\", \"7 dB\", \"9 dB\"]",
        ),
        (
            json!({"uplink": {"sr_period": "0.7 ms"}}),
            "nr.uplink.sr_period: 700 us is no whole number of slots of 500 us; write 500 us, or a multiple of it",
        ),
        (
            json!({"uplink": {"standing": {"every": "0 ms"}}}),
            "nr.uplink.standing.every: 0 s is no whole number of slots of 500 us; write 500 us, or a multiple of it",
        ),
        (
            json!({"uplink": {"first_block": "0 B"}}),
            "nr.uplink.first_block: 0 B is no size of a block; write 1 B to 200 kB",
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(error(&keys), expected, "{keys}");
    }
}
