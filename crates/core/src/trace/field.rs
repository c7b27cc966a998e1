//! Values of columns: numbers, and words of fixed sets.

use crate::packet::Dir;

/// A value to be written to a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count, a length, a time or a sequence number.
    Number(u64),
    /// One of a fixed set of words.
    Word(&'static str),
}

/// Content of a column: numbers, or words of a list, stored as their index.
pub(super) trait Field: Copy {
    /// The words; none for numbers.
    const WORDS: &'static [&'static str] = &[];
    /// Meaning of each word.
    const MEANINGS: &'static [&'static str] = &[];
    /// Whether the numbers are 1 for yes and 0 for no.
    const IS_FLAG: bool = false;

    /// The number, or the word's place.
    fn number(self) -> u64;

    fn value(self) -> Value {
        let number = self.number();
        Self::WORDS.get(number as usize).map_or(Value::Number(number), |word| Value::Word(word))
    }
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Field for $ty {
            #[inline]
            fn number(self) -> u64 {
                u64::from(self)
            }
        }
    )*};
}
numbers!(u16, u32, u64);

impl Field for bool {
    const IS_FLAG: bool = true;

    #[inline]
    fn number(self) -> u64 {
        u64::from(self)
    }
}

impl Field for Dir {
    const WORDS: &'static [&'static str] = &[Self::Downlink.name(), Self::Uplink.name()];
    const MEANINGS: &'static [&'static str] = &["From the server to the UE.", "From the UE to the server."];

    #[inline]
    fn number(self) -> u64 {
        self as u64
    }
}
