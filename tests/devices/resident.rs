//! Pairs that are in the memory of a GPU already.

use srlg::cudarc::driver::CudaContext;
use srlg::{Device, SlidingDetector};

use crate::feed::assert_equals_one_at_a_time;
use crate::traffic::{Slice, backbone, presets, with_late};

/// In pieces, each of which is gone when the call returns.
fn from_the_device(detector: &SlidingDetector, slice: &Slice) {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    for piece in slice.pairs.chunks(10_007) {
        let pairs: Vec<[u32; 2]> = piece.iter().map(|pair| [pair.aip, pair.bip]).collect();
        detector.ingest_device(&stream.clone_htod(&pairs).unwrap()).unwrap();
    }
    slice.late.iter().for_each(|(late, pairs)| detector.ingest_late(pairs, *late).unwrap());
}

fn check(device: Device) {
    for config in presets(6) {
        let traffic = with_late(backbone(51, 10, 150_000));
        assert_equals_one_at_a_time(device, config, &traffic, from_the_device);
    }
}

mod resident_pairs {
    #[test]
    fn cuda() {
        crate::device::on_gpu(super::check);
    }
}
