//! Addresses and pairs of addresses.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A host's address as an integer: `10.0.0.1` is `0x0a00_0001`.
///
/// Everything that depends on the width of an address is written over this
/// alias and [`ADDRESS_BITS`].
pub type Address = u32;

/// An IPv6 address as four 32-bit words, the highest first: `2001:db8::1` is `[0x2001_0db8, 0, 0, 1]`.
///
/// `::ffff:10.0.0.1` (RFC 4291, 2.5.5.2) is the IPv4 address `10.0.0.1` itself, here and everywhere.
pub type Limbs = [u32; 4];

/// Number of bits of an [`Address`].
pub const ADDRESS_BITS: u32 = Address::BITS;

/// Pairs whose hashes are computed together: enough for full vectors.
pub const BATCH: usize = 64;

/// Defines a pair of two addresses of a type: plain words without padding.
macro_rules! pair {
    ($(#[$doc:meta])* $name:ident of $address:ty) => {
        $(#[$doc])*
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
        #[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
        #[repr(C)]
        pub struct $name {
            /// The inside host, whose cardinality is measured.
            pub inside: $address,
            /// The opposite host.
            pub opposite: $address,
        }
    };
}

pair! {
    /// Names a host inside the measured network and its opposite host: the pair `<inside, opposite>`.
    ///
    /// Eight bytes without padding, so that a slice of pairs can be read from and
    /// sent to anywhere as plain bytes.
    IpPair of Address
}

impl IpPair {
    /// Returns the pair of the inside host `inside` and its opposite host `opposite`.
    #[must_use]
    pub const fn new(inside: Ipv4Addr, opposite: Ipv4Addr) -> Self {
        Self { inside: inside.to_bits(), opposite: opposite.to_bits() }
    }
}

pair! {
    /// Names an inside host and its opposite host by any two addresses, each of either family.
    ///
    /// A host that is written as an IPv4-mapped IPv6 address is the IPv4 host: pairs of such hosts are those of an
    /// [`IpPair`], to the bit. 32 bytes without padding; [`IpPair`] is the fast way in for IPv4.
    Ip6Pair of Limbs
}

impl Ip6Pair {
    /// Returns the pair of the inside host `inside` and its opposite host `opposite`, of one family or of two.
    #[must_use]
    pub const fn new(inside: IpAddr, opposite: IpAddr) -> Self {
        Self { inside: limbs(inside), opposite: limbs(opposite) }
    }

    /// Returns the pair of the inside host `inside` and whatever `peer` is a hash of, 64 uniform bits: what is counted need not be
    /// hosts. Reports have no sample of such peers, as nobody could tell what a hash is of.
    #[must_use]
    pub const fn with_hash(inside: IpAddr, peer: u64) -> Self {
        // In fd00::/8 (RFC 4193), so that no hash is an IPv4-mapped address.
        Self { inside: limbs(inside), opposite: [0xfd00_0000, 0, (peer >> 32) as u32, peer as u32] }
    }
}

impl From<IpPair> for Ip6Pair {
    fn from(IpPair { inside, opposite }: IpPair) -> Self {
        Self { inside: mapped(inside), opposite: mapped(opposite) }
    }
}

/// Returns `host` as words; an IPv4 address as an IPv4-mapped one.
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

/// Returns the host of `limbs`; of an IPv4-mapped address the IPv4 host.
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

const fn mapped(host: Address) -> Limbs {
    [0, 0, MAPPED, host]
}

/// The IPv4 address that `limbs` map, if they do.
#[inline(always)]
pub(crate) const fn unmapped([a, b, c, d]: Limbs) -> Option<Address> {
    if a | b == 0 && c == MAPPED { Some(d) } else { None }
}

/// The third word of an IPv4-mapped address.
const MAPPED: u32 = 0xffff;
