//! Measurements of the time per packet.

use std::hint::black_box;
use std::time::Instant;

use srlg_input::capture::Reader;
use srlg_input::contact::{Contact, View, ViewOptions, parse_network};

use crate::number;

const FRAMES: u32 = 1_000_000;
const ROUNDS: u32 = 9;

/// Returns a pcap file of Ethernet frames of 60 bytes. `is_ipv6` returns whether the frame with a given number carries
/// IPv6. `tag` precedes the EtherType.
fn pcap(tag: &[u8], is_ipv6: impl Fn(u32) -> bool) -> Vec<u8> {
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    for field in [0x0004_0002_u32, 0, 0, 65_535, 1] {
        file.extend(field.to_le_bytes());
    }
    for number in 0..FRAMES {
        for field in [number / 1_000, number % 1_000, 60, 60] {
            file.extend(field.to_le_bytes());
        }
        // Multiplication by an odd number scatters the host numbers.
        let frame = frame(is_ipv6(number), number.wrapping_mul(0x9e37_79b1));
        file.extend_from_slice(&frame[..12]);
        file.extend_from_slice(tag);
        file.extend_from_slice(&frame[12..60 - tag.len()]);
    }
    file
}

fn frame(is_ipv6: bool, host: u32) -> [u8; 60] {
    let mut frame = [0; 60];
    let source = host.to_be_bytes();
    if is_ipv6 {
        frame[12..16].copy_from_slice(&[0x86, 0xdd, 0x60, 0]);
        frame[22..26].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        frame[34..38].copy_from_slice(&source);
        frame[38..42].copy_from_slice(&[0x2a, 0x00, 0x00, 0x01]);
        frame[50..54].copy_from_slice(&source);
    } else {
        frame[12..18].copy_from_slice(&[0x08, 0x00, 0x45, 0, 0, 46]);
        frame[26..30].copy_from_slice(&source);
        frame[30..34].copy_from_slice(&[10, 0, source[0], source[3]]);
    }
    frame
}

/// Prints the minimum time per packet over all rounds, in nanoseconds.
fn measure(name: &str, file: &[u8], mut read: impl FnMut(&mut Reader)) {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut reader = Reader::new(std::io::Cursor::new(file.to_vec())).unwrap();
        let start = Instant::now();
        read(&mut reader);
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(FRAMES));
        assert_eq!(reader.counts().packets, u64::from(FRAMES));
        assert_eq!(reader.counts().contacts, u64::from(FRAMES));
    }
    println!("{name}: {least:.1} ns a packet");
}

fn for_each(reader: &mut Reader, mut receive: impl FnMut(&Contact)) {
    while let Some(contacts) = reader.next_contacts().unwrap() {
        contacts.iter().for_each(&mut receive);
    }
}

#[test]
#[ignore = "a measurement"]
fn packets_of_a_pcap() {
    // The order is irregular so that the branch predictor of a processor cannot learn it.
    let both = pcap(&[], |number| number.wrapping_mul(0x9e37_79b1) >> 16 & 1 == 1);
    let inside = ["10.0.0.0/8", "2a00::/16"].map(|network| parse_network(network).unwrap());
    let view = View::new(&ViewOptions { inside: inside.to_vec(), ..ViewOptions::default() });
    let view = view.unwrap();
    let files = [
        ("IPv4", pcap(&[], |_| false)),
        ("IPv6", pcap(&[], |_| true)),
        ("both", both),
        ("IPv4 with a VLAN tag", pcap(&[0x81, 0x00, 0, 5], |_| false)),
    ];
    for (name, file) in files {
        let mut sum = 0;
        measure(&format!("contacts of {name}"), &file, |reader| {
            for_each(reader, |contact| {
                sum ^= contact.time_ns ^ number(contact.source) ^ number(contact.destination);
            });
        });
        measure(&format!("pairs of {name}"), &file, |reader| {
            for_each(reader, |contact| {
                for (host, peer) in view.pairs(contact) {
                    sum ^= number(host) ^ number(peer).rotate_left(7);
                }
            });
        });
        black_box(sum);
    }
}
