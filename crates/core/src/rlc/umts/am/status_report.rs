//! Missing PDUs as super-fields: which STATUS PDUs a report takes (TS 25.322 §11.5.2.2).

use crate::rlc::pdus::control::{Form, Status};
use crate::rlc::ranges::Ranges;

/// PDUs that a pair of the LIST super-field names at most.
pub const PDUS_PER_PAIR: u64 = 16;
/// PDUs that a BITMAP super-field names at most.
pub const PDUS_PER_BITMAP: u64 = 128;
const LIST_TYPE_AND_LENGTH: u64 = 8;
const PAIR: u64 = 16;
/// Pairs of a LIST super-field at most.
pub const PAIRS: u64 = 15;

/// A LIST if `bits` hold all that is missing, else a BITMAP if they hold that, else several LISTs, at most `pdus`.
pub fn report(missing: &Ranges, vr_r: u64, vr_h: u64, bits: u64, pdus: u64, mut tell: impl FnMut(Status)) {
    let pairs = pairs_that_fit(bits);
    let span = missing.end().unwrap_or(vr_r) - missing.first().unwrap_or(vr_r);
    let one = match pairs_needed(missing) {
        needed if needed <= pairs => Some(Form::List),
        _ if bitmap_bits(span) <= bits => Some(Form::Bitmap),
        _ => None,
    };
    if let Some(form) = one {
        return tell(Status { missing: missing.clone(), form, lsn: Some(vr_h), ..Status::default() });
    }
    let mut rest = missing.clone();
    for number in 0..pdus {
        let named = take_pairs(&mut rest, pairs);
        // LSN is not above what is left out; VR(R) is always right.
        let lsn = rest.first().filter(|_| number == 0).unwrap_or(vr_r);
        tell(Status { missing: named, lsn: Some(lsn), ..Status::default() });
        if rest.is_empty() {
            break;
        }
    }
}

/// Pairs in LIST super-fields of at most 15 pairs (§9.2.2.11.4).
fn pairs_that_fit(bits: u64) -> u64 {
    let full = bits / (LIST_TYPE_AND_LENGTH + PAIRS * PAIR);
    let left = bits % (LIST_TYPE_AND_LENGTH + PAIRS * PAIR);
    full * PAIRS + left.saturating_sub(LIST_TYPE_AND_LENGTH) / PAIR
}

fn pairs_needed(missing: &Ranges) -> u64 {
    missing.as_slice().iter().map(|range| range.len().div_ceil(PDUS_PER_PAIR)).sum()
}

/// Bits of BITMAP super-fields for this many PDUs (§9.2.2.11.5).
fn bitmap_bits(pdus: u64) -> u64 {
    const TYPE_LENGTH_AND_FSN: u64 = 20;
    pdus.div_ceil(PDUS_PER_BITMAP) * TYPE_LENGTH_AND_FSN + pdus.div_ceil(8) * 8
}

/// Takes what `pairs` pairs name from the lowest on.
fn take_pairs(rest: &mut Ranges, pairs: u64) -> Ranges {
    let mut taken = Ranges::default();
    let mut left = pairs;
    while left > 0
        && let Some(range) = rest.pop_first(left * PDUS_PER_PAIR)
    {
        left -= range.len().div_ceil(PDUS_PER_PAIR);
        taken.insert(range);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    /// 336 bits less four and the ACK: a LIST of 15 pairs and one of 3, or two BITMAPs of 128 PDUs.
    #[test]
    fn a_status_pdu_of_42_octets_holds_18_pairs() {
        let bits = Config::default().status_bits();
        assert_eq!(bits, 316);
        assert_eq!(pairs_that_fit(bits), 18);
        assert!(bitmap_bits(256) <= bits && bitmap_bits(257) > bits);
    }

    #[test]
    fn the_smallest_pdu_holds_a_pair() {
        let pdu = crate::units::Bytes::from_bytes(10);
        assert_eq!(pairs_that_fit(Config { pdu, ..Config::default() }.status_bits()), 3);
    }
}
