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

/// Makes a type a text in scenarios, by its `FromStr` and `to_text`: with what serde says it expects, and a schema.
macro_rules! as_text {
    ($type:ty $(where $generic:ident: $bound:path)?, $name:literal, $expecting:literal, $schema:tt) => {
        impl<$($generic: $bound)?> serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.to_text())
            }
        }

        impl<'de, $($generic: $bound)?> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;

                impl serde::de::Visitor<'_> for Text {
                    type Value = String;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
                        Ok(text.to_owned())
                    }
                }

                let text = deserializer.deserialize_str(Text)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl<$($generic: $bound)?> schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}
pub(crate) use as_text;

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
