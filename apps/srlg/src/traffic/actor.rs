//! Attackers, and busy hosts that look like them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use srlg_input::contact::{TCP_ACK, TCP_RST, TCP_SYN};

use super::{Packet, Reflector, STEP, Traffic, mix, outside};

/// Maximum number of half-open connections of a server. Beyond it, the server answers no SYN.
const BACKLOG: u64 = 256;

/// Time after which a server forgets a half-open connection, in seconds: the sum of the pauses between six SYN-ACKs.
const HALF_OPEN: u64 = 63;

/// One in this number of scanned addresses belongs to a host that answers.
const ALIVE: u64 = 16;

/// Number of authoritative servers that a resolver asks.
const AUTHORITIES: u64 = 20_000;

/// An attacker or a busy host, which acts `rate` times per second.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names of the fields and the docs of the variants suffice")]
pub enum Actor {
    /// An attacker who sends SYNs with forged sources to a web server.
    SynFlood { victim: IpAddr, rate: f64 },
    /// Servers whose replies go to a victim. They send their packets in turn.
    Reflection { protocol: Reflector, victim: IpAddr, servers: u64, rate: f64 },
    /// An attacker who sends SYNs with forged sources to all hosts of a /24.
    CarpetBombing { network: Ipv4Net, rate: f64 },
    /// A scanner of one TCP port of all hosts of a network.
    Scan { scanner: IpAddr, network: Ipv4Net, port: u16, rate: f64 },
    /// A scanner of all TCP ports of a host.
    PortScan { scanner: IpAddr, target: IpAddr, rate: f64 },
    /// A scanner that sends each packet from another address of its /64.
    RotatingScan { prefix: Ipv6Net, network: Ipv6Net, rate: f64 },
    /// Ten infected inside hosts in several /24s, each of which scans the Internet at the rate.
    Worm { port: u16, rate: f64 },
    /// A host of a P2P network, which contacts new peers or is contacted by them.
    P2p { host: IpAddr, rate: f64 },
    /// A web server with clients on the Internet.
    WebServer { server: IpAddr, rate: f64 },
    /// A resolver, which asks an authoritative server for each query of its inside clients.
    Resolver { resolver: IpAddr, clients: u64, rate: f64 },
    /// An outside web server with many inside clients.
    Cdn { server: IpAddr, clients: u64, rate: f64 },
    /// An inside client of outside web servers, or the public address of many clients.
    Gateway { gateway: IpAddr, rate: f64 },
    /// A monitoring host that asks each inside device in turn over SNMP.
    Poller { poller: IpAddr, devices: u64, rate: f64 },
    /// A backup server with inside clients, which connect in turn.
    Backup { server: IpAddr, clients: u64, rate: f64 },
}

/// Returns the number `index` of the inside hosts of the same version as `like`. They are in several /24s.
#[must_use]
pub fn inside(like: IpAddr, index: u64) -> IpAddr {
    match like {
        IpAddr::V4(_) => {
            let (subnet, host) = (index % 6 + 1, index / 6 + 10);
            // A /24 has at most 250 of the hosts, and the next ones are in another /16.
            let bytes = [20 + host / 250, subnet, host % 250].map(|byte| byte as u8);
            Ipv4Addr::new(10, bytes[0], bytes[1], bytes[2]).into()
        }
        IpAddr::V6(_) => {
            Ipv6Addr::from_bits(0x2001_0db8_0020_0001 << 64 | u128::from(index + 16)).into()
        }
    }
}

