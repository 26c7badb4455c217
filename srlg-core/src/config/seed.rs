//! A seed as text: 16 hexadecimal digits, because many JSON parsers keep only 53 bits of a number.

use core::fmt;

use serde::{Deserializer, Serializer, de};

const DIGITS: usize = 16;

pub(super) fn serialize<S: Serializer>(seed: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{seed:016x}"))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    // If this requested a string, parsers would reject numbers themselves and repeat the secret in their error.
    match from.is_human_readable() {
        true => from.deserialize_any(Digits),
        false => from.deserialize_str(Digits),
    }
}

/// Returns an error that does not contain the seed, because the seed is a secret.
fn refused<E: de::Error>() -> E {
    E::custom(format_args!("the seed must be a string of {DIGITS} hexadecimal digits"))
}

struct Digits;

impl de::Visitor<'_> for Digits {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string of {DIGITS} hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        let is_right = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(text, 16).ok().filter(|_| is_right).ok_or_else(refused)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<u64, E> {
        Err(refused())
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<u64, E> {
        Err(refused())
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<u64, E> {
        Err(refused())
    }
}
