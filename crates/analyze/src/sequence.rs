//! Sequence numbers without their wrap: offsets of 64 bits.

/// Offset given to the first sequence number seen, so that earlier ones have an offset too.
const BEGIN: u64 = 1 << 33;
/// Further from the last than the largest window (RFC 7323 (2.3): 2^30) nothing can belong to the connection.
const FARTHEST: u64 = 1 << 30;
/// One number in 128 is.
const CLOSE: u32 = 1 << 24;

/// The sequence space of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequence {
    /// A number seen and its offset, near the newest.
    anchor: Option<(u32, u64)>,
}

impl Sequence {
    /// The offset of a number: the nearest to the newest offset seen. `None` if it lies too far away.
    pub fn offset(&mut self, number: u32) -> Option<u64> {
        let (anchor, offset) = *self.anchor.get_or_insert((number, BEGIN));
        let distance = i64::from(number.wrapping_sub(anchor) as i32);
        let found = offset.checked_add_signed(distance)?;
        (found.abs_diff(offset) <= FARTHEST).then_some(found)
    }

    /// Whether a number can belong to the connection, given the numbers known so far.
    pub fn is_near(&self, number: u32) -> bool {
        self.anchor
            .is_none_or(|(anchor, _)| (number.wrapping_sub(anchor) as i32).unsigned_abs() as u64 <= FARTHEST)
    }

    /// Whether a number is so near that hardly another connection has it by chance.
    pub fn is_close(&self, number: u32) -> bool {
        self.anchor.is_some_and(|(anchor, _)| (number.wrapping_sub(anchor) as i32).unsigned_abs() <= CLOSE)
    }

    /// A new segment: later numbers are unwrapped close to it.
    pub fn move_to(&mut self, offset: u64) {
        if let Some((number, at)) = &mut self.anchor
            && offset > *at
        {
            *number = number.wrapping_add((offset - *at) as u32);
            *at = offset;
        }
    }

    /// Whether no number has been seen.
    pub fn is_new(&self) -> bool {
        self.anchor.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_on_where_numbers_wrap() {
        let mut sequence = Sequence::default();
        let first = sequence.offset(u32::MAX - 999).expect("the first");
        for step in 1..10_u64 {
            let number = (u32::MAX - 999).wrapping_add((step * 1_000_000_000) as u32);
            let offset = sequence.offset(number).expect("near");
            assert_eq!(offset, first + step * 1_000_000_000);
            sequence.move_to(offset);
        }
        // Back by half a gigabyte.
        let newest = first + 9_000_000_000;
        let number = (u32::MAX - 999).wrapping_add(8_500_000_000_u64 as u32);
        assert_eq!(sequence.offset(number), Some(newest - 500_000_000));
    }

    #[test]
    fn what_is_too_far_away_has_no_offset() {
        let mut sequence = Sequence::default();
        sequence.offset(0);
        assert_eq!(sequence.offset((1 << 30) + 1), None);
        assert_eq!(sequence.offset(0_u32.wrapping_sub((1 << 30) + 1)), None);
        assert!(sequence.offset(1 << 30).is_some());
    }
}
