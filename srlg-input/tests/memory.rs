//! Memory of a decoder that hostile exporters fill, alone in a process, as it is the process that is
//! measured.

#![cfg(target_os = "linux")]

use std::net::{Ipv4Addr, SocketAddr};

use srlg_input::flow::{Decoder, DecoderOptions};

/// Bytes of the process that are in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

fn bytes(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A message of NetFlow v9 with these sets.
fn message(sets: &[Vec<u8>]) -> Vec<u8> {
    [bytes(&[9, 1]), vec![0; 16], sets.concat()].concat()
}

fn set(id: u16, content: &[u8]) -> Vec<u8> {
    [&bytes(&[id, content.len() as u16 + 4])[..], content].concat()
}

/// A template with so many fields that matter, and as many that do not.
fn template(id: u16, fields: u16) -> Vec<u8> {
    let pairs = [[1, 4], [5, 4]].repeat(fields.into()).concat();
    set(0, &[bytes(&[id, 2 * fields]), bytes(&pairs)].concat())
}

#[test]
fn memory_stays_within_what_the_decoder_says() {
    let mut decoder = Decoder::new(DecoderOptions::default()).unwrap();
    let large = message(&[set(300, &[1; 60_000])]);
    // They take more to remember than they hold.
    let tiny = message(&(300..4_300).map(|id| set(id, &[1; 4])).collect::<Vec<_>>());
    let templates = message(&(256..264).map(|id| template(id, 500)).collect::<Vec<_>>());
    let template = message(&[template(256, 10)]);
    let before = resident();
    let mut most = [0; 4];
    let mut number = 0_u32;
    for (phase, (message, sources)) in
        [(large, 1_500), (tiny, 1_500), (templates, 1_500), (template, 100_000)].iter().enumerate()
    {
        for _ in 0..*sources {
            number += 1;
            let address = Ipv4Addr::from_bits(number.wrapping_mul(0x9e37_79b1));
            let source: SocketAddr = (address, 1).into();
            decoder.decode(source, 1, message, |_| panic!("no flow"));
            if number.is_multiple_of(500) {
                most[phase] = most[phase].max(resident().saturating_sub(before));
            }
        }
    }
    let bound = decoder.memory_bound();
    println!("{:?} MB of {} MB; {}", most.map(|it| it >> 20), bound >> 20, decoder.counts());
    assert!(most.iter().all(|most| most <= &bound), "{most:?} bytes of {bound}");
    assert!(most[0] > 50 << 20, "sets are held, or nothing is tested");
    assert!(bound < 256 << 20, "{bound}");
}
