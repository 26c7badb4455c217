//! Traffic of a site and of its attackers, one second at a time.

use std::net::IpAddr;
use std::num::{NonZeroU8, NonZeroU64};

use srlg_input::Contact;
use srlg_input::contact::{TCP, TCP_ACK, TCP_SYN};

const UDP: u8 = 17;

/// Traffic whose addresses depend on a seed.
pub struct Traffic {
    random: u64,
    time_ns: u64,
    contacts: Vec<Contact>,
}

impl Traffic {
    /// Returns no traffic yet.
    pub fn new(seed: u64) -> Self {
        Self { random: seed, time_ns: 0, contacts: Vec::new() }
    }

    /// Starts a second of traffic.
    pub fn begin(&mut self, time_ns: u64) {
        self.time_ns = time_ns;
    }

    /// Returns the contacts since the last call.
    pub fn take(&mut self) -> Vec<Contact> {
        std::mem::take(&mut self.contacts)
    }

    /// Returns the next number of a splitmix64 generator.
    fn number(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.random;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// Returns a random outside address of the same version as `like`.
    fn outside(&mut self, like: IpAddr) -> IpAddr {
        let number = self.number();
        match like {
            // The first byte is between 64 and 127, so the address is not in 10.0.0.0/8.
            IpAddr::V4(_) => (number as u32 & 0x3FFF_FFFF | 0x4000_0000).to_be_bytes().into(),
            // Peers count by /64, so only the upper half differs.
            IpAddr::V6(_) => {
                (u128::from(number >> 3 | 0x2000 << 48) << 64 | 1).to_be_bytes().into()
            }
        }
    }

    /// Adds `packets` packets of a flow.
    fn add(&mut self, source: IpAddr, destination: IpAddr, port: u16, flags: u8, packets: u64) {
        let mut contact = Contact::new(self.time_ns, source.into(), destination.into());
        contact.protocol = Some(if flags == 0 { UDP } else { TCP });
        contact.tcp_flags = NonZeroU8::new(flags);
        contact.destination_port = Some(port);
        contact.packets = NonZeroU64::new(packets);
        contact.octets = NonZeroU64::new(packets * 60);
        self.contacts.push(contact);
    }

    /// Floods `victim` from `sources` forged addresses, each of which sends `packets` packets.
    pub fn flood(&mut self, victim: IpAddr, sources: u32, packets: u64) {
        for _ in 0..sources {
            let source = self.outside(victim);
            self.add(source, victim, 80, TCP_SYN, packets);
        }
    }

    /// Lets `scanner` contact `hosts` hosts from the list of addresses that `host` returns for a random number.
    pub fn scan(&mut self, scanner: IpAddr, hosts: u32, host: impl Fn(u64) -> IpAddr) {
        for _ in 0..hosts {
            let number = self.number();
            self.add(scanner, host(number), 445, TCP_SYN, 1);
        }
    }

    /// Lets `clients` outside hosts query the inside server at `port`, which answers.
    pub fn serve(&mut self, server: IpAddr, port: u16, clients: u32) {
        for _ in 0..clients {
            let client = self.outside(server);
            let client_port = 1_024 + (self.number() % 60_000) as u16;
            let flags = if port == 53 { 0 } else { TCP_SYN | TCP_ACK };
            self.add(client, server, port, flags, 4);
            self.add(server, client, client_port, flags, 4);
        }
    }
}
