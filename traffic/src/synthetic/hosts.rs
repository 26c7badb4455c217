//! Hosts of the background traffic, and the flows that they start in each period.
//!
//! In each period, the hosts start the requested number of flows, one per pair. Reserved hosts, such as
//! planted hosts, do not start flows.

use super::Backbone;
use super::calendar::Source;
use super::flow::{Flow, FlowModel, TICKS};
use super::network::{INSIDE_HOSTS, inside_host};
use super::peers::{Kind, Peers};
use super::rng::Rng;
use rustc_hash::FxHashSet;
use srlg_core::{Address, Ipv4Pair};
use std::ops::Range;

/// Fraction of all hosts that are staying hosts, which exist in every period and have heavy-tailed cardinalities.
const STAYING_SHARE: f64 = 0.006;
/// Minimum number of peers of a staying host.
const STAYING_FEWEST: f64 = 48.0;
const STAYING_TAIL: f64 = 1.1;
const STAYING_MOST: f64 = 200_000.0;
const PASSING_TAIL: f64 = 2.2;
const PASSING_MOST: f64 = 5000.0;

/// Mean cardinality of a host: `0.994 zeta(2.2) + 0.006 (48 + integral of (48/x)^1.1)`. Here zeta(2.2) = 1.4905, and
/// the integral from 48 to 200,000 is 271.4.
const MEAN_CARDINALITY: f64 = 3.40;

/// Fraction by which flows that started before a window increase the number of pairs in the window. Measurements with a
/// million pairs and 10 packets per pair gave 0.9 to 1.2 %.
const CARRIED: f64 = 0.011;

/// Purpose number of the random stream for the staying hosts. For the flows of a period, the purpose number is the
/// number of the period.
const STAYING_STREAM: u64 = 1 << 40;

/// Returns the number of flows that must start in a period so that a window has about `pairs` distinct pairs.
pub(crate) fn begun_per_period(pairs: u32) -> u32 {
    (f64::from(pairs) / (1.0 + CARRIED)) as u32
}

/// The hosts of model A.
pub(crate) struct Background {
    seed: u64,
    /// Number of flows that start in each period.
    begun: u32,
    period_ticks: u32,
    flows: FlowModel,
    staying: Vec<HeavyHost>,
    reserved: FxHashSet<Address>,
}

/// A staying host.
struct HeavyHost {
    host: Address,
    cardinality: f64,
    kind: Kind,
    /// Whether the host is active in only a part of each period.
    bursty: bool,
}

impl Background {
    pub(crate) fn new(model: &Backbone, begun: u32, reserved: &[Address]) -> Self {
        let reserved: FxHashSet<Address> = reserved.iter().copied().collect();
        let count = (f64::from(begun) * STAYING_SHARE / MEAN_CARDINALITY + 0.5) as usize;
        let mut rng = Rng::new(model.seed, STAYING_STREAM);
        // A host gets at most an eighth of the pairs so that a single host cannot use up a small stream.
        let most = STAYING_MOST.min(f64::from(begun) / 8.0);
        let hosts = (0..INSIDE_HOSTS).map(inside_host).filter(|host| !reserved.contains(host));
        let staying = hosts.take(count).map(|host| HeavyHost::draw(&mut rng, host, most)).collect();
        Self {
            seed: model.seed,
            begun,
            period_ticks: model.period * TICKS,
            flows: FlowModel::new(model.packets_per_pair, 300.0 / f64::from(model.period)),
            staying,
            reserved,
        }
    }

    /// Starts one flow from `host` to each of `count` peers, at random ticks in `active`.
    fn contacts(
        &self,
        rng: &mut Rng,
        host: Address,
        kind: Kind,
        count: u32,
        active: &Range<u32>,
        begin: &mut dyn FnMut(Flow),
    ) {
        let mut peers = Peers::new(kind, rng);
        for _ in 0..count {
            let pair = Ipv4Pair { inside: host, peer: peers.draw(rng) };
            let start = active.start + rng.below(active.end - active.start);
            begin(self.flows.draw(rng, pair, start));
        }
    }

    /// Returns a random range of ticks that covers a tenth to a half of the period `whole`.
    fn burst(&self, rng: &mut Rng, whole: &Range<u32>) -> Range<u32> {
        let tenth = self.period_ticks / 10;
        let length = tenth + rng.below(4 * tenth + 1);
        let start = whole.start + rng.below(self.period_ticks - length + 1);
        start..start + length.max(1)
    }

    /// Returns the index of the first passing host after `index`, and wraps around at the end. Passing hosts are not
    /// reserved and have higher indices than staying hosts.
    fn next_passing(&self, index: u32) -> u32 {
        // Reserved hosts shift the indices of staying hosts by at most the number of reserved hosts.
        let taken = (self.staying.len() + self.reserved.len()) as u32;
        let mut next = index;
        loop {
            next = (next + 1) % INSIDE_HOSTS;
            if next >= taken && !self.reserved.contains(&inside_host(next)) {
                return next;
            }
        }
    }
}

impl Source for Background {
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow)) {
        let mut rng = Rng::new(self.seed, number.into());
        let whole = number * self.period_ticks..(number + 1) * self.period_ticks;
        let mut left = self.begun;
        for staying in &self.staying {
            let count = ((staying.cardinality * (0.85 + 0.3 * rng.unit())) as u32).min(left);
            let active = if staying.bursty { self.burst(&mut rng, &whole) } else { whole.clone() };
            self.contacts(&mut rng, staying.host, staying.kind, count, &active, begin);
            left -= count;
        }
        let mut index = rng.below(INSIDE_HOSTS);
        while left > 0 {
            let count = (rng.pareto(1.0, PASSING_TAIL, PASSING_MOST) as u32).min(left);
            index = self.next_passing(index);
            self.contacts(&mut rng, inside_host(index), Kind::Client, count, &whole, begin);
            left -= count;
        }
    }
}

impl HeavyHost {
    fn draw(rng: &mut Rng, host: Address, most: f64) -> Self {
        Self {
            host,
            cardinality: rng.pareto(STAYING_FEWEST, STAYING_TAIL, most),
            kind: if rng.below(10) == 0 { Kind::Scanner } else { Kind::Client },
            bursty: rng.below(10) < 3,
        }
    }
}
