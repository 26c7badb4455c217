//! Tests of batches that a device reads directly from the memory in which the pairs were collected.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use srlg_core::{IpPair, Ipv4Pair};

use super::simulated::{Operation, SimulatedGpu};
use super::{cpu, on, small};
use crate::error::Error;
use crate::ingest::batch::PairBatch;
use crate::time::SliceClock;
use crate::time::{DetectorSink, Slicer};

fn pair(number: u32) -> (IpAddr, IpAddr) {
    let peer = Ipv4Addr::from_bits(number.wrapping_mul(0x9e37_79b9));
    match number % 3 {
        0 => (Ipv6Addr::from_bits(7).into(), peer.into()),
        host => (Ipv4Addr::from_bits(host).into(), peer.into()),
    }
}

fn fill(batch: &mut PairBatch, numbers: std::ops::Range<u32>) {
    batch.clear();
    batch.extend(numbers.map(pair));
}

/// Returns the numbers of uploads, copied bytes and accesses to pinned memory.
fn counted(gpu: &SimulatedGpu) -> [u32; 3] {
    ["upload", "bytes", "look"].map(|operation| gpu.count(operation))
}

#[test]
fn pairs_go_to_the_device_from_where_they_were_pushed() {
    let gpu = SimulatedGpu::new(1);
    let detector = on(&gpu, small()).unwrap();
    let mut batch = detector.pair_batch(100).unwrap();
    fill(&mut batch, 0..90);
    let before = counted(&gpu);
    batch.ingest(&detector).unwrap();
    let after = counted(&gpu);
    // There are 60 IPv4 pairs and 30 other pairs, which take three upload buffers of 416 bytes. The host did
    // not access pinned memory, so it copied no pairs.
    let bytes = 60 * size_of::<Ipv4Pair>() + 30 * size_of::<IpPair>();
    assert_eq!(after[0] - before[0], 2 + 3);
    assert_eq!(after[1] - before[1], bytes as u32);
    assert_eq!(after[2] - before[2], 0);

    // The same pairs in ordinary memory are first copied to page-locked memory.
    let mut plain = PairBatch::new();
    fill(&mut plain, 0..90);
    plain.ingest(&detector).unwrap();
    assert!(gpu.count("look") > after[2]);
}

#[test]
fn a_batch_filled_while_the_device_reads_it_loses_no_pair() {
    for order in 0..12 {
        let (mut gpu, mut cpu) = (on(&SimulatedGpu::new(order), small()).unwrap(), cpu(small()));
        // There are more IPv4 pairs than the batch has room for. The remaining pairs go to ordinary memory.
        let (mut batch, mut plain) = (gpu.pair_batch(50).unwrap(), PairBatch::new());
        for round in 0..6 {
            let numbers = round * 100..round * 100 + 90 + 10 * (round % 3);
            fill(&mut batch, numbers.clone());
            fill(&mut plain, numbers);
            batch.ingest_late(&gpu, round % 3).unwrap();
            plain.ingest_late(&cpu, round % 3).unwrap();
            // Without `clear`, ingested pairs stay in the batch.
            if round % 2 == 0 {
                batch.push((pair(round).0, pair(1000 + round).1));
                plain.push((pair(round).0, pair(1000 + round).1));
                batch.ingest(&gpu).unwrap();
                plain.ingest(&cpu).unwrap();
            }
            assert_eq!(batch.len(), plain.len());
            assert_eq!(batch.v4().unwrap(), plain.v4().unwrap());
            assert_eq!(batch.v6().unwrap(), plain.v6().unwrap());
        }
        let report = cpu.close_slice().unwrap();
        assert_eq!(report.super_points.len(), 3);
        assert_eq!(gpu.close_slice().unwrap(), report);
        assert!(gpu.snapshot().unwrap() == cpu.snapshot().unwrap());
    }
}

#[test]
fn feeds_take_batches_of_a_device() {
    let (mut gpu, mut cpu) = (on(&SimulatedGpu::new(3), small()).unwrap(), cpu(small()));
    let (mut batch, mut plain) = (gpu.pair_batch(64).unwrap(), PairBatch::new());
    let (mut gpu_feed, mut cpu_feed) = (gpu.feed(1 << 10).unwrap(), cpu.feed(1 << 10).unwrap());
    for slice in [0, 0, 1, 9] {
        let numbers = 300 * slice..300 * slice + 290;
        fill(&mut batch, numbers.clone());
        fill(&mut plain, numbers);
        let slice = gpu.slice() + u64::from(slice);
        let arrival = plain.feed_at(&mut cpu_feed, slice).unwrap();
        assert_eq!(batch.feed_at(&mut gpu_feed, slice).unwrap(), arrival);
        batch.feed(&mut gpu_feed).unwrap();
        plain.feed(&mut cpu_feed).unwrap();
    }
    // The cases are an empty batch, IPv4 pairs only, and a slice that is not running yet.
    for (numbers, ahead) in [(0..0, 0), (1..3, 0), (1..3, 1)] {
        fill(&mut batch, numbers.clone());
        fill(&mut plain, numbers);
        let slice = gpu.slice() + ahead;
        let arrival = batch.feed_at(&mut gpu_feed, slice).unwrap();
        assert_eq!(arrival.is_ingested(), ahead == 0);
        assert_eq!(plain.feed_at(&mut cpu_feed, slice).unwrap(), arrival);
    }
    assert_eq!(gpu.close_slice().unwrap(), cpu.close_slice().unwrap());
}

#[test]
fn no_pair_is_lost_in_silence_when_the_device_fails() {
    let gpu = SimulatedGpu::new(1);
    let detector = on(&gpu, small()).unwrap();
    let mut batch = detector.pair_batch(100).unwrap();
    fill(&mut batch, 0..50);
    gpu.fail(Operation::Look, 0);
    batch.extend((50..60).map(pair));
    assert_eq!(batch.len(), 60);
    // A push error is returned once, and all pairs remain.
    gpu.fail(Operation::Look, u32::MAX);
    assert!(matches!(batch.ingest(&detector), Err(Error::Driver { .. })));
    assert_eq!(batch.v4().unwrap().len() + batch.v6().unwrap().len(), 60);
    batch.ingest(&detector).unwrap();
    gpu.fail(Operation::Upload, 0);
    assert!(matches!(batch.ingest(&detector), Err(Error::Driver { .. })));
    assert!(matches!(batch.ingest(&detector), Err(Error::DeviceLost)));
}

#[test]
fn a_slicer_collects_where_the_device_reads() {
    let gpu = SimulatedGpu::new(1);
    let mut detector = on(&gpu, small()).unwrap();
    let clock = SliceClock::new(Duration::from_secs(1), 2, Duration::from_secs(100)).unwrap();
    let mut slicer = Slicer::with_batch(clock, detector.pair_batch(400).unwrap());
    let mut found = Vec::new();
    let mut sink = DetectorSink::new(&mut detector, |report| {
        found.push(report.super_points.len());
        Ok::<_, Error>(())
    });
    slicer.start(100_000_000_000, &mut sink).unwrap();
    for number in 0..600 {
        slicer.place(100_000_000_000, [pair(number)], &mut sink).unwrap();
    }
    let before = counted(&gpu);
    slicer.flush(&mut sink).unwrap();
    assert_eq!(counted(&gpu)[2], before[2]);
    slicer.advance(101_000_000_000, &mut sink).unwrap();
    assert_eq!(found, [3]);
}
