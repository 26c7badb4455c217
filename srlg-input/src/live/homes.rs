//! Which decoder an exporter belongs to.
//!
//! The kernel spreads datagrams over sockets by addresses and ports, and exporters change their port at will, while
//! templates and sequences are those of an address. So an exporter belongs to the decoder of the socket that it was
//! heard at first, wherever it is heard later.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Exporters that are remembered; those beyond are spread by address.
const MOST: usize = 1 << 16;

/// The decoder of each exporter.
pub(super) struct Homes {
    decoders: usize,
    homes: Mutex<HashMap<IpAddr, usize>>,
}

impl Homes {
    pub(super) fn new(decoders: usize) -> Self {
        Self { decoders, homes: Mutex::default() }
    }

    /// The decoder of `exporter`, which was heard at the socket of number `here`.
    pub(super) fn of(&self, exporter: IpAddr, here: usize) -> usize {
        if self.decoders == 1 {
            return 0;
        }
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        if homes.len() < MOST {
            return *homes.entry(exporter).or_insert(here);
        }
        homes.get(&exporter).copied().unwrap_or_else(|| spread(exporter) % self.decoders)
    }
}

fn spread(exporter: IpAddr) -> usize {
    let bits = match exporter {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    ((bits >> 64) as u64 ^ bits as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn an_exporter_stays_where_it_was_heard_first() {
        let homes = Homes::new(3);
        let [a, b] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        assert_eq!([homes.of(a, 2), homes.of(b, 1), homes.of(a, 0)], [2, 1, 2]);
        assert_eq!(Homes::new(1).of(a, 0), 0);
    }

    #[test]
    fn there_are_not_more_homes_than_may_be() {
        let homes = Homes::new(3);
        for bits in 0..MOST as u32 + 1_000 {
            let host = IpAddr::from(Ipv4Addr::from_bits(bits));
            let first = homes.of(host, 1);
            assert!(first < 3);
            assert_eq!(homes.of(host, 2), first, "{host}");
        }
        assert_eq!(homes.homes.lock().unwrap().len(), MOST);
    }
}
