//! Fairness of the service of a cell or of the goodput of flows.

/// Jain's index of fairness: 1 for equal shares, 1/n if one has everything; `None` if all shares are 0.
/// Source: Jain, Chiu and Hawe, DEC-TR-301, 1984.
pub fn jain_index(shares: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let sum: f64 = shares.clone().sum();
    let squares: f64 = shares.clone().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.count() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_of_equal_and_of_single_shares() {
        let index = |shares: &[f64]| jain_index(shares.iter().copied());
        assert_eq!(index(&[5.0, 5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(index(&[0.0, 9.0, 0.0]), Some(1.0 / 3.0));
        assert_eq!(index(&[1.0, 2.0]), Some(0.9));
        assert_eq!(index(&[0.0, 0.0]), None);
    }
}
