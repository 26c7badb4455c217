//! Packet and bit rates of a host, and the interfaces on which its packets arrive.

use std::fmt;
use std::net::IpAddr;
use std::ops::Not;

use serde::{Deserialize, Serialize};

/// Packets and bits per second of a host's contacts. Each rate is a mean over the last minute. If only single packets
/// were counted and the count started less than a minute ago, the mean covers only the time since then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Packets per second; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<u64>,
    /// Bits per second; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_second: Option<u64>,
    /// Whether sampled counts were multiplied by their sampling rate.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_rate_scaled: bool,
    /// Whether the real rate may be higher. This is the case if a size or a sampling rate is unknown, if a site is
    /// missing, or if part of the minute was not counted. It is also the case if several exporters of a site report
    /// the host, because only the exporter that reports most of the traffic counts.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_rate_lower_bound: bool,
    /// Whether the real rate may be lower, because several sites may have seen the same packets.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_rate_upper_bound: bool,
}

/// An interface of an exporter, and its share of the contacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterfaceShare {
    /// Address of the exporter.
    pub exporter: IpAddr,
    /// SNMP index of the interface (ifIndex).
    pub interface: u32,
    /// Configured name of the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Share of contacts that arrived on this interface, among the contacts whose interface is known.
    pub share: f64,
}

impl Rates {
    /// Returns whether a rate is known.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        self.packets_per_second.is_some() || self.bits_per_second.is_some()
    }

    /// Returns whether a rate is known and above 0.
    pub(crate) fn is_positive(&self) -> bool {
        self.packets_per_second.max(self.bits_per_second).is_some_and(|rate| rate > 0)
    }

    pub fn if_known(self) -> Self {
        if self.is_known() { self } else { Self::default() }
    }

    /// Returns the sum of the rates of two sites, which may have seen the same packets.
    pub fn plus(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| {
            one.map_or(other, |one| Some(one.saturating_add(other.unwrap_or(0))))
        };
        let is_both = self.is_positive() && other.is_positive();
        Self {
            packets_per_second: sum(self.packets_per_second, other.packets_per_second),
            bits_per_second: sum(self.bits_per_second, other.bits_per_second),
            is_rate_scaled: self.is_rate_scaled || other.is_rate_scaled,
            is_rate_lower_bound: self.is_rate_lower_bound || other.is_rate_lower_bound,
            is_rate_upper_bound: self.is_rate_upper_bound || other.is_rate_upper_bound || is_both,
        }
    }

    /// Returns the rates that have more bits per second. If the bit rates are equal or both are unknown, returns the
    /// rates that have more packets per second.
    pub(crate) fn max(self, other: Self) -> Self {
        if other.size() > self.size() { other } else { self }
    }

    /// Returns the sort key of [`max`](Self::max).
    pub(crate) fn size(&self) -> impl Ord + use<> {
        (self.bits_per_second, self.packets_per_second)
    }
}

/// Writes the rates in common units, such as `1.2 Mpps, 9.8 Gbit/s`. Writes nothing if no rate is known.
impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packets = self.packets_per_second.map(|rate| quantity(rate, "pps"));
        let bits = self.bits_per_second.map(|rate| quantity(rate, "bit/s"));
        let rates: Vec<String> = packets.into_iter().chain(bits).collect();
        if rates.is_empty() {
            return Ok(());
        }
        f.write_str(match (self.is_rate_lower_bound, self.is_rate_upper_bound) {
            (false, false) => "",
            (true, false) => "at least ",
            (false, true) => "up to ",
            (true, true) => "roughly ",
        })?;
        f.write_str(&rates.join(", "))?;
        if self.is_rate_scaled { f.write_str(" (estimated from samples)") } else { Ok(()) }
    }
}

/// Formats `value` with up to three digits and a decimal prefix.
fn quantity(value: u64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (mut scaled, mut prefixes) = (value as f64, PREFIXES.into_iter());
    let mut prefix = prefixes.next().unwrap_or_default();
    // A value that would be rounded to 1000 gets the next prefix.
    while scaled >= 999.5
        && let Some(next) = prefixes.next()
    {
        (scaled, prefix) = (scaled / 1e3, next);
    }
    let digits = usize::from(!prefix.is_empty() && scaled < 9.95);
    format!("{scaled:.digits$} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_units_of_operators() {
        for (value, text) in [
            (0, "0 pps"),
            (7, "7 pps"),
            (999, "999 pps"),
            (1_000, "1.0 kpps"),
            (9_949, "9.9 kpps"),
            (9_951, "10 kpps"),
            (999_499, "999 kpps"),
            (999_500, "1.0 Mpps"),
            (1_234_567, "1.2 Mpps"),
            (u64::MAX, "18 Epps"),
        ] {
            assert_eq!(quantity(value, "pps"), text);
        }
    }

    #[test]
    fn bounds_and_samples_are_named() {
        let rates = |bits, is_rate_lower_bound, is_rate_upper_bound, is_rate_scaled| Rates {
            packets_per_second: Some(1_200_000),
            bits_per_second: bits,
            is_rate_scaled,
            is_rate_lower_bound,
            is_rate_upper_bound,
        };
        let bits = Some(9_800_000_000);
        let texts = [
            Rates::default(),
            rates(bits, false, false, false),
            rates(None, false, false, true),
            rates(bits, true, false, false),
            rates(bits, false, true, false),
            rates(bits, true, true, true),
        ];
        let texts = texts.map(|rates| rates.to_string());
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn larger_rates_have_more_bits_or_more_packets() {
        let rates = |packets_per_second, bits_per_second| Rates {
            packets_per_second,
            bits_per_second,
            ..Rates::default()
        };
        let few = rates(Some(9), Some(1_000));
        let many = Rates { is_rate_lower_bound: true, ..rates(Some(8), Some(2_000)) };
        assert_eq!((few.max(many), many.max(few)), (many, many));
        assert_eq!(Rates::default().max(few), few);
        assert_eq!(rates(Some(9), None).max(rates(Some(8), None)), rates(Some(9), None));
        let bare = Rates { is_rate_lower_bound: true, ..Rates::default() };
        assert_eq!((bare.if_known(), many.if_known()), (Rates::default(), many));
    }
}
