//! A parameter for several of a kind: one value for all of them, or a list with one for each.
//!
//! In a scenario `mean_sinr = "10 dB"` holds for all UEs, and `mean_sinr = ["10 dB", "3 dB"]` gives two UEs their own.

use crate::error::ScenarioError;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// One value for all, or a list with one for each.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Each<T> {
    /// One value for all.
    All(T),
    /// One for each, in order.
    List(Vec<T>),
}

impl<T> Each<T> {
    /// The value for a number, counted from 0, below the count that [`check`](Self::check) was given.
    ///
    /// # Panics
    /// If the list has no value for that number.
    pub fn of(&self, number: usize) -> &T {
        match self {
            Self::All(value) => value,
            Self::List(values) => &values[number],
        }
    }

    /// All values that are written.
    pub fn values(&self) -> &[T] {
        match self {
            Self::All(value) => std::slice::from_ref(value),
            Self::List(values) => values,
        }
    }

    /// Refuses a list of another length; `of` says what the values are for, as in "UEs".
    ///
    /// # Errors
    /// If a list has not `count` values.
    pub fn check(&self, key: &str, count: usize, of: &str) -> Result<(), ScenarioError> {
        match self {
            Self::List(values) if values.len() != count => {
                let message = format!("{key} has {} values for {count} {of}", values.len());
                Err(ScenarioError::new(key, message, format!("write one value, or a list of {count}")))
            }
            _ => Ok(()),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrList(PhantomData))
    }
}

/// Hands a list to `Vec` and anything else to `T`, so that errors are those of the values.
struct OneOrList<T>(PhantomData<T>);

/// The value as `T` reads it.
fn one<'de, T: Deserialize<'de>, E: Error>(value: impl IntoDeserializer<'de, E>) -> Result<Each<T>, E> {
    T::deserialize(value.into_deserializer()).map(Each::All)
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrList<T> {
    type Value = Each<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Each<T>, E> {
        one(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Each<T>, E> {
        one(value)
    }

    /// Of JSON: in TOML all have a sign.
    fn visit_u64<E: Error>(self, value: u64) -> Result<Each<T>, E> {
        one(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Each<T>, E> {
        one(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Each<T>, E> {
        T::deserialize(value.to_owned().into_deserializer()).map(Each::All)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<Each<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(values)).map(Each::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Each<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Each::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Decibel;

    #[derive(Debug, Deserialize, Serialize)]
    struct Cell {
        mean_sinr: Each<Decibel>,
    }

    fn read(text: &str) -> Result<Each<Decibel>, String> {
        toml::from_str::<Cell>(text).map(|cell| cell.mean_sinr).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn one_value_holds_for_all_and_a_list_gives_each_its_own() {
        let all = read("mean_sinr = \"3 dB\"").unwrap();
        assert_eq!(
            (all.of(0), all.of(9)),
            (&Decibel::from_thousandths(3000), &Decibel::from_thousandths(3000))
        );
        let list = read("mean_sinr = [\"3 dB\", \"-1 dB\"]").unwrap();
        assert_eq!(list.of(1), &Decibel::from_thousandths(-1000));
        let written = toml::to_string(&Cell { mean_sinr: list.clone() }).unwrap();
        assert_eq!(read(&written).unwrap(), list);
    }

    #[test]
    fn a_list_of_another_length_is_refused() {
        let list = read("mean_sinr = [\"3 dB\", \"-1 dB\", \"0 dB\"]").unwrap();
        let error = list.check("mean_sinr", 4, "UEs").unwrap_err().to_string();
        assert_eq!(error, "mean_sinr: mean_sinr has 3 values for 4 UEs; write one value, or a list of 4");
        assert!(list.check("mean_sinr", 3, "UEs").is_ok());
        assert!(read("mean_sinr = \"3 dB\"").unwrap().check("mean_sinr", 4, "UEs").is_ok());
    }

    #[test]
    fn errors_are_those_of_the_values() {
        for text in ["mean_sinr = 3", "mean_sinr = \"3\"", "mean_sinr = [\"3\"]"] {
            let alone = text.trim_start_matches("mean_sinr = ").trim_matches(['[', ']']);
            let expected =
                toml::from_str::<std::collections::BTreeMap<String, Decibel>>(&format!("x = {alone}"));
            assert_eq!(read(text).unwrap_err(), expected.unwrap_err().message(), "{text}");
        }
    }
}
