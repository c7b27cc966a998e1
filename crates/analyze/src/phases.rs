//! Phases of a connection, from its first packet to its last, as drawn in a waterfall.
//!
//! The phases follow each other without gaps. The clock of the shares of a flow runs through most of them: those
//! between the handshake and [`Phase::NoData`] are the shares in order, of the flow with most data.

use airpath_core::time::Instant;
use serde::Serialize;

use crate::flow::Spending;
use crate::flow::rounds::Part;

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// From the first SYN until the client has acknowledged the SYN-ACK, retransmissions included.
    Handshake,
    /// Before the first data, and after the last acknowledgment: nothing is to be sent.
    NoData,
    /// The other end has sent data, such as a request, and this one has not answered.
    Waiting,
    /// All data is acknowledged, and the other end has no request outstanding.
    Idle,
    /// The sender has a pause before more data, or keeps a pace of its own.
    Pause,
    ReceiveWindow,
    CongestionWindow,
    SlowStart,
    /// Recoveries, and windows that losses keep small.
    Loss,
    Timeouts,
    /// A queue at the bottleneck, or its full rate.
    Link,
    /// Only the end with less data has any in transit.
    OtherDirection,
    /// Cannot be determined from the capture.
    Unknown,
}

/// The phases, by columns: in the order of time, each begins where the one before ends.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Phases {
    /// Sender of the data that they describe, `client` or `server`; `None` without data.
    pub sender: Option<&'static str>,
    /// Seconds since the connection's first packet.
    pub start_s: Vec<f64>,
    pub end_s: Vec<f64>,
    pub phase: Vec<Phase>,
    /// Seconds in which something was wanted: without [`Phase::NoData`] and [`Phase::Idle`].
    pub active_s: f64,
}

/// A flow of the connection: its sender, its bytes, and the use of its time if known.
pub struct Told<'a> {
    pub sender: &'static str,
    pub bytes: u64,
    pub spending: Option<&'a Spending>,
}

/// Start and end of a connection, and the captured part of its handshake.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    pub first_at: Instant,
    pub latest_at: Instant,
    pub has_syn: bool,
    /// When the client acknowledged the answer to its SYN.
    pub established_at: Option<Instant>,
}

impl From<Part> for Phase {
    fn from(part: Part) -> Self {
        match part {
            Part::Waiting => Self::Waiting,
            Part::Idle => Self::Idle,
            Part::Pause => Self::Pause,
            Part::ReceiveWindow => Self::ReceiveWindow,
            Part::CongestionWindow => Self::CongestionWindow,
            Part::SlowStart => Self::SlowStart,
            Part::Loss => Self::Loss,
            Part::Timeouts => Self::Timeouts,
            Part::Link => Self::Link,
            Part::Unknown => Self::Unknown,
        }
    }
}

