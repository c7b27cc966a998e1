//! Quantities with their units: [`Bytes`], [`Bitrate`], [`Frequency`], [`Decibel`], [`Probability`], and
//! the text form of [`Duration`].
//!
//! Decimal SI only: 1 kbit = 1000 bit, 1 kB = 1000 B; KiB and MiB are there for buffers that were
//! sized in powers of two. Configuration gives every quantity as text with its unit, `"384 kbit/s"`,
//! `"60 ms"`, `"16 MB"`, `"10 %"`; a bare number is refused, since it is unclear whether 384 are
//! bit/s or kbit/s. Only a probability may be a bare number between 0 and 1.
//!
//! Text is read in integer arithmetic, so "0.1 s" is exactly 100 000 000 ns, and a value that needs a fraction of the
//! smallest unit is an error, never rounded. `Display` prints text that reads back as the same value.

mod decibel;

pub use decibel::Decibel;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::error::ScenarioError;
use crate::time::Duration;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A data rate in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bitrate(u64);

/// A frequency in whole millihertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Frequency(u64);

/// A power in microwatts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Power(u64);

/// A probability: a number between 0 and 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

/// Why a text is not the quantity it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseUnitError {
    /// The problem and the expected form.
    pub message: String,
}

impl Bytes {
    /// `bytes` bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

impl Bitrate {
    /// A rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// The rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Whole bytes that pass in `time`.
    pub const fn bytes_in(self, time: Duration) -> u64 {
        let bits = self.as_bps() as u128 * time.as_nanos() as u128 / 1_000_000_000;
        (bits / 8) as u64
    }

    /// Time until the last bit of `bytes` bytes is sent, rounded up to a nanosecond;
    /// [`Duration::MAX`] at rate zero.
    pub const fn time_to_send(self, bytes: u64) -> Duration {
        const NANOBITS_PER_BYTE: u64 = 8_000_000_000;
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Called for every packet: the 128-bit division costs several times the 64-bit one.
        if let Some(nanobits) = bytes.checked_mul(NANOBITS_PER_BYTE) {
            return Duration::from_nanos(nanobits.div_ceil(self.0));
        }
        let nanos = (bytes as u128 * NANOBITS_PER_BYTE as u128).div_ceil(self.0 as u128);
        if nanos > u64::MAX as u128 { Duration::MAX } else { Duration::from_nanos(nanos as u64) }
    }
}

impl Power {
    /// A power of `microwatts` millionths of a watt.
    pub const fn from_microwatts(microwatts: u64) -> Self {
        Self(microwatts)
    }

    /// The power in millionths of a watt.
    pub const fn as_microwatts(self) -> u64 {
        self.0
    }
}

impl Frequency {
    /// A frequency of `mhz` thousandths of a hertz.
    pub const fn from_millihertz(mhz: u64) -> Self {
        Self(mhz)
    }

    /// The frequency in thousandths of a hertz.
    pub const fn as_millihertz(self) -> u64 {
        self.0
    }

