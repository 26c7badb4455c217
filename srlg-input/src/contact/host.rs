//! A host as two numbers of 64 bits, those of IPv4 as their IPv4-mapped addresses.
//!
//! Invariant: one host is one value, however its address was spelt.
//!
//! Decoders hand hosts on in this form: an [`IpAddr`] is written in pieces of 1, 4 and 8 bytes, and
//! a copy of it waits until they have been stored, a third of the time of a packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits 32 to 63 of an IPv4-mapped address; those above are 0.
const MAPPED: u64 = 0xffff;

/// Holds an address of either family as two numbers of 64 bits: cheap to copy and to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    high: u64,
    low: u64,
}

impl Host {
    /// Returns the IPv4 host of `bits`, `0x0a00_0001` for 10.0.0.1.
    #[inline(always)]
    #[must_use]
    pub fn v4(bits: u32) -> Self {
        Self { high: 0, low: MAPPED << 32 | u64::from(bits) }
    }

    /// Returns the IPv6 host of `bits`; the IPv4 host where they are an IPv4-mapped address.
    #[inline(always)]
    #[must_use]
    pub fn v6(bits: u128) -> Self {
        Self { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// Returns the bits of the address as one of IPv4, if it is one.
    #[inline(always)]
    #[must_use]
    pub fn as_v4(self) -> Option<u32> {
        (self.high == 0 && self.low >> 32 == MAPPED).then_some(self.low as u32)
    }

    /// Returns the bits of the address as one of IPv6, IPv4-mapped for a host of IPv4.
    #[inline(always)]
    #[must_use]
    pub fn as_v6(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
}

impl From<IpAddr> for Host {
    #[inline(always)]
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::v4(address.to_bits()),
            IpAddr::V6(address) => Self::v6(address.to_bits()),
        }
    }
}

impl From<Host> for IpAddr {
    #[inline(always)]
    fn from(host: Host) -> Self {
        match host.as_v4() {
            Some(bits) => Self::V4(Ipv4Addr::from_bits(bits)),
            None => Self::V6(Ipv6Addr::from_bits(host.as_v6())),
        }
    }
}
