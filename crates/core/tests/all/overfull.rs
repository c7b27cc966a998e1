//! A run holds a bounded number of packets, and says which flow and which buffer hold them.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{MOST_PACKETS, Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::ProbeMask;

const DCH: &str = "[radio.dch.downlink]\nrate = \"384 kbit/s\"\n[radio.dch.uplink]\nrate = \"64 kbit/s\"\n";
const FLOOD: &str = "[[flow]]\nstart = \"10 ms\"\n[flow.app.cbr]\nrate = \"100 Gbit/s\"\n";

fn error_of(text: &str, probes: ProbeMask) -> String {
    let scenario = Scenario::parse(text, &[]).unwrap();
    let mut simulation = Simulation::new(&scenario, 1, Observe { probes, ..Observe::default() });
    while !simulation.advance_to(simulation.now() + Duration::from_millis(100)) {
        simulation.take_trace();
    }
    assert!(simulation.now() < simulation.end());
    let error = simulation.overfull().expect("the run ends early");
    assert_eq!(simulation.overfull(), Some(error.clone()));
    error.to_string()
}

#[test]
fn a_flooded_buffer_ends_the_run_with_its_name_and_the_flow() {
    let text = format!("duration = \"100 s\"\n{DCH}[[flow]]\napp = \"bulk\"\n{FLOOD}");
    let error = error_of(&text, ProbeMask::NONE);
    assert!(error.starts_with("radio.dch.downlink (UE 0): 41"), "{error}");
    assert!(
        error.contains(&format!("of at most {MOST_PACKETS} in all (469 MB of memory); flow 1 of UE 0 (cbr)")),
        "{error}"
    );
    assert_eq!(error, error_of(&text, ProbeMask::NONE));
}

#[test]
fn a_wire_with_a_huge_bandwidth_delay_product_is_named() {
    let text = format!("duration = \"100 s\"\n[wired]\ndelay = \"20 s\"\n{DCH}{FLOOD}");
    let error = error_of(&text, ProbeMask::NONE);
    assert!(error.starts_with("link: 41"), "{error}");
}

#[test]
fn a_link_layer_with_an_endless_buffer_is_named_by_it() {
    for rlc in ["am", "um", "fixed_delay_arq"] {
        let (down, up) = (format!("rlc = \"{rlc}\"\n"), "rlc = \"none\"\n");
        let up = if rlc == "fixed_delay_arq" { up } else { down.as_str() };
        let dch = DCH.replace("[radio.dch.uplink]", &format!("{down}[radio.dch.uplink]\n{up}"));
        let error = error_of(&format!("duration = \"100 s\"\n{dch}{FLOOD}"), ProbeMask::NONE);
        assert!(error.starts_with("radio.dch.downlink (UE 0): "), "{rlc}: {error}");
    }
}

/// Packets that an element discarded instead of returning them to the pool would count as held for ever: as many would be
/// created in each half of a run. Cells that carry more than 100 MB in 30 s take minutes without optimisation; their elements
/// are those of slower ones.
#[test]
fn a_long_run_creates_no_packets_once_it_is_in_balance() {
    let is_bundled = |name: &str| airpath_core::scenario::BUNDLED.iter().any(|(other, _)| *other == name);
    let is_class = |name: &str| {
        let still = |cell| is_bundled(&format!("{cell}-still"));
        name.rsplit_once('-').is_some_and(|(cell, class)| class != "still" && still(cell))
    };
    let mut skipped = Vec::new();
    for (name, text) in airpath_core::scenario::BUNDLED.iter().filter(|(name, _)| !is_class(name)) {
        let scenario = Scenario::parse(text, &[("duration".to_owned(), "60 s".to_owned())]).unwrap();
        let mut simulation = Simulation::new(&scenario, 1, Observe::default());
        let carries_too_much = (1..=30).any(|seconds| {
            simulation.advance_to(Instant::ZERO + Duration::from_secs(seconds));
            simulation.flows().iter().map(|flow| flow.bytes_received).sum::<u64>() > 100_000_000
        });
        if carries_too_much {
            skipped.push(*name);
            continue;
        }
        let before = simulation.created();
        simulation.run();
        let after = simulation.created();
        assert!(
            after <= before + before / 2 + 200,
            "{name}: {before} packets after 30 s, {after} after 60 s"
        );
    }
    let is_fast = |name: &&str| ["nr-", "endc-", "mptcp-"].iter().any(|begin| name.starts_with(begin));
    assert!(skipped.iter().all(is_fast) && skipped.len() < 8, "{skipped:?}");
}
