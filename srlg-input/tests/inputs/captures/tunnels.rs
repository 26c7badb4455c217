//! Tests of tunnelled packets that scapy generated, with the hosts that scapy finds (tunnels/make.py).

use srlg_input::capture::{Reader, Skip};
use srlg_input::contact::Host;
use srlg_input::packet::Tunnels;

use super::drain;
use crate::reader::build::{self, MICROSECONDS};

const PACKETS: &[u8] = include_bytes!("tunnels/tunnels.pcap");
const HOSTS: &str = include_str!("tunnels/hosts.csv");

type Pair = [Host; 2];

/// The result of scapy for a frame.
struct Found {
    /// Hosts of each IP packet, from the outside in.
    packets: Vec<Pair>,
    /// Reason why there are no innermost hosts.
    skip: Option<&'static str>,
}

impl Found {
    fn inner(&self) -> Option<Pair> {
        self.packets.last().copied().filter(|_| self.skip.is_none())
    }
}

fn found() -> Vec<Found> {
    let host = |field: &str| field.parse::<Host>().unwrap();
    let pair = |field: &str| {
        let (source, destination) = field.split_once(' ').unwrap();
        [host(source), host(destination)]
    };
    let row = |line: &'static str| {
        let mut fields = line.split(',');
        let skip = fields.next().filter(|skip| !skip.is_empty());
        Found { skip, packets: fields.map(pair).collect() }
    };
    HOSTS.lines().map(row).collect()
}

/// Returns the hosts of all contacts, and the number of skipped packets for each reason that occurred.
fn read(tunnels: Tunnels) -> (Vec<Pair>, Vec<(&'static str, u64)>) {
    let mut reader = Reader::new(PACKETS).unwrap().with_tunnels(tunnels);
    let contacts = drain(&mut reader);
    let counts = reader.counts();
    let skips: Vec<_> = Skip::ALL
        .into_iter()
        .map(|reason| (reason.name(), counts.skipped(reason)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let skipped: u64 = skips.iter().map(|(_, count)| count).sum();
    assert_eq!(counts.packets, contacts.len() as u64 + skipped);
    (contacts.iter().map(|it| [it.source, it.destination]).collect(), skips)
}

const SKIPS: [(&str, u64); 4] =
    [("cut-tunnel", 1), ("tunnel-fragment", 1), ("tunnel-content", 2), ("deep-tunnel", 1)];

#[test]
fn the_hosts_of_packets_in_tunnels_are_those_that_scapy_finds() {
    let found = found();
    let (outer, skips) = read(Tunnels::Outer);
    assert_eq!(outer, found.iter().map(|it| it.packets[0]).collect::<Vec<_>>());
    assert_eq!(skips, []);

    let (inner, skips) = read(Tunnels::Inner);
    assert_eq!(inner, found.iter().filter_map(Found::inner).collect::<Vec<_>>());
    assert_eq!(skips, SKIPS);
    for (name, count) in SKIPS {
        let made = found.iter().filter(|it| it.skip == Some(name)).count();
        assert_eq!(made as u64, count, "{name}");
    }

    let (both, skips) = read(Tunnels::Both);
    let pairs = found.iter().flat_map(|it| {
        let inner = it.inner().filter(|_| it.packets.len() > 1);
        [Some(it.packets[0]), inner].into_iter().flatten()
    });
    assert_eq!(both, pairs.collect::<Vec<_>>());
    assert_eq!(skips, SKIPS);
}

#[test]
fn datagrams_to_ports_of_tunnels_that_carry_no_packet_are_ordinary() {
    for port in [4789, 8472, 6081, 2152, 6635_u16] {
        for payload in [&[][..], &[0; 7], &[0xff; 40]] {
            let length = 8 + payload.len() as u16;
            let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2, 8, 0, 0x45, 0];
            frame.extend((20 + length).to_be_bytes());
            frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0xc0, 0]);
            frame.extend([port, length, 0].map(u16::to_be_bytes).concat());
            frame.extend(payload);
            let mut file = build::pcap(false, MICROSECONDS, 1);
            file.record(0, 0, &frame);
            let mut reader = Reader::new(std::io::Cursor::new(file.bytes)).unwrap();
            reader = reader.with_tunnels(Tunnels::Inner);
            let contacts = drain(&mut reader);
            let hosts: Vec<_> = contacts.iter().map(|it| [it.source, it.destination]).collect();
            let outer = [[192, 0, 2, 1], [192, 0, 2, 2]].map(Host::from);
            assert_eq!(hosts, [outer], "port {port}: {}", reader.counts());
        }
    }
}

#[test]
fn a_frame_that_is_cut_has_hosts_of_the_whole_one_or_none() {
    let mut records = &PACKETS[24..];
    for found in found() {
        let (header, rest) = records.split_first_chunk::<16>().unwrap();
        let length = u32::from_le_bytes(*header[8..].first_chunk().unwrap()) as usize;
        let (frame, rest) = rest.split_at(length);
        records = rest;
        for kept in 0..=length {
            let cut = (kept as u32).to_le_bytes();
            let file = [&PACKETS[..24], &header[..8], &cut, &header[12..], &frame[..kept]].concat();
            let reader = Reader::new(std::io::Cursor::new(file)).unwrap();
            let mut reader = reader.with_tunnels(Tunnels::Inner);
            let contacts = drain(&mut reader);
            assert_eq!((reader.counts().packets, reader.truncation()), (1, None));
            for contact in contacts {
                assert!(found.packets.contains(&[contact.source, contact.destination]));
            }
        }
    }
    assert!(records.is_empty());
}
