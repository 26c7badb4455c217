//! Servers that a crowd rushes to.
//!
//! Shape: [`FlashCrowd`], a [`Source`]; a crowd is a server, a moment, and clients that
//! all begin at it and send a packet in each of six parts of half a minute: the first
//! within five slices, the others as repeats. Invariant: a period has the same number
//! of crowds, evenly spread over it; a server rests for two periods before its next one.

use super::super::calendar::Source;
use super::super::flow::{Flow, TICKS};
use super::super::peers::{Kind, Peers};
use super::super::rng::Rng;
use super::{Extra, PERIOD, own_hosts, ticks_of};
use srlg_core::{Address, IpPair};

const FEWEST_CLIENTS: f64 = 1000.0;
const MOST_CLIENTS: f64 = 3000.0;

/// Packets of a client, and slices over which they are spread: one in every five.
const PACKETS: u32 = 6;
const VISIT: u32 = 30;

/// Periods from a server's crowd to its next one.
const REST: u32 = 3;

/// Random streams of the crowds, one per period.
const STREAM: u64 = 7 << 40;

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
        let mut rng = Rng::new(self.seed, STREAM + u64::from(number));
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
