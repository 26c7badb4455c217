//! Tests that ingest pairs that are already in GPU memory.

use srlg::gpu::cudarc::driver::CudaContext;
use srlg::{Device, IpPair, Ipv4Pair, SlidingDetector};

use crate::feed::assert_equals_one_at_a_time;
use crate::traffic::{Slice, backbone, presets, with_late};

/// Maximum number of pairs per call. The GPU memory of these pairs is freed as soon as the call returns.
const PIECE: usize = 10_007;

/// Ingests IPv4 `pairs` from GPU memory.
pub(crate) fn short(detector: &SlidingDetector, pairs: &[Ipv4Pair]) {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    for piece in pairs.chunks(PIECE) {
        let words: Vec<[u32; 2]> = piece.iter().map(|pair| [pair.inside, pair.peer]).collect();
        detector.ingest_device(&stream.clone_htod(&words).unwrap()).unwrap();
    }
}

/// Ingests `pairs` of either family from GPU memory.
pub(crate) fn long(detector: &SlidingDetector, pairs: &[IpPair]) {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let words = |pair: &IpPair| [pair.inside, pair.peer].concat().try_into().unwrap();
    for piece in pairs.chunks(PIECE) {
        let words: Vec<[u32; 8]> = piece.iter().map(words).collect();
        detector.ingest_device(&stream.clone_htod(&words).unwrap()).unwrap();
    }
}

fn late(detector: &SlidingDetector, slice: &Slice) {
    slice.late.iter().for_each(|(late, pairs)| detector.ingest_late(pairs, *late).unwrap());
}

fn from_the_device(detector: &SlidingDetector, slice: &Slice) {
    short(detector, &slice.pairs);
    late(detector, slice);
}

/// Ingests like [`from_the_device`], but passes all pairs that are on time as [`IpPair`]s.
fn from_the_device_at_length(detector: &SlidingDetector, slice: &Slice) {
    let mapped = |host| [0, 0, 0xffff, host];
    let pair = |pair: &Ipv4Pair| IpPair { inside: mapped(pair.inside), peer: mapped(pair.peer) };
    long(detector, &slice.pairs.iter().map(pair).collect::<Vec<_>>());
    late(detector, slice);
}

fn check(device: Device) {
    for config in presets(6) {
        let traffic = with_late(backbone(51, 10, 150_000));
        assert_equals_one_at_a_time(device, config, &traffic, from_the_device);
    }
    let [config, _] = presets(6);
    let traffic = with_late(backbone(52, 8, 100_000));
    assert_equals_one_at_a_time(device, config, &traffic, from_the_device_at_length);
}

mod resident_pairs {
    #[test]
    fn cuda() {
        crate::device::on_gpu(super::check);
    }
}
