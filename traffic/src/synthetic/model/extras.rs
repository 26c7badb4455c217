//! Sources of flows that are alone, or on top of model A.

use srlg_core::{Address, IpPair};

use super::{Extra, PERIOD, own_hosts, ticks_of};
use crate::synthetic::calendar::Source;
use crate::synthetic::flow::{Flow, TICKS};
use crate::synthetic::hosts::Background;
use crate::synthetic::peers::{Kind, Peers};
use crate::synthetic::rng::Rng;

/// Random streams, one for each period or purpose, from these numbers on.
const FLOOD_STREAM: u64 = 5 << 40;
const SCAN_STREAM: u64 = 6 << 40;
const SCANNERS_STREAM: u64 = SCAN_STREAM + (1 << 32);
const CROWD_STREAM: u64 = 7 << 40;

const VICTIMS: u32 = 4;

/// Victims of a flood whose sources are spoofed: single packets at random times of the period.
///
/// Every victim has the same number of sources in a period, all distinct and, but for chance meetings, new in every period.
pub(super) struct Flood {
    seed: u64,
    victims: Vec<Address>,
    sources_per_victim: u32,
}

impl Flood {
    /// A flood of about `pairs` pairs per period.
    pub(super) fn new(seed: u64, pairs: u32) -> Self {
        Self { seed, victims: own_hosts(VICTIMS), sources_per_victim: pairs / VICTIMS }
    }
}

impl Extra for Flood {
    fn pairs(&self) -> u32 {
        self.sources_per_victim * VICTIMS
    }

    fn hosts(&self) -> Vec<Address> {
        self.victims.clone()
    }
}

impl Source for Flood {
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow)) {
        let mut rng = Rng::new(self.seed, FLOOD_STREAM + u64::from(number));
        let first = ticks_of(number).start;
        for &inside in &self.victims {
            let mut peers = Peers::new(Kind::FloodVictim, &mut rng);
            for _ in 0..self.sources_per_victim {
                let pair = IpPair { inside, opposite: peers.draw(&mut rng) };
                begin(Flow::new(pair, first + rng.below(PERIOD * TICKS), 0, 1));
            }
        }
    }
}

const FEWEST_TARGETS: f64 = 800.0;
const MOST_TARGETS: f64 = 1600.0;
/// Mean of the two: the numbers of targets lie evenly between them.
const MEAN_TARGETS: u32 = 1200;

/// Scanners so slow that they need the whole window to reach the threshold: single packets at equal distances.
///
/// A scanner goes on from period to period at the same places, to new targets, so that every window of [`PERIOD`] slices has
/// exactly its number of targets, and their ages are spread evenly over the window.
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
        let mut rng = Rng::new(self.seed, SCAN_STREAM + u64::from(number));
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

const FEWEST_CLIENTS: f64 = 1000.0;
const MOST_CLIENTS: f64 = 3000.0;

/// Packets of a client, and slices over which they are spread: one in every five.
const PACKETS: u32 = 6;
const VISIT: u32 = 30;

/// Periods from a server's crowd to its next one.
const REST: u32 = 3;

/// Servers that a crowd rushes to.
///
/// A crowd is a server, a moment, and clients that all begin at it and send a packet in each of six parts of half a minute:
/// the first within five slices, the others as repeats. A period has the same number of crowds, evenly spread over it; a
/// server rests for two periods before its next one.
pub(super) struct FlashCrowd {
    seed: u64,
    /// Crowds in a period.
    crowds: u32,
    servers: Vec<Address>,
}

impl FlashCrowd {
    /// Crowds with about `pairs` pairs per window, within half a crowd's.
    pub(super) fn new(seed: u64, pairs: u32) -> Self {
        let crowds = (f64::from(pairs) / pairs_per_crowd() + 0.5) as u32;
        Self { seed, crowds, servers: own_hosts(crowds * REST) }
    }

    /// The numbers of clients: one from each of as many equal parts as there are crowds, so
    /// that their sum hardly varies, in random order.
    fn sizes(&self, rng: &mut Rng) -> Vec<u32> {
        let size = |crowd| {
            let place = (f64::from(crowd) + rng.unit()) / f64::from(self.crowds);
            (FEWEST_CLIENTS + (MOST_CLIENTS - FEWEST_CLIENTS) * place) as u32
        };
        let mut sizes: Vec<u32> = (0..self.crowds).map(size).collect();
        rng.shuffle(&mut sizes);
        sizes
    }
}

/// Pairs that a crowd adds to a window, on the average over where the window begins.
///
/// A pair counts when its last packet is not before the window and its first not after it.
/// From the first to the last packet are on average five of the six parts of the visit, by
/// which the window is longer than a period, in which a crowd comes once.
fn pairs_per_crowd() -> f64 {
    let visible = f64::from(VISIT) * f64::from(PACKETS - 1) / f64::from(PACKETS);
    (FEWEST_CLIENTS + MOST_CLIENTS) / 2.0 * (1.0 + visible / f64::from(PERIOD))
}

impl Extra for FlashCrowd {
    fn pairs(&self) -> u32 {
        (f64::from(self.crowds) * pairs_per_crowd()) as u32
    }

    fn hosts(&self) -> Vec<Address> {
        self.servers.clone()
    }
}

impl Source for FlashCrowd {
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow)) {
        let mut rng = Rng::new(self.seed, CROWD_STREAM + u64::from(number));
        let ticks = ticks_of(number);
        let turn = (number % REST) * self.crowds;
        for (crowd, clients) in (0..).zip(self.sizes(&mut rng)) {
            let inside = self.servers[(turn + crowd) as usize];
            let place = (f64::from(crowd) + rng.unit()) / f64::from(self.crowds);
            let moment = ticks.start + (place * f64::from(PERIOD * TICKS)) as u32;
            let mut peers = Peers::new(Kind::Server, &mut rng);
            for _ in 0..clients {
                let pair = IpPair { inside, opposite: peers.draw(&mut rng) };
                begin(Flow::new(pair, moment, VISIT * TICKS, PACKETS));
            }
        }
    }
}

/// Flows that never pause: the same pairs in every period, each with one packet per slice, so that no pair of the window is
/// older than its newest slice.
pub(super) struct Persistent(pub(super) Background);

impl Source for Persistent {
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow)) {
        // The flows of period 0 end when the stream begins.
        if number == 0 {
            return;
        }
        let first = ticks_of(number).start;
        // Always the draws of one and the same period.
        self.0.period(0, &mut |flow| {
            // As many equal parts as slices: a packet in each of them.
            begin(Flow::new(flow.pair, first, PERIOD * TICKS, PERIOD));
        });
    }
}
