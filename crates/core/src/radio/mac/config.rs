//! Parameters that shared cells have in common.

use crate::error::ScenarioError;
use crate::radio::phy::air::MOST_LAYERS;
use crate::registry::parameters;
use crate::time::Duration;
use crate::units::{Bytes, Decibel, Probability};

parameters! {
    /// Link adaptation: how a UE's reception determines the row of the table used for it.
    pub struct Adaptation {
        /// Time between two reports of channel quality (CQI), whole slots; if absent 2 ms (HSDPA), 5 ms (LTE) or 20 ms (NR).
        pub period: Option<Duration>,
        /// How old a report is when it is used first, whole slots; if absent 6 ms, or 5 ms (NR).
        pub age: Option<Duration>,
        /// Standard deviation of the SINR that a report is about around the SINR of its slot: error of the measurement, or
        /// subbands that differ.
        pub noise: Decibel,
        /// Whether an outer loop adds an offset to reports until `target_bler` is met; otherwise reports are
        /// used unchanged.
        pub outer_loop: bool = true,
        /// Target loss ratio of first transmissions.
        pub target_bler: Probability = tenth(),
        /// By how much the outer loop moves after a loss.
        pub step: Decibel = Decibel::from_thousandths(500),
    }

    /// Hybrid ARQ: lost blocks are retransmitted, and the receiver combines the transmissions.
    pub struct HarqConfig {
        /// Blocks of a UE that may be in transit; if absent as many as the round trip has slots, 6 (HSDPA), 8 (LTE), 8 or 4
        /// (E-DCH of 2 or 10 ms), or 16 (NR).
        pub processes: Option<u8>,
        /// Maximum number of transmissions of a block, including the first.
        pub max_transmissions: u8 = 4,
        /// Whether a receiver combines the transmissions of a block: Chase combining, or incremental
        /// redundancy (NR).
        pub combining: bool = true,
        /// Probability that a NACK is decoded as an ACK, so the block is not retransmitted.
        pub nack_as_ack: Probability,
        /// Probability that a block is lost, by transmission; the last value applies to all further ones. If
        /// empty, it follows from the air interface and the UE's ratio.
        pub bler: Vec<Probability>,
    }

    /// Standing grants of each UE.
    pub struct Standing {
        /// Period of the grants: each is in the first uplink slot at or after a multiple of it.
        pub every: Duration = Duration::from_millis(5),
        /// Octets of SDUs per grant.
        pub block: Bytes = Bytes::from_bytes(120),
    }
}

/// How the units of a slot (PRBs) are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::radio) enum Shares {
    /// The UE that is chosen first gets all that it can use, then the next.
    InTurn,
    /// All UEs get the same number of groups, needed or not; the rest stays unused.
    Equal,
    /// All UEs get the same number of groups; groups that a UE does not need go to the others.
    MaxMin,
}

fn tenth() -> Probability {
    Probability::new(0.1).unwrap_or_default()
}

impl Adaptation {
    /// Period and age of reports in slots; absent values use the given defaults.
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
        if self.noise < Decibel::default() {
            return Err(ScenarioError::new("noise", "is no standard deviation", "write 0 dB or more"));
        }
        if self.step <= Decibel::from_thousandths(0) {
            return Err(ScenarioError::new("step", "moves nothing", "write a ratio such as \"0.5 dB\""));
        }
        Ok(())
    }
}

/// By how much the SINR of a layer is lower with 1 to 4 of them: their share of the power, and their interference.
pub(in crate::radio) fn layer_loss() -> Vec<Decibel> {
    [0, 4000, 7000, 9000].map(Decibel::from_thousandths).to_vec()
}

/// Rejects losses unless there is one per number of layers, in rising order.
pub(in crate::radio) fn validate_layer_loss(layers: u8, losses: &[Decibel]) -> Result<(), ScenarioError> {
    let enough = (usize::from(layers)..=MOST_LAYERS).contains(&losses.len());
    if enough && losses.is_sorted() && losses.iter().all(|loss| *loss >= Decibel::default()) {
        return Ok(());
    }
    let message = "has not one rising ratio for each number of layers";
    let hint = "write as many as blocks.layers, such as [\"0 dB\", \"4 dB\", \"7 dB\", \"9 dB\"]";
    Err(ScenarioError::new("layer_loss", message, hint))
}

/// Rejects a time that is not a whole number of slots, at least one.
pub(in crate::radio) fn whole_slots(key: &str, time: Duration, slot: Duration) -> Result<(), ScenarioError> {
    if !time.is_zero() && time.as_nanos().is_multiple_of(slot.as_nanos()) {
        return Ok(());
    }
    let message = format!("{time} is no whole number of slots of {slot}");
    Err(ScenarioError::new(key, message, format!("write {slot}, or a multiple of it")))
}

/// Refuses grants of an uplink with these slots that no UE could use.
pub(in crate::radio) fn validate_grants(
    slot: Duration,
    first_block: Bytes,
    most_block: Bytes,
    standing: Option<&Standing>,
) -> Result<(), ScenarioError> {
    let size = |key: &str, block: Bytes| {
        if (1..=200_000).contains(&block.as_u64()) {
            return Ok(());
        }
        let message = format!("{block} is no size of a block");
        Err(ScenarioError::new(key, message, "write 1 B to 200 kB"))
    };
    size("first_block", first_block)?;
    size("most_block", most_block)?;
    let Some(standing) = standing else { return Ok(()) };
    whole_slots("every", standing.every, slot)
        .and_then(|()| size("block", standing.block))
        .map_err(|error| error.under("standing"))
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
