//! What a script may assert of an endpoint: the names and values behind `?`.

use super::line::{parse_number, parse_seconds};
use crate::tcp::ecn::Counts;
use crate::tcp::window::state::Phase;
use crate::tcp::{Receiver, Sender};
use crate::time::{Duration, Instant};
use std::fmt;

/// What can be asserted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Nanos(u64),
    Word(&'static str),
}

impl Value {
    fn time(span: Duration) -> Self {
        Self::Nanos(span.as_nanos())
    }

    fn deadline(at: Option<Instant>) -> Self {
        at.map_or(Self::Word("off"), |at| Self::Nanos(at.as_nanos()))
    }

    fn count(number: u64) -> Self {
        Self::Number(number as f64)
    }

    /// Whether the value equals the one in a script.
    pub(super) fn equals(self, wanted: &str) -> Result<bool, String> {
        match self {
            Self::Number(number) => {
                if let Some((above, below)) = wanted.split_once('/') {
                    let exact: f64 = parse_number::<f64>(above)? / parse_number::<f64>(below)?;
                    return Ok((number - exact).abs() <= 1e-9 * exact.abs());
                }
                Ok(number == if wanted == "none" { f64::INFINITY } else { parse_number::<f64>(wanted)? })
            }
            Self::Nanos(_) if wanted == "off" => Ok(false),
            Self::Nanos(nanos) => Ok(nanos == parse_seconds(wanted)?),
            Self::Word(word) => Ok(word == wanted),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) if number.is_infinite() => f.write_str("none"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Nanos(nanos) => write!(f, "{:.9}", Instant::from_nanos(*nanos).as_secs_f64()),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Values of a sender that a script may check.
pub(super) fn sender_value(sender: &Sender, name: &str) -> Option<Value> {
    let (state, rto, counters) = (sender.state(), sender.rto(), sender.counters());
    let episodes = state.losses.report();
    let word = |condition: bool| Value::Word(if condition { "yes" } else { "no" });
    Some(match name {
        "cwnd" => Value::Number(state.window.cwnd),
        "ssthresh" => Value::Number(state.window.ssthresh),
        "inflation" => Value::Number(state.inflation as f64),
        "send_window" => Value::count(state.send_window()),
        "rwnd" => Value::count(state.rwnd),
        "flight" => Value::count(state.flight_size()),
        "una" => Value::count(state.una),
        "nxt" => Value::count(state.nxt),
        "max" => Value::count(state.max),
        "dupacks" => Value::count(state.dupacks.into()),
        "dupack_threshold" => Value::count(state.dupack_threshold.into()),
        "phase" => Value::Word(match state.phase {
            Phase::Open => "open",
            Phase::Disorder => "disorder",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }),
        "srtt" => Value::time(rto.srtt()),
        "rttvar" => Value::time(rto.rttvar()),
        "rto" => Value::time(rto.value()),
        "timer" => Value::deadline(sender.deadline()),
        "done" => word(sender.is_done()),
        "samples" => Value::count(counters.rtt_ms.samples),
        "timeouts" => Value::count(counters.timeouts),
        "fast_retransmits" => Value::count(counters.fast_retransmits),
        "spurious_timeouts" => Value::count(counters.spurious_timeouts),
        "spurious_fast_retransmits" => Value::count(counters.spurious_fast_retransmits),
        "retransmissions" => Value::count(counters.retransmissions()),
        "single_losses" => Value::count(episodes.single),
        "double_losses" => Value::count(episodes.double),
        "timeout_losses" => Value::count(episodes.timeout),
        "undone_losses" => Value::count(episodes.undone),
        "window_probes" => Value::count(counters.window_probes),
        "echoes" => Value::count(sender.ecn()?.echoes),
        "nacks" => Value::count(sender.rnf()?.nacks),
        "flagged_acks" => Value::count(sender.rnf()?.flagged_acks),
        "wireless_fast_retransmits" => Value::count(sender.rnf()?.wireless_fast_retransmits),
        "ecn_reductions" => Value::count(sender.ecn()?.reductions),
        "dupacks_total" => Value::count(counters.dupacks),
        _ => return ecn_value(&sender.ecn()?.accurate?.sender, name),
    })
}

/// Values of a receiver that a script may check.
pub(super) fn receiver_value(receiver: &Receiver, name: &str) -> Option<Value> {
    let counters = receiver.counters();
    Some(match name {
        "rcv_nxt" => Value::count(receiver.rcv_nxt()),
        "timer" => Value::deadline(receiver.deadline()),
        "segments" => Value::count(counters.segments),
        "duplicates" => Value::count(counters.duplicates),
        "out_of_order" => Value::count(counters.out_of_order),
        "beyond_window" => Value::count(counters.beyond_window),
        "acks_sent" => Value::count(counters.acks_sent),
        "marks" => Value::count(receiver.marks()?),
        _ => return ecn_value(&receiver.ecn_counts()?, name),
    })
}

/// A counter of accurate ECN.
fn ecn_value(counts: &Counts, name: &str) -> Option<Value> {
    Some(Value::count(match name {
        "ce_packets" => counts.ce_packets,
        "ce_bytes" => counts.ce_bytes,
        "ect0_bytes" => counts.ect0_bytes,
        "ect1_bytes" => counts.ect1_bytes,
        _ => return None,
    }))
}
