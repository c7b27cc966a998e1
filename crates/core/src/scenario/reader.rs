//! Reads configuration out of a table, and keeps the way to what is wrong in it.
//!
//! A struct comes from a table and never from an array. The code is thus less than half the size of `toml`'s
//! deserializer with a path tracker around it, which matters in a web page. Words are those of `toml`.

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;
use toml::Value;

/// The value of a key that is to be absent, where a default, a profile or an inherited table would give it one.
pub(super) const ABSENT: &str = "absent";

/// A step from a value to one in it.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// The problem, and the path to it, last step first.
#[derive(Clone, Debug)]
pub(super) struct Error {
    pub(super) back: Vec<Step>,
    pub(super) message: String,
}

impl Error {
    fn within(mut self, step: Step) -> Self {
        self.back.push(step);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { back: Vec::new(), message: message.to_string() }
    }
}

/// A value that is read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'de>(pub(super) &'de Value);

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Boolean(own) => visitor.visit_bool(*own),
            Value::Integer(own) => visitor.visit_i64(*own),
            Value::Float(own) => visitor.visit_f64(*own),
            Value::String(own) => visitor.visit_str(own),
            Value::Datetime(own) => visitor.visit_str(&own.to_string()),
            Value::Array(own) => visitor.visit_seq(Items { items: own, next: 0 }),
            Value::Table(own) => visitor.visit_map(Entries { entries: own.iter(), value: None }),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let found = match self.0 {
            Value::Array(_) => Unexpected::Seq,
            Value::Datetime(_) => Unexpected::Other("date or time"),
            _ => return self.deserialize_any(visitor),
        };
        Err(Error::invalid_type(found, &visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(name.as_str().into_deserializer()),
            Value::Table(own) => match own.len() {
                0 => Err(Error::custom("wanted exactly 1 element, found 0 elements")),
                1 => visitor
                    .visit_enum(MapAccessDeserializer::new(Entries { entries: own.iter(), value: None })),
                _ => Err(Error::custom("wanted exactly 1 element, more than 1 element")),
            },
            _ => Err(Error::invalid_type(Unexpected::UnitVariant, &"string only")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            // Too few are the visitor's error; what is too much it does not see.
            Value::Array(own) if own.len() > len => Err(Error::invalid_length(own.len(), &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    /// The content of a name that is a whole choice.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Table(own) if own.is_empty() => visitor.visit_unit(),
            _ => Err(Error::custom("expected empty table")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(word) if word == ABSENT => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit_struct newtype_struct
        seq tuple_struct map identifier ignored_any
    }
}

struct Items<'de> {
    items: &'de [Value],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        self.next += 1;
        let index = self.next - 1;
        seed.deserialize(Reader(item)).map(Some).map_err(|error| error.within(Step::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct Entries<'de> {
    entries: toml::map::Iter<'de, String, Value>,
    value: Option<(&'de String, &'de Value)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.value = self.entries.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let Some((key, value)) = self.value else { return Err(Error::custom("a value without a key")) };
        seed.deserialize(Reader(value)).map_err(|error| error.within(Step::Key(key.clone())))
    }
}