    /// The frequency in Hz.
    pub const fn as_hz(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl Probability {
    /// Impossible.
    pub const ZERO: Self = Self(0.0);
    /// Certain.
    pub const ONE: Self = Self(1.0);

    /// The probability `value`; `None` unless it lies between 0 and 1.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0.
        (0.0..=1.0).contains(&value).then_some(Self(value + 0.0))
    }

    /// The probability as a number between 0 and 1.
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

impl From<ParseUnitError> for ScenarioError {
    fn from(error: ParseUnitError) -> Self {
        match Self::split(&error.message) {
            Some((what, start, right)) => Self::new("", what, format!("{start}{right}")),
            None => Self::new("", error.message, ""),
        }
    }
}

fn error<T>(message: String) -> Result<T, ParseUnitError> {
    Err(ParseUnitError { message })
}

/// The text form of one quantity that is a whole number of its smallest unit.
struct Form {
    /// The quantity, with its article.
    what: &'static str,
    /// Name of the smallest unit, plural.
    smallest: &'static str,
    /// Units, the plainest first, with their size in smallest units.
    units: &'static [(&'static str, u64)],
    /// Spellings that people try, in lower case with blanks between, and the unit they mean.
    misspelt: &'static [(&'static str, &'static str)],
    /// Two examples.
    examples: [&'static str; 2],
    /// The largest value, in smallest units.
    max: u64,
}

const DURATION: Form = Form {
    what: "a duration",
    smallest: "nanoseconds",
    units: &[
        ("s", 1_000_000_000),
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    misspelt: &[
        ("sec secs second seconds", "s"),
        ("\u{b5}s \u{3bc}s usec", "us"),
        ("msec", "ms"),
        ("m minute minutes", "min"),
        ("hour hours", "h"),
    ],
    examples: ["60 ms", "1.5 s"],
    max: Duration::LONGEST.as_nanos(),
};

const BITRATE: Form = Form {
    what: "a bit rate",
    smallest: "bit/s",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
    misspelt: &[
        ("bps bit bits/s", "bit/s"),
        ("kbps kbit kbits/s", "kbit/s"),
        ("mbps mbit mbits/s", "Mbit/s"),
        ("gbps gbit gbits/s", "Gbit/s"),
    ],
    examples: ["384 kbit/s", "7.2 Mbit/s"],
    max: u64::MAX,
};

const POWER: Form = Form {
    what: "a power",
    smallest: "uW",
    units: &[("uW", 1), ("mW", 1_000), ("W", 1_000_000)],
    misspelt: &[("mw", "mW"), ("w watt watts", "W"), ("\u{b5}W \u{3bc}W uw", "uW")],
    examples: ["800 mW", "1.2 W"],
    max: u64::MAX,
};

const BYTES: Form = Form {
    what: "a number of bytes",
    smallest: "bytes",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
    ],
    misspelt: &[("byte bytes", "B")],
    examples: ["64 kB", "1500 B"],
    max: u64::MAX,
};

const FREQUENCY: Form = Form {
    what: "a frequency",
    smallest: "millihertz",
    units: &[("Hz", 1_000), ("mHz", 1), ("kHz", 1_000_000), ("MHz", 1_000_000_000)],
    misspelt: &[("hertz", "Hz")],
    examples: ["35 Hz", "5.5 Hz"],
    max: u64::MAX,
};

/// Splits `text` into the decimal number at its start and the unit after it.
fn split<'a>(text: &'a str, what: &str, example: &str) -> Result<(&'a str, &'a str), ParseUnitError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') || unit.starts_with(',') {
        if text.starts_with('-') {
            return error(format!("{what} cannot be negative: {text}; write for example \"{example}\""));
        }
        return error(format!("not {what}: \"{text}\"; write for example \"{example}\""));
    }
    Ok((number, unit.trim_start_matches(' ')))
}

