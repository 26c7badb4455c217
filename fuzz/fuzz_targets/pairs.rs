//! A fuzz target that reads arbitrary bytes as pairs. The target then serialises the pairs again, and merges them into
//! detectors of both schemes.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use srlg_fuzz::state::{bytes_of, detector};
use srlg_host::ingest::PairBatch;
use srlg_host::state::{FormatError, SlicePairs};
use srlg_host::{Error, SlidingDetector};

/// Maximum number of pairs that are read.
const MOST_PAIRS: usize = 1 << 14;

static DETECTORS: LazyLock<[SlidingDetector; 2]> = LazyLock::new(|| [true, false].map(detector));

fuzz_target!(|input: &[u8]| {
    let empty = SlicePairs::new(&PairBatch::new(), 5).expect("ordinary memory");
    let envelope = empty.to_bytes().expect("room for a few bytes");
    let bytes = bytes_of(input, &envelope, 64);
    let Ok(pairs) = SlicePairs::from_bytes(&bytes, MOST_PAIRS) else { return };
    let written = pairs.to_bytes().expect("room for a few bytes");
    assert_eq!(SlicePairs::from_bytes(&written, pairs.len()).expect("as written"), pairs);
    if let Some(fewer) = pairs.len().checked_sub(1) {
        let error = SlicePairs::from_bytes(&written, fewer).expect_err("one pair too many");
        assert!(matches!(error, Error::Format(FormatError::TooManyPairs { .. })), "{error}");
    }
    for detector in &*DETECTORS {
        match detector.merge_pairs(&pairs) {
            Ok(()) | Err(Error::FromFuture { .. } | Error::OlderThanWindow { .. }) => {}
            Err(Error::Ipv6InPaper) => {}
            Err(error) => panic!("{error}"),
        }
    }
});
