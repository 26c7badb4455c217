//! Tests of the memory use of readers of hostile input. The tests have their own process and run in turn, because they
//! measure the memory of the whole process.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of exports build others, too")]
#[path = "inputs/exports/build.rs"]
mod build;

use std::io::{Cursor, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use srlg_input::capture::{Reader, Skip};
use srlg_input::flow::{Decoder, DecoderOptions};

use build::{set, template9, v9};

static IN_TURN: Mutex<()> = Mutex::new(());

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
fn memory_stays_within_the_stated_limit() {
    let _turn = IN_TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut decoder = Decoder::new(DecoderOptions::default()).unwrap();
    let large = v9(0, 0, &[set(300, &[1; 60_000])]);
    // Held in memory, these sets take more space than their contents.
    let tiny = v9(0, 0, &(300..4_300).map(|id| set(id, &[1; 4])).collect::<Vec<_>>());
    let joined = v9(0, 0, &vec![set(300, &[1; 40]); 16]);
    let templates = v9(0, 0, &(256..264).map(|id| template(id, 500)).collect::<Vec<_>>());
    let template = v9(0, 0, &[template(256, 10)]);
    let before = resident();
    let mut most = [0; 5];
    let mut number = 0_u32;
    for (phase, (message, sources)) in
        [(large, 1_500), (tiny, 1_500), (joined, 1_500), (templates, 1_500), (template, 100_000)]
            .iter()
            .enumerate()
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

/// A source that measures the memory of the process at each read.
struct Source {
    bytes: Cursor<Vec<u8>>,
    most: Arc<AtomicUsize>,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.most.fetch_max(resident(), Relaxed);
        // A kilobyte is decompressed to about a megabyte.
        let length = buffer.len().min(1_024);
        self.bytes.read(&mut buffer[..length])
    }
}

#[test]
fn a_gzip_bomb_takes_time_but_no_memory() {
    let _turn = IN_TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"time_ms,src,dst\n1,192.0.2.1,192.0.2.2\n").unwrap();
    // The second row has 256 MiB.
    for _ in 0..256 {
        encoder.write_all(&[b'7'; 1 << 20]).unwrap();
    }
    let bytes = Cursor::new(encoder.finish().unwrap());
    let (before, most) = (resident(), Arc::new(AtomicUsize::new(0)));
    let mut reader = Reader::new(Source { bytes, most: Arc::clone(&most) }).unwrap();
    let mut contacts = 0;
    while let Some(block) = reader.next_contacts().unwrap() {
        contacts += block.len();
    }
    assert_eq!((contacts, reader.counts().skipped(Skip::BadRow)), (1, 1));
    let grown = most.load(Relaxed).saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes");
}
