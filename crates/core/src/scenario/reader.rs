//! Reads configuration out of a table, and keeps the way to what is wrong in it.
//!
//! A struct comes from a table and never from an array. So the code is less than half of what the deserializer of `toml`
//! makes with a tracker of paths around it, which counts in a page. Words are those of `toml`.

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;
use toml::{Table, Value};

/// A step from a value to one in it.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// What is wrong, and the way to it, the last step first.
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

impl<'de> Reader<'de> {
    fn unexpected(self) -> Unexpected<'de> {
        match self.0 {
            Value::Boolean(own) => Unexpected::Bool(*own),
            Value::Integer(own) => Unexpected::Signed(*own),
            Value::Float(own) => Unexpected::Float(*own),
            Value::String(own) => Unexpected::Str(own),
            Value::Datetime(_) => Unexpected::Other("date or time"),
            Value::Array(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        }
    }
}

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
        match self.0 {
            Value::Table(own) => visitor.visit_map(Entries { entries: own.iter(), value: None }),
            _ => Err(Error::invalid_type(self.unexpected(), &visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(Choice { name, value: None }),
            Value::Table(own) => {
                let mut entries = own.iter();
                match (entries.next(), entries.next()) {
                    (None, _) => Err(Error::custom("wanted exactly 1 element, found 0 elements")),
                    (Some((name, value)), None) => visitor.visit_enum(Choice { name, value: Some(value) }),
                    _ => Err(Error::custom("wanted exactly 1 element, more than 1 element")),
                }
            }
            _ => Err(Error::invalid_type(Unexpected::UnitVariant, &"string only")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map identifier ignored_any
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

/// One of several: a name, and what stands at it if it is a table's key.
struct Choice<'de> {
    name: &'de str,
    value: Option<&'de Value>,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        Ok((seed.deserialize(self.name.into_deserializer())?, self))
    }
}

impl<'de> Choice<'de> {
    fn content<T>(
        self,
        wanted: &'static str,
        read: impl FnOnce(Reader<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.value {
            Some(value) => read(Reader(value)).map_err(|error| error.within(Step::Key(self.name.to_owned()))),
            None => Err(Error::invalid_type(Unexpected::UnitVariant, &wanted)),
        }
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.value {
            None => Ok(()),
            Some(Value::Table(own)) if Table::is_empty(own) => Ok(()),
            Some(_) => self.content("unit variant", |_| Err(Error::custom("expected empty table"))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.content("newtype variant", |own| seed.deserialize(own))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.content("tuple variant", |own| own.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.content("struct variant", |own| own.deserialize_struct("", fields, visitor))
    }
}
