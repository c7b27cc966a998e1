//! How evenly a cell serves those who want something.

/// Jain's index of fairness: 1 if all have the same, 1/n if one has everything; `None` if all have nothing.
/// Source: Jain, Chiu and Hawe, DEC-TR-301, 1984.
pub(super) fn jain_index(shares: &[u64]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| *share as f64 * *share as f64).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_of_equal_and_of_single_shares() {
        assert_eq!(jain_index(&[5, 5, 5, 5]), Some(1.0));
        assert_eq!(jain_index(&[0, 9, 0]), Some(1.0 / 3.0));
        assert_eq!(jain_index(&[1, 2]), Some(0.9));
        assert_eq!(jain_index(&[0, 0]), None);
    }
}
