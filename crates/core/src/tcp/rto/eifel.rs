//! The Eifel retransmission timer: R. Ludwig and K. Sklower, CCR 30 (3), 2000.
//!
//! The weight of a sample decreases with the number of segments in flight, so the estimate has a memory of about one
//! round trip for any window (RFC 6298 weighs each of a window's many samples alike). The deviation grows only with
//! samples above the average, so a decreasing RTT does not prolong the timeout, and it rises fast and falls slowly. The
//! timer runs from the transmission of the oldest outstanding segment instead of the latest ACK: the sender ensures
//! that.
//!
//! ASSUMED: the formulas are written from memory of the paper, which was not at hand: GAIN = 1/FLIGHT, GAIN^2
//! for a deviation that falls, RTO = max(SRTT + RTTVAR/GAIN, RTT + 2 ticks). The first sample is taken as in
//! RFC 6298 (2.2), and the bounds of `rto` apply. The clock is exact: there are no ticks to add.

use crate::time::Duration;

/// SRTT, RTTVAR and the timeout after a sample with `flight` segments outstanding, from SRTT and RTTVAR
/// before.
pub fn estimate(old: (Duration, Duration), rtt: Duration, flight: u32) -> (Duration, Duration, Duration) {
    let flight = u64::from(flight.max(1));
    let (srtt, rttvar, sample) = (old.0.as_nanos(), old.1.as_nanos(), rtt.as_nanos());
    if sample < srtt {
        // A negative deviation gives no information about how late a segment can be.
        let srtt = srtt - (srtt - sample) / flight;
        let base = (srtt + rttvar.saturating_mul(flight)).max(sample);
        return (Duration::from_nanos(srtt), old.1, Duration::from_nanos(base));
    }
    let delta = sample - srtt;
    let rttvar = if delta >= rttvar {
        rttvar + (delta - rttvar) / flight
    } else {
        rttvar - (rttvar - delta) / (flight * flight)
    };
    let srtt = srtt + delta / flight;
    let base = (srtt + rttvar.saturating_mul(flight)).max(sample);
    (Duration::from_nanos(srtt), Duration::from_nanos(rttvar), Duration::from_nanos(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_rise_counts_by_the_flight() {
        // DELTA = 100, GAIN = 1/4: RTTVAR = 20 + 80/4, SRTT = 100 + 100/4, RTO = 125 + 4 * 40.
        assert_eq!(estimate((ms(100), ms(20)), ms(200), 4), (ms(125), ms(40), ms(285)));
    }

    #[test]
    fn a_small_rise_lowers_the_deviation_slowly() {
        // DELTA = 4 < RTTVAR, GAIN^2 = 1/16: RTTVAR = 20 - 16/16, SRTT = 100 + 4/4, RTO = 101 + 4 * 19.
        assert_eq!(estimate((ms(100), ms(20)), ms(104), 4), (ms(101), ms(19), ms(177)));
        // DELTA = 0 is no fall: RTTVAR = 20 - 20/4.
        assert_eq!(estimate((ms(100), ms(20)), ms(100), 2), (ms(100), ms(15), ms(130)));
    }

    #[test]
    fn a_fall_leaves_the_deviation() {
        assert_eq!(estimate((ms(100), ms(20)), ms(60), 4), (ms(90), ms(20), ms(170)));
    }

    #[test]
    fn with_one_segment_in_flight_the_sample_is_the_average() {
        // DELTA = 1, GAIN = 1: RTTVAR = 0 + 1, SRTT = 100 + 1, RTO = 101 + 1.
        assert_eq!(estimate((ms(100), ms(0)), ms(101), 1), (ms(101), ms(1), ms(102)));
    }
}
