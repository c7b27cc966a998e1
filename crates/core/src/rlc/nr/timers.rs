//! Pairs of timers that lose what was repaired, or repair what was not lost.

use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::pdcp;
use crate::rlc;
use crate::time::Duration;

/// How long a cell takes to repair a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Maximum time HARQ may still spend on a block: all retransmissions, at the maximum RTT.
    pub harq: Duration,
    /// From the expiry of t-Reassembly to a retransmission that has arrived: a STATUS PDU's way, and a block.
    pub retransmission: Duration,
    /// How long a blockage lasts in the mean; zero if there is none. Blocks in transit when it begins may be retransmitted
    /// only after it.
    pub blockage: Duration,
}

/// What may be meant but loses what was repaired, in the form of errors whose key is below the direction's:
///
/// * t-Reassembly below HARQ's repetitions: RLC retransmits what HARQ still repeats.
/// * t-Reordering below t-Reassembly and a retransmission: PDCP passes over what RLC repairs.
/// * t-Reordering below that and a blockage: with the rate that is left, RLC needs most of it for what was in transit.
/// * t-Reordering below HARQ's repetitions, in unacknowledged mode.
pub fn remarks(dir: Dir, rlc: &rlc::Config, pdcp: &pdcp::Config, repair: Repair) -> Vec<ScenarioError> {
    let Some((key, t_reassembly)) = rlc.harq_timer().filter(|_| rlc.has_pdcp()) else { return Vec::new() };
    let ms = |time: Duration| format!("{} ms", time.as_nanos().div_ceil(1_000_000));
    let mut remarks = Vec::new();
    if t_reassembly < repair.harq {
        let (lost, least) = match rlc.ttis().is_some_and(|ttis| ttis.retransmits) {
            true => ("RLC retransmits what HARQ still repeats", ms(repair.harq)),
            false => ("segments are dropped that HARQ still repeats", ms(repair.harq)),
        };
        let message = format!("{t_reassembly} is shorter than HARQ repeats a block ({least}): {lost}");
        let hint = format!("write at least \"{least}\", or lower the number of transmissions");
        remarks.push(ScenarioError::new(format!("rlc.{}.{key}", rlc.name()), message, hint));
    }
    let (waits, is_acknowledged) = match rlc {
        rlc::Config::AmNr(_) => (t_reassembly.max(repair.harq) + repair.retransmission, true),
        _ => (repair.harq, false),
    };
    if let Some(t_reordering) = pdcp.t_reordering.filter(|time| *time < waits && !pdcp.out_of_order) {
        let least = ms(waits);
        let message = match is_acknowledged {
            true => format!(
                "{t_reordering} is shorter than t_reassembly of {t_reassembly} and a retransmission of {} ({least}): PDCP \
                 passes over what RLC repairs",
                ms(repair.retransmission)
            ),
            false => {
                format!("{t_reordering} is shorter than HARQ repeats a block ({least}): PDCP passes over it")
            }
        };
        let hint = format!("write at least \"{least}\", or shorten rlc.{}.{key}", rlc.name());
        remarks.push(ScenarioError::new("pdcp.t_reordering", message, hint));
    } else if let Some(t_reordering) = pdcp.t_reordering.filter(|time| {
        is_acknowledged && !repair.blockage.is_zero() && *time < waits + repair.blockage && !pdcp.out_of_order
    }) {
        let least = ms(waits + repair.blockage);
        let message = format!(
            "{t_reordering} is shorter than a blockage of {} and RLC's repair behind it ({least}): PDCP passes over what RLC \
             repairs",
            ms(repair.blockage)
        );
        let hint = format!("write at least \"{least}\"; a longer time costs only when RLC gives up");
        remarks.push(ScenarioError::new("pdcp.t_reordering", message, hint));
    }
    remarks.into_iter().map(|remark| remark.under(dir.name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::{am_nr, um_nr};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn of(rlc: &rlc::Config, t_reordering: Option<u64>) -> Vec<String> {
        with_blockage(rlc, t_reordering, Duration::ZERO)
    }

    fn with_blockage(rlc: &rlc::Config, t_reordering: Option<u64>, blockage: Duration) -> Vec<String> {
        let pdcp = pdcp::Config { t_reordering: t_reordering.map(ms), ..pdcp::Config::default() };
        let repair = Repair { harq: Duration::from_nanos(25_500_000), retransmission: ms(40), blockage };
        remarks(Dir::Downlink, rlc, &pdcp, repair).iter().map(ToString::to_string).collect()
    }

    fn am(t_reassembly: u64) -> rlc::Config {
        rlc::Config::AmNr(am_nr::Config { t_reassembly: ms(t_reassembly), ..am_nr::Config::default() })
    }

    /// Acceptance test 20: 80 and 80 lose what was repaired.
    #[test]
    fn t_reordering_shorter_than_a_repair_is_remarked_upon() {
        assert_eq!(of(&am(40), Some(80)), [""; 0]);
        assert_eq!(of(&am(80), None), [""; 0]);
        assert_eq!(
            of(&am(80), Some(80)),
            [
                "downlink.pdcp.t_reordering: 80 ms is shorter than t_reassembly of 80 ms and a retransmission of 40 ms \
              (120 ms): PDCP passes over what RLC repairs; write at least \"120 ms\", or shorten \
              rlc.am_nr.t_reassembly"
            ]
        );
    }

    /// 40 ms, 40 ms and a blockage of 280 ms, in which nothing may get through.
    #[test]
    fn t_reordering_shorter_than_a_blockage_is_remarked_upon() {
        let blocked = |t_reordering| with_blockage(&am(40), Some(t_reordering), ms(280));
        assert_eq!(blocked(360), [""; 0]);
        assert_eq!(
            blocked(100),
            [
                "downlink.pdcp.t_reordering: 100 ms is shorter than a blockage of 280 ms and RLC's repair behind it (360 ms): \
                 PDCP passes over what RLC repairs; write at least \"360 ms\"; a longer time costs only when RLC gives up"
            ]
        );
        assert_eq!(blocked(50).len(), 1);
        assert_eq!(with_blockage(&am(40), None, ms(280)), [""; 0]);
    }

    #[test]
    fn t_reassembly_shorter_than_harq_is_remarked_upon() {
        assert_eq!(
            of(&am(25), Some(100)),
            [
                "downlink.rlc.am_nr.t_reassembly: 25 ms is shorter than HARQ repeats a block (26 ms): RLC retransmits what \
              HARQ still repeats; write at least \"26 ms\", or lower the number of transmissions"
            ]
        );
        let um = rlc::Config::UmNr(um_nr::Config { t_reassembly: ms(25), ..um_nr::Config::default() });
        assert_eq!(of(&um, Some(20)).len(), 2);
        assert_eq!(of(&um, Some(26)).len(), 1);
    }

    #[test]
    fn link_layers_without_pdcp_have_no_such_timers() {
        assert_eq!(of(&rlc::Config::AmLte(Default::default()), Some(1)), [""; 0]);
    }
}
