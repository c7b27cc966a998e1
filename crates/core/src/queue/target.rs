//! Target sojourn time of a discipline: a time, or the minimum that the transmitter makes inevitable.

use super::Place;
use crate::error::as_text;
use crate::time::Duration;
use crate::units::{Bytes, ParseUnitError};
use std::str::FromStr;

/// A time, or one that follows from the rate of the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The larger of a minimum and 1.5 times the transmission time of an MTU plus one TTI: a packet waits for the one
    /// in transmission and for its TTI even without a queue. CAKE (`cake_set_rate` of Linux's `sch_cake.c`) has this
    /// rule without the TTI.
    Auto,
    /// This time.
    Time(Duration),
}

as_text!(Target, "Target", "a duration such as \"5 ms\", or \"auto\"", {
    "type": "string",
    "description": "A duration with its unit, such as \"5 ms\"; or \"auto\": what suits the rate of the transmitter."
});

impl FromStr for Target {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Time) }
    }
}

impl Target {
    fn to_text(self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Time(time) => time.to_string(),
        }
    }

    /// Whether it is a time of zero.
    pub(super) fn is_zero(self) -> bool {
        self == Self::Time(Duration::ZERO)
    }

    /// The time at a place. Where the rate is unknown, `Auto` is `least`.
    pub(super) fn at(self, place: &Place<'_>, least: Duration, mtu: Bytes) -> Duration {
        match self {
            Self::Time(time) => time,
            Self::Auto if place.rate.as_bps() == 0 => least,
            Self::Auto => {
                let mtu = place.rate.time_to_send(mtu.as_u64()).as_nanos();
                least.max(Duration::from_nanos(mtu.saturating_mul(3) / 2) + place.tti)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bitrate;

    /// By hand: 1500 bytes last 31.25 ms at 384 kbit/s and 187.5 ms at 64 kbit/s.
    #[test]
    fn auto_is_one_and_a_half_mtu_and_a_tti() {
        let target = |bps: u64, tti_ms: u64| {
            let (rate, tti) = (Bitrate::from_bps(bps), Duration::from_millis(tti_ms));
            let place = Place { run_seed: 1, name: "queue", rate, tti };
            Target::Auto.at(&place, Duration::from_millis(5), Bytes::from_bytes(1500)).as_micros()
        };
        assert_eq!([target(384_000, 0), target(64_000, 0)], [46_875, 281_250]);
        assert_eq!([target(384_000, 20), target(100_000_000, 0), target(0, 10)], [66_875, 5_000, 5_000]);
    }

    #[test]
    fn it_is_read_and_written_as_text() {
        let five = Target::Time(Duration::from_millis(5));
        assert_eq!(("5 ms".parse(), "auto".parse()), (Ok(five), Ok(Target::Auto)));
        assert_eq!((five.to_text(), Target::Auto.to_text()), ("5 ms".to_owned(), "auto".to_owned()));
        assert!("fast".parse::<Target>().is_err());
    }
}
