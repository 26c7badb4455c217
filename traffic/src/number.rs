//! Numbers of the command line: `500k`, `20M`, `1G`.
//!
//! Shape: digits and at most one decimal suffix. Invariant: a number that does
//! not fit is refused, never wrapped.

use std::num::ParseIntError;

/// Tells why a text is no number.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// Something else than digits and a suffix.
    #[error("{0}: give digits with an optional suffix k, M or G")]
    NotDigits(ParseIntError),
    /// More than there is room for.
    #[error("too large")]
    TooLarge,
    /// None at all.
    #[error("must be at least 1")]
    Zero,
}

/// Reads the integer `text`, with an optional suffix: k is 10^3, M is 10^6, G is 10^9.
///
/// # Errors
/// [`NumberError::NotDigits`], [`NumberError::TooLarge`].
pub fn integer(text: &str) -> Result<u64, NumberError> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(NumberError::NotDigits)?;
    number.checked_mul(factor).ok_or(NumberError::TooLarge)
}

/// Reads `text` as [`integer`] does, a number of at least 1 that fits into 32 bits.
///
/// # Errors
/// [`NumberError`].
pub fn count(text: &str) -> Result<u32, NumberError> {
    match integer(text)? {
        0 => Err(NumberError::Zero),
        number => number.try_into().map_err(|_| NumberError::TooLarge),
    }
}

/// Returns `number` as [`count`] takes it, with the largest suffix that loses nothing.
#[must_use]
pub fn short(number: u32) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let unit = units.into_iter().find(|&(unit, _)| number > 0 && number.is_multiple_of(unit));
    let (unit, suffix) = unit.unwrap_or((1, ""));
    format!("{}{suffix}", number / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_decimal_and_of_either_case() {
        let numbers = ["0", "60", "500k", "500K", "20M", "1G", "18446744073709551615"];
        let expected = [0, 60, 500_000, 500_000, 20_000_000, 1_000_000_000, u64::MAX];
        assert_eq!(numbers.map(|text| integer(text).unwrap()), expected);
    }

    #[test]
    fn texts_that_are_no_numbers_are_refused() {
        for text in ["", "k", "1kk", "-1", "1.5M", "0x10", "1 k", "١"] {
            assert!(matches!(integer(text), Err(NumberError::NotDigits(_))), "{text}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert_eq!(integer("18446744074G"), Err(NumberError::TooLarge));
        assert_eq!(count("4294967295"), Ok(u32::MAX));
        assert_eq!(count("5G"), Err(NumberError::TooLarge));
        assert_eq!(count("0k"), Err(NumberError::Zero));
    }

    #[test]
    fn short_numbers_are_read_back_as_they_were() {
        let numbers = [0, 60, 1024, 500_000, 2_000_000, 2_500_000, 3_000_000_000];
        let texts = ["0", "60", "1024", "500k", "2M", "2500k", "3G"];
        assert_eq!(numbers.map(short), texts);
        assert_eq!(texts.map(|text| integer(text).unwrap()), numbers.map(u64::from));
    }
}
