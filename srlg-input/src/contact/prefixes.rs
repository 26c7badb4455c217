//! How many bits of an address make a host.
//!
//! Shape: four lengths that a user gives, and the masks that they come to.
//! Invariant: a [`Mask`] is of lengths in range, and so keeps at least one bit of either family.

use crate::contact::Host;

/// Prefix lengths of hosts, 1 to 32 bits of IPv4 and 1 to 128 of IPv6: addresses that agree in these bits are one host.
///
/// By default every address is a host of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default))]
pub struct Prefixes {
    /// Measure IPv4 networks of this prefix length as hosts
    #[cfg_attr(
        feature = "clap",
        arg(
            long = "host-prefix4",
            value_name = "BITS",
            default_value_t = 32,
            requires = "contacts"
        )
    )]
    #[cfg_attr(feature = "serde", serde(rename = "host-prefix4"))]
    pub host4: u8,
    /// Measure IPv6 networks of this prefix length as hosts
    #[cfg_attr(
        feature = "clap",
        arg(
            long = "host-prefix6",
            value_name = "BITS",
            default_value_t = 128,
            requires = "contacts"
        )
    )]
    #[cfg_attr(feature = "serde", serde(rename = "host-prefix6"))]
    pub host6: u8,
    /// Count IPv4 networks of this prefix length as opposite hosts
    #[cfg_attr(
        feature = "clap",
        arg(
            long = "peer-prefix4",
            value_name = "BITS",
            default_value_t = 32,
            requires = "contacts"
        )
    )]
    #[cfg_attr(feature = "serde", serde(rename = "peer-prefix4"))]
    pub peer4: u8,
    /// Count IPv6 networks of this prefix length as opposite hosts: 64 for hosts anywhere, who have as many addresses as they like
    #[cfg_attr(
        feature = "clap",
        arg(
            long = "peer-prefix6",
            value_name = "BITS",
            default_value_t = 128,
            requires = "contacts"
        )
    )]
    #[cfg_attr(feature = "serde", serde(rename = "peer-prefix6"))]
    pub peer6: u8,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self { host4: 32, host6: 128, peer4: 32, peer6: 128 }
    }
}

/// Names a prefix length that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {length}: give a prefix length from 1 to {longest}")]
pub struct BadPrefix {
    /// Field of [`Prefixes`].
    pub name: &'static str,
    /// Its value.
    pub length: u8,
    /// The largest value that it may have.
    pub longest: u8,
}

/// Bits of an address that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask {
    v4: u32,
    v6: u128,
}

impl Prefixes {
    /// The masks of inside and of opposite hosts.
    pub(crate) fn masks(self) -> Result<[Mask; 2], BadPrefix> {
        let Self { host4, host6, peer4, peer6 } = self;
        for (name, length, longest) in [
            ("host4", host4, 32),
            ("host6", host6, 128),
            ("peer4", peer4, 32),
            ("peer6", peer6, 128),
        ] {
            if !(1..=longest).contains(&length) {
                return Err(BadPrefix { name, length, longest });
            }
        }
        Ok([(host4, host6), (peer4, peer6)]
            .map(|(v4, v6)| Mask { v4: u32::MAX << (32 - v4), v6: u128::MAX << (128 - v6) }))
    }
}

impl Mask {
    /// The network of `host`.
    #[inline]
    pub(crate) fn network_of(self, host: Host) -> Host {
        match host.as_v4() {
            Some(bits) => Host::v4(bits & self.v4),
            None => Host::v6(host.as_v6() & self.v6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadPrefix, Prefixes};

    #[test]
    fn lengths_out_of_range_are_named() {
        let all = Prefixes::default();
        for (prefixes, name, length, longest) in [
            (Prefixes { host4: 0, ..all }, "host4", 0, 32),
            (Prefixes { host4: 33, ..all }, "host4", 33, 32),
            (Prefixes { host6: 0, ..all }, "host6", 0, 128),
            (Prefixes { host6: 129, ..all }, "host6", 129, 128),
            (Prefixes { peer4: 0, ..all }, "peer4", 0, 32),
            (Prefixes { peer4: 33, ..all }, "peer4", 33, 32),
            (Prefixes { peer6: 0, ..all }, "peer6", 0, 128),
            (Prefixes { peer6: 255, ..all }, "peer6", 255, 128),
        ] {
            let error = prefixes.masks().unwrap_err();
            assert_eq!(error, BadPrefix { name, length, longest });
        }
    }

    #[test]
    fn masks_keep_as_many_bits_as_their_length_says() {
        for v4 in 1..=32 {
            for v6 in 1..=128 {
                let prefixes = Prefixes { host4: v4, host6: v6, peer4: 33 - v4, peer6: 129 - v6 };
                let [host, peer] = prefixes.masks().unwrap();
                assert_eq!((host.v4.leading_ones(), host.v4.count_ones()), (v4.into(), v4.into()));
                assert_eq!((host.v6.leading_ones(), host.v6.count_ones()), (v6.into(), v6.into()));
                assert_eq!(peer.v4.count_ones(), 33 - u32::from(v4));
                assert_eq!(peer.v6.count_ones(), 129 - u32::from(v6));
            }
        }
    }
}
