//! An IPv4 or IPv6 host, stored as two 64-bit numbers.

use std::fmt;
use std::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Bits 32 to 63 of an IPv4-mapped address; the higher bits are 0.
const MAPPED: u64 = 0xffff;

/// A host, identified by its IPv4 or IPv6 address.
///
/// IPv4 addresses are stored as IPv4-mapped addresses, so that a host has a single value, however its address was
/// written.
///
/// For speed, the address is stored as two 64-bit numbers. An [`IpAddr`] is written to memory in smaller pieces, and a
/// copy must wait for all of them. This wait would take a third of the processing time of a packet.
///
/// ```
/// use srlg_input::contact::Host;
/// use std::net::IpAddr;
///
/// let host: Host = "::ffff:192.0.2.1".parse()?;
/// assert_eq!(host, Host::v4(0xc000_0201));
/// assert_eq!(host.to_string(), "192.0.2.1");
/// assert_eq!(IpAddr::from(host), "192.0.2.1".parse::<IpAddr>()?);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    high: u64,
    low: u64,
}

impl Host {
    /// Returns the IPv4 host with the address `bits`, such as `0x0a00_0001` for 10.0.0.1.
    #[inline(always)]
    #[must_use]
    pub const fn v4(bits: u32) -> Self {
        Self { high: 0, low: MAPPED << 32 | bits as u64 }
    }

    /// Returns the IPv6 host with the address `bits`, or the IPv4 host if `bits` is an IPv4-mapped address.
    #[inline(always)]
    #[must_use]
    pub const fn v6(bits: u128) -> Self {
        Self { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// Returns the bits of an IPv4 address, or `None` for an IPv6 address.
    #[inline(always)]
    #[must_use]
    pub const fn as_v4(self) -> Option<u32> {
        if self.high == 0 && self.low >> 32 == MAPPED { Some(self.low as u32) } else { None }
    }

    /// Returns the bits of an IPv6 address, or of the IPv4-mapped address if this is an IPv4 host.
    #[inline(always)]
    #[must_use]
    pub const fn as_v6(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }
}

impl From<IpAddr> for Host {
    #[inline(always)]
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => address.into(),
        }
    }
}

impl From<Ipv4Addr> for Host {
    #[inline(always)]
    fn from(address: Ipv4Addr) -> Self {
        Self::v4(address.to_bits())
    }
}

impl From<Ipv6Addr> for Host {
    #[inline(always)]
    fn from(address: Ipv6Addr) -> Self {
        Self::v6(address.to_bits())
    }
}

impl From<[u8; 4]> for Host {
    #[inline(always)]
    fn from(octets: [u8; 4]) -> Self {
        Self::v4(u32::from_be_bytes(octets))
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

impl FromStr for Host {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        text.parse().map(IpAddr::into)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IpAddr::from(*self).fmt(f)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Host;

    #[test]
    fn only_ipv4_mapped_addresses_are_rewritten() {
        let spelt = |text: &str| text.parse::<Host>().unwrap().to_string();
        for (text, host) in [
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::ffff:0:0", "0.0.0.0"),
            ("::ffff:ffff:ffff", "255.255.255.255"),
        ] {
            assert_eq!(spelt(text), host);
        }
        for host in [
            "0.0.0.0",
            "192.0.2.1",
            "::",
            "::1",
            "2001:db8::ffff:c000:201",
            "::fffe:c000:201",
            "::1:0:0:0",
            "::1:0:ffff:c000:201",
            // These are IPv4-translated, IPv4-compatible, NAT64, Teredo and 6to4 addresses.
            "::ffff:0:c000:201",
            "::c000:201",
            "64:ff9b::c000:201",
            "2001:0:c000:201:0:3f57:3fff:fdfe",
            "2002:c000:201::1",
        ] {
            assert_eq!(spelt(host), host);
        }
    }
}