impl Phases {
    /// The phases of a connection with these flows.
    pub fn of(life: Life, flows: &[Told<'_>]) -> Self {
        let at_s = |at: Instant| seconds_from(life.first_at, at);
        let end_s = at_s(life.latest_at);
        let mut phases = Self::default();
        // The first of those with the same number of bytes.
        let main = flows.iter().rev().max_by_key(|flow| flow.bytes);
        phases.sender = main.map(|flow| flow.sender);
        let spending = main.and_then(|flow| flow.spending);
        let from_s = spending.map(|spending| at_s(spending.from));
        if life.has_syn {
            // Data in the SYN precedes the end of the handshake. With data and without the ACKs of the other direction,
            // that end is not known.
            let has_data = main.is_some_and(|flow| flow.bytes > 0);
            let unknown_s = from_s.unwrap_or(if has_data { 0.0 } else { end_s });
            let established_s = life.established_at.map_or(unknown_s, at_s);
            phases.until(from_s.map_or(established_s, |from_s| from_s.min(established_s)), Phase::Handshake);
        }
        let Some(spending) = spending else {
            phases.until(end_s, if main.is_some() { Phase::Unknown } else { Phase::NoData });
            return phases;
        };
        phases.until(at_s(spending.from), Phase::NoData);
        let mut until_s = at_s(spending.from);
        for (part, seconds) in &spending.parts {
            until_s += seconds;
            phases.until(until_s, Phase::from(*part));
        }
        let others = flows.iter().filter(|flow| main.is_none_or(|main| !std::ptr::eq(*flow, main)));
        let others = others.filter_map(|flow| flow.spending);
        let others_s = others.map(|other| at_s(other.from) + other.parts.iter().map(|(_, s)| s).sum::<f64>());
        phases.until(others_s.fold(0.0, f64::max).min(end_s), Phase::OtherDirection);
        phases.until(end_s, Phase::NoData);
        phases
    }

    /// A phase lasts up to here, if that is later than the end of the one before.
    fn until(&mut self, end_s: f64, phase: Phase) {
        let start_s = self.end_s.last().copied().unwrap_or(0.0);
        if end_s <= start_s {
            return;
        }
        if self.phase.last() == Some(&phase) {
            self.end_s.pop();
        } else {
            self.phase.push(phase);
            self.start_s.push(start_s);
        }
        self.end_s.push(end_s);
        if !matches!(phase, Phase::NoData | Phase::Idle) {
            self.active_s += end_s - start_s;
        }
    }
}

/// Seconds from one time to another, which may be earlier.
pub(crate) fn seconds_from(start: Instant, at: Instant) -> f64 {
    if at >= start { at.since(start).as_secs_f64() } else { -start.since(at).as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::rounds::Shares;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn life(has_syn: bool, established_ms: Option<u64>) -> Life {
        Life { first_at: at(1000), latest_at: at(2000), has_syn, established_at: established_ms.map(at) }
    }

    fn spending(from_ms: u64, parts: &[(Part, f64)]) -> Spending {
        Spending { shares: Shares::default(), from: at(from_ms), parts: parts.to_vec() }
    }

    /// The phases with their ends in milliseconds.
    fn ends(phases: &Phases) -> Vec<(Phase, i64)> {
        assert_eq!(phases.start_s[0], 0.0);
        assert_eq!(phases.start_s[1..], phases.end_s[..phases.end_s.len() - 1]);
        phases
            .phase
            .iter()
            .zip(&phases.end_s)
            .map(|(phase, end_s)| (*phase, (end_s * 1e3).round() as i64))
            .collect()
    }

    #[test]
    fn the_phases_cover_the_life_of_a_connection() {
        let server = spending(1150, &[(Part::Waiting, 0.2), (Part::SlowStart, 0.3), (Part::Link, 0.1)]);
        let client = spending(1150, &[(Part::Idle, 0.7)]);
        let flows = |spending| {
            [
                Told { sender: "client", bytes: 300, spending: Some(&client) },
                Told { sender: "server", bytes: 50_000, spending },
            ]
        };
        let phases = Phases::of(life(true, Some(1100)), &flows(Some(&server)));
        assert_eq!(phases.sender, Some("server"));
        let expected = [
            (Phase::Handshake, 100),
            (Phase::NoData, 150),
            (Phase::Waiting, 350),
            (Phase::SlowStart, 650),
            (Phase::Link, 750),
            (Phase::OtherDirection, 850),
            (Phase::NoData, 1000),
        ];
        assert_eq!(ends(&phases), expected);
        assert!((phases.active_s - 0.8).abs() < 1e-9);
        let unknown = Phases::of(life(false, None), &flows(None));
        assert_eq!(ends(&unknown), [(Phase::Unknown, 1000)]);
        let one_way = Phases::of(life(true, None), &flows(None));
        assert_eq!(ends(&one_way), [(Phase::Unknown, 1000)]);
        assert_eq!(ends(&Phases::of(life(true, None), &[])), [(Phase::Handshake, 1000)]);
        assert_eq!(ends(&Phases::of(life(false, None), &[])), [(Phase::NoData, 1000)]);
    }

    #[test]
    fn data_of_a_syn_end_the_handshake() {
        let server = spending(1000, &[(Part::Waiting, 0.2)]);
        let flows = [Told { sender: "server", bytes: 10, spending: Some(&server) }];
        let phases = Phases::of(life(true, Some(1100)), &flows);
        assert_eq!(ends(&phases), [(Phase::Waiting, 200), (Phase::NoData, 1000)]);
    }
}