impl Actor {
    /// Returns the number of packets, requests or connections per second.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        match self {
            Self::SynFlood { rate, .. }
            | Self::Reflection { rate, .. }
            | Self::CarpetBombing { rate, .. }
            | Self::Scan { rate, .. }
            | Self::PortScan { rate, .. }
            | Self::RotatingScan { rate, .. }
            | Self::Worm { rate, .. }
            | Self::P2p { rate, .. }
            | Self::WebServer { rate, .. }
            | Self::Resolver { rate, .. }
            | Self::Cdn { rate, .. }
            | Self::Gateway { rate, .. }
            | Self::Poller { rate, .. }
            | Self::Backup { rate, .. } => *rate,
        }
    }

    /// Returns whether this is an attack or an infection.
    #[must_use]
    pub const fn is_hostile(&self) -> bool {
        match self {
            Self::SynFlood { .. }
            | Self::Reflection { .. }
            | Self::CarpetBombing { .. }
            | Self::Scan { .. }
            | Self::PortScan { .. }
            | Self::RotatingScan { .. }
            | Self::Worm { .. } => true,
            Self::P2p { .. }
            | Self::WebServer { .. }
            | Self::Resolver { .. }
            | Self::Cdn { .. }
            | Self::Gateway { .. }
            | Self::Poller { .. }
            | Self::Backup { .. } => false,
        }
    }

    /// Adds the packets of the second with the number `second` since the actor's first one.
    pub fn act(&self, traffic: &mut Traffic, second: u64) {
        let until = |seconds: u64| (self.rate() * seconds as f64) as u64;
        for index in until(second)..until(second + 1) {
            let has_room = second.is_multiple_of(HALF_OPEN) && index - until(second) < BACKLOG;
            self.act_once(traffic, index, has_room);
        }
    }

    /// Acts for the time with the number `index`. `has_room` tells whether a flooded server still answers.
    fn act_once(&self, traffic: &mut Traffic, index: u64, has_room: bool) {
        match *self {
            Self::SynFlood { victim, .. } => attempt_forged(traffic, victim, has_room),
            Self::Reflection { protocol, victim, servers, .. } => {
                let server =
                    outside(victim, mix((u64::from(protocol.port()) << 32) | (index % servers)));
                let ports = [protocol.port(), protocol.port_of_requests()];
                traffic.send(Packet::udp([server, victim], ports, protocol.octets()));
            }
            Self::CarpetBombing { network, .. } => {
                let host = network.addr().to_bits() | (traffic.number() % 254 + 1) as u32;
                attempt_forged(traffic, Ipv4Addr::from_bits(host).into(), false);
            }
            Self::Scan { scanner, network, port, .. } => {
                probe(traffic, scanner, address(network, index), port);
            }
            Self::PortScan { scanner, target, .. } => {
                let port = index.wrapping_mul(STEP) as u16;
                let ports = [traffic.client_port(), port];
                let packet = Packet::tcp([scanner, target], ports, TCP_SYN);
                traffic.send(packet);
                let is_open = [22, 80, 443].contains(&port);
                let flags = if is_open { TCP_SYN } else { TCP_RST } | TCP_ACK;
                traffic.send(packet.reply(flags, 60));
            }
            Self::RotatingScan { prefix, network, .. } => {
                let source = prefix.addr().to_bits() | u128::from(traffic.number());
                let target = Ipv6Addr::from_bits(network.addr().to_bits() | u128::from(index + 1));
                probe(traffic, Ipv6Addr::from_bits(source).into(), target.into(), 443);
            }
            Self::Worm { port, .. } => {
                let like = Ipv4Addr::UNSPECIFIED.into();
                for host in 0..10 {
                    let target = traffic.outside(like);
                    probe(traffic, inside(like, host), target, port);
                }
            }
            _ => self.serve_once(traffic, index),
        }
    }

    /// Exchanges the packets of a busy host for the time with the number `index`.
    fn serve_once(&self, traffic: &mut Traffic, index: u64) {
        match *self {
            Self::P2p { host, .. } => {
                let ports = [51_413, traffic.client_port()];
                let packet = Packet::udp([host, traffic.outside(host)], ports, 300);
                let packet = if index.is_multiple_of(2) { packet } else { packet.reply(0, 300) };
                traffic.send(packet);
                traffic.send(packet.reply(0, 1_200));
            }
            Self::WebServer { server, .. } => {
                let client = traffic.outside(server);
                traffic.connect(client, server, 443);
            }
            Self::Resolver { resolver, clients, .. } => {
                let authority = outside(resolver, mix(traffic.number() % AUTHORITIES));
                traffic.ask(inside(resolver, index % clients), resolver, 53);
                traffic.ask(resolver, authority, 53);
            }
            Self::Cdn { server, clients, .. } => {
                traffic.connect(inside(server, index % clients), server, 443);
            }
            Self::Gateway { gateway, .. } => {
                let server = traffic.outside(gateway);
                traffic.connect(gateway, server, 443);
            }
            Self::Poller { poller, devices, .. } => {
                traffic.ask(poller, inside(poller, index % devices), 161);
            }
            Self::Backup { server, clients, .. } => {
                traffic.connect(inside(server, index % clients), server, 873);
            }
            _ => {}
        }
    }
}

