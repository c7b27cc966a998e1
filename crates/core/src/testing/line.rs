//! The lines of a script: their words, numbers and segments.

use crate::trace::SendCause;
use crate::units::Bytes;
use std::fmt;

/// Words of a line without its comment; text in quotes or braces is one word.
pub(super) fn split_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut depth) = (false, 0_u32);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth = depth.saturating_sub(1),
            '#' if !quoted => break,
            _ => {}
        }
        if c.is_whitespace() && !quoted && depth == 0 {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn unquoted(word: &str) -> &str {
    word.trim_matches('"')
}

/// Seconds with at most nine decimals, in nanoseconds.
pub(super) fn parse_seconds(text: &str) -> Result<u64, String> {
    let error = || format!("\"{text}\" is no time in seconds");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error());
    }
    let whole: u64 = whole.parse().map_err(|_| error())?;
    let nanos: u64 = format!("{fraction:0<9}").parse().map_err(|_| error())?;
    whole.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(nanos)).ok_or_else(error)
}

pub(super) fn parse_number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no number"))
}

/// `START:END,START:END`, or `none`.
fn parse_blocks(text: &str) -> Result<Vec<(u64, u64)>, String> {
    let block = |word: &str| {
        let (left, right) = word.split_once(':').ok_or_else(|| format!("\"{word}\" is no block"))?;
        Ok((parse_number(left)?, parse_number(right)?))
    };
    if text == "none" { Ok(Vec::new()) } else { text.split(',').map(block).collect() }
}

pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    unquoted(text).parse::<Bytes>().map(Bytes::as_u64).map_err(|error| error.to_string())
}

/// What a segment is, apart from its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Data(u64, u64),
    Ack(u64),
    Syn,
    SynAck,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(start, end) => write!(f, "{start}:{end}"),
            Self::Ack(ack) => write!(f, "ack {ack}"),
            Self::Syn => f.write_str("syn"),
            Self::SynAck => f.write_str("synack"),
        }
    }
}

/// A segment as a line of a script describes it.
pub(super) struct Described {
    pub(super) shape: Shape,
    pub(super) cause: Option<SendCause>,
    /// Fields in order; `None` for an option that is absent.
    pub(super) fields: Vec<(String, Option<u64>)>,
    /// SACK blocks; `None` if the script does not mention them.
    pub(super) sack: Option<Vec<(u64, u64)>>,
    pub(super) times: u32,
}

impl Described {
    const FIELDS: [&str; 19] = [
        "syn", "win", "tsval", "tsecr", "mss", "wscale", "sackok", "seq", "acks", "len", "ecn", "ece", "cwr",
        "rnf", "psh", "ace", "e0b", "ceb", "e1b",
    ];

    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        let mut words = words.iter().map(String::as_str);
        let first = words.next().ok_or("a segment is missing")?;
        let shape = match first {
            "syn" => Shape::Syn,
            "synack" => Shape::SynAck,
            "ack" => Shape::Ack(parse_number(words.next().ok_or("`ack` needs a number")?)?),
            range => {
                let (start, end) =
                    range.split_once(':').ok_or_else(|| format!("unknown segment \"{range}\""))?;
                Shape::Data(parse_number(start)?, parse_number(end)?)
            }
        };
        if matches!(shape, Shape::Data(start, end) if start >= end) {
            return Err(format!("segment {shape} holds nothing"));
        }
        let mut described = Self { shape, cause: None, fields: Vec::new(), sack: None, times: 1 };
        while let Some(word) = words.next() {
            if let Some(cause) = SendCause::ALL.iter().find(|cause| cause.name() == word) {
                described.cause = Some(*cause);
            } else if Self::FIELDS.contains(&word) {
                let value = words.next().ok_or_else(|| format!("`{word}` needs a number"))?;
                let value = if value == "none" { None } else { Some(parse_number(value)?) };
                described.fields.push((word.to_owned(), value));
            } else if word == "sacks" {
                let blocks = words.next().ok_or("`sacks` needs blocks")?;
                described.sack = Some(parse_blocks(blocks)?);
            } else if let Some(times) = word.strip_prefix('x').and_then(|times| times.parse().ok()) {
                described.times = times;
            } else {
                return Err(format!("unknown word \"{word}\""));
            }
        }
        Ok(described)
    }
}
