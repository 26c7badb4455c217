//! A few seconds of IPv4 and IPv6 packets: a scanner, a flood, a busy server and background traffic.
//! [`Packet::frame`] converts a packet to a frame, and [`pcap`] combines frames into a pcap file.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// Time of the first packet, in seconds since the Unix epoch. It is 400 s after a full hour.
pub const START_S: u32 = 1_750_000_000;
const PACKETS_PER_S: u32 = 2_000;

/// A packet of synthetic traffic.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Time since the first packet, in microseconds.
    pub after_us: u32,
    /// Source and destination addresses, both of the same family.
    pub hosts: [IpAddr; 2],
    /// IP protocol number: 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// Source and destination ports.
    pub ports: [u16; 2],
    /// TCP flags, or 0 for UDP.
    pub flags: u8,
}

fn inside(is_v6: bool, number: u32) -> IpAddr {
    if is_v6 {
        Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(number)).into()
    } else {
        Ipv4Addr::from_bits(0x0a00_0000 + number).into()
    }
}

fn outside(is_v6: bool, number: u32) -> IpAddr {
    // The multiplication with an odd factor puts the hosts out of order.
    let mixed = number.wrapping_mul(0x9e37_79b1);
    if is_v6 {
        Ipv6Addr::from_bits(0x2a00_0001 << 96 | u128::from(mixed) << 64 | u128::from(number)).into()
    } else {
        Ipv4Addr::from_bits(0x6000_0000 | mixed & 0x0fff_ffff).into()
    }
}

/// Returns the packets of one family: 3,800 conversations with 4,700 unidirectional flows in total.
fn family(is_v6: bool) -> Vec<Packet> {
    let packet =
        |hosts, protocol, ports, flags| Packet { after_us: 0, hosts, protocol, ports, flags };
    let mut packets = Vec::new();
    for number in 0..1_200 {
        // The scanner sends packets without answers, and the flood has many sources.
        let scanned = [inside(is_v6, 2), outside(is_v6, number)];
        packets.push(packet(scanned, TCP, [40_000, 445], SYN));
        let flooded = [outside(is_v6, 10_000 + number), inside(is_v6, 1)];
        packets.push(packet(flooded, UDP, [1_024 + number as u16, 53], 0));
    }
    for number in 0..900 {
        // Clients send packets to the server, which answers.
        let client = outside(is_v6, 20_000 + number);
        let (server, ports) = (inside(is_v6, 3), [2_000 + number as u16, 443]);
        packets.push(packet([client, server], TCP, ports, SYN));
        packets.push(packet([server, client], TCP, [ports[1], ports[0]], SYN | ACK));
        packets.push(packet([client, server], TCP, ports, ACK));
    }
    for number in 0..500 {
        let hosts = [inside(is_v6, 100 + number % 50), outside(is_v6, 30_000 + number)];
        packets.push(packet(hosts, UDP, [5_000, 123], 0));
    }
    packets
}

impl Packet {
    /// Returns the packet as an Ethernet frame.
    ///
    /// # Panics
    ///
    /// Panics if the two hosts have different address families.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let [source, destination] = self.ports.map(u16::to_be_bytes);
        let mut segment = [source, destination].concat();
        if self.protocol == TCP {
            segment.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        } else {
            segment.extend([0, 12, 0, 0, 1, 2, 3, 4]);
        }
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        let length = segment.len() as u16;
        match self.hosts {
            [IpAddr::V4(source), IpAddr::V4(destination)] => {
                frame.extend([8, 0, 0x45, 0]);
                frame.extend((length + 20).to_be_bytes());
                frame.extend([0, 0, 0, 0, 64, self.protocol, 0, 0]);
                frame.extend([source.octets(), destination.octets()].concat());
            }
            [source, destination] => {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
                frame.extend(length.to_be_bytes());
                frame.extend([self.protocol, 64]);
                let [IpAddr::V6(source), IpAddr::V6(destination)] = [source, destination] else {
                    panic!("both hosts of a packet must have the same family")
                };
                frame.extend([source.octets(), destination.octets()].concat());
            }
        }
        frame.extend(segment);
        frame
    }
}

/// Returns the packets of `families` in time order. Each item of `families` is `true` for IPv6 or `false` for IPv4.
#[must_use]
pub fn packets(families: &[bool]) -> Vec<Packet> {
    let mut packets: Vec<Packet> = families.iter().flat_map(|&is_v6| family(is_v6)).collect();
    for (number, packet) in (0_u32..).zip(&mut packets) {
        packet.after_us = number * (1_000_000 / PACKETS_PER_S);
    }
    packets
}

/// Returns a pcap file that has the link type `link_type` and contains `frames`. The time of each frame is in
/// microseconds since [`START_S`].
pub fn pcap(link_type: u32, frames: impl Iterator<Item = (u32, Vec<u8>)>) -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link_type];
    let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for (after_us, frame) in frames {
        let length = frame.len() as u32;
        let (seconds, rest) = (START_S + after_us / 1_000_000, after_us % 1_000_000);
        let record = [seconds, rest, length, length];
        file.extend(record.into_iter().flat_map(u32::to_le_bytes));
        file.extend(frame);
    }
    file
}
