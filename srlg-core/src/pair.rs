//! Addresses and pairs of addresses.

use core::net::Ipv4Addr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A host's address as an integer: `10.0.0.1` is `0x0a00_0001`.
///
/// Everything that depends on the width of an address is written over this
/// alias and [`ADDRESS_BITS`].
pub type Address = u32;

/// Number of bits of an [`Address`].
pub const ADDRESS_BITS: u32 = Address::BITS;

/// Pairs whose hashes are computed together: enough for full vectors.
pub const BATCH: usize = 64;

/// The pair `<aip, bip>`: a host inside the measured network and its opposite host.
///
/// Eight bytes without padding, so that a slice of pairs can be read from and
/// sent to anywhere as plain bytes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[cfg_attr(feature = "cust", derive(cust_core::DeviceCopy))]
#[repr(C)]
pub struct IpPair {
    /// The inside host, whose cardinality is measured.
    pub aip: Address,
    /// The opposite host.
    pub bip: Address,
}

impl IpPair {
    /// The pair of the inside host `aip` and its opposite host `bip`.
    #[must_use]
    pub const fn new(aip: Ipv4Addr, bip: Ipv4Addr) -> Self {
        Self { aip: aip.to_bits(), bip: bip.to_bits() }
    }
}
