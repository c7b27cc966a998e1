//! Timers of RLC that are too short for the buffer of the Node B.
//!
//! A STATUS PDU reports a PDU missing after HARQ has discarded it. The RNC retransmits it, and the
//! retransmission queues after all PDUs in the Node B. Each further report sent before the retransmission
//! arrives names the PDU again and causes another retransmission. The round trip is at least
//!
//! ```text
//! capacity x PDU / rate + 2 x delay of the Iub + 12 ms of HARQ
//! ```
//!
//! with the rate of a UE that is alone in the cell; it is longer with other UEs. Timer_Status_Prohibit (TS
//! 25.322 §9.5 f) and Timer_Poll (§9.5 a) must not be shorter.

use super::{Config, ROUND_TRIP, SLOT};
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::rlc;
use crate::sinr::Sinr;
use crate::time::Duration;

/// Rates vary little with the seed, and a remark shall not depend on it.
const SEED: u64 = 1;

impl Config {
    /// Minimum retransmission time of a PDU, for the UE with the lowest mean rate above 0; `None` if there is no
    /// such UE.
    fn round_trip(&self) -> Option<Duration> {
        let setup = self.setup();
        let rate_of = |ue| {
            setup.mean_rate(Sinr::new(
                &self.downlink.reception,
                SEED,
                (ue, Dir::Downlink),
                setup.slots_per_s(),
            ))
        };
        let rate = (0..self.ues).map(|ue| rate_of(ue).as_bps()).filter(|bps| *bps > 0).min()?;
        let iub = &self.downlink.iub;
        let full = (u64::from(iub.capacity) * self.pdu_bits()) as f64 / rate as f64;
        let harq = SLOT.saturating_mul(ROUND_TRIP);
        Some(Duration::from_nanos((full * 1e9) as u64) + iub.delay.saturating_mul(2) + harq)
    }

    /// Timers of either direction that are shorter than this round trip.
    pub(super) fn short_timers(&self) -> Vec<ScenarioError> {
        let links = [("downlink", &self.downlink.rlc), ("uplink", &self.uplink.rlc)];
        let of_am = links.into_iter().filter_map(|(dir, rlc)| match rlc {
            rlc::Config::Am(am) => Some((dir, am)),
            _ => None,
        });
        let Some(least) = self.round_trip() else { return Vec::new() };
        let least_ms = least.as_nanos().div_ceil(1_000_000);
        let mut remarks = Vec::new();
        for (dir, am) in of_am {
            let prohibit = am.timer_status_prohibit.unwrap_or(Duration::ZERO);
            let timers = [("timer_status_prohibit", Some(prohibit)), ("timer_poll", am.timer_poll)];
            for (key, time) in timers {
                let Some(time) = time.filter(|time| *time < least) else { continue };
                let key = format!("{dir}.rlc.am.{key}");
                let message = format!(
                    "{time} is shorter than a retransmission through a full Node B takes ({least_ms} ms): \
                     PDUs are retransmitted several times"
                );
                let hint =
                    format!("write at least \"{least_ms} ms\", or lower radio.hsdpa.downlink.iub.capacity");
                remarks.push(ScenarioError::new(key, message, hint));
            }
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use crate::radio;

    fn remarks(keys: &str) -> Vec<String> {
        let radio: radio::Config = toml::from_str(&format!("[hsdpa]\n{keys}")).unwrap();
        radio.remarks().iter().map(ToString::to_string).collect()
    }

    /// By hand: a UE at a constant 4 dB reports CQI 20 and gets blocks of 5887 bits, 17 PDUs of 336 bits in 2 ms: 2.856
    /// Mbit/s. 500 of them last 58.8 ms, the Iub 30 and HARQ 12: 100.8 ms.
    const ROW_20: &str = "downlink.reception = { mean_sinr = \"4 dB\", fading.none = {} }\n";

    #[test]
    fn timers_shorter_than_a_retransmission_are_remarked_upon() {
        let with = |poll: &str, prohibit: &str| {
            let am = format!("{{ timer_poll = \"{poll}\", timer_status_prohibit = \"{prohibit}\" }}");
            remarks(&format!(
                "{ROW_20}downlink.rlc.am = {am}\nuplink.rlc.am = {{ timer_poll = \"1 s\", timer_status_prohibit = \"1 s\" }}\n"
            ))
        };
        assert_eq!(with("101 ms", "101 ms"), [""; 0]);
        let one = "hsdpa.downlink.rlc.am.timer_status_prohibit: 100 ms is shorter than a retransmission through a full \
                   Node B takes (101 ms): PDUs are retransmitted several times; write at least \"101 ms\", or lower \
                   radio.hsdpa.downlink.iub.capacity";
        assert_eq!(with("101 ms", "100 ms"), [one]);
        assert_eq!(with("100 ms", "0 ms").len(), 2);
    }

    #[test]
    fn without_acknowledgements_there_is_nothing_to_retransmit() {
        assert_eq!(remarks("downlink.rlc.um = {}\nuplink.rlc.um = {}\n"), [""; 0]);
    }
}
