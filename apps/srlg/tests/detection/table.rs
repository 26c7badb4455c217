//! The table of scenarios.

use std::net::IpAddr;
use std::num::NonZeroU32;

use srlg_alerts::notification::Kind;
use srlg_cli::config::blind_spots::BlindSpot;
use srlg_cli::traffic::{Actor, Observation, Reflector};

use crate::matrix::Truth;

/// A scenario, and the incidents that it must raise.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) actor: Actor,
    /// Duration by default.
    pub(crate) seconds: u64,
    pub(crate) observation: Observation,
    pub(crate) inside: Inside,
    pub(crate) by_default: Outcome,
    /// How an attack is found that the default configuration does not find.
    pub(crate) otherwise: Option<Missed>,
}

/// An attack that the default configuration does not find.
pub(crate) struct Missed {
    /// The blind spot that announces it.
    pub(crate) spot: Spot,
    /// A setting with which it is found.
    pub(crate) setting: Setting,
    pub(crate) outcome: Outcome,
}

/// A blind spot of the default configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    FewSources,
    Sampled,
    SlowScans,
    PortScans,
    ReplyScans,
}

impl Spot {
    pub(crate) const fn is(self, spot: &BlindSpot) -> bool {
        matches!(
            (self, spot),
            (Self::FewSources, BlindSpot::FewSources(_))
                | (Self::Sampled, BlindSpot::Sampled(_))
                | (Self::SlowScans, BlindSpot::SlowScans(_))
                | (Self::PortScans, BlindSpot::PortScans(_))
                | (Self::ReplyScans, BlindSpot::ReplyScans(_))
        )
    }
}

/// Inside networks of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// 10.0.0.0/8 and 2001:db8::/32.
    Large,
    /// 198.51.100.0/24.
    Small,
}

/// Incidents that a scenario raises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    NotFound,
    /// One incident about which nothing is sent.
    Busy(Kind),
    /// Incidents about which notifications are sent.
    Found(Incidents),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incidents {
    /// Maximum time until the first one, in seconds since the first packet.
    pub(crate) within: u64,
    pub(crate) kind: Kind,
    /// Reflected protocol.
    pub(crate) protocol: Option<&'static str>,
    /// Number of incidents in each view.
    pub(crate) by_view: &'static [(&'static str, usize)],
}

/// A configuration that differs from the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Setting {
    /// A second window of an hour.
    Hour,
    /// A lower threshold.
    Low,
    /// A view of ports.
    Ports,
    /// Views of the replies of outside hosts, and of the requests to them.
    Replies,
}

impl Setting {
    pub(crate) const ALL: [Self; 4] = [Self::Hour, Self::Low, Self::Ports, Self::Replies];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Low => "low",
            Self::Ports => "ports",
            Self::Replies => "replies",
        }
    }

    /// Returns the tables to add to the configuration file.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Hour => "[[rule]]\nname = 'hosts'\nthresholds = { 60s = 1024, 1h = 1024 }\n",
            Self::Low => "[[rule]]\nname = 'hosts'\nthresholds = { 60s = 128 }\n",
            Self::Ports => {
                "[[view]]\nname = 'ports'\nrole = 'destination'\npeer = 'port'\nonly = 'initiated'\n\n\
                 [[rule]]\nname = 'ports'\nthresholds = { 60s = 256, 1h = 256 }\n"
            }
            Self::Replies => {
                "[[view]]\nname = 'outside-replies'\nmeasure = 'outside'\nrole = 'source'\nonly = 'replies'\n\
                 host-prefix6 = 64\npeer-prefix6 = 128\n\n\
                 [[view]]\nname = 'outside-requests'\nmeasure = 'outside'\nrole = 'destination'\n\
                 only = 'no-replies'\nhost-prefix6 = 64\npeer-prefix6 = 128\n\n\
                 [[rule]]\nname = 'outside-replies'\nthresholds = { 60s = 1024 }\n"
            }
        }
    }
}

const fn found(within: u64, kind: Kind, by_view: &'static [(&'static str, usize)]) -> Outcome {
    Outcome::Found(Incidents { within, kind, protocol: None, by_view })
}

const fn missed(spot: Spot, setting: Setting, outcome: Outcome) -> Option<Missed> {
    Some(Missed { spot, setting, outcome })
}

const fn reflected(
    within: u64,
    protocol: Reflector,
    by_view: &'static [(&'static str, usize)],
) -> Outcome {
    let (kind, protocol) = (Kind::Reflection, Some(protocol.name()));
    Outcome::Found(Incidents { within, kind, protocol, by_view })
}

/// Returns a scenario whose packets are seen in the large network for a minute.
const fn scenario(name: &'static str, actor: Actor, by_default: Outcome) -> Scenario {
    let (observation, inside) = (Observation::Packets, Inside::Large);
    Scenario { name, actor, seconds: 60, observation, inside, by_default, otherwise: None }
}

