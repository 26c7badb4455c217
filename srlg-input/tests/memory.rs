//! A test of the memory use of a decoder that hostile exporters attack. The test has its own process, because it
//! measures the memory of the whole process.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of exports build others, too")]
#[path = "inputs/exports/build.rs"]
mod build;

use std::net::{Ipv4Addr, SocketAddr};

use srlg_input::flow::{Decoder, DecoderOptions};

use build::{set, template9, v9};

/// Returns the resident memory of the process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Returns a template of `2 * fields` fields, half of which the decoder ignores.
fn template(id: u16, fields: usize) -> Vec<u8> {
    template9(id, &[(1, 4), (5, 4)].repeat(fields))
}

#[test]
fn memory_stays_within_what_the_decoder_says() {
    let mut decoder = Decoder::new(DecoderOptions::default()).unwrap();
    let large = v9(0, 0, &[set(300, &[1; 60_000])]);
    // Held in memory, these sets take more space than their contents.
    let tiny = v9(0, 0, &(300..4_300).map(|id| set(id, &[1; 4])).collect::<Vec<_>>());
    let templates = v9(0, 0, &(256..264).map(|id| template(id, 500)).collect::<Vec<_>>());
    let template = v9(0, 0, &[template(256, 10)]);
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
