//! Parameters that shared cells have in common.

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::Duration;
use crate::units::{Decibel, Probability};

parameters! {
    /// From what a UE hears to the row of the table by which it is sent to.
    pub struct Adaptation {
        /// Time between two reports of channel quality (CQI), whole slots; if absent 2 ms (HSDPA), 5 ms (LTE) or 20 ms (NR).
        pub period: Option<Duration>,
        /// How old a report is when it is used first, whole slots; if absent 6 ms, or 5 ms (NR).
        pub age: Option<Duration>,
        /// Whether an outer loop moves what reports say until `target_bler` is met; else they are taken as they are.
        pub outer_loop: bool = true,
        /// What share of first transmissions is to be lost.
        pub target_bler: Probability = tenth(),
        /// By how much the outer loop moves after a loss.
        pub step: Decibel = Decibel::from_thousandths(500),
    }

    /// Hybrid ARQ: blocks that are lost are sent again at once, and combined.
    pub struct HarqConfig {
        /// Blocks of a UE that may be on their way; if absent as many as the round trip has slots, 6 (HSDPA) or
        /// 8 (LTE), or 16 (NR).
        pub processes: Option<u8>,
        /// How often a block is sent at most, the first time included.
        pub max_transmissions: u8 = 4,
        /// Whether a receiver adds up what it has heard of a block (Chase combining).
        pub combining: bool = true,
        /// Probability that NACK is taken for ACK: the block is not sent again.
        pub nack_as_ack: Probability,
        /// Probability that a block is lost, by transmission; the last value is that of all further ones. If empty, what
        /// the air interface says for the ratio at the UE.
        pub bler: Vec<Probability>,
    }
}

/// How the units of a slot (PRBs) are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radio) enum Shares {
    /// The UE that is chosen first gets all that it can use, then the next.
    InTurn,
    /// All get equally many groups, whether they need them or not; what is left over stays unused.
    Equal,
    /// Equally many groups, and what a UE does not need goes to the others.
    MaxMin,
}

fn tenth() -> Probability {
    Probability::new(0.1).unwrap_or_default()
}

impl Adaptation {
    /// Period and age of reports in slots; what is absent is as here.
    pub(in crate::radio) fn slots(&self, slot: Duration, (period, age): (u64, u64)) -> (u64, u64) {
        let slots = |time: Duration| time.as_nanos() / slot.as_nanos();
        (self.period.map_or(period, slots), self.age.map_or(age, slots))
    }

    pub(in crate::radio) fn validate(&self, slot: Duration) -> Result<(), ScenarioError> {
        for (key, time) in [("period", self.period), ("age", self.age)] {
            let Some(time) = time else { continue };
            if !time.as_nanos().is_multiple_of(slot.as_nanos()) || (key == "period" && time.is_zero()) {
                let message = format!("{time} is no whole number of slots of {slot}");
                let hint = format!("write {slot}, or a multiple of it");
                return Err(ScenarioError::new(key, message, hint));
            }
        }
        let target = self.target_bler.as_f64();
        if !(0.001..=0.9).contains(&target) {
            let hint = "write 0.1 % to 90 %, such as \"10 %\"";
            return Err(ScenarioError::new("target_bler", "is no target of an outer loop", hint));
        }
        if self.step <= Decibel::from_thousandths(0) {
            return Err(ScenarioError::new("step", "moves nothing", "write a ratio such as \"0.5 dB\""));
        }
        Ok(())
    }
}

impl HarqConfig {
    /// `round_trip`: slots from one transmission of a block to the next.
    pub(in crate::radio) fn validate(&self, round_trip: u64) -> Result<(), ScenarioError> {
        let most = round_trip.max(8);
        if self.processes.is_some_and(|processes| !(1..=most).contains(&u64::from(processes))) {
            let hint = format!("write 1 to {most}");
            return Err(ScenarioError::new("processes", "is no number of HARQ processes", hint));
        }
        if !(1..=16).contains(&self.max_transmissions) {
            let hint = "write 1 to 16, such as 4";
            return Err(ScenarioError::new("max_transmissions", "is no number of transmissions", hint));
        }
        Ok(())
    }
}
