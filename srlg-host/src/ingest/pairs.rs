//! The types of pairs that detectors ingest.

use std::net::IpAddr;

use srlg_core::{IpPair, Ipv4Pair, Params};

use crate::error::Error;

/// A type of pair that detectors ingest: [`Ipv4Pair`] for two IPv4 addresses, or [`IpPair`] for any two addresses.
///
/// This trait is sealed and cannot be implemented outside this crate.
pub trait Pair: Sealed {}

impl Pair for Ipv4Pair {}
impl Pair for IpPair {}

/// The supertrait that seals [`Pair`].
pub trait Sealed: Copy + Default + Send + Sync + 'static {
    #[doc(hidden)]
    const FAMILY: Family;

    #[doc(hidden)]
    fn slice(pairs: &[Self]) -> PairSlice<'_>;
}

impl Sealed for Ipv4Pair {
    const FAMILY: Family = Family::V4;

    #[inline(always)]
    fn slice(pairs: &[Self]) -> PairSlice<'_> {
        PairSlice::V4(pairs)
    }
}

impl Sealed for IpPair {
    const FAMILY: Family = Family::V6;

    #[inline(always)]
    fn slice(pairs: &[Self]) -> PairSlice<'_> {
        match Self::FAMILY.of(pairs.len()) {
            Family::V4 => PairSlice::V4(&[]),
            Family::V6 => PairSlice::V6(pairs),
        }
    }
}

/// The type of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The type [`Ipv4Pair`].
    V4,
    /// The type [`IpPair`].
    V6,
}

impl Family {
    #[cfg(any(feature = "cuda", test))]
    pub(crate) const fn pair_bytes(self) -> usize {
        match self {
            Self::V4 => size_of::<Ipv4Pair>(),
            Self::V6 => size_of::<IpPair>(),
        }
    }

    /// Returns this type, or `V4` if `count` is 0, because every detector accepts IPv4 pairs.
    #[inline]
    pub(crate) const fn of(self, count: usize) -> Self {
        if count == 0 { Self::V4 } else { self }
    }

    /// Returns `V4` if `host` is an IPv4 address or an IPv4-mapped IPv6 address, and `V6` otherwise.
    pub(crate) const fn of_host(host: IpAddr) -> Self {
        match host.to_canonical() {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// Returns an error if detectors with `params` do not accept this type of pair.
    #[inline]
    pub(crate) fn check(self, params: &Params) -> Result<(), Error> {
        match self {
            Self::V6 if params.finder().cells().is_none() => Err(Error::Ipv6InPaper),
            _ => Ok(()),
        }
    }
}

/// Pairs of either type in ordinary memory.
#[derive(Clone, Copy, Debug)]
pub enum PairSlice<'a> {
    /// Pairs of two IPv4 addresses.
    V4(&'a [Ipv4Pair]),
    /// Pairs of any two addresses.
    V6(&'a [IpPair]),
}

impl PairSlice<'_> {
    #[inline]
    pub(crate) const fn family(self) -> Family {
        match self {
            Self::V4(_) => Family::V4,
            Self::V6(_) => Family::V6,
        }
    }
}
