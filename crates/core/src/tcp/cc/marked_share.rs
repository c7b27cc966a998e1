//! The share of its data that a sender finds marked, smoothed over windows of data: `DCTCP.Alpha`, RFC 8257 (3.3).

use super::Marks;

/// The weight of a new window of data: g, RFC 8257 (4.2).
pub(super) const GAIN: f64 = 1.0 / 16.0;

/// The smoothed share, and the counts of the present window of data.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedShare {
    alpha: f64,
    gain: f64,
    /// Bytes of this window.
    delivered: u64,
    marked: u64,
    /// `DCTCP.WindowEnd`.
    end: u64,
}

impl MarkedShare {
    /// All was marked: the first mark halves the window.
    pub fn new(gain: f64) -> Self {
        Self { alpha: 1.0, gain, delivered: 0, marked: 0, end: 0 }
    }

    /// An ACK of `ack` with this news, while all before `max` has been sent. If a window of data has ended and the share
    /// `may_change`, it does. Returns whether it did.
    pub fn on_ack(&mut self, marks: &Marks, ack: u64, max: u64, may_change: bool) -> bool {
        self.delivered += marks.delivered;
        self.marked += marks.bytes;
        if ack <= self.end || !may_change || self.delivered == 0 {
            return false;
        }
        // The estimate from a three-bit counter may exceed the delivered bytes.
        let share = (self.marked as f64 / self.delivered as f64).min(1.0);
        self.alpha += self.gain * (share - self.alpha);
        (self.delivered, self.marked, self.end) = (0, 0, max);
        true
    }

    /// Factor applied to a window with marks: RFC 8257 (3.3).
    pub fn left(&self) -> f64 {
        1.0 - self.alpha / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_moves_by_a_sixteenth_of_the_difference_with_each_window() {
        let mut share = MarkedShare::new(GAIN);
        let alphas = [0.0, 0.0, 0.5, 1.0].map(|part: f64| {
            let marks = Marks { bytes: (part * 8000.0) as u64, delivered: 8000, packets: 0 };
            let (ack, max) = (share.end + 1, share.end + 8000);
            assert!(share.on_ack(&marks, ack, max, true));
            (share.alpha * 1e6).round() / 1e6
        });
        assert_eq!(alphas, [0.9375, 0.878_906, 0.855_225, 0.864_273]);
    }

    #[test]
    fn within_a_window_of_data_it_stays() {
        let mut share = MarkedShare::new(GAIN);
        let marks = Marks { bytes: 1000, delivered: 2000, packets: 1 };
        assert!(share.on_ack(&marks, 1, 10_000, true));
        assert!(!share.on_ack(&marks, 9000, 20_000, true));
        assert!(!share.on_ack(&marks, 11_000, 20_000, false));
        // All three count for the next.
        assert!(share.on_ack(&Marks { bytes: 0, delivered: 2000, packets: 0 }, 12_000, 22_000, true));
        let alpha = [0.5, 2000.0 / 6000.0].iter().fold(1.0, |alpha, part| alpha + (part - alpha) / 16.0);
        assert!((share.alpha - alpha).abs() < 1e-12);
    }
}
