//! A bound on the values of a text in TOML, found before the text is parsed.
//!
//! A parser needs some 400 bytes of memory per value, so that 64 MB of short values would become gigabytes. The file
//! readers bound the octets: long texts, such as traces, are cheap.

use crate::error::ScenarioError;

/// Values that the text of a scenario or a sweep may have: thousands of flows with every key written out.
pub const MOST_VALUES: usize = 250_000;

/// Refuses a text with more than [`MOST_VALUES`].
///
/// # Errors
/// Says how many there may be.
pub fn check_size(text: &str) -> Result<(), ScenarioError> {
    // Each value has an octet of its own, so that most texts are not searched for quotes.
    if text.len() <= MOST_VALUES || values(text) <= MOST_VALUES {
        return Ok(());
    }
    let message = format!("it has more than {MOST_VALUES} values");
    Err(ScenarioError::new("", message, "write long lists into a file of their own, and name the file"))
}

/// Counts the octets that separate or open values, outside of texts and comments.
fn values(text: &str) -> usize {
    let (mut values, mut rest) = (0, text.as_bytes());
    while let Some((&octet, behind)) = rest.split_first() {
        rest = match octet {
            b'=' | b',' | b'[' | b'{' | b'.' => {
                values += 1;
                behind
            }
            b'#' => after(behind, b"\n", false),
            b'"' | b'\'' => {
                let quote = [octet; 3];
                let escapes = octet == b'"';
                match rest.strip_prefix(&quote) {
                    Some(inside) => after(inside, &quote, escapes),
                    None => after(behind, &quote[..1], escapes),
                }
            }
            _ => behind,
        };
    }
    values
}

/// Returns the text after the first `end` of a text or a comment. If `escapes`, an octet after a backslash does not end
/// the text.
fn after<'a>(mut text: &'a [u8], end: &[u8], escapes: bool) -> &'a [u8] {
    while !text.is_empty() {
        if let Some(behind) = text.strip_prefix(end) {
            return behind;
        }
        // No parser reads a text of one line any further.
        if end.len() == 1 && text[0] == b'\n' {
            return text;
        }
        let step = if escapes && text[0] == b'\\' { 2 } else { 1 };
        text = text.get(step..).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts_and_comments() {
        for (text, expected) in [
            ("a = 1", 1),
            ("a = [1, 2, 3]", 4),
            ("[[flow]]\na.b = {c = 1}", 6),
            (r#"a = "=,[{\"=,""#, 1),
            ("a = '=,\\'\nb = 1", 2),
            ("a = \"\"\"\n=,\"=\\\"\"\"=\"\"\"\nb = 1", 2),
            ("a = '''=,'=''' # it's = 1\nb = 1", 2),
            ("a = \"open = 1, 2\nb = 1", 2),
        ] {
            assert_eq!(values(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_of_many_values_is_refused_and_a_long_trace_is_not() {
        let list = format!("a = [{}]", "1,".repeat(MOST_VALUES));
        assert!(check_size(&list).unwrap_err().to_string().contains("more than 250000 values"));
        let trace = format!("a = \"\"\"{}\"\"\"", "1,2\n".repeat(MOST_VALUES));
        assert!(check_size(&trace).is_ok());
    }
}