/// Incidents of a flooded host and of its network.
const BOTH: &[(&str, usize)] = &[("fan-in", 1), ("networks-in", 1)];

const VICTIM: IpAddr = v4([10, 20, 5, 5]);
const SERVER: IpAddr = v4([10, 20, 0, 80]);
const OUTSIDER: IpAddr = v4([192, 0, 2, 66]);

const fn v4([a, b, c, d]: [u8; 4]) -> IpAddr {
    IpAddr::V4(std::net::Ipv4Addr::new(a, b, c, d))
}

/// Returns the cause of the incidents of `actor`, or `None` if it causes none. A reflection of SYN-ACKs counts as a
/// flood, because it has no protocol with large replies.
pub(crate) const fn truth(actor: &Actor) -> Option<Truth> {
    Some(match actor {
        Actor::SynFlood { .. }
        | Actor::AckFlood { .. }
        | Actor::UdpFlood { .. }
        | Actor::FloodedServer { .. }
        | Actor::SynAckReflection { .. }
        | Actor::CarpetBombing { .. }
        | Actor::PingCarpet { .. } => Truth::Flood,
        Actor::Reflection { .. } => Truth::Reflection,
        Actor::Scan { .. } | Actor::SynAckScan { .. } | Actor::RotatingScan { .. } => Truth::Scan,
        Actor::PortScan { .. } => Truth::PortScan,
        Actor::Worm { .. } => Truth::Worm,
        Actor::P2p { .. } => Truth::P2p,
        Actor::WebServer { .. }
        | Actor::Gateway { .. }
        | Actor::Poller { .. }
        | Actor::Backup { .. } => Truth::Server,
        Actor::Resolver { .. } => Truth::Resolver,
        Actor::Cdn { .. } => return None,
    })
}

/// Returns all scenarios, in the order of the page.
pub(crate) fn scenarios() -> Vec<Scenario> {
    [floods(), seen_in_part(), scans(), busy_hosts()].into_iter().flatten().collect()
}

fn reflection(protocol: Reflector, servers: u64, rate: f64) -> Actor {
    Actor::Reflection { protocol, victim: VICTIM, servers, rate }
}

fn floods() -> Vec<Scenario> {
    let flood = |name, actor| scenario(name, actor, found(4, Kind::Flood, BOTH));
    let busy = Actor::FloodedServer { server: SERVER, clients: 40, packets: 95, rate: 1_500.0 };
    let reflection_of = |name, protocol, view| Scenario {
        seconds: 30,
        ..scenario(name, reflection(protocol, 3_000, 3_000.0), reflected(4, protocol, view))
    };
    vec![
        flood("SYN flood", Actor::SynFlood { victim: SERVER, rate: 1_500.0 }),
        flood("ACK flood", Actor::AckFlood { victim: SERVER, rate: 1_500.0 }),
        flood("UDP flood", Actor::UdpFlood { victim: VICTIM, rate: 1_500.0 }),
        flood("SYN flood of a busy server", busy),
        reflection_of("DNS reflection", Reflector::Dns, &[("replies-in", 1)]),
        reflection_of("NTP reflection", Reflector::Ntp, &[("fan-in", 1)]),
        reflection_of("CLDAP reflection", Reflector::Cldap, &[("replies-in", 1)]),
        reflection_of("SSDP reflection", Reflector::Ssdp, &[("replies-in", 1)]),
        reflection_of("chargen reflection", Reflector::Chargen, &[("replies-in", 1)]),
        Scenario {
            otherwise: missed(
                Spot::FewSources,
                Setting::Low,
                reflected(4, Reflector::Memcached, &[("fan-in", 1)]),
            ),
            ..scenario(
                "memcached reflection",
                reflection(Reflector::Memcached, 500, 3_000.0),
                Outcome::NotFound,
            )
        },
        scenario(
            "SYN-ACK reflection",
            Actor::SynAckReflection { victims: 3, servers: 3_000, rate: 3_000.0 },
            found(4, Kind::Flood, &[("replies-in", 3)]),
        ),
        scenario(
            "Carpet bombing",
            Actor::CarpetBombing { network: "10.20.7.0/24".parse().unwrap(), rate: 1_500.0 },
            found(9, Kind::Flood, &[("networks-in", 1)]),
        ),
        scenario(
            "Carpet bombing with pings",
            Actor::PingCarpet { network: "10.20.7.0/24".parse().unwrap(), rate: 1_500.0 },
            found(9, Kind::Flood, &[("networks-in", 1)]),
        ),
    ]
}

