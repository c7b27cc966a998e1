//! What shared cells refuse, and what they say.

use airpath_core::scenario::Scenario;

fn error(cell: &str) -> String {
    let text = format!("duration = \"1 s\"\n{cell}\n[[flow]]\n");
    Scenario::parse(&text, &[]).err().map_or_else(|| "NOT REFUSED".to_owned(), |error| error.to_string())
}

#[test]
fn errors_say_what_would_be_right() {
    let cases = [
        ("hsdpa.ues = 0", "ues: a cell needs at least one UE; write ues = 1"),
        (
            "hsdpa.downlink.category = 13",
            "downlink.category: there is no UE category 13 of HSDPA in Release 5; write 1 to 12",
        ),
        ("hsdpa.downlink.codes = 16", "downlink.codes: is no number of codes; write 1 to 15"),
        (
            "hsdpa.downlink.ues_per_tti = 5",
            "downlink.ues_per_tti: is no number of UEs in a TTI; write 1 to 4",
        ),
        (
            "hsdpa.downlink.adaptation.age = \"3 ms\"",
            "downlink.adaptation.age: 3 ms is no whole number of slots of 2 ms; write 2 ms, or a multiple of it",
        ),
        (
            "hsdpa.downlink.adaptation.target_bler = \"0 %\"",
            "downlink.adaptation.target_bler: is no target of an outer loop; write 0.1 % to 90 %, such as \"10 %\"",
        ),
        (
            "hsdpa.downlink.harq.processes = 9",
            "downlink.harq.processes: is no number of HARQ processes; write 1 to 8",
        ),
        (
            "hsdpa.downlink.harq.max_transmissions = 0",
            "downlink.harq.max_transmissions: is no number of transmissions; write 1 to 16, such as 4",
        ),
        (
            "hsdpa.downlink.reordering.window = 33",
            "downlink.reordering.window: is no window of TSNs; write 1 to 32: half of the 64 numbers at most",
        ),
        (
            "hsdpa.downlink.iub.capacity = 0",
            "downlink.iub.capacity: lets no PDU through; write a number of PDUs such as 500",
        ),
        (
            "hsdpa.downlink.rlc.none = {}",
            "downlink.rlc: rlc.none has no PDUs of one size that share the outcome of their TTI; \
             write rlc.am, rlc.um or rlc.tm, with errors = \"per_tti\"",
        ),
        (
            "hsdpa.uplink.rlc.um = {}",
            "uplink.rlc: rlc.um does not work with rlc.am in the downlink; \
             write rlc.am in both directions: its STATUS PDUs go the other way",
        ),
        (
            "lte.downlink.blocks.bandwidth = \"7 MHz\"",
            "downlink.blocks.bandwidth: 7 MHz is no bandwidth of LTE; write \"1.4 MHz\", or 3, 5, 10, 15 or 20 MHz",
        ),
        ("lte.downlink.group = 0", "downlink.group: is no size of a resource block group; write 1 to 6"),
        (
            "lte.downlink.reception.mean_sinr = [\"1 dB\", \"2 dB\"]",
            "downlink.reception.mean_sinr: mean_sinr has 2 values for 1 UEs; write one value, or a list of 1",
        ),
        (
            "lte.downlink.rlc.am = {}",
            "downlink.rlc: rlc.am has no PDUs that fill what is granted; write rlc.am_lte, rlc.um_lte, rlc.am_nr or rlc.um_nr",
        ),
        (
            "lte.uplink.interval = \"0 ms\"",
            "uplink.interval: 0 s is no whole number of TTIs; write 1 ms, or a multiple of it",
        ),
        ("lte.uplink.block = \"9 B\"", "uplink.block: is no size of a transport block; write 16 to 9422 B"),
        (
            "lte.uplink.bler = \"100 %\"",
            "uplink.bler: lets nothing arrive; lower it, for example to \"10 %\"",
        ),
    ];
    for (keys, expected) in cases {
        let kind = keys.split('.').next().unwrap();
        assert_eq!(error(&format!("radio.{keys}")), format!("radio.{kind}.{expected}"), "{keys}");
    }
}
