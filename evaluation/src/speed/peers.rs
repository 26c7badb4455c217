//! What users have today, in a race of ingest.
//!
//! A system that threads cannot share is what it would be for a user with several cores: one
//! for each thread and the hosts that are its own. Pairs are split by inside host before the
//! clock runs, which a user has to do while it does.
//!
//! Under `distinct` and `flood` a round begins with empty maps, in tables of the size that they
//! had after the round before: no growth is in the time. Under `packets` they hold the window of
//! the link, to which the first round adds its pairs; the others find all of theirs, where a
//! running system would find 97 of 100.
//! Peers take the pairs of all slices as those of one, as for ingest it is the same: what ends a
//! slice is a close, which is not measured here.

use crate::peers::{EstimatorMap, ExactPairs, ExactSets, HyperLogLogMap, SketchRing};
use crate::system::System;
use anyhow::Result;
use srlg_core::IpPair;

use super::race::{Entrant, Place};
use super::setting::{PAIRS_PER_CALL, Setting};
use super::traffic::Traffic;
use crate::sample::timed;
use crate::threads::{in_parallel, split_by_host};

/// Rounds of the systems that no ratio of the summary needs.
const FEW_ROUNDS: u32 = 2;

type Peer = Box<dyn System + Send>;

/// A kind of system, and whether it is exact.
struct Kind {
    is_exact: bool,
    /// One of so many instances.
    make: fn(&Setting<'_>, u32) -> Peer,
}

/// With windows of one slice, of which the next round knows nothing; the ring with all of its
/// sketches, which share the memory of srlg.
const KINDS: [Kind; 5] = [
    Kind {
        is_exact: true,
        make: |setting, _| Box::new(ExactSets::new(1, setting.config.threshold)),
    },
    Kind {
        is_exact: true,
        make: |setting, _| Box::new(ExactPairs::new(1, setting.config.threshold)),
    },
    Kind {
        is_exact: false,
        make: |setting, _| Box::new(EstimatorMap::new(1, setting.config.threshold)),
    },
    Kind {
        is_exact: false,
        make: |setting, _| Box::new(HyperLogLogMap::new(1, setting.config.threshold)),
    },
    Kind { is_exact: false, make: ring },
];

fn ring(setting: &Setting<'_>, shares: u32) -> Peer {
    let config = setting.config;
    let bytes = setting.recorder_bytes / shares as usize;
    Box::new(SketchRing::new(config.window, config.threshold, bytes, config.seed))
}

/// What one of several systems gets: the pairs of its hosts.
pub(super) struct Share {
    before: Vec<IpPair>,
    pairs: Vec<IpPair>,
}

/// Systems that share no host.
struct Sharded<'a> {
    systems: Vec<Peer>,
    shares: &'a [Share],
    is_prepared: bool,
}

impl Sharded<'_> {
    fn prepare(&mut self) -> Result<()> {
        let first = !std::mem::replace(&mut self.is_prepared, true);
        in_parallel(self.systems.iter_mut().zip(self.shares), |(system, share)| {
            if share.before.is_empty() {
                system.skip_slice();
            } else if first {
                system.ingest(&share.before);
            }
            Ok(())
        })
    }
}

/// The traffic for so many threads.
pub(super) fn split(traffic: &Traffic, threads: u32) -> Vec<Share> {
    let before = split_by_host(&traffic.before, threads);
    let pairs = split_by_host(traffic.slices.iter().flatten(), threads);
    before.into_iter().zip(pairs).map(|(before, pairs)| Share { before, pairs }).collect()
}

impl Entrant for Sharded<'_> {
    fn round(&mut self) -> Result<f64> {
        self.prepare()?;
        timed(|| {
            in_parallel(self.systems.iter_mut().zip(self.shares), |(system, share)| {
                share.pairs.chunks(PAIRS_PER_CALL).for_each(|batch| system.ingest(batch));
                Ok(())
            })
        })
    }

    fn memory_bytes(&self) -> usize {
        self.systems.iter().map(|system| system.memory_bytes()).sum()
    }
}

/// Places of all of them, with a thread for each of `shares`, and whether it is an exact one.
pub(super) fn places<'a>(setting: &Setting<'_>, shares: &'a [Share]) -> Vec<(bool, Place<'a>)> {
    let threads = shares.len() as u32;
    let place = |kind: &Kind| {
        let name = (kind.make)(setting, 1).name();
        let systems = shares.iter().map(|_| (kind.make)(setting, threads)).collect();
        let mut place = Place::new(name, threads, Sharded { systems, shares, is_prepared: false });
        if !kind.is_exact {
            place.most_rounds = FEW_ROUNDS;
        }
        (kind.is_exact, place)
    };
    KINDS.iter().map(place).collect()
}
