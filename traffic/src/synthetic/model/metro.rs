//! Model B, a metro network.
//!
//! Hosts are drawn once, in the order of [`CLASSES`]. Their numbers of contacts per period are lognormal. Hosts of an
//! on-off class start flows only during the on-times of their cycles. Each class gets its share of the flows in a
//! period.
//!
//! At a threshold of 1024, model B has 100 super points per million pairs. A class with share s, median m and deviation
//! σ has s·10^6 / (m e^(σ²/2)) hosts per million pairs. A host of the class is a super point with probability
//! Q(ln(1024/m) / σ), where Q is the tail of the standard normal distribution. In the order of [`CLASSES`], the classes
//! have 1, 46, 26, 14 and 13 super points per million pairs.

use super::super::calendar::Source;
use super::super::flow::{Flow, FlowModel, TICKS};
use super::super::network::{INSIDE_HOSTS, inside_host};
use super::super::peers::{Kind, Peers};
use super::super::rng::Rng;
use super::{PACKETS_PER_PAIR, PERIOD, ticks_of};
use srlg_core::{Address, Ipv4Pair};

pub(super) struct Class {
    kind: Kind,
    /// Fraction of all pairs that belong to the class.
    pub(super) share: f64,
    /// Median number of contacts per host and period.
    pub(super) median: f64,
    /// Standard deviation of the logarithm of the number of contacts.
    pub(super) sigma: f64,
    on_off: bool,
}

/// Clients, servers, NAT gateways, peer-to-peer hosts and scanners, in this order.
#[rustfmt::skip]
pub(super) const CLASSES: [Class; 5] = [
    Class { kind: Kind::Client,     share: 0.50, median:   8.0, sigma: 1.2, on_off: false },
    Class { kind: Kind::Server,     share: 0.22, median: 120.0, sigma: 1.5, on_off: false },
    Class { kind: Kind::Client,     share: 0.09, median: 500.0, sigma: 1.0, on_off: false },
    Class { kind: Kind::PeerToPeer, share: 0.14, median: 300.0, sigma: 0.7, on_off: true },
    Class { kind: Kind::Scanner,    share: 0.05, median: 400.0, sigma: 1.2, on_off: true },
];

/// Maximum number of contacts per host and period.
const MOST_CONTACTS: f64 = 200_000.0;

/// Purpose number of the random stream for the flows, to which the number of the period is added.
const STREAM: u64 = 4 << 40;
/// Purpose number of the random stream from which the hosts are drawn.
const HOSTS_STREAM: u64 = STREAM + (1 << 32);
/// Purpose number of the random stream for the cycles, to which the address of the host is added.
const CYCLES_STREAM: u64 = STREAM + (2 << 32);

pub(super) struct Metro {
    seed: u64,
    flows: FlowModel,
    /// Hosts of each class, and their numbers of contacts per period.
    hosts: [Vec<(Address, u32)>; CLASSES.len()],
}

impl Metro {
    /// Creates hosts that together start `begun` flows in every period.
    pub(super) fn new(seed: u64, begun: u32) -> Self {
        let mut rng = Rng::new(seed, HOSTS_STREAM);
        let mut addresses = (0..INSIDE_HOSTS).map(inside_host);
        // A host gets at most an eighth of the pairs so that a single host cannot use up a small stream.
        let most = MOST_CONTACTS.min(f64::from(begun) / 8.0);
        let hosts = CLASSES.map(|class| {
            let mut left = (f64::from(begun) * class.share) as u32;
            let mut draw = |host| {
                let contacts = rng.lognormal(class.median, class.sigma).min(most) + 0.5;
                let contacts = (contacts as u32).clamp(1, left.max(1));
                (left > 0).then(|| {
                    left -= contacts;
                    (host, contacts)
                })
            };
            addresses.by_ref().map_while(&mut draw).collect()
        });
        Self { seed, flows: FlowModel::new(PACKETS_PER_PAIR, 1.0), hosts }
    }
}

impl Source for Metro {
    fn period(&self, number: u32, begin: &mut dyn FnMut(Flow)) {
        let mut rng = Rng::new(self.seed, STREAM + u64::from(number));
        let first = ticks_of(number).start;
        for (class, hosts) in CLASSES.iter().zip(&self.hosts) {
            for &(host, contacts) in hosts {
                let cycle = class.on_off.then(|| Cycle::of(self.seed, host));
                let mut peers = Peers::new(class.kind, &mut rng);
                for _ in 0..contacts {
                    let pair = Ipv4Pair { inside: host, peer: peers.draw(&mut rng) };
                    let mut start = first + rng.below(PERIOD * TICKS);
                    while cycle.is_some_and(|cycle| !cycle.is_on(start)) {
                        start = first + rng.below(PERIOD * TICKS);
                    }
                    begin(self.flows.draw(&mut rng, pair, start));
                }
            }
        }
    }
}

/// The cycle of an on-off host, in ticks. A cycle is shorter than a period.
#[derive(Clone, Copy)]
struct Cycle {
    length: u32,
    on: u32,
    phase: u32,
}

impl Cycle {
    /// Returns a cycle of 30 to 150 slices. The host is on for a fifth to four fifths of it.
    fn of(seed: u64, host: Address) -> Self {
        let mut rng = Rng::new(seed, CYCLES_STREAM + u64::from(host));
        let length = TICKS * 30 + rng.below(TICKS * 120);
        let on = (f64::from(length) * (0.2 + 0.6 * rng.unit())) as u32;
        Self { length, on, phase: rng.below(length) }
    }

    const fn is_on(self, tick: u32) -> bool {
        (tick + self.phase) % self.length < self.on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_begins_the_wanted_flows_and_on_off_hosts_begin_theirs_when_on() {
        let (seed, begun) = (5, 100_000);
        let metro = Metro::new(seed, begun);
        let on_off = |host: Address| {
            let has = |&(class, hosts): &(&Class, &Vec<(Address, u32)>)| {
                class.on_off && hosts.iter().any(|&(other, _)| other == host)
            };
            CLASSES.iter().zip(&metro.hosts).any(|class| has(&class))
        };
        let mut flows = Vec::new();
        metro.period(1, &mut |flow| flows.push(flow));
        assert_eq!(flows.len(), begun as usize);
        for mut flow in flows.into_iter().filter(|flow| on_off(flow.pair.inside)) {
            flow.send();
            // A flow with one packet ends when it starts.
            if flow.next_slice().is_none() {
                assert!(Cycle::of(seed, flow.pair.inside).is_on(flow.end()));
            }
        }
    }

    #[test]
    fn cycles_are_on_for_a_fifth_to_four_fifths_and_shorter_than_a_period() {
        for host in 0..1000 {
            let cycle = Cycle::of(9, host);
            let on = (0..cycle.length).filter(|&tick| cycle.is_on(tick)).count() as f64;
            let part = on / f64::from(cycle.length);
            // The on-time is rounded down to whole ticks.
            assert!((0.2 - 1.0 / f64::from(cycle.length)..=0.8).contains(&part), "{part}");
            assert!(cycle.length < PERIOD * TICKS);
        }
    }
}
