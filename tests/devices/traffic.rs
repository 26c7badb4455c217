//! Traffic and configurations for the tests.

use srlg::config::{RsraSizes, Scheme};
use srlg::{Config, Ipv4Pair};
use srlg_traffic::synthetic::{Backbone, Model};

/// The pairs that arrive in one slice.
#[derive(Clone, Default)]
pub(crate) struct Slice {
    pub(crate) pairs: Vec<Ipv4Pair>,
    /// Late pairs, with their delay in slices.
    pub(crate) late: Vec<(u32, Vec<Ipv4Pair>)>,
}

/// One in `LATE_SHARE` packets is late.
const LATE_SHARE: usize = 16;
/// Maximum delay of a packet, in slices.
const MOST_LATE: u32 = 4;

/// Returns the packets of each slice, with about `pairs` distinct pairs in total and two packets per pair on average.
pub(crate) fn backbone(seed: u64, slices: u32, pairs: u32) -> Vec<Vec<Ipv4Pair>> {
    let model = Backbone {
        seed,
        slices,
        period: slices,
        pairs,
        packets_per_pair: 2,
        ..Backbone::default()
    };
    model.slices().collect()
}

/// Returns 40 slices with about 80,000 pairs, a fifth of which belong to four flood victims.
pub(crate) fn flood() -> Vec<Vec<Ipv4Pair>> {
    Model::Flood.slices(5, 40, 600_000).collect()
}

/// Delays every 16th packet of a slice by up to [`MOST_LATE`] slices. Packets that would arrive after the last slice
/// are dropped.
pub(crate) fn with_late(slices: Vec<Vec<Ipv4Pair>>) -> Vec<Slice> {
    let mut traffic = vec![Slice::default(); slices.len()];
    for (now, packets) in slices.into_iter().enumerate() {
        let (late, pairs) =
            (0..).zip(packets).partition::<Vec<_>, _>(|(number, _)| number % LATE_SHARE == 0);
        traffic[now].pairs = pairs.into_iter().map(|(_, pair)| pair).collect();
        for slices in 1..=MOST_LATE {
            let Some(arrival) = traffic.get_mut(now + slices as usize) else { break };
            let is_then = |number: usize| (number / LATE_SHARE) as u32 % MOST_LATE + 1 == slices;
            let pairs = late.iter().filter(|(number, _)| is_then(*number)).map(|&(_, pair)| pair);
            arrival.late.push((slices, pairs.collect()));
        }
    }
    traffic
}

/// Returns the default configuration and the paper's, with a threshold of 256.
pub(crate) fn presets(window: u32) -> [Config; 2] {
    [Config::default(), Config::paper()].map(|preset| Config { threshold: 256, window, ..preset })
}

/// Returns a configuration with few recorders, so that hosts collide.
pub(crate) fn small() -> Config {
    Config {
        threshold: 64,
        window: 4,
        scheme: Scheme::Tagged { cell_bits: 12, lines: 120, tags: 64 },
        linear_width: 512,
        ..Config::default()
    }
}

pub(crate) const ROUGH: RsraSizes =
    RsraSizes { rows: 4, column_bits: 12, bit_stride: 10, ..RsraSizes::PAPER };

pub(crate) fn small_paper() -> Config {
    let scheme = Scheme::Paper { finder: ROUGH, rows: 3, columns: 40, stride: 8 };
    Config { scheme, linear_width: 128, ..small() }
}

/// Returns a variant of [`small_paper`] whose counter has an odd number of recorders.
pub(crate) fn small_odd() -> Config {
    let scheme = Scheme::Paper { finder: ROUGH, rows: 1, columns: 1, stride: 1 };
    Config { scheme, linear_width: 129, ..small_paper() }
}

/// Returns `config` with these limits. The tagged scheme has no hot columns and ignores `hot_limit`.
pub(crate) fn limited(config: Config, hot_limit: u32, candidate_limit: u32) -> Config {
    let scheme = match config.scheme {
        Scheme::Paper { finder, rows, columns, stride } => {
            Scheme::Paper { finder: RsraSizes { hot_limit, ..finder }, rows, columns, stride }
        }
        cells => cells,
    };
    Config { scheme, candidate_limit, ..config }
}

pub(crate) fn contacts(hosts: u32, peers: u32) -> Vec<Ipv4Pair> {
    let pair = |contact: u32| Ipv4Pair {
        inside: (contact % hosts).wrapping_mul(0x0101_3501),
        peer: contact.wrapping_mul(0x9e37_79b9),
    };
    (0..hosts * peers).map(pair).collect()
}
