//! The fields of a flow in a line of JSON.
//!
//! A value of `null` counts as missing.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

use crate::capture::logs;
use crate::contact::Host;

const SECOND: u64 = 1_000_000_000;

/// A field value that is a number or text.
trait Value: Default {
    const EXPECTED: &str;

    fn of_integer(_: u64) -> Option<Self> {
        None
    }

    fn of_float(_: f64) -> Option<Self> {
        None
    }

    fn of_text(_: &str) -> Option<Self> {
        None
    }
}

#[derive(Default)]
struct Number(u64);

#[derive(Default)]
struct Address(Option<Host>);

#[derive(Default)]
struct Protocol(u64);

#[derive(Default)]
struct Time(u64);

impl Value for Number {
    const EXPECTED: &str = "a number";

    fn of_integer(number: u64) -> Option<Self> {
        Some(Self(number))
    }

    /// Parses a number written as text, because some programs write 64-bit numbers that way.
    fn of_text(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}

impl Value for Address {
    const EXPECTED: &str = "an IP address";

    /// Parses an address. Empty text means that there is no address.
    fn of_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(None));
        }
        text.parse().ok().map(|host| Self(Some(host)))
    }
}

impl Value for Protocol {
    const EXPECTED: &str = "a protocol";

    fn of_integer(number: u64) -> Option<Self> {
        Some(Self(number))
    }

    /// Parses the name or number of a protocol. For an unknown protocol, goflow2 writes empty text.
    fn of_text(name: &str) -> Option<Self> {
        Some(Self(logs::protocol(name).unwrap_or_default().into()))
    }
}

impl Value for Time {
    const EXPECTED: &str = "seconds since 1970, or a date and time with a UTC offset";

    fn of_integer(seconds: u64) -> Option<Self> {
        seconds.checked_mul(SECOND).map(Self)
    }

    fn of_float(seconds: f64) -> Option<Self> {
        let ns = seconds * SECOND as f64;
        (0.0..u64::MAX as f64).contains(&ns).then_some(Self(ns as u64))
    }

    fn of_text(text: &str) -> Option<Self> {
        logs::time_ns(text).ok().map(Self)
    }
}

struct Field<V>(PhantomData<V>);

impl<V: Value> Visitor<'_> for Field<V> {
    type Value = V;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(V::EXPECTED)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<V, E> {
        V::of_integer(number).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<V, E> {
        V::of_float(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V, E> {
        V::of_text(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_unit<E: Error>(self) -> Result<V, E> {
        Ok(V::default())
    }
}

fn value<'a, V: Value, D: Deserializer<'a>>(field: D) -> Result<V, D::Error> {
    field.deserialize_any(Field(PhantomData))
}

pub(super) fn number<'a, D: Deserializer<'a>>(field: D) -> Result<u64, D::Error> {
    value(field).map(|Number(number)| number)
}

pub(super) fn host<'a, D: Deserializer<'a>>(field: D) -> Result<Option<Host>, D::Error> {
    value(field).map(|Address(host)| host)
}

pub(super) fn protocol<'a, D: Deserializer<'a>>(field: D) -> Result<u64, D::Error> {
    value(field).map(|Protocol(number)| number)
}

pub(super) fn time_ns<'a, D: Deserializer<'a>>(field: D) -> Result<u64, D::Error> {
    value(field).map(|Time(ns)| ns)
}
