//! A ratio of powers in decibel, exact to a thousandth of a dB; the one quantity that may be negative.

use super::{ParseUnitError, Quantity, error, split};
use std::fmt;
use std::str::FromStr;

/// A ratio of powers, in whole thousandths of a decibel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decibel(i32);

/// Ratios beyond this, in dB, occur on no radio link.
const LARGEST: i32 = 300;

impl Decibel {
    /// A ratio of `thousandths` thousandths of a decibel.
    pub const fn from_thousandths(thousandths: i32) -> Self {
        Self(thousandths)
    }

    /// In decibel.
    pub fn as_db(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// The ratio itself: 10 for 10 dB.
    pub fn as_ratio(self) -> f64 {
        libm::pow(10.0, f64::from(self.0) / 10_000.0)
    }
}

impl FromStr for Decibel {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let (sign, magnitude) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        if magnitude.starts_with('-') {
            return error(format!("not a ratio in dB: \"{text}\"; write for example \"-12.5 dB\""));
        }
        let (number, unit) = split(magnitude, "a ratio in dB", "2.4 dB")?;
        match unit {
            "dB" => {}
            "" => return error(format!("missing unit: write \"2.4 dB\" or \"-12.5 dB\", not {text}")),
            _ if unit.eq_ignore_ascii_case("db") => {
                let sign = if sign < 0 { "-" } else { "" };
                return error(format!(
                    "unknown unit \"{unit}\" in \"{text}\": did you mean \"{sign}{number} dB\"?"
                ));
            }
            _ => return error(format!("unknown unit \"{unit}\" in \"{text}\": use dB")),
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 3 {
            return error(format!("\"{text}\" is not a whole number of thousandths of a dB"));
        }
        match whole.parse::<i32>() {
            Ok(whole) if whole < LARGEST => {
                let thousandths = format!("{fraction:0<3}").parse::<i32>().unwrap_or(0);
                Ok(Self(sign * (whole * 1000 + thousandths)))
            }
            _ => error(format!("\"{text}\" is too large: less than {LARGEST} dB")),
        }
    }
}

impl fmt::Display for Decibel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let number = format!("{}.{:03}", magnitude / 1000, magnitude % 1000);
        let number = number.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{}{number} dB", if self.0 < 0 { "-" } else { "" }))
    }
}

impl Quantity for Decibel {
    const EXPECTING: &'static str = "a ratio in dB, such as \"2.4 dB\"";

    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^-?[0-9]+(\\.[0-9]+)? *dB$",
            "examples": ["2.4 dB", "-12.5 dB"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_read_exactly_and_either_sign_is_a_ratio() {
        let texts = ["2.4 dB", "-12.5dB", "0 dB", "-0.001 dB", "10.000 dB"];
        let thousandths = texts.map(|text| text.parse::<Decibel>().unwrap().0);
        assert_eq!(thousandths, [2400, -12_500, 0, -1, 10_000]);
        assert!((Decibel(10_000).as_ratio() - 10.0).abs() < 1e-14);
        assert!((Decibel(-3010).as_ratio() - 0.500_03).abs() < 1e-5);
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let wrong = ["2.4", "-3", "3 db", "-3 DB", "3 dBm", "", "three dB", "300 dB", "0.0001 dB", "--3 dB"];
        let lines = wrong.map(|text| text.parse::<Decibel>().unwrap_err().message);
        insta::assert_snapshot!(lines.join("\n"), @r#"
        missing unit: write "2.4 dB" or "-12.5 dB", not 2.4
        missing unit: write "2.4 dB" or "-12.5 dB", not -3
        unknown unit "db" in "3 db": did you mean "3 dB"?
        unknown unit "DB" in "-3 DB": did you mean "-3 dB"?
        unknown unit "dBm" in "3 dBm": use dB
        not a ratio in dB: ""; write for example "2.4 dB"
        not a ratio in dB: "three dB"; write for example "2.4 dB"
        "300 dB" is too large: less than 300 dB
        "0.0001 dB" is not a whole number of thousandths of a dB
        not a ratio in dB: "--3 dB"; write for example "-12.5 dB"
        "#);
    }

    proptest! {
        #[test]
        fn text_reads_back(thousandths in -299_999..300_000_i32) {
            let ratio = Decibel(thousandths);
            prop_assert_eq!(ratio.to_string().parse(), Ok(ratio));
        }

        #[test]
        fn parsing_never_panics(alike in "-?[-0-9.]{0,20} ?[a-zA-Z]{0,3}", other: String) {
            let _ = (alike.parse::<Decibel>(), other.parse::<Decibel>());
        }
    }
}
