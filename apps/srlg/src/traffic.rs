//! Traffic of a site and of its attackers, one second at a time.
//!
//! ```text
//! Actor --packets--> Traffic: a sampler or the flow cache of an exporter --contacts--> monitor
//! ```
//!
//! Invariant: the same seed and the same calls always return the same contacts. Nothing is stored but the flow cache.

mod actor;
mod cache;
mod packet;
mod reflector;

use std::fmt;
use std::net::IpAddr;
use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use srlg_input::Contact;
use srlg_input::contact::{TCP, TCP_ACK, TCP_SYN};

pub use actor::{Actor, inside};
use cache::FlowCache;
pub(crate) use packet::{Icmp, Packet, UDP};
pub use reflector::Reflector;

/// Way in which an input sees packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// Each packet is a contact.
    Packets,
    /// One packet in N is a contact.
    Sampled(NonZeroU32),
    /// An exporter with this active timeout in seconds reports flows.
    Flows(u32),
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets => f.write_str("packets"),
            Self::Sampled(rate) => write!(f, "sampled 1:{rate}"),
            Self::Flows(active) => write!(f, "active timeout {active} s"),
        }
    }
}

/// Traffic whose addresses depend on a seed.
pub struct Traffic {
    random: u64,
    time_ns: u64,
    observation: Observation,
    cache: FlowCache,
    contacts: Vec<Contact>,
}

impl Traffic {
    /// Creates a generator whose random numbers depend on `seed`. Each of its packets is a contact.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let (observation, cache) = (Observation::Packets, FlowCache::default());
        Self { random: seed, time_ns: 0, observation, cache, contacts: Vec::new() }
    }

    /// Sets how the input sees packets from now on.
    pub fn observe(&mut self, observation: Observation) {
        self.observation = observation;
    }

    /// Starts a second of traffic.
    pub fn begin(&mut self, time_ns: u64) {
        self.time_ns = time_ns;
    }

    /// Returns the contacts since the last call.
    pub fn take(&mut self) -> Vec<Contact> {
        if let Observation::Flows(active) = self.observation {
            self.cache.expire(self.time_ns, active, &mut self.contacts);
        }
        std::mem::take(&mut self.contacts)
    }

    /// Returns the next number of a splitmix64 generator.
    pub(crate) fn number(&mut self) -> u64 {
        self.random = self.random.wrapping_add(STEP);
        mix(self.random)
    }

    /// Returns a random outside address of the same version as `like`.
    fn outside(&mut self, like: IpAddr) -> IpAddr {
        outside(like, self.number())
    }

    /// Returns a random port of a client.
    fn client_port(&mut self) -> u16 {
        1_024 + (self.number() % 60_000) as u16
    }

    /// Adds a flow of `packets` packets, which the input sees as one contact.
    fn add(
        &mut self,
        [source, destination]: [IpAddr; 2],
        [source_port, port]: [u16; 2],
        flags: u8,
        packets: u64,
    ) {
        let mut contact = Contact::new(self.time_ns, source.into(), destination.into());
        contact.protocol = Some(if flags == 0 { UDP } else { TCP });
        contact.tcp_flags = NonZeroU8::new(flags);
        contact.source_port = Some(source_port);
        contact.destination_port = Some(port);
        contact.packets = NonZeroU64::new(packets);
        contact.octets = NonZeroU64::new(packets * 60);
        self.contacts.push(contact);
    }

    /// Sends `packet`, which the input sees according to the observation.
    fn send(&mut self, packet: Packet) {
        match self.observation {
            Observation::Packets => self.contacts.push(packet.contact(self.time_ns)),
            Observation::Sampled(rate) => {
                if self.number().is_multiple_of(rate.get().into()) {
                    let mut contact = packet.contact(self.time_ns);
                    contact.sampling = Some(rate);
                    self.contacts.push(contact);
                }
            }
            Observation::Flows(_) => self.cache.add(&packet.contact(self.time_ns)),
        }
    }

    /// Lets `client` open a TCP connection to `port` of `server`, send `requests` requests that the server answers, and
    /// close the connection.
    fn connect(&mut self, client: IpAddr, server: IpAddr, port: u16, requests: u64) {
        let ports = [self.client_port(), port];
        let packet = Packet::tcp([client, server], ports, TCP_SYN);
        self.send(packet);
        self.send(packet.reply(TCP_SYN | TCP_ACK, 60));
        self.send(Packet { flags: TCP_ACK, octets: 52, ..packet });
        for _ in 0..requests {
            self.send(Packet { flags: TCP_ACK, octets: 400, ..packet });
            self.send(packet.reply(TCP_ACK, 1_500));
        }
        self.send(Packet { flags: TCP_FIN | TCP_ACK, octets: 52, ..packet });
        self.send(packet.reply(TCP_FIN | TCP_ACK, 52));
    }

    /// Lets `client` send a request to `port` of `server` over UDP, which answers.
    fn ask(&mut self, client: IpAddr, server: IpAddr, port: u16) {
        let ports = [self.client_port(), port];
        let packet = Packet::udp([client, server], ports, 80);
        self.send(packet);
        self.send(packet.reply(0, 200));
    }

    /// Adds a query of an inside host, without which a monitor would miss its input.
    pub fn stay_alive(&mut self) {
        self.ask([10, 200, 0, 1].into(), [64, 0, 0, 1].into(), 53);
    }

    /// Floods `victim` from `sources` forged addresses, each of which sends `packets` packets.
    pub fn flood(&mut self, victim: IpAddr, sources: u32, packets: u64) {
        for _ in 0..sources {
            let (source, port) = (self.outside(victim), self.client_port());
            self.add([source, victim], [port, 80], TCP_SYN, packets);
        }
    }

    /// Lets `scanner` contact `hosts` hosts from the list of addresses that `host` returns for a random number.
    pub fn scan(&mut self, scanner: IpAddr, hosts: u32, host: impl Fn(u64) -> IpAddr) {
        for _ in 0..hosts {
            let (number, port) = (self.number(), self.client_port());
            self.add([scanner, host(number)], [port, 445], TCP_SYN, 1);
        }
    }

    /// Lets `clients` outside hosts query the inside server at `port`, which answers.
    pub fn serve(&mut self, server: IpAddr, port: u16, clients: u32) {
        for _ in 0..clients {
            let (client, client_port) = (self.outside(server), self.client_port());
            let flags = if port == 53 { 0 } else { TCP_SYN | TCP_ACK };
            self.add([client, server], [client_port, port], flags, 4);
            self.add([server, client], [port, client_port], flags, 4);
        }
    }
}

