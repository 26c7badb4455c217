//! Sources of flows that replace model A or are added to it.

use srlg_core::{Address, Ipv4Pair};

use super::{Extra, PERIOD, own_hosts, ticks_of};
use crate::synthetic::calendar::Source;
use crate::synthetic::flow::{Flow, TICKS};
use crate::synthetic::hosts::Background;
use crate::synthetic::peers::{Kind, Peers};
use crate::synthetic::rng::Rng;

/// Purpose numbers of the random streams. A source adds the number of the period to its purpose number, except to
/// [`SCANNERS_STREAM`], from which the scanners are drawn once.
const FLOOD_STREAM: u64 = 5 << 40;
const SCAN_STREAM: u64 = 6 << 40;
const SCANNERS_STREAM: u64 = SCAN_STREAM + (1 << 32);
const CROWD_STREAM: u64 = 7 << 40;

const VICTIMS: u32 = 4;

/// A flood from spoofed sources to several victims. Each source sends one packet at a random time in the period.
///
/// The sources of a victim are distinct, and are drawn again for every period.
pub(super) struct Flood {
    seed: u64,
    victims: Vec<Address>,
    sources_per_victim: u32,
}

impl Flood {
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
                let pair = Ipv4Pair { inside, peer: peers.draw(&mut rng) };
                begin(Flow::new(pair, first + rng.below(PERIOD * TICKS), 0, 1));
            }
        }
    }
}

const FEWEST_TARGETS: f64 = 800.0;
const MOST_TARGETS: f64 = 1600.0;
/// Mean number of targets per scanner and period. The numbers of targets are spread evenly from
/// [`FEWEST_TARGETS`] to [`MOST_TARGETS`].
const MEAN_TARGETS: u32 = 1200;

/// Slow scanners, each of which sends one packet to each of its targets, at equal intervals.
///
/// A scanner has new targets in every period, but the times of its packets are the same in all periods. In every window
/// of [`PERIOD`] slices, it therefore has the same number of targets, and their ages are spread evenly over the window.
pub(super) struct SlowScan {
    seed: u64,
    scanners: Vec<Scanner>,
}

struct Scanner {
    host: Address,
    /// Number of targets per period.
    targets: u32,
    /// Time of the first packet in a period, as a fraction of the interval between two packets.
    phase: f64,
}

impl SlowScan {
    /// Creates scanners that have about `pairs` targets per period in total.
    pub(super) fn new(seed: u64, pairs: u32) -> Self {
        let count = (pairs + MEAN_TARGETS / 2) / MEAN_TARGETS;
        let mut rng = Rng::new(seed, SCANNERS_STREAM);
        let scanner = |(index, host): (usize, Address)| {
            // Each scanner gets a size from a different one of `count` equal parts of the range, so the sum hardly
            // varies.
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
                let pair = Ipv4Pair { inside: scanner.host, peer: peers.draw(&mut rng) };
                let offset = (f64::from(target) + scanner.phase) * distance;
                begin(Flow::new(pair, first + offset as u32, 0, 1));
            }
        }
    }
}

const FEWEST_CLIENTS: f64 = 1000.0;
const MOST_CLIENTS: f64 = 3000.0;

/// Number of packets that a client sends in a visit.
const PACKETS: u32 = 6;
/// Length of a client's visit, in slices.
const VISIT: u32 = 30;

/// Interval between two crowds of a server, in periods.
const REST: u32 = 3;

/// Flash crowds: sudden crowds of clients that contact servers.
///
/// All clients of a crowd start their visits at the same time. A visit lasts half a minute and is divided into six
/// equal parts, in each of which the client sends one packet. The first packets of a crowd therefore arrive within five
/// slices. All periods have the same number of crowds, spread evenly over the period. Each server has one crowd in
/// three periods.
pub(super) struct FlashCrowd {
    seed: u64,
    crowds: u32,
    servers: Vec<Address>,
}

impl FlashCrowd {
    /// Creates crowds that add about `pairs` pairs to a window.
    pub(super) fn new(seed: u64, pairs: u32) -> Self {
        let crowds = (f64::from(pairs) / pairs_per_crowd() + 0.5) as u32;
        Self { seed, crowds, servers: own_hosts(crowds * REST) }
    }

    /// Draws the number of clients of each crowd. Each number is from a different part of the range, so the sum hardly
    /// varies.
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

/// Returns the mean number of pairs that crowds add to a window, divided by the number of crowds in a period.
///
/// A pair is counted if its last packet is not before the window and its first packet is not after the window. On
/// average, these two packets are five sixths of a visit apart. The window is effectively longer by this time.
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
                let pair = Ipv4Pair { inside, peer: peers.draw(&mut rng) };
                begin(Flow::new(pair, moment, VISIT * TICKS, PACKETS));
            }
        }
    }
}

/// Flows that have one packet in every slice. Every period has the same pairs, so all pairs of a window occur in its
/// newest slice.
pub(super) struct Persistent(pub(super) Background);

impl Source for Persistent {
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow)) {
        // Flows of period 0 end when the stream starts, so they are not needed.
        if number == 0 {
            return;
        }
        let first = ticks_of(number).start;
        // All periods use the random draws of period 0.
        self.0.period(0, &mut |flow| {
            // The flow has as many equal parts as the period has slices, so it sends one packet in each slice.
            begin(Flow::new(flow.pair, first, PERIOD * TICKS, PERIOD));
        });
    }
}