fn parse(form: &Form, text: &str) -> Result<u64, ParseUnitError> {
    let (number, unit) = split(text, form.what, form.examples[0])?;
    if unit.is_empty() {
        let [one, two] = form.examples;
        return error(format!("missing unit: write \"{one}\" or \"{two}\", not {text}"));
    }
    let Some(&(_, size)) = form.units.iter().find(|(name, _)| *name == unit) else {
        return error(unknown_unit(form, text, number, unit));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let too_large = || error(format!("\"{text}\" is too large: at most {} {unit}", form.max / size));
    let too_fine = || error(format!("\"{text}\" is not a whole number of {}", form.smallest));
    // 2^-20 MiB is the longest fraction that is whole in a smallest unit; so nothing below overflows
    // but the whole part.
    if fraction.len() > 20 {
        return too_fine();
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let parts = format!("0{fraction}").parse().unwrap_or(0) * u128::from(size);
    if parts % scale != 0 {
        return too_fine();
    }
    let value = format!("0{whole}").parse().ok().and_then(|whole: u64| whole.checked_mul(size));
    let value = value.and_then(|value| value.checked_add((parts / scale) as u64));
    value.filter(|value| *value <= form.max).map_or_else(too_large, Ok)
}

fn unknown_unit(form: &Form, text: &str, number: &str, unit: &str) -> String {
    let lower = unit.to_lowercase();
    let misspelt = form
        .misspelt
        .iter()
        .find(|(wrong, _)| wrong.split(' ').any(|wrong| wrong == lower))
        .map(|(_, right)| *right);
    // Correct except for the case: KB, mbit/s. A lower-case prefix could mean something else.
    let other_case = || form.units.iter().map(|(name, _)| *name).find(|name| name.eq_ignore_ascii_case(unit));
    if let Some(right) = misspelt.or_else(other_case) {
        return format!("unknown unit \"{unit}\" in \"{text}\": did you mean \"{number} {right}\"?");
    }
    let mut names: Vec<_> = form.units.to_vec();
    names.sort_by_key(|(_, size)| *size);
    let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
    format!("unknown unit \"{unit}\" in \"{text}\": use one of {}", names.join(", "))
}

/// The shortest text that reads back as `value`, without numbers below one ("200 ms", not "0.2 s");
/// of two equally long ones that without a fraction, then that with the larger unit.
fn display(form: &Form, value: u64) -> String {
    let plain = format!("0 {}", form.units[0].0);
    let texts = form.units.iter().filter(|(_, size)| *size <= value).filter_map(|(name, size)| {
        let mut number = (value / size).to_string();
        let mut rest = u128::from(value % size);
        let has_fraction = rest != 0;
        if has_fraction {
            number.push('.');
        }
        for _ in 0..20 {
            if rest == 0 {
                break;
            }
            rest *= 10;
            number.push(char::from(b'0' + (rest / u128::from(*size)) as u8));
            rest %= u128::from(*size);
        }
        let text = format!("{number} {name}");
        (rest == 0).then_some(((text.len(), has_fraction, u64::MAX - size), text))
    });
    texts.min().map_or(plain, |(_, text)| text)
}

/// Checks a number that came without a unit, and says so if it is no probability.
fn bare_probability(value: f64, text: &str) -> Result<Probability, ParseUnitError> {
    match Probability::new(value) {
        Some(probability) => Ok(probability),
        None if value > 1.0 && value <= 100.0 => {
            error(format!("a probability is at most 1, not {text}: did you mean \"{text} %\"?"))
        }
        None if value > 1.0 => {
            error(format!("a probability is at most 1 or \"100 %\", not {text}; write for example \"10 %\""))
        }
        None if value < 0.0 => {
            error(format!("a probability cannot be negative: {text}; write for example \"10 %\""))
        }
        None => error(format!("not a probability: {text}; write for example \"10 %\" or 0.1")),
    }
}

impl FromStr for Probability {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let (number, unit) = split(text, "a probability", "10 %")?;
        // Percent by way of the exponent: dividing by 100 would round a second time.
        let value = |exponent| format!("{number}e{exponent}").parse().unwrap_or(f64::NAN);
        match unit {
            "" => bare_probability(value(0), text),
            "%" => match Self::new(value(-2)) {
                Some(probability) => Ok(probability),
                None => {
                    error(format!("a probability is at most 100 %, not {text}; write for example \"10 %\""))
                }
            },
            _ => error(format!("unknown unit \"{unit}\" in \"{text}\": did you mean \"{number} %\"?")),
        }
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The shortest digits that read back, "d.ddde-x"; the point moves two places for percent.
        let scientific = format!("{:e}", self.0);
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let digits = mantissa.replace('.', "");
        let point = 3 + exponent.parse::<i32>().unwrap_or(0);
        let number = if point <= 0 {
            format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
        } else {
            let digits = format!("{digits:0<width$}", width = point as usize);
            let (whole, fraction) = digits.split_at(point as usize);
            format!("{whole}{}{fraction}", if fraction.is_empty() { "" } else { "." })
        };
        f.pad(&if self.0 == 0.0 { "0 %".to_string() } else { format!("{number} %") })
    }
}

/// Requirements of the serde and schema implementations below on a quantity.
trait Quantity: FromStr<Err = ParseUnitError> {
    const EXPECTING: &'static str;

    /// Judges a number given without quotes; `text` is that number.
    fn from_number(value: f64, text: &str) -> Result<Self, ParseUnitError> {
        // Without a unit this can only be an error: let the parser word it.
        let _ = value;
        text.parse()
    }

    fn schema() -> schemars::Schema;
}

impl Quantity for Probability {
    const EXPECTING: &'static str = "a probability such as \"10 %\" or 0.1";

    fn from_number(value: f64, text: &str) -> Result<Self, ParseUnitError> {
        bare_probability(value, text)
    }

    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "type": ["string", "number"],
            "pattern": "^[0-9]+(\\.[0-9]+)?( *%)?$",
            "minimum": 0,
            "maximum": 1,
            "examples": ["10 %", 0.1],
        })
    }
}

