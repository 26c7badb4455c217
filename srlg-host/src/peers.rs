//! Sample peers of hosts, out of the finder's array where its words hold any.

use std::net::{IpAddr, Ipv4Addr};

use srlg_core::finder::cells::{SLOTS, Spot};
use srlg_core::{Address, FINDER, Params, Span};

use crate::backend::Backend;
use crate::error::Error;
use crate::report::SamplePeer;
use crate::state::StateWord;

/// Hosts whose words are gathered together: some 1 MB on the way.
const HOSTS_PER_TURN: usize = 1024;

/// Returns the sample peers of each of `hosts` over `span`, where `slice` is running; none for a
/// finder that has none, nor for IPv6 hosts. Of an epoch that the window cuts, those of all of its slices.
pub(crate) fn sample_peers(
    params: &Params,
    backend: &dyn Backend,
    hosts: &[IpAddr],
    window: (Span, u64),
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
            all[*number] = of_host(params, (*host, spots), words, window);
        }
    }
    Ok(all)
}

/// Returns the sample peers of `host` over the span of `window`, whose second part is the number of the running slice, where
/// `words` are in the spots of `host`; none of an IPv6 host.
pub(crate) fn peers_of(
    params: &Params,
    host: IpAddr,
    words: &[u64],
    window: (Span, u64),
) -> Vec<SamplePeer> {
    let IpAddr::V4(host) = host.to_canonical() else { return Vec::new() };
    let spots = params.peer_spots(host.to_bits());
    spots.map_or_else(Vec::new, |spots| of_host(params, (host.to_bits(), &spots), words, window))
}

/// The sample peers of the `host` with these `spots`, and the words there.
fn of_host(
    params: &Params,
    (host, spots): (Address, &[Spot]),
    words: &[u64],
    (span, slice): (Span, u64),
) -> Vec<SamplePeer> {
    let epoch = u64::from(params.finder().epoch_slices());
    let peers = spots.iter().zip(words).filter_map(|(&spot, &word)| params.peer(host, spot, word));
    let in_window = peers.filter(|peer| peer.age < span.finder_ages);
    let mut peers: Vec<SamplePeer> = in_window
        .map(|peer| {
            // The last slice of the epoch, which may be the running one, and the last that there is.
            let first = (slice / epoch).saturating_sub(peer.age.into()) * epoch;
            let last_seen = first.saturating_add(epoch - 1).min(slice);
            SamplePeer { host: Ipv4Addr::from_bits(peer.host).into(), last_seen }
        })
        .collect();
    peers.sort_unstable_by(|a, b| b.last_seen.cmp(&a.last_seen).then(a.host.cmp(&b.host)));
    peers
}
