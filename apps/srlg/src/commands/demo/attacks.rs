//! Background traffic with four attacks.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};
use srlg_input::Contact;

use crate::traffic::{Actor, Traffic};

/// Number of steps per second.
pub(super) const STEPS: u64 = 10;

/// Length of a round, in seconds. A round contains the attacks, a window and the hold time of alerts.
pub(super) const ROUND: u64 = 20;

/// Seconds of a round during which attacks are active.
const ATTACKED: std::ops::Range<u64> = 3..9;

/// Number of new peers that each flooded host, the scanner and the flooded network get per step. In one second, each of
/// them gets 1,000 peers, which is twice the threshold of a host.
const PEERS: f64 = 100.0;

/// Scanned /16 network.
const SCANNED: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 0);

/// Number of background connections per step.
const BACKGROUND: u32 = 150;

/// A planted attack, described by the alert that it must raise.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlantedAttack {
    pub(super) name: &'static str,
    pub(super) view: &'static str,
    pub(super) subject: IpNet,
}

impl fmt::Display for PlantedAttack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} ({})", self.name, name(self.subject), self.view)
    }
}

/// Formats `subject`: a host as its address, and a network with its prefix length.
pub(super) fn name(subject: IpNet) -> String {
    let is_host = subject.prefix_len() == subject.max_prefix_len();
    if is_host { subject.addr().to_string() } else { subject.to_string() }
}

/// Generator of the exported flows.
pub(super) struct Attacks {
    seed: u64,
    /// Number of times the attacks are played.
    pub(super) rounds: u64,
    flooded4: IpAddr,
    flooded6: IpAddr,
    scanner: IpAddr,
    /// Flooded /24 network.
    carpet: Ipv4Net,
}

impl Attacks {
    pub(super) fn new(seed: u64, seconds: u64) -> Self {
        let mut traffic = Traffic::new(seed);
        let mut host = || traffic.number() as u32;
        let carpet = Ipv4Addr::from_bits(0x0a02_0000 | host() & 0xff00);
        Self {
            seed,
            rounds: seconds / ROUND,
            flooded4: Ipv4Addr::from_bits(0x0a01_0000 | host() & 0xffff).into(),
            flooded6: Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(host())).into(),
            scanner: Ipv4Addr::from_bits(0xc633_6400 | host() & 0xff).into(),
            carpet: Ipv4Net::new_assert(carpet, 24),
        }
    }

    pub(super) fn planted(&self) -> Vec<PlantedAttack> {
        let network = |host, length| IpNet::new_assert(host, length).trunc();
        [
            ("a flood of one host", "fan-in", self.flooded4.into()),
            ("a flood of one host", "fan-in", self.flooded6.into()),
            ("a scan", "outside", self.scanner.into()),
            ("a flood of a network", "networks-in", self.carpet.into()),
            ("the flood of its host", "networks-in", network(self.flooded4, 24)),
            ("the flood of its host", "networks-in", network(self.flooded6, 48)),
        ]
        .map(|(name, view, subject)| PlantedAttack { name, view, subject })
        .to_vec()
    }

    /// Returns the actors, for which a step is a second.
    fn actors(&self) -> [Actor; 4] {
        let network = Ipv4Net::new_assert(SCANNED, 16);
        [
            Actor::SynFlood { victim: self.flooded4, rate: PEERS },
            Actor::SynFlood { victim: self.flooded6, rate: PEERS },
            Actor::Scan { scanner: self.scanner, network, port: 445, rate: PEERS },
            Actor::CarpetBombing { network: self.carpet, rate: PEERS },
        ]
    }

    /// Returns the flows of a step.
    pub(super) fn step(&self, step: u64) -> Vec<Contact> {
        let mut traffic = Traffic::new(self.seed << 40 | step);
        for _ in 0..BACKGROUND {
            let server = Ipv4Addr::from_bits(0x0a00_0000 | traffic.number() as u32 & 0x07ff);
            traffic.serve(server.into(), 443, 1);
        }
        let second = step / STEPS;
        if ATTACKED.contains(&(second % ROUND)) && second / ROUND < self.rounds {
            for actor in self.actors() {
                actor.act(&mut traffic, step);
            }
        }
        traffic.take()
    }
}

/// Returns the index of the exporter that sends the flows of the hosts of `contact`. There are `count` exporters.
pub(super) fn exporter_of(contact: &Contact, count: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    (contact.source, contact.destination).hash(&mut hasher);
    (hasher.finish() % count as u64) as usize
}