macro_rules! impl_form {
    ($type:ident, $form:ident, $from:path, $as:ident, $expecting:literal) => {
        impl FromStr for $type {
            type Err = ParseUnitError;

            fn from_str(text: &str) -> Result<Self, ParseUnitError> {
                parse(&$form, text).map($from)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&display(&$form, self.$as()))
            }
        }

        impl Quantity for $type {
            const EXPECTING: &'static str = $expecting;

            fn schema() -> schemars::Schema {
                let units: Vec<_> = $form.units.iter().map(|(name, _)| *name).collect();
                schemars::json_schema!({
                    "type": "string",
                    "pattern": format!("^[0-9]+(\\.[0-9]+)? *({})$", units.join("|")),
                    "examples": $form.examples,
                })
            }
        }
    };
}

impl_form!(Duration, DURATION, Duration::from_nanos, as_nanos, "a duration with its unit, such as \"60 ms\"");
impl_form!(Bitrate, BITRATE, Bitrate::from_bps, as_bps, "a bit rate with its unit, such as \"384 kbit/s\"");
impl_form!(
    Frequency,
    FREQUENCY,
    Frequency::from_millihertz,
    as_millihertz,
    "a frequency with its unit, such as \"35 Hz\" or \"100 MHz\""
);
impl_form!(Power, POWER, Power::from_microwatts, as_microwatts, "a power with its unit, such as \"800 mW\"");
impl_form!(Bytes, BYTES, Bytes::from_bytes, as_u64, "a number of bytes with its unit, such as \"64 kB\"");

struct QuantityVisitor<Q>(PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for QuantityVisitor<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Q::EXPECTING)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Q, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Q, E> {
        Q::from_number(value as f64, &value.to_string()).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Q, E> {
        Q::from_number(value as f64, &value.to_string()).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Q, E> {
        Q::from_number(value, &value.to_string()).map_err(E::custom)
    }
}

macro_rules! impl_serde {
    ($($type:ident)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                // Any, not str: a bare number gets our message instead of "invalid type".
                deserializer.deserialize_any(QuantityVisitor(PhantomData))
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$type as Quantity>::schema()
            }
        }
    )*};
}