/// FIN bit of the TCP flags.
const TCP_FIN: u8 = 0x01;

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns a number that depends on all bits of `x` (the output function of splitmix64).
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Returns the outside address of the same version as `like` that belongs to `number`.
fn outside(like: IpAddr, number: u64) -> IpAddr {
    match like {
        // The first byte is between 64 and 127, so the address is not in 10.0.0.0/8.
        IpAddr::V4(_) => (number as u32 & 0x3FFF_FFFF | 0x4000_0000).to_be_bytes().into(),
        // Peers count by /64, so only the upper half differs.
        IpAddr::V6(_) => (u128::from(number >> 3 | 0x2000 << 48) << 64 | 1).to_be_bytes().into(),
    }
}

#[cfg(test)]
mod tests {
    use srlg_input::contact::TCP_RST;

    use super::*;

    fn contacts(seed: u64, observation: Observation) -> Vec<Contact> {
        let flood = Actor::SynFlood { victim: [10, 0, 0, 1].into(), rate: 40_000.0 };
        let mut traffic = Traffic::new(seed);
        traffic.observe(observation);
        flood.act(&mut traffic, 1);
        traffic.take()
    }

    #[test]
    fn traffic_depends_on_the_seed_alone() {
        let of = |seed| contacts(seed, Observation::Packets);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn a_host_refuses_each_tcp_packet_and_1000_udp_packets_per_second() {
        let victim = [10, 0, 0, 1].into();
        let floods = [
            (Actor::AckFlood { victim, rate: 1_500.0 }, TCP, TCP_RST, 1_500),
            (Actor::UdpFlood { victim, rate: 1_500.0 }, 1, 0, 1_000),
        ];
        for (flood, protocol, flags, expected) in floods {
            let mut traffic = Traffic::new(1);
            flood.act(&mut traffic, 1);
            let contacts = traffic.take();
            let refusals: Vec<_> =
                contacts.iter().filter(|it| it.source == victim.into()).collect();
            assert_eq!((contacts.len() - refusals.len(), refusals.len()), (1_500, expected));
            for refusal in refusals {
                assert_eq!(refusal.protocol, Some(protocol));
                assert_eq!(refusal.tcp_flags, NonZeroU8::new(flags));
            }
        }
    }

    #[test]
    fn a_flooded_server_answers_its_clients_and_each_forged_source() {
        let server = [10, 0, 0, 1].into();
        let flood = Actor::FloodedServer { server, clients: 40, packets: 95, rate: 1_500.0 };
        let mut traffic = Traffic::new(1);
        flood.act(&mut traffic, 1);
        let contacts = traffic.take();
        let count = |of: &dyn Fn(&&Contact) -> bool| contacts.iter().filter(of).count();
        assert_eq!(count(&|it| it.destination == server.into()), 1_500 + 40 * 95);
        let flags = NonZeroU8::new(TCP_SYN | TCP_ACK);
        assert_eq!(count(&|it| it.source == server.into() && it.tcp_flags == flags), 1_540);
    }

    #[test]
    fn one_packet_in_n_is_sampled() {
        let rate = NonZeroU32::new(100).unwrap();
        let sampled = contacts(1, Observation::Sampled(rate));
        assert!(sampled.iter().all(|it| it.sampling == Some(rate)));
        // The number has a binomial distribution with mean 400 and standard deviation 20.
        assert!((300..=500).contains(&sampled.len()), "{}", sampled.len());
    }
}
