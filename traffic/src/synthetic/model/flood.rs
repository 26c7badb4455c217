//! Victims of a flood whose sources are spoofed.
//!
//! Shape: [`Flood`], a [`Source`] of single packets at random times of the period.
//! Invariant: every victim has the same number of sources in a period, all distinct
//! and, but for chance meetings, new in every period.

use super::super::calendar::Source;
use super::super::flow::{Flow, TICKS};
use super::super::peers::{Kind, Peers};
use super::super::rng::Rng;
use super::{Extra, PERIOD, own_hosts, ticks_of};
use srlg_core::{Address, IpPair};

const VICTIMS: u32 = 4;

/// Random streams of the flood, one per period.
const STREAM: u64 = 5 << 40;

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
        let mut rng = Rng::new(self.seed, STREAM + u64::from(number));
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