fn seen_in_part() -> Vec<Scenario> {
    let sampled = |name, rate: u32, flood: f64, by_default| Scenario {
        observation: Observation::Sampled(NonZeroU32::new(rate).unwrap()),
        ..scenario(name, Actor::SynFlood { victim: SERVER, rate: flood }, by_default)
    };
    let exported = |name, active, within| Scenario {
        observation: Observation::Flows(active),
        // The details of the victim arrive with the next export.
        seconds: 2 * within + 10,
        ..scenario(
            name,
            reflection(Reflector::Ntp, 3_000, 3_000.0),
            reflected(within, Reflector::Ntp, &[("fan-in", 1)]),
        )
    };
    vec![
        sampled("Large SYN flood", 64, 100_000.0, found(4, Kind::Flood, BOTH)),
        sampled("Large SYN flood", 4_096, 100_000.0, found(48, Kind::Flood, &[("fan-in", 1)])),
        Scenario {
            otherwise: missed(
                Spot::Sampled,
                Setting::Low,
                found(37, Kind::Flood, &[("fan-in", 1)]),
            ),
            ..sampled("SYN flood", 4_096, 20_000.0, Outcome::NotFound)
        },
        exported("NTP reflection", 1, 5),
        exported("NTP reflection", 60, 64),
        // All contacts of the victim arrive at once, and its alert has ended when the next ones arrive.
        Scenario {
            seconds: 314,
            by_default: found(304, Kind::Flood, &[("fan-in", 1)]),
            ..exported("NTP reflection", 300, 304)
        },
    ]
}

fn scans() -> Vec<Scenario> {
    let network = |text: &str| text.parse().unwrap();
    let scan = |network, rate| Actor::Scan { scanner: OUTSIDER, network, port: 22, rate };
    let ports = |rate| Actor::PortScan { scanner: OUTSIDER, target: SERVER, rate };
    let outside = |within| found(within, Kind::Scan, &[("outside", 1)]);
    vec![
        scenario("Fast scan of a /16", scan(network("10.20.0.0/16"), 100.0), outside(14)),
        Scenario {
            seconds: 90,
            ..scenario(
                "Scan of a /16 within an hour",
                scan(network("10.20.0.0/16"), 18.2),
                outside(62),
            )
        },
        Scenario {
            seconds: 600,
            otherwise: missed(Spot::SlowScans, Setting::Hour, outside(530)),
            ..scenario("Slow scan", scan(network("10.20.0.0/16"), 2.0), Outcome::NotFound)
        },
        Scenario {
            inside: Inside::Small,
            ..scenario(
                "Scan of a small network",
                scan(network("198.51.100.0/24"), 10.0),
                outside(16),
            )
        },
        Scenario {
            otherwise: missed(
                Spot::PortScans,
                Setting::Ports,
                found(6, Kind::PortScan, &[("ports", 1)]),
            ),
            ..scenario("Fast scan of ports", ports(100.0), Outcome::NotFound)
        },
        Scenario {
            seconds: 600,
            otherwise: missed(
                Spot::PortScans,
                Setting::Ports,
                found(530, Kind::PortScan, &[("ports", 1)]),
            ),
            ..scenario("Slow scan of ports", ports(0.5), Outcome::NotFound)
        },
        scenario(
            "IPv6 scan from a /64",
            Actor::RotatingScan {
                prefix: "3fff:bad:1::/64".parse().unwrap(),
                network: "2001:db8:9::/64".parse().unwrap(),
                rate: 100.0,
            },
            outside(14),
        ),
        Scenario {
            otherwise: missed(
                Spot::ReplyScans,
                Setting::Replies,
                found(6, Kind::Scan, &[("outside-replies", 1)]),
            ),
            ..scenario(
                "Scan with SYN-ACKs",
                Actor::SynAckScan {
                    scanner: OUTSIDER,
                    network: network("10.20.0.0/16"),
                    rate: 500.0,
                },
                Outcome::NotFound,
            )
        },
        scenario(
            "Worm",
            Actor::Worm { port: 445, rate: 40.0 },
            found(30, Kind::Worm, &[("fan-out", 1)]),
        ),
    ]
}

fn busy_hosts() -> Vec<Scenario> {
    let busy = |name, actor, kind| scenario(name, actor, Outcome::Busy(kind));
    let gateway = Actor::Gateway { gateway: v4([10, 20, 0, 1]), rate: 60.0 };
    let resolver = Actor::Resolver { resolver: v4([10, 20, 0, 53]), clients: 60, rate: 60.0 };
    let p2p = Actor::P2p { host: v4([10, 20, 1, 44]), rate: 40.0 };
    let poller = Actor::Poller { poller: v4([10, 20, 0, 7]), devices: 2_000, rate: 33.0 };
    let backup = Actor::Backup { server: v4([10, 20, 0, 9]), clients: 2_000, rate: 30.0 };
    vec![
        busy("Flash crowd", Actor::WebServer { server: SERVER, rate: 100.0 }, Kind::Server),
        busy("Busy resolver", resolver, Kind::Resolver),
        scenario(
            "CDN",
            Actor::Cdn { server: v4([192, 0, 2, 10]), clients: 3_000, rate: 60.0 },
            Outcome::NotFound,
        ),
        busy("NAT gateway", gateway, Kind::Server),
        busy("P2P host", p2p, Kind::P2p),
        busy("Monitoring host", poller, Kind::Server),
        busy("Backup server", backup, Kind::Server),
    ]
}
