//! Address families for synthetic traffic. Traffic models identify hosts by 32-bit numbers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use srlg_core::{IpPair, Ipv4Pair, Limbs, limbs};

/// Address family of the hosts in synthetic traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// IPv4. The number of a host is its IPv4 address.
    #[default]
    V4,
    /// IPv6. The high 16 bits of a number select a /64 network, and the low 16 bits are the interface identifier.
    V6,
    /// Both families. Each family has half of the inside hosts: a hash of the host number selects the family of an
    /// inside host. A peer has the family of its inside host.
    Mixed,
}

/// Pairs of hosts, separated by family.
#[derive(Clone, Debug, Default)]
pub struct FamilyPairs {
    /// Pairs of IPv4 hosts.
    pub v4: Vec<Ipv4Pair>,
    /// Pairs of IPv6 hosts.
    pub v6: Vec<IpPair>,
}

impl Family {
    /// All families and the names that [`FromStr`] accepts for them.
    pub const ALL: [(&'static str, Self); 3] =
        [("4", Self::V4), ("6", Self::V6), ("mixed", Self::Mixed)];

    /// Returns the inside host with this `number`.
    #[must_use]
    pub fn host(self, number: u32) -> IpAddr {
        match self.is_v6(number) {
            true => srlg_core::host(v6(number)),
            false => ip(number),
        }
    }

    /// Returns the addresses of the inside host and of the peer in `pair`. Both addresses have the same family.
    #[must_use]
    pub fn hosts(self, Ipv4Pair { inside, peer }: Ipv4Pair) -> (IpAddr, IpAddr) {
        match self.is_v6(inside) {
            true => (Self::V6.host(inside), Self::V6.host(peer)),
            false => (ip(inside), ip(peer)),
        }
    }

    /// Converts the hosts of `pairs` to addresses of this family, and replaces the contents of `all` with the converted
    /// pairs.
    pub fn split(self, pairs: &[Ipv4Pair], all: &mut FamilyPairs) {
        all.v4.clear();
        all.v6.clear();
        for &pair in pairs {
            match self.is_v6(pair.inside) {
                true => {
                    all.v6.push(IpPair { inside: v6(pair.inside), peer: v6(pair.peer) });
                }
                false => all.v4.push(pair),
            }
        }
    }

    fn is_v6(self, number: u32) -> bool {
        match self {
            Self::V4 => false,
            Self::V6 => true,
            Self::Mixed => number.wrapping_mul(0x9e37_79b1) >> 31 == 1,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, family)| family == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Family {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let family = Self::ALL.iter().find(|(name, _)| *name == text).map(|&(_, family)| family);
        family.ok_or("must be 4, 6 or mixed")
    }
}

/// Returns `pairs` with the IPv6 addresses of [`Family::V6`].
#[must_use]
pub fn v6_pairs(pairs: &[Ipv4Pair]) -> Vec<IpPair> {
    let mut all = FamilyPairs::default();
    Family::V6.split(pairs, &mut all);
    all.v6
}

/// Returns the address of host `number` in the documentation prefix 2001:db8::/32 (RFC 3849).
const fn v6(number: u32) -> Limbs {
    [0x2001_0db8, number & 0xffff_0000, 0, number & 0xffff]
}

/// Returns the IPv4 host with this `number`.
#[must_use]
pub fn ip(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(number).into()
}

/// Returns the number of `host`, whether its address is IPv4 or IPv6.
#[must_use]
pub fn number(host: IpAddr) -> u32 {
    let [_, high, _, low] = limbs(host);
    if host.is_ipv4() { low } else { high | low }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_come_back_as_their_numbers_and_half_of_mixed_ones_are_of_ipv6() {
        for (name, family) in Family::ALL {
            assert_eq!((name.parse(), family.to_string().as_str()), (Ok(family), name));
            let mut v6 = 0;
            for host in (0..1 << 16).map(|host: u32| host.wrapping_mul(0x1_0007)) {
                assert_eq!(number(family.host(host)), host);
                v6 += u32::from(family.host(host).is_ipv6());
            }
            let expected = [("4", 0), ("6", 1 << 16), ("mixed", 1 << 15)];
            let expected = expected.iter().find(|it| it.0 == name).unwrap().1;
            // A hash decides the family of each host like a coin toss. The standard deviation is 128, and the bound is
            // four standard deviations.
            assert!(v6.abs_diff(expected) < 512, "{name} {v6}");
        }
    }

    #[test]
    fn pairs_are_split_by_their_inside_hosts() {
        let pairs: Vec<Ipv4Pair> = (0..1000).map(|inside| Ipv4Pair { inside, peer: 7 }).collect();
        let mut all = FamilyPairs::default();
        Family::Mixed.split(&pairs, &mut all);
        assert_eq!(all.v4.len() + all.v6.len(), 1000);
        assert!(all.v4.iter().all(|pair| !Family::Mixed.is_v6(pair.inside)));
        let peer = srlg_core::host(all.v6[0].peer);
        assert_eq!((peer.to_string().as_str(), number(peer)), ("2001:db8::7", 7));
    }
}