/// Sends a SYN with a forged source to `victim`, which answers if `has_room`.
fn attempt_forged(traffic: &mut Traffic, victim: IpAddr, has_room: bool) {
    let (source, port) = (traffic.outside(victim), traffic.client_port());
    let packet = Packet::tcp([source, victim], [port, 443], TCP_SYN);
    traffic.send(packet);
    if has_room {
        traffic.send(packet.reply(TCP_SYN | TCP_ACK, 60));
    }
}

/// Sends a SYN from `scanner` to `target`, which answers if it is one of the live hosts.
fn probe(traffic: &mut Traffic, scanner: IpAddr, target: IpAddr, port: u16) {
    let packet = Packet::tcp([scanner, target], [traffic.client_port(), port], TCP_SYN);
    traffic.send(packet);
    let bits = match target {
        IpAddr::V4(target) => target.to_bits().into(),
        IpAddr::V6(target) => target.to_bits() as u64,
    };
    if mix(bits).is_multiple_of(ALIVE) {
        traffic.send(packet.reply(TCP_SYN | TCP_ACK, 60));
    }
}

/// Returns an address of `network`. Successive numbers give different addresses until all of them were given.
fn address(network: Ipv4Net, index: u64) -> IpAddr {
    // An odd factor makes a permutation of the host part.
    let host = index.wrapping_mul(STEP) as u32 & network.hostmask().to_bits();
    Ipv4Addr::from_bits(network.addr().to_bits() | host).into()
}

/// Describes the actor in a few words, with its rate.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |of| Rate { number: self.rate(), of };
        match self {
            Self::SynFlood { .. } => rate("forged sources").fmt(f),
            Self::Reflection { servers, .. } => {
                write!(f, "{} from {} servers", rate("packets"), grouped(*servers))
            }
            Self::CarpetBombing { network, .. } => {
                write!(f, "{} to a /{}", rate("forged sources"), network.prefix_len())
            }
            Self::Scan { network, port, .. } => {
                write!(f, "{} of a /{}, tcp/{port}", rate("hosts"), network.prefix_len())
            }
            Self::PortScan { .. } => write!(f, "{} of a host", rate("TCP ports")),
            Self::RotatingScan { .. } => write!(f, "{}, as many sources", rate("hosts")),
            Self::Worm { port, .. } => {
                write!(f, "10 inside hosts, each {}, tcp/{port}", rate("hosts"))
            }
            Self::P2p { .. } => rate("peers").fmt(f),
            Self::WebServer { .. } => rate("clients").fmt(f),
            Self::Resolver { clients, .. } => {
                write!(f, "{} from {clients} clients", rate("queries"))
            }
            Self::Cdn { clients, .. } => {
                let clients = grouped(*clients);
                write!(f, "{} from {clients} clients to an outside server", rate("connections"))
            }
            Self::Gateway { .. } => write!(f, "{} to outside servers", rate("connections")),
            Self::Poller { devices, .. } => {
                write!(f, "{} to {} devices", rate("queries"), grouped(*devices))
            }
            Self::Backup { clients, .. } => {
                write!(f, "{} from {} clients", rate("connections"), grouped(*clients))
            }
        }
    }
}

/// Number of something per second, or per minute if it is less than 1 per second.
struct Rate {
    number: f64,
    of: &'static str,
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, of } = *self;
        if number < 1.0 {
            write!(f, "{:.0} {of}/min", number * 60.0)
        } else if number.fract() == 0.0 {
            write!(f, "{} {of}/s", grouped(number as u64))
        } else {
            write!(f, "{number} {of}/s")
        }
    }
}

/// Returns `number`, which is less than a million, with a comma between thousands and hundreds.
fn grouped(number: u64) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}
