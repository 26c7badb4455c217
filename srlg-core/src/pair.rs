//! Addresses and pairs of addresses.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv4 address of a host as an integer: `10.0.0.1` is `0x0a00_0001`.
///
/// Code that depends on the width of an IPv4 address should use this alias and [`ADDRESS_BITS`].
pub type Address = u32;

/// An IPv6 address as four 32-bit words, the most significant first: `2001:db8::1` is `[0x2001_0db8, 0, 0, 1]`.
///
/// An IPv4-mapped address such as `::ffff:10.0.0.1` (RFC 4291, 2.5.5.2) is treated as the IPv4 address `10.0.0.1`
/// everywhere.
pub type Limbs = [u32; 4];

/// Number of bits in an [`Address`].
pub const ADDRESS_BITS: u32 = Address::BITS;

/// Number of pairs in a batch, whose hashes are computed together to fill vectors.
pub const BATCH: usize = 64;

/// Defines a pair type for a given address type. Pairs are stored as plain words without padding.
macro_rules! pair {
    ($(#[$doc:meta])* $name:ident of $address:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "cust", derive(cust_core::DeviceCopy))]
        #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
        #[repr(C)]
        pub struct $name {
            /// Inside host, whose peers are counted.
            pub inside: $address,
            /// Peer of the inside host.
            pub peer: $address,
        }
    };
}

pair! {
    /// A pair of IPv4 addresses: an inside host and its peer.
    ///
    /// Each address is `u32::from(Ipv4Addr)`, so 10.0.0.1 is `0x0a00_0001`. A pair consists of eight bytes without
    /// padding, so a slice of pairs can be read and sent as plain bytes.
    Ipv4Pair of u32
}

impl Ipv4Pair {
    /// Creates the pair of the inside host `inside` and its peer.
    #[inline]
    #[must_use]
    pub const fn new(inside: Ipv4Addr, peer: Ipv4Addr) -> Self {
        Self { inside: inside.to_bits(), peer: peer.to_bits() }
    }
}

pair! {
    /// A pair of IPv4 or IPv6 addresses: an inside host and its peer.
    ///
    /// Each address is four 32-bit words, the most significant first, so 2001:db8::1 is `[0x2001_0db8, 0, 0, 1]`. An
    /// IPv4-mapped IPv6 address is treated as the IPv4 address. A pair of two IPv4-mapped addresses therefore touches
    /// the same recorders as the [`Ipv4Pair`] of the two IPv4 addresses. A pair consists of 32 bytes without padding.
    /// For IPv4 pairs, [`Ipv4Pair`] is faster.
    IpPair of [u32; 4]
}

impl IpPair {
    /// Creates the pair of the inside host `inside` and its peer. Their address families may differ.
    #[inline]
    #[must_use]
    pub const fn new(inside: IpAddr, peer: IpAddr) -> Self {
        Self { inside: limbs(inside), peer: limbs(peer) }
    }

    /// Creates the pair of the inside host `inside` and a peer that is given as a uniform 64-bit hash.
    ///
    /// A hash can also represent something other than a host, such as a port or a name. Reports do not contain sample
    /// peers for these pairs, because a hash does not reveal its input.
    #[must_use]
    pub const fn with_hash(inside: IpAddr, peer: u64) -> Self {
        // The prefix fd00::/8 (RFC 4193) ensures that no hash is an IPv4-mapped address.
        Self { inside: limbs(inside), peer: [0xfd00_0000, 0, (peer >> 32) as u32, peer as u32] }
    }
}

impl IpPair {
    /// Returns the pair as an [`Ipv4Pair`], or `None` if it contains an IPv6 address.
    #[inline]
    #[must_use]
    pub const fn to_ipv4(self) -> Option<Ipv4Pair> {
        let ([a, b, c, inside], [d, e, f, peer]) = (self.inside, self.peer);
        // Both addresses are checked at once, because every pair of a batch passes here.
        match a | b | d | e | (c ^ MAPPED) | (f ^ MAPPED) {
            0 => Some(Ipv4Pair { inside, peer }),
            _ => None,
        }
    }
}

impl From<IpPair> for (IpAddr, IpAddr) {
    /// Returns the addresses of the inside host and its peer.
    ///
    /// ```
    /// use srlg::IpPair;
    /// use std::net::IpAddr;
    ///
    /// let addresses: (IpAddr, IpAddr) = ("2001:db8::1".parse()?, "192.0.2.7".parse()?);
    /// assert_eq!(<(IpAddr, IpAddr)>::from(IpPair::from(addresses)), addresses);
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    #[inline]
    fn from(IpPair { inside, peer }: IpPair) -> Self {
        (host(inside), host(peer))
    }
}

impl<H: Into<IpAddr>> From<(H, H)> for IpPair {
    /// Creates the pair of an inside host and its peer.
    #[inline]
    fn from((inside, peer): (H, H)) -> Self {
        Self::new(inside.into(), peer.into())
    }
}

impl From<Ipv4Pair> for IpPair {
    #[inline]
    fn from(Ipv4Pair { inside, peer }: Ipv4Pair) -> Self {
        Self { inside: mapped(inside), peer: mapped(peer) }
    }
}

impl<P: Copy + Into<Self>> From<&P> for IpPair {
    #[inline]
    fn from(pair: &P) -> Self {
        (*pair).into()
    }
}

/// Returns `host` as words. An IPv4 address becomes an IPv4-mapped address.
#[inline]
#[must_use]
pub const fn limbs(host: IpAddr) -> Limbs {
    match host {
        IpAddr::V4(host) => mapped(host.to_bits()),
        IpAddr::V6(host) => {
            let bits = host.to_bits();
            [(bits >> 96) as u32, (bits >> 64) as u32, (bits >> 32) as u32, bits as u32]
        }
    }
}

/// Returns the address whose words are `limbs`. An IPv4-mapped address becomes an IPv4 address.
#[inline]
#[must_use]
pub const fn host(limbs: Limbs) -> IpAddr {
    let [a, b, c, d] = limbs;
    match unmapped(limbs) {
        Some(host) => IpAddr::V4(Ipv4Addr::from_bits(host)),
        None => {
            let high = (a as u128) << 96 | (b as u128) << 64;
            IpAddr::V6(Ipv6Addr::from_bits(high | (c as u128) << 32 | d as u128))
        }
    }
}

#[inline]
const fn mapped(host: Address) -> Limbs {
    [0, 0, MAPPED, host]
}

/// Returns the IPv4 address of an IPv4-mapped address, or `None` for any other address.
#[inline(always)]
pub(crate) const fn unmapped([a, b, c, d]: Limbs) -> Option<Address> {
    if a | b == 0 && c == MAPPED { Some(d) } else { None }
}

const MAPPED: u32 = 0xffff;
