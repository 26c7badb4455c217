//! Numbers on the command line: `500k`, `20M`, `1G`.
//!
//! A number consists of digits and an optional suffix for a power of 1,000. A number that is too large for its type is
//! rejected.

use std::num::ParseIntError;

/// The reason why a text is rejected as a number.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text does not consist of digits and an optional suffix, or its digits do not fit into 64 bits.
    #[error("{0}; use digits with an optional suffix k, M or G")]
    NotDigits(ParseIntError),
    /// The number is too large for its type.
    #[error("too large")]
    TooLarge,
    /// The number is zero.
    #[error("must be at least 1")]
    Zero,
}

/// Parses the integer `text` with an optional suffix: k for 10^3, M for 10^6, G for 10^9.
///
/// # Errors
/// Returns [`NumberError::NotDigits`] if the digits cannot be parsed, and [`NumberError::TooLarge`] if the suffix makes
/// the number too large for 64 bits.
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

/// Parses `text` as [`integer`] does. The number must be at least 1 and fit into 32 bits.
///
/// # Errors
/// Returns [`NumberError`] if [`integer`] rejects `text`, or if the number is 0 or does not fit into 32 bits.
pub fn count(text: &str) -> Result<u32, NumberError> {
    match integer(text)? {
        0 => Err(NumberError::Zero),
        number => number.try_into().map_err(|_| NumberError::TooLarge),
    }
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
    fn texts_that_are_not_numbers_are_rejected() {
        for text in ["", "k", "1kk", "-1", "1.5M", "0x10", "1 k", "١"] {
            assert!(matches!(integer(text), Err(NumberError::NotDigits(_))), "{text}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_rejected() {
        assert_eq!(integer("18446744074G"), Err(NumberError::TooLarge));
        assert_eq!(count("4294967295"), Ok(u32::MAX));
        assert_eq!(count("5G"), Err(NumberError::TooLarge));
        assert_eq!(count("0k"), Err(NumberError::Zero));
    }
}
