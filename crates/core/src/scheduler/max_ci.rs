//! Maximum carrier to interference: the user with the highest rate is served. Most is delivered in sum, and a
//! user at the edge of the cell starves. Users of equal rate take turns.

use super::{Component, Scheduler, in_turn};
use crate::registry::parameters;

parameters! {
    /// Serves the user with the highest rate.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, users: usize, _window: u32) -> Box<dyn Scheduler> {
        Box::new(MaxCi { last: users.saturating_sub(1) })
    }
}

struct MaxCi {
    last: usize,
}

impl Scheduler for MaxCi {
    fn choose(&mut self, rates: &[f64]) -> Option<usize> {
        let highest = rates.iter().copied().fold(0.0, f64::max);
        let next =
            in_turn(self.last, rates.len()).find(|user| rates[*user] > 0.0 && rates[*user] >= highest)?;
        self.last = next;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_wins_and_equal_ones_take_turns() {
        let mut scheduler = Config::default().build(3, 100);
        assert_eq!(scheduler.choose(&[1.0, 9.0, 5.0]), Some(1));
        assert_eq!(scheduler.choose(&[1.0, 9.0, 5.0]), Some(1));
        let turns: Vec<_> = (0..3).map(|_| scheduler.choose(&[9.0, 9.0, 5.0])).collect();
        assert_eq!(turns, [Some(0), Some(1), Some(0)]);
        assert_eq!(scheduler.choose(&[0.0; 3]), None);
    }
}