impl_serde!(Duration Bitrate Bytes Frequency Power Decibel Probability);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message<T: FromStr<Err = ParseUnitError> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().message
    }

    fn duration(text: &str) -> u64 {
        text.parse::<Duration>().unwrap().as_nanos()
    }

    #[test]
    fn durations_are_read_exactly() {
        assert_eq!(duration("0.1 s"), 100_000_000);
        assert_eq!(duration("60 ms"), 60_000_000);
        assert_eq!(duration("250us"), 250_000);
        assert_eq!(duration("10 ns"), 10);
        assert_eq!(duration("2 min"), 120_000_000_000);
        assert_eq!(duration("1.5 h"), 5_400_000_000_000);
        assert_eq!(duration("0.000000001 s"), 1);
        assert_eq!(duration("001.5000 s"), 1_500_000_000);
        assert_eq!(duration("157680000000000000 ns"), Duration::LONGEST.as_nanos());
    }

    #[test]
    fn rates_and_sizes_are_decimal_and_binary_prefixes_are_binary() {
        let bps = |text: &str| text.parse::<Bitrate>().unwrap().as_bps();
        assert_eq!(
            [bps("384 kbit/s"), bps("7.2 Mbit/s"), bps("1 Gbit/s")],
            [384_000, 7_200_000, 1_000_000_000]
        );
        let bytes = |text: &str| text.parse::<Bytes>().unwrap().as_u64();
        assert_eq!([bytes("64 kB"), bytes("64 KiB"), bytes("1.5 MiB")], [64_000, 65_536, 1_572_864]);
        assert_eq!([bytes("16 MB"), bytes("2 GB"), bytes("40 B")], [16_000_000, 2_000_000_000, 40]);
    }

    #[test]
    fn probabilities_come_in_percent_or_bare() {
        let p = |text: &str| text.parse::<Probability>().unwrap().as_f64();
        assert_eq!(
            [p("10 %"), p("0.1"), p("0.7%"), p("100 %"), p("1"), p("0")],
            [0.1, 0.1, 0.007, 1.0, 1.0, 0.0]
        );
    }

    #[test]
    fn display_is_the_shortest_text() {
        let durations =
            [0, 1, 10_000, 60_000_000, 200_000_000, 1_500_000_000, 60_000_000_000, 120_000_000_000];
        let texts = durations.map(|nanos| Duration::from_nanos(nanos).to_string());
        assert_eq!(texts, ["0 s", "1 ns", "10 us", "60 ms", "200 ms", "1.5 s", "60 s", "2 min"]);
        let rates = [0, 64_000, 384_000, 7_200_000, 1].map(|bps| Bitrate::from_bps(bps).to_string());
        assert_eq!(rates, ["0 bit/s", "64 kbit/s", "384 kbit/s", "7.2 Mbit/s", "1 bit/s"]);
        let sizes = [1500, 65_536, 65_535, 16_000_000].map(|bytes| Bytes::from_bytes(bytes).to_string());
        assert_eq!(sizes, ["1500 B", "64 KiB", "65535 B", "16 MB"]);
        let frequencies =
            [0, 500, 35_000, 5_500, 2_000_000].map(|mhz| Frequency::from_millihertz(mhz).to_string());
        assert_eq!(frequencies, ["0 Hz", "500 mHz", "35 Hz", "5.5 Hz", "2 kHz"]);
        let percents = [0.0, 0.1, 0.007, 1.0, 0.123_45, 1e-7, 1.0 / 3.0].map(|p| Probability(p).to_string());
        assert_eq!(
            percents,
            ["0 %", "10 %", "0.7 %", "100 %", "12.345 %", "0.00001 %", "33.33333333333333 %"]
        );
        assert_eq!(format!("[{:>8}]", Duration::from_millis(60)), "[   60 ms]");
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let wrong_durations =
            ["60", "-5 ms", "NaN", "", "1,5 s", "1. s", "0.5 ns", "6000000 h", "3 m", "3 parsec"];
        let wrong_rates =
            ["384", "384 kbps", "1 MBIT/S", "2 kB/s", "0.5 bit/s", "99999999999999999999 bit/s"];
        let wrong_sizes = ["1500", "64 KB", "0.5 B", "0.0000000000000000000000001 MB"];
        let wrong_probabilities = ["10", "1.5", "150", "150 %", "-1 %", "-0.1", "five", "5 percent"];
        let mut lines: Vec<String> = Vec::new();
        lines.extend(wrong_durations.map(message::<Duration>));
        lines.extend(wrong_rates.map(message::<Bitrate>));
        lines.extend(wrong_sizes.map(message::<Bytes>));
        lines.extend(wrong_probabilities.map(message::<Probability>));
        insta::assert_snapshot!(lines.join("\n"), @r#"
        missing unit: write "60 ms" or "1.5 s", not 60
        a duration cannot be negative: -5 ms; write for example "60 ms"
        not a duration: "NaN"; write for example "60 ms"
        not a duration: ""; write for example "60 ms"
        not a duration: "1,5 s"; write for example "60 ms"
        not a duration: "1. s"; write for example "60 ms"
        "0.5 ns" is not a whole number of nanoseconds
        "6000000 h" is too large: at most 43800 h
        unknown unit "m" in "3 m": did you mean "3 min"?
        unknown unit "parsec" in "3 parsec": use one of ns, us, ms, s, min, h
        missing unit: write "384 kbit/s" or "7.2 Mbit/s", not 384
        unknown unit "kbps" in "384 kbps": did you mean "384 kbit/s"?
        unknown unit "MBIT/S" in "1 MBIT/S": did you mean "1 Mbit/s"?
        unknown unit "kB/s" in "2 kB/s": use one of bit/s, kbit/s, Mbit/s, Gbit/s
        "0.5 bit/s" is not a whole number of bit/s
        "99999999999999999999 bit/s" is too large: at most 18446744073709551615 bit/s
        missing unit: write "64 kB" or "1500 B", not 1500
        unknown unit "KB" in "64 KB": did you mean "64 kB"?
        "0.5 B" is not a whole number of bytes
        "0.0000000000000000000000001 MB" is not a whole number of bytes
        a probability is at most 1, not 10: did you mean "10 %"?
        a probability is at most 1, not 1.5: did you mean "1.5 %"?
        a probability is at most 1 or "100 %", not 150; write for example "10 %"
        a probability is at most 100 %, not 150 %; write for example "10 %"
        a probability cannot be negative: -1 %; write for example "10 %"
        a probability cannot be negative: -0.1; write for example "10 %"
        not a probability: "five"; write for example "10 %"
        unknown unit "percent" in "5 percent": did you mean "5 %"?
        "#);
    }

    #[test]
    fn serde_reads_and_writes_text() {
        #[derive(Debug, serde::Serialize, serde::Deserialize)]
        struct Config {
            delay: Duration,
            rate: Bitrate,
            loss: Probability,
        }
        let text = "delay = \"60 ms\"\nrate = \"384 kbit/s\"\nloss = \"10 %\"\n";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(toml::to_string(&config).unwrap(), text);
        let loss = toml::from_str::<Config>(&text.replace("\"10 %\"", "0.1")).unwrap().loss;
        assert_eq!(loss, config.loss);

        let wrong = [
            "delay = 60",
            "delay = 1.5",
            "delay = true",
            "rate = -1",
            "loss = 10",
            "loss = -0.5",
            "loss = nan",
        ];
        let errors = wrong.map(|wrong| toml::from_str::<Config>(wrong).unwrap_err().message().to_string());
        insta::assert_snapshot!(errors.join("\n"), @r#"
        missing unit: write "60 ms" or "1.5 s", not 60
        missing unit: write "60 ms" or "1.5 s", not 1.5
        invalid type: boolean `true`, expected a duration with its unit, such as "60 ms"
        a bit rate cannot be negative: -1; write for example "384 kbit/s"
        a probability is at most 1, not 10: did you mean "10 %"?
        a probability cannot be negative: -0.5; write for example "10 %"
        not a probability: NaN; write for example "10 %" or 0.1
        "#);
    }

    #[test]
    fn schema_has_pattern_and_examples() {
        let schema = serde_json::to_string(&schemars::schema_for!(Duration)).unwrap();
        insta::assert_snapshot!(schema, @r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Duration","type":"string","pattern":"^[0-9]+(\\.[0-9]+)? *(s|ns|us|ms|min|h)$","examples":["60 ms","1.5 s"]}"#);
    }

    #[test]
    fn time_to_send_rounds_up_and_never_overflows() {
        let rate = Bitrate::from_bps(384_000);
        assert_eq!(rate.time_to_send(1500), Duration::from_nanos(31_250_000));
        assert_eq!(Bitrate::from_bps(3).time_to_send(1), Duration::from_nanos(2_666_666_667));
        assert_eq!(rate.time_to_send(0), Duration::ZERO);
        // 4 GB: more than u64 holds before the division.
        assert_eq!(Bitrate::from_bps(8).time_to_send(4_000_000_000), Duration::from_secs(4_000_000_000));
        assert_eq!(Bitrate::from_bps(1).time_to_send(u64::MAX), Duration::MAX);
        assert_eq!(Bitrate::from_bps(0).time_to_send(1), Duration::MAX);
    }

    proptest! {
        #[test]
        fn text_reads_back(value: u64, shift in 0..64_u32) {
            // Shifted, so that small values are as frequent as large ones.
            let value = value >> shift;
            let duration = Duration::from_nanos(value.min(Duration::LONGEST.as_nanos()));
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
            prop_assert_eq!(Bitrate(value).to_string().parse(), Ok(Bitrate(value)));
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(Frequency(value).to_string().parse(), Ok(Frequency(value)));
        }

        #[test]
        fn probability_text_reads_back(value in 0.0..=1.0_f64, small in 0..1000_i32) {
            for p in [value, value / f64::from(1 + small), f64::from(small) / 1000.0] {
                prop_assert_eq!(Probability(p).to_string().parse(), Ok(Probability(p)));
            }
        }

        #[test]
        fn parsing_never_panics(alike in "[-0-9.]{0,50} ?[a-zA-Z%/µ]{0,6}", other: String) {
            for text in [&alike, &other] {
                let _ = (text.parse::<Duration>(), text.parse::<Bitrate>());
                let _ = (text.parse::<Bytes>(), text.parse::<Probability>());
            }
        }
    }
}
