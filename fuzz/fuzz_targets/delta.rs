//! A fuzz target that reads arbitrary bytes as a delta. The target then merges the delta, serialises it again and
//! splits it.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use srlg_fuzz::state::{bytes_of, detector};
use srlg_host::state::Delta;
use srlg_host::{Error, SlidingDetector};

thread_local! {
    static DETECTORS: RefCell<[SlidingDetector; 2]> = RefCell::new([true, false].map(detector));
}

fuzz_target!(|input: &[u8]| {
    DETECTORS.with_borrow_mut(|detectors| detectors.iter_mut().for_each(|one| take(one, input)));
});

fn take(detector: &mut SlidingDetector, input: &[u8]) {
    let envelope = detector.delta(1).expect("a window has a slice").to_bytes();
    let bytes = bytes_of(input, &envelope.expect("room for a few bytes"), 64);
    let Ok(delta) = Delta::from_bytes(&bytes, detector.params()) else { return };
    match detector.merge_delta(&delta) {
        Ok(()) | Err(Error::FromFuture { .. } | Error::OlderThanWindow { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    let written = delta.to_bytes().expect("room for a few bytes");
    assert_eq!(Delta::from_bytes(&written, detector.params()).expect("as written"), delta);
    let parts = delta.into_parts(200).expect("room for a recorder");
    assert!(parts.iter().all(|part| Delta::from_bytes(part, detector.params()).is_ok()));
}
