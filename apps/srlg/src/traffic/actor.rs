//! Attackers, and busy hosts that look like them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use srlg_input::contact::{TCP_ACK, TCP_RST, TCP_SYN};

use super::reflector::CLIENT_PORT;
use super::{Icmp, Packet, Reflector, STEP, Traffic, mix, outside};

/// Maximum number of half-open connections of a server. Beyond it, the server answers no SYN.
const BACKLOG: u64 = 256;

/// Time after which a server forgets a half-open connection, in seconds: the sum of the pauses between six SYN-ACKs.
const HALF_OPEN: u64 = 63;

/// Maximum number of ICMP errors that a host sends per second, as in Linux.
const ERRORS: u64 = 1_000;

/// Number of packets with which a client opens and closes a TCP connection.
const HANDSHAKES: u64 = 3;

/// Port of web servers.
const HTTPS: u16 = 443;

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
    /// An attacker who sends ACKs with forged sources to a web server, which resets each of them.
    AckFlood { victim: IpAddr, rate: f64 },
    /// An attacker who sends UDP packets with forged sources to random ports of a host, which refuses them.
    UdpFlood { victim: IpAddr, rate: f64 },
    /// A web server under a SYN flood, with new clients in each second that send some packets each. The server answers
    /// all SYNs, as it does with SYN cookies. The number of clients is at most the rate.
    FloodedServer { server: IpAddr, clients: u64, packets: u64, rate: f64 },
    /// Servers whose replies go to a victim, which refuses them. They send their packets in turn.
    Reflection { protocol: Reflector, victim: IpAddr, servers: u64, rate: f64 },
    /// Web servers that answer SYNs with the forged sources of inside hosts, which reset each connection.
    SynAckReflection { victims: u64, servers: u64, rate: f64 },
    /// An attacker who sends SYNs with forged sources to all hosts of a /24.
    CarpetBombing { network: Ipv4Net, rate: f64 },
    /// An attacker who sends echo requests with forged sources to all hosts of a /24, which answer.
    PingCarpet { network: Ipv4Net, rate: f64 },
    /// A scanner of one TCP port of all hosts of a network.
    Scan { scanner: IpAddr, network: Ipv4Net, port: u16, rate: f64 },
    /// A scanner that sends SYN-ACKs to all hosts of a network, whose live hosts reset them.
    SynAckScan { scanner: IpAddr, network: Ipv4Net, rate: f64 },
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
            | Self::AckFlood { rate, .. }
            | Self::UdpFlood { rate, .. }
            | Self::FloodedServer { rate, .. }
            | Self::Reflection { rate, .. }
            | Self::SynAckReflection { rate, .. }
            | Self::CarpetBombing { rate, .. }
            | Self::PingCarpet { rate, .. }
            | Self::Scan { rate, .. }
            | Self::SynAckScan { rate, .. }
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
            | Self::AckFlood { .. }
            | Self::UdpFlood { .. }
            | Self::FloodedServer { .. }
            | Self::Reflection { .. }
            | Self::SynAckReflection { .. }
            | Self::CarpetBombing { .. }
            | Self::PingCarpet { .. }
            | Self::Scan { .. }
            | Self::SynAckScan { .. }
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
            self.act_once(traffic, &Action { index, second, number: index - until(second) });
        }
    }

    /// Adds the packets of `action`.
    fn act_once(&self, traffic: &mut Traffic, action: &Action) {
        let index = action.index;
        match *self {
            Self::SynFlood { victim, .. } => attempt_forged(traffic, victim, action.has_room()),
            Self::AckFlood { victim, .. } => {
                let (source, port) = (traffic.outside(victim), traffic.client_port());
                reset(traffic, Packet::tcp([source, victim], [port, HTTPS], TCP_ACK));
            }
            Self::UdpFlood { victim, .. } => {
                let source = traffic.outside(victim);
                let ports = [traffic.client_port(), traffic.number() as u16];
                refuse(traffic, Packet::udp([source, victim], ports, 80), action);
            }
            Self::FloodedServer { server, clients, packets, .. } => {
                attempt_forged(traffic, server, true);
                if action.number < clients {
                    let client = traffic.outside(server);
                    traffic.connect(client, server, HTTPS, packets.saturating_sub(HANDSHAKES));
                }
            }
            Self::Reflection { protocol, victim, servers, .. } => {
                let server = reflector(victim, protocol.port(), index % servers);
                let ports = [protocol.port(), protocol.port_of_requests()];
                let packet = Packet::udp([server, victim], ports, protocol.octets());
                refuse(traffic, packet, action);
            }
            Self::SynAckReflection { victims, servers, .. } => {
                let victim = inside(Ipv4Addr::UNSPECIFIED.into(), index % victims);
                let server = reflector(victim, HTTPS, index / victims % servers);
                let ports = [HTTPS, traffic.client_port()];
                reset(traffic, Packet::tcp([server, victim], ports, TCP_SYN | TCP_ACK));
            }
            Self::CarpetBombing { network, .. } => {
                let victim = random_host(traffic, network);
                attempt_forged(traffic, victim, false);
            }
            Self::PingCarpet { network, .. } => {
                let victim = random_host(traffic, network);
                let source = traffic.outside(victim);
                traffic.send(Packet::icmp([source, victim], Icmp::EchoRequest, 84));
                traffic.send(Packet::icmp([victim, source], Icmp::EchoReply, 84));
            }
            Self::Scan { scanner, network, port, .. } => {
                probe(traffic, scanner, address(network, index), port);
            }
            Self::SynAckScan { scanner, network, .. } => {
                let target = address(network, index);
                let packet =
                    Packet::tcp([scanner, target], [HTTPS, CLIENT_PORT], TCP_SYN | TCP_ACK);
                if is_alive(target) { reset(traffic, packet) } else { traffic.send(packet) }
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
                probe(traffic, Ipv6Addr::from_bits(source).into(), target.into(), HTTPS);
            }
            Self::Worm { port, .. } => {
                let like = Ipv4Addr::UNSPECIFIED.into();
                for host in 0..10 {
                    let target = traffic.outside(like);
                    probe(traffic, inside(like, host), target, port);
                }
            }
            Self::P2p { host, .. } => {
                let ports = [51_413, traffic.client_port()];
                let packet = Packet::udp([host, traffic.outside(host)], ports, 300);
                let packet = if index.is_multiple_of(2) { packet } else { packet.reply(0, 300) };
                traffic.send(packet);
                traffic.send(packet.reply(0, 1_200));
            }
            Self::WebServer { server, .. } => {
                let client = traffic.outside(server);
                traffic.connect(client, server, HTTPS, 1);
            }
            Self::Resolver { resolver, clients, .. } => {
                let authority = outside(resolver, mix(traffic.number() % AUTHORITIES));
                traffic.ask(inside(resolver, index % clients), resolver, 53);
                traffic.ask(resolver, authority, 53);
            }
            Self::Cdn { server, clients, .. } => {
                traffic.connect(inside(server, index % clients), server, HTTPS, 1);
            }
            Self::Gateway { gateway, .. } => {
                let server = traffic.outside(gateway);
                traffic.connect(gateway, server, HTTPS, 1);
            }
            Self::Poller { poller, devices, .. } => {
                traffic.ask(poller, inside(poller, index % devices), 161);
            }
            Self::Backup { server, clients, .. } => {
                traffic.connect(inside(server, index % clients), server, 873, 1);
            }
        }
    }
}

