//! Sample peers of hosts, read from the finder's array if the finder stores peers.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr};

use srlg_core::finder::cells::{SLOTS, Spot};
use srlg_core::{Address, FINDER, Params};

use crate::backend::Backend;
use crate::error::Error;
use crate::report::SamplePeer;
use crate::state::StateWord;

/// Number of hosts whose words are read together. Their words take 512 KiB.
const HOSTS_PER_TURN: usize = 1024;

/// Returns the sample peers of each host in `hosts`, in the window that ends with the running `slice`.
///
/// IPv6 hosts have no sample peers, and some finders do not store any. If the window starts in the middle of an epoch,
/// the peers of all slices of that epoch are included.
pub(crate) fn sample_peers(
    params: &Params,
    backend: &dyn Backend,
    hosts: &[IpAddr],
    slice: u64,
) -> Result<Vec<Vec<SamplePeer>>, Error> {
    let mut all = vec![Vec::new(); hosts.len()];
    let with_spots: Vec<(usize, Address, _)> = (0..)
        .zip(hosts)
        .filter_map(|(number, host)| match host.to_canonical() {
            IpAddr::V4(host) => {
                let host = host.to_bits();
                Some((number, host, params.peer_spots(host)?))
            }
            IpAddr::V6(_) => None,
        })
        .collect();
    for hosts in with_spots.chunks(HOSTS_PER_TURN) {
        let places = hosts.iter().flat_map(|(_, _, spots)| spots.iter().map(|spot| spot.place));
        let words = backend.gather(FINDER, &places.collect::<Vec<u32>>())?;
        let words = u64::of(&words).chunks_exact(SLOTS as usize);
        for ((number, host, spots), words) in hosts.iter().zip(words) {
            all[*number] = of_host(params, slice, *host, spots.iter().zip(words));
        }
    }
    Ok(all)
}

/// Returns the sample peers of `host`, whose spots contain `words`, in the window that ends with the running `slice`.
///
/// An IPv6 host has no sample peers.
pub(crate) fn peers_of(
    params: &Params,
    slice: u64,
    host: IpAddr,
    words: &[u64],
) -> Vec<SamplePeer> {
    let IpAddr::V4(host) = host.to_canonical() else { return Vec::new() };
    let host = host.to_bits();
    let spots = params.peer_spots(host);
    spots.map_or_else(Vec::new, |spots| of_host(params, slice, host, spots.iter().zip(words)))
}

fn of_host<'a>(
    params: &Params,
    slice: u64,
    host: Address,
    words: impl Iterator<Item = (&'a Spot, &'a u64)>,
) -> Vec<SamplePeer> {
    let span = params.span(slice, params.window());
    let epoch = u64::from(params.finder().epoch_slices());
    let peers = words.filter_map(|(&spot, &word)| params.peer(host, spot, word));
    let in_window = peers.filter(|peer| peer.age < span.finder_ages);
    // Peers are sorted in the order of the report. Comparing numbers is faster than comparing addresses of either
    // family.
    let mut peers: Vec<(Reverse<u64>, Address)> = in_window
        .map(|peer| {
            // This is the last slice of the epoch, limited to the running slice and to the largest number.
            let first = (slice / epoch).saturating_sub(peer.age.into()) * epoch;
            (Reverse(first.saturating_add(epoch - 1).min(slice)), peer.host)
        })
        .collect();
    peers.sort_unstable();
    let sample = |(Reverse(last_seen), host)| SamplePeer {
        host: Ipv4Addr::from_bits(host).into(),
        last_seen,
    };
    peers.into_iter().map(sample).collect()
}
