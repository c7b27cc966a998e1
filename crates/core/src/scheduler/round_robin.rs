//! Round robin: users with data and a usable rate take turns, regardless of their rates.

use super::{Component, Scheduler, in_turn};
use crate::registry::parameters;

parameters! {
    /// Users take turns, regardless of their rates.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, users: usize, _window: u32) -> Box<dyn Scheduler> {
        // The first turn is user 0's.
        Box::new(RoundRobin { last: users.saturating_sub(1) })
    }
}

struct RoundRobin {
    last: usize,
}

impl Scheduler for RoundRobin {
    fn choose(&mut self, rates: &[f64]) -> Option<usize> {
        let next = in_turn(self.last, rates.len()).find(|user| rates[*user] > 0.0)?;
        self.last = next;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_take_turns_and_who_cannot_be_served_is_passed_over() {
        let mut scheduler = Config::default().build(3, 100);
        let turns: Vec<_> = (0..4).map(|_| scheduler.choose(&[1.0, 9.0, 5.0])).collect();
        assert_eq!(turns, [Some(0), Some(1), Some(2), Some(0)]);
        assert_eq!(scheduler.choose(&[1.0, 0.0, 5.0]), Some(2));
        assert_eq!(scheduler.choose(&[0.0, 7.0, 0.0]), Some(1));
        assert_eq!(scheduler.choose(&[0.0; 3]), None);
        assert_eq!(scheduler.choose(&[1.0; 3]), Some(2));
    }
}
