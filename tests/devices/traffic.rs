//! Traffic and sizes of the tests.

use srlg::{Config, IpPair, Scheme};
use srlg_evaluation::traffic::{Backbone, Model};

/// What comes in one slice.
#[derive(Clone, Default)]
pub(crate) struct Slice {
    /// In time.
    pub(crate) pairs: Vec<IpPair>,
    /// So many slices late.
    pub(crate) late: Vec<(u32, Vec<IpPair>)>,
}

/// Every so many packets one is late.
const LATE_SHARE: usize = 16;
/// Most slices that one is late.
const MOST_LATE: u32 = 4;

/// `slices` slices with `pairs` distinct pairs together, two packets each, none late.
pub(crate) fn backbone(seed: u64, slices: u32, pairs: u32) -> Vec<Vec<IpPair>> {
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

/// 40 slices in which a fifth of some 80,000 pairs goes to four victims of a flood.
pub(crate) fn flood() -> Vec<Vec<IpPair>> {
    Model::Flood.slices(5, 40, 600_000).collect()
}

/// The same packets, some of them late; those that come after the last slice are lost.
pub(crate) fn with_late(slices: Vec<Vec<IpPair>>) -> Vec<Slice> {
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

/// Both presets, for short windows.
pub(crate) fn presets(window: u32) -> [Config; 2] {
    [Config::default(), Config::paper()].map(|preset| Config { threshold: 256, window, ..preset })
}

/// Few recorders, so that hosts collide.
pub(crate) fn small() -> Config {
    Config {
        threshold: 64,
        window: 4,
        rough_column_bits: 12,
        bit_stride: 10,
        rough_rows: 4,
        scheme: Scheme::Tagged { lines: 120, tags: 64 },
        linear_width: 1024,
        ..Config::default()
    }
}

/// The paper's scheme, as small.
pub(crate) fn small_paper() -> Config {
    let scheme = Scheme::Paper { rows: 3, columns: 40, stride: 8 };
    Config { scheme, linear_width: 128, oversampling_bits: 0, ..small() }
}

/// The paper's scheme with an odd number of recorders.
pub(crate) fn small_odd() -> Config {
    let scheme = Scheme::Paper { rows: 1, columns: 1, stride: 1 };
    Config { scheme, linear_width: 129, ..small_paper() }
}

/// `peers` opposite hosts of each of `hosts` hosts.
pub(crate) fn contacts(hosts: u32, peers: u32) -> Vec<IpPair> {
    let pair = |contact: u32| IpPair {
        aip: (contact % hosts).wrapping_mul(0x0101_3501),
        bip: contact.wrapping_mul(0x9e37_79b9),
    };
    (0..hosts * peers).map(pair).collect()
}
