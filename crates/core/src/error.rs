//! What is wrong with a scenario, in a form that helps to mend it.

use std::fmt;

/// A scenario that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Dotted path of the key, empty if the text as a whole is meant.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

impl ScenarioError {
    /// An error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), hint: hint.into() }
    }

    /// Splits words such as those of units into what is wrong, how the remedy begins, and its rest.
    pub(crate) fn split(words: &str) -> Option<(&str, &'static str, &str)> {
        const TURNS: [(&str, &str); 5] = [
            (": write ", "write "),
            ("; write ", "write "),
            (": use one of ", "use one of "),
            (": did you mean ", "did you mean "),
            (", expected ", "write "),
        ];
        TURNS.iter().find_map(|(turn, start)| {
            let (what, right) = words.split_once(turn)?;
            Some((what, *start, right))
        })
    }

    /// The same error seen from one level up.
    #[must_use]
    pub fn under(mut self, parent: &str) -> Self {
        self.path = if self.path.is_empty() { parent.to_owned() } else { format!("{parent}.{}", self.path) };
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_grows_its_path_on_the_way_up() {
        let error =
            ScenarioError::new("rate", "is zero", "write a positive rate").under("downlink").under("dch");
        assert_eq!(error.to_string(), "dch.downlink.rate: is zero; write a positive rate");
    }
}
