//! Times of arrival over every bundled scenario, each as one number: the same on every platform, and from Python
//! (`tests/runs/test_net.py`). After a change on purpose, or with a new scenario, take the new numbers over from the
//! message of the failing test.

use crate::{bundled, datagram, ms};
use airpath::{End, Net, Scenario};

/// FNV-1a hash over 64 bits of time, end, length and ECN field of each arrival, and the number of arrivals.
///
/// For four seconds the server sends a datagram every 10 ms, and the UE one every 40 ms; a driver that stops at each
/// arrival continues for two more seconds.
fn outcome(scenario: &Scenario, seed: u64) -> (usize, u64) {
    let (mut net, mut hash, mut count) = (Net::new(scenario, seed), 0xcbf2_9ce4_8422_2325_u64, 0);
    for step in 0..=400_u64 {
        if step < 400 {
            net.send(
                ms(10 * step),
                End::Server,
                datagram(End::Server, vec![0; (100 + 37 * step % 1300) as usize]),
            );
        }
        if step < 400 && step % 4 == 0 {
            net.send(
                ms(10 * step),
                End::Ue(0),
                datagram(End::Ue(0), vec![0; (40 + 13 * step % 200) as usize]),
            );
        }
        let until = if step < 400 { ms(10 * (step + 1)) } else { ms(6000) };
        while let Some(arrival) = net.advance(until) {
            count += 1;
            let end = u8::from(arrival.to != End::Server);
            let ecn = arrival.datagram().unwrap().ecn.bits();
            let told = [
                &arrival.at.as_nanos().to_le_bytes()[..],
                &[end],
                &(arrival.packet.len() as u32).to_le_bytes(),
                &[ecn],
            ];
            for byte in told.concat() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    (count, hash)
}

/// Scenarios without random effects on these packets.
const DRAWS_NOTHING: [&str; 1] = ["variable-3g"];

#[test]
#[ignore = "slow"]
fn arrivals_are_the_same_everywhere_and_follow_the_seed() {
    let mut lines = String::new();
    for (name, shows) in Scenario::names() {
        assert!(shows.len() > 10, "{name} says what it shows");
        let scenario = bundled(name);
        let (count, hash) = outcome(&scenario, 1);
        lines += &format!("{name} {count} {hash:016x}\n");
        let is_same = outcome(&scenario, 2) == (count, hash);
        assert_eq!(is_same, DRAWS_NOTHING.contains(&name), "{name}: does the seed matter?");
    }
    assert_eq!(lines, include_str!("../golden.txt"), "now:\n{lines}");
}

#[test]
fn a_link_begins_anew_each_time() {
    let scenario = bundled("umts-384");
    assert_eq!(outcome(&scenario, 1), outcome(&scenario, 1));
}
