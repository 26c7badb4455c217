//! Scanners so slow that they need the whole window to reach the threshold.
//!
//! Shape: [`SlowScan`], a [`Source`] of single packets at equal distances. Invariant:
//! a scanner goes on from period to period at the same places, to new targets, so that
//! every window of [`PERIOD`] slices has exactly its number of targets, and their ages
//! are spread evenly over the window.

use super::super::calendar::Source;
use super::super::flow::{Flow, TICKS};
use super::super::peers::{Kind, Peers};
use super::super::rng::Rng;
use super::{Extra, PERIOD, own_hosts, ticks_of};
use srlg_core::{Address, IpPair};

const FEWEST_TARGETS: f64 = 800.0;
const MOST_TARGETS: f64 = 1600.0;
/// Mean of the two: the numbers of targets lie evenly between them.
const MEAN_TARGETS: u32 = 1200;

/// Random streams of the targets, one per period; of the scanners.
const STREAM: u64 = 6 << 40;
const SCANNERS_STREAM: u64 = STREAM + (1 << 32);

pub(super) struct SlowScan {
    seed: u64,
    scanners: Vec<Scanner>,
}

struct Scanner {
    host: Address,
    /// Targets in a period.
    targets: u32,
    /// Place of the first target, in parts of the distance between two.
    phase: f64,
}

impl SlowScan {
    /// Scanners with about `pairs` targets per period, within half a scanner's.
    pub(super) fn new(seed: u64, pairs: u32) -> Self {
        let count = (pairs + MEAN_TARGETS / 2) / MEAN_TARGETS;
        let mut rng = Rng::new(seed, SCANNERS_STREAM);
        let scanner = |(index, host): (usize, Address)| {
            // One size from each of `count` equal parts, so that their sum hardly varies.
            let place = (index as f64 + rng.unit()) / f64::from(count);
            let targets = (FEWEST_TARGETS + (MOST_TARGETS - FEWEST_TARGETS) * place) as u32;
            Scanner { host, targets, phase: rng.unit() }
        };
        let scanners = own_hosts(count).into_iter().enumerate().map(scanner).collect();
        Self { seed, scanners }
    }
}

impl Extra for SlowScan {
    fn pairs(&self) -> u32 {
        self.scanners.iter().map(|scanner| scanner.targets).sum()
    }

    fn hosts(&self) -> Vec<Address> {
        self.scanners.iter().map(|scanner| scanner.host).collect()
    }
}

impl Source for SlowScan {
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow)) {
        let mut rng = Rng::new(self.seed, STREAM + u64::from(number));
        let first = ticks_of(number).start;
        for scanner in &self.scanners {
            let mut peers = Peers::new(Kind::Scanner, &mut rng);
            let distance = f64::from(PERIOD * TICKS) / f64::from(scanner.targets);
            for target in 0..scanner.targets {
                let pair = IpPair { inside: scanner.host, opposite: peers.draw(&mut rng) };
                let offset = (f64::from(target) + scanner.phase) * distance;
                begin(Flow::new(pair, first + offset as u32, 0, 1));
            }
        }
    }
}
