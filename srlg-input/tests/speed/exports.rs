//! Measurements of the number of flow records per second.

use std::hint::black_box;
use std::net::SocketAddr;
use std::thread;
use std::time::Instant;

use flowparser_sflow::SflowParser;
use netflow_parser::NetflowParser;
use srlg_input::flow::{Decoder, DecoderOptions};

use crate::number;

const DATAGRAMS: u32 = 40_000;
const ROUNDS: u32 = 7;
/// Number of records or samples in a datagram.
const RECORDS: u32 = 28;

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Numbers and lengths of the fields that softflowd exports for a flow.
const FIELDS: [u16; 30] = [
    8, 4, 12, 4, 22, 4, 21, 4, 1, 4, 2, 4, 10, 4, 14, 4, 7, 2, 11, 2, 4, 1, 6, 1, 60, 1, 5, 1, 61,
    1,
];

fn record(number: u32) -> Vec<u8> {
    // Multiplication by an odd number scatters the host numbers.
    let host = number.wrapping_mul(0x9e37_79b1) | 1;
    let mut bytes = Vec::new();
    for word in [host, !host, 900_000, 950_000, 60, 1, 0, 0, 0x3039_0050] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend([6, 2, 4, 0, 0]);
    bytes
}

/// Returns a datagram of NetFlow v9 or, for version 10, of IPFIX. Datagram 0 starts with the template.
fn variable(version: u16, number: u32) -> Vec<u8> {
    let mut sets = Vec::new();
    if number == 0 {
        let template = [words(&[256, 15]), words(&FIELDS)].concat();
        sets.extend(words(&[if version == 9 { 0 } else { 2 }, template.len() as u16 + 4]));
        sets.extend(template);
    }
    let records: Vec<u8> = (0..RECORDS).flat_map(|at| record(number * RECORDS + at)).collect();
    sets.extend(words(&[256, records.len() as u16 + 4]));
    sets.extend(records);
    let head: &[u32] = if version == 9 {
        &[1_000_000, 1_700_000_000, number, 0]
    } else {
        &[1_700_000_000, number * RECORDS, 0]
    };
    let mut bytes = words(&[version, if version == 9 { 28 } else { sets.len() as u16 + 16 }]);
    bytes.extend(head.iter().flat_map(|word| word.to_be_bytes()));
    bytes.extend(sets);
    bytes
}

fn v5(number: u32) -> Vec<u8> {
    let mut bytes = words(&[5, RECORDS as u16]);
    for word in [1_000_000, 1_700_000_000, 0, number * RECORDS, 0] {
        bytes.extend(word.to_be_bytes());
    }
    for at in 0..RECORDS {
        let host = (number * RECORDS + at).wrapping_mul(0x9e37_79b1) | 1;
        for word in [host, !host, 0, 0, 1, 60, 900_000, 950_000, 0x3039_0050, 0x0002_0600, 0, 0] {
            bytes.extend(word.to_be_bytes());
        }
    }
    bytes
}

/// Returns an sFlow datagram. Each sample contains the first 128 bytes of an Ethernet frame that carries TCP.
fn sflow(number: u32) -> Vec<u8> {
    let mut all = vec![5, 1, 0x0a00_0001, 0, number, 1_000, RECORDS];
    for at in 0..RECORDS {
        let host = (number * RECORDS + at).wrapping_mul(0x9e37_79b1) | 1;
        all.extend([1, 184, at, 1, 100, 1_000, 0, 1, 2, 1, 1, 144, 1, 1_500, 4, 128]);
        let ip = [0x0800_4500, 0x0072_0000, 0x0000_4006];
        let hosts = [host >> 16, host << 16 | (!host >> 16), !host << 16 | 0x3039];
        let tcp = [0x0050_0000, 0, 0x0000_5002, 0];
        all.extend([0; 3].iter().chain(&ip).chain(&hosts).chain(&tcp));
        all.extend([0; 19]);
    }
    all.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Returns the rate of the fastest round, in millions of records per second. In a round, each of `threads` threads does
/// the same work.
fn rate_of(threads: u64, round: impl Fn() -> u64 + Sync) -> f64 {
    let rates = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        let records: u64 = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(&round)).collect();
            round() + others.into_iter().map(|other| other.join().unwrap()).sum::<u64>()
        });
        assert_eq!(records, threads * u64::from(DATAGRAMS * RECORDS));
        records as f64 / start.elapsed().as_secs_f64() / 1e6
    });
    rates.fold(0.0, f64::max)
}

/// Returns the decoding rate of `threads` threads, in millions of records per second. Each thread has its own decoder.
fn decode(threads: u64, payloads: &[Vec<u8>]) -> f64 {
    let exporter: SocketAddr = "192.0.2.1:2055".parse().unwrap();
    rate_of(threads, || {
        let mut decoder = Decoder::new(DecoderOptions::default()).unwrap();
        let mut sum = 0;
        for payload in payloads {
            decoder.decode(exporter, 1_700_000_000_000_000_000, payload, |contact| {
                sum ^= contact.time_ns ^ number(contact.source) ^ number(contact.destination);
            });
        }
        black_box(sum);
        assert_eq!(decoder.exporter(exporter).unwrap().losses().unwrap().lost, 0);
        decoder.counts().contacts
    })
}

#[test]
#[ignore = "a measurement"]
fn records_of_each_protocol() {
    println!(
        "\n| export | M records/s, one thread | bare parser | ratio | two threads | of one |\n|---|---|---|---|---|---|"
    );
    let payloads = |make: &dyn Fn(u32) -> Vec<u8>| (0..DATAGRAMS).map(make).collect::<Vec<_>>();
    let show = |name: &str, payloads: &[Vec<u8>], bare: f64| {
        let [one, two] = [1, 2].map(|threads| decode(threads, payloads));
        let (of_bare, of_one) = (one / bare, two / one);
        println!("| {name} | {one:.2} | {bare:.2} | {of_bare:.2} | {two:.2} | {of_one:.2} |");
    };
    let v5s = payloads(&v5);
    let v9s = payloads(&|number| variable(9, number));
    let ipfixs = payloads(&|number| variable(10, number));
    for (name, payloads) in [("v5", &v5s), ("v9", &v9s), ("IPFIX", &ipfixs)] {
        let bare = rate_of(1, || {
            let mut parser = NetflowParser::default();
            for payload in payloads {
                let result = black_box(parser.parse_bytes(payload));
                assert!(result.error.is_none());
            }
            u64::from(DATAGRAMS * RECORDS)
        });
        show(name, payloads, bare);
    }
    let sflows = payloads(&sflow);
    let bare = rate_of(1, || {
        let parser = SflowParser::default();
        let parse = |payload: &Vec<u8>| {
            black_box(parser.parse_bytes(payload)).datagrams[0].samples.len() as u64
        };
        sflows.iter().map(parse).sum()
    });
    show("sFlow", &sflows, bare);
}
