//! Sample peers of hosts, out of the finder's array where its words hold any.

use std::net::Ipv4Addr;

use srlg_core::finder::cells::{SLOTS, Spot};
use srlg_core::{Address, FINDER, Params, Span};

use crate::backend::Backend;
use crate::error::Error;
use crate::report::SamplePeer;
use crate::state::StateWord;

/// Hosts whose words are gathered together: some 1 MB on the way.
const HOSTS_PER_TURN: usize = 1024;

/// Returns the sample peers of each of `hosts` over `span`, where `slice` is running; none for a
/// finder that has none. Of an epoch that the window cuts, those of all of its slices.
pub(crate) fn sample_peers(
    params: &Params,
    backend: &dyn Backend,
    hosts: &[Address],
    window: (Span, u64),
) -> Result<Vec<Vec<SamplePeer>>, Error> {
    let mut all = Vec::with_capacity(hosts.len());
    for hosts in hosts.chunks(HOSTS_PER_TURN) {
        let spots: Option<Vec<_>> = hosts.iter().map(|&host| params.peer_spots(host)).collect();
        let Some(spots) = spots else {
            all.extend(hosts.iter().map(|_| Vec::new()));
            continue;
        };
        let places: Vec<u32> = spots.as_flattened().iter().map(|spot| spot.place).collect();
        let words = backend.gather(FINDER, &places)?;
        let words = u64::of(&words).chunks_exact(SLOTS as usize);
        let of_hosts = spots.iter().zip(words);
        all.extend(of_hosts.map(|(spots, words)| of_host(params, spots, words, window)));
    }
    Ok(all)
}

/// The sample peers of the host with these `spots`, and the words there.
fn of_host(
    params: &Params,
    spots: &[Spot],
    words: &[u64],
    (span, slice): (Span, u64),
) -> Vec<SamplePeer> {
    let epoch = u64::from(params.finder().epoch_slices());
    let peers = spots.iter().zip(words).filter_map(|(&spot, &word)| params.peer(spot, word));
    let in_window = peers.filter(|peer| peer.age < span.finder_ages);
    let mut peers: Vec<SamplePeer> = in_window
        .map(|peer| {
            // The last slice of the epoch, which may be the running one.
            let end = (slice / epoch + 1).saturating_sub(peer.age.into()) * epoch;
            let last_seen = end.saturating_sub(1).min(slice);
            SamplePeer { host: Ipv4Addr::from_bits(peer.host), last_seen }
        })
        .collect();
    peers.sort_unstable_by(|a, b| b.last_seen.cmp(&a.last_seen).then(a.host.cmp(&b.host)));
    peers
}
