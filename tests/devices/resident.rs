//! Pairs that are in the memory of a GPU already.

use srlg::gpu::cudarc::driver::CudaContext;
use srlg::{Device, IpPair, SlidingDetector};

use crate::feed::assert_equals_one_at_a_time;
use crate::traffic::{Slice, backbone, presets, with_late};

/// In pieces, each of which is gone when the call returns.
fn from_the_device(detector: &SlidingDetector, slice: &Slice) {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    for piece in slice.pairs.chunks(10_007) {
        let pairs: Vec<[u32; 2]> = piece.iter().map(|pair| [pair.inside, pair.opposite]).collect();
        detector.ingest_device(&stream.clone_htod(&pairs).unwrap()).unwrap();
    }
    slice.late.iter().for_each(|(late, pairs)| detector.ingest_late(pairs, *late).unwrap());
}

/// The same as pairs of any two hosts.
fn from_the_device_at_length(detector: &SlidingDetector, slice: &Slice) {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let mapped = |host| [0, 0, 0xffff, host];
    for piece in slice.pairs.chunks(10_007) {
        let pair = |pair: &IpPair| [mapped(pair.inside), mapped(pair.opposite)].concat();
        let pairs: Vec<[u32; 8]> = piece.iter().map(|it| pair(it).try_into().unwrap()).collect();
        detector.ingest_device(&stream.clone_htod(&pairs).unwrap()).unwrap();
    }
    slice.late.iter().for_each(|(late, pairs)| detector.ingest_late(pairs, *late).unwrap());
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
