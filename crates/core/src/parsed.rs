//! Recordings that were parsed before, by their text.
//!
//! A scenario is read as often as it is changed or run, and a recording in it may have megabytes: text that was parsed
//! before is found again and shared. A text gives the same value each time, so nothing depends on what is kept. Bounded
//! by [`MOST_TEXTS`] and [`MOST_BYTES`]; texts shorter than [`LEAST_BYTES`] are parsed faster than found.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

const LEAST_BYTES: usize = 4096;
const MOST_TEXTS: usize = 16;
/// Most bytes of the texts of one kind that are kept.
const MOST_BYTES: usize = 32 << 20;

/// Values of one kind, the last one used first.
pub(crate) struct Parsed<T>(Mutex<VecDeque<(Arc<str>, T)>>);

impl<T: Clone> Parsed<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// The value of a text: a clone of an earlier one, or a new one.
    ///
    /// # Errors
    /// As `parse` has them; they are not kept.
    pub fn of<E>(&self, text: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, E> {
        if !(LEAST_BYTES..=MOST_BYTES).contains(&text.len()) {
            return parse(text);
        }
        if let Some(value) = self.find(text) {
            return Ok(value);
        }
        // Without the lock: other threads need not wait.
        let value = parse(text)?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().all(|(own, _)| **own != *text) {
            kept.push_front((text.into(), value.clone()));
        }
        while kept.len() > MOST_TEXTS || kept.iter().map(|(own, _)| own.len()).sum::<usize>() > MOST_BYTES {
            kept.pop_back();
        }
        Ok(value)
    }

    fn find(&self, text: &str) -> Option<T> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(own, _)| **own == *text)?;
        let found = kept.remove(place)?;
        let value = found.1.clone();
        kept.push_front(found);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn long(number: usize, bytes: usize) -> String {
        format!("{number:08}").repeat(bytes / 8)
    }

    #[test]
    fn a_text_is_parsed_once() {
        let (kept, count) = (Parsed::new(), Cell::new(0));
        let parse = |text: &str| {
            count.set(count.get() + 1);
            if text.starts_with('x') { Err("wrong") } else { Ok(text.len()) }
        };
        for _ in 0..3 {
            assert_eq!(kept.of(&long(1, 8000), parse), Ok(8000));
            assert_eq!(kept.of(&long(2, 8000), parse), Ok(8000));
        }
        assert_eq!(count.get(), 2);
        let wrong = "x".repeat(5000);
        assert_eq!([kept.of(&wrong, parse), kept.of(&wrong, parse)], [Err("wrong"); 2]);
        assert_eq!(count.get(), 4);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_least_recently_used_goes() {
        let kept = Parsed::new();
        let parse = |text: &str| Ok::<_, ()>(text.len());
        for number in 0..40 {
            kept.of(&long(number, 8000), parse).unwrap();
            kept.of(&long(0, 8000), parse).unwrap();
        }
        assert!(kept.find(&long(0, 8000)).is_some() && kept.find(&long(1, 8000)).is_none());
        assert_eq!(kept.0.lock().unwrap().len(), MOST_TEXTS);
        for number in 0..5 {
            kept.of(&long(number, 10 << 20), parse).unwrap();
        }
        assert_eq!(kept.0.lock().unwrap().iter().map(|(own, _)| own.len()).sum::<usize>(), 30 << 20);
        kept.of(&long(0, MOST_BYTES + 8), parse).unwrap();
        assert!(kept.find(&long(0, MOST_BYTES + 8)).is_none());
    }
}
