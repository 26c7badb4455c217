//! What stands for hosts of either family: the arrays know ids, not addresses.

use std::net::{IpAddr, Ipv6Addr};

use srlg_core::Limbs;

use super::{LIMB_KEYS, TaggedModel};

/// What stands for a host: two words. The first names its lines and is all that is known of an opposite host; its tags
/// are made of the second.
#[derive(Clone, Copy)]
pub(super) struct Id {
    pub(super) lo: u32,
    pub(super) hi: u32,
}

impl TaggedModel {
    /// The id of `host`: the address of an IPv4 host, twice; two hashes of that of an IPv6 host.
    pub(super) fn id(&self, host: IpAddr) -> Id {
        match host {
            IpAddr::V4(host) => Id { lo: host.to_bits(), hi: host.to_bits() },
            IpAddr::V6(host) => {
                let keys = LIMB_KEYS.map(|key| self.keys[key]);
                let [lo, hi] = self.config.hash.of_limbs(words(host), &keys);
                Id { lo, hi }
            }
        }
    }
}

/// The four words of an address, the highest first.
pub(super) fn words(host: Ipv6Addr) -> Limbs {
    [96, 64, 32, 0].map(|shift| (host.to_bits() >> shift) as u32)
}

/// The host of these words; an IPv4-mapped address is the IPv4 host.
pub(super) fn host(words: Limbs) -> IpAddr {
    let bits = words.iter().fold(0u128, |bits, &word| bits << 32 | u128::from(word));
    Ipv6Addr::from_bits(bits).to_canonical()
}
