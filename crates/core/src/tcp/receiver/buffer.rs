//! A receive buffer that its owner empties: the resulting window, and the announcement of window changes.
//!
//! The window's right edge never moves back (RFC 9293 (3.8.6), "shrinking the window"), and moves on in steps of
//! a full segment or half of the buffer, so that no window invites small segments: receiver-side avoidance of
//! the silly window syndrome, RFC 9293 (3.8.6.2.2). An update without an ACK to travel on is sent for two
//! segments or half of the buffer, as BSD does (G. R. Wright and W. R. Stevens, TCP/IP Illustrated, Volume 2,
//! 26.3): otherwise there would be two ACKs for each segment.
//!
//! With window scaling the field counts in units of `1 << shift` bytes and is rounded up, as in Linux, and the buffer
//! keeps one unit in reserve for that. The advertised window therefore always fits the buffer.

/// A receive buffer and the window that it leaves. Offsets count bytes of the stream from zero.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    /// Capacity, bytes.
    capacity: u64,
    /// Payload of a full segment, bytes.
    mss: u64,
    /// Window scale, RFC 7323.
    shift: u8,
    /// Bytes that the owner has taken.
    taken: u64,
    /// The right edge of the window last offered, before it is rounded up.
    edge: u64,
}

impl ReceiveBuffer {
    /// An empty buffer of `capacity` bytes. Its first window is the one offered in the handshake.
    pub fn new(capacity: u64, mss: u64, shift: u8, offered: u64) -> Self {
        let mut buffer = Self { capacity, mss, shift, taken: 0, edge: 0 };
        buffer.edge = buffer.limit(0).min(offered);
        buffer
    }

    /// The smallest step that the window field can express, bytes.
    fn unit(&self) -> u64 {
        1 << self.shift
    }

    /// The furthest edge that may be offered while `rcv_nxt` is expected next.
    fn limit(&self, rcv_nxt: u64) -> u64 {
        let fits = self.taken + self.capacity - (self.unit() - 1);
        fits.min(rcv_nxt + (u64::from(u16::MAX) << self.shift))
    }

    /// Data up to this offset is accepted: the window offered, rounded up.
    pub fn window_end(&self) -> u64 {
        self.edge + self.unit() - 1
    }

    /// The buffer holds `capacity` bytes from now on, unless that is less than before. Whether it is more.
    pub fn grow(&mut self, capacity: u64) -> bool {
        let grows = capacity > self.capacity;
        self.capacity = self.capacity.max(capacity);
        grows
    }

    /// Before an ACK: advertises the space that has become free. RFC 9293 (3.8.6.2.2).
    pub fn offer(&mut self, rcv_nxt: u64) {
        let limit = self.limit(rcv_nxt);
        if limit >= self.edge + self.mss.min(self.capacity / 2) {
            self.edge = limit;
        }
    }

    /// The owner has taken all before `offset`. Returns whether an ACK should announce it at once.
    pub fn take(&mut self, offset: u64, rcv_nxt: u64) -> bool {
        self.taken = self.taken.max(offset);
        self.limit(rcv_nxt) >= self.edge + (2 * self.mss).min(self.capacity / 2)
    }

    /// The window field of an ACK.
    pub fn window_field(&self, rcv_nxt: u64) -> u16 {
        let field = self.edge.saturating_sub(rcv_nxt).div_ceil(self.unit());
        field.min(u64::from(u16::MAX)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_edge_moves_by_a_segment_or_half_of_the_buffer() {
        let mut buffer = ReceiveBuffer::new(4000, 1000, 0, 4000);
        assert_eq!(buffer.window_field(3500), 500);
        assert!(!buffer.take(999, 3500), "less than two segments");
        buffer.offer(3500);
        assert_eq!(buffer.window_field(3500), 500, "less than one segment");
        buffer.take(1000, 3500);
        buffer.offer(3500);
        assert_eq!((buffer.window_field(3500), buffer.window_end()), (1500, 5000));
        assert!(buffer.take(3000, 3500), "half of the buffer");

        let mut small = ReceiveBuffer::new(1500, 1000, 0, 1500);
        assert!(!small.take(749, 1500) && small.take(750, 1500));
        small.offer(1500);
        assert_eq!(small.window_field(1500), 750);
    }

    #[test]
    fn without_scaling_the_field_limits_the_window_and_not_the_buffer() {
        let mut buffer = ReceiveBuffer::new(100_000, 1000, 0, 65_535);
        buffer.offer(30_000);
        assert_eq!((buffer.window_field(30_000), buffer.window_end()), (65_535, 95_535));
        buffer.offer(40_000);
        assert_eq!((buffer.window_field(40_000), buffer.window_end()), (60_000, 100_000));
    }

    proptest! {
        #[test]
        fn what_is_offered_fits_and_never_shrinks_by_a_unit(
            capacity in 2000..400_000_u64,
            shift in 0..4_u8,
            steps in prop::collection::vec((0..3000_u64, 0..3000_u64), 1..100),
        ) {
            let offered = capacity.min(65_535);
            let mut buffer = ReceiveBuffer::new(capacity, 1000, shift, offered);
            let (mut rcv_nxt, mut taken, mut seen) = (0, 0, 0);
            for (arrives, takes) in steps {
                rcv_nxt = (rcv_nxt + arrives).min(buffer.window_end());
                taken = (taken + takes).min(rcv_nxt);
                buffer.take(taken, rcv_nxt);
                buffer.offer(rcv_nxt);
                let edge = rcv_nxt + (u64::from(buffer.window_field(rcv_nxt)) << shift);
                prop_assert!(edge <= buffer.window_end() && buffer.window_end() <= taken + capacity);
                // RFC 7323 (2.4): rounding may take back less than one unit.
                prop_assert!(edge + (1 << shift) > seen);
                seen = seen.max(edge);
            }
            // A reader that empties the buffer always gets the closed window reopened.
            prop_assert!(buffer.take(rcv_nxt, rcv_nxt) || seen >= rcv_nxt + 900);
        }
    }
}
