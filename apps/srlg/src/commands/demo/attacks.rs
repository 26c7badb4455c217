//! Background traffic with four attacks.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use srlg_input::contact::{TCP_ACK, TCP_SYN};

/// Number of steps per second.
pub(super) const STEPS: u64 = 10;

/// Length of a round, in seconds. A round contains the attacks, a window and the hold time of alerts.
pub(super) const ROUND: u64 = 20;

/// Seconds of a round during which attacks are active.
const ATTACKED: std::ops::Range<u64> = 3..9;

/// Number of new peers that each flooded host, the scanner and the flooded network get per step. In one second, each of
/// them gets 1,000 peers, which is twice the threshold of a host.
const PEERS: u32 = 100;

/// Number of attacked hosts of the flooded network. During the attacks, each of them gets 120 peers, which is below the
/// threshold of a host.
const CARPET_HOSTS: u32 = 50;

/// Number of background pairs per step.
const BACKGROUND: u32 = 300;

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
    /// First address of the flooded /24 network.
    carpet: u32,
}

/// An exported TCP flow.
pub(super) struct Flow {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) port: u16,
    pub(super) flags: u8,
}

impl Flow {
    /// Returns the index of the exporter that sends the flows of this pair of hosts. There are `count` exporters.
    pub(super) fn exporter(&self, count: usize) -> usize {
        let mut hasher = DefaultHasher::new();
        (self.source, self.destination).hash(&mut hasher);
        (hasher.finish() % count as u64) as usize
    }
}

/// Returns a pseudo-random number derived from `number` (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Attacks {
    pub(super) fn new(seed: u64, seconds: u64) -> Self {
        let host = |number: u64| mixed(seed << 8 | number) as u32;
        Self {
            seed,
            rounds: seconds / ROUND,
            flooded4: Ipv4Addr::from_bits(0x0a01_0000 | host(1) & 0xffff).into(),
            flooded6: Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(host(2))).into(),
            scanner: Ipv4Addr::from_bits(0xc633_6400 | host(3) & 0xff).into(),
            carpet: 0x0a02_0000 | host(4) & 0xff00,
        }
    }

    pub(super) fn planted(&self) -> Vec<PlantedAttack> {
        let network = |host, length| IpNet::new_assert(host, length).trunc();
        let carpet = Ipv4Addr::from_bits(self.carpet).into();
        [
            ("a flood of one host", "fan-in", self.flooded4.into()),
            ("a flood of one host", "fan-in", self.flooded6.into()),
            ("a scan", "outside", self.scanner.into()),
            ("a flood of a network", "networks-in", network(carpet, 24)),
            ("the flood of its host", "networks-in", network(self.flooded4, 24)),
            ("the flood of its host", "networks-in", network(self.flooded6, 48)),
        ]
        .map(|(name, view, subject)| PlantedAttack { name, view, subject })
        .to_vec()
    }

    pub(super) fn step(&self, step: u64) -> Vec<Flow> {
        let number =
            |at: u32, of: u64| mixed(mixed(self.seed << 40 | step << 8 | of) ^ u64::from(at));
        let outside4 =
            |bits: u64| IpAddr::from(Ipv4Addr::from_bits(0x5000_0000 | bits as u32 & 0x0fff_ffff));
        let mut flows: Vec<Flow> = (0..BACKGROUND)
            .map(|at| {
                let bits = number(at, 0);
                let inside = Ipv4Addr::from_bits(0x0a00_0000 | (bits >> 40) as u32 & 0x07ff).into();
                let (source, destination, port) = if bits & 1 == 0 {
                    (outside4(bits >> 8), inside, 443)
                } else {
                    (inside, outside4(bits >> 8), 1_024 + (bits >> 16) as u16 % 50_000)
                };
                Flow { source, destination, port, flags: TCP_SYN | TCP_ACK }
            })
            .collect();
        let second = step / STEPS;
        if !ATTACKED.contains(&(second % ROUND)) || second / ROUND >= self.rounds {
            return flows;
        }
        let mut attempt = |source, destination, port| {
            flows.push(Flow { source, destination, port, flags: TCP_SYN });
        };
        for at in 0..PEERS {
            attempt(outside4(number(at, 1)), self.flooded4, 443);
            let source = Ipv6Addr::from_bits(0x2a00 << 112 | u128::from(number(at, 2)) << 64);
            attempt(source.into(), self.flooded6, 53);
            let scanned = Ipv4Addr::from_bits(0x0a03_0000 | number(at, 3) as u32 & 0xffff);
            attempt(self.scanner, scanned.into(), 445);
            let host = Ipv4Addr::from_bits(self.carpet | (at % CARPET_HOSTS));
            attempt(outside4(number(at, 4)), host.into(), 80);
        }
        flows
    }
}
