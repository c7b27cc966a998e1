//! A list of values, from text and back.

use super::Amount;
use crate::error::{ScenarioError, as_text};
use crate::rng::Stream;
use crate::units::ParseUnitError;
use std::str::FromStr;
use std::sync::Arc;

/// Values, one per line of a text, shared by all samplers.
#[derive(Clone, Debug, PartialEq)]
pub struct Values<A>(Arc<[A]>);

impl<A: Amount> Values<A> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of the list.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|value| format!("{value}\n")).collect()
    }

    pub(super) fn mean(&self) -> A {
        let sum: f64 = self.0.iter().map(|value| value.to_f64()).sum();
        if self.is_empty() { A::default() } else { A::from_f64(sum / self.0.len() as f64) }
    }

    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> A {
        let place = (stream.uniform() * self.0.len() as f64) as usize;
        self.0.get(place).copied().unwrap_or_default()
    }
}

impl<A: Amount> Default for Values<A> {
    fn default() -> Self {
        Self(Arc::new([]))
    }
}

impl<A: Amount> FromStr for Values<A> {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let mut values = Vec::new();
        for (number, line) in (1_u64..).zip(text.lines()) {
            let hint = format!("write a value with its unit in each line, such as {}", A::EXAMPLE);
            let wrong = |message: String| ScenarioError::new("", format!("line {number}: {message}"), hint);
            if line.trim().is_empty() {
                return Err(wrong("is empty".into()));
            }
            let value: A = line.trim().parse().map_err(|error: ParseUnitError| {
                let error = ScenarioError::from(error);
                ScenarioError::new("", format!("line {number}: {}", error.message), error.hint)
            })?;
            if value.to_f64() < A::LEAST {
                return Err(wrong(format!("{value} is below {}", A::from_f64(A::LEAST))));
            }
            values.push(value);
        }
        if values.is_empty() {
            let hint = format!("write a value with its unit in each line, such as {}", A::EXAMPLE);
            return Err(ScenarioError::new("", "the list is empty", hint));
        }
        Ok(Self(values.into()))
    }
}

as_text!(Values<A> where A: Amount, "Values", "a string", { "type": "string" });