/// Position of a packet, request or connection among those of its actor.
struct Action {
    /// Number since the actor's first one.
    index: u64,
    /// Number of its second.
    second: u64,
    /// Number in this second.
    number: u64,
}

impl Action {
    /// Returns whether a flooded server has room for another half-open connection.
    const fn has_room(&self) -> bool {
        self.second.is_multiple_of(HALF_OPEN) && self.number < BACKLOG
    }

    /// Returns whether a host may send another ICMP error.
    const fn allows_error(&self) -> bool {
        self.number < ERRORS
    }
}

/// Returns the address with the number `index` among the servers of `port` whose replies go to `victim`.
fn reflector(victim: IpAddr, port: u16, index: u64) -> IpAddr {
    outside(victim, mix((u64::from(port) << 32) | index))
}

/// Returns a random host of the /24 `network`.
fn random_host(traffic: &mut Traffic, network: Ipv4Net) -> IpAddr {
    let host = network.addr().to_bits() | (traffic.number() % 254 + 1) as u32;
    Ipv4Addr::from_bits(host).into()
}

/// Sends the TCP packet `packet`, which its destination resets.
fn reset(traffic: &mut Traffic, packet: Packet) {
    traffic.send(packet);
    traffic.send(packet.reply(TCP_RST, 40));
}

/// Sends the UDP packet `packet`, which its destination refuses if it may send another ICMP error.
fn refuse(traffic: &mut Traffic, packet: Packet, action: &Action) {
    traffic.send(packet);
    if action.allows_error() {
        traffic.send(packet.unreachable());
    }
}

/// Sends a SYN with a forged source to `victim`, which answers if `has_room`.
fn attempt_forged(traffic: &mut Traffic, victim: IpAddr, has_room: bool) {
    let (source, port) = (traffic.outside(victim), traffic.client_port());
    let packet = Packet::tcp([source, victim], [port, HTTPS], TCP_SYN);
    traffic.send(packet);
    if has_room {
        traffic.send(packet.reply(TCP_SYN | TCP_ACK, 60));
    }
}

/// Sends a SYN from `scanner` to `target`, which answers if it is one of the live hosts.
fn probe(traffic: &mut Traffic, scanner: IpAddr, target: IpAddr, port: u16) {
    let packet = Packet::tcp([scanner, target], [traffic.client_port(), port], TCP_SYN);
    traffic.send(packet);
    if is_alive(target) {
        traffic.send(packet.reply(TCP_SYN | TCP_ACK, 60));
    }
}

/// Returns whether `target` belongs to a host.
fn is_alive(target: IpAddr) -> bool {
    let bits = match target {
        IpAddr::V4(target) => target.to_bits().into(),
        IpAddr::V6(target) => target.to_bits() as u64,
    };
    mix(bits).is_multiple_of(ALIVE)
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
            Self::SynFlood { .. } | Self::AckFlood { .. } => rate("forged sources").fmt(f),
            Self::UdpFlood { .. } => write!(f, "{} to random ports", rate("forged sources")),
            Self::FloodedServer { clients, packets, .. } => {
                let forged = rate("forged sources");
                write!(f, "{forged}, and {clients} clients/s with {packets} packets each")
            }
            Self::Reflection { servers, .. } => {
                write!(f, "{} from {} servers", rate("packets"), grouped(*servers))
            }
            Self::SynAckReflection { victims, servers, .. } => {
                let servers = grouped(*servers);
                write!(f, "{} from {servers} servers to {victims} hosts", rate("packets"))
            }
            Self::CarpetBombing { network, .. } | Self::PingCarpet { network, .. } => {
                write!(f, "{} to a /{}", rate("forged sources"), network.prefix_len())
            }
            Self::Scan { network, port, .. } => {
                write!(f, "{} of a /{}, tcp/{port}", rate("hosts"), network.prefix_len())
            }
            Self::SynAckScan { network, .. } => {
                let hosts = rate("hosts");
                write!(f, "{hosts} of a /{}, from tcp/{HTTPS}", network.prefix_len())
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
